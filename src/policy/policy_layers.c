/*
 * policy_layers.c - find, open and merge the policy files, weakest layer first.
 *
 * Should:  read a file only when nobody but root and the caller can have written it, and say which of the
 * reasons against it holds; give every file in force to whoever protects it (policy->files). Mustn't: wait (a
 * FIFO, a terminal), follow a link to a file, take the caller's $HOME for where policy is; let the file in
 * the workspace, which the command can write, do anything but narrow.
 *
 * `extends` names files beside the layer's own one: the system's in /etc/confine, all others in the user's
 * directory. A base is weaker than the file that extends it.
 */
#include "kernel/identity.h"
#include "policy/accounts.h"
#include "policy/policy_files.h"
#include "policy/policy_keys.h"
#include "policy/policy_rules.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#define POLICY_FILES 64 /* in force at once: `extends` may branch */

static const char system_directory[] = "/etc/confine";

/* The user's directory of policies, from the password database alone. Return: 0 with NULL for a caller
 * without an entry, or a negative errno with @error. */
static int find_user_directory(struct policy *policy, char **ret_directory, struct error *error)
{
    struct account account;
    int r = policy->passwd ? 0 : accounts_need(&policy->passwd, error);

    *ret_directory = NULL;
    if (r < 0)
        return r;
    if (!account_find(policy->passwd, getuid(), &account) || account.home_length == 0 ||
        account.home[0] != '/')
        return 0;
    if (asprintf(ret_directory, "%.*s/.config/confine", (int)account.home_length, account.home) < 0) {
        *ret_directory = NULL;
        return error_no_memory(error);
    }
    return 0;
}

static const char *type_of(mode_t mode)
{
    return S_ISDIR(mode)    ? "a directory"
           : S_ISFIFO(mode) ? "a FIFO"
           : S_ISSOCK(mode) ? "a socket"
           : S_ISLNK(mode)  ? "a link"
                            : "a device";
}

/* The way out from a file that is not there, unless somebody knows a better one. */
static const char missing_hint[] = "make it, or correct its name";

static int refuse_open(const char *name, int errnum, struct error *error)
{
    switch (errnum) {
    case ELOOP:
        error_set(error, ERROR_POLICY_INVALID, errnum, "policy-unsafe", "policy file %s is a link",
                  QUOTE(name));
        return error_hint(error, "name the file that it points to");
    case ENXIO:
        error_set(error, ERROR_POLICY_INVALID, errnum, "policy-unsafe",
                  "policy file %s is a socket or a device", QUOTE(name));
        return error_hint(error, "a policy is a regular file");
    case ENOENT:
    case ENOTDIR:
        error_set(error, ERROR_POLICY_INVALID, errnum, "policy-missing", "there is no policy file %s",
                  QUOTE(name));
        return error_hint(error, "%s", missing_hint);
    default:
        error_set(error, ERROR_POLICY_INVALID, errnum, "policy-unreadable", "cannot read policy file %s: %s",
                  QUOTE(name), strerror(errnum));
        return error_hint(error, "%s",
                          error_spent(errnum) ?: "a policy that is there must be readable, or nothing runs");
    }
}

