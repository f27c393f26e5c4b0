/*
 * place.c - objects outside that attempts are made on.
 *
 * Should:  make everything as the command's user, in a directory of the trial's own.
 * Mustn't: follow a name that something inside may have changed.
 */
#include "place.h"

#include "battery.h"

#include "links/kernel_abi.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define VICTIM_MEMORY ((void *)0x10000000000) /* where nothing else is, in us and in it */

static const char original[] = "original";

void fill_mark(char mark[MARK_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char random[(MARK_SIZE - 1) / 2] = {0};

    if (kernel_call(SYS_getrandom, KERNEL_PTR(random), sizeof(random), 0, 0, 0, 0) != (long)sizeof(random)) {
        fprintf(stderr, "confine-check: fatal: getrandom: no random bytes\n");
        exit(125);
    }
    for (size_t i = 0; i < sizeof(random); i++) {
        mark[2 * i] = digits[random[i] >> 4];
        mark[2 * i + 1] = digits[random[i] & 15];
    }
    mark[MARK_SIZE - 1] = '\0';
}

int place_join(char path[PLACE_SIZE], const char *directory, const char *name)
{
    char joined[2 * PLACE_SIZE];
    int length = snprintf(joined, sizeof(joined), "%s/%s", directory, name);

    if (length < 0 || length >= PLACE_SIZE)
        return -ENAMETOOLONG;
    memcpy(path, joined, (size_t)length + 1);
    return 0;
}

int place_file(char path[PLACE_SIZE], const char *directory, const char *name, const char *text, mode_t mode)
{
    size_t length = strlen(text);
    int fd, result = place_join(path, directory, name);

    if (result < 0)
        return result;
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd < 0)
        return -errno;
    result = write(fd, text, length) == (ssize_t)length && fchmod(fd, mode) == 0 ? 0 : -EIO;
    close(fd);
    return result;
}

int place_read(const char *path, char *data, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t length;

    if (fd < 0)
        return -errno;
    length = read(fd, data, size - 1);
    if (length < 0)
        length = -errno;
    close(fd);
    data[length > 0 ? length : 0] = '\0';
    return (int)length;
}

int place_write(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : write(fd, text, strlen(text));
    int result = length < 0 ? errno : length == (ssize_t)strlen(text) ? 0 : EIO;

    if (fd >= 0)
        close(fd);
    return result;
}

int place_above(char path[PLACE_SIZE], const char *base)
{
    for (char *slash = strchr(path + strlen(base) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0755) != 0 && errno != EEXIST)
            return errno;
        *slash = '/';
    }
    return 0;
}

int place_mark(int fd, const struct order *order)
{
    if (fd < 0)
        return errno;
    return write(fd, order->mark, MARK_SIZE - 1) == MARK_SIZE - 1 ? 0 : errno;
}

int place_find(const char *directory, const char *beginning)
{
    DIR *names = opendir(directory);
    struct dirent *entry;
    int found = 0;

    if (!names)
        return -errno;
    while ((entry = readdir(names)))
        found |= strncmp(entry->d_name, beginning, strlen(beginning)) == 0;
    closedir(names);
    return found;
}

int place_count(const char *directory)
{
    DIR *names = opendir(directory);
    struct dirent *entry;
    int count = 0;

    if (!names)
        return -errno;
    while ((entry = readdir(names)))
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(names);
    return count;
}

int place_directory(const struct trial *trial)
{
    int fd = open(trial->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat directory;

    if (fd < 0)
        return -errno;
    if (fstat(fd, &directory) == 0 && directory.st_uid == trial->battery->uid)
        return fd;
    close(fd);
    return -EPERM;
}

int place_keep(struct trial *trial, int index, int fd)
{
    if (fd < 0)
        return -errno;
    trial->fd[index] = fd;
    return 0;
}

void place_option(struct trial *trial, const char *option)
{
    size_t i = 0;

    while (i < OPTIONS - 1 && *trial->option[i])
        i++;
    snprintf(trial->option[i], sizeof(trial->option[i]), "%s", option);
}

int place_skip(struct trial *trial, const char *why)
{
    trial->skip = why;
    return SKIP;
}

int place_victim(struct trial *trial)
{
    int result = place_file(trial->order.path[0], trial->dir, "victim", original, 0644);

    return result < 0 ? result : place_join(trial->order.path[2], trial->dir, "made");
}

int place_aside(struct trial *trial, const char *name)
{
    char now[PLACE_SIZE], moved[PLACE_SIZE];
    int result = place_join(now, trial->battery->workspace, name);

    if (result == 0)
        result = place_join(moved, trial->battery->workspace, trial->order.mark);
    if (result == 0 && rename(now, moved) != 0 && errno != ENOENT)
        result = -errno;
    return result;
}

int place_back(struct trial *trial, const char *name)
{
    char now[PLACE_SIZE], moved[PLACE_SIZE];
    struct stat object;
    int result = place_join(now, trial->battery->workspace, name);

    if (result == 0)
        result = place_join(moved, trial->battery->workspace, trial->order.mark);
    if (result < 0)
        return result;
    if (lstat(moved, &object) != 0)
        return -errno;
    remove_tree(now);
    return rename(moved, now) != 0 ? -errno : 0;
}

int look_changed(struct trial *trial)
{
    char text[sizeof(original) + MARK_SIZE];
    int length = place_read(trial->order.path[0], text, sizeof(text));

    return length < 0 ? length : strcmp(text, original) != 0;
}

int look_gone(struct trial *trial)
{
    struct stat object;

    if (lstat(trial->order.path[0], &object) == 0)
        return 0;
    return errno == ENOENT ? 1 : -errno;
}

int look_made(struct trial *trial)
{
    struct stat object;

    if (lstat(trial->order.path[2], &object) == 0)
        return 1;
    return errno == ENOENT ? 0 : -errno;
}

int place_secret(struct trial *trial)
{
    return place_file(trial->order.path[0], trial->dir, "secret", trial->secret, 0600);
}

int look_secret(struct trial *trial)
{
    return trial->answer.errnum == 0 && memcmp(trial->answer.data, trial->secret, MARK_SIZE - 1) == 0;
}

/* In a new child: the command's user for good, and our end is its end. */
static void become_helper(const struct battery *battery, pid_t parent)
{
    if (battery->root && (setresgid(battery->gid, battery->gid, battery->gid) != 0 ||
                          setresuid(battery->uid, battery->uid, battery->uid) != 0))
        _exit(125);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent || prctl(PR_SET_DUMPABLE, 1) != 0)
        _exit(125);
}

