/*
 * denials.h - what was refused to the command, as far as somebody saw it.
 *
 * Should:  say how it is known, and never more than that.
 * Mustn't: say why the command failed: a refusal happened, that is all.
 */
#ifndef CONFINE_REPORT_DENIALS_H
#define CONFINE_REPORT_DENIALS_H

#include "policy/resolve.h"
#include "report/connection.h"
#include "surface/surface.h"
#include "util/writer.h"

enum denial_operation {
    DENIAL_NOTHING = 0,
    DENIAL_READ,
    DENIAL_WRITE,
    DENIAL_CREATE,
    DENIAL_TRUNCATE,
    DENIAL_REMOVE,
    DENIAL_RENAME,
    DENIAL_LINK,
    DENIAL_METADATA,
    DENIAL_EXECUTE,
    DENIAL_CONNECT,
    DENIAL_BIND,
    DENIAL_SEND,
    DENIAL_IOCTL, /* a command to a device */
    DENIAL_OPERATIONS
};

/* Which rule refused. */
enum denial_rule {
    DENIAL_BY_DEFAULT = 0, /* nothing grants it */
    DENIAL_BY_PROTECT,     /* protected_paths[index] */
    DENIAL_BY_HIDE,        /* hidden[index], and behind these around[index] */
    DENIAL_BY_NETWORK,     /* --network none */
    DENIAL_BY_PLACE,       /* a place of which a run has one of its own; of a fence */
    DENIAL_BY_KIND,        /* neither a regular file nor a directory; of a fence */
    DENIAL_RULES
};

/* What programs try at every start and do without. */
enum denial_noise {
    DENIAL_NOTABLE = 0,
    DENIAL_TERMINAL_OF_SHELL,
    DENIAL_JAVA_PERFORMANCE,
    DENIAL_HISTORY,
    DENIAL_PYTHON_CACHE,
    DENIAL_DEBUGGER_MEMORY,
    DENIAL_PROCESS_HINT,
    DENIAL_LINK_PROBE,
    DENIAL_ADDRESS_PROBE,
    DENIAL_NOISES
};

/* How it is known. */
enum denial_evidence {
    DENIAL_PREDICTED = 0, /* the call was seen, and nothing grants it */
    DENIAL_REFUSED,       /* whoever refused it tells of it */
    DENIAL_KERNEL,        /* the kernel tells of it */
    DENIAL_BOTH,          /* the kernel tells of the very call that was seen */
    DENIAL_EVIDENCES
};

struct denial {
    enum surface surface;
    enum denial_evidence evidence;
    enum denial_operation operation;
    enum denial_noise noise;
    char *path;       /* canonical, as the command sees it; NULL: it is no file */
    char *address;    /* of the network; NULL: it is a file */
    pid_t pid;        /* of the first; 0: not known */
    char *executable; /* of the first; NULL: not known */
    uint64_t count;
    char *rule;      /* a word, and what it names */
    const char *key; /* of the policy, static: what would have granted it; NULL: nothing of this version */
    char *value;     /* its value */
    char *also;      /* of a list: another one, without which that is not enough; NULL */
    bool writes;     /* the grant needs the mode workspace-write besides, which is not the run's */
    char *warning;   /* what the option would hand over, or where none is offered, why not; NULL */
    char *other_way; /* what grants it, and is no option more of this run: words; NULL */
    bool private;    /* a rule for this name says that it may be private */
    bool by_mode;    /* the file's mode or owner refuses as well: no grant is enough */
    bool within;     /* the path is the directory in which it was to happen; the name is not known */
};

/* What the kernel's audit had of the run. */
struct denial_audit {
    bool read;        /* it was read; else nothing below says anything */
    bool complete;    /* each refusal was told, by the kernel's own sum */
    bool lost_known;  /* the next is known */
    uint32_t lost;    /* records that the kernel has lost meanwhile, of the whole machine */
    uint64_t refused; /* so many refusals of the run */
    uint64_t joined;  /* so many of them are the observer's as well */
};

/* A line of the command's own words that reads like a refusal. */
struct inferred {
    const char *signature; /* static: the words */
    char *line;            /* quoted */
    uint64_t count;
};

struct denial_list {
    const char *channel;   /* static: `none`, `observer`, `audit`: the kernel's alone, `inferred`: nobody's */
    const char *reason;    /* static: why there is no observer, or not all was seen; NULL */
    bool known;            /* the numbers below are known */
    uint64_t lost;         /* refusals for which there was no room */
    uint64_t unreadable;   /* calls whose operands could not be read */
    const char *covers[8]; /* static: names of the surfaces that were looked at */
    size_t cover_count;
    struct denial_audit audit;
    struct denial *items;
    size_t count;
    bool heard; /* the command's error output was read; else there are none of these: */
    struct inferred *inferred;
    size_t inferred_count;
    uint64_t inferred_lost; /* lines for which there was no room */
};

/*
 * denials_add() - take over one refusal.
 * @denial: its texts are copied; rule, key and value are filled here
 * @rule, @index: see enum denial_rule
 *
 * Return: 0 or -ENOMEM.
 */
int denials_add(struct denial_list *denials, const struct resolved *resolved, const struct denial *denial,
                enum denial_rule rule, size_t index);

/* denials_add_refused() - what the gateway has refused. @command: of the run, NULL-terminated; NULL: not
 * known. Return: 0 or -ENOMEM. */
int denials_add_refused(struct denial_list *denials, const struct resolved *resolved,
                        const struct connections *connections, char *const *command);

/* denials_infer() - take over a line, quoted, that is no more than a sign. Return: 0 or -ENOMEM. */
int denials_infer(struct denial_list *denials, const char *signature, const char *line, uint64_t count);

void denials_free(struct denial_list *denials);

/* denials_write() - all of it as one value. denial_write() - the members of one, into an object that is open.
 */
void denials_write(struct writer *writer, const char *key, const struct denial_list *denials);
void denial_write(struct writer *writer, const struct denial *denial);

/* denials_escalate() - the grants that together would have sufficed for one more try, as one value. Return:
 * false, and nothing is written, where there is none. */
bool denials_escalate(struct writer *writer, const char *key, const struct denial_list *denials);

/* denials_notable() - how many are no noise. */
size_t denials_notable(const struct denial_list *denials);

/* denial_say() - one as a phrase for people and models: `creating /etc/x`; names quoted, cut at @most bytes.
 */
void denial_say(const struct denial *denial, size_t most, struct text *text);

/* denial_advise() - the option that would have granted it, for people and models: where only a name is known,
 * with the ports that it opens. Nothing where there is none. */
void denial_advise(const struct denial *denial, struct text *text);

/* denial_operation_name() - `write` and so on. */
const char *denial_operation_name(enum denial_operation operation);

/* denial_option() - what would have granted it, as an option; nothing where nothing would. */
void denial_option(const struct denial *denial, struct text *text);

#endif
