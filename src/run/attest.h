/*
 * attest.h - the supervisor's side of the attestation: canaries, controls, judgement.
 */
#ifndef CONFINE_RUN_ATTEST_H
#define CONFINE_RUN_ATTEST_H

#include "links/acts.h"
#include "plan/plan.h"

/* What a check came to. Zero is the modest one. */
enum verdict {
    VERDICT_NOT_SHOWN = 0, /* no control, or an answer that proves nothing */
    VERDICT_HELD,          /* went through outside, refused inside with an errno of this mechanism */
    VERDICT_CROSSED,       /* went through inside, or its effect was seen outside */
};

struct attempt {
    const struct check *check; /* of the plan */
    struct channel_check wire;
    bool control; /* the same act went through outside just before; or it is read back and needs none */
    int errnum;   /* what attest-run answered */
    enum verdict verdict;
};

struct attestation {
    uint8_t nonce[CHANNEL_NONCE]; /* also the canary in memory: its address is sent */
    int sentinel;
    size_t count;                         /* of attempts */
    int descriptors[CHANNEL_DESCRIPTORS]; /* sent with the checks; borrowed or owned, closed in attest_end()
                                             where in `owned` */
    size_t descriptor_count;

    /* Canaries, -1 when there is none. All close-on-exec, but for `inherited`. */
    int file;      /* unnamed file that holds the nonce */
    int file_path; /* the same by O_PATH */
    int fifo;      /* read end */
    int fifo_path;
    int listener; /* abstract socket; its name is `abstract` */
    int path_listener;
    int socket_path; /* O_PATH of the pathname socket */
    int udp_receiver;
    int udp_port;
    int terminal;    /* master side of a pseudo-terminal; the name of the other is `terminal_name` */
    int device_path; /* O_PATH of the device node */
    int inherited;   /* a descriptor that the chain inherits and must close */
    int owned[24];
    size_t owned_count;
    char abstract[40];
    char terminal_name[64];
    pid_t process;       /* a process outside of the command's user: this one, or a child of it */
    bool process_apart;  /* it is a child: this process has another user, or capabilities */
    pid_t process_child; /* to be ended; 0: it is this process */
    int process_release;

    const int *listeners; /* what the chain has handed out, by the index of their check; NULL: nothing */

    bool unsupervised;  /* of an exec: nobody looks from outside, and there is no child */
    bool pid_namespace; /* the command will have one of its own */
    bool switch_user;
    uid_t uid;
    gid_t gid;
    char **env; /* the command's, for read-backs of an exec */

    struct attempt attempts[CHANNEL_CHECKS_MAX]; /* last: only what is used of it is touched */
};

/*
 * attest_begin() - nonce, sentinel, and the canaries that must exist before the chain starts.
 * @missing: canaries that are left out, a bit per enum canary; 0 but in tests
 *
 * Return: 0 or -errno. A canary that cannot be made is no error: its checks are not shown.
 */
int attest_begin(struct attestation *attestation, const struct plan *plan, const struct resolved *resolved,
                 unsigned missing);

/* attest_in_child() - the controls that need a process of their own, in the vfork child before its exec.
 * @data: the struct attestation. */
void attest_in_child(void *data);

/* attest_controls() - the other canaries and controls, while the chain restricts itself. Return: 0 or -errno.
 */
int attest_controls(struct attestation *attestation, const struct resolved *resolved, unsigned missing);

/* attest_message() - the CHECKS message; @ret_size of it are to be sent with `descriptors`. */
void attest_message(const struct attestation *attestation, struct channel_checks *message, size_t *ret_size);

/*
 * attest_judge() - hold the answers against the controls, and look at the canaries from outside.
 * @command: host pid of the coming command
 *
 * Raises and lowers the claims of @plan. Return: 0, or -EPERM with @error ATTESTATION_FAILED that names the
 * surface and the mechanism, or SANDBOX_UNAVAILABLE when something that was named or required is not shown.
 */
int attest_judge(struct attestation *attestation, const struct channel_results *results, size_t size,
                 pid_t command, struct plan *plan, const struct resolved *resolved, struct error *error);

/* attest_refused() - the self-contained checks whose control went through, as `--refused` values for an exec.
 */
int attest_refused(const struct attestation *attestation, struct strings *checks);

/* attest_end() - remove the canaries. Safe after any step. */
void attest_end(struct attestation *attestation);

#endif
