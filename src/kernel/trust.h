/*
 * trust.h - who could have written a program, or put another one in its place.
 */
#ifndef CONFINE_KERNEL_TRUST_H
#define CONFINE_KERNEL_TRUST_H

#include "util/util.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * trust_look() - could somebody else than root and @caller have written @path, or a directory above it?
 * @path:     absolute; cut at each slash meanwhile, and whole again afterwards
 * @known:    so many bytes of it, up to a slash, have been looked at before; 0: none
 * @caller:   whose files are trusted beside root's
 * @ret_bad:  length of the part of @path that is meant when something is wrong with it
 *
 * Return: 0; -EPERM: yes; -ELOOP: no, but the part of @ret_bad is a symbolic link; -errno of looking.
 */
int trust_look(char *path, size_t known, uid_t caller, size_t *ret_bad);

/*
 * trust_follow() - where the kernel finds @name, link by link.
 * @name:   absolute
 * @places: gets the name of each link on the way, and last what is found, each without a link above it
 *
 * Return: 0; -ENOENT or -EACCES, and the last place is the part that is missing or closed; or -errno.
 */
int trust_follow(const char *name, struct strings *places);

/* trust_group_is_alone() - are the group's bits in the mode of @path those of its group, and of nobody else
 * that an access list names? No also where that cannot be found out. */
bool trust_group_is_alone(const char *path);

#endif
