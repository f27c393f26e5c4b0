/*
 * test-report.h - a report of a run of which everything was attested.
 */
#ifndef CONFINE_REPORT_TEST_REPORT_H
#define CONFINE_REPORT_TEST_REPORT_H

#include "harness.h"

#include "report/report.h"

/* A policy with its mode's claims, everything of which was attested. */
static struct policy policy;
static struct resolved resolved;
static struct plan plan;
static struct report report;

static char make[] = "make", test_word[] = "test", app[] = "/home/me/app";
static char *const words[] = {make, test_word, NULL};

TEST_SETUP()
{
    policy = (struct policy){.mode = MODE_WORKSPACE_WRITE};
    resolved = (struct resolved){.policy = &policy, .mode = MODE_WORKSPACE_WRITE, .mode_from = "option"};
    resolved.cwd = resolved.workspace = app;
    plan = (struct plan){.backend = "landlock", .supervised = true};
    for (int s = 0; s < SURFACE_COUNT; s++)
        if (plan_claims(&resolved, (enum surface)s)) {
            plan.claims[s] = (struct claim){.state = STATE_ENFORCED, .by_count = 1, .tried = 1};
            plan.claims[s].by[0] = (struct claim_by){MECHANISM_LANDLOCK, EVIDENCE_ATTESTED};
        }
    report = (struct report){.command = words, .resolved = &resolved, .plan = &plan, .backend = "landlock"};
    report.outcome = (struct outcome){.kind = OUTCOME_EXITED, .wall_ms = 12};
}

/* Refusals of these names, as the observer tells of them. */
static void add_refused(const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct denial denial = {.surface = SURFACE_FS_WRITE,
                                .operation = DENIAL_CREATE,
                                .path = (char *)(uintptr_t)names[i],
                                .pid = 7,
                                .count = 1};

        need(denials_add(&report.denials, &resolved, &denial, DENIAL_BY_DEFAULT, 0) == 0);
    }
    report.denials.channel = "observer";
    report.denials.known = true;
}

#endif
