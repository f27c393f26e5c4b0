/*
 * policy.h - what is asked, with the origin of every entry.
 *
 * A policy is data. It is filled by layers (built-in, files, options), weakest
 * first, then resolved (resolve.h). What a built-in default asks is implied;
 * what a file or an option asks is named, and must hold or the run is refused.
 */
#ifndef CONFINE_POLICY_POLICY_H
#define CONFINE_POLICY_POLICY_H

#include "surface/surface.h"
#include "util/error.h"
#include "util/util.h"

#include <stdint.h>

enum mode { MODE_INVALID = 0, MODE_READ_ONLY, MODE_WORKSPACE_WRITE, MODE_DANGER_FULL_ACCESS };
enum network { NETWORK_NONE = 0, NETWORK_LISTED, NETWORK_HOST };
enum caches { CACHES_PRIVATE = 0, CACHES_HOST, CACHES_OFF };
enum tmp { TMP_PRIVATE = 0, TMP_SESSION, TMP_DIRECTORY };
enum tty { TTY_AUTO = 0, TTY_PRIVATE, TTY_INHERIT, TTY_NONE };
enum user { USER_OWNER = 0, USER_KEEP, USER_ID };
enum denials { DENIALS_AUTO = 0, DENIALS_ON, DENIALS_READS, DENIALS_OFF };
enum planted { PLANTED_REPORT = 0, PLANTED_QUARANTINE };

/* Layers, weakest first. A later layer wins for scalars; lists add. */
enum layer {
    LAYER_BUILTIN = 0,
    LAYER_SYSTEM,    /* /etc/confine/policy.json */
    LAYER_USER,      /* ~/.config/confine/policy.json */
    LAYER_FILE,      /* --policy */
    LAYER_WORKSPACE, /* WORKSPACE/.confine.json: may only narrow */
    LAYER_OPTION,
    LAYER_COUNT
};

/* Where something comes from. `file` and `option` are borrowed from the policy's own store. */
struct origin {
    enum layer layer;
    const char *file;   /* NULL unless a file */
    int line;           /* 0 if not known */
    int column;         /* from 1, in characters; 0 if not known */
    const char *option; /* `--write`, NULL unless an option */
};

/* origin_named() - did somebody name it, as against a built-in default? */
static inline bool origin_named(struct origin origin)
{
    return origin.layer != LAYER_BUILTIN;
}

struct entry {
    char *value;   /* as written, `?` taken off, `~` and relative paths not yet resolved; or `@set` */
    char *base;    /* directory that a relative value is relative to; NULL: the current one */
    bool optional; /* `?` or "optional": true */
    bool remove;   /* `!@set` */
    char *why;     /* NULL if none */
    struct origin origin;
};

struct entries {
    struct entry *items; /* grows by array_more() */
    size_t count;
};

/* The keys that hold one value; each remembers where it came from. */
enum key {
    KEY_MODE,
    KEY_WORKSPACE,
    KEY_CHDIR,
    KEY_READABLE,
    KEY_CACHES,
    KEY_TMP,
    KEY_NETWORK,
    KEY_BACKEND,
    KEY_USER,
    KEY_TTY,
    KEY_DENIALS,
    KEY_PLANTED,
    KEY_APPROVED_MODE,
    KEY_ASK,
    KEY_ENV_CLEAN,
    KEY_LIMIT_TIME,
    KEY_LIMIT_MEMORY,
    KEY_LIMIT_PROCESSES,
    KEY_LIMIT_OUTPUT,
    KEY_LIMIT_OUTPUT_END,
    KEY_LIMIT_FILE_SIZE,
    KEY_LIMIT_TMP_SIZE,
    KEY_LIMIT_CPU,
    KEY_GRACE,
    KEY_WAIT_ALL,
    KEY_PROXY_ENV,
    KEY_UPSTREAM,
    KEY_SIZE,
    KEY_COUNT
};

/* The keys that hold lists. */
enum list {
    LIST_READ,
    LIST_WRITE,
    LIST_HIDE,
    LIST_SHOW,
    LIST_PROTECT,
    LIST_UNPROTECT,
    LIST_SOCKETS,
    LIST_DEVICES,
    LIST_ALLOW, /* network rules */
    LIST_FORWARD,
    LIST_PUBLISH,
    LIST_OPEN,      /* surfaces */
    LIST_REQUIRE,   /* surfaces, groups, `full` */
    LIST_ENV_SET,   /* NAME=VALUE */
    LIST_ENV_PASS,  /* NAME: passed although it looks like a secret */
    LIST_ENV_UNSET, /* NAME or @secrets */
    LIST_PASS_FD,
    LIST_COUNT
};

