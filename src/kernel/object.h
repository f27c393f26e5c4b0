/*
 * object.h - what a name leads to, held by an O_PATH descriptor: nothing is opened by that, so that a FIFO
 * does not wait and a device does nothing.
 */
#ifndef CONFINE_KERNEL_OBJECT_H
#define CONFINE_KERNEL_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * object_open() - by one openat2() of the whole name.
 * @base:    a directory, AT_FDCWD
 * @flags:   O_DIRECTORY, O_NOFOLLOW; O_PATH and O_CLOEXEC are always there
 * @resolve: RESOLVE_...: what must not be on the way
 *
 * Return: a descriptor or -errno.
 */
int object_open(int base, const char *path, uint64_t flags, uint64_t resolve);

/* object_nodes - the device nodes without which hardly a program works, and that every view has; NULL ends
 * them. */
extern const char *const object_nodes[];

/* object_is_proc() - is what @fd is open on in a /proc? Return: false also where that cannot be told. */
bool object_is_proc(int fd);

/* object_read_only() - is it on a mount that is read-only? Return: false also where that cannot be told. */
bool object_read_only(int fd);

/* object_permits() - do its mode and owner let this process? What its mount says is another matter (EROFS).
 * @mode: R_OK, W_OK and X_OK */
bool object_permits(int fd, int mode);

#endif
