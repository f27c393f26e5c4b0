/*
 * resolve_user.c - who calls, who the command will be, and where both are at home.
 *
 * A uid without an entry in the password database has no home; nothing is guessed.
 */
#include "policy/resolve_internal.h"

#include "kernel/identity.h"
#include "kernel/program.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

const char *env_value(char *const *env, const char *name)
{
    size_t length = strlen(name);

    for (; env && *env; env++)
        if (**env == *name && strncmp(*env, name, length) == 0 && (*env)[length] == '=')
            return *env + length + 1;
    return NULL;
}

/* The absolute home of an account; NULL without one. */
static int copy_home(struct resolving *resolving, uid_t uid, char **ret)
{
    struct account account;

    *ret = NULL;
    if (!account_find(resolving->passwd, uid, &account) || account.home_length == 0 || account.home[0] != '/')
        return 0;
    *ret = strndup(account.home, account.home_length);
    return *ret ? 0 : error_no_memory(resolving->error);
}

/* The policy's copy, where its layers were looked for; else our own. */
static int find_passwd(struct resolving *resolving)
{
    int r = resolving->policy->passwd ? 0 : accounts_need(&resolving->own_passwd, resolving->error);

    if (r < 0)
        return r;
    resolving->passwd = resolving->own_passwd ? resolving->own_passwd : resolving->policy->passwd;
    return 0;
}

/* The directory that the caller's $HOME leads to, when it leads to one. */
static int find_env_home(struct resolving *resolving)
{
    const char *home = env_value(resolving->env, "HOME");
    _cleanup_opened_ struct opened opened = {.fd = -1};
    int r;

    if (!home || home[0] != '/')
        return 0;
    r = path_open(home, &opened);
    if (r == -ENOMEM)
        return error_no_memory(resolving->error);
    if (r == 0 && S_ISDIR(opened.st.st_mode))
        resolving->env_home = steal_pointer(&opened.path);
    return 0;
}

/* Where this confine and its links are. Not known without /proc: no chain starts then anyway. */
static int find_program(struct resolving *resolving)
{
    static const char links[] = "/libexec/confine";
    const char *program = program_path();
    size_t length;

    if (!program)
        return 0;
    resolving->program = strdup(program);
    length = strlen(program);
    for (int up = 0; up < 2; up++) /* PREFIX/bin/confine */
        while (length > 0 && program[--length] != '/')
            ;
    resolving->links_dir = malloc(length + sizeof(links));
    if (!resolving->program || !resolving->links_dir)
        return error_no_memory(resolving->error);
    memcpy(resolving->links_dir, program, length);
    memcpy(resolving->links_dir + length, links, sizeof(links));
    return 0;
}

/* The current directory; stays NULL where it has no name. Return: 0 or -ENOMEM with the error set. */
static int find_cwd(struct resolving *resolving)
{
    size_t size = 256; /* mostly enough */
    char *cwd = malloc(size);

    if (cwd && !getcwd(cwd, size) && errno == ERANGE) {
        free(cwd);
        size = PATH_MAX;
        cwd = malloc(size);
        if (cwd && !getcwd(cwd, size))
            cwd[0] = '\0';
    } else if (cwd && cwd[0] != '/') {
        cwd[0] = '\0';
    }
    if (!cwd)
        return error_no_memory(resolving->error);
    if (cwd[0] == '/') /* "(unreachable)…" is no name */
        resolving->cwd = cwd;
    else
        free(cwd);
    return 0;
}

int resolving_start(struct resolving *resolving)
{
    int r = find_cwd(resolving);

    resolving->caller = geteuid();
    if (r == 0)
        r = find_passwd(resolving);
    if (r == 0)
        r = copy_home(resolving, resolving->caller, &resolving->resolved->home);
    if (r == 0)
        r = find_env_home(resolving);
    if (r == 0)
        r = find_program(resolving);
    return r;
}

