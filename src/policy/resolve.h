/*
 * resolve.h - every path of a policy, opened once.
 *
 * Resolving turns names into descriptors with canonical names. From here on
 * nothing looks a name up again: a rule follows the opened object, so nothing
 * can be swapped between plan and run.
 */
#ifndef CONFINE_POLICY_RESOLVE_H
#define CONFINE_POLICY_RESOLVE_H

#include "kernel/handed.h"
#include "links/channel.h"
#include "policy/policy.h"
#include "policy/policy_rules.h"

#include <sys/stat.h>
#include <sys/types.h>

/* Starts the value of a variable that points into the private temp directory. The run puts the directory in
 * its place; where there is none (exec) the variable is left out. */
#define TMP_PLACEHOLDER "@TMP@"

enum grant {
    GRANT_NONE = 0,
    GRANT_READ,   /* read and execute */
    GRANT_WRITE,  /* everything */
    GRANT_DEVICE, /* everything on a device node */
    GRANT_SOCKET, /* connect to this pathname socket */
    GRANT_SHOW,   /* stays readable although what it lies in is hidden */
};

/* Who asked for something. Entries are named by their place: lists only ever grow, so it stays right. */
struct source {
    bool listed; /* by the entry list[index] of the policy */
    enum list list;
    size_t index;
    const struct set_item *item; /* of the set that the entry names; NULL: the entry itself */
    const char *what;            /* static: what it is, where no entry asks for it alone; else NULL */
};

/* An opened object. `fd` is O_PATH|O_CLOEXEC and owned by the resolved policy. */
struct resolved_path {
    int fd;
    char *path; /* canonical, absolute */
    dev_t device;
    ino_t inode;
    mode_t type; /* S_IFMT part */
    enum grant grant;
    bool named;   /* somebody asked for it by name */
    bool implied; /* @system, devices, temp: ours */
    struct source source;
};

/* One directory of which every entry but `except` stays readable: what hide-run needs. */
struct hide_level {
    size_t path;           /* index into paths, grant GRANT_NONE */
    struct strings except; /* names */
};

/* An object that is hidden: for the check and for the report. */
struct hidden {
    char *path;
    int fd;        /* O_PATH, owned: the object, for backends that mount. -1: none, or taken into paths */
    int parent_fd; /* O_PATH, of the parent */
    size_t parent; /* index into parents */
    char *sample;  /* a readable file below parent_fd that is tried: the object, or one in a directory; NULL:
                      none */
    const char *name; /* below parent_fd; the end of path */
    mode_t type;
    dev_t device;
    ino_t inode;
    size_t object, directory; /* 1 + an index into paths, for backends that mount: the object, and the
                                 directory that it is in. 0: none */
    bool named;
    bool optional; /* to be held if it can be, and noted if not */
    bool readable; /* the caller could read it: a control exists */
    bool alias;    /* the same object as another one, seen by another mount */
    bool shared;   /* one of its names is readable: a rule of Landlock is the object's, by whatever mount */
    bool plain_parent; /* named, and nothing is mounted below the directory that it is in */
    const char *held;  /* NULL: held, by a level or because nothing above it is readable; else why not:
                        * `inside-writable`, `contains-grant`, `too-many-siblings`, `not-listable`, and of an
                        * alias `other-mount` */
    struct source source;
};

/* A directory that hidden things are in, opened once for all of them. */
struct hidden_parent {
    int fd;     /* O_PATH, owned */
    char *path; /* canonical */
    dev_t device;
    ino_t inode;
    size_t kept; /* 1 + an index into paths, where the chain gets it. 0: not yet */
};

/* An existing object outside every writable grant, next to an edge of one: rename(x, x) is tried on it. */
struct edge {
    int parent_fd; /* O_PATH directory, owned */
    char *parent;  /* canonical, for messages */
    char *name;    /* NULL: no entry found, O_TMPFILE is tried in the directory instead */
    bool named;    /* edge of a root that the user named */
};

/* A path that was taken out of the hidden or the protected ones: for people. */
struct exception {
    char *path; /* canonical */
    struct source source;
};

/* What a view of its own has to know of this machine. Names, canonical. */
struct view {
    struct strings kept;    /* readable although its place is private: start directory, resolver's file */
    struct strings copies;  /* files that programs refuse when somebody unknown owns them */
    struct strings sockets; /* pathname sockets that somebody listened on */
    struct strings procs;   /* mounts of procfs that tell of the processes outside, besides /proc */
    struct strings kernel;  /* mounts in what is writable by which root changes the machine; not procfs */
    bool procs_unknown;     /* there may be more of the two */
    bool sockets_unknown;   /* there may be more sockets than these */
};

/*
 * The cache of one tool, with `--caches private`. Without mounts, variables lead the tool to a private
 * directory. A backend that mounts lays an overlay on the usual place instead, if there is one: the user's
 * own cache below, which stays as it is, and what the command writes in a directory of the workspace's.
 */
struct cache_choice {
    struct strings env;          /* NAME=VALUE, TMP_PLACEHOLDER in it: without the overlay */
    struct strings env_overlaid; /* NAME=VALUE: with it */
    size_t place, upper;         /* indices into paths, grant GRANT_NONE; SIZE_MAX: there is no overlay */
};