/* May this open file decide what is enforced? @owner: one more user who may own it. */
static int check_file(int fd, const char *name, uid_t owner, struct error *error)
{
    struct stat status;

    if (fstat(fd, &status) < 0)
        return refuse_open(name, errno, error);
    if (!S_ISREG(status.st_mode)) {
        error_set(error, ERROR_POLICY_INVALID, 0, "policy-unsafe", "policy file %s is %s", QUOTE(name),
                  type_of(status.st_mode));
        return error_hint(error, "a policy is a regular file");
    }
    if (!identity_is_root(status.st_uid) && status.st_uid != getuid() && status.st_uid != owner) {
        error_set(error, ERROR_POLICY_INVALID, 0, "policy-unsafe", "policy file %s belongs to uid %u",
                  QUOTE(name), (unsigned)status.st_uid);
        return error_hint(error, "it must belong to root or to uid %u", (unsigned)getuid());
    }
    if (status.st_mode & (S_IWGRP | S_IWOTH)) {
        error_set(error, ERROR_POLICY_INVALID, 0, "policy-unsafe", "policy file %s can be written by %s",
                  QUOTE(name), status.st_mode & S_IWOTH ? "everybody" : "its group");
        return error_hint(error, "chmod go-w %s", QUOTE(name));
    }
    if (status.st_size > POLICY_BYTES) {
        error_set(error, ERROR_POLICY_INVALID, EFBIG, "policy-unsafe", "policy file %s is longer than 1 MiB",
                  QUOTE(name));
        return error_hint(error, "split it with extends");
    }
    return 0;
}

/* The canonical name of FD if it has one that leads back to it, else WRITTEN made absolute. */
static char *canonical_name(int fd, const char *written)
{
    char target[PATH_MAX], *name = NULL;
    struct stat seen, status;
    ssize_t length = readlink(FD_NAME(fd), target, sizeof(target) - 1);

    if (length > 0) {
        target[length] = '\0';
        if (target[0] == '/' && lstat(target, &seen) == 0 && fstat(fd, &status) == 0 &&
            stat_same(&seen, &status))
            return strdup(target);
    }
    if (written[0] == '/' || strncmp(written, "fd:", 3) == 0 || !getcwd(target, sizeof(target)))
        return strdup(written);
    return asprintf(&name, "%s/%s", target, written) < 0 ? NULL : name;
}

/* Reads the open FD as LAYER and notes that it is in force. */
static int read_checked(struct policy *policy, int fd, const char *written, struct reading_file *file,
                        struct error *error)
{
    _cleanup_free_ char *name = canonical_name(fd, written);

    if (!name)
        return error_no_memory(error);
    if (policy->files.count >= POLICY_FILES) {
        error_set(error, ERROR_POLICY_INVALID, 0, "policy-invalid", "more than %d policy files",
                  POLICY_FILES);
        return error_hint(error, "put several into one");
    }
    file->name = name;
    if (name[0] == '/' && strings_add(&policy->files, name) < 0)
        return error_no_memory(error);
    return policy_read_open(policy, fd, file, error);
}

/* PATH below AT; messages say file->name where it is set. @missing_is_fine: a layer that nobody wrote. */
static int load_file(struct policy *policy, int at, const char *path, bool missing_is_fine,
                     struct reading_file *file, uid_t owner, struct error *error)
{
    _cleanup_fd_ int fd = openat(at, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    const char *shown = file->name ? file->name : path;
    int result;

    if (fd < 0) {
        if (missing_is_fine && (errno == ENOENT || errno == ENOTDIR))
            return 0;
        return refuse_open(shown, errno, error);
    }
    result = check_file(fd, shown, owner, error);
    return result < 0 ? result : read_checked(policy, fd, shown, file, error);
}

/* A descriptor that the caller opened: whose it is, is the caller's own word. Regular files, pipes
 * and sockets: what some languages hand to a child as a pipe is one. */
static int load_descriptor(struct policy *policy, const char *written, struct reading_file *file,
                           struct error *error)
{
    const char *digits = written + 3;
    size_t count = strspn(digits, "0123456789");
    struct stat status;
    int fd;

