/*
 * namespace.c - what the tests of namespace-run do inside, and around it.
 *
 *     namespace ordinary DIRECTORY       eleven things that ordinary programs do; prints which fail, and how
 * many worked namespace exchange A B             exchanges two names once; prints the errno namespace swap A
 * B                 exchanges two names until it is killed namespace connect SOCKET           prints the
 * errno namespace listen SOCKET COMMAND    listens while the command runs namespace stat FILE prints mode,
 * and the type of the file system namespace traced                   asks its parent to trace it, and goes on
 *     namespace supervise MODE COMMAND   the supervisor's part: liveness as 30, channel as 31 (see below)
 *     namespace storm TIMES COMMAND      starts the command so often, and kills it at any moment
 *     namespace times TIMES COMMAND      runs the command so often; prints how often it ended with 0 and with
 * 125
 */
#include "../../links/channel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIVENESS 30
#define CHANNEL  31
#define HELD     32
#define PATIENCE 60000 /* ms: for what must happen */

static char where[4096]; /* the directory of `ordinary` */

static const char *in(const char *name)
{
    static char path[2][8192];
    static int turn;

    turn = !turn;
    snprintf(path[turn], sizeof(path[turn]), "%s/%s", where, name);
    return path[turn];
}

/* --- the ordinary actions: each 0 when it worked ---------------------------------------------------------
 */

static int socketpair_send(void)
{
    int pair[2];
    char byte;

    return socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 || send(pair[0], "x", 1, 0) != 1 ||
           read(pair[1], &byte, 1) != 1;
}

static int socket_option(void)
{
    int pair[2], size = 65536;

    return socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 ||
           setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) != 0;
}

static int loopback(int type)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int server = socket(AF_INET, type, 0), client = socket(AF_INET, type, 0), peer = server;
    char byte = 0;

    if (bind(server, (struct sockaddr *)&address, size) != 0 ||
        getsockname(server, (struct sockaddr *)&address, &size) != 0 ||
        (type == SOCK_STREAM && listen(server, 1) != 0) ||
        connect(client, (struct sockaddr *)&address, size) != 0)
        return 1;
    if (type == SOCK_STREAM)
        peer = accept(server, NULL, NULL);
    return write(client, "x", 1) != 1 || read(peer, &byte, 1) != 1 || byte != 'x';
}

static int tcp_loopback(void)
{
    return loopback(SOCK_STREAM);
}

static int udp_loopback(void)
{
    return loopback(SOCK_DGRAM);
}

static int semaphore(void)
{
    sem_t *sem = sem_open("/confine-test", O_CREAT, 0600, 1);

    return sem == SEM_FAILED || sem_wait(sem) != 0 || sem_unlink("/confine-test") != 0;
}

static void *wake(void *end)
{
    return write(*(int *)end, "x", 1) == 1 ? end : NULL;
}

/* What an event loop with a thread pool does: a thread wakes it through a socket pair. */
static int executor(void)
{
    int pair[2];
    pthread_t thread;
    void *result = NULL;
    struct pollfd ready = {.events = POLLIN};

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 || pthread_create(&thread, NULL, wake, &pair[1]) != 0)
        return 1;
    ready.fd = pair[0];
    return poll(&ready, 1, PATIENCE) != 1 || pthread_join(thread, &result) != 0 || !result;
}

static int unix_socket(const char *path, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address->sun_path))
        return -1;
    strcpy(address->sun_path, path);
    return socket(AF_UNIX, SOCK_STREAM, 0);
}