/* The program that the backend custom starts in bubblewrap's place. */
struct policy_runner {
    struct strings command;            /* empty: none is named; the first one is absolute */
    struct strings failure_signatures; /* by which its own failure is known on stderr */
    bool is_script;                    /* a script may be it */
    bool locked;
    struct origin origin, lock;
};

struct policy {
    enum mode mode;
    char *workspace; /* as written, `@git` included; NULL: none */
    char *workspace_base;
    char *chdir;
    bool readable_listed;
    enum caches caches;
    enum tmp tmp;
    char *tmp_directory;
    enum network network;
    char *backend; /* NULL: auto */
    enum user user;
    unsigned user_id;
    enum tty tty;
    unsigned columns, rows; /* --size; 0: not given */
    enum denials denials;
    uint64_t ask_ms; /* how long a refused access waits for an answer; 0: nobody is asked */
    enum planted planted;
    enum mode approved_mode;
    bool env_clean;
    uint64_t limit_time_ms; /* 0: none, as for all limits */
    uint64_t limit_memory;
    uint64_t limit_processes;
    uint64_t limit_output;
    bool limit_output_end; /* what goes beyond it ends the run, and is not only cut off */
    uint64_t limit_file_size;
    uint64_t limit_tmp_size;
    uint64_t limit_cpu_ms;
    uint64_t grace_ms;
    bool wait_all;
    bool proxy_env;
    bool explain; /* for people to read: look up also what no mechanism of this version could hold */
    char *upstream;
    struct policy_runner runner;

    struct origin origin[KEY_COUNT];
    struct entries list[LIST_COUNT];
    struct strings files;                       /* policy files in force, canonical, in order */
    struct strings warnings;                    /* for the report */
    uint64_t locked;                            /* bit per enum key that a weaker layer has locked */
    uint64_t locked_lists;                      /* bit per enum list, likewise */
    struct origin lock[KEY_COUNT + LIST_COUNT]; /* who locked it: keys, then lists */
    struct strings store;                       /* owns the texts that origins point to */
    char *passwd;                               /* text of /etc/passwd; NULL: not read yet */
};

/* policy_init() - the built-in layer: mode read-only, network none, hide @credentials, protect @runs-later,
 * unset @secrets, private caches and temp, grace 3 s. Return: 0 or -ENOMEM. */
int policy_init(struct policy *policy, struct error *error);
void policy_free(struct policy *policy);

/*
 * policy_read_rule() - a rule that somebody adds to a list in force.
 * @reason: of the error where @value, NULL included, is none
 * @ret_text: filled with its one spelling
 *
 * Return: 0, or a negative errno with @error.
 */
int policy_read_rule(const char *value, const char *reason, struct text *ret_text, struct error *error);

/*
 * policy_add() - append to a list, in the spelling of options and files.
 * @value: copied; in lists of paths a trailing `?` makes it optional, `!@set` removes a set
 * @base:  directory for relative paths, copied; NULL for the current one
 *
 * Return: 0, -ENOMEM, or -EINVAL with @error for an unknown set or surface, a bad rule or name, a locked
 * list.
 */
int policy_add(struct policy *policy, enum list list, const char *value, const char *base,
               struct origin origin, struct error *error);

/* policy_add_entry() - the same for an entry in parts: nothing in its value is special but a leading `@`.
 * Everything in @entry is copied but the origin's texts. */
int policy_add_entry(struct policy *policy, enum list list, const struct entry *entry, struct error *error);

/* entry_in_force() - does item @index still hold: no removal itself, and no later `!@set` takes it away?
 * Whoever expands a list asks this for every item. */
bool entry_in_force(const struct entries *entries, size_t index);

/* policy_lock() - no later layer may change @name: a scalar, a list, or an object (`network`) with all of its
 * keys. For a list that narrows (hide, protect, environment.unset, require) additions stay possible, taking
 * away does not. Return: 0 or -EINVAL. */