    if (count == 0 || count > 7 || digits[count] != '\0') {
        error_set(error, ERROR_USAGE, 0, "bad-value", "--policy: %s is no descriptor", QUOTE(written));
        return error_hint(error, "fd:3 for descriptor 3");
    }
    fd = atoi(digits);
    if (fstat(fd, &status) < 0) {
        error_set(error, ERROR_POLICY_INVALID, errno, "policy-missing", "descriptor %d is not open", fd);
        return error_hint(error, "pass it to confine: 3<FILE");
    }
    if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode)) {
        error_set(error, ERROR_POLICY_INVALID, 0, "policy-unsafe", "descriptor %d is %s", fd,
                  type_of(status.st_mode));
        return error_hint(error, "a policy is a regular file, or a pipe or a socket that the caller opened");
    }
    if (S_ISREG(status.st_mode) && lseek(fd, 0, SEEK_SET) < 0)
        return refuse_open(written, errno, error);
    return read_checked(policy, fd, written, file, error);
}

static bool is_name(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

    return *text && text[strspn(text, allowed)] == '\0';
}

/* DIRECTORY/NAME.json */
static int load_name(struct policy *policy, const char *directory, const char *name,
                     struct reading_file *file, struct error *error)
{
    _cleanup_free_ char *path = NULL;
    int result;

    if (!directory) {
        error_set(error, ERROR_POLICY_INVALID, 0, "no-home",
                  "policy %s: uid %u has no entry in the password database, so there is no place for names",
                  QUOTE(name), (unsigned)getuid());
        return error_hint(error, "give the path of the file, with a slash in it");
    }
    if (asprintf(&path, "%s/%s.json", directory, name) < 0) {
        path = NULL;
        return error_no_memory(error);
    }
    result = load_file(policy, AT_FDCWD, path, false, file, (uid_t)-1, error);
    if (result < 0 && strcmp(error->hint, missing_hint) == 0) /* not one that it extends */
        error_hint(error, "a file in the current directory is written ./%s", QUOTE(name));
    return result;
}

static int load_argument(struct policy *policy, const struct policy_places *places, const char *written,
                         struct error *error)
{
    struct reading_file file = {.places = places, .layer = LAYER_FILE};

    if (strncmp(written, "fd:", 3) == 0)
        return load_descriptor(policy, written, &file, error);
    if (is_name(written))
        return load_name(policy, places->user, written, &file, error);
    return load_file(policy, AT_FDCWD, written, false, &file, (uid_t)-1, error);
}

static int load_layer(struct policy *policy, const struct policy_places *places, const char *directory,
                      enum layer layer, struct error *error)
{
    struct reading_file file = {.places = places, .layer = layer};
    _cleanup_free_ char *path = directory ? text_join(directory, "/policy.json", NULL) : NULL;

    if (!directory)
        return 0;
    if (!path)
        return error_no_memory(error);
    return load_file(policy, AT_FDCWD, path, true, &file, (uid_t)-1, error);
}

int policy_load_from(struct policy *policy, const struct policy_places *places, const struct strings *files,
                     struct error *error)
{
    int result = load_layer(policy, places, places->system, LAYER_SYSTEM, error);

    if (result == 0)
        result = load_layer(policy, places, places->user, LAYER_USER, error);
    for (size_t i = 0; result == 0 && files && i < files->count; i++)
        result = load_argument(policy, places, files->items[i], error);
    return result;
}

int policy_load_layers(struct policy *policy, const struct strings *files, struct error *error)
{
    _cleanup_free_ char *user = NULL;
    struct policy_places places = {.system = system_directory};

    int r = find_user_directory(policy, &user, error);

    if (r < 0)
        return r;
    places.user = user;
    return policy_load_from(policy, &places, files, error);
}

/* A file that stands on itself is found by what it is, not by its name. */
static int check_chain(const struct reading_file *outer, int fd, const char *name,
                       const struct origin *origin, struct error *error)
{
    struct stat status;
    int depth = 0;

    if (fstat(fd, &status) < 0)
        return refuse_open(name, errno, error);
    for (; outer; outer = outer->outer, depth++)
        if (outer->device == status.st_dev && outer->inode == status.st_ino)
            return policy_refuse(error, origin, "policy-invalid", "extends: %s stands on itself",
                                 QUOTE(name));
    if (depth >= POLICY_EXTENDS)
        return policy_refuse(error, origin, "policy-invalid",
                             "extends: more than %d files stand on each other", POLICY_EXTENDS);
    return 0;
}

