/*
 * acts.h - the acts by which a boundary is shown: tries and read-backs.
 *
 * The same act is done twice: outside by the supervisor as the control, where
 * it must succeed, and inside by attest-run, where it must be refused. Sharing
 * the code is what makes it the same act; an act that always failed would have
 * no control and show nothing.
 *
 * Should:  leave nothing behind, whether it succeeds or not.
 * Mustn't: destroy anything when it succeeds: no act writes a byte, and
 *          truncation is for the canary only.
 */
#ifndef CONFINE_LINKS_ACTS_H
#define CONFINE_LINKS_ACTS_H

#include "chain.h"
#include "channel.h"
#include "kernel_abi.h"
#include "seccomp_rules.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <termios.h>

#ifndef IPC_INFO
#define IPC_INFO 3
#endif

struct act_world {
    const int *descriptors; /* what `fd` indexes; NULL: `fd` is the number itself */
    size_t count;
    const uint8_t *nonce; /* CHANNEL_NONCE bytes; NULL: none */
    char **envp;
    int stderr_fd; /* the command's stderr while 2 is the chain's own; -1: it is 2 */
};

typedef int (*act_function)(const struct act_world *world, const struct channel_check *check);

/* The descriptor that an operand means, -1 if it means none. */
static inline int act_descriptor(const struct act_world *world, int64_t operand)
{
    if (!world->descriptors)
        return (int)operand;
    return operand >= 0 && (size_t)operand < world->count ? world->descriptors[operand] : -1;
}

#define ACT_PROC_PATH 40 /* bytes that hold the name of a descriptor */

/* A printf takes as long as the act. */
static inline const char *act_proc_path(char path[static ACT_PROC_PATH], int fd)
{
    static const char front[] = "/proc/self/fd/";
    char digits[12], *at = digits + sizeof(digits) - 1;
    unsigned rest = fd < 0 ? UINT_MAX : (unsigned)fd; /* -1 is none: no such name */

    *at = '\0';
    do
        *--at = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    memcpy(path, front, sizeof(front) - 1);
    memcpy(path + sizeof(front) - 1, at, (size_t)(digits + sizeof(digits) - at));
    return path;
}

/* 0 when FD is a descriptor (which is closed), else errno. */
static inline int act_opened(int fd)
{
    int errnum = errno;

    if (fd < 0)
        return errnum;
    close(fd);
    return 0;
}

static inline int act_open(const struct act_world *world, const struct channel_check *check)
{
    char path[ACT_PROC_PATH];
    int flags = (int)check->a | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

    if (check->fd < 0)
        return act_opened(open(check->name, flags));
    return act_opened(open(act_proc_path(path, act_descriptor(world, check->fd)), flags));
}

static inline int act_open_at(const struct act_world *world, const struct channel_check *check)
{
    return act_opened(openat(act_descriptor(world, check->fd), check->name,
                             (int)check->a | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
}

/* Renaming an entry onto itself changes nothing, and asks for every right that a rename needs. Both names in
 * one open directory: of two whole paths the kernel looks up one after the other, and while somebody swaps
 * what is above, a directory would be moved onto another one. */
static inline int act_rename_self(const struct act_world *world, const struct channel_check *check)
{
    int directory = act_descriptor(world, check->fd), errnum;
    char above[CHANNEL_NAME];
    const char *name = check->name, *slash = strrchr(name, '/');

    if (check->fd >= 0)
        return renameat(directory, name, directory, name) == 0 ? 0 : errno;
    if (!slash || !slash[1] || (size_t)(slash - name) >= sizeof(above))
        return EINVAL;
    snprintf(above, sizeof(above), "%.*s/", (int)(slash - name), name);
    directory = open(above, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return errno;
    errnum = renameat(directory, slash + 1, directory, slash + 1) == 0 ? 0 : errno;
    close(directory);
    return errnum;
}

static inline int act_tmpfile(const struct act_world *world, const struct channel_check *check)
{
    const int flags = O_TMPFILE | O_WRONLY | O_CLOEXEC;

    if (check->fd < 0)
        return act_opened(open(check->name, flags, 0600));
    return act_opened(openat(act_descriptor(world, check->fd), ".", flags, 0600));
}

static inline int act_truncate(const struct act_world *world, const struct channel_check *check)
{
    char path[ACT_PROC_PATH];

    return truncate(act_proc_path(path, act_descriptor(world, check->fd)), check->a) == 0 ? 0 : errno;
}

static inline int act_socket(const struct act_world *world, const struct channel_check *check)
{
    (void)world;
    return act_opened(socket((int)check->a, (int)check->b | SOCK_CLOEXEC, 0));
}

static inline int act_socketpair(const struct act_world *world, const struct channel_check *check)
{
    int pair[2];

    (void)world;
    if (socketpair((int)check->a, (int)check->b | SOCK_CLOEXEC, 0, pair) != 0)
        return errno;
    close(pair[0]);
    close(pair[1]);
    return 0;
}

static inline struct sockaddr_in act_loopback(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
}

static inline int act_bind(const struct act_world *world, const struct channel_check *check)
{
    struct sockaddr_in any = act_loopback(0);

    return bind(act_descriptor(world, check->fd), (struct sockaddr *)&any, sizeof(any)) == 0 ? 0 : errno;
}

static inline int act_send_udp(const struct act_world *world, const struct channel_check *check)
{
    struct sockaddr_in port = act_loopback((int)check->a);

    return sendto(act_descriptor(world, check->fd), world->nonce, CHANNEL_NONCE, MSG_DONTWAIT | MSG_NOSIGNAL,
                  (struct sockaddr *)&port, sizeof(port)) >= 0
               ? 0
               : errno;
}

static inline int act_connect_abstract(const struct act_world *world, const struct channel_check *check)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    size_t length = strnlen(check->name, sizeof(name.sun_path) - 2);

    memcpy(name.sun_path + 1, check->name, length);
    return connect(act_descriptor(world, check->fd), (struct sockaddr *)&name,
                   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)) == 0
               ? 0
               : errno;
}

static inline int act_connect_path(const struct act_world *world, const struct channel_check *check)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};

    act_proc_path(name.sun_path, act_descriptor(world, check->b));
    return connect(act_descriptor(world, check->fd), (struct sockaddr *)&name, sizeof(name)) == 0 ? 0 : errno;
}

