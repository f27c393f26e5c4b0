/*
 * listing.h - the names of a directory as the kernel writes them.
 *
 * A DIR of the libc asks five questions about a descriptor that is one, and takes memory for it; a tree has
 * some ten thousand.
 */
#ifndef CONFINE_SWEEP_LISTING_H
#define CONFINE_SWEEP_LISTING_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

enum listed { LISTED_UNKNOWN = 0, LISTED_DIRECTORY = 4, LISTED_LINK = 10 }; /* DT_DIR and so on */

/* One name. */
struct listing_entry {
    uint64_t inode;
    int64_t offset; /* of the next one */
    uint16_t length;
    uint8_t type; /* enum listed */
    char name[];
};

/* listing_read() - the next names of @directory, one behind the other, each `length` bytes long. @room:
 * aligned as an entry is. Return: how many bytes; 0: at the end; -errno. */
static inline long listing_read(int directory, void *room, size_t size)
{
    long got = syscall(SYS_getdents64, directory, room, size);

    return got < 0 ? -errno : got;
}

/* listing_is_dot() - is it the directory itself, or the one above? */
static inline bool listing_is_dot(const char *name)
{
    return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

#endif
