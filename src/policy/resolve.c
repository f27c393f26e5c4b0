/*
 * resolve.c - a merged policy becomes descriptors, names and words: the order of the steps.
 *
 * Should:  be the last place that looks a name up.
 * Mustn't: leave anything half done: on an error the result is empty.
 */
#include "policy/resolve_internal.h"

#include <sys/resource.h>

#include <unistd.h>

/* How wide each mode is. */
static const int mode_width[] = {
    [MODE_INVALID] = 0, [MODE_READ_ONLY] = 1, [MODE_WORKSPACE_WRITE] = 2, [MODE_DANGER_FULL_ACCESS] = 3};

static int resolve_mode(struct resolving *resolving)
{
    const struct policy *policy = resolving->policy;
    struct resolved *resolved = resolving->resolved;
    enum layer layer = policy->origin[KEY_MODE].layer;

    resolved->mode = policy->mode;
    resolved->mode_from = layer == LAYER_BUILTIN ? "default" : layer == LAYER_OPTION ? "option" : "policy";
    if (policy->approved_mode != MODE_INVALID) {
        if (mode_width[policy->approved_mode] <= mode_width[policy->mode]) {
            error_set(resolving->error, ERROR_POLICY_INVALID, 0, "not-wider",
                      "--approved-mode %s is not wider than the mode in force, %s",
                      mode_name(policy->approved_mode), mode_name(policy->mode));
            return error_hint(resolving->error, "leave it out: nothing has to be approved");
        }
        resolved->mode = policy->approved_mode;
        resolved->mode_from = "approved";
    }
    if (resolved->mode == MODE_INVALID)
        return error_set(resolving->error, ERROR_INTERNAL, 0, "no-mode", "the policy has no mode");
    if (resolved->mode == MODE_WORKSPACE_WRITE && !policy->workspace && policy->list[LIST_WRITE].count == 0) {
        error_set(resolving->error, ERROR_POLICY_INVALID, 0, "no-workspace",
                  "the mode workspace-write needs something to write: there is no workspace");
        return error_hint(resolving->error, "add -w DIR (`-w .` for the current directory, `-w @git` for the "
                                            "repository)");
    }
    return 0;
}

/* What is to be hidden or protected is left out where it is not there. It must be known not to be. */
static int check_answered(struct resolving *resolving)
{
    const char *name;
    int error = path_unanswered(&name);

    if (error == 0)
        return 0;
    error_set(resolving->error, ERROR_SANDBOX_UNAVAILABLE, error, "set-up-failed",
              "cannot see whether %s is there: %s", QUOTE(name), strerror(error));
    return error_hint(resolving->error, "what is not seen would be neither hidden nor protected: %s",
                      error == EMFILE   ? "allow more open files (ulimit -n)"
                      : error == ENFILE ? "this machine has too many files open"
                                        : "try again");
}

/* Everything that only a confined run needs. */
static int resolve_confined(struct resolving *resolving)
{
    int r = resolve_grants(resolving);

    if (r == 0)
        r = resolve_caches(resolving);
    if (r == 0)
        r = resolving_check_links(resolving);
    if (r == 0)
        r = merge_grants(resolving);
    if (r == 0)
        r = git_alternates(resolving);
    if (r == 0)
        r = resolve_cwd(resolving);
    if (r == 0)
        r = resolving_check_links(resolving); /* the start directory */
    if (r == 0)
        r = resolve_hidden(resolving);
    if (r == 0)
        r = resolve_hidden_cwd(resolving);
    if (r == 0)
        r = resolve_devices(resolving);
    if (r == 0)
        r = resolve_edges(resolving);
    if (r == 0)
        r = resolve_protected(resolving);
    if (r == 0)
        r = resolve_view(resolving);
    if (r == 0)
        r = resolve_overlays(resolving);
    if (r == 0)
        r = resolve_hidden_objects(resolving);
    if (r == 0)
        r = resolve_network(resolving);
    if (r == 0)
        r = resolve_unasked(resolving);
    if (r == 0)
        r = check_answered(resolving);
    return r;
}