static inline int act_signal(const struct act_world *world, const struct channel_check *check)
{
    (void)world;
    return kill((pid_t)check->a, 0) == 0 ? 0 : errno;
}

/* Other bytes than the nonce are no crossing and no refusal either: EIO is in nobody's list. */
static inline int act_read_memory(const struct act_world *world, const struct channel_check *check)
{
    uint8_t bytes[CHANNEL_NONCE] = {0};
    struct iovec here = {.iov_base = bytes, .iov_len = sizeof(bytes)};
    struct iovec there = {.iov_base = (void *)(uintptr_t)check->b, .iov_len = sizeof(bytes)};
    ssize_t got = process_vm_readv((pid_t)check->a, &here, 1, &there, 1, 0);

    if (got < 0)
        return errno;
    return world->nonce && memcmp(bytes, world->nonce, sizeof(bytes)) == 0 ? 0 : EIO;
}

static inline int act_prlimit(const struct act_world *world, const struct channel_check *check)
{
    uint64_t limits[2];
    long answer;

    (void)world;
    memcpy(limits, check->name, sizeof(limits));
    answer = kernel_call(SYS_prlimit64, (long)check->a, RLIMIT_NOFILE, (long)(uintptr_t)limits, 0, 0, 0);
    return answer < 0 ? (int)-answer : 0;
}

static inline int act_shm_info(const struct act_world *world, const struct channel_check *check)
{
    char room[256];
    long answer;

    (void)world;
    (void)check;
    answer = kernel_call(SYS_shmctl, 0, IPC_INFO, (long)(uintptr_t)room, 0, 0, 0);
    return answer < 0 ? (int)-answer : 0;
}

static inline int act_keyring(const struct act_world *world, const struct channel_check *check)
{
    long answer = kernel_call(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0, 0, 0, 0);

    (void)world;
    (void)check;
    return answer < 0 ? (int)-answer : 0;
}

static inline int act_sentinel(const struct act_world *world, const struct channel_check *check)
{
    long answer = kernel_call(SECCOMP_SENTINEL_NR, 0, 0, 0, 0, 0, 0);

    (void)world;
    (void)check;
    return answer < 0 ? (int)-answer : 0;
}

static inline int act_no_new_privs(const struct act_world *world, const struct channel_check *check)
{
    (void)world;
    (void)check;
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? EPERM : 0;
}

static inline int act_capabilities(const struct act_world *world, const struct channel_check *check)
{
    struct capability_header header = {.version = CAPABILITY_VERSION_3};
    struct capability_data data[2] = {{1, 1, 1}, {1, 1, 1}};
    long answer = kernel_call(SYS_capget, (long)(uintptr_t)&header, (long)(uintptr_t)data, 0, 0, 0, 0);

    (void)world;
    (void)check;
    if (answer < 0)
        return (int)-answer;
    return data[0].effective | data[0].permitted | data[0].inheritable | data[1].effective |
                   data[1].permitted | data[1].inheritable
               ? 0
               : EPERM;
}