static int unix_listener(void)
{
    struct sockaddr_un address;
    int server = unix_socket(in("socket"), &address), client = unix_socket(in("socket"), &address);

    return bind(server, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(server, 1) != 0 ||
           connect(client, (struct sockaddr *)&address, sizeof(address)) != 0 || unlink(in("socket")) != 0;
}

static int shm_file(void)
{
    int fd = shm_open("/confine-test", O_RDWR | O_CREAT | O_EXCL, 0600);

    return fd < 0 || ftruncate(fd, 4096) != 0 || shm_unlink("/confine-test") != 0;
}

static int hard_link(void)
{
    int fd = open(in("one"), O_WRONLY | O_CREAT | O_EXCL, 0600);

    return fd < 0 || close(fd) != 0 || link(in("one"), in("two")) != 0 || unlink(in("one")) != 0 ||
           unlink(in("two")) != 0;
}

static int rename_across(void)
{
    if (mkdir(in("from"), 0700) != 0 || mkdir(in("to"), 0700) != 0 || mkdir(in("from/x"), 0700) != 0)
        return 1;
    return rename(in("from/x"), in("to/x")) != 0 || rmdir(in("to/x")) != 0 || rmdir(in("to")) != 0 ||
           rmdir(in("from")) != 0;
}

static int open_pty(void)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY), slave;
    char *name;

    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0 || !(name = ptsname(master)))
        return 1;
    slave = open(name, O_RDWR | O_NOCTTY);
    return slave < 0 || !isatty(slave);
}

static int ordinary(const char *directory)
{
    static const struct {
        const char *name;
        int (*act)(void);
    } acts[] = {
        {"socketpair send", socketpair_send},
        {"setsockopt", socket_option},
        {"tcp", tcp_loopback},
        {"udp", udp_loopback},
        {"semaphore", semaphore},
        {"executor", executor},
        {"unix listener", unix_listener},
        {"shm", shm_file},
        {"hard link", hard_link},
        {"rename", rename_across},
        {"openpty", open_pty},
    };
    int worked = 0;

    snprintf(where, sizeof(where), "%s", directory);
    for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
        if (acts[i].act() == 0)
            worked++;
        else
            printf("%s: %s\n", acts[i].name, strerror(errno));
    printf("%d\n", worked);
    return 0;
}

/* --- single acts ------------------------------------------------------------------------------------------
 */

static int exchange(const char *a, const char *b)
{
    return syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, 2 /* RENAME_EXCHANGE */) == 0 ? 0 : errno;
}

static int swap(const char *a, const char *b)
{
    int error = 0;

    while (error == 0)
        error = exchange(a, b);
    fprintf(stderr, "swap: %s\n", strerror(error));
    return 1;
}

static int listen_and_run(const char *path, char **command)
{
    struct sockaddr_un address;
    int fd = unix_socket(path, &address), status = 99;
    pid_t child;

    fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(fd, 8) != 0 ||
        chmod(path, 0666) != 0)
        return 99;
    child = fork();
    if (child == 0) {
        execvp(command[0], command);
        _exit(99);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    unlink(path);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* --- supervising ------------------------------------------------------------------------------------------
 */

static int ended(int fd, int patience)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

    return poll(&poll_fd, 1, patience) == 1;
}

static pid_t start(char **command, const int *liveness, const int *channel, const int *held)
{
    pid_t child = fork();

    if (child != 0)
        return child;
    if ((liveness && dup2(liveness[1], LIVENESS) < 0) || (channel && dup2(channel[1], CHANNEL) < 0) ||
        dup2(held[1], HELD) < 0)
        _exit(99);
    execvp(command[0], command);
    _exit(99);
}

/*
 * MODE: `count` prints the status, what came over the liveness socket, and whether all is gone at once; `die`
 * closes our end of it as soon as the command has written a byte to its stdout, and sees that everything
 * ends; `cannot` prints the word that came over the channel. Whatever the command leaves behind holds a pipe
 * of ours, so that its end is seen.
 */
