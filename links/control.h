/*
 * control.h - the pair that shows a Landlock domain, whatever it grants.
 *
 * A call that answers 0 proves nothing: a system call filter can answer for
 * the kernel. So a link takes a child before it restricts itself, inspects it,
 * and must be refused the same afterwards: a process inside a domain cannot
 * inspect one outside. That depends neither on what is granted nor on the
 * caller's uid, and needs no file system.
 *
 * The act is get_robust_list(), which asks the kernel for the right to trace,
 * in its reading form: Yama does not take part in that at any setting, and
 * the default filters of container engines let it pass. process_vm_readv()
 * cannot be used, because the child shares our memory (nothing is copied: a
 * third of a fork's price) and the kernel asks nobody about one's own memory:
 * it was seen to succeed from inside the domain.
 *
 * The child ends at once and is reaped last, by chain_reap(): a process that
 * has ended keeps its credentials, and with them its place outside the domain,
 * until then. So nothing has to keep it alive, and nothing can outlive us. Nor
 * does anything wait for its end before: running or ended, the kernel answers
 * the same.
 *
 * Should:  be gone before the command starts; leave no SIGCHLD pending (its
 *          exit signal is 0).
 * Mustn't: use errno or anything else of the libc in the child: it runs on our
 *          memory. A faked clone that answers 0 enters the child's code in the
 *          link itself; it ends there with LINK_FAILED.
 */
#ifndef CONFINE_LINKS_CONTROL_H
#define CONFINE_LINKS_CONTROL_H

#include "chain.h"
#include "kernel_abi.h"

#include <sched.h>
#include <signal.h>

/* What is shared need not be copied; credentials cannot be shared by two processes, and they are all that the
 * pair is about. Mustn't: share the descriptors. A table that two processes have grows only after every other
 * processor was waited for: milliseconds, where the next descriptor is the 65th. */
#define CONTROL_SHARED (CLONE_VM | CLONE_FS | CLONE_SIGHAND)

struct control {
    pid_t pid; /* the child, until control_end() */
};

static int control_child(void *unused)
{
    (void)unused;
    kernel_call(SYS_exit_group, LINK_FAILED, 0, 0, 0, 0, 0);
    return LINK_FAILED; /* the libc's clone ends with it */
}

/* Inspects the child. A new process has no such list, and the kernel writes that down; an answer of 0 with
 * nothing written is not the kernel's. Return: 0 when the child could be inspected, else -errno (-EIO: a
 * lie). */
static inline int inspect_control(const struct control *control)
{
    static const size_t head_size = 3 * sizeof(void *); /* struct robust_list_head */
    uintptr_t head = UINTPTR_MAX;
    size_t size = 0;
    long answer =
        kernel_call(SYS_get_robust_list, control->pid, KERNEL_PTR(&head), KERNEL_PTR(&size), 0, 0, 0);

    if (answer < 0)
        return (int)answer;
    return answer == 0 && head == 0 && size == head_size ? 0 : -EIO;
}

/*
 * control_start() - take the child; it ends meanwhile.
 * @control: filled
 *
 * Makes the process dumpable until control_end(), because an undumpable one
 * cannot be inspected without any Landlock either.
 */
static inline void control_start(const struct chain *chain, struct control *control)
{
    struct chain_children *children = chain->children;

    if (children->count == CHAIN_CHILDREN)
        chain_reap(chain);
    chain_set_dumpable(chain, true);
    control->pid = clone(control_child, children->stack[children->count] + CHAIN_STACK, CONTROL_SHARED, NULL);
    if (control->pid < 0)
        chain_fatal_errno(chain, "control child", errno);
    children->pid[children->count++] = control->pid;
}

/* control_show() - see that the child can be inspected. Ends the link otherwise. */
static inline void control_show(const struct chain *chain, const struct control *control)
{
    int error = inspect_control(control);

    if (error == -EIO)
        chain_fatal(chain, "control pair", "the kernel reported success but inspected nothing");
    if (error == -EPERM || error == -ENOSYS)
        chain_fatal(
            chain, "control pair",
            "an own child cannot be inspected before restricting, so nothing can be shown: does a system "
            "call filter refuse get_robust_list, or a security module tracing?");
    if (error)
        chain_fatal_errno(chain, "control pair", -error);
}

/* control_restricted() - the same act must be refused now. Ends the link otherwise. */
static inline void control_restricted(const struct chain *chain, const struct control *control)
{
    int error = inspect_control(control);

    if (error == 0 || error == -EIO)
        chain_fatal(chain, "control pair", "the kernel reported success but nothing is restricted");
    if (error != -EPERM)
        chain_fatal_errno(chain, "control pair after restricting", -error);
}

/* control_signal() - Return: 0 when the child can be signalled, else -errno. Sends nothing. */
static inline int control_signal(const struct control *control)
{
    return (int)kernel_call(SYS_kill, control->pid, 0, 0, 0, 0, 0);
}

/* control_end() - the pair is complete: become undumpable again. */
static inline void control_end(const struct chain *chain, struct control *control)
{
    control->pid = 0;
    chain_set_dumpable(chain, false);
}

#endif
