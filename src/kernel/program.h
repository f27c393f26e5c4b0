/*
 * program.h - the file that this process runs.
 */
#ifndef CONFINE_KERNEL_PROGRAM_H
#define CONFINE_KERNEL_PROGRAM_H

/*
 * program_path() - the canonical name of the running program.
 *
 * Asked of /proc once: it makes three objects for a process that looks itself up there.
 *
 * Return: the name, which stays this function's, or NULL with errno set.
 */
const char *program_path(void);

#endif
