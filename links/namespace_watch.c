/*
 * namespace_watch.c - the process outside, in a session: what ends the command there, and what ends with it.
 *
 * Pid 1 is not ours and goes on. So the process outside watches the liveness
 * itself: its end ends the command, and what is still in the command's session
 * (setsid). A byte on it says that the run was cancelled: then the same goes for
 * what is left when the command ends by itself. Whatever has left the command's
 * session lives as long as the session of runs does.
 *
 * Should:  find a process by its place in /proc and signal it by that: its
 *          number may be another one's by then.
 * Mustn't: touch what belongs to another run.
 */
#include "namespace.h"

#include <dirent.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#define KILL_PASSES 1000 /* looks at all processes until none of the command's session is left */

/* namespace_bind_command() - the command ends with the process outside; no pid 1 sees to it here. */
void namespace_bind_command(const struct namespace *ns)
{
    int signal = 0;

    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || prctl(PR_GET_PDEATHSIG, &signal, 0, 0, 0) != 0)
        chain_fatal_errno(ns->chain, "PR_SET_PDEATHSIG", errno);
    if (signal != SIGKILL)
        chain_fatal(ns->chain, "PR_SET_PDEATHSIG", "the kernel reported success but did nothing");
}

/* namespace_open_events() - a descriptor that is readable when one of the signals TAKEN is pending. */
void namespace_open_events(struct namespace *ns, const sigset_t *taken)
{
    ns->events = signalfd(-1, taken, SFD_CLOEXEC | SFD_NONBLOCK);
    if (ns->events < 0)
        chain_fatal_errno(ns->chain, "signals", errno);
}

/* The session (setsid) of the process whose directory in /proc PROCESS is; 0: it has ended. */
static long session_of(int process)
{
    char text[256], *field;
    int fd = openat(process, "stat", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

    if (fd >= 0)
        close(fd);
    if (size <= 0)
        return 0;
    text[size] = '\0';
    field = strrchr(text, ')'); /* the name in front of it is the process's to choose */
    if (!field || field[1] != ' ' || field[2] == 'Z' || field[2] == 'X')
        return 0;
    for (int skipped = 0; skipped < 4 && field; skipped++) /* state, parent, group */
        field = strchr(field + 1, ' ');
    return field ? strtol(field, NULL, 10) : 0;
}

/* Kills every process of the command's session that can be seen now. Return: how many they were. */
static uint32_t kill_seen(const struct namespace *ns)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    uint32_t count = 0;

    while (proc && (entry = readdir(proc))) {
        int process;

        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        process = openat(dirfd(proc), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (process < 0)
            continue;
        /* The directory stands for the process, whoever may get its number later. */
        if (session_of(process) == ns->inner &&
            kernel_call(SYS_pidfd_send_signal, process, SIGKILL, 0, 0, 0, 0) == 0)
            count++;
        close(process);
    }
    if (proc)
        closedir(proc);
    return count;
}

static uint32_t kill_rest(const struct namespace *ns)
{
    uint32_t count = 0, seen;

    for (int pass = 0; ns->proc && pass < KILL_PASSES && (seen = kill_seen(ns)) > 0; pass++)
        count = seen > count ? seen : count; /* one that was killed is seen again until it is gone */
    return count;
}

/* Reads what the supervisor says. Return: false when it says nothing more, or is gone. */
static bool hear(struct namespace *ns)
{
    char words[16];
    ssize_t size = recv(ns->liveness, words, sizeof(words), MSG_DONTWAIT);

    if (size > 0)
        ns->cancelled = true;
    return size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR));
}

/*
 * namespace_watch() - wait until a signal is pending, and look after the liveness meanwhile.
 * @command: out here
 *
 * Its end kills the command's process group and whatever is in its session; the command's end is then a
 * signal like any other.
 */
void namespace_watch(struct namespace *ns, pid_t command)
{
    struct pollfd ready[2] = {{.fd = ns->events, .events = POLLIN},
                              {.fd = ns->over ? -1 : ns->liveness, .events = POLLIN | POLLRDHUP}};

    while (!(ready[0].revents & POLLIN)) {
        if (poll(ready, 2, -1) < 0)
            continue; /* every signal is blocked: it is tried again */
        if (!ready[1].revents || hear(ns))
            continue;
        ns->cancelled = ns->over = true;
        ready[1].fd = -1;
        ready[1].revents = 0;
        kill(-command, SIGKILL); /* the whole group at one stroke: it cannot fork away */
        kill(command, SIGKILL);
        kill_rest(ns);
    }
}

/*
 * namespace_end_joined() - the command has ended: what else ends with it?
 *
 * Return: how many processes were killed: none, unless the run was cancelled.
 */
uint32_t namespace_end_joined(struct namespace *ns)
{
    if (!ns->over && !hear(ns))
        ns->cancelled = true;
    return ns->cancelled ? kill_rest(ns) : 0;
}