static int resolve_steps(struct resolving *resolving)
{
    int r = resolve_pass_fds(resolving); /* first: a number that is free now is one of ours later */

    if (r == 0)
        r = resolving_start(resolving);
    if (r == 0)
        r = resolve_mode(resolving);
    if (r == 0)
        r = resolve_surfaces(resolving); /* before what is opened would be hidden */
    if (r == 0)
        r = resolve_workspace_grant(resolving);
    if (r == 0)
        r = resolve_env(resolving);
    if (r == 0)
        r = resolving->resolved->mode == MODE_DANGER_FULL_ACCESS ? resolve_cwd(resolving)
                                                                 : resolve_confined(resolving);
    return r;
}

int resolve_policy(const struct policy *policy, char *const *env, struct resolved *resolved,
                   struct error *error)
{
    struct resolving resolving = {.policy = policy, .env = env, .resolved = resolved, .error = error};
    struct rlimit limit;
    int r;

    *resolved = (struct resolved){.policy = policy, .workspace_fd = -1, .cwd_fd = -1, .cache_lock = -1};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        resolved->descriptor_limit = limit.rlim_cur;
    paths_begin(resolved->descriptor_limit);
    r = resolve_steps(&resolving);
    resolving_end(&resolving);
    if (r < 0)
        resolved_free(resolved);
    return r;
}

bool resolved_under_writable(const struct resolved *resolved, const char *path)
{
    for (size_t i = 0; i < resolved->path_count; i++)
        if (resolved->paths[i].grant == GRANT_WRITE && path_contains(resolved->paths[i].path, path))
            return true;
    return false;
}

static void free_hidden(struct hidden *hidden, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(hidden[i].path);
        free(hidden[i].sample);
        fd_close(hidden[i].fd);
    }
    free(hidden);
}

static void free_paths(struct resolved *resolved)
{
    for (size_t i = 0; i < resolved->path_count; i++) {
        fd_close(resolved->paths[i].fd);
        free(resolved->paths[i].path);
    }
    free(resolved->paths);
    for (size_t i = 0; i < resolved->level_count; i++)
        strings_free(&resolved->levels[i].except);
    free(resolved->levels);
    free_hidden(resolved->hidden, resolved->hidden_count);
    free_hidden(resolved->around, resolved->around_count);
    for (size_t i = 0; i < resolved->parent_count; i++) {
        fd_close(resolved->parents[i].fd);
        free(resolved->parents[i].path);
    }
    free(resolved->parents);
    strings_free(&resolved->shown);
    for (size_t i = 0; i < resolved->edge_count; i++) {
        fd_close(resolved->edges[i].parent_fd);
        free(resolved->edges[i].parent);
        free(resolved->edges[i].name);
    }
    free(resolved->edges);
}

void resolved_free(struct resolved *resolved)
{
    free_paths(resolved);
    for (size_t i = 0; i < resolved->skipped_count; i++) {
        free(resolved->skipped[i].what);
        free(resolved->skipped[i].why);
    }
    free(resolved->skipped);
    fd_close(resolved->workspace_fd);
    fd_close(resolved->cwd_fd);
    free(resolved->workspace);
    free(resolved->cwd);
    free(resolved->home);
    free(resolved->tmp_directory);
    caches_free(resolved);
    strings_free(&resolved->env);
    strings_free(&resolved->env_unset);
    strings_free(&resolved->env_secrets);
    strings_free(&resolved->protected_paths);
    strings_free(&resolved->protected_names);
    free(resolved->protected_by);
    strings_free(&resolved->view.kept);
    strings_free(&resolved->view.copies);
    strings_free(&resolved->view.sockets);
    strings_free(&resolved->view.procs);
    strings_free(&resolved->protected_notes);
    strings_free(&resolved->view.kernel);
    for (size_t i = 0; i < resolved->exception_count; i++)
        free(resolved->exceptions[i].path);
    free(resolved->exceptions);
    network_free(&resolved->network);
    strings_free(&resolved->unasked);
    strings_free(&resolved->ephemeral);
    strings_free(&resolved->warnings);
    free(resolved->pass_fds);
    *resolved = (struct resolved){.workspace_fd = -1, .cwd_fd = -1, .cache_lock = -1};
}