static inline int act_file_size(const struct act_world *world, const struct channel_check *check)
{
    struct rlimit limit;

    (void)world;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0)
        return errno;
    return limit.rlim_cur <= (rlim_t)check->a && limit.rlim_max <= (rlim_t)check->a ? EFBIG : 0;
}

static inline int act_core_size(const struct act_world *world, const struct channel_check *check)
{
    struct rlimit limit;

    (void)world;
    if (getrlimit(RLIMIT_CORE, &limit) != 0)
        return errno;
    return limit.rlim_cur <= (rlim_t)check->a && limit.rlim_max <= (rlim_t)check->a ? EFBIG : 0;
}

static inline int act_is_open(const struct act_world *world, const struct channel_check *check)
{
    (void)world;
    return fcntl((int)check->a, F_GETFD) >= 0 ? 0 : errno;
}

static inline int act_environment(const struct act_world *world, const struct channel_check *check)
{
    size_t length = strnlen(check->name, sizeof(check->name));

    for (char **variable = world->envp; variable && *variable; variable++)
        if (strncmp(*variable, check->name, length) == 0 && (*variable)[length] == '=')
            return 0;
    return ENOENT;
}

/* A session has one terminal, and the supervisor sees from the other side which one that is. */
static inline bool act_is_own_terminal(int fd)
{
    return tcgetsid(fd) == getpid();
}

static inline int act_terminal(const struct act_world *world, const struct channel_check *check)
{
    const int candidates[] = {0, 1, 2, world->stderr_fd};
    struct termios modes;
    bool own;
    int fd;

    for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++)
        if (candidates[i] >= 0 && tcgetattr(candidates[i], &modes) == 0 &&
            (!check->a || !act_is_own_terminal(candidates[i])))
            return 0;
    fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    own = fd >= 0 && check->a && act_is_own_terminal(fd);
    return own ? (close(fd), ENXIO) : act_opened(fd);
}

/* The attribute is not there, so that nothing changes; that is what the kernel says where nothing refuses. */
static inline int act_remove_attribute(const struct act_world *world, const struct channel_check *check)
{
    (void)world;
    if (lremovexattr(check->name, "user.confine.none") == 0)
        return 0;
    return errno == ENODATA ? 0 : errno;
}

static inline int act_namespace(const struct act_world *world, const struct channel_check *check)
{
    char path[ACT_PROC_PATH];
    struct stat object;

    (void)world;
    snprintf(path, sizeof(path), "/proc/self/ns/%.15s", check->name);
    if (stat(path, &object) != 0)
        return errno;
    /* In neither the one that was left nor the one that was to be entered: nobody knows what that one holds.
     */
    return (int64_t)object.st_ino == check->a || (check->b && (int64_t)object.st_ino != check->b) ? 0 : EXDEV;
}

static inline int act_object(const struct act_world *world, const struct channel_check *check)
{
    struct stat object;

    (void)world;
    if (stat(check->name, &object) != 0)
        return errno;
    return (int64_t)object.st_dev == check->a && (int64_t)object.st_ino == check->b ? 0 : EXDEV;
}

/* A file system mounted later, or a name swapped for another object, is what a grant must not lead to. */
static inline int act_replaced(const struct act_world *world, const struct channel_check *check)
{
    struct stat object;

    (void)world;
    if (stat(check->name, &object) != 0)
        return errno;
    return (int64_t)object.st_dev == check->a && (int64_t)object.st_ino == check->b ? ESTALE : 0;
}

static inline int act_mounted(const struct act_world *world, const struct channel_check *check)
{
    struct statfs mount;

    (void)world;
    if (statfs(check->name, &mount) != 0)
        return errno;
    return ((int64_t)mount.f_flags & check->a) == check->a ? EROFS : 0;
}

static inline int act_room(const struct act_world *world, const struct channel_check *check)
{
    struct statfs system;

    (void)world;
    if (statfs(check->name, &system) != 0)
        return errno;
    return (int64_t)system.f_blocks * (int64_t)system.f_bsize <= check->a ? EFBIG : 0;
}

static inline int act_cpu_time(const struct act_world *world, const struct channel_check *check)
{
    struct rlimit limit;

    (void)world;
    if (getrlimit(RLIMIT_CPU, &limit) != 0)
        return errno;
    return limit.rlim_cur <= (rlim_t)check->a && limit.rlim_max <= (rlim_t)check->a + 1 ? ETIME : 0;
}

