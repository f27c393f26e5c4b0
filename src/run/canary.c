/*
 * canary.c - making the canaries, and looking at them from outside.
 */
#include "run/canary.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STALE_SECONDS 60
#define STALE_BYTES   65536 /* of a directory that is looked through: a larger one has too many names */

/* What a chain may open at once beside the descriptors that it is given. */
#define CHAIN_OPENS 12
#define VIEW_OPENS  32

/* Places for a canary, memory first: nothing there reaches a disk. */
static const char *const places[] = {"/dev/shm", "/tmp", "/var/tmp"};

static int own(struct attestation *attestation, int fd)
{
    if (fd >= 0 && attestation->owned_count == ARRAY_SIZE(attestation->owned))
        return fd_close(fd);
    if (fd >= 0)
        attestation->owned[attestation->owned_count++] = fd;
    return fd;
}

/* Does no grant reach PATH? What may be read is a grant only where readable paths are listed. */
static bool is_outside(const struct resolved *resolved, const char *path)
{
    if (resolved_under_writable(resolved, path))
        return false;
    for (size_t i = 0; i < resolved->path_count && resolved->policy->readable_listed; i++) {
        const struct resolved_path *granted = &resolved->paths[i];

        if (granted->grant == GRANT_READ && path_contains(granted->path, path))
            return false;
    }
    return true;
}

/* The first place that no grant reaches. A place that a rule cannot be tried in is no place. */
static int open_place(const struct resolved *resolved)
{
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        int fd;

        if (!is_outside(resolved, places[i]))
            continue;
        fd = open(places[i], O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0)
            return fd;
    }
    return -1;
}

/* A name that nobody else uses: the start of the nonce in hex. */
static void canary_name(const struct attestation *attestation, char *name, size_t size, const char *kind)
{
    snprintf(name, size, ".confine-%s-%02x%02x%02x%02x%02x%02x", kind, attestation->nonce[0],
             attestation->nonce[1], attestation->nonce[2], attestation->nonce[3], attestation->nonce[4],
             attestation->nonce[5]);
}

static void give_to_user(const struct attestation *attestation, int directory, const char *name, int flags)
{
    if (attestation->switch_user && fchownat(directory, name, attestation->uid, attestation->gid, flags) != 0)
        return; /* then the control fails, and nothing is claimed by it */
}

/* Return: whether it can be the canary: a full place has names for it, and no room. @fd: taken over */
static bool take_file(struct attestation *attestation, int fd)
{
    if (fd >= 0 && write(fd, attestation->nonce, CHANNEL_NONCE) != CHANNEL_NONCE)
        fd = fd_close(fd);
    if (fd < 0)
        return false;
    give_to_user(attestation, fd, "", AT_EMPTY_PATH);
    attestation->file = own(attestation, fd);
    attestation->file_path = own(attestation, open(FD_NAME(fd), O_PATH | O_CLOEXEC));
    return true;
}

void canary_file(struct attestation *attestation, const struct resolved *resolved)
{
    const int flags = O_TMPFILE | O_RDWR | O_CLOEXEC;
    bool taken = false;

    for (size_t i = 0; i < ARRAY_SIZE(places) && !taken; i++)
        taken = is_outside(resolved, places[i]) && take_file(attestation, open(places[i], flags, 0600));
    for (size_t i = 0; i < resolved->edge_count && !taken; i++)
        taken = is_outside(resolved, resolved->edges[i].parent) &&
                take_file(attestation, openat(resolved->edges[i].parent_fd, ".", flags, 0600));
}

/* A supervisor that was killed between making a name and removing it left that name. It is ours when it has
 * our form, our user and no age of a run that may still be at it. */
