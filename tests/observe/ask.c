/*
 * ask.c - a command whose calls are held while somebody is asked. One word says what it does.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct way {
    const char *name;
    int flags;
} ways[] = {
    {"write", O_WRONLY},
    {"both", O_RDWR},
    {"append", O_WRONLY | O_APPEND},
    {"cut", O_WRONLY | O_TRUNC},
    {"cut-read", O_RDONLY | O_TRUNC},
    {"make", O_WRONLY | O_CREAT},
    {"make-closed", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC},
    {"nameless", O_WRONLY | O_TMPFILE},
    {"no-wait", O_WRONLY | O_NONBLOCK},
    {"directory", O_RDONLY | O_CREAT | O_DIRECTORY},
    {"no-link", O_WRONLY | O_NOFOLLOW},
    {"look", O_PATH | O_WRONLY | O_CREAT},
};

/* What kernels learned one after the other. */
static const struct old {
    const char *name;
    unsigned call, value;
    int bits;
    unsigned error;
} olds[] = {
    {"before-5.19", SYS_seccomp, 1U << 5, 1, EINVAL},  /* SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV */
    {"before-5.9", SYS_ioctl, 0x40182103U, 0, EINVAL}, /* SECCOMP_IOCTL_NOTIF_ADDFD */
    {"without-landlock", SYS_landlock_create_ruleset, 0, 0,
     EOPNOTSUPP}, /* and its version cannot be asked for */
};

static void say_open(const char *path, int fd)
{
    int flags = fd < 0 ? 0 : fcntl(fd, F_GETFL);

    if (fd < 0)
        printf("%s: %s\n", path, strerrorname_np(errno));
    else
        printf("%s: open %d%s%s%s\n", path, flags & O_ACCMODE, flags & O_APPEND ? " append" : "",
               flags & O_NONBLOCK ? " no-wait" : "", fcntl(fd, F_GETFD) & FD_CLOEXEC ? " closed" : "");
    fflush(stdout);
}

/* Opens PATH to write, and that descriptor anew to read it. */
static int do_again(const char *path)
{
    int fd = open(path, O_WRONLY), anew;
    char name[40];

    say_open(path, fd);
    if (fd < 0)
        return 0;
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    anew = open(name, O_RDWR);
    say_open("again", anew);
    return anew >= 0 ? close(anew) || close(fd) : close(fd);
}

/* Opens PATH in the way WAY, and writes `x` where that is possible. */
static int do_open(const char *way, const char *path)
{
    int fd;

    if (strcmp(way, "again") == 0)
        return do_again(path);
    if (strcmp(way, "mkdir") == 0) {
        printf("%s: %s\n", path, mkdir(path, 0777) == 0 ? "made" : strerrorname_np(errno));
        return 0;
    }
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        if (strcmp(ways[i].name, way) == 0) {
            fd = open(path, ways[i].flags, 0666);
            say_open(path, fd);
            if (fd >= 0 && (ways[i].flags & O_ACCMODE) != O_RDONLY && !(ways[i].flags & O_PATH) &&
                write(fd, "x", 1) != 1)
                return 1;
            return fd >= 0 ? close(fd) : 0;
        }
    return 2;
}

static void await_file(const char *path)
{
    while (access(path, F_OK) != 0)
        usleep(2000);
}

/* --- many at once */

static const char *flood_directory;
static int flood_count;
static volatile int flood_next;

static void *flood_one(void *unused)
{
    char path[4096];
    int at;

    (void)unused;
    while ((at = __atomic_fetch_add(&flood_next, 1, __ATOMIC_SEQ_CST)) < flood_count) {
        snprintf(path, sizeof(path), "%s/%d", flood_directory, at);
        if (open(path, O_WRONLY | O_CREAT, 0600) >= 0)
            exit(1);
    }
    return NULL;
}

#define CROWD 60 /* the observer hands so many over */

static const char *crowd_path, *crowd_go;
static int crowd_count;

static void crowd_say(const char *what)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s-%s", crowd_go, what);
    close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

