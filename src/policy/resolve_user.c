/*
 * resolve_user.c - who calls, who the command will be, and where both are at home.
 *
 * The password database is read as a file: a static program sees no other
 * source anyway, and a library call would ask a daemon for every unknown uid.
 * A uid without an entry has no home; nothing is guessed.
 */
#include "policy/resolve_internal.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#define PASSWD_MOST ((size_t)4 << 20)

const char *env_value(char *const *env, const char *name)
{
    size_t length = strlen(name);

    for (; env && *env; env++)
        if (strncmp(*env, name, length) == 0 && (*env)[length] == '=')
            return *env + length + 1;
    return NULL;
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

bool account_find(const struct resolving *resolving, uid_t uid, struct account *account)
{
    for (const char *line = resolving->passwd; *line;) {
        size_t length = strcspn(line, "\n");

        if (parse_account(line, length, account) && account->uid == uid)
            return true;
        line += length + (line[length] == '\n');
    }
    return false;
}

/* The absolute home of an account; NULL without one. */
static int copy_home(struct resolving *resolving, uid_t uid, char **ret)
{
    struct account account;

    *ret = NULL;
    if (!account_find(resolving, uid, &account) || account.home_length == 0 || account.home[0] != '/')
        return 0;
    *ret = strndup(account.home, account.home_length);
    return *ret ? 0 : error_no_memory(resolving->error);
}

static int read_passwd(struct resolving *resolving)
{
    _cleanup_fd_ int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC | O_NOCTTY);
    size_t length;
    int r = fd < 0 ? -errno : fd_read_all(fd, PASSWD_MOST, &resolving->passwd, &length);

    if (r == -ENOENT || r == -EACCES || r == -EFBIG) { /* nobody has an entry then */
        resolving->passwd = strdup("");
        r = resolving->passwd ? 0 : -ENOMEM;
    }
    if (r < 0)
        return error_set(resolving->error, ERROR_SANDBOX_UNAVAILABLE, -r, "passwd-unreadable",
                         "/etc/passwd: %s", strerror(-r));
    return 0;
}

/* The directory that the caller's $HOME leads to, when it leads to one. */
static int find_env_home(struct resolving *resolving)
{
    const char *home = env_value(resolving->env, "HOME");
    _cleanup_opened_ struct opened opened = {.fd = -1};
    int r;

    if (!home || home[0] != '/')
        return 0;
    r = path_open(home, &opened);
    if (r == -ENOMEM)
        return error_no_memory(resolving->error);
    if (r == 0 && S_ISDIR(opened.st.st_mode))
        resolving->env_home = steal_pointer(&opened.path);
    return 0;
}

/* Where this confine and its links are. Not known without /proc: no chain starts then anyway. */
static int find_program(struct resolving *resolving)
{
    char program[PATH_MAX], *slash;
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);

    if (length <= 0 || program[0] != '/')
        return 0;
    program[length] = '\0';
    resolving->program = strdup(program);
    for (int up = 0; up < 2; up++) { /* PREFIX/bin/confine */
        slash = strrchr(program, '/');
        if (slash)
            *slash = '\0';
    }
    if (!resolving->program || asprintf(&resolving->links_dir, "%s/libexec/confine", program) < 0) {
        resolving->links_dir = NULL;
        return error_no_memory(resolving->error);
    }
    return 0;
}

int resolving_start(struct resolving *resolving)
{
    char cwd[PATH_MAX];
    int r;

    resolving->caller = geteuid();
    if (getcwd(cwd, sizeof(cwd)) && cwd[0] == '/') { /* "(unreachable)…" is no name */
        resolving->cwd = strdup(cwd);
        if (!resolving->cwd)
            return error_no_memory(resolving->error);
    }
    r = read_passwd(resolving);
    if (r == 0)
        r = copy_home(resolving, resolving->caller, &resolving->resolved->home);
    if (r == 0)
        r = find_env_home(resolving);
    if (r == 0)
        r = find_program(resolving);
    return r;
}

void resolving_end(struct resolving *resolving)
{
    free(resolving->passwd);
    free(resolving->cwd);
    free(resolving->env_home);
    free(resolving->command_home);
    free(resolving->program);
    free(resolving->links_dir);
    strings_free(&resolving->read_named);
    for (size_t i = 0; i < resolving->led_count; i++) {
        free(resolving->led[i].link);
        free(resolving->led[i].what);
    }
    free(resolving->led);
}

static int refuse_user(struct resolving *resolving, uid_t uid)
{
    struct asked asked = asked_key(resolving->policy, KEY_USER, "");

    error_set(resolving->error, ERROR_SANDBOX_UNAVAILABLE, EPERM, "user-needs-root",
              "%s %u: only root can run a command as another user, and the caller is user %u", asked.by,
              (unsigned)uid, (unsigned)resolving->caller);
    return error_hint(resolving->error, "leave it out, or run as root");
}

int resolve_user(struct resolving *resolving, const struct opened *workspace)
{
    struct resolved *resolved = resolving->resolved;
    const struct policy *policy = resolving->policy;
    struct account account;

    resolved->uid = resolving->caller;
    resolved->gid = getegid();
    if (resolving->caller != 0) {
        if (policy->user == USER_ID && policy->user_id != resolving->caller)
            return refuse_user(resolving, policy->user_id);
    } else if (policy->user == USER_ID) {
        resolved->uid = policy->user_id;
    } else if (policy->user == USER_OWNER && workspace->fd >= 0) {
        resolved->uid = workspace->st.st_uid;
    }
    if (resolved->uid != resolving->caller) {
        resolved->switch_user = true;
        resolved->gid = account_find(resolving, resolved->uid, &account) ? account.gid : resolved->uid;
    }
    return copy_home(resolving, resolved->uid, &resolving->command_home);
}
