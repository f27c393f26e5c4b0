/*
 * plan.h - pure data: the chain that will run, one claim per surface, and the checks that will show them.
 *
 * plan() of a backend is a pure function of (resolved policy, host): same
 * input, same bytes. What exists only at run time (descriptors, canaries, the
 * sentinel) stands in a plan as a placeholder.
 */
#ifndef CONFINE_PLAN_PLAN_H
#define CONFINE_PLAN_PLAN_H

#include "host/host.h"
#include "policy/resolve.h"
#include "surface/surface.h"

#include "links/channel.h"

#define CLAIM_BY_MAX 4

/* The reason of a claim that rests on the word of the operator's runner. */
#define CLAIM_DECLARED "declared"

struct claim_by {
    enum mechanism mechanism;
    enum evidence evidence; /* EVIDENCE_NONE in a plan; the run raises it */
};

struct claim {
    enum surface_state state;
    struct claim_by by[CLAIM_BY_MAX];
    size_t by_count;
    const char *reason; /* static kebab-case word, NULL when fully enforced */
    unsigned tried;     /* filled by the run */
    uint64_t approved;  /* what somebody allowed while it ran, beside what is granted */
};

/* One word of the chain. */
enum word_kind {
    WORD_TEXT = 0, /* text */
    WORD_PATH,     /* the object paths[path], as /proc/self/fd/N; its name when printed */
    WORD_KEEP,     /* `--keep N,N,…` of all that the chain needs; nothing when printed */
    WORD_CHANNEL,  /* number of the channel's descriptor; `CHANNEL` when printed */
    WORD_LIVENESS, /* number of the liveness pipe's descriptor */
    WORD_STDERR,   /* number of the descriptor that is the command's stderr */
    WORD_TMP,      /* the private temp directory */
    WORD_SENTINEL, /* the run's errno */
    WORD_PASS,     /* as many `--pass N` as descriptors are passed on */
    WORD_CHECKS,   /* attest-run's own checks of an exec: `--refused …`; nothing when printed */
    WORD_LAUNCHER, /* confine-launch, as /proc/self/fd/N: the chain goes on behind a program that is not ours
                    */
    WORD_JOIN,     /* number of the descriptor of the session's namespace `path` (enum channel_join) */
    WORD_AHEAD, /* `--ahead N --ahead-ready N` where the namespaces have been made ahead; nothing when printed
                 */
    WORD_MASK,  /* text: a name that is masked if the command's user can reach it */
    WORD_MASK_IF_THERE, /* the same, if it is still there by then */
    WORD_TERMINAL,      /* a descriptor that is the command's own terminal, as /proc/self/fd/N */
    WORD_ONTO,          /* the descriptors on which that terminal is put: N,N,… */
    WORD_NAMELESS,      /* number of a descriptor: the file of a resolver that is to ask nobody */
    WORD_COMMAND,       /* the command and its arguments */
};

struct word {
    enum word_kind kind;
    char *text;  /* owned; WORD_TEXT, WORD_MASK and WORD_MASK_IF_THERE */
    size_t path; /* WORD_PATH, WORD_JOIN */
};

/* What has to exist outside for a check to mean something; made by the run, looked at by the run. */
enum canary {
    CANARY_NONE = 0,
    CANARY_FILE, /* unnamed file holding the nonce, outside every grant */
    CANARY_FIFO,
    CANARY_EDGE,            /* edges[index]: rename(x, x), or O_TMPFILE */
    CANARY_HIDDEN,          /* hidden[index] */
    CANARY_DEVICE,          /* a device node outside every grant */
    CANARY_SOCKET_PATH,     /* listening pathname socket */
    CANARY_SOCKET_ABSTRACT, /* listening abstract socket */
    CANARY_TCP,             /* unbound TCP socket made outside */
    CANARY_UDP,             /* UDP socket made outside, and a receiver */
    CANARY_PROCESS,         /* a process outside of the command's user */
    CANARY_DESCRIPTOR,      /* a descriptor that the chain inherits and must close */
    CANARY_TERMINAL,        /* a terminal of the caller's, by its name */
    CANARY_SECRET,          /* env_secrets[index] */
    CANARY_NAMESPACE,       /* the namespace `name` of this process */
    CANARY_OBJECT,          /* the object that `name` is out here */
    CANARY_INIT,            /* process 1 of the pid namespace; the link that made it took the control */
    CANARY_PROTECTED,       /* protected_paths[index] */
    CANARY_ROOT,            /* paths[index]: what has been bound must be what was opened */
    CANARY_LISTENER,        /* network.listeners[index], which the chain hands out */
    CANARY_COUNT
};