int place_helper(struct trial *trial, int index, void (*work)(struct trial *trial))
{
    pid_t parent = getpid(), child = fork();

    if (child < 0)
        return -errno;
    if (child == 0) {
        become_helper(trial->battery, parent);
        work(trial);
        _exit(0);
    }
    janitor_note(LEFT_PROCESS, child, NULL);
    trial->helper[index] = child;
    return 0;
}

void place_end_helper(struct trial *trial, int index)
{
    pid_t helper = trial->helper[index];

    trial->helper[index] = 0;
    if (helper <= 0)
        return;
    kill(helper, SIGKILL);
    janitor_forget(LEFT_PROCESS, helper, NULL);
    while (waitpid(helper, NULL, 0) < 0 && errno == EINTR)
        ;
}

int victim_main(char **argv)
{
    int memory = atoi(argv[0]), ready = atoi(argv[1]);
    sigset_t all;

    sigfillset(&all);
    if (sigprocmask(SIG_BLOCK, &all, NULL) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ||
        mmap(VICTIM_MEMORY, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory, 0) !=
            VICTIM_MEMORY ||
        write(ready, "r", 1) != 1)
        return 125;
    for (;;)
        pause();
}

static void exec_victim(struct trial *trial, int memory, int ready, int hold)
{
    char numbers[2][12], mark[MARK_SIZE + 8];
    static char program[] = "confine-check", victim[] = "victim";
    char *argv[] = {program, victim, numbers[0], numbers[1], trial->secret, NULL};
    char *envp[] = {mark, NULL};

    snprintf(numbers[0], sizeof(numbers[0]), "%d", memory);
    snprintf(numbers[1], sizeof(numbers[1]), "%d", ready);
    snprintf(mark, sizeof(mark), "MARK=%s", trial->secret);
    if (fcntl(memory, F_SETFD, 0) != 0 || fcntl(ready, F_SETFD, 0) != 0 || fcntl(hold, F_SETFD, 0) != 0 ||
        setpgid(0, trial->group) != 0)
        _exit(125);
    execve("/proc/self/exe", argv, envp);
    _exit(125);
}

int place_process(struct trial *trial)
{
    int memory = (int)syscall(SYS_memfd_create, "confine-check", 1 /* close-on-exec */), ready[2], hold[2],
        result;
    pid_t parent = getpid(), child;
    char byte;

    if (memory < 0 || ftruncate(memory, 4096) != 0)
        return -errno;
    trial->memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (trial->memory == MAP_FAILED) {
        trial->memory = NULL;
        return -ENOMEM;
    }
    if (pipe2(ready, O_CLOEXEC) != 0 || pipe2(hold, O_CLOEXEC | O_NONBLOCK) != 0)
        return -errno;
    child = fork();
    if (child == 0) {
        become_helper(trial->battery, parent);
        exec_victim(trial, memory, ready[1], hold[1]);
    }
    close(memory);
    close(ready[1]);
    if (child > 0) {
        janitor_note(LEFT_PROCESS, child, NULL);
        trial->helper[0] = child;
    }
    result = child > 0 && read(ready[0], &byte, 1) == 1 ? 0 : -ECHILD;
    close(ready[0]);
    close(hold[1]);
    trial->fd[0] = hold[0];
    trial->order.number[0] = child;
    trial->order.number[1] = hold[1];
    trial->order.number[2] = KERNEL_PTR(VICTIM_MEMORY);
    return result;
}

int place_alone(struct trial *trial)
{
    trial->group = 0;
    return place_process(trial);
}

int place_read_process(struct trial *trial, const char *name, char *text, size_t size)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%ld/%s", trial->order.number[0], name);
    return place_read(path, text, size);
}
