/*
 * policy_files.h - what the reader of one file and the finder of files tell each other.
 */
#ifndef CONFINE_POLICY_POLICY_FILES_H
#define CONFINE_POLICY_POLICY_FILES_H

#include "policy/policy.h"

#include <sys/types.h>

#define POLICY_BYTES   1048576 /* a policy file is no longer */
#define POLICY_EXTENDS 8       /* files that stand on each other */

/* Where the layers are. Tests have their own. */
struct policy_places {
    const char *system; /* directory of the system's policy.json: /etc/confine */
    const char *user;   /* directory of the user's, and of all names; NULL: the caller has no home */
};

/* A file that is being read, and the one whose `extends` led to it. */
struct reading_file {
    const struct reading_file *outer;   /* NULL: the first */
    const struct policy_places *places; /* NULL: the usual ones */
    const char *name;
    dev_t device;
    ino_t inode;
    enum layer layer;
};

/* policy_read_open() - read the open file @fd that @file describes (device and inode are filled here). @name
 * of
 * @file is what messages say; when it is absolute, relative paths start at its directory. */
int policy_read_open(struct policy *policy, int fd, struct reading_file *file, struct error *error);

/* policy_extend() - read ~/.config/confine/@name.json as a base of @outer. @origin: where it was asked for.
 */
int policy_extend(struct policy *policy, const char *name, const struct reading_file *outer,
                  const struct origin *origin, struct error *error);

/* policy_load_from() - policy_load_layers() with the places given. */
int policy_load_from(struct policy *policy, const struct policy_places *places, const struct strings *files,
                     struct error *error);

#endif