int policy_lock(struct policy *policy, const char *name, struct origin origin, struct error *error);

/* policy_say_file() - add to an error that is set which place of a file asks for what it is about: whoever
 * reads it need not know the file. @origin: NULL or anything else adds nothing. */
void policy_say_file(struct error *error, const struct origin *origin);

/* policy_keep() - a copy of @text that lives as long as the policy, for origins. Return: NULL without memory.
 */
const char *policy_keep(struct policy *policy, const char *text);

/*
 * policy_set() - set one scalar from text, as an option or a file gives it ("workspace-write", "10m",
 * "true").
 *
 * The merge rules (who may set it, later wins, `locked`) are one table in policy.c.
 * Return: 0, or -EINVAL with @error (ERROR_POLICY_INVALID, or ERROR_USAGE from an option).
 */
int policy_set(struct policy *policy, enum key key, const char *value, const char *base, struct origin origin,
               struct error *error);

/*
 * policy_set_runner() - the runner that @runner's origin names takes the place of an earlier one.
 * @runner: its lists are the policy's from then on, or given back where it is refused
 *
 * Return: 0, or -EINVAL with @error: it is locked, or of no form that can be started.
 */
int policy_set_runner(struct policy *policy, struct policy_runner *runner, struct error *error);

void policy_free_runner(struct policy_runner *runner);

const char *mode_name(enum mode mode);
const char *network_name(enum network network);
const char *layer_name(enum layer layer);
const char *key_name(enum key key); /* the policy-file key, `limits.time` form for limits */
const char *list_name(enum list list);

/* backend_reserved() - is it the name of a backend that is kept for a later version? */
bool backend_reserved(const char *name);

/* duration: `10s`, `1.5m`, `2h`, `300ms`, plain number = seconds; size: `16M`, `1G`, `512K`, plain = bytes.
 */
int parse_duration(const char *text, uint64_t *ret_ms);
int parse_size(const char *text, uint64_t *ret_bytes);

/* parse_number() - is it a whole number up to @most, in decimal, without sign or leading zero? */
bool parse_number(const char *text, uint64_t most, uint64_t *ret_number);

/* variable_valid() - is it the name of a variable as the shell writes them? Others exist, but nothing here
 * can name them. */
bool variable_valid(const char *name, size_t length);

/* variable_of_temp() - is it one of the variables that lead to the temp directory? A run sets them itself
 * (src/run/spawn.c). */
bool variable_of_temp(const char *name, size_t length);

/* What is left of the caller's environment with --clean-env, and LC_* as well; NULL-terminated. */
extern const char *const clean_names[];

/* policy_json.c: strict reader of one file that is already open. */
int policy_read_file(struct policy *policy, int fd, const char *name, enum layer layer, struct error *error);

/* policy_layers.c: find, open (no links, regular, <= 1 MiB, owner, mode), read and merge every layer below
 * the options. @files: --policy arguments (path, NAME or fd:N). @ignore: skip system and user files (tests).
 * The workspace's .confine.json is read by policy_narrow() once the workspace is resolved. */
int policy_load_layers(struct policy *policy, const struct strings *files, struct error *error);
int policy_narrow(struct policy *policy, int workspace_fd, const char *workspace, struct error *error);

/* Where `--planted quarantine` moves things to, at the top of a tree. In the workspace a later command is
 * kept from it: what is moved back as a directory has older times, and would not be found again. */
#define PLANTED_ASIDE ".confine-planted"

/* policy_sets.c: the named sets. */
struct set_item {
    const char *value; /* path (with ~, or a leading $VARIABLE that may hold a list), glob-free; `./…` is
                          below the workspace; or a name pattern for @secrets */
    const char *why;
    bool root_only; /* only for a caller with uid 0 (shadow, host keys) */
};
enum set_kind { SET_PATHS = 0, SET_SOCKETS, SET_NAMES };
struct set {
    const char *name; /* `@credentials` */
    enum set_kind kind;
    const char *what;
    const struct set_item *items; /* ends with a NULL value */
};
extern const struct set policy_sets[]; /* ends with a NULL name */
const struct set *set_by_name(const char *name);
/* secret_name() - do the first @length bytes of @variable, its name, look like a secret (@secrets)? */
bool secret_name(const char *variable, size_t length);

#endif
