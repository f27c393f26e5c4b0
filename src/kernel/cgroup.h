/*
 * cgroup.h - groups of processes, as cgroup file systems have them: a group of our own, its values, its end.
 *
 * Both kinds: the one tree of version 2, and the trees of version 1 with one controller each. A process
 * stands in one group of every tree, so what a run needs may take several groups; together they are `struct
 * cgroups`.
 */
#ifndef CONFINE_KERNEL_CGROUP_H
#define CONFINE_KERNEL_CGROUP_H

#include "util/util.h"

#include <sys/types.h>

/* What a group is for. Zero needs no controller: it is there to end all that is in it, and to see it empty.
 */
enum cgroup_use { CGROUP_TREE = 0, CGROUP_CPU, CGROUP_PROCESSES, CGROUP_MEMORY, CGROUP_USES };
#define CGROUP_BIT(use) (1U << (use))

#define CGROUP_NAME 32 /* room for the name of a group */
#define CGROUP_MOST 4

/* One directory of ours. Its lock says that somebody lives who will remove it. */
struct cgroup {
    int version;     /* 1 or 2 */
    unsigned uses;   /* bits of enum cgroup_use */
    int place;       /* the directory that it lies in; in version 2 with a shared lock */
    int directory;   /* locked */
    int procs;       /* open for writing, so that who writes "0" joins */
    unsigned turned; /* uses whose controllers we have turned on in `place` */
    int leaf;        /* a directory beside it that this process moved into; -1: it has not moved */
    char name[CGROUP_NAME], leaf_name[CGROUP_NAME];
};

struct cgroups {
    struct cgroup group[CGROUP_MOST];
    size_t count;
    struct cgroup *of[CGROUP_USES]; /* NULL: nothing here can be used for that */
    int join_error;                 /* errno of cgroups_join(), 0 if none */
};
#define CGROUPS_NONE                                                                                         \
    {                                                                                                        \
        .count = 0                                                                                           \
    }

/*
 * cgroups_make() - groups for a run, below or beside the caller's own.
 * @wanted: bits of enum cgroup_use
 *
 * In this order: a subtree of version 2 where the caller may make groups and the controller is on, nearest
 * first; the caller's own group of version 2, if nobody else is in it or it is the root; the controller's
 * tree of version 1. What others of us left behind in the same place is removed. What cannot be had is
 * missing in `of`; that is no error.
 *
 * Return: 0, or -errno of what should have gone well. cgroups_remove() is due in any case.
 */
int cgroups_make(struct cgroups *cgroups, unsigned wanted);

/* cgroups_join() - the calling process joins all of them. Raw calls only: for a vfork child. Return: true, or
 * false with `join_error` set. */
bool cgroups_join(struct cgroups *cgroups);

/* cgroups_hold() - is process @pid a member of every group? Read back. Return: 1, 0 or -errno. */
int cgroups_hold(const struct cgroups *cgroups, pid_t pid);

/* cgroups_empty() - is nobody left? Return: 1, 0 or -errno. */
int cgroups_empty(const struct cgroups *cgroups);

/* cgroups_kill() - SIGKILL to everybody in them, by the kernel at once where it can (version 2, Linux 5.14).
 * Return: 0 or -errno. */
int cgroups_kill(const struct cgroups *cgroups);

/* cgroups_remove() - remove them, and put everything back that cgroups_make() changed. Waits a moment for
 * what has just ended. Return: 0 or -errno of what is left. */
int cgroups_remove(struct cgroups *cgroups);

/*
 * cgroup_limit_memory() - at most @bytes, swap included, rounded down to pages; one that is reached ends
 * all of them where the kernel can (version 2). In version 1 what waits in sockets of TCP and UDP has as much
 * for itself; what finds no room there waits, or is dropped.
 * @ret_swap: is swap limited as well, or none there?
 *
 * Return: 0 when the values were read back as they were written, else -errno; -EPROTO: another value.
 */
int cgroup_limit_memory(const struct cgroup *group, uint64_t bytes, bool *ret_swap);

/* cgroup_holds_memory() - is the limit still what it was set to? */
bool cgroup_holds_memory(const struct cgroup *group, uint64_t bytes);

/* cgroup_exceeds_memory() - do sockets hold more than @bytes for all that? The kernel gives each of TCP a
 * little in any case, and there may be many. In version 2 that counts as any other memory. */
bool cgroup_exceeds_memory(const struct cgroup *group, uint64_t bytes);

/* cgroup_limit_processes() - at most @count processes and threads. Return: as cgroup_limit_memory(). */
int cgroup_limit_processes(const struct cgroup *group, uint64_t count);

/* cgroup_holds_processes() - is the limit still what it was set to? */
bool cgroup_holds_processes(const struct cgroup *group, uint64_t count);

/* cgroup_processes() - how many there are now. Return: 0 or -errno. */
int cgroup_processes(const struct cgroup *group, uint64_t *ret_count);

/* cgroup_refused() - how many new processes the limit has refused. Return: 0 or -errno. */
int cgroup_refused(const struct cgroup *group, uint64_t *ret_count);

/* cgroup_killed() - how many processes were ended because the memory was used up. Return: 0 or -errno. */
int cgroup_killed(const struct cgroup *group, uint64_t *ret_count);

/*
 * cgroup_memory_event() - a descriptor, the caller's, that can be read when the memory is used up, just
 * before somebody is ended for it. In version 1 alone: in version 2 the kernel ends all of them together.
 *
 * Return: it, or -errno where the kernel tells nobody.
 */
int cgroup_memory_event(const struct cgroup *group);

/*
 * cgroup_used_up() - how often the memory was used up since this was asked last, also when nobody could be
 * ended
 * @event: what cgroup_memory_event() gave, 0: it gave nothing; unused with version 2, which counts from the
 *         beginning
 *
 * Return: 0 or -errno.
 */
int cgroup_used_up(const struct cgroup *group, int event, uint64_t *ret_count);

/* cgroup_cpu_ns() - processor time of all that are and were in it, in nanoseconds. Return: 0 or -errno. */
int cgroup_cpu_ns(const struct cgroup *group, uint64_t *ret_ns);

/* --- cgroup_place.c: where a group can be made ------------------------------------------------------------
 */

/* Somewhere to make a group in. */
struct cgroup_place {
    int version; /* 0: nowhere */
    int directory;
    unsigned uses; /* what a group in it can be used for */
    bool own;      /* the caller's own group, in which controllers can be turned on */
};

/* cgroup_find() - the best place in the tree of version 2, or, for one @version 1, in that of a controller.
 * @wanted: in version 1 one use
 *
 * Return: 0 with a version of 0 where there is none, or -errno. */
int cgroup_find(int version, unsigned wanted, struct cgroup_place *ret);

/* cgroup_has_word() - is @word one of the words of @text, separated by any of @separators? */
bool cgroup_has_word(const char *text, const char *word, const char *separators);

/* cgroup_write() - to a file of the group @directory. Return: 0 or -errno. */
int cgroup_write(int directory, const char *file, const char *text);

/* cgroup_number() - the number behind @key in @file of the group @directory, or the whole file's for NULL;
 * "max" is UINT64_MAX. Return: 0 or -errno; -ENOENT without the key. */
int cgroup_number(int directory, const char *file, const char *key, uint64_t *ret);

/* cgroup_controller() - `memory`, as version 2 and the trees of version 1 name it; NULL: a use without one.
 */
const char *cgroup_controller(enum cgroup_use use);

#endif