static void *crowd_one(void *unused)
{
    int fd;

    (void)unused;
    if (__atomic_add_fetch(&crowd_count, 1, __ATOMIC_SEQ_CST) == CROWD)
        crowd_say("all");
    fd = open(crowd_path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return NULL;
}

/* Opens PATH, and sixty times at once when GO is there. */
static int do_crowd(const char *path, const char *go)
{
    pthread_t thread;

    crowd_path = path;
    crowd_go = go;
    if (open(path, O_WRONLY | O_CLOEXEC) < 0)
        return 1;
    crowd_say("first");
    await_file(go);
    for (int i = 0; i < CROWD; i++)
        if (pthread_create(&thread, NULL, crowd_one, NULL) != 0)
            return 2;
    for (;;)
        pause();
}

static int do_flood(const char *directory, int count)
{
    pthread_t threads[40];

    flood_directory = directory;
    flood_count = count;
    for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
        if (pthread_create(&threads[i], NULL, flood_one, NULL) != 0)
            return 2;
    for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
        pthread_join(threads[i], NULL);
    return 0;
}

/* --- names that change */

static const char *race_link, *race_one, *race_other;
static char race_text[4096];
static volatile int racing = 1;

static void *swap_links(void *unused)
{
    char next[4096];

    (void)unused;
    snprintf(next, sizeof(next), "%s.next", race_link);
    for (unsigned i = 0; racing; i++) {
        unlink(next);
        if (symlink(i % 2 ? race_one : race_other, next) != 0 || rename(next, race_link) != 0)
            exit(2);
    }
    return NULL;
}

static void *swap_text(void *unused)
{
    (void)unused;
    for (unsigned i = 0; racing; i++)
        memcpy(race_text, i % 2 ? race_one : race_other, strlen(race_one) + 1);
    return NULL;
}

/* Opens a name that is now the one and now the other; writes `x` into whatever that opens. @link: in the
 * workspace; `-`: the text itself is changed */
static int do_race(const char *link, const char *one, const char *other, int count)
{
    int opened = 0, refused = 0;
    pthread_t thread;

    race_link = link;
    race_one = one;
    race_other = other;
    snprintf(race_text, sizeof(race_text), "%s", strcmp(link, "-") == 0 ? one : link);
    if (race_link[0] != '-' && symlink(one, link) != 0)
        return 2;
    if (pthread_create(&thread, NULL, race_link[0] == '-' ? swap_text : swap_links, NULL) != 0)
        return 2;
    for (int i = 0; i < count; i++) {
        int fd = open(race_text, O_WRONLY | O_APPEND);

        opened += fd >= 0;
        refused += fd < 0;
        if (fd >= 0 && (write(fd, "x", 1) != 1 || close(fd) != 0))
            return 1;
    }
    racing = 0;
    pthread_join(thread, NULL);
    printf("%d opened, %d refused\n", opened, refused);
    return 0;
}

/* The text is changed while the call is held. */
static void *change_text(void *go)
{
    await_file(go);
    memcpy(race_text, race_other, strlen(race_other) + 1);
    return NULL;
}

static int do_change(char *go, const char *one, const char *other)
{
    pthread_t thread;
    int fd;

    race_other = other;
    snprintf(race_text, sizeof(race_text), "%s", one);
    if (pthread_create(&thread, NULL, change_text, go) != 0)
        return 2;
    fd = open(race_text, O_WRONLY | O_APPEND);
    say_open(one, fd);
    pthread_join(thread, NULL);
    return fd >= 0 ? write(fd, "x", 1) != 1 : 0;
}

/* A process that is killed while its call is held. */
static int do_killed(const char *go, const char *path)
{
    char end[4096];
    int status;
    pid_t pid = fork();

    if (pid == 0)
        _exit(do_open("write", path));
    await_file(go);
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    printf("killed %d\n", WIFSIGNALED(status));
    snprintf(end, sizeof(end), "%s-end", go);
    await_file(end);
    return 0;
}

/* --- older kernels */

static volatile int alarms;
static const char *alarms_done;

static void on_alarm(int signum)
{
    (void)signum;
    if (++alarms == 5)
        close(open(alarms_done, O_WRONLY | O_CREAT, 0600));
}

/* A call that is held, and interrupted again and again. */
static int do_interrupted(const char *done, const char *path)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerval every = {{0, 30000}, {0, 30000}}, never = {{0, 0}, {0, 0}};
    int fd;

    alarms_done = done;
    if (sigaction(SIGALRM, &action, NULL) != 0 || setitimer(ITIMER_REAL, &every, NULL) != 0)
        return 2;
    fd = open(path, O_WRONLY);
    if (setitimer(ITIMER_REAL, &never, NULL) != 0)
        return 2;
    say_open(path, fd);
    return fd >= 0 ? write(fd, "x", 1) != 1 : 0;
}

/* Become COMMAND on a kernel that does not know one number as an argument of a call, or one bit of it. */
static int be_on(const struct old *old, char **command)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, old->call, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | (old->bits ? BPF_JSET : BPF_JEQ) | BPF_K, old->value, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | old->error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return 99;
    execv(command[0], command);
    return 99;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "crowd") == 0)
        return do_crowd(argv[2], argv[3]);
    if (argc == 4 && strcmp(argv[1], "flood") == 0)
        return do_flood(argv[2], atoi(argv[3]));
    if (argc == 6 && strcmp(argv[1], "race") == 0)
        return do_race(argv[2], argv[3], argv[4], atoi(argv[5]));
    if (argc == 5 && strcmp(argv[1], "change") == 0)
        return do_change(argv[2], argv[3], argv[4]);
    if (argc == 4 && strcmp(argv[1], "killed") == 0)
        return do_killed(argv[2], argv[3]);
    if (argc == 4 && strcmp(argv[1], "interrupted") == 0)
        return do_interrupted(argv[2], argv[3]);
    for (size_t i = 0; i < sizeof(olds) / sizeof(olds[0]); i++)
        if (argc > 2 && strcmp(argv[1], olds[i].name) == 0)
            return be_on(&olds[i], argv + 2);
    for (int i = 1; i + 1 < argc; i += 2) { /* pairs: WAY PATH */
        int status = do_open(argv[i], argv[i + 1]);

        if (status != 0)
            return status;
    }
    return 0;
}
