/*
 * approvals.h - what somebody has allowed the command while it ran, beside what the policy grants.
 */
#ifndef CONFINE_REPORT_APPROVALS_H
#define CONFINE_REPORT_APPROVALS_H

#include "report/denials.h"

#define APPROVALS_MOST 512 /* different ones; more are counted in `unlisted` */

struct approval_item {
    enum denial_operation operation; /* of the first */
    char *path;       /* owned, canonical, as the command sees it; untrusted; NULL: it is none */
    char *address;    /* of the network, likewise */
    char *executable; /* of the first; NULL: not known */
    pid_t pid;        /* of the first */
    bool for_run;     /* once asked, for all of the run */
    uint64_t count;   /* how often it was opened or made */
};

struct approval_list {
    bool asks;         /* somebody could be asked */
    uint64_t asked;    /* questions */
    uint64_t unasked;  /* refusals about which nobody was asked, because there were too many */
    uint64_t unlisted; /* approvals for which there was no room */
    struct approval_item *items;
    size_t count;
};

/* approvals_add() - one that was carried out. Its texts are copied. Return: 0 or -ENOMEM, and it is counted.
 */
int approvals_add(struct approval_list *approvals, const struct approval_item *item);

/* approvals_total() - how many were carried out. */
uint64_t approvals_total(const struct approval_list *approvals);

/* approvals_write() - all of it as one value; null where nobody could be asked. */
void approvals_write(struct writer *writer, const char *key, const struct approval_list *approvals);
void approvals_free(struct approval_list *approvals);

#endif
