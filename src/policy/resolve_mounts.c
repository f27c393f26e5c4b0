/*
 * resolve_mounts.c - what is mounted where, looked at once; where the file systems of device nodes are
 * mounted besides /dev, and those by which the kernel tells of itself and takes its settings, besides /proc.
 *
 * listmount() and statmount() answer in numbers (Linux 6.8); elsewhere the text of /proc/self/mountinfo is
 * taken apart, which the kernel writes in the time of thirty other calls. The kernel makes room for three
 * paths whenever it is asked for a name, so it is asked for few: which mounts matter is seen by numbers.
 *
 * Should:  find each mount of devtmpfs, of devpts, and of the file system that /dev is on.
 * Mustn't: believe a call that answers nothing: then the text counts.
 */
#include "policy/resolve_internal.h"

#include "links/kernel_abi.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/sysmacros.h>

#define TEXT_MOST    ((size_t)4 << 20)
#define ROUND        128        /* ids that are asked for at once */
#define ROUNDS_MOST  1024       /* a table that grows forever is none */
#define ROOT_MOUNT   UINT64_MAX /* LSMT_ROOT */
#define EMPTY_PATH   0x1000     /* AT_EMPTY_PATH */
#define MAGIC_DEVPTS UINT64_C(0x1cd1)
#define MAGIC_TMPFS  UINT64_C(0x01021994) /* devtmpfs has this one or the next */
#define MAGIC_RAMFS  UINT64_C(0x858458f6)
#define WANT_ID      UINT32_C(0x1000) /* STATX_MNT_ID: the number in the text */
#define WANT_UNIQUE  UINT32_C(0x4000) /* STATX_MNT_ID_UNIQUE: that of listmount() */
#define WANT_NUMBERS UINT64_C(0x03)   /* STATMOUNT_SB_BASIC, STATMOUNT_MNT_BASIC */
#define WANT_ROOT    UINT64_C(0x08)   /* STATMOUNT_MNT_ROOT */
#define WANT_MOUNT   UINT64_C(0x10)   /* STATMOUNT_MNT_POINT */
#define WANT_TYPE    UINT64_C(0x20)   /* STATMOUNT_FS_TYPE */

/* What root changes the machine by, with no capability at all: the files belong to root. */
static const struct kernel_type {
    uint64_t magic;
    const char *name;
} kernel_types[] = {
    {UINT64_C(0x9fa0), "proc"}, /* this one tells of processes, too */
    {UINT64_C(0x62656572), "sysfs"},     {UINT64_C(0x27e0eb), "cgroup"},
    {UINT64_C(0x63677270), "cgroup2"},   {UINT64_C(0x64626720), "debugfs"},
    {UINT64_C(0x74726163), "tracefs"},   {UINT64_C(0x73636673), "securityfs"},
    {UINT64_C(0x62656570), "configfs"},  {UINT64_C(0x42494e4d), "binfmt_misc"},
    {UINT64_C(0xde5e81e4), "efivarfs"},  {UINT64_C(0xcafe4a11), "bpf"},
    {UINT64_C(0xf97cff8c), "selinuxfs"}, {UINT64_C(0x43415d53), "smackfs"},
    {UINT64_C(0x6165676c), "pstore"},    {UINT64_C(0x7655821), "resctrl"},
};
#define MAGIC_PROC kernel_types[0].magic

/* struct mnt_id_req, as Linux 6.8 has it. */
struct mount_request {
    uint32_t size;
    uint32_t spare;
    uint64_t id;
    uint64_t wanted; /* of listmount(): the last id of the round before */
};

/* struct statmount, as far as it is read here. */
struct mount_answer {
    uint32_t size;
    uint32_t options;
    uint64_t mask; /* what was filled in */
    uint32_t device_major;
    uint32_t device_minor;
    uint64_t magic;
    uint32_t flags;
    uint32_t type; /* offset of the file system's name in `text` */
    uint64_t id;
    uint64_t above;
    uint64_t unread[6];
    uint32_t root;  /* offset of the root's name in `text` */
    uint32_t mount; /* offset of the mount point's name in `text` */
    uint64_t later[50];
    char text[PATH_MAX + 256];
};

