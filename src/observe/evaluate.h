/*
 * evaluate.h - policy and plan on one side, an object on the other: would it be refused, and by which rule?
 *
 * Pure: nothing is opened, read or remembered here.
 */
#ifndef CONFINE_OBSERVE_EVALUATE_H
#define CONFINE_OBSERVE_EVALUATE_H

#include "observe/observe.h"

#define PLACES_MOST 12

/* What the rules are, for one run. */
struct rules {
    const struct resolved *resolved;
    bool view;     /* the command has mounts of its own: what it may not change is read-only there */
    bool layer;    /* a layer of Landlock holds files */
    bool protects; /* protected paths are held */
    bool cut;      /* no network but a loopback of its own */
    bool listed;   /* and listeners behind which a gateway stands: what comes to one, that tells of */
    bool decides;  /* it is a fence that asks, and nothing else holds: whatever is hidden is, also to be
                      changed */
    bool apart;    /* the commands of the policy have another /tmp, /run and /dev than whoever asks */
    const char *places[PLACES_MOST]; /* writable besides what is granted, by name */
    size_t place_count;
};

/* What was found out about one object, or about the directory of one that is missing. */
struct object {
    const char *path;
    bool exists;
    bool as_name; /* the call is about the name, and changes the directory that it is in */
    bool arrives; /* it is where something is to be moved to */
    mode_t type;
    bool granted;           /* by a rule that follows objects: it is, or is in, one of them by another name */
    bool read_only;         /* its mount, in the command's view */
    bool read_only_outside; /* the same name's, in ours */
    bool by_mode;           /* mode or owner refuse as well */
    bool mode_first;        /* the kernel asks them before anything else */
};

enum answer {
    ANSWER_ALLOWED = 0, /* as far as the sandbox is asked */
    ANSWER_REFUSED,
    ANSWER_BY_MODE, /* refused without the sandbox having been asked */
};

struct verdict {
    enum answer answer;
    enum surface surface;
    enum denial_rule rule;
    size_t index;
};

/* rules_make() - @rules of a run. @tmp: its private temp directory on disk, NULL: none */
void rules_make(struct rules *rules, const struct resolved *resolved, const struct plan *plan,
                const char *tmp);

/*
 * rules_fence() - @rules for whoever opens for somebody else and asks first.
 *
 * They are not wider than those of a run on any backend: what only mounts hold is held, nothing is granted by
 * another name of it, and in the places that a run may have of its own only what is shown there can be used.
 */
void rules_fence(struct rules *rules, const struct resolved *resolved);

/* rules_apart() - with @rules of a fence: would a command find another thing at @path than what is there? */
bool rules_apart(const struct rules *rules, const char *path);

/* rules_hidden() - 1 + the index of what is hidden and holds @path, counted on in what is hidden around
 * something else. 0: nothing. */
size_t rules_hidden(const struct rules *rules, const char *path);

/* rules_reaches() - is @path shown although it lies in the hidden @directory, or is that itself granted? */
bool rules_reaches(const struct rules *rules, const char *directory, const char *path);

/* rules_writable() - is @path, by its name, one that the command may change? */
bool rules_writable(const struct rules *rules, const char *path);

/* rules_renamable() - may the command make, remove or rename @path? What is granted is a name in a directory
 * that is not: it is changed, and stays. */
bool rules_renamable(const struct rules *rules, const char *path);

/* rules_protected() - 1 + the index of what is protected and holds @path; with @around also what is below
 * it. 0: nothing. */
size_t rules_protected(const struct rules *rules, const char *path, bool around);

/* evaluate_change() - an operation that changes an object, or the directory that it is in. */
struct verdict evaluate_change(const struct rules *rules, enum denial_operation operation,
                               const struct object *object);

/* evaluate_read() - reading or executing it. */
struct verdict evaluate_read(const struct rules *rules, const struct object *object);

/* An address of the network; port in host byte order. */
struct peer {
    bool inet;     /* IPv4 or IPv6 */
    bool loopback; /* or no address at all: any */
    bool any;
    bool datagram;
    bool local;    /* with a list: an address that is the command's own network's */
    bool listened; /* and somebody outside listens there */
    unsigned port;
};

/* evaluate_network() - connecting, sending to or binding to it. */
struct verdict evaluate_network(const struct rules *rules, enum denial_operation operation,
                                const struct peer *peer);

#endif
