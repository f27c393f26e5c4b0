/*
 * namespace_command.c - pid 2: the process that becomes the command.
 *
 * It shares the memory of the process outside until its exec: nothing is
 * copied, and that process cannot run meanwhile. In a session it is one of
 * many processes, and pid 1 was there before it.
 *
 * Should:  see by its effect that it is where it should be, before it gives up
 *          the capabilities that got it there.
 * Mustn't: return into the frame of the process outside.
 */
#include "capability.h"
#include "domain.h"
#include "namespace.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

/* Whose command it is. Static: a faked clone enters pid 2's code without an argument. */
static struct namespace *shared;

static void mount_proc(const struct namespace *ns)
{
    const unsigned long flags = (ns->nest ? 0 : MS_RDONLY) | MS_NOSUID | MS_NODEV | MS_NOEXEC;
    struct statfs seen = {0};
    char self[16] = "", *end;

    if (mount("proc", "/proc", "proc", ns->process_numbers ? flags & ~MS_RDONLY : flags, NULL) != 0)
        namespace_cannot(ns, CANNOT_PROC, errno == EPERM ? "proc-masked" : "/proc", errno);
    if (ns->process_numbers)
        namespace_number(ns, flags);
    if (statfs("/proc", &seen) != 0 || seen.f_type != MOUNT_TYPE_PROC ||
        !(seen.f_flags & ST_RDONLY) != ns->nest || readlink("/proc/self", self, sizeof(self) - 1) < 1 ||
        strtol(self, &end, 10) != ns->inner || *end)
        chain_fatal(ns->chain, "/proc", "the kernel reported success but it is another namespace's");
    shared->proc = true;
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
        got = read(ns->init, &byte, 1);
    while (got < 0 && errno == EINTR);
    if (got != 1 || byte != NAMESPACE_READY)
        chain_fatal(ns->chain, "pid 1", "could not give up what it must not have");
    close(ns->init);
    if (fcntl(ns->init, F_GETFD) >= 0)
        chain_fatal(ns->chain, "pid 1", "the kernel reported success but did not close the descriptor");
}

/* With a supervisor: the liveness is not the command's, and its session is its own. */
static void leave_supervisor(const struct namespace *ns)
{
    close(ns->liveness);
    if (fcntl(ns->liveness, F_GETFD) >= 0)
        chain_fatal(ns->chain, "--liveness", "the kernel reported success but did not close the descriptor");
    if (setsid() < 0)
        chain_fatal_errno(ns->chain, "setsid", errno);
    if (getsid(0) != ns->inner)
        chain_fatal(ns->chain, "setsid", "the kernel reported success but the session is another");
}

/* Never inlined: its frame must not be the one that the process outside goes on with. */
__attribute__((noinline)) _Noreturn static void run_command(void)
{
    struct namespace *ns = shared;
    struct chain *chain = ns->chain;

    ns->inner = (pid_t)kernel_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
    if (ns->joined ? ns->inner <= 1 : ns->inner != 2)
        chain_fatal(chain, "command", "the kernel reported success but it is not pid 2");
    if (ns->joined)
        namespace_bind_command(ns);
    if (ns->liveness >= 0)
        leave_supervisor(ns);
    else
        namespace_enter_group(ns);
    mount_proc(ns);
    enter_directory(ns);
    umask(ns->umask);
    if (kernel_call(SYS_kill, 1, 0, 0, 0, 0, 0) != 0) /* a later link sees this refused */
        chain_fatal(chain, "pid 1", "cannot be signalled before anything refuses it");
    domain_no_new_privs(chain);
    capability_drop_all(chain);
    chain_set_dumpable(chain, false);
    if (!ns->joined)
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

/*
 * namespace_start_command() - clone the command's process, which goes on with the chain.
 *
 * Return: its pid out here, a child of this process's. Ends the link on failure.
 */
pid_t namespace_start_command(struct namespace *ns)
{
    long pid;

    shared = ns;
    pid = clone_command();
    if (pid == -ENOMEM && ns->joined)
        chain_fatal(ns->chain, "session", "it has ended");
    if (pid == -ENOMEM && waitpid(ns->init_pid, NULL, WNOHANG) == ns->init_pid)
        chain_fatal(ns->chain, "pid 1", "has ended before the command");
    if (pid < 0)
        chain_fatal_errno(ns->chain, "command", (int)-pid);
    return (pid_t)pid;
}