int policy_extend(struct policy *policy, const char *name, const struct reading_file *outer,
                  const struct origin *origin, struct error *error)
{
    struct policy_places usual = {.system = system_directory};
    const struct policy_places *places = outer->places ? outer->places : &usual;
    struct reading_file file = {.outer = outer, .places = places, .layer = outer->layer};
    _cleanup_free_ char *user = NULL, *path = NULL;
    const char *directory;
    int result;

    if (!is_name(name)) {
        policy_refuse(error, origin, "bad-value", "extends: %s is no name", QUOTE(name));
        return error_hint(error, "NAME stands for ~/.config/confine/NAME.json: letters, digits, `_` and `-`");
    }
    result = outer->places ? 0 : find_user_directory(policy, &user, error);
    if (result < 0)
        return result;
    usual.user = user;
    directory = outer->layer == LAYER_SYSTEM ? places->system : places->user;
    if (!directory)
        return load_name(policy, NULL, name, &file, error);
    if (asprintf(&path, "%s/%s.json", directory, name) < 0) {
        path = NULL;
        return error_no_memory(error);
    }
    {
        _cleanup_fd_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

        if (fd < 0) {
            (void)refuse_open(path, errno, error);
            return error_hint(error, "%s extends it: make it, or correct its name there", WHERE(origin));
        }
        result = check_file(fd, path, (uid_t)-1, error);
        if (result == 0)
            result = check_chain(outer, fd, name, origin, error);
        return result < 0 ? result : read_checked(policy, fd, path, &file, error);
    }
}

/* Keeps an origin of another policy in this one. */
static int adopt_origin(struct policy *policy, struct origin *origin, struct error *error)
{
    if (!origin->file)
        return 0;
    origin->file = policy_keep(policy, origin->file);
    return origin->file ? 0 : error_no_memory(error);
}

static int narrow_scalar(struct policy *policy, const struct policy *file, const struct policy_key *key,
                         struct error *error)
{
    struct origin origin = file->origin[key->scalar];
    void *field = (char *)policy + key->offset;
    const void *asked = (const char *)file + key->offset;

    if (origin.layer != LAYER_WORKSPACE)
        return 0;
    if (key->narrow == NARROW_ORDER) {
        if (*(const unsigned *)asked >= *(const unsigned *)field)
            return 0;
        *(unsigned *)field = *(const unsigned *)asked;
    } else {
        uint64_t *limit = field;

        if (*limit != 0 && *(const uint64_t *)asked >= *limit)
            return 0;
        *limit = *(const uint64_t *)asked;
    }
    if (adopt_origin(policy, &origin, error) < 0)
        return -ENOMEM;
    policy->origin[key->scalar] = origin;
    return 0;
}

static int narrow_list(struct policy *policy, const struct policy *file, enum list list, struct error *error)
{
    for (size_t i = 0; i < file->list[list].count; i++) {
        struct entry entry = file->list[list].items[i];
        int result;

        if (entry.remove) {
            policy_refuse(error, &entry.origin, "not-narrowing",
                          "%s: a command can write this file, so it may not take %s back", list_name(list),
                          QUOTE(entry.value));
            return error_hint(error, "do it in your own policy, or with an option");
        }
        result = adopt_origin(policy, &entry.origin, error);
        if (result == 0)
            result = policy_add_entry(policy, list, &entry, error);
        if (result < 0)
            return result;
    }
    return 0;
}

static bool have_value(const struct entries *entries, const char *value)
{
    for (size_t i = 0; i < entries->count; i++)
        if (strcmp(entries->items[i].value, value) == 0)
            return true;
    return false;
}

