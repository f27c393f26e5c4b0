/*
 * listing.h - the names of a directory as the kernel writes them.
 *
 * A DIR of the libc asks five questions about a descriptor that is one, and takes memory for it; a tree has
 * some ten thousand.
 */
#ifndef CONFINE_SWEEP_LISTING_H
#define CONFINE_SWEEP_LISTING_H

#include "links/kernel_abi.h"

#include <stddef.h>

enum listed { LISTED_UNKNOWN = 0, LISTED_DIRECTORY = 4, LISTED_LINK = 10 }; /* DT_DIR and so on */

/* listing_read() - the next names of @directory. @room: aligned as a kernel_dirent is. Return: how many
 * bytes; 0: at the end; -errno. */
static inline long listing_read(int directory, void *room, size_t size)
{
    return kernel_call(SYS_getdents64, directory, KERNEL_PTR(room), size, 0, 0, 0);
}

/* listing_next() - the next name in the @size bytes of @room, but for the directory itself and the one above.
 * @at: where it stands, 0 at first. Return: NULL: there is no more in there. */
static inline const struct kernel_dirent *listing_next(const void *room, long size, long *at)
{
    while (*at < size) {
        const struct kernel_dirent *entry = (const void *)((const char *)room + *at);
        const char *name = entry->name;

        *at += entry->size;
        if (name[0] != '.' || (name[1] != '\0' && (name[1] != '.' || name[2] != '\0')))
            return entry;
    }
    return NULL;
}

#endif