#define SESSION_DECIDED 1280 /* rules, ports and the proxy of a session: of more, a run may name none */

/* A session that the command goes into: its namespaces, and what was decided when it began. */
struct session {
    const char *name;
    int fd[JOIN_COUNT];          /* -1: not joined */
    uint64_t number[JOIN_COUNT]; /* inode of the namespace; 0: not joined */
    uid_t uid;                   /* whose it is */
    gid_t gid;
    enum network network;
    uint64_t tmp_size;                 /* 0: no limit was set */
    uint64_t decided[SESSION_DECIDED]; /* session_decision() of each; 0: none */
    bool lost;                         /* no port is published any more, and no rule can be added */
    int told; /* the keeper says on it what comes to the session's gateway; -1: there is none */
};

/* What a socket in the command's own network is for. */
enum listener_role {
    LISTENER_TCP = 0, /* whatever address was meant: it is asked what that stands for */
    LISTENER_DNS,
    LISTENER_DNS_TCP,
    LISTENER_PROXY,   /* for tools that insist on one */
    LISTENER_FORWARD, /* leads to a port of the host's loopback */
};

struct listener {
    enum listener_role role;
    char *address; /* inside */
    char *word;    /* of `namespace-run --listen`: `tcp:[::]:443` */
    char *name;    /* LISTENER_TCP: whose address it is; NULL: that of all others, or of none */
    uint16_t port; /* inside */
    uint16_t host; /* LISTENER_FORWARD: out here */
};

struct port_pair {
    uint16_t host, inside;
};

/* What a network of the command's own has beside loopback. Empty where nothing was asked for. */
struct own_network {
    bool listed;           /* the mode is `listed`; there may be no rule yet, and come one while it runs */
    struct strings rules;  /* each once, in the one spelling of it; of the mode `listed` */
    struct strings locals; /* networks whose addresses lead to a listener: `10.0.0.0/8`, `[2001:db8::]/32` */
    struct listener *listeners;
    size_t listener_count;
    struct port_pair *published;
    size_t published_count;
    char *nameless; /* of `--nameless`: where the resolver of a network without names would be; NULL: none */
    uint16_t proxy_port; /* 0: none */
    unsigned pinned;     /* names that have an address of their own so far */
};

#define NETWORK_PINNED_MOST 4000 /* names */

/* network_pin() - the address of the pools for the @index-th name. @four, @six: room for each */
#define NETWORK_ADDRESS 46
/* network_pinned() - the same for a name that has one. Return: whether it has. */
bool network_pinned(const struct own_network *network, const char *name, char four[NETWORK_ADDRESS],
                    char six[NETWORK_ADDRESS]);
void network_pin(unsigned index, char four[NETWORK_ADDRESS], char six[NETWORK_ADDRESS]);

/* network_local() - the word of `--local` for a rule that is an address. Return: false: it is none. */
bool network_local(const struct rule *rule, char *word, size_t size);

/* network_has() - do what is local and the pools hold this address? */
bool network_has(const struct own_network *network, const char *address);

/*
 * network_listens() - does somebody outside listen for the command on @address and @port?
 * @datagrams: for datagrams, else for connections
 * @exactly:   on that address alone, not on all of them
 */
bool network_listens(const struct own_network *network, const char *address, unsigned port, bool datagrams,
                     bool exactly);

/* network_name_at() - the name that has @address inside. Return: NULL: none, or one that only the gateway
 * knows. */
const char *network_name_at(const struct own_network *network, const char *address);

/* network_gateway() - does somebody outside have to be there for it? */
static inline bool network_gateway(const struct own_network *network)
{
    return network->listener_count > 0 || network->published_count > 0;
}

struct skipped {
    char *what; /* `write ~/.cache/go-build` */
    char *why;
};

struct resolved {
    const struct policy *policy; /* borrowed */
    enum mode mode;              /* after --approved-mode */
    const char *mode_from;       /* `option`, `policy`, `default`, `approved` */
    char *workspace;             /* canonical, NULL if none */
    int workspace_fd;
    char *cwd; /* canonical start directory */
    int cwd_fd;
    uid_t uid; /* the command's user */
    gid_t gid;
    bool switch_user; /* the caller is root and the command is not the caller */
    char *home;       /* of the caller, from the password database; NULL: no entry */

    struct resolved_path *paths;
    size_t path_count;
    struct hide_level *levels;
    size_t level_count;
    struct hidden *hidden;
    size_t hidden_count;
    struct hidden *around; /* directories of which the hidden ones are what stands beside something granted or
                              shown: with mounts, the directory itself can be hidden */
    size_t around_count;
    struct hidden_parent *parents; /* of both */
    size_t parent_count;
    struct strings shown; /* canonical paths that --show names, as far as they are there, and named ones of
                             --read: seen although what they are in is hidden */
    struct edge *edges;
    size_t edge_count;

