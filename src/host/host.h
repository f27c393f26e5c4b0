/*
 * host.h - what this machine can do, found by doing it, never by version or by text.
 */
#ifndef CONFINE_HOST_HOST_H
#define CONFINE_HOST_HOST_H

#include "kernel/handed.h"
#include "links/channel.h"
#include "util/error.h"
#include "util/util.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What takes more than a few system calls is asked only where it counts. Zero: nothing may be concluded. */
enum host_answer { HOST_NOT_ASKED = 0, HOST_YES, HOST_NO };

/* Why not, in words. */
struct host_lack {
    const char *reason;  /* kebab-case, static */
    const char *why;     /* one sentence, static */
    const char *surface; /* what falls with it, static; "" */
    char hint[512];      /* what an administrator can do */
    int errnum;
    bool structural; /* as in struct error */
};

/* Namespaces, as namespace-run makes them. */
struct host_namespaces {
    enum host_answer answer;
    struct host_lack lack; /* of a no */
};

/* The distribution's bubblewrap. */
struct host_bubblewrap {
    enum host_answer answer;
    const char *path; /* of a yes; static */
    char version[32]; /* what it says of itself; "?" if nothing that can be read */
    bool old;         /* below 0.12, or unknown */
    bool set_uid;
    bool tried;            /* by host_try_bubblewrap() */
    char resolver[256];    /* where /etc/resolv.conf leads; empty: there is none */
    struct host_lack lack; /* of a no */
};

/* The operator's own runner, which stands in bubblewrap's place. */
struct host_runner {
    enum host_answer answer;
    const char *path; /* as it was asked for */
    bool script;
    bool set_uid;
    char why[700];         /* of a no: one sentence */
    struct host_lack lack; /* of a no, but for its `why` */
};

/* What to do where no group can be made. */
#define HOST_GROUP_HINT                                                                                      \
    "where systemd runs: systemd-run --user --scope -p Delegate=yes confine ...; elsewhere let root give "   \
    "this "                                                                                                  \
    "user a group, with cgroup.procs and cgroup.subtree_control in it, and start confine there"

/* Groups of processes, as kernel/cgroup.h makes them; bits of its enum cgroup_use. */
struct host_groups {
    unsigned asked; /* 0: nothing may be concluded */
    unsigned uses;  /* what of it can be had */
};

struct host {
    int landlock_abi;   /* 0: none */
    int landlock_errno; /* errno of the query when there is none */
    unsigned landlock_errata;
    bool seccomp; /* filters can be loaded */
    bool proc;    /* /proc is mounted and ours */
    bool no_tmp;  /* there is no directory /tmp, on which a view could lay its own */
    uid_t uid;    /* the caller */
    gid_t gid;
    bool terminal;          /* 0, 1, 2 or /dev/tty is a terminal */
    bool interactive;       /* 0 and 1 are terminals */
    bool regular;           /* 0, 1 or 2 is a regular file */
    struct handed standard; /* what 0, 1 and 2 give */
    struct host_namespaces namespaces;
    enum host_answer audit;    /* can what the kernel's audit has of Landlock be read? */
    enum host_answer listener; /* can calls be announced? HOST_NOT_ASKED: no filter stands in the way */
    const char *audit_lack;    /* static: of a no */
    enum host_answer overlays; /* in a user namespace; HOST_NO once a start has been refused one */
    struct host_bubblewrap bubblewrap;
    struct host_runner runner;
    struct host_groups groups;
};

/* host_look() - the cheap facts a plan needs: a few system calls, no process. */
void host_look(struct host *host);

/* host_refuse_tmp() - where a view could lay no /tmp of its own. Return: 0, or a negative errno with @error.
 */
int host_refuse_tmp(const struct host *host, struct error *error);

/* host_no_landlock_reason() - `no-landlock`, `landlock-not-enabled`, `landlock-filtered`; with one sentence
 * that says why and one that says what to do. */
