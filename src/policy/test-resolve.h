/*
 * test-resolve.h - a policy, an environment and a private tree for the tests of resolve. Include it after
 * harness.h, which it uses.
 */
#ifndef CONFINE_POLICY_TEST_RESOLVE_H
#define CONFINE_POLICY_TEST_RESOLVE_H

#include "policy/resolve.h"

struct trial {
    struct policy policy;
    struct strings env;
    struct resolved resolved;
    struct error error;
};

/* trial_path() - NAME below the test's directory, canonical. Four names at a time are valid. */
static const char *trial_path(const char *name)
{
    static char paths[4][2 * PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof(paths[0]), "%s/%s", test_dir, name);
    return path;
}

static void trial_directory(const char *name)
{
    need(mkdir(trial_path(name), 0755) == 0);
}

__attribute__((unused)) static void trial_file(const char *name, mode_t mode)
{
    int fd = open(trial_path(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

    need(fd >= 0 && write(fd, "x", 1) == 1 && close(fd) == 0);
}

/* The built-in policy, and an environment that has only a private home: nothing real is looked at or made. */
static struct trial trial_start(void)
{
    struct trial trial = {.resolved = {.workspace_fd = -1, .cwd_fd = -1}};

    trial_directory("home");
    need(policy_init(&trial.policy, &trial.error) == 0);
    need(strings_addf(&trial.env, "HOME=%s", trial_path("home")) == 0);
    return trial;
}

__attribute__((unused)) static void trial_variable(struct trial *trial, const char *variable)
{
    need(strings_add(&trial->env, variable) == 0);
}

static struct origin trial_origin(void)
{
    return (struct origin){.layer = LAYER_OPTION, .option = "--test"};
}

__attribute__((unused)) static void trial_set(struct trial *trial, enum key key, const char *value)
{
    if (policy_set(&trial->policy, key, value, NULL, trial_origin(), &trial->error) != 0)
        test_note("%s", trial->error.message);
    need(trial->error.code == ERROR_NONE);
}

__attribute__((unused)) static void trial_add(struct trial *trial, enum list list, const char *value)
{
    if (policy_add(&trial->policy, list, value, NULL, trial_origin(), &trial->error) != 0)
        test_note("%s", trial->error.message);
    need(trial->error.code == ERROR_NONE);
}

static int trial_resolve(struct trial *trial)
{
    trial->error = (struct error){0};
    return resolve_policy(&trial->policy, trial->env.items, &trial->resolved, &trial->error);
}

/* trial_count() - how many grants of that kind. */
__attribute__((unused)) static size_t trial_count(const struct trial *trial, enum grant grant, bool named)
{
    size_t count = 0;

    for (size_t i = 0; i < trial->resolved.path_count; i++)
        count += trial->resolved.paths[i].grant == grant && trial->resolved.paths[i].named == named;
    return count;
}

/* trial_find() - the grant of NAME, absolute or below the test's directory. */
__attribute__((unused)) static const struct resolved_path *trial_find(const struct trial *trial,
                                                                      const char *name)
{
    for (size_t i = 0; i < trial->resolved.path_count; i++)
        if (trial->resolved.paths[i].grant != GRANT_NONE &&
            strcmp(trial->resolved.paths[i].path, name[0] == '/' ? name : trial_path(name)) == 0)
            return &trial->resolved.paths[i];
    return NULL;
}

__attribute__((unused)) static const struct hidden *trial_hidden(const struct trial *trial, const char *name)
{
    for (size_t i = 0; i < trial->resolved.hidden_count; i++)
        if (strcmp(trial->resolved.hidden[i].path, name[0] == '/' ? name : trial_path(name)) == 0)
            return &trial->resolved.hidden[i];
    return NULL;
}

static void trial_end(struct trial *trial)
{
    resolved_free(&trial->resolved);
    policy_free(&trial->policy);
    strings_free(&trial->env);
}

#endif