static void remove_stale(const struct attestation *attestation, int place)
{
    int listing = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat object;
    bool short_one = listing >= 0 && fstat(listing, &object) == 0 && object.st_size <= STALE_BYTES;
    DIR *directory = short_one ? fdopendir(listing) : NULL;
    time_t now = time(NULL);

    if (!directory) {
        fd_close(listing);
        return;
    }
    for (struct dirent *entry; (entry = readdir(directory));) {
        bool ours = strncmp(entry->d_name, ".confine-fifo-", 14) == 0 ||
                    strncmp(entry->d_name, ".confine-socket-", 16) == 0;

        if (ours && fstatat(place, entry->d_name, &object, AT_SYMLINK_NOFOLLOW) == 0 &&
            (S_ISFIFO(object.st_mode) || S_ISSOCK(object.st_mode)) &&
            (object.st_uid == geteuid() || object.st_uid == attestation->uid) &&
            object.st_mtime + STALE_SECONDS < now)
            unlinkat(place, entry->d_name, 0);
    }
    closedir(directory);
}

void canary_fifo(struct attestation *attestation, const struct resolved *resolved)
{
    _cleanup_fd_ int place = open_place(resolved);
    char name[64];

    if (place >= 0)
        remove_stale(attestation, place);
    canary_name(attestation, name, sizeof(name), "fifo");
    if (place < 0 || mknodat(place, name, S_IFIFO | 0600, 0) != 0)
        return;
    give_to_user(attestation, place, name, AT_SYMLINK_NOFOLLOW);
    attestation->fifo_path = own(attestation, openat(place, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    unlinkat(place, name, 0);
    if (attestation->fifo_path < 0)
        return;
    attestation->fifo =
        own(attestation, open(FD_NAME(attestation->fifo_path), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
}

void canary_abstract(struct attestation *attestation)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int fd = own(attestation, socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    size_t length;

    canary_name(attestation, attestation->abstract, sizeof(attestation->abstract), "abstract");
    length = strlen(attestation->abstract);
    memcpy(name.sun_path + 1, attestation->abstract, length);
    if (fd >= 0 &&
        bind(fd, (struct sockaddr *)&name,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)) == 0 &&
        listen(fd, 16) == 0)
        attestation->listener = fd;
}

void canary_socket_path(struct attestation *attestation, const struct resolved *resolved)
{
    _cleanup_fd_ int place = open_place(resolved);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char name[64];
    int fd = own(attestation, socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));

    canary_name(attestation, name, sizeof(name), "socket");
    if (fd < 0 || place < 0)
        return;
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", place, name);
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
        return;
    give_to_user(attestation, place, name, AT_SYMLINK_NOFOLLOW);
    attestation->socket_path = own(attestation, openat(place, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    unlinkat(place, name, 0);
    if (listen(fd, 16) == 0)
        attestation->path_listener = fd;
}

/* A terminal like the caller's own: a pseudo-terminal that nobody uses. */
void canary_terminal(struct attestation *attestation)
{
    int fd = own(attestation, open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC));
    unsigned number;
    int unlock = 0;

    if (fd < 0 || ioctl(fd, TIOCSPTLCK, &unlock) != 0 || ioctl(fd, TIOCGPTN, &number) != 0)
        return;
    snprintf(attestation->terminal_name, sizeof(attestation->terminal_name), "/dev/pts/%u", number);
    if (attestation->switch_user &&
        chown(attestation->terminal_name, attestation->uid, attestation->gid) != 0)
        return;
    attestation->terminal = fd;
}

void canary_udp(struct attestation *attestation)
{
    struct sockaddr_in address = act_loopback(0);
    socklen_t size = sizeof(address);
    int fd = own(attestation, socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));

    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        return;
    attestation->udp_receiver = fd;
    attestation->udp_port = ntohs(address.sin_port);
}

/* Whoever holds capabilities that the command has not cannot be traced by it: the kernel would refuse that
 * without any boundary. */
static bool has_capabilities(void)
{
    const struct act_world world = {.stderr_fd = -1};
    const struct channel_check check = {.act = ACT_CAPABILITIES};

    return act_perform(&world, &check) == 0;
}

/* The child that is only there: it has the nonce at our address, the command's user, no capability, and ends
 * with its pipe. */
_Noreturn static void be_process(const struct attestation *attestation, int wait, int release)
{
    const struct capability_data nothing[2] = {{0}, {0}};
    struct capability_header header = {.version = CAPABILITY_VERSION_3};
    char byte;

    /* Nothing else of ours may live on in here: a liveness pipe would not end with its supervisor. */
    close(release);
    wait = dup2(wait, 3);
    if (wait != 3 || kernel_call(SYS_close_range, 4, INT_MAX, 0, 0, 0, 0) < 0)
        _exit(LINK_FAILED);
    if (attestation->switch_user &&
        (setgroups(0, NULL) != 0 || setresgid(attestation->gid, attestation->gid, attestation->gid) != 0 ||
         setresuid(attestation->uid, attestation->uid, attestation->uid) != 0))
        _exit(LINK_FAILED);
    if (kernel_call(SYS_capset, KERNEL_PTR(&header), KERNEL_PTR(nothing), 0, 0, 0, 0) != 0)
        _exit(LINK_FAILED);
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    prctl(PR_SET_PTRACER, -1L, 0, 0, 0);
    if (write(wait, "", 1) != 1) /* ready; the pair is a socket, so the same end is read next */
        _exit(LINK_FAILED);
    while (read(wait, &byte, 1) < 0 && errno == EINTR)
        ;
    _exit(0);
}

/* May such a number be that of a process of the chain's own inside? What is done to that one would be taken
 * for done to the canary. */
static bool is_number_inside(const struct attestation *attestation, pid_t pid)
{
    return attestation->pid_namespace && pid <= CANARY_PIDS_INSIDE;
}

/* Where numbers are that low, in a container that has just started, the next ones are used up. */
static void use_numbers_up(const struct attestation *attestation)
{
    pid_t pid = getpid();

    for (int tries = 0; is_number_inside(attestation, pid) && pid >= 0 && tries < CANARY_PIDS_INSIDE;
         tries++) {
        pid = fork();
        if (pid == 0)
            _exit(0);
        while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
}

void canary_process(struct attestation *attestation)
{
    int ends[2];
    char byte;

    attestation->process = getpid();
    attestation->process_apart =
        attestation->switch_user || has_capabilities() || is_number_inside(attestation, attestation->process);
    if (!attestation->process_apart) {
        /* Yama's mode 1 lets only parents trace; for the moment of the attestation anybody of ours may. */
        prctl(PR_SET_PTRACER, -1L, 0, 0, 0);
        return;
    }
    attestation->process = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return;
    use_numbers_up(attestation);
    attestation->process_child = fork();
    if (attestation->process_child == 0)
        be_process(attestation, ends[0], ends[1]);
    close(ends[0]);
    attestation->process_release = ends[1];
    if (attestation->process_child > 0 && read(ends[1], &byte, 1) == 1)
        attestation->process = attestation->process_child;
}

void canary_process_end(struct attestation *attestation)
{
    if (!attestation->process_apart)
        prctl(PR_SET_PTRACER, 0L, 0, 0, 0);
    attestation->process_release = fd_close(attestation->process_release);
    if (attestation->process_child > 0)
        while (waitpid(attestation->process_child, NULL, 0) < 0 && errno == EINTR)
            ;
    attestation->process_child = 0;
    attestation->process = 0;
}

/* What namespace-run may hold open at once: clones of what it shows, and what it opens to find them. */
static size_t opened_by_view(const struct resolved *resolved)
{
    return 3 * (resolved->path_count + resolved->hidden_count + resolved->protected_paths.count +
                resolved->view.kept.count + resolved->view.copies.count + resolved->view.sockets.count) +
           VIEW_OPENS;
}

/* The number must be one that no link gets by itself, and is best a low one: the table of descriptors grows
 * in powers of two up to it, and is copied and searched. Whoever opens gets the lowest number that is free,
 * so that none can be above the count of all that are open. FREE is the lowest that is free now. */
static int choose_inherited(const struct attestation *attestation, const struct resolved *resolved, int free)
{
    static const int numbers[] = {60, 250, 640};
    size_t most = (size_t)free + resolved->pass_fd_count + CHAIN_OPENS +
                  (attestation->unsupervised ? 0 : CHANNEL_DESCRIPTORS) +
                  (attestation->pid_namespace ? opened_by_view(resolved) : 0);
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur <= most)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        if ((size_t)numbers[i] >= most && limit.rlim_cur > (rlim_t)numbers[i])
            return numbers[i];
    return (int)most;
}

/* Without a number that is nobody else's there is no canary: the chain's own descriptor in its place would
 * read as a boundary that is not there. */
void canary_inherited(struct attestation *attestation, const struct resolved *resolved)
{
    _cleanup_fd_ int fd = openat(AT_FDCWD, "/dev/null", O_RDONLY | O_CLOEXEC);
    int number = fd < 0 ? -1 : choose_inherited(attestation, resolved, fd);

    if (number >= 0)
        attestation->inherited = fd_copy(fd, number);
    own(attestation, attestation->inherited);
}

const char *canary_device(const struct attestation *attestation, const struct resolved *resolved)
{
    /* Our own terminal first: to open /dev/ptmx makes one more, and takes longer than all other controls. */
    const char *const nodes[] = {attestation->terminal >= 0 ? attestation->terminal_name : "/dev/ptmx",
                                 "/dev/ptmx",
                                 "/dev/fuse",
                                 "/dev/kvm",
                                 "/dev/net/tun",
                                 "/dev/full"};

    for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
        bool granted = resolved_under_writable(resolved, nodes[i]);

        for (size_t k = 0; k < resolved->path_count && !granted; k++)
            granted =
                resolved->paths[k].grant == GRANT_DEVICE && strcmp(resolved->paths[k].path, nodes[i]) == 0;
        if (!granted && access(nodes[i], R_OK | W_OK) == 0)
            return nodes[i];
    }
    return NULL;
}

int canary_open(struct attestation *attestation, const char *path)
{
    if (path && attestation->device_path < 0)
        attestation->device_path = own(attestation, open(path, O_PATH | O_CLOEXEC));
    return attestation->device_path;
}

/* A connection of the command's own process. Others (a scan by somebody else) say nothing. */
static bool was_connected(int listener, pid_t command)
{
    bool seen = false;

    for (;;) {
        _cleanup_fd_ int fd = listener < 0 ? -1 : accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        struct ucred who = {0};
        socklen_t size = sizeof(who);

        if (fd < 0)
            return seen;
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.pid == command)
            seen = true;
    }
}

