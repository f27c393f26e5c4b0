/*
 * audit_record.c - the kernel's words.
 *
 * Theory of operation. A record is `audit(TIME:SERIAL): KEY=VALUE KEY=VALUE…`. Records of one event have one
 * serial number: first what was refused, by which layer; with a layer's first refusal what layer that is, and
 * who laid it; then the call. A name that could be taken for anything else is written in hexadecimal digits,
 * so that no name ends a value.
 *
 * Should:  hold on to a refusal of an unknown layer only until the next word about it.
 * Mustn't: trust a length, a digit or an order.
 */
#include "observe/audit_record.h"

#include "kernel/audit.h"
#include "links/kernel_abi.h"

#include <string.h>

struct words {
    const char *at, *end;
};

/* --- values ----------------------------------------------------------------------------------------------
 */

static int digit_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : 99;
}

static bool read_number(struct words value, unsigned base, uint64_t *ret)
{
    uint64_t number = 0;

    if (value.at == value.end)
        return false;
    for (; value.at < value.end; value.at++) {
        unsigned digit = (unsigned)digit_of(*value.at);

        if (digit >= base || number > (UINT64_MAX - digit) / base)
            return false;
        number = number * base + digit;
    }
    *ret = number;
    return true;
}

static bool is_word(struct words value, const char *word)
{
    size_t length = strlen(word);

    return (size_t)(value.end - value.at) == length && memcmp(value.at, word, length) == 0;
}

/* The value of a key; quotes are part of it. Return: is it there? */
static bool find_value(struct words record, const char *key, struct words *ret)
{
    const size_t length = strlen(key);

    while (record.at < record.end) {
        const char *stop = memchr(record.at, ' ', (size_t)(record.end - record.at));

        if (!stop)
            stop = record.end;
        if ((size_t)(stop - record.at) > length && record.at[length] == '=' &&
            memcmp(record.at, key, length) == 0) {
            *ret = (struct words){record.at + length + 1, stop};
            return true;
        }
        record.at = stop < record.end ? stop + 1 : stop;
    }
    return false;
}

static bool find_number(struct words record, const char *key, unsigned base, uint64_t *ret)
{
    struct words value;

    return find_value(record, key, &value) && read_number(value, base, ret);
}

/* A name, in quotes or in digits; what does not fit leaves it empty. @room: @size bytes */
static void take_name(struct words record, const char *key, char *room, size_t size)
{
    struct words value;
    size_t length;

    room[0] = '\0';
    if (!find_value(record, key, &value))
        return;
    length = (size_t)(value.end - value.at);
    if (length >= 2 && value.at[0] == '"' && value.end[-1] == '"' && length - 2 < size) {
        memcpy(room, value.at + 1, length - 2);
        room[length - 2] = '\0';
        return;
    }
    if (length % 2 != 0 || length / 2 >= size)
        return;
    for (size_t i = 0; i < length / 2; i++) {
        int high = digit_of(value.at[2 * i]), low = digit_of(value.at[2 * i + 1]);

        if (high > 15 || low > 15 || (high == 0 && low == 0)) {
            room[0] = '\0';
            return;
        }
        room[i] = (char)(high << 4 | low);
    }
    room[length / 2] = '\0';
}

static uint64_t read_rights(struct words value)
{
    uint64_t rights = 0;

    while (value.at < value.end) {
        const char *stop = memchr(value.at, ',', (size_t)(value.end - value.at));
        struct words word = {value.at, stop ? stop : value.end};

        for (size_t i = 0; i < LANDLOCK_RIGHTS; i++)
            if (landlock_rights[i].family == LANDLOCK_FAMILY_FS && is_word(word, landlock_rights[i].name))
                rights |= landlock_rights[i].bit;
        value.at = word.end < value.end ? word.end + 1 : word.end;
    }
    return rights;
}

/* --- events ----------------------------------------------------------------------------------------------
 */

