/*
 * namespace_outer.c - the command as pid 2, and the process outside that waits for it.
 *
 * Both children are this process's: pid 1 a fork, pid 2 sharing its memory
 * until its exec (nothing is copied, and this process cannot run meanwhile).
 * So pid 2's wait status is seen as it is, and repeated: the same exit status,
 * or the same signal. Signals are taken by sigwaitinfo alone, so that none is
 * sent to a process that was reaped.
 *
 * Should:  see pid 1 gone before it ends: that is the proof that nothing is left.
 * Mustn't: keep a descriptor, a capability or a readable argv while the command
 *          runs; forward what a terminal sent, because the command's group gets
 *          that itself.
 */
#include "capability.h"
#include "domain.h"
#include "namespace.h"

#include <dirent.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>

static const int forwarded[] = {SIGTERM, SIGINT,  SIGHUP,   SIGQUIT, SIGUSR1,
                                SIGUSR2, SIGCONT, SIGWINCH, SIGALRM};

/* What pid 2 shares with the process outside. Static: a faked clone enters pid 2's code without its argument.
 */
static struct {
    struct namespace *ns;
    int liveness; /* our end of the socket to pid 1 */
    bool proc;    /* /proc is this namespace's: its processes can be counted */
} shared;

/* --- pid 2 ---------------------------------------------------------------------------------------------- */

static void mount_proc(const struct namespace *ns)
{
    const unsigned long flags = (ns->nest ? 0 : MS_RDONLY) | MS_NOSUID | MS_NODEV | MS_NOEXEC;
    struct statfs seen = {0};
    char self[8] = "";

    if (mount("proc", "/proc", "proc", flags, NULL) != 0)
        namespace_cannot(ns, CANNOT_PROC, errno == EPERM ? "proc-masked" : "/proc", errno);
    if (statfs("/proc", &seen) != 0 || seen.f_type != MOUNT_TYPE_PROC ||
        !(seen.f_flags & ST_RDONLY) != ns->nest || readlink("/proc/self", self, sizeof(self)) != 1 ||
        self[0] != '2')
        chain_fatal(ns->chain, "/proc", "the kernel reported success but it is another namespace's");
    shared.proc = true;
}

/* Is the directory one that the view has of its own, so that it cannot be the same as outside? */
static bool is_private_itself(const struct namespace_item *here)
{
    return (here->above && here->above->kind == KIND_PLACE && here->above->length == here->length) ||
           strcmp(here->name, "/dev") == 0 || strncmp(here->name, "/dev/", 5) == 0 ||
           strcmp(here->name, "/proc") == 0;
}

/* By name in the new view: a directory that is still one of the old mounts would lead around the view. */
static void enter_directory(const struct namespace *ns)
{
    struct namespace_item here = {.name = ns->cwd, .length = strlen(ns->cwd)};
    struct stat seen = {0};
    uint64_t where = 0, wanted = 1;

    for (size_t i = 0; i < ns->count; i++) /* the last one that holds it is the nearest */
        if (ns->items[i]->kind <= KIND_COVER && namespace_is_below(&here, ns->items[i]))
            here.above = ns->items[i];
    if (chdir(ns->cwd) != 0 || stat(".", &seen) != 0)
        chain_fatal(ns->chain, ns->cwd, "this directory, the current one, is not there in the view");
    if ((seen.st_dev != ns->cwd_device || seen.st_ino != ns->cwd_inode) && !namespace_is_merged(&here) &&
        !is_private_itself(&here))
        chain_fatal(ns->chain, ns->cwd, "this directory, the current one, is another one in the view");
    /* The same directory, but on the mount that is covered, is what a chdir that did nothing leaves. */
    if (mount_number(AT_FDCWD, ".", &where) != 0 || mount_number(AT_FDCWD, ns->cwd, &wanted) != 0 ||
        where != wanted)
        chain_fatal(ns->chain, ns->cwd, "the kernel reported success but did not go there in the view");
}

/* The command starts only when pid 1 is all that it should be: its end would end the command. */
static void wait_for_init(const struct namespace *ns)
{
    char byte = 0;
    ssize_t got;

    do
        got = read(shared.liveness, &byte, 1);
    while (got < 0 && errno == EINTR);
    if (got != 1 || byte != NAMESPACE_READY)
        chain_fatal(ns->chain, "pid 1", "could not give up what it must not have");
    close(shared.liveness);
    if (fcntl(shared.liveness, F_GETFD) >= 0 || (ns->liveness >= 0 && fcntl(ns->liveness, F_GETFD) >= 0))
        chain_fatal(ns->chain, "--liveness", "the kernel reported success but did not close the descriptor");
}