    bool open[SURFACE_COUNT];           /* --open */
    bool required[SURFACE_COUNT];       /* --require SURFACE */
    bool required_group[SURFACE_COUNT]; /* --require GROUP: what of it the policy claims */
    bool require_full;
    bool named[SURFACE_COUNT]; /* the user named something that stands or falls with this surface */

    struct strings env;          /* the command's, NAME=VALUE, but for the caches' and TMPDIR */
    struct cache_choice *caches; /* their variables come after `env` and replace what has the same name */
    size_t cache_count;
    int cache_lock;             /* keeps the uppers from a second mount while it is open; -1: no overlays */
    char *tmp_directory;        /* --tmp DIR, canonical; TMPDIR names it. NULL: none is named */
    struct strings env_unset;   /* names taken away by @secrets or by name, for the report */
    struct strings env_secrets; /* names that @secrets took away: checked to be absent */
    uint64_t descriptor_limit;  /* the caller's own RLIMIT_NOFILE, which resolving may have raised */
    int *pass_fds;
    size_t pass_fd_count;
    struct handed passed;   /* what they give */
    bool terminal_granted;  /* a device grant is a terminal, or reads or makes keys */
    bool devices_elsewhere; /* device nodes can be read outside of /dev */

    struct view view;
    struct own_network network;
    struct strings protected_paths; /* canonical, what --protect asks; the backend says whether it can */
    struct strings protected_names; /* as many, in their order: by which name `--unprotect` takes it out.
                                       Empty: by none, it is a policy file in force */
    struct source *protected_by;    /* as many, in their order */
    struct strings
        protected_notes;        /* warnings of a backend that holds them: which of them are held in part */
    const char *protected_weak; /* static: why one of them can be changed all the same; NULL: none can */
    struct exception *exceptions;
    size_t exception_count;
    struct skipped *skipped;
    size_t skipped_count;
    const struct session *session; /* borrowed; NULL: the run has namespaces of its own */
    bool observed;                 /* somebody will see what is refused. Set by whoever starts the run */
    struct strings unasked;        /* canonical names of and below which nobody is asked; with --ask */
    struct strings ephemeral;
    struct strings warnings;
};

/*
 * resolve_policy() - open everything once.
 * @policy: merged, kept alive by the caller as long as @resolved
 * @env:    the caller's environment
 *
 * Return: 0, or a negative errno with @error set; @resolved is then empty.
 */
int resolve_policy(const struct policy *policy, char *const *env, struct resolved *resolved,
                   struct error *error);
void resolved_free(struct resolved *resolved);

/*
 * policy_never_grants() - is @path one that may not be granted, whoever asks: a home, a place of the system,
 * confine itself, a socket that is as good as root?
 * @env:  as of resolve_policy()
 * @list: LIST_WRITE or LIST_SOCKETS; of others nothing is kept
 * @path: canonical
 *
 * Return: true also where that cannot be found out.
 */
bool policy_never_grants(const struct policy *policy, char *const *env, enum list list, const char *path);

/* policy_is_shared() - is it a directory where all users keep their files? Granted to who asks for it by
 * name, and to nobody else. */
bool policy_is_shared(const char *path);

/* resolved_skip() - note that something optional was left out: who asked (`--protect`), for what, and why it
 * was not done. Return: 0 or -ENOMEM. */
int resolved_skip(struct resolved *resolved, const char *by, const char *value, const char *why);

/* resolved_source() - for people, who asked: `from --write`, `the workspace, from --workspace`.
 * @source: of a grant, a hidden or a protected path of @resolved */
void resolved_source(const struct resolved *resolved, const struct source *source, struct text *text);

/* resolved_asks() - where @surface is asked for, by a limit, a list or `require`. Return: NULL if it cannot
 * be said. */
const struct origin *resolved_asks(const struct resolved *resolved, enum surface surface);

#define UNPROTECTS_MOST 2

/* Paths of a resolved policy, or the one that was asked about. */
struct unprotects {
    const char *names[UNPROTECTS_MOST];
    size_t count;
};

/*
 * resolved_unprotects() - what `--unprotect` has to name for a change of @path, which is protected: as few
 * paths as will do, which say all that they open. Mostly it is one, a directory that @path is in.
 * @index:  of the protected path that refuses it, maybe by another name of the object
 * @path:   canonical; it need not be there
 * @around: what is protected below @path refuses as well: it is moved or removed
 *
 * Return: whether there are such, in @ret; false: more are needed, or it would be refused.
 */
bool resolved_unprotects(const struct resolved *resolved, size_t index, const char *path, bool around,
                         struct unprotects *ret);

/* cache_env() - the variables of one cache. @overlays: the backend mounts each overlay that there is. */
const struct strings *cache_env(const struct cache_choice *choice, bool overlays);

/* resolved_forget_sockets() - drop the sockets of others that are gone by now: there is nothing to mask.
 * Return: how many. */
size_t resolved_forget_sockets(struct resolved *resolved);

/* resolved_apart() - with a view of its own, would a command find another thing at @path than what is there?
 */
bool resolved_apart(const struct resolved *resolved, const char *path);

/* resolved_under_writable() - is @path (canonical) equal to or below a writable grant? */
bool resolved_under_writable(const struct resolved *resolved, const char *path);

#endif