void resolving_end(struct resolving *resolving)
{
    free(resolving->own_passwd);
    free(resolving->cwd);
    free(resolving->env_home);
    free(resolving->command_home);
    free(resolving->program);
    free(resolving->links_dir);
    free(resolving->git_common);
    strings_free(&resolving->self);
    strings_free(&resolving->sessions);
    strings_free(&resolving->read_named);
    for (size_t i = 0; i < resolving->led_count; i++) {
        free(resolving->led[i].link);
        free(resolving->led[i].what);
    }
    free(resolving->led);
    mounts_free(&resolving->mounts);
    for (size_t i = 0; i < resolving->home_count; i++)
        listing_free(&resolving->homes[i]);
    listing_free(&resolving->top);
}

static int refuse_user(struct resolving *resolving, uid_t uid)
{
    struct asked asked = asked_key(resolving->policy, KEY_USER, "");

    error_set(resolving->error, ERROR_SANDBOX_UNAVAILABLE, EPERM, "user-needs-root",
              "%s %u: only root can run a command as another user, and the caller is user %u", asked.by,
              (unsigned)uid, (unsigned)resolving->caller);
    return error_hint(resolving->error, "leave it out, or run as root");
}

/* Nothing stands in front of an unconfined command that could change its user. To run as the caller instead,
 * who is root, is what nobody asked for. */
static int refuse_unconfined_user(struct resolving *resolving, uid_t uid)
{
    struct asked asked = asked_key(resolving->policy, KEY_USER, "");

    error_set(resolving->error, ERROR_SANDBOX_UNAVAILABLE, ENOSYS, "mode-holds-nothing",
              "%s %u: danger-full-access runs the command as the caller, user %u", asked.by, (unsigned)uid,
              (unsigned)resolving->caller);
    return error_hint(resolving->error, "start confine as that user, or choose --mode workspace-write");
}

/* Can root become that user here? One that gave up a capability cannot, nor one in a user namespace that does
 * not know the number: tried, because a dozen switches decide it. */
static int try_user(struct resolving *resolving)
{
    const struct resolved *resolved = resolving->resolved;
    struct identity identity;
    int r = identity_enter(&identity, resolved->uid, resolved->gid);

    if (r == 0)
        r = identity_leave(&identity);
    if (r == 0)
        return 0;
    error_set(resolving->error, ERROR_SANDBOX_UNAVAILABLE, -r, "user-not-possible",
              "the command would run as user %u%s, whom root cannot become here (%s)",
              (unsigned)resolved->uid,
              resolving->policy->user == USER_OWNER ? ", who owns the workspace" : "", strerror(-r));
    return error_hint(
        resolving->error,
        "run confine as that user (docker run --user %u:%u), let the container have CAP_SETUID, "
        "CAP_SETGID and a user of that number, or say --user keep",
        (unsigned)resolved->uid, (unsigned)resolved->gid);
}

int resolve_user(struct resolving *resolving, const struct opened *workspace)
{
    struct resolved *resolved = resolving->resolved;
    const struct policy *policy = resolving->policy;
    struct account account;
    int r;

    resolved->uid = resolving->caller;
    resolved->gid = getegid();
    if (resolving->caller != 0) {
        if (policy->user == USER_ID && policy->user_id != resolving->caller)
            return refuse_user(resolving, policy->user_id);
    } else if (resolved->mode == MODE_DANGER_FULL_ACCESS) {
        if (policy->user == USER_ID && policy->user_id != resolving->caller)
            return refuse_unconfined_user(resolving, policy->user_id);
    } else if (policy->user == USER_ID) {
        resolved->uid = policy->user_id;
    } else if (policy->user == USER_OWNER && workspace->fd >= 0) {
        resolved->uid = workspace->st.st_uid;
    }
    if (resolved->uid != resolving->caller) {
        resolved->switch_user = true;
        resolved->gid =
            account_find(resolving->passwd, resolved->uid, &account) ? account.gid : resolved->uid;
        r = try_user(resolving);
        if (r < 0)
            return r;
    }
    strings_free(&resolving->self); /* found before, without what is in the home of that user */
    return copy_home(resolving, resolved->uid, &resolving->command_home);
}