/* Never inlined: its frame must not be the one that the process outside goes on with. */
__attribute__((noinline)) _Noreturn static void run_command(void)
{
    struct namespace *ns = shared.ns;
    struct chain *chain = ns->chain;

    if (kernel_call(SYS_getpid, 0, 0, 0, 0, 0, 0) != 2)
        chain_fatal(chain, "command", "the kernel reported success but it is not pid 2");
    if (ns->liveness >= 0) {
        close(ns->liveness);
        if (setsid() < 0)
            chain_fatal_errno(chain, "setsid", errno);
    } else {
        namespace_enter_group(ns);
    }
    mount_proc(ns);
    enter_directory(ns);
    umask(ns->umask);
    if (kernel_call(SYS_kill, 1, 0, 0, 0, 0, 0) != 0) /* a later link sees this refused */
        chain_fatal(chain, "pid 1", "cannot be signalled before anything refuses it");
    domain_no_new_privs(chain);
    capability_drop_all(chain);
    chain_set_dumpable(chain, false);
    wait_for_init(ns);
    sigprocmask(SIG_SETMASK, &ns->signals, NULL);
    _exit(chain_hand_over(chain, ns->command));
}

/* As vfork() does, which some libcs make a fork: pid 2 lives on our stack, below this frame, while we wait.
 * Nothing of the frame may be needed but the answer, and pid 2 never returns into it. */
__attribute__((noinline)) static long clone_command(void)
{
    long pid = kernel_call(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0, 0);

    if (pid == 0)
        run_command();
    return pid;
}

static pid_t start_command(const struct namespace *ns)
{
    long pid = clone_command();

    if (pid < 0)
        chain_fatal_errno(ns->chain, "command", (int)-pid);
    return (pid_t)pid;
}

/* --- outside -------------------------------------------------------------------------------------------- */

static pid_t start_init(const struct namespace *ns)
{
    int ends[2];
    long pid;

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
    shared.liveness = ends[1];
    return (pid_t)pid;
}

/* Ends all of the namespace, and sees it ended: by the signal, and by the end of the socket. The command is
 * reaped as well if it has not been: pid 1 waits for that. */
static void end_init(pid_t init)
{
    pid_t gone;

    kill(init, SIGKILL);
    close(shared.liveness);
    while ((gone = waitpid(-1, NULL, __WALL)) != init)
        if (gone < 0 && errno != EINTR)
            _exit(LINK_FAILED);
}

static void become_small(const struct namespace *ns, pid_t init)
{
    const struct capability_data nothing[2] = {{0}, {0}};
    struct capability_data seen[2];
    int keep[] = {shared.liveness, ns->liveness, ns->tty};

    if (!namespace_keep(keep, 3) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ||
        prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        capability_set(nothing) != 0 || capability_get(seen) != 0 || seen[0].permitted || seen[1].permitted ||
        chdir("/") != 0) {
        end_init(init);
        _exit(LINK_FAILED);
    }
    for (char **word = ns->chain->words; *word; word++)
        memset(*word, 0, strlen(*word));
    for (char **word = ns->chain->envp; *word; word++)
        memset(*word, 0, strlen(*word));
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

/* Return: how many processes there are beside pid 1. */
static uint32_t count_processes(pid_t init)
{
    DIR *proc = shared.proc ? opendir("/proc") : NULL;
    const struct dirent *entry;
    uint32_t count = 0;

    reap_adopted(init);
    while (proc && (entry = readdir(proc)))
        count += entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && strcmp(entry->d_name, "1") != 0;
    if (proc)
        closedir(proc);
    return count;
}

/* Nothing tells this process of the end of others' children, so it looks again and again. */
static void wait_for_all(pid_t init)
{
    struct timespec pause = {.tv_nsec = 1000000};

    while (count_processes(init) > 0) {
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 32000000)
            pause.tv_nsec *= 2;
    }
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
        number = sigwaitinfo(taken, &info);
        if (number > 0 && number != SIGCHLD && (info.si_code <= 0 || number == SIGHUP))
            pass_on(ns, command, number);
    }
}

/*
 * namespace_live() - start pid 1 and the command, wait, and end as the command did.
 */
_Noreturn void namespace_live(struct namespace *ns)
{
    sigset_t all, taken;
    pid_t init, command;
    uint32_t left = 0;
    int status;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &ns->signals);
    signal(SIGCHLD, SIG_DFL); /* ignored, it would take the status away */
    sigemptyset(&taken);
    sigaddset(&taken, SIGCHLD);
    for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
        sigaddset(&taken, forwarded[i]);
    shared.ns = ns;
    init = start_init(ns);
    command = start_command(ns);
    become_small(ns, init);
    status = wait_for_command(ns, command, &taken);
    namespace_return_terminal(ns);
    if (ns->wait_all)
        wait_for_all(init);
    if (ns->liveness >= 0)
        left = count_processes(init);
    end_init(init);
    if (ns->liveness >= 0 && send(ns->liveness, &left, sizeof(left), MSG_NOSIGNAL) < 0)
        _exit(LINK_FAILED); /* the supervisor is gone, and so is everything else */
    repeat_status(status);
}