/* A check: one act that must be refused. A mechanism stands in `by` only if its own check held. */
struct check {
    enum surface surface;
    enum mechanism mechanism;
    enum act act;
    enum canary canary;
    bool by_name; /* reached by its path as the command would, not by a descriptor of ours: what a view of its
                     own holds is held by name only, and a descriptor of a mount out here shows what else
                     holds */
    bool itself;  /* of a hidden directory: it, and no file in it */
    bool vanishes; /* `refused` is ENOENT, which proves something only while the object is there outside: the
                      control is taken again afterwards */
    const char *name; /* static; for what is no canary */
    size_t index;     /* which edge, hidden path, secret, protected path */
    int64_t a, b;
    int refused[4]; /* the errnos of this mechanism, 0-terminated */

    bool self_contained; /* can be decided without a supervisor: used by exec */
};

/* A hidden path that this backend leaves readable. */
struct unheld {
    size_t hidden;   /* index */
    const char *why; /* static */
};

struct plan {
    const char *backend;
    struct word *words;
    size_t word_count;
    struct claim claims[SURFACE_COUNT];
    struct check *checks;
    size_t check_count;
    bool supervised;    /* made for `run`, as against `exec` */
    bool guard;         /* the chain starts a guard */
    bool pid_namespace; /* the process that we start stands in front of the command and tells of survivors */
    const char *runner; /* borrowed from the policy: the operator's own program in bubblewrap's place. All
                           that is heard from behind it is its word. NULL: none */
    bool foreign;     /* that process is not ours: it tells nothing, and gets no variable of the command's */
    bool joined;      /* into a session: what is left behind the command lives on until its end */
    bool private_tmp; /* the run makes a temp directory, and TMPDIR names it */
    bool terminal;    /* the command gets a terminal of its own */
    bool advisory;    /* with a gateway: only variables lead to it, and nobody has to obey them */
    bool gateway;     /* somebody outside accepts on what listens in the network namespace */
    bool observed;    /* the chain announces calls to an observer */
    bool heard;       /* nobody can see what is refused: what the command says of it is looked at */
    bool audited;     /* the kernel's audit is told what is refused, and is read */
    bool overlays;    /* the chain mounts the overlay of each cache that has one */
    int landlock_abi; /* where there is a gateway: what its own chain can ask for */
    const char *own_tmp; /* static: the temp directory that the view has of its own; NULL: none */
    struct strings warnings;
    struct unheld *unheld;
    size_t unheld_count;
};

/* plan_word(), plan_path(), plan_special(), plan_join(), plan_mask() - append to the chain. @passing: a mask
 * for what may have gone when it is laid. Return: 0 or -ENOMEM. */
int plan_word(struct plan *plan, const char *text);
int plan_path(struct plan *plan, size_t path);
int plan_special(struct plan *plan, enum word_kind kind);
int plan_join(struct plan *plan, enum channel_join which);
int plan_mask(struct plan *plan, const char *path, bool passing);

/* plan_raise() - raise a claim: state, mechanism, reason (NULL when enforced). */
void plan_raise(struct plan *plan, enum surface surface, enum surface_state state, enum mechanism mechanism,
                const char *reason);
/* plan_lower() - a claim that something outside the chain weakens: at most `partial`, for @reason. */
void plan_lower(struct plan *plan, enum surface surface, const char *reason);

/* plan_reason() - say why a surface stays open. */
void plan_reason(struct plan *plan, enum surface surface, const char *reason);
int plan_check(struct plan *plan, struct check check);

/* plan_unheld() - note that the hidden path @hidden stays readable. Return: 0 or -ENOMEM. */
int plan_unheld(struct plan *plan, size_t hidden, const char *why);

/* plan_claims() - does the policy claim this surface (mode x option table of the contract)? */
bool plan_claims(const struct resolved *resolved, enum surface surface);

/* plan_limits() - is there a limit in the policy that this surface, one of limit.*, stands for? */
bool plan_limits(const struct policy *policy, enum surface surface);

/* plan_needs() - must this surface hold, or the run be refused? What was named or required, by itself or as a
 * claimed member of a group or of `full`. */
bool plan_needs(const struct resolved *resolved, enum surface surface);

/* plan_observed() - which kinds of calls are to be looked at, where there is an observer: bits of enum
 * observe_when. */
unsigned plan_observed(const struct resolved *resolved, const struct plan *plan);

/* plan_links() - the links of the chain in order, for report and people; static names, `runner` for the
 * operator's, NULL-terminated array owned by the caller (free the array only). */
const char **plan_links(const struct plan *plan);

void plan_free(struct plan *plan);

/* plan_shell.c, plan_json.c: the two renderers. */
void plan_print_shell(const struct plan *plan, const struct resolved *resolved, char *const *command,
                      struct text *text);

#endif
