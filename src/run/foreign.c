/*
 * foreign.c - a program in the chain that is not ours: bubblewrap, or a runner in its place.
 *
 * It leaves a process in front of the command, and one as process 1 of the pid namespace. Both end when ours
 * does, by a parent-death signal that they ask for themselves.
 *
 * Should:  believe in that signal only when the process in front sleeps: it asks for it before.
 * Mustn't: judge by what it prints, or take its word for the command's status where the kernel has kept it.
 */
#include "run/foreign.h"

#include "kernel/children.h"
#include "links/chain.h"
#include "links/kernel_abi.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define HOLD_MS   5000
#define ENDING_MS 1000
#define MOST      16384

#define BETWEEN_MOST 16
#define MOMENT_NS    200000

#define MASK_NOWHERE "/run/.gone" /* in the private /run */

/* The kernel's own, since Linux 6.13; the exit status since 6.15. */
struct pidfd_info {
    uint64_t mask;
    uint64_t cgroup;
    uint32_t ids[11];
    int32_t exit_code;
};
#define PIDFD_GET_INFO  _IOWR(0xff, 11, struct pidfd_info)
#define PIDFD_INFO_EXIT (UINT64_C(1) << 3)

_Static_assert(sizeof(struct pidfd_info) == 64, "the kernel's layout");

struct process {
    pid_t pid, parent;
    char state;
};

/* May UID search this directory, without any capability? */
static bool may_search(const struct stat *directory, uid_t uid, gid_t gid)
{
    mode_t bit = directory->st_uid == uid ? S_IXUSR : directory->st_gid == gid ? S_IXGRP : S_IXOTH;

    return directory->st_mode & bit;
}

const char *foreign_mask(const struct word *word, const struct resolved *resolved)
{
    const char *path = word->text;
    char part[PATH_MAX];
    struct stat object;

    if (strlen(path) >= sizeof(part))
        return MASK_NOWHERE;
    if (lstat(path, &object) != 0)
        return word->kind == WORD_MASK_IF_THERE || errno == EACCES ? MASK_NOWHERE : path;
    /* Of an ordinary caller the look above has said it. Root has looked with more than the command will have.
     */
    for (const char *slash = strchr(path + 1, '/'); slash && geteuid() == 0; slash = strchr(slash + 1, '/')) {
        memcpy(part, path, (size_t)(slash - path));
        part[slash - path] = '\0';
        if (stat(part, &object) != 0 || !may_search(&object, resolved->uid, resolved->gid))
            return MASK_NOWHERE;
    }
    return path;
}

/* Its number in the pid namespace below ours; 0: it is in none; -1: it does not say. */
static int inner_number(pid_t pid)
{
    char path[64], text[4096];
    const char *numbers;
    int outer, inner;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    if (file_read(AT_FDCWD, path, text, sizeof(text)) <= 0)
        return -1;
    numbers = strstr(text, "\nNSpid:");
    switch (numbers ? sscanf(numbers, " NSpid: %d %d", &outer, &inner) : -1) {
    case 1:
        return 0;
    case 2:
        return inner;
    default:
        return -1;
    }
}

static int hold_one(pid_t pid)
{
    const struct timespec moment = {.tv_nsec = MOMENT_NS};
    pid_t parent;
    char state;

    for (int i = 0; i < HOLD_MS * (1000000 / MOMENT_NS); i++) {
        if (!children_look(pid, &state, &parent) || state == 'Z')
            return -ESRCH;
        if (state == 'S')
            return kill(pid, SIGSTOP) == 0 ? 0 : -errno;
        nanosleep(&moment, NULL);
    }
    return -ETIMEDOUT;
}

static pid_t parent_of(pid_t pid)
{
    pid_t parent;
    char state;

    return children_look(pid, &state, &parent) ? parent : 0;
}

/* Those that a runner has put between itself and the namespace, one run's. */
static pid_t between[BETWEEN_MOST];
static size_t between_count;

/* From the outside in: one that is stopped cannot act upon the end of the next. */
int foreign_hold(pid_t front, pid_t command)
{
    pid_t pid = parent_of(command);
    int r = hold_one(front);

    for (between_count = 0; pid > 1 && pid != front; pid = parent_of(pid))
        if (inner_number(pid) != 0)
            continue;
        else if (between_count == BETWEEN_MOST)
            return -E2BIG;
        else
            between[between_count++] = pid;
    for (size_t i = between_count; i > 0 && r == 0; i--)
        r = hold_one(between[i - 1]);
    return r;
}

void foreign_release(pid_t front)
{
    for (; between_count > 0; between_count--)
        kill(between[between_count - 1], SIGCONT);
    kill(front, SIGCONT);
}

