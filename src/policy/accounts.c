/*
 * accounts.c - the password database.
 *
 * It is read as a file: a static program sees no other source anyway, and a library call would ask a daemon
 * for every unknown uid.
 */
#include "policy/accounts.h"

#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define PASSWD_MOST ((size_t)4 << 20)

int accounts_read(char **ret_passwd)
{
    _cleanup_fd_ int fd = openat(AT_FDCWD, "/etc/passwd", O_RDONLY | O_CLOEXEC | O_NOCTTY);
    size_t length;
    int r = fd < 0 ? -errno : fd_read_all(fd, PASSWD_MOST, ret_passwd, &length);

    if (r != -ENOENT && r != -EACCES && r != -EFBIG)
        return r;
    *ret_passwd = strdup(""); /* nobody has an entry then */
    return *ret_passwd ? 0 : -ENOMEM;
}

int accounts_need(char **ret_passwd, struct error *error)
{
    int r = accounts_read(ret_passwd);

    if (r == 0)
        return 0;
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, -r, "passwd-unreadable", "/etc/passwd: %s", strerror(-r));
    return error_hint(error, "%s",
                      error_spent(-r) ?: "let it be read, or take it away: nobody has an entry then");
}

/* A decimal number that ends at END. */
static bool parse_id(const char *text, const char *end, unsigned *ret)
{
    uint64_t value = 0;

    if (text == end)
        return false;
    for (; text < end; text++) {
        if (*text < '0' || *text > '9')
            return false;
        value = value * 10 + (uint64_t)(*text - '0');
        if (value >= UINT32_MAX)
            return false;
    }
    *ret = (unsigned)value;
    return true;
}

/* Is the line's third field a number of other digits than UID's? Most lines are passed over by this. */
static bool is_other(const char *line, const char *digits)
{
    size_t length = strlen(digits);

    for (int colons = 0; colons < 2; line++) {
        if (!*line || *line == '\n')
            return true; /* no account */
        colons += *line == ':';
    }
    line += strspn(line, "0"); /* in front of others they say nothing */
    if (digits[0] == '0')
        return false;
    return strncmp(line, digits, length) != 0 || line[length] != ':';
}

/* name:password:uid:gid:comment:home:shell */
static bool parse_account(const char *line, size_t length, struct account *account)
{
    const char *field[8] = {line}, *end = line + length;
    size_t count = 1;

    for (const char *at = line; at < end && count < 8; at++)
        if (*at == ':')
            field[count++] = at + 1;
    if (count != 7 || !parse_id(field[2], field[3] - 1, &account->uid) ||
        !parse_id(field[3], field[4] - 1, &account->gid))
        return false;
    account->name = field[0];
    account->name_length = (size_t)(field[1] - 1 - field[0]);
    account->home = field[5];
    account->home_length = (size_t)(field[6] - 1 - field[5]);
    account->shell = field[6];
    account->shell_length = (size_t)(end - field[6]);
    return true;
}

bool account_find(const char *passwd, uid_t uid, struct account *account)
{
    char digits[16];

    snprintf(digits, sizeof(digits), "%u", (unsigned)uid);
    for (const char *line = passwd; *line;) {
        size_t length = strcspn(line, "\n");

        if (!is_other(line, digits) && parse_account(line, length, account) && account->uid == uid)
            return true;
        line += length + (line[length] == '\n');
    }
    return false;
}
