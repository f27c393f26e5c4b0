/*
 * probe.h - what each backend can do on this machine, found by starting its chain.
 */
#ifndef CONFINE_RUN_PROBE_H
#define CONFINE_RUN_PROBE_H

#include "backend/backend.h"

/* Can a list of hosts (--allow) be held? By what, or why not and what to do. */
struct probe_list {
    bool held;
    char by[4][24]; /* mechanisms; empty: no more */
    char reason[48];
    char message[512];
    char hint[512];
};

/* One backend: usable with its surfaces, or why not and what to do. */
struct probe_row {
    const char *backend;
    bool usable;
    char reason[48];
    char message[512];
    char hint[512];
    enum surface_state states[SURFACE_COUNT];
    char reasons[SURFACE_COUNT]
                [40];       /* why a surface is not held in full; empty: it is, or no reason is known */
    char warnings[4][256];  /* what is to be known of this backend here; empty: no more */
    struct probe_list list; /* found by a start of its own; the state of net.listed is this one's */
};

/*
 * probe_backends() - enforce for real, with a time limit for each, and say what held.
 * @only:  one backend by name; NULL: all
 * @rows:  room for @count rows; @count is set to how many were filled
 *
 * Return: 0, or a negative errno with @error (an unknown name); a backend that is not usable is a row.
 */
int probe_backends(const char *only, struct probe_row *rows, size_t *count, struct error *error);

#endif