/* struct statx, as far as it is read here. */
struct object_answer {
    uint32_t mask;
    uint32_t unread[6];
    uint16_t mode;
    uint16_t more[57];
    uint64_t mount;
    uint64_t later[13];
};

/* What is known of /dev. */
struct dev {
    dev_t device;       /* its file system, 0 if it is none of its own */
    uint64_t mount;     /* that one's mount, 0: not known */
    uint64_t pts_mount; /* of /dev/pts, 0: not known */
    bool only_devtmpfs; /* it is the devtmpfs, so that every other one has its device number */
};

_Static_assert(offsetof(struct object_answer, mode) == 28, "struct statx");
_Static_assert(offsetof(struct object_answer, mount) == 144, "struct statx");
_Static_assert(sizeof(struct object_answer) == 256, "struct statx");
_Static_assert(offsetof(struct mount_answer, above) == 48, "struct statmount");
_Static_assert(offsetof(struct mount_answer, mount) == 108, "struct statmount");
_Static_assert(offsetof(struct mount_answer, text) == 512, "struct statmount");

/* --- by number ------------------------------------------------------------------------------------------ */

/* Return: 0 with what was wanted filled in, 1 when the mount is gone, or -errno. */
static int ask_mount(uint64_t id, uint64_t wanted, struct mount_answer *answer)
{
    struct mount_request request = {.size = sizeof(request), .id = id, .wanted = wanted};
    size_t room = wanted == WANT_NUMBERS ? offsetof(struct mount_answer, text) : sizeof(*answer);
    long r;

    answer->mask = 0;
    r = kernel_call(SYS_statmount, KERNEL_PTR(&request), KERNEL_PTR(answer), (long)room, 0, 0, 0);
    if (r == -ENOENT)
        return 1;
    if (r < 0)
        return (int)r;
    return (answer->mask & wanted) == wanted ? 0 : -EOPNOTSUPP;
}

static bool is_string(const struct mount_answer *answer, uint32_t at)
{
    return at < sizeof(answer->text) && memchr(answer->text + at, '\0', sizeof(answer->text) - at);
}

static int add_row(struct mount_table *table, const struct mount_row *row)
{
    if (!array_more(&table->rows, table->count, sizeof(*row)))
        return -ENOMEM;
    table->rows[table->count++] = *row;
    return 0;
}

static int take_number(struct mount_table *table, uint64_t id, struct mount_answer *answer)
{
    int r = ask_mount(id, WANT_NUMBERS, answer);

    if (r != 0)
        return r < 0 ? r : 0;
    return add_row(table, &(struct mount_row){.id = id,
                                              .above = answer->above,
                                              .device = makedev(answer->device_major, answer->device_minor),
                                              .magic = answer->magic});
}

static int ask_kernel(struct mount_table *table, struct mount_answer *answer)
{
    struct mount_request request = {.size = sizeof(request), .id = ROOT_MOUNT};
    uint64_t ids[ROUND] = {0}; /* the kernel fills as many as it says */

    for (int round = 0; round < ROUNDS_MOST; round++) {
        long count = kernel_call(SYS_listmount, KERNEL_PTR(&request), KERNEL_PTR(ids), ROUND, 0, 0, 0);

        if (count < 0 || count > ROUND || (count == 0 && round == 0)) /* there is a root at least */
            return count < 0 ? (int)count : -EPROTO;
        if (!table->rows && !array_expect(&table->rows, (size_t)count, sizeof(*table->rows)))
            return -ENOMEM;
        for (long i = 0; i < count; i++) {
            int r = take_number(table, ids[i], answer);

            if (r < 0)
                return r;
        }
        if (count < ROUND)
            return 0;
        request.wanted = ids[count - 1];
    }
    return -EFBIG;
}