static void forget(struct audit_refusal *refusal)
{
    memset(refusal, 0, sizeof(*refusal));
}

/* A refusal of the run's, or of a layer of which nothing has been said. */
static void take_access(struct audit_look *look, uint64_t serial, struct words record)
{
    struct audit_refusal *refusal = &look->waiting[look->next % AUDIT_WAITING];
    struct words blockers;
    uint64_t domain;

    if (!find_number(record, "domain", 16, &domain) || domain == 0 ||
        (look->domain != 0 && domain != look->domain) || !find_value(record, "blockers", &blockers))
        return;
    look->next++;
    forget(refusal); /* one of the run's of which nobody said the call is missing in the sum */
    refusal->serial = serial;
    refusal->domain = domain;
    refusal->rights = read_rights(blockers);
    take_name(record, "path", refusal->path, sizeof(refusal->path));
}

/* Is this the program that lays our layers? */
static bool is_launcher(struct words record)
{
    static const char name[] = "/confine-launch";
    char program[OBSERVE_PATH];
    size_t length;

    take_name(record, "exe", program, sizeof(program));
    length = strlen(program);
    return length >= sizeof(name) - 1 && strcmp(program + length - (sizeof(name) - 1), name) == 0;
}

static void take_domain(struct audit_look *look, struct words record)
{
    struct words status;
    uint64_t domain, pid = 0;
    bool ours, alike;

    if (!find_number(record, "domain", 16, &domain) || domain == 0 || !find_value(record, "status", &status))
        return;
    if (is_word(status, "deallocated") && domain == look->domain)
        look->gone = find_number(record, "denials", 10, &look->refused);
    if (!is_word(status, "allocated"))
        return;
    alike = look->pid > 0 && find_number(record, "pid", 10, &pid) && pid == (uint64_t)look->pid &&
            is_launcher(record);
    ours = alike && look->domain == 0;
    if (ours)
        look->domain = domain;
    look->doubted = look->doubted || (alike && domain != look->domain);
    for (size_t i = 0; i < AUDIT_WAITING; i++) {
        struct audit_refusal *refusal = &look->waiting[i];

        if (refusal->domain != 0 && refusal->domain != look->domain && (ours || refusal->domain == domain))
            forget(refusal);
    }
}

/* The call of an event. A refusal of which nobody has said by then that it is the run's is another's. */
static void take_call(struct audit_look *look, uint64_t serial, struct words record)
{
    static const char *const keys[] = {"a0", "a1", "a2", "a3"};
    uint64_t arch, call, pid;
    bool sound = find_number(record, "arch", 16, &arch) && arch == KERNEL_AUDIT_ARCH &&
                 find_number(record, "syscall", 10, &call) && call <= UINT32_MAX &&
                 find_number(record, "pid", 10, &pid) && pid > 0 && pid <= INT32_MAX;

    for (size_t i = 0; i < AUDIT_WAITING; i++) {
        struct audit_refusal *refusal = &look->waiting[i];

        if (refusal->serial != serial || refusal->domain == 0)
            continue;
        if (refusal->domain != look->domain) {
            forget(refusal);
            continue;
        }
        take_name(record, "exe", refusal->executable, sizeof(refusal->executable));
        for (size_t k = 0; sound && k < ARRAY_SIZE(keys); k++)
            sound = find_number(record, keys[k], 16, &refusal->arguments[k]);
        if (!sound)
            continue; /* a call of another architecture */
        refusal->call = (uint32_t)call;
        refusal->pid = (int32_t)pid;
        refusal->called = true;
    }
}

