/*
 * canary.h - the objects outside that a check is tried on.
 *
 * Should:  vanish by themselves, also when this process is killed: unnamed
 *          files, names that are removed before they are used, children that
 *          end with a pipe.
 * Mustn't: stand inside a grant, or on a disk where a crash would leave them.
 */
#ifndef CONFINE_RUN_CANARY_H
#define CONFINE_RUN_CANARY_H

#include "run/attest.h"

#define CANARY_PIDS_INSIDE                                                                                   \
    16 /* process 1, the coming command and the links' own children have numbers up to here */

/* canary_file() - an unnamed file that holds the nonce, outside every writable grant. */
void canary_file(struct attestation *attestation, const struct resolved *resolved);
void canary_fifo(struct attestation *attestation, const struct resolved *resolved);
void canary_abstract(struct attestation *attestation);
void canary_socket_path(struct attestation *attestation, const struct resolved *resolved);
void canary_terminal(struct attestation *attestation);
void canary_udp(struct attestation *attestation);

/* canary_process() - somebody of the command's user to signal, read and limit. */
void canary_process(struct attestation *attestation);
void canary_process_end(struct attestation *attestation);

/* canary_inherited() - a descriptor without close-on-exec. */
void canary_inherited(struct attestation *attestation, const struct resolved *resolved);

/* canary_device() - a device node that the caller can open and that is not granted. Return: its name or NULL.
 */
const char *canary_device(const struct attestation *attestation, const struct resolved *resolved);

/* canary_open() - O_PATH descriptor of the device node @path, of its mount out here, made once and owned by
 * the attestation. Return: -1 when there is none. */
int canary_open(struct attestation *attestation, const char *path);

/* canary_seen_crossed() - look from outside: did anything arrive, or change, that must not have? */
/* canary_heard() - is the nonce what the first connection to @listener has sent? It is taken out. */
bool canary_heard(const struct attestation *attestation, int listener);

bool canary_seen_crossed(const struct attestation *attestation, enum canary canary, pid_t command);

#endif