/* Makes an address of NAME and PORT. Return: its size; 0: it is none. */
static inline socklen_t act_address(struct sockaddr_storage *room, const char *name, int64_t port)
{
    struct sockaddr_in *four = (struct sockaddr_in *)room;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)room;

    memset(room, 0, sizeof(*room));
    if (inet_pton(AF_INET, name, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons((in_port_t)port);
        return sizeof(*four);
    }
    if (inet_pton(AF_INET6, name, &six->sin6_addr) != 1)
        return 0;
    six->sin6_family = AF_INET6;
    six->sin6_port = htons((in_port_t)port);
    return sizeof(*six);
}

/* For a socket of datagrams, to connect is to look for a route. A kernel without IPv6 has none of it. */
static inline int act_route(const struct act_world *world, const struct channel_check *check)
{
    struct sockaddr_storage address;
    socklen_t size = act_address(&address, check->name, 9);
    int fd = socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), errnum;

    (void)world;
    if (fd < 0)
        return errno == EAFNOSUPPORT && address.ss_family == AF_INET6 ? ENETUNREACH : errno;
    errnum = connect(fd, (const struct sockaddr *)&address, size) == 0 ? 0 : errno;
    close(fd);
    return errnum;
}

static inline int act_listener(const struct act_world *world, const struct channel_check *check)
{
    struct sockaddr_storage address;
    socklen_t size = act_address(&address, check->name, check->a);
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool sent;

    if (fd < 0)
        return errno;
    sent = connect(fd, (const struct sockaddr *)&address, size) == 0 &&
           send(fd, world->nonce, CHANNEL_NONCE, MSG_NOSIGNAL) == CHANNEL_NONCE;
    close(fd);
    return sent ? EISCONN : 0;
}

static inline int act_processes(const struct act_world *world, const struct channel_check *check)
{
    char text[24] = "";
    int64_t most = 0;
    int fd = open("/proc/sys/kernel/pid_max", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    int error = errno;

    (void)world;
    if (fd >= 0)
        close(fd);
    if (got < 0)
        return error;
    for (const char *at = text; *at >= '0' && *at <= '9'; at++)
        most = most * 10 + (*at - '0');
    return most == check->a ? EAGAIN : 0;
}

static const act_function act_table[ACT_COUNT] = {
    [ACT_OPEN] = act_open,
    [ACT_OPEN_AT] = act_open_at,
    [ACT_RENAME_SELF] = act_rename_self,
    [ACT_TMPFILE] = act_tmpfile,
    [ACT_TRUNCATE] = act_truncate,
    [ACT_SOCKET] = act_socket,
    [ACT_SOCKETPAIR] = act_socketpair,
    [ACT_BIND] = act_bind,
    [ACT_SEND_UDP] = act_send_udp,
    [ACT_CONNECT_ABSTRACT] = act_connect_abstract,
    [ACT_CONNECT_PATH] = act_connect_path,
    [ACT_SIGNAL] = act_signal,
    [ACT_READ_MEMORY] = act_read_memory,
    [ACT_PRLIMIT] = act_prlimit,
    [ACT_SHM_INFO] = act_shm_info,
    [ACT_KEYRING] = act_keyring,
    [ACT_SENTINEL] = act_sentinel,
    [ACT_NO_NEW_PRIVS] = act_no_new_privs,
    [ACT_CAPABILITIES] = act_capabilities,
    [ACT_FILE_SIZE] = act_file_size,
    [ACT_DESCRIPTOR] = act_is_open,
    [ACT_ENVIRONMENT] = act_environment,
    [ACT_TERMINAL] = act_terminal,
    [ACT_REMOVE_ATTRIBUTE] = act_remove_attribute,
    [ACT_NAMESPACE] = act_namespace,
    [ACT_OBJECT] = act_object,
    [ACT_MOUNTED] = act_mounted,
    [ACT_ROOM] = act_room,
    [ACT_REPLACED] = act_replaced,
    [ACT_CPU_TIME] = act_cpu_time,
    [ACT_CORE_SIZE] = act_core_size,
    [ACT_ROUTE] = act_route,
    [ACT_LISTENER] = act_listener,
    [ACT_PROCESSES] = act_processes,
};

/* act_perform() - Return: 0 when it went through, errno when it was refused, -1 for an act unknown here. */
static inline int act_perform(const struct act_world *world, const struct channel_check *check)
{
    if (check->act >= ACT_COUNT || !act_table[check->act])
        return -1;
    return act_table[check->act](world, check);
}

#endif