const char *host_no_landlock_reason(const struct host *host, const char **ret_why, const char **ret_hint);

/* host_lack_error() - a lack as the error of a backend: SANDBOX_UNAVAILABLE. @what: `the namespaces of this
 * run`. Return: as error_set(). */
int host_lack_error(struct error *error, const struct host_lack *lack, const char *what);

/* host_ask_listener() - where a filter is around this process: is there room for one that announces calls?
 * Tried in a child. Fills host->listener. */
void host_ask_listener(struct host *host);

/* host_ask_audit() - can this process read what the kernel's audit has of Landlock? Fills host->audit. */
void host_ask_audit(struct host *host);

/* host_look_nodes() - are the device nodes there that every view has? Return: 0 or -ENOENT. */
int host_look_nodes(void);

/* host_is_filtered() - is this process under a system call filter of somebody's? */
bool host_is_filtered(void);

/*
 * host_cannot() - what it means that namespace-run said CANNOT: which switch of this machine it is, by
 * looking at them, and whether it is one at all.
 * @step: enum channel_cannot, from outside: any value
 */
void host_cannot(struct host_lack *lack, int step, int errnum);

/*
 * host_ask_namespaces() - make the namespaces of a run for real, in a child that ends.
 * @uid, @gid: as whom
 *
 * Fills host->namespaces. At most two seconds: longer is a lack that is no structural one.
 */
void host_ask_namespaces(struct host *host, uid_t uid, gid_t gid);

/* host_ask_all() - the same with a network namespace and its loopback: for whoever looks for a reason. */
void host_ask_all(struct host *host, uid_t uid, gid_t gid);

/* host_begin_namespaces() - begin to ask, for a process that will ask for certain before it becomes another
 * program: the child's work then lies beside its own. */
void host_begin_namespaces(uid_t uid, gid_t gid);

/*
 * host_ask_bubblewrap() - is there one that nobody but root can have written? Its version is asked for, with
 * the same limit of time, and nothing is decided by it.
 *
 * Fills host->bubblewrap.
 */
void host_ask_bubblewrap(struct host *host);

/*
 * host_try_bubblewrap() - can it make what a run needs? Found by having it make it, with a limit of time.
 * @uid, @gid: as whom
 *
 * After host_ask_bubblewrap() said yes; a no takes that back. What it prints is no reason: that is found by
 * making namespaces without it.
 */
void host_try_bubblewrap(struct host *host, uid_t uid, gid_t gid);

/*
 * host_ask_runner() - can only root and the caller have written this program, and is it one? It is not
 * started.
 * @path:          absolute, borrowed as long as @host lives
 * @may_be_script: it was said that a script is meant
 * @places:        gets all that decides what starts: itself, its interpreter, every link to that one, and
 *                 files that its first line names; canonical but for a link at the end
 *
 * Fills host->runner. Return: 0 or -ENOMEM.
 */
int host_ask_runner(struct host *host, const char *path, bool may_be_script, struct strings *places);

/*
 * host_runner_word() - the file that a word of a runner's names, or behind a `=` in it; and the links to it.
 * @directory: where the runner starts, for a name that is not absolute; NULL: nothing is taken for one
 * @places:    gets them, canonical but for a link at the end; nothing where the word names none
 *
 * Return: 0 or -ENOMEM.
 */
int host_runner_word(const char *word, const char *directory, struct strings *places);

/*
 * host_ask_groups() - which limits can groups of processes hold here? Found by making a group, with each
 * value read back.
 * @wanted: bits of enum cgroup_use; what was asked before is not asked again
 *
 * Fills host->groups. Return: 0, or -errno of what should have gone well where a group could be made.
 */
int host_ask_groups(struct host *host, unsigned wanted);

/*
 * host_find_silent() - the first mount that does not answer within a moment.
 * @point: its name, cut at @size
 *
 * Return: is there one? The looking takes as long as there are mounts, each in a child.
 */
bool host_find_silent(char *point, size_t size);

#endif
