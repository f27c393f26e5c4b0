/*
 * resolve_mounts.c - where the file systems of device nodes are mounted besides /dev.
 *
 * listmount() and statmount() answer in numbers (Linux 6.8); elsewhere the text of /proc/self/mountinfo is
 * taken apart, which the kernel writes in the time of thirty other calls.
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
#define MAGIC_DEVPTS UINT64_C(0x1cd1)
#define MAGIC_TMPFS  UINT64_C(0x01021994) /* devtmpfs has this one or the next */
#define MAGIC_RAMFS  UINT64_C(0x858458f6)
#define WANT_UNIQUE  UINT32_C(0x4000) /* STATX_MNT_ID_UNIQUE */
#define WANT_NUMBERS UINT64_C(0x01)   /* STATMOUNT_SB_BASIC */
#define WANT_MOUNT   UINT64_C(0x10)   /* STATMOUNT_MNT_POINT */
#define WANT_TYPE    UINT64_C(0x20)   /* STATMOUNT_FS_TYPE */

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
    uint64_t unread[8];
    uint32_t root;
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
_Static_assert(offsetof(struct mount_answer, mount) == 108, "struct statmount");
_Static_assert(offsetof(struct mount_answer, text) == 512, "struct statmount");

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

/* Return: 1 when the mount is a devtmpfs, 0 when not or when it is gone, or -errno. */
static int is_devtmpfs(uint64_t id, struct mount_answer *answer)
{
    int r = ask_mount(id, WANT_TYPE, answer);

    if (r != 0)
        return r < 0 ? r : 0;
    return is_string(answer, answer->type) ? strcmp(answer->text + answer->type, "devtmpfs") == 0 : -EPROTO;
}

/* Return: 1 when the mount holds device nodes, 0 when not or when it is gone, or -errno. */
static int holds_devices(uint64_t id, const struct dev *dev, struct mount_answer *answer)
{
    int r = ask_mount(id, WANT_NUMBERS, answer);

    if (r != 0)
        return r < 0 ? r : 0;
    if (answer->magic == MAGIC_DEVPTS ||
        (dev->device && makedev(answer->device_major, answer->device_minor) == dev->device))
        return 1;
    if (dev->only_devtmpfs || (answer->magic != MAGIC_TMPFS && answer->magic != MAGIC_RAMFS))
        return 0;
    return is_devtmpfs(id, answer);
}

static int take_mount(uint64_t id, const struct dev *dev, struct mount_answer *answer, struct strings *mounts)
{
    int r;

    if (id == dev->mount || id == dev->pts_mount)
        return 0;
    r = holds_devices(id, dev, answer);
    if (r <= 0)
        return r;
    r = ask_mount(id, WANT_MOUNT, answer);
    if (r != 0)
        return r < 0 ? r : 0;
    return is_string(answer, answer->mount) ? add_mount(mounts, answer->text + answer->mount) : -EPROTO;
}

/* The mount that the directory PATH is on, 0 where the kernel does not say, and through a link: what that
 * leads to is not in /dev. */
static uint64_t find_mount(const char *path)
{
    struct object_answer object = {0};
    long r = kernel_call(SYS_statx, AT_FDCWD, KERNEL_PTR(path), AT_SYMLINK_NOFOLLOW, WANT_UNIQUE,
                         KERNEL_PTR(&object), 0);

    return r == 0 && (object.mask & WANT_UNIQUE) && S_ISDIR(object.mode) ? object.mount : 0;
}

/* The kernel makes room for three paths whenever it is asked for a name. So it is asked for few: what is
 * mounted on /dev and /dev/pts is known by its number, and there is one devtmpfs, however often it is
 * mounted. Return: 0 or -errno. */
static int look_at_dev(struct dev *dev, struct mount_answer *answer)
{
    int r = 0;

    dev->mount = find_mount("/dev");
    if (dev->mount)
        dev->pts_mount = find_mount("/dev/pts");
    if (dev->mount && dev->device)
        r = is_devtmpfs(dev->mount, answer);
    dev->only_devtmpfs = r == 1;
    return r < 0 ? r : 0;
}

static int ask_kernel(dev_t device, struct strings *mounts)
{
    static struct mount_answer answer;
    struct mount_request request = {.size = sizeof(request), .id = ROOT_MOUNT};
    struct dev dev = {.device = device};
    uint64_t ids[ROUND];
    int r = look_at_dev(&dev, &answer);

    if (r < 0)
        return r;
    for (int round = 0; round < ROUNDS_MOST; round++) {
        long count = kernel_call(SYS_listmount, KERNEL_PTR(&request), KERNEL_PTR(ids), ROUND, 0, 0, 0);

        if (count < 0 || count > ROUND || (count == 0 && round == 0)) /* there is a root at least */
            return count < 0 ? (int)count : -EPROTO;
        for (long i = 0; i < count; i++) {
            r = take_mount(ids[i], &dev, &answer, mounts);
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

/* id parent MAJOR:MINOR root MOUNT options [optional]... - TYPE source options. Return: the mount's name when
 * it holds device nodes, else NULL. */
static char *parse_mount(char *line, dev_t device)
{
    unsigned major_number, minor_number;
    char *type = strstr(line, " - "), *mount = NULL;
    int at = 0;

    if (!type || sscanf(line, "%*u %*u %u:%u %*s %n", &major_number, &minor_number, &at) != 2 || at == 0)
        return NULL;
    mount = line + at;
    mount[strcspn(mount, " ")] = '\0';
    unescape(mount);
    type += 3;
    if (strncmp(type, "devtmpfs ", 9) != 0 && strncmp(type, "devpts ", 7) != 0 &&
        (device == 0 || makedev(major_number, minor_number) != device))
        return NULL;
    return mount;
}

static int read_table(dev_t device, struct strings *mounts)
{
    _cleanup_fd_ int fd = openat(AT_FDCWD, "/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    size_t length;
    int r = fd < 0 ? -errno : fd_read_all(fd, TEXT_MOST, &text, &length);

    for (char *line = text, *next; r == 0 && line && *line; line = next) {
        char *mount;

        next = line + strcspn(line, "\n");
        if (*next)
            *next++ = '\0';
        mount = parse_mount(line, device);
        if (mount)
            r = add_mount(mounts, mount);
    }
    return r;
}

int device_mounts(struct strings *mounts)
{
    dev_t device = device_of_dev();
    int r = ask_kernel(device, mounts);

    if (r == 0 || r == -ENOMEM)
        return r;
    strings_free(mounts);
    return read_table(device, mounts);
}
