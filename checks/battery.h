/*
 * battery.h - all attempts of one backend, one after the other.
 */
#ifndef CONFINE_CHECKS_BATTERY_H
#define CONFINE_CHECKS_BATTERY_H

#include "attempt.h"

struct battery {
    const char *self;       /* the path of this program, seen inside as well */
    char base[PLACE_SIZE];  /* the private directory outside every grant */
    const char *workspace;  /* a writable directory that the confinement grants; NULL: none */
    bool own_workspace;     /* it was made for this battery */
    bool root;              /* the caller is root */
    bool foreign;           /* the words start somebody else's confinement, which writes no report */
    char *const *words;     /* all that it was told; they end with `--` */
    bool listed;            /* the confinement has a list of hosts: the words `rule=` */
    bool proxy;             /* it has variables for a proxy already */
    const char *unlistable; /* why it cannot have one; NULL: it can */
    char refusal[96];       /* the same, once it was refused */
    uid_t uid;              /* the command's */
    gid_t gid;
    const char *only;                               /* a pattern for ids, groups and surfaces; NULL: all */
    char *const *start;                             /* the words of the confinement, up to its own options */
    char token[MARK_SIZE];                          /* a secret of the caller's environment */
    char credential[PLACE_SIZE];                    /* a file that @credentials hides */
    char credential_secret[MARK_SIZE];              /* what is in it */
    long limit_memory, limit_processes, limit_file; /* what was asked, 0: nothing */
    long limit_time, limit_cpu, limit_tmp;          /* the same, in ms, ms and bytes */
};

/*
 * battery_run() - every attempt that `only` lets through, as JSON lines on stdout.
 *
 * Return: 0 when the confinement could be started, else 1.
 */
int battery_run(struct battery *battery);

/* runner_main() - the inside: takes orders on descriptor @in and answers on @out until the orders end. */
int runner_main(int in, int out);

/* runner_once() - one act whose order is in the file @path; the answer is a line on stdout. */
int runner_once(const char *path);

/* privilege_main() - says whether this process has more rights than its caller. */
int privilege_main(void);

/* output.c: JSON lines on stdout. */
void output_list(void);
void output_attempt(const struct attempt *attempt, const char *verdict, const char *reason, const char *claim,
                    const struct trial *trial);
void output_run(int status, const char *report, size_t length);

#endif