void audit_take(struct audit_look *look, unsigned type, const char *text, size_t size)
{
    static const char start[] = "audit(";
    struct words record = {text, text + size}, serial;
    const char *colon, *close;
    uint64_t number;

    while (record.end > record.at && (record.end[-1] == '\0' || record.end[-1] == '\n'))
        record.end--;
    if ((size_t)(record.end - record.at) < sizeof(start) || memcmp(record.at, start, sizeof(start) - 1) != 0)
        return;
    close = memchr(record.at, ')', (size_t)(record.end - record.at));
    colon = close ? memchr(record.at, ':', (size_t)(close - record.at)) : NULL;
    if (!colon || record.end - close < 3 || close[1] != ':' || close[2] != ' ')
        return;
    serial = (struct words){colon + 1, close};
    record.at = close + 3;
    if (!read_number(serial, 10, &number) || number == 0)
        return;
    if (type == AUDIT_TYPE_ACCESS)
        take_access(look, number, record);
    else if (type == AUDIT_TYPE_DOMAIN)
        take_domain(look, record);
    else if (type == AUDIT_TYPE_SYSCALL)
        take_call(look, number, record);
}

bool audit_next(struct audit_look *look, bool end, struct audit_refusal *refusal)
{
    for (size_t i = 0; i < AUDIT_WAITING; i++) {
        struct audit_refusal *waiting = &look->waiting[i];

        if (waiting->domain == 0 || waiting->domain != look->domain || (!waiting->called && !end))
            continue;
        *refusal = *waiting;
        forget(waiting);
        return true;
    }
    return false;
}

/* --- what it means ---------------------------------------------------------------------------------------
 */

static bool is_link(uint32_t call)
{
#ifdef SYS_link
    if (call == SYS_link)
        return true;
#endif
    return call == SYS_linkat;
}

enum denial_operation audit_operation(const struct audit_refusal *refusal, enum surface *ret_surface,
                                      bool *ret_within)
{
    static const struct {
        uint64_t rights;
        enum denial_operation operation;
        enum surface surface;
        bool within;
    } rows[] = {
        /* one that moves or links asks for whatever the name would gain */
        {LANDLOCK_FS_REFER, DENIAL_RENAME, SURFACE_FS_WRITE, true},
        {LANDLOCK_FS_MAKE_CHAR | LANDLOCK_FS_MAKE_BLOCK, DENIAL_CREATE, SURFACE_FS_DEVICE, true},
        {LANDLOCK_FS_MAKE_REG | LANDLOCK_FS_MAKE_DIR | LANDLOCK_FS_MAKE_SYM | LANDLOCK_FS_MAKE_FIFO |
             LANDLOCK_FS_MAKE_SOCK,
         DENIAL_CREATE, SURFACE_FS_WRITE, true},
        {LANDLOCK_FS_REMOVE_FILE | LANDLOCK_FS_REMOVE_DIR, DENIAL_REMOVE, SURFACE_FS_WRITE, true},
        {LANDLOCK_FS_WRITE_FILE, DENIAL_WRITE, SURFACE_FS_WRITE, false},
        {LANDLOCK_FS_TRUNCATE, DENIAL_TRUNCATE, SURFACE_FS_TRUNCATE, false},
        {LANDLOCK_FS_IOCTL_DEV, DENIAL_IOCTL, SURFACE_FS_DEVICE, false},
        {LANDLOCK_FS_EXECUTE, DENIAL_EXECUTE, SURFACE_FS_READ, false},
        {LANDLOCK_FS_READ_FILE | LANDLOCK_FS_READ_DIR, DENIAL_READ, SURFACE_FS_READ, false},
    };
    const uint64_t both = LANDLOCK_FS_REMOVE_FILE | LANDLOCK_FS_REMOVE_DIR;

    for (size_t i = 0; i < ARRAY_SIZE(rows) && refusal->path[0] == '/'; i++) {
        if (!(refusal->rights & rows[i].rights))
            continue;
        *ret_surface = rows[i].surface;
        *ret_within = rows[i].within;
        if (rows[i].operation == DENIAL_RENAME && refusal->called && is_link(refusal->call))
            return DENIAL_LINK;
        if (rows[i].operation == DENIAL_CREATE && (refusal->rights & both)) /* within one directory */
            return DENIAL_RENAME;
        return rows[i].operation;
    }
    return DENIAL_NOTHING;
}
