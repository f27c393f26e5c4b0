/* borrower.h - a child on our memory, until it executes something or ends. */
#ifndef CONFINE_KERNEL_BORROWER_H
#define CONFINE_KERNEL_BORROWER_H

#include <sys/types.h>

/*
 * borrower_start() - clone a child that shares our memory, and stop until it has executed something or ended.
 * @work: runs in the child, below our stack; plain stores and raw calls. Where it returns the child ends
 * @data: for it
 *
 * Return: the child's pid, the caller's to wait for; -errno.
 */
pid_t borrower_start(void (*work)(void *data), void *data);

#endif