/* --- by text -------------------------------------------------------------------------------------------- */

/* Undoes the octal escapes of a field, in place. */
static void unescape(char *field)
{
    char *to = field;

    for (const char *at = field; *at; at++)
        if (at[0] == '\\' && at[1] >= '0' && at[1] <= '3' && at[2] && at[3]) {
            *to++ = (char)((at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0'));
            at += 3;
        } else {
            *to++ = *at;
        }
    *to = '\0';
}

/* Ends the field that begins at *NEXT. Return: it, unescaped. */
static char *take_field(char **next)
{
    char *field = *next, *end = field + strcspn(field, " ");

    *next = *end ? end + 1 : end;
    *end = '\0';
    unescape(field);
    return field;
}

/* Of a type that matters here; 0 of all others. */
static uint64_t magic_of_name(const char *name)
{
    size_t length = strcspn(name, " ");

    for (size_t i = 0; i < ARRAY_SIZE(kernel_types); i++)
        if (strlen(kernel_types[i].name) == length && strncmp(kernel_types[i].name, name, length) == 0)
            return kernel_types[i].magic;
    return 0;
}

/* id parent MAJOR:MINOR root MOUNT options [optional]... - TYPE source options. Return: 0 (also for a line
 * that says nothing) or -ENOMEM. */
static int take_line(struct mount_table *table, char *line)
{
    unsigned long long id, above;
    unsigned major_number, minor_number;
    struct mount_row row;
    char *type = strstr(line, " - "), *next;
    int at = 0, r;

    if (!type || sscanf(line, "%llu %llu %u:%u %n", &id, &above, &major_number, &minor_number, &at) != 4 ||
        at == 0)
        return 0;
    next = line + at;
    type += 3;
    row = (struct mount_row){.id = id,
                             .above = above,
                             .device = makedev(major_number, minor_number),
                             .magic = magic_of_name(type),
                             .nodes = strncmp(type, "devtmpfs ", 9) == 0 || strncmp(type, "devpts ", 7) == 0};
    row.root = strdup(take_field(&next));
    row.point = strdup(take_field(&next));
    r = row.root && row.point ? add_row(table, &row) : -ENOMEM;
    if (r < 0) {
        free(row.root);
        free(row.point);
    }
    return r;
}

static int read_table(struct mount_table *table)
{
    _cleanup_fd_ int fd = openat(AT_FDCWD, "/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    size_t length;
    int r = fd < 0 ? -errno : fd_read_all(fd, TEXT_MOST, &text, &length);

    for (char *line = text, *next; r == 0 && line && *line; line = next) {
        next = line + strcspn(line, "\n");
        if (*next)
            *next++ = '\0';
        r = take_line(table, line);
    }
    return r;
}

/* --- the table ------------------------------------------------------------------------------------------ */

static struct mount_answer answer; /* a page and more: not for the stack */

void mounts_free(struct mount_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        free(table->rows[i].root);
        free(table->rows[i].point);
    }
    free(table->rows);
    *table = (struct mount_table){0};
}

void mounts_from_text(struct mount_table *table)
{
    mounts_free(table);
    table->text = true;
    table->failed = read_table(table);
    table->looked = true;
}

int mounts_look(struct mount_table *table)
{
    if (table->looked)
        return table->failed;
    table->failed = ask_kernel(table, &answer);
    table->looked = true;
    if (table->failed < 0 && table->failed != -ENOMEM)
        mounts_from_text(table);
    return table->failed;
}

int mounts_name(const struct mount_table *table, struct mount_row *row)
{
    int r;

    if (row->point || table->text)
        return 0;
    r = ask_mount(row->id, WANT_ROOT | WANT_MOUNT, &answer);
    if (r != 0)
        return r < 0 ? r : -ENOENT;
    if (!is_string(&answer, answer.root) || !is_string(&answer, answer.mount))
        return -EPROTO;
    row->root = strdup(answer.text + answer.root);
    row->point = strdup(answer.text + answer.mount);
    return row->root && row->point ? 0 : -ENOMEM;
}

/* The number of the mount that NAME below AT is on (AT itself where NAME is empty), 0 where the kernel does
 * not say. Links are not followed. */
static uint64_t find_mount(int at, const char *name, uint32_t wanted, bool only_directory)
{
    struct object_answer object = {0};
    long r = kernel_call(SYS_statx, at, KERNEL_PTR(name), AT_SYMLINK_NOFOLLOW | EMPTY_PATH, wanted,
                         KERNEL_PTR(&object), 0);

    return r == 0 && (object.mask & wanted) && (!only_directory || S_ISDIR(object.mode)) ? object.mount : 0;
}

struct mount_row *mounts_find(const struct mount_table *table, int at, const char *name, const char *path)
{
    uint64_t id = find_mount(at, name, table->text ? WANT_ID : WANT_UNIQUE, false);
    struct mount_row *found = NULL;

    for (size_t i = 0; i < table->count; i++) {
        struct mount_row *row = &table->rows[i];

        if (id ? row->id == id
               : table->text && path_contains(row->point, path) &&
                     (!found || strlen(row->point) >= strlen(found->point)))
            found = row;
    }
    return found;
}

/* --- mounts of device nodes ------------------------------------------------------------------------------
 */

/* The file system of /dev, 0 if it is none of its own. */
static dev_t device_of_dev(void)
{
    struct stat root, dev;

    return stat("/", &root) == 0 && stat("/dev", &dev) == 0 && root.st_dev != dev.st_dev ? dev.st_dev : 0;
}

/* Takes a mount's name, unless it is the root or lies in /dev. Return: 0 or -ENOMEM. */
static int add_mount(struct strings *mounts, const char *mount)
{
    return mount[0] != '/' || !mount[1] || path_contains("/dev", mount) ? 0 : strings_add(mounts, mount);
}

/* Return: 1 when the mount is a devtmpfs, 0 when not or when it is gone, or -errno. */
static int is_devtmpfs(uint64_t id)
{
    int r = ask_mount(id, WANT_TYPE, &answer);

    if (r != 0)
        return r < 0 ? r : 0;
    return is_string(&answer, answer.type) ? strcmp(answer.text + answer.type, "devtmpfs") == 0 : -EPROTO;
}

/* Return: 1 when the mount holds device nodes, 0 when not or when it is gone, or -errno. */
static int holds_devices(const struct mount_row *row, const struct dev *dev)
{
    if (row->id == dev->mount || row->id == dev->pts_mount)
        return 0;
    if (row->magic == MAGIC_DEVPTS || (dev->device && row->device == dev->device))
        return 1;
    if (dev->only_devtmpfs || (row->magic != MAGIC_TMPFS && row->magic != MAGIC_RAMFS))
        return 0;
    return is_devtmpfs(row->id);
}

/* What is mounted on /dev and /dev/pts is known by its number, and there is one devtmpfs, however often it is
 * mounted: so few are asked for their type. Return: 0 or -errno. */
static int look_at_dev(struct dev *dev)
{
    int r = 0;

    dev->mount = find_mount(AT_FDCWD, "/dev", WANT_UNIQUE, true);
    if (dev->mount)
        dev->pts_mount = find_mount(AT_FDCWD, "/dev/pts", WANT_UNIQUE, true);
    if (dev->mount && dev->device)
        r = is_devtmpfs(dev->mount);
    dev->only_devtmpfs = r == 1;
    return r < 0 ? r : 0;
}

static int find_device_mounts(struct mount_table *table, struct strings *mounts)
{
    struct dev dev = {.device = device_of_dev()};
    int r = mounts_look(table);

    if (r == 0 && !table->text)
        r = look_at_dev(&dev);
    for (size_t i = 0; i < table->count && r == 0; i++) {
        struct mount_row *row = &table->rows[i];

        if (table->text)
            r = row->nodes || (dev.device && row->device == dev.device);
        else
            r = holds_devices(row, &dev);
        if (r > 0)
            r = mounts_name(table, row);
        else if (r == 0)
            continue;
        if (r == 0)
            r = add_mount(mounts, row->point);
        else if (r == -ENOENT)
            r = 0;
    }
    return r;
}

int device_mounts(struct mount_table *table, struct strings *mounts)
{
    int r = find_device_mounts(table, mounts);

    if (r == 0 || r == -ENOMEM || table->text)
        return r;
    strings_free(mounts);
    mounts_from_text(table);
    return find_device_mounts(table, mounts);
}

/* --- what the kernel tells, and lets root say -------------------------------------------------------------
 */

static bool is_kernel_type(uint64_t magic)
{
    for (size_t i = 0; i < ARRAY_SIZE(kernel_types); i++)
        if (kernel_types[i].magic == magic)
            return true;
    return false;
}

/* Is it of a type on which nobody listens? */
static bool is_silent_type(uint64_t magic)
{
    static const uint64_t silent[] = {
        MAGIC_DEVPTS, UINT64_C(0x73717368), /* squashfs, of which there may be hundreds */
        UINT64_C(0x6e736673),               /* nsfs, likewise */
        UINT64_C(0x19800202),               /* mqueue */
    };

    for (size_t i = 0; i < ARRAY_SIZE(silent); i++)
        if (silent[i] == magic)
            return true;
    return is_kernel_type(magic);
}

static int by_number(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

/* The mounts on which something is mounted, in the order of their numbers: they are directories. Return: as
 * many as the table has, with repetitions; the caller's to free; NULL without memory. */
static uint64_t *list_carriers(const struct mount_table *table)
{
    uint64_t *carriers = calloc(table->count + 1, sizeof(*carriers));

    for (size_t i = 0; carriers && i < table->count; i++)
        carriers[i] = table->rows[i].above == table->rows[i].id ? 0 : table->rows[i].above;
    if (carriers)
        qsort(carriers, table->count, sizeof(*carriers), by_number);
    return carriers;
}

int leaf_mounts(struct mount_table *table, int (*visit)(const char *path, void *data), void *data)
{
    int r = mounts_look(table);
    _cleanup_free_ uint64_t *carriers = r == 0 ? list_carriers(table) : NULL;

    if (r == 0 && !carriers)
        return -ENOMEM;
    for (size_t i = 0; i < table->count && r == 0; i++) {
        struct mount_row *row = &table->rows[i];

        if (is_silent_type(row->magic) ||
            bsearch(&row->id, carriers, table->count, sizeof(*carriers), by_number))
            continue;
        r = mounts_name(table, row);
        if (r == 0 && row->point[0] == '/')
            r = visit(row->point, data);
        else if (r == -ENOENT)
            r = 0;
    }
    return r;
}

static int find_kernel_mounts(struct mount_table *table, bool settings, struct strings *processes,
                              struct strings *others)
{
    uint64_t proc = find_mount(AT_FDCWD, "/proc", table->text ? WANT_ID : WANT_UNIQUE, true);
    int r = mounts_look(table);

    for (size_t i = 0; i < table->count && r == 0; i++) {
        struct mount_row *row = &table->rows[i];

        if (row->id == proc || (row->magic != MAGIC_PROC && !(settings && is_kernel_type(row->magic))))
            continue;
        r = mounts_name(table, row);
        if (r == 0 && row->point[0] == '/' && !path_contains("/proc", row->point))
            r = strings_add(row->magic == MAGIC_PROC ? processes : others, row->point);
        else if (r == -ENOENT)
            r = 0;
    }
    return r;
}

int kernel_mounts(struct mount_table *table, bool settings, struct strings *processes, struct strings *others)
{
    int r = find_kernel_mounts(table, settings, processes, others);

    if (r == 0 || r == -ENOMEM || table->text)
        return r;
    strings_free(processes);
    strings_free(others);
    mounts_from_text(table);
    return find_kernel_mounts(table, settings, processes, others);
}