/* The session is process 1's, which ignores what is not SIGKILL or SIGSTOP. */
void foreign_signal_group(pid_t command, int signum)
{
    pid_t group = getpgid(command);

    if (group > 1 && group != getpgrp())
        kill(-group, signum);
}

static size_t list_processes(struct process *processes, size_t most)
{
    DIR *proc = opendir("/proc");
    size_t count = 0;

    if (!proc)
        return 0;
    for (struct dirent *entry; count < most && (entry = readdir(proc));) {
        struct process *process = &processes[count];

        process->pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (process->pid > 0 && children_look(process->pid, &process->state, &process->parent))
            count++;
    }
    closedir(proc);
    return count;
}

static bool is_among(const pid_t *pids, size_t count, pid_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (pids[i] == pid)
            return true;
    return false;
}

/* The children of a process with one thread. Return: bytes, or -errno where the kernel does not list them. */
static ssize_t read_children(pid_t pid, char *text, size_t size)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    return file_read(AT_FDCWD, path, text, size);
}

/* The usual case, without going through all processes: process 1 has no child but the command. */
static bool is_command_alone(pid_t front, pid_t command)
{
    char text[64], alone[16];

    if (read_children(front, text, sizeof(text)) <= 0)
        return false;
    snprintf(alone, sizeof(alone), "%d ", (int)command);
    return read_children((pid_t)strtol(text, NULL, 10), text, sizeof(text)) >= 0 &&
           (*text == '\0' || (strcmp(text, alone) == 0 && read_children(command, text, sizeof(text)) == 0));
}

/* Does it live in the namespace, and is not its process 1? One that does not say counts. */
static bool is_left(const struct process *process)
{
    int number = process->state == 'Z' ? 0 : inner_number(process->pid);

    return number != 0 && number != 1;
}

/* Who has lost its parent in the namespace is a child of process 1, so all of it hangs below. */
unsigned foreign_left(pid_t front, pid_t command)
{
    static struct process processes[MOST];
    static pid_t below[MOST];
    size_t count, found = 0, before;
    unsigned left = 0;

    if (is_command_alone(front, command))
        return 0;
    count = list_processes(processes, MOST);
    below[found++] = front;
    do {
        before = found;
        for (size_t i = 0; i < count; i++)
            if (is_among(below, before, processes[i].parent) && !is_among(below, found, processes[i].pid) &&
                found < MOST) {
                below[found++] = processes[i].pid;
                left += processes[i].pid != command && is_left(&processes[i]);
            }
    } while (found > before);
    return left;
}

int foreign_status(int command_fd, int status)
{
    struct pidfd_info info = {.mask = PIDFD_INFO_EXIT};

    if (command_fd < 0 || ioctl(command_fd, PIDFD_GET_INFO, &info) != 0 || !(info.mask & PIDFD_INFO_EXIT))
        return status;
    return info.exit_code;
}

bool foreign_failed(pid_t front)
{
    const struct timespec moment = {.tv_nsec = MOMENT_NS};

    /* Its output has ended, so it is about to end. */
    for (int i = 0; i < ENDING_MS * (1000000 / MOMENT_NS); i++) {
        siginfo_t end = {0};

        if (waitid(P_PID, (id_t)front, &end, WEXITED | WNOWAIT | WNOHANG) != 0)
            return false;
        if (end.si_pid == front)
            return end.si_code != CLD_EXITED || end.si_status != LINK_FAILED;
        nanosleep(&moment, NULL);
    }
    return false;
}

/* Nobody but the runner knows what it did with the words that it got. */
static int runner_error(struct error *error, const char *runner, const char *said, const char *line)
{
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, EPROTO, "runner-failed",
              "the runner %s ended, and nothing behind it has said that the command can be confined%s%s",
              QUOTE(runner), said, line);
    return error_hint(error, "it must start what stands behind its `--`, with all descriptors, and wait for "
                             "it; whether it has started anything else, only it can tell");
}

int foreign_error(struct error *error, const struct resolved *resolved, const char *runner, const char *words)
{
    struct host host = {0};
    size_t length = strcspn(words, "\n");
    const char *said = length > 0 ? "; it said " : "";
    const char *line = length > 0 ? text_quote((char[600]){0}, 600, words, length < 500 ? length : 500) : "";

    if (runner)
        return runner_error(error, runner, said, line);
    host_ask_all(&host, resolved->uid, resolved->gid);
    if (host.namespaces.answer == HOST_NO)
        return host_lack_error(error, &host.namespaces.lack, "bubblewrap");
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, EPROTO, "bubblewrap-failed",
              "bubblewrap ended before the command, although namespaces can be made here%s%s", said, line);
    return error_hint(error, "use --backend namespace or landlock");
}
