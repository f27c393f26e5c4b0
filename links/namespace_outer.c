/*
 * namespace_outer.c - the process outside that waits for the command.
 *
 * Both children are this process's: pid 1 a fork, pid 2 (namespace_command.c)
 * sharing its memory until its exec. So pid 2's wait status is seen as it is,
 * and repeated: the same exit status, or the same signal. Signals are taken by
 * sigwaitinfo alone, so that none is sent to a process that was reaped. In a
 * session pid 1 is somebody else's: what only then holds is in namespace_join.c.
 *
 * Should:  see pid 1 gone before it ends: that is the proof that nothing is left.
 * Mustn't: keep a descriptor, a capability or a readable argv while the command
 *          runs; forward what a terminal sent, because the command's group gets
 *          that itself.
 */
#include "capability.h"
#include "namespace.h"
#include "processor.h"
#include "small.h"

#include <poll.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

static const int forwarded[] = {SIGTERM, SIGINT,  SIGHUP,   SIGQUIT, SIGUSR1,
                                SIGUSR2, SIGCONT, SIGWINCH, SIGALRM};

/* Blocks all signals, so that each is taken when its turn has come; seen, for without it none would be. */
static void block_signals(struct namespace *ns)
{
    sigset_t all, seen;

    sigfillset(&all);
    sigemptyset(&seen);
    if (sigprocmask(SIG_BLOCK, &all, &ns->signals) != 0 || sigprocmask(SIG_BLOCK, NULL, &seen) != 0 ||
        !sigismember(&seen, SIGCHLD))
        chain_fatal(ns->chain, "signals", "cannot be blocked");
}

/*
 * namespace_start_init() - start pid 1, which gets ready while the view is built.
 *
 * In it all signals are blocked from its first moment. Here they are not while the view is built: what ends
 * this process ends pid 1 as well.
 */