static int supervise(const char *mode, char **command)
{
    int liveness[2], channel[2], held[2], out[2], status = 0;
    uint32_t count = 0;
    struct channel_word word = {0};
    pid_t child;
    char byte;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, liveness) != 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) != 0 || pipe2(held, O_CLOEXEC) != 0 ||
        pipe2(out, O_CLOEXEC) != 0)
        return 99;
    if (strcmp(mode, "die") == 0 && dup2(out[1], STDOUT_FILENO) < 0)
        return 99;
    child = start(command, liveness, channel, held);
    if (child < 0)
        return 99; /* kill() would mean everybody */
    close(liveness[1]);
    close(channel[1]);
    close(held[1]);
    if (strcmp(mode, "die") == 0) {
        close(out[1]);
        if (read(out[0], &byte, 1) != 1)
            return 98;
        close(liveness[0]);
        fprintf(stderr, "%s\n", ended(held[0], PATIENCE) ? "all gone" : "left");
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        return 0;
    }
    waitpid(child, &status, 0);
    if (strcmp(mode, "cannot") == 0) {
        if (recv(channel[0], &word, sizeof(word), MSG_DONTWAIT) != sizeof(word))
            printf("no word\n");
        else
            printf("%s %d %s\n", word.type == CHANNEL_CANNOT ? "cannot" : "another", word.value >> 16,
                   strerror(word.value & 0xffff));
        return 0;
    }
    if (read(liveness[0], &count, sizeof(count)) != sizeof(count))
        printf("no count, ");
    printf("%s %d, %u left, %s\n", WIFEXITED(status) ? "exit" : "signal",
           WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), count,
           ended(held[0], 0) ? "all gone" : "still there");
    return 0;
}

static int storm(int times, char **command)
{
    int left = 0;
    unsigned seed = 1;

    for (int i = 0; i < times; i++) {
        int held[2];
        struct timespec pause = {.tv_nsec = (long)(rand_r(&seed) % 400) * 25000};
        pid_t child;

        if (pipe2(held, O_CLOEXEC) != 0 || (child = start(command, NULL, NULL, held)) < 0)
            return 99;
        close(held[1]);
        nanosleep(&pause, NULL);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        left += !ended(held[0], PATIENCE);
        close(held[0]);
    }
    printf("%d left\n", left);
    return 0;
}

static int times(int count, char **command)
{
    int held[2], zero = 0, failed = 0, other = 0, status = 0;

    if (pipe2(held, O_CLOEXEC) != 0)
        return 99;
    for (int i = 0; i < count; i++) {
        pid_t child = start(command, NULL, NULL, held);

        waitpid(child, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            zero++;
        else if (WIFEXITED(status) && WEXITSTATUS(status) == 125)
            failed++;
        else
            other++;
    }
    printf("%d %d %d\n", zero, failed, other);
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    struct sockaddr_un address;
    struct statfs fs;
    struct stat seen;

    if (argc == 3 && strcmp(mode, "ordinary") == 0)
        return ordinary(argv[2]);
    if (argc == 4 && strcmp(mode, "exchange") == 0)
        return printf("%d\n", exchange(argv[2], argv[3])) < 0;
    if (argc == 4 && strcmp(mode, "swap") == 0)
        return swap(argv[2], argv[3]);
    if (argc == 3 && strcmp(mode, "connect") == 0) {
        int fd = unix_socket(argv[2], &address);

        return printf("%d\n", connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 ? 0 : errno) < 0;
    }
    if (argc == 3 && strcmp(mode, "stat") == 0) {
        if (statfs(argv[2], &fs) != 0 || stat(argv[2], &seen) != 0)
            return printf("%s\n", strerror(errno)) < 0;
        return printf("%o %lx\n", seen.st_mode & 07777, (unsigned long)fs.f_type) < 0;
    }
    if (strcmp(mode, "traced") == 0)
        return signal(SIGUSR2, SIG_IGN) == SIG_ERR || ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0 ||
               raise(SIGUSR2) != 0;
    if (argc > 3 && strcmp(mode, "listen") == 0)
        return listen_and_run(argv[2], argv + 3);
    if (argc > 3 && strcmp(mode, "supervise") == 0)
        return supervise(argv[2], argv + 3);
    if (argc > 3 && strcmp(mode, "storm") == 0)
        return storm(atoi(argv[2]), argv + 3);
    if (argc > 3 && strcmp(mode, "times") == 0)
        return times(atoi(argv[2]), argv + 3);
    return 99;
}
