/*
 * resolve_internal.h - what the files of resolve share, and nobody else.
 */
#ifndef CONFINE_POLICY_RESOLVE_INTERNAL_H
#define CONFINE_POLICY_RESOLVE_INTERNAL_H

#include "policy/accounts.h"
#include "policy/resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* An object just opened by name. */
struct opened {
    int fd;               /* O_PATH|O_CLOEXEC; -1: nothing */
    char *path;           /* canonical */
    struct stat st;       /* of the opened object */
    struct strings links; /* canonical names of the symbolic links that led here */
    uint64_t root_links;  /* bit i: links[i] belongs to root */
};

/* What stands on the left of a message: where a path was asked for. */
struct asked {
    char by[420]; /* `--write`, `/etc/confine/policy.json:12: write` */
    const char *value;
    bool optional;
    bool single; /* no entry of a list: it has no `?` */
    bool named;
    bool grants; /* whatever it leads to, the command may do more there */
};

/* A way through links, looked at again when all writable grants are known. */
struct led {
    char *link; /* canonical name of the link */
    char *what; /* for the message: who asked, and for what */
    bool grants;
    bool root; /* the link belongs to root */
};

/* One mount. Root and point are asked for when they are needed: mounts_name(). */
struct mount_row {
    uint64_t id, above; /* above: the mount that it is mounted on */
    dev_t device;       /* of the file system; that of an object in it may be another */
    uint64_t magic;     /* in a table from text 0 for most types */
    bool nodes;         /* from text: devtmpfs or devpts */
    char *root;         /* what of the file system is mounted; NULL: not asked */
    char *point;        /* where */
};

#define REPEATED_MOST 16 /* file systems whose number of mounts is remembered */

struct mount_table {
    struct mount_row *rows;
    size_t count;
    bool looked;
    bool text; /* from /proc/self/mountinfo; then the numbers are others */
    int failed;
    /* File systems by the device of their objects, which is not always that of the mount. */
    struct {
        dev_t device;
        bool more; /* mounted more than once */
    } repeated[REPEATED_MOST];
    size_t repeated_count;
};

/* What is in a directory. */
struct listing {
    char *path;
    struct strings names; /* sorted, where they are complete */
    bool complete;        /* else nothing is known, and every name has to be tried */
};

struct resolving {
    const struct policy *policy;
    char *const *env;
    struct resolved *resolved;
    struct error *error;

    uid_t caller;
    const char *passwd;        /* text of /etc/passwd, empty if there is none */
    char *own_passwd;          /* the same, where the policy has none */
    char *cwd;                 /* the caller's, canonical; NULL: it has none */
    char *env_home;            /* canonical directory of the caller's $HOME; NULL: none */
    char *command_home;        /* of the command's user, from the password database; NULL: no entry */
    char *program;             /* canonical name of the running confine; NULL: not known */
    char *links_dir;           /* where its links are; NULL: not known */
    struct strings read_named; /* canonical paths of named --read entries: shown although hidden */
    struct strings self;       /* what @self names; empty: not looked for yet */
    struct strings sessions;   /* canonical names of the directories that sessions have their names in */
    bool sessions_found;       /* that was looked for */
    char *git_common;          /* canonical common directory of a repository that is the workspace's own and
                                  stands outside of it; NULL: none */
    bool git_file;             /* the workspace's `.git` is no directory */

    struct led *led;
    size_t led_count;
    struct mount_table mounts;
    struct listing homes[4]; /* those that `~` of a set stands for */
    size_t home_count;       /* 0: not listed yet */
    struct listing top;      /* of the workspace */
};

/* --- resolve_open.c --- */

/* path_parent() - the directory of a canonical path and the name in it. Return: 0, -ENOMEM, or -EINVAL for
 * `/`. */
int path_parent(const char *path, char **ret_parent, const char **ret_name);

/* paths_begin() - a resolving begins. The soft limit of open files is raised when a path gets a descriptor in
 * its upper half, and not only when there is none left: the run needs some as well. @limit: as it is */
void paths_begin(uint64_t limit);

/* path_open_at() - one name below @at, by O_PATH with more @flags; for whatever is kept. Return: the
 * descriptor or -errno. */
int path_open_at(int at, const char *name, int flags);

/*
 * path_open() - open what an absolute name leads to, once.
 *
 * Follows links, by descriptor and one at a time, and remembers each. The name is canonical at the moment of
 * opening and was opened again by that name without following anything: it is the same object.
 *
 * Return: 0 with @opened filled, or -errno (-ESTALE: it changed while it was looked at).
 */
int path_open(const char *absolute, struct opened *opened);

