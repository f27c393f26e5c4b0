/*
 * confine.h - run commands confined, from a program of one's own. The only public header; confine(3) is its
 * manual.
 *
 * Nothing of a confinement happens in the calling process: each run is a process of the program confine,
 * which is talked to over one descriptor. No thread, no signal handler and no SIGCHLD comes into the caller,
 * and a waitpid() for any child does not see ours.
 *
 * All functions may be called from any thread at any time. Descriptors that a function makes are closed on
 * exec. What can grow is JSON, what is a resource is a descriptor or a handle, and all numbers are stable.
 */
#ifndef CONFINE_H
#define CONFINE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* The version of this interface; confine_contract() returns that of the library that is there. */
#define CONFINE_CONTRACT 1

/* What functions return: 0, or one of these. CONFINE_E_SYSTEM and CONFINE_E_PROGRAM leave the reason in
 * errno. */
#define CONFINE_OK         0
#define CONFINE_E_ARGUMENT (-1) /* the call is wrong, whatever the machine; nothing was started */
#define CONFINE_E_MEMORY   (-2)
#define CONFINE_E_SYSTEM   (-3) /* the system refused a descriptor, a process or the like */
#define CONFINE_E_PROGRAM  (-4) /* the program confine cannot be started, or gave no answer */
#define CONFINE_E_REFUSED  (-5) /* confine said no, and why: the JSON has an `error` */
#define CONFINE_E_TIMEOUT  (-6) /* not within the time */

/* How a run ended. */
#define CONFINE_ENDED_UNKNOWN     0 /* confine itself was ended: the command may have run */
#define CONFINE_ENDED_NOT_STARTED 1 /* the command did not run; `error` says why */
#define CONFINE_ENDED_EXITED      2 /* with `status` */
#define CONFINE_ENDED_SIGNALED    3 /* by `signal` */
#define CONFINE_ENDED_TIMED_OUT   4 /* by the limit of time */
#define CONFINE_ENDED_LIMIT       5 /* by another limit, or by the channel: `outcome.limit` of the report */

/* What confine's own errors are about, as `error.code` of the report. */
#define CONFINE_ERROR_NONE                   0
#define CONFINE_ERROR_SANDBOX_UNAVAILABLE    1 /* asked for and cannot be enforced */
#define CONFINE_ERROR_ATTESTATION_FAILED     2 /* a boundary that was set up does not hold */
#define CONFINE_ERROR_POLICY_INVALID         3
#define CONFINE_ERROR_COMMAND_NOT_FOUND      4
#define CONFINE_ERROR_COMMAND_NOT_EXECUTABLE 5
#define CONFINE_ERROR_USAGE                  6
#define CONFINE_ERROR_INTERNAL               7
#define CONFINE_ERROR_OTHER                  8 /* one that this library does not know yet */

/*
 * What is asked for. Zero is the default of every member, so `= {.size = sizeof(...)}` is a read-only
 * confinement without network. Everything is read during the call and not kept.
 */
struct confine_options {
    size_t size; /* sizeof(struct confine_options) */
    /* An open descriptor of the program confine; 0: the one that this library was installed with. */
    int program;
    /* A descriptor of the directory that relative names start from; 0: the caller's current one. */
    int directory;
    /* A policy, as in a file of confine-policy(5); NULL: none. */
    const char *policy;
    /* Options of confine-run(1), stronger than the policy, NULL-terminated; NULL: none. `--`, --control,
     * --report and --help cannot be among them. */
    const char *const *words;
    /* The environment, NULL-terminated; NULL: the caller's. */
    const char *const *environment;
    /* What the command has as 0, 1, 2 and, passed on purpose, from 3 on; -1: nothing. What is nothing, or
     * beyond the count, is /dev/null for 0 to 2. */
    const int *descriptors;
    size_t descriptor_count;
};

/* How a run ended. */
struct confine_end {
    size_t size; /* sizeof(struct confine_end), set by the caller */
    int kind;    /* CONFINE_ENDED_... */
    int status;  /* of the command; -1 unless it exited */
    int signal;  /* 0 unless it was ended by one */
    int error;   /* CONFINE_ERROR_... */
};

/* A run that was started. */
struct confine_run;

/* confine_contract() - the version of the interface that this library has. */
int confine_contract(void);

/*
 * confine_probe() - what this machine can do, found by doing it: `confine probe --json`.
 * @options: NULL, or only `program`, `directory`, `environment` and the word --backend are used
 * @ret_json: to be freed by confine_free(); set for CONFINE_OK and CONFINE_E_REFUSED
 *
 * The functions that return JSON wait for it, for a minute at most.
 */
int confine_probe(const struct confine_options *options, char **ret_json);

/* confine_plan() - what would run: `confine plan --json`. @command: NULL-terminated. Else as confine_probe().
 */
int confine_plan(const struct confine_options *options, const char *const *command, char **ret_json);

/*
 * confine_explain() - what is allowed at each of @paths and which rule says so, or without any the whole
 * policy in force: `confine policy --json`.
 * @paths: NULL-terminated; NULL: none
 */
int confine_explain(const struct confine_options *options, const char *const *paths, char **ret_json);

/*
 * confine_effective_mode() - which mode is in force for one call: the approved one, else the session's, else
 * the deployment's. Nothing but the arguments is looked at, and nobody is asked.
 * @approved: the mode that a person approved for this one call, or NULL
 * @session: the mode that was chosen for the session, or NULL
 * @deployment: the default of whoever runs the harness; NULL: "read-only"
 * @ret_mode: "read-only", "workspace-write" or "danger-full-access", not to be freed
 * @ret_from: "approved", "session" or "default", not to be freed
 *
 * An approval must be strictly wider than what is in force without it, and is for one call: where the next
 * one has none, the session's mode is in force again. Return: CONFINE_OK; CONFINE_E_ARGUMENT: a name is none
 * of a mode's; CONFINE_E_REFUSED: the approval widens nothing (there is no JSON). What is returned is NULL
 * then.
 */