/* One rule of each: what both allow, if anything. */
static int add_meeting(struct entries *both, const struct entry *ours, const struct entry *theirs,
                       struct policy *policy, struct error *error)
{
    struct rule a, b, met;
    struct text text = {0};
    struct entry entry = *theirs;

    if (!rule_parse(ours->value, &a) || !rule_parse(theirs->value, &b) || !rule_meet(&a, &b, &met))
        return 0;
    rule_text(&met, &text);
    if (text.failed || !array_more(&both->items, both->count, sizeof(entry)) ||
        adopt_origin(policy, &entry.origin, error) < 0) {
        text_free(&text);
        return error_no_memory(error);
    }
    if (have_value(both, text.data)) {
        text_free(&text);
        return 0;
    }
    entry.value = steal_pointer(&text.data);
    entry.base = NULL;
    entry.why = NULL;
    both->items[both->count++] = entry;
    return 0;
}

static void free_entries(struct entries *entries)
{
    for (size_t i = 0; i < entries->count; i++) {
        free(entries->items[i].value);
        free(entries->items[i].base);
        free(entries->items[i].why);
    }
    free(entries->items);
    *entries = (struct entries){0};
}

/* The network of both: `host` is everything, `none` nothing, `listed` its rules. Runs before the mode is
 * narrowed. */
static int narrow_network(struct policy *policy, const struct policy *file, struct error *error)
{
    struct entries *ours = &policy->list[LIST_ALLOW], both = {0};
    const struct entries *theirs = &file->list[LIST_ALLOW];

    if (file->origin[KEY_NETWORK].layer != LAYER_WORKSPACE || file->network != NETWORK_LISTED ||
        policy->network == NETWORK_NONE)
        return 0;
    if (policy->network == NETWORK_HOST) {
        free_entries(ours);
        return narrow_list(policy, file, LIST_ALLOW, error);
    }
    for (size_t i = 0; i < ours->count; i++)
        for (size_t j = 0; j < theirs->count; j++)
            if (add_meeting(&both, &ours->items[i], &theirs->items[j], policy, error) < 0) {
                free_entries(&both);
                return -ENOMEM;
            }
    free_entries(ours);
    *ours = both;
    return 0;
}

static int narrow_by(struct policy *policy, const struct policy *file, struct error *error)
{
    int result = narrow_network(policy, file, error);

    for (const struct policy_key *key = policy_keys; key->name && result == 0; key++) {
        if (key->narrow == NARROW_ORDER || key->narrow == NARROW_LESS)
            result = narrow_scalar(policy, file, key, error);
        else if (key->narrow == NARROW_ADD)
            result = narrow_list(policy, file, (enum list)key->list, error);
    }
    for (size_t i = 0; i < file->files.count && result == 0; i++)
        result = strings_add(&policy->files, file->files.items[i]) < 0 ? error_no_memory(error) : 0;
    return result;
}

int policy_narrow(struct policy *policy, int workspace_fd, const char *workspace, struct error *error)
{
    struct reading_file reading = {.layer = LAYER_WORKSPACE};
    _cleanup_free_ char *name = NULL;
    struct policy file = {0};
    struct stat status;
    int result;

    if (fstat(workspace_fd, &status) < 0)
        return refuse_open(workspace, errno, error);
    name = text_join(workspace, "/.confine.json", NULL);
    if (!name)
        return error_no_memory(error);
    reading.name = name;
    result = load_file(&file, workspace_fd, ".confine.json", true, &reading, status.st_uid, error);
    if (result < 0 && strcmp(error->reason, "policy-unsafe") == 0)
        error_hint(
            error,
            "an earlier command may have left it in the workspace: look at it, then remove it, or make "
            "it a file that only you can write");
    else if (result < 0 && error->code == ERROR_POLICY_INVALID && !*error->hint)
        error_hint(error, "correct it; or remove it, where an earlier command has left it in the workspace");
    if (result == 0)
        result = narrow_by(policy, &file, error);
    policy_free(&file);
    return result;
}