/* path_unanswered() - the first name of this resolving of which path_open() could not even say that it is not
 * there. Return: the errno, 0: there was none; with *RET_NAME, the next resolving's then. */
int path_unanswered(const char **ret_name);
void opened_free(struct opened *opened);
#define _cleanup_opened_ __attribute__((cleanup(opened_free)))

/* --- resolve_paths.c --- */

/* resolving_absolute() - `~`, `~/…` and relative names made absolute. Return: 0 or a negative errno with the
 * error set. */
int resolving_absolute(struct resolving *resolving, const struct asked *asked, const char *base, char **ret);

/* strings_add_joined() - the first @length bytes of @front, then @back. Sets are long and every run expands
 * them: no printf there. Return: 0 or -ENOMEM. */
int strings_add_joined(struct strings *strings, const char *front, size_t length, const char *back);

/* resolving_expand() - an item of a set: `~` becomes every home that counts, `$NAME` every absolute path of
 * that variable. Return: 0 or -ENOMEM with the error set. */
int resolving_expand(struct resolving *resolving, const char *item, struct strings *names);

/*
 * resolving_open() - open one asked path.
 * Return: 0, 1 when it is missing and optional (noted in skipped), or a negative errno with the error set.
 */
int resolving_open(struct resolving *resolving, const struct asked *asked, const char *base,
                   struct opened *opened);

/* resolving_add() - take an opened object over as a grant. @ret_index may be NULL. Return: 0 or -ENOMEM. */
int resolving_add(struct resolving *resolving, struct opened *opened, enum grant grant, bool named,
                  bool implied, size_t *ret_index);

/* path_failed() - what stands in the way of the object at @path, wanted as @what, by its errno. Return: a
 * negative errno. */
int path_failed(struct error *error, const char *what, const char *path, int errnum);

/* resolving_note_links() - keep the links of @opened for resolving_check_links(). Return: 0 or -ENOMEM with
 * the error set. */
int resolving_note_links(struct resolving *resolving, const struct asked *asked, const struct opened *opened);

/* resolving_check_links() - no path was found through a link that the command may replace, and no grant
 * through one that an earlier command may have made. */
int resolving_check_links(struct resolving *resolving);

/* --- resolve_asked.c --- */

/* asked_entry(), asked_key() - who asks. */
struct asked asked_entry(const struct entry *entry, enum list list);
struct asked asked_key(const struct policy *policy, enum key key, const char *value);

/* source_of() - the entry @index of @list, and the item of its set or NULL. */
static inline struct source source_of(enum list list, size_t index, const struct set_item *item)
{
    return (struct source){.listed = true, .list = list, .index = index, .item = item};
}

/* resolving_skip() - note that something optional was left out. Return: 0 or -ENOMEM with the error set. */
int resolving_skip(struct resolving *resolving, const struct asked *asked, const char *why);

/* resolving_except() - note that @path was taken out of the hidden or protected ones. Return: 0 or -ENOMEM
 * with the error set. */
int resolving_except(struct resolving *resolving, const char *path, struct source source);

/* --- resolve_names.c --- */

/*
 * directory_names() - list the directory @at, which may be O_PATH.
 * @visit: called for each name but `.` and `..`; anything but 0 ends the listing
 *
 * Return: what the last visit answered, or -errno.
 */
int directory_names(int at, int (*visit)(const char *name, void *data), void *data);

/* --- resolve_listing.c --- */

/* resolving_list_homes() - list the homes, unless that was done. resolving_list_top() - the workspace.
 * Return: 0 or -ENOMEM with the error set; what cannot be listed is no error. */
int resolving_list_homes(struct resolving *resolving);
int resolving_list_top(struct resolving *resolving);

/* resolving_home_may_have() - may @place be there below @home? No: the first part of it is not. */
bool resolving_home_may_have(const struct resolving *resolving, const char *home, const char *place);
bool listing_may_have(const struct listing *listing, const char *path);
void listing_free(struct listing *listing);

/* --- resolve_mounts.c --- */

/*
 * mounts_look() - read what is mounted, unless that was done before.
 *
 * Return: 0, -ENOMEM, or another negative errno when nothing is known.
 */
int mounts_look(struct mount_table *table);

/* mounts_from_text() - the same anew from the text: the kernel counts mounts, and does not tell more of them.
 */
void mounts_from_text(struct mount_table *table);
void mounts_free(struct mount_table *table);

/* mounts_name() - fill in root and point of a row. Return: 0, -ENOENT when it is gone, or another negative
 * errno. */
int mounts_name(const struct mount_table *table, struct mount_row *row);