static bool file_changed(const struct attestation *attestation)
{
    uint8_t seen[CHANNEL_NONCE];
    struct stat object;

    return attestation->file_path >= 0 &&
           (fstat(attestation->file, &object) != 0 || object.st_size != CHANNEL_NONCE ||
            pread(attestation->file, seen, sizeof(seen), 0) != (ssize_t)sizeof(seen) ||
            memcmp(seen, attestation->nonce, sizeof(seen)) != 0);
}

static bool datagram_arrived(const struct attestation *attestation)
{
    uint8_t seen[CHANNEL_NONCE];

    while (attestation->udp_receiver >= 0) {
        ssize_t size = recv(attestation->udp_receiver, seen, sizeof(seen), MSG_DONTWAIT);

        if (size < 0)
            return false;
        if (size == (ssize_t)sizeof(seen) && memcmp(seen, attestation->nonce, sizeof(seen)) == 0)
            return true;
    }
    return false;
}

static bool fifo_written(const struct attestation *attestation)
{
    char byte;

    return attestation->fifo >= 0 && read(attestation->fifo, &byte, 1) > 0;
}

bool canary_heard(const struct attestation *attestation, int listener)
{
    _cleanup_fd_ int fd = listener < 0 ? -1 : accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    uint8_t heard[CHANNEL_NONCE];

    return fd >= 0 && recv(fd, heard, sizeof(heard), 0) == (ssize_t)sizeof(heard) &&
           memcmp(heard, attestation->nonce, sizeof(heard)) == 0;
}

bool canary_seen_crossed(const struct attestation *attestation, enum canary canary, pid_t command)
{
    switch (canary) {
    case CANARY_FILE:
        return file_changed(attestation);
    case CANARY_FIFO:
        return fifo_written(attestation);
    case CANARY_SOCKET_ABSTRACT:
        return was_connected(attestation->listener, command);
    case CANARY_SOCKET_PATH:
        return was_connected(attestation->path_listener, command);
    case CANARY_UDP:
        return datagram_arrived(attestation);
    default:
        return false; /* nothing of it can be seen from here but the answer */
    }
}
