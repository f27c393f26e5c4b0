/*
 * children.h - the living and dead children of this process, as the kernel lists them.
 */
#ifndef CONFINE_KERNEL_CHILDREN_H
#define CONFINE_KERNEL_CHILDREN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* children_prepare() - open what tells of them, so that later looks take a call each. It stays open. */
void children_prepare(void);

/* children_look() - what any process, or thread, is doing (the letter of proc(5)), and whose child it is.
 * Return: false: there is none. */
bool children_look(pid_t pid, char *ret_state, pid_t *ret_parent);

/*
 * children_list() - pids of the children, zombies included.
 * @pids: room for @most of them
 *
 * Return: how many there are (at most @most), or -errno; -ENOSYS where neither the kernel's list nor a scan
 * of /proc is to be had.
 */
int children_list(pid_t *pids, size_t most);

/*
 * children_only() - is @pid the only child, zombies included?
 *
 * For a process with one thread and the subreaper of its tree that means: nobody else is left in the tree.
 * The list loses a child only when we reap it, so it cannot change while it is read.
 *
 * Return: false as well where the kernel has no such list.
 */
bool children_only(pid_t pid);

/* children_except() - leave the child @pid out of all that is listed, counted or killed here: it is no part
 * of the tree. There are few such children. */
void children_except(pid_t pid);

/* children_include() - it is a child like others again, or gone. Return: whether it was left out. */
bool children_include(pid_t pid);

/* children_leaves_out() - is @pid such a child? */
bool children_leaves_out(pid_t pid);

/* children_excepted() - is there any such child? */
bool children_excepted(void);

/* children_gone() - is nobody left but those that children_except() leaves out? Return: false without such a
 * child: then waitpid() says it. */
bool children_gone(void);

/* children_kill() - SIGKILL every child but @spare (0: none). Return: how many were signalled, or -errno. */
int children_kill(pid_t spare);

#endif