/* mounts_find() - the mount that @name below @at is on; an empty name means @at. @path: its canonical name.
 * Return: a row of the table, NULL when it is not known. */
struct mount_row *mounts_find(const struct mount_table *table, int at, const char *name, const char *path);

/* leaf_mounts() - call @visit for each mount on which nothing is mounted, and on which somebody may listen: a
 * socket may be one. Return: 0, what @visit answered if that was not 0, or a negative errno where the table
 * says nothing. */
int leaf_mounts(struct mount_table *table, int (*visit)(const char *path, void *data), void *data);

/* --- resolve_aliases.c --- */

/* aliases_possible() - is the file system of an object mounted more than once? @device: of the object; @at,
 * @name, @path: see mounts_find(). The answer is remembered in @mounts. */
bool aliases_possible(struct mount_table *mounts, dev_t device, int at, const char *name, const char *path);

/*
 * aliases_each() - the names by which other mounts would show an object, or with @part a part of it that is
 * mounted there. Whether they do has to be looked at.
 * @at, @name, @full: see mounts_find()
 *
 * Return: 0, what @visit answered if that was not 0, or a negative errno where the table says nothing.
 */
int aliases_each(const struct mount_table *mounts, int at, const char *name, const char *full,
                 int (*visit)(const char *path, const struct mount_row *part, void *data), void *data);

/*
 * aliases_look() - call @look with what is mounted, and again with another table where the kernel does not
 * tell.
 * @what: of the warning where nothing is known: `a hidden path may be readable`
 *
 * Return: 0 (also where nothing is known) or a negative errno with the error set.
 */
int aliases_look(struct resolving *resolving, int (*look)(void *data), void *data, const char *what);

/*
 * device_mounts() - the mounts outside of /dev that hold device nodes.
 * @mounts: names are added; freed by the caller, on failure as well
 *
 * Return: 0, -ENOMEM, or another negative errno when nothing is known.
 */
int device_mounts(struct mount_table *table, struct strings *mounts);

/*
 * kernel_mounts() - the mounts outside of /proc that tell of processes, and those of the kernel's settings.
 * @settings:  are the latter looked for?
 * @processes: names of mounts of procfs, which has settings as well
 * @others:    names of sysfs and its like, in their usual places too
 *
 * Both lists are freed by the caller, on failure as well. Return: as device_mounts().
 */
int kernel_mounts(struct mount_table *table, bool settings, struct strings *processes,
                  struct strings *others);

/* --- resolve_user.c --- */
int resolving_start(struct resolving *resolving);
void resolving_end(struct resolving *resolving);
const char *env_value(char *const *env, const char *name);
int resolve_user(struct resolving *resolving, const struct opened *workspace);

/* --- resolve_view.c --- */
int resolve_view(struct resolving *resolving);

/* is_private_place() - does the canonical @path lie where a view of its own shows nothing of the host's? */
bool is_private_place(const char *path);

/* is_in_private_place() - the same, also of the place itself. */
bool is_in_private_place(const char *path);

/* --- resolve_git.c --- */
/* resolve_git() - grant the repository of a workspace whose `.git` is no directory, if it names the workspace
 * back. @named: the workspace is. Return: 0 (also when nothing is granted) or a negative errno with the error
 * set. */
int resolve_git(struct resolving *resolving, bool named);

/* git_hooks() - where `core.hooksPath` of the workspace's repository leads, not looked at; NULL: it names
 * none. Return: 0 or -ENOMEM with the error set. */
int git_hooks(struct resolving *resolving, char **ret);

/* git_alternates() - warn of borrowed objects that cannot be read. Return: 0 or -ENOMEM with the error set.
 */
int git_alternates(struct resolving *resolving);

/* --- resolve_protect.c --- */
int resolve_protected(struct resolving *resolving);

/* --- resolve_grants.c --- */
int open_workspace(struct resolving *resolving, struct opened *workspace);
int resolve_workspace_grant(struct resolving *resolving);
int resolve_grants(struct resolving *resolving);
int merge_grants(struct resolving *resolving);

/* granted_readable() - is the canonical @path in something that is granted to be read or written? @within:
 * only grants in this directory count, which may be hidden as a whole; NULL: all do. */
bool granted_readable(const struct resolved *resolved, const char *path, const char *within);

int resolve_cwd(struct resolving *resolving);

/* resolve_hidden_cwd() - refuse a start directory that is hidden; behind resolve_hidden(). */
int resolve_hidden_cwd(struct resolving *resolving);