void namespace_start_init(struct namespace *ns)
{
    int ends[2];
    long pid;

    block_signals(ns);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        chain_fatal_errno(ns->chain, "socket of pid 1", errno);
    pid = kernel_call(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
    if (pid < 0)
        chain_fatal_errno(ns->chain, "pid 1", (int)-pid);
    if (pid == 0) {
        close(ends[1]);
        namespace_init(ns, ends[0]);
    }
    close(ends[0]);
    if (ns->nameless >= 0)
        close(ns->nameless); /* process 1 alone has it */
    ns->init = ends[1];
    ns->init_pid = (pid_t)pid;
    processor_move_away(ns->init_pid);
    sigprocmask(SIG_SETMASK, &ns->signals, NULL);
}

/* Ends all of the namespace, and sees it ended: by the signal, and by the end of the socket. The command is
 * reaped as well if it has not been: pid 1 waits for that. A session goes on. */
static void end_init(const struct namespace *ns)
{
    pid_t gone;

    if (ns->init_pid == 0)
        return;
    kill(ns->init_pid, SIGKILL);
    close(ns->init);
    while ((gone = waitpid(-1, NULL, __WALL)) != ns->init_pid)
        if (gone < 0 && errno != EINTR)
            _exit(LINK_FAILED);
}

static void become_small(const struct namespace *ns)
{
    const struct capability_data nothing[2] = {{0}, {0}};
    struct capability_data seen[2];
    int keep[] = {ns->init, ns->liveness, ns->tty, ns->events};

    if (!namespace_keep(keep, 4) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ||
        prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0 || prctl(PR_SET_NAME, "confine-launch", 0, 0, 0) != 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || capability_set(nothing) != 0 ||
        capability_get(seen) != 0 || seen[0].permitted || seen[1].permitted || chdir("/") != 0) {
        end_init(ns); /* in a session the command ends with this process */
        _exit(LINK_FAILED);
    }
    wipe_strings(ns->chain->words);
    wipe_strings(ns->chain->envp);
}

/* A process that the command made a child of its own parent (CLONE_PARENT) is ours, and stays until it is
 * reaped. Pid 1 is left for its own end. */
static void reap_adopted(pid_t init)
{
    siginfo_t ended = {0};

    while (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 && ended.si_pid > 0 &&
           ended.si_pid != init && waitpid(ended.si_pid, NULL, WNOHANG | __WALL) == ended.si_pid)
        ended.si_pid = 0;
}

/* Return: how many processes there are beside pid 1. Without an allocator: others wait for our end. */
static uint32_t count_processes(const struct namespace *ns)
{
    char records[2048] __attribute__((aligned(8)));
    int proc = ns->proc ? open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    uint32_t count = 0;
    long size;

    reap_adopted(ns->init_pid);
    while (proc >= 0 &&
           (size = kernel_call(SYS_getdents64, proc, KERNEL_PTR(records), sizeof(records), 0, 0, 0)) > 0)
        for (long at = 0; at < size;) {
            const struct kernel_dirent *entry = (const struct kernel_dirent *)(const void *)(records + at);

            /* NOLINTNEXTLINE: the kernel has written SIZE bytes */
            if (entry->size < sizeof(*entry) || entry->size > size - at)
                break; /* what a kernel that lies has not written */
            count += entry->name[0] >= '1' && entry->name[0] <= '9' && strcmp(entry->name, "1") != 0;
            at += entry->size;
        }
    if (proc >= 0)
        close(proc);
    return count;
}

/* Nothing tells this process of the end of others' children, so it looks again and again, until the
 * supervisor says nothing more: then nobody is waited for. Return: how many are left. */
static uint32_t wait_for_all(const struct namespace *ns)
{
    struct pollfd liveness = {.fd = ns->liveness, .events = POLLRDHUP};
    uint32_t left;
    int pause = 1;

    while ((left = count_processes(ns)) > 0 && poll(&liveness, 1, pause) == 0)
        if (pause < 32)
            pause *= 2;
    return left > 0 ? count_processes(ns) : 0; /* who has ended since the last look is not left */
}

/* Ends as the command did. */
_Noreturn static void repeat_status(int status)
{
    const struct rlimit no_core = {0, 0};
    sigset_t one;
    int number = WTERMSIG(status);

    if (WIFEXITED(status))
        _exit(WEXITSTATUS(status));
    setrlimit(RLIMIT_CORE, &no_core);
    signal(number, SIG_DFL);
    sigemptyset(&one);
    sigaddset(&one, number);
    raise(number); /* not kill(getpid()): where that is refused, -1 would be everybody */
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    _exit(128 + number); /* pid 1 of another namespace takes no such signal from itself */
}

/* A stop of the command. Whoever asked to be traced by its parent (PTRACE_TRACEME) means us, and goes on. */
static void repeat_stop(struct namespace *ns, pid_t command, int status)
{
    int number = WSTOPSIG(status);

    if (ptrace(PTRACE_DETACH, command, NULL, (void *)(intptr_t)(number == SIGTRAP ? 0 : number)) == 0)
        return;
    /* A supervisor does not look at stops, and nobody would continue us with the command. */
    if (ns->liveness < 0)
        namespace_stop_group(ns);
}

static void pass_on(struct namespace *ns, pid_t command, int number)
{
    if (ns->tty < 0) {
        kill(command, number);
    } else if (number == SIGCONT) {
        namespace_continue_group(ns, command);
    } else {
        kill(-command, number); /* with a terminal it is a job, and a job is a group */
    }
}

/* Waits for the command's end. Return: its wait status. */
static int wait_for_command(struct namespace *ns, pid_t command, const sigset_t *taken)
{
    for (;;) {
        siginfo_t info = {0};
        int number, status;
        pid_t pid;

        while ((pid = waitpid(command, &status, WNOHANG | WUNTRACED | __WALL)) == command) {
            if (!WIFSTOPPED(status))
                return status;
            repeat_stop(ns, command, status);
        }
        if (pid < 0 && errno == EINTR)
            continue; /* the signal that told of the end has been taken: there is no other */
        if (pid < 0)
            return LINK_FAILED << 8;
        if (ns->joined)
            namespace_watch(ns, command);
        number = sigwaitinfo(taken, &info);
        if (number > 0 && number != SIGCHLD && (info.si_code <= 0 || number == SIGHUP))
            pass_on(ns, command, number);
    }
}

/*
 * namespace_live() - start the command, wait, and end as the command did.
 */
_Noreturn void namespace_live(struct namespace *ns)
{
    sigset_t taken;
    pid_t command;
    uint32_t left = 0;
    int status;

    block_signals(ns);
    sigemptyset(&taken);
    sigaddset(&taken, SIGCHLD);
    for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
        sigaddset(&taken, forwarded[i]);
    if (ns->joined)
        namespace_open_events(ns, &taken);
    command = namespace_start_command(ns);
    become_small(ns);
    status = wait_for_command(ns, command, &taken);
    namespace_return_terminal(ns);
    if (ns->joined)
        left = namespace_end_joined(ns);
    else if (ns->wait_all)
        left = wait_for_all(ns);
    else if (ns->liveness >= 0)
        left = count_processes(ns);
    end_init(ns);
    if (ns->liveness >= 0 && send(ns->liveness, &left, sizeof(left), MSG_NOSIGNAL) < 0)
        _exit(LINK_FAILED); /* the supervisor is gone, and so is everything else */
    repeat_status(status);
}
