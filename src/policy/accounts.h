/*
 * accounts.h - the password database.
 */
#ifndef CONFINE_POLICY_ACCOUNTS_H
#define CONFINE_POLICY_ACCOUNTS_H

#include "util/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* One line of /etc/passwd; the texts point into the file's text and are not terminated. */
struct account {
    uid_t uid;
    gid_t gid;
    const char *name, *home, *shell;
    size_t name_length, home_length, shell_length;
};

/* accounts_read() - the text of /etc/passwd, owned by the caller; empty when there is none, it may not be
 * read or it is too large. Return: 0 or -errno. */
int accounts_read(char **ret_passwd);

/* accounts_need() - the same. Return: 0 or a negative errno with @error. */
int accounts_need(char **ret_passwd, struct error *error);

/* account_find() - the first entry of @uid in the text @passwd. Return: whether there is one. */
bool account_find(const char *passwd, uid_t uid, struct account *account);

#endif
