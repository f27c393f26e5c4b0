/*
 * base.h - where a relative name begins: a thread's working directory, or a descriptor of it.
 */
#ifndef CONFINE_OBSERVE_BASE_H
#define CONFINE_OBSERVE_BASE_H

#include <sys/types.h>

#define BASE_NAME 60

/*
 * base_name() - what leads there from here: `/proc/PID/cwd`, `/proc/PID/fd/N`; `/proc/PID/root` where @name
 * begins with a slash.
 * @directory: a descriptor of the thread, AT_FDCWD
 */
void base_name(pid_t pid, int directory, const char *name, char room[BASE_NAME]);

/* base_read() - what it is called in the command's view, as it was first asked in this call of the command's.
 * Return: NULL where it cannot be read. */
const char *base_read(pid_t pid, int directory);

/* base_forget() - another call begins: the thread may have gone elsewhere. */
void base_forget(void);

#endif