int confine_effective_mode(const char *approved, const char *session, const char *deployment,
                           const char **ret_mode, const char **ret_from);

/*
 * confine_match_runner_failure() - was it confine that failed, or its runner, and not the command?
 *
 * For who executes a printed plan by hand, and has an exit status and a text: where there is a report, that
 * says it. A command can print the same line and end with the same status.
 * @plan: the JSON of confine_plan(), of which `runner_failure_rules` is looked at
 * @status: the exit status
 * @output: what came on standard error
 * @ret_line: where the line begins in @output that says so; NULL: there is none
 *
 * Return: CONFINE_OK; CONFINE_E_ARGUMENT: @plan is none.
 */
int confine_match_runner_failure(const char *plan, int status, const char *output, const char **ret_line);

/*
 * confine_spawn() - start a run.
 * @command: its words, NULL-terminated
 * @ret_run: the handle, for confine_run_unref(); NULL where it fails
 *
 * Whatever confine refuses is told by the channel and by confine_run_wait(), not here. The end of the caller,
 * however it comes, ends the run.
 */
int confine_spawn(const struct confine_options *options, const char *const *command,
                  struct confine_run **ret_run);

/*
 * confine_run_fd() - the control channel, confine-control(5): a stream socket to be polled, read and written.
 *
 * The handle owns it. Nobody has to read it: what nobody reads is dropped, but the last line may keep the run
 * from ending for five seconds once more than a socket holds has come. Of NULL: CONFINE_E_ARGUMENT.
 */
int confine_run_fd(const struct confine_run *run);

/*
 * confine_run_wait() - wait until the run has ended and nothing of it is left.
 * @timeout_ms: 0: only look; -1: without end
 * @end: NULL: not needed
 * @ret_report: the report, confine-report(5), to be freed by confine_free(), or NULL where there is none
 * (then `kind` is CONFINE_ENDED_UNKNOWN); NULL: not needed
 *
 * May be called again after the end, with the same answer, and from several threads.
 * Return: CONFINE_OK, CONFINE_E_TIMEOUT, or another.
 */
int confine_run_wait(struct confine_run *run, int timeout_ms, struct confine_end *end, char **ret_report);

/*
 * confine_run_unref() - give the handle back; NULL does nothing.
 *
 * A run that is still there is killed, with everything that it started, and its end is waited for: that takes
 * milliseconds. Who must not wait says {"type":"kill"} on the channel and gives the handle back after its
 * end.
 */
void confine_run_unref(struct confine_run *run);

/* A fence: files are opened by it, for a program whose own work on files is to obey the same policy as its
 * commands. */
struct confine_fence;

/*
 * confine_fence_new() - look the policy up, once.
 * @options: NULL, or no `descriptors`
 * @ret_fence: the handle, for confine_fence_unref(); NULL where it fails
 * @ret_json: for CONFINE_E_REFUSED: why, to be freed by confine_free(); else NULL. NULL: not needed
 *
 * It is a process of the program confine, which opens and hands on. It ends with its handle.
 */
int confine_fence_new(const struct confine_options *options, struct confine_fence **ret_fence,
                      char **ret_json);

/*
 * confine_fence_open() - open a file, or a directory to be listed, if the policy allows that to a command.
 * @path: a relative one begins where the policy's commands start
 * @flags: as for open(2): O_RDONLY, O_WRONLY or O_RDWR, with O_APPEND, O_CREAT, O_EXCL, O_TRUNC, O_DIRECTORY,
 * O_NOFOLLOW; O_CLOEXEC, O_NOCTTY and O_NONBLOCK change nothing
 * @mode: of a file that is made, 0777 at most, less the umask
 * @ret_fd: set for CONFINE_OK alone
 * @ret_json: for CONFINE_E_REFUSED: an object with `error` (its `code` is FS_SANDBOX_DENIED), `path`,
 * `operation`, `rule`, `root` and `grant_option`, to be freed by confine_free(); else NULL. NULL: not needed
 *
 * Decided is on the object that is opened, whatever name led to it. Return: CONFINE_OK; CONFINE_E_REFUSED;
 * CONFINE_E_SYSTEM with what open(2) says; CONFINE_E_PROGRAM: the fence has ended; or another.
 */
int confine_fence_open(struct confine_fence *fence, const char *path, int flags, unsigned mode, int *ret_fd,
                       char **ret_json);

/*
 * confine_fence_mkdir(), confine_fence_remove(), confine_fence_rename() - make a directory; remove a file or
 * an empty directory; rename, over what has the name @to.
 *
 * A link is itself what is meant. @mode and @ret_json as for confine_fence_open(). Return: the same.
 */
int confine_fence_mkdir(struct confine_fence *fence, const char *path, unsigned mode, char **ret_json);
int confine_fence_remove(struct confine_fence *fence, const char *path, char **ret_json);
int confine_fence_rename(struct confine_fence *fence, const char *from, const char *to, char **ret_json);

/* confine_fence_unref() - give the handle back; NULL does nothing. What was opened stays open. No other
 * thread may be using it. */
void confine_fence_unref(struct confine_fence *fence);

/* confine_free() - free a text that a function returned; NULL does nothing. */
void confine_free(void *text);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