/* --- resolve_wide.c --- */
int refuse_wide(struct resolving *resolving, const struct asked *asked, const char *path);
int refuse_wide_write(struct resolving *resolving, const struct asked *asked, const char *path);
int resolve_unasked(struct resolving *resolving);
int refuse_socket(struct resolving *resolving, const struct asked *asked, const struct opened *opened);
int refuse_device(struct resolving *resolving, const struct asked *asked, const struct opened *opened);

/* --- resolve_env.c --- */
int resolve_env(struct resolving *resolving);

/* --- resolve_caches.c --- */

/* When the variable of a cache is set. */
enum cache_when {
    CACHE_ALWAYS = 0,
    CACHE_MISSING, /* only when the private one is filled or can be, or the user has none */
    CACHE_NEVER,   /* there is an overlay or nothing */
};

/* A cache of a tool. Places and usual values are below the home. */
struct cache {
    const char *variable, *again; /* `again`: another spelling that the caller may have set */
    const char *usual;            /* the variable's value that says the same as none; NULL: each of places */
    const char *directory;        /* below the private directory */
    const char *places[2];        /* what an overlay is laid on: the first that exists */
    const char *moved;       /* a variable of the caller's that moves the place, unless it has the value */
    const char *moved_usual; /* of this */
    const char *signs[4];    /* files of a workspace, or of the start directory, by which the tool is used */
    enum cache_when when;
    bool overlaid; /* with the overlay the variable has the usual value, or names the place */
};

/* The resolved choices are one for each, in this order. */
extern const struct cache cache_table[];
extern const size_t cache_table_count;

int resolve_caches(struct resolving *resolving);
void caches_free(struct resolved *resolved);

/* cache_is_set() - does the caller have the variable, with another value than @usual below @home? NULL as a
 * name is never set. */
bool cache_is_set(const struct resolving *resolving, const char *home, const char *name, const char *usual);

/* cache_is_own() - does the caller say by a variable where this cache is, and not where it would be anyway?
 */
bool cache_is_own(const struct resolving *resolving, const char *home, const struct cache *cache);

/* open_cache_home() - the home whose caches are meant: $HOME if it belongs to the command's user, else that
 * of its account. Return: 0, -ENOENT, -ENOMEM. */
int open_cache_home(const struct resolving *resolving, struct opened *home);

/* cache_name() - the workspace as one file name, owned by the caller. NULL: too long, or out of memory. */
char *cache_name(const char *workspace);

/* cache_directory() - opens `STEPS[0]/STEPS[1]…` below @home, made as the command's user where it is missing,
 * and nobody else's.
 * @ret_made: was the last of them made just now? May be NULL
 *
 * Return: an O_PATH descriptor owned by the caller, or -errno. */
int cache_directory(const struct resolving *resolving, const struct opened *home, const char *const steps[],
                    size_t count, bool *ret_made);

/* --- resolve_stale.c --- */

/* forget_stale_caches() - take away the directories beside @own, that of @workspace, which have been
 * empty for a day and are those of workspaces that are gone. For the command's user, with whose rights it is
 * to be called. */
void forget_stale_caches(int own, const char *workspace);

/* --- resolve_overlays.c --- */
int resolve_overlays(struct resolving *resolving);

/* --- resolve_hide.c --- */
int resolve_hidden(struct resolving *resolving);

/* resolve_hidden_objects() - keep what is hidden, and the directories that it is in, as descriptors: a mount
 * over a name would be one over whatever has the name by then. Return: 0 or a negative errno with the error
 * set. */
int resolve_hidden_objects(struct resolving *resolving);

/* --- resolve_devices.c --- */
int resolve_devices(struct resolving *resolving);

/* --- resolve_edges.c --- */
int resolve_edges(struct resolving *resolving);

/* --- resolve_network.c --- */
int resolve_network(struct resolving *resolving);
/* network_can_listen() - not on an address of many machines, on one of a link without its zone, or on one of
 * IPv4 in IPv6. */
bool network_can_listen(int family, const unsigned char bytes[16]);

/* network_add_local() - ADDRESS/BITS leads to a listener; each once. network_add_name() - and this one stands
 * for @name. Return: 0, or a negative errno with the error set. */
int network_add_local(struct resolving *resolving, const char *address, unsigned bits);
int network_add_name(struct resolving *resolving, const char *address, const char *name, unsigned port);

/* --- resolve_hosts.c --- */

/* resolve_hosts() - the names of rules that stand in /etc/hosts. The same. */
int resolve_hosts(struct resolving *resolving);
void network_free(struct own_network *network);

/* --- resolve_surfaces.c --- */
int resolve_surfaces(struct resolving *resolving);
int resolve_pass_fds(struct resolving *resolving);

#endif
