/*
 * trust.h - who could have written a program, or put another one in its place.
 */
#ifndef CONFINE_KERNEL_TRUST_H
#define CONFINE_KERNEL_TRUST_H

#include <stddef.h>
#include <sys/types.h>

/*
 * trust_look() - could somebody else than root and @caller have written @path, or a directory above it?
 * @path:     absolute; cut at each slash meanwhile, and whole again afterwards
 * @known:    so many bytes of it, up to a slash, have been looked at before; 0: none
 * @caller:   whose files are trusted beside root's
 * @ret_bad:  length of the part of @path that is meant when something is wrong with it
 *
 * Return: 0; -EPERM: yes; -ELOOP: it is a symbolic link, or leads through one; -errno of looking.
 */
int trust_look(char *path, size_t known, uid_t caller, size_t *ret_bad);

#endif
