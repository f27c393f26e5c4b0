/*
 * plan.c - `confine plan`: what would run, as lines for a person or as JSON for a harness.
 *
 * Should:  describe in JSON the form that a harness can spawn by itself, which is `exec`.
 * Mustn't: claim for that form what only a supervisor holds; print a value of the environment.
 */
#include "cli/cli.h"
#include "cli/confinement.h"
#include "cli/later.h"
#include "plan/plan_json.h"
#include "policy/policy_explain.h"
#include "report/report.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The words that start this confinement as `confine exec`. */
static json_t *make_argv(const struct options *options)
{
    struct strings words = {0};
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    bool failed = length <= 0;
    json_t *array;

    self[failed ? 0 : length] = '\0';
    failed = failed || strings_add(&words, self) < 0 || strings_add(&words, "exec") < 0;
    for (size_t i = 0; !failed && i < options->given_count; i++) {
        const struct option_given *given = &options->given[i];

        if (!(given->option->commands & FOR_EXEC))
            continue; /* --json is the plan's own */
        failed = given->value ? strings_addf(&words, "--%s=%s", given->option->name, given->value) < 0
                              : strings_addf(&words, "--%s", given->option->name) < 0;
    }
    failed = failed || strings_add(&words, "--") < 0;
    for (size_t i = 0; !failed && options->argv[i]; i++)
        failed = strings_add(&words, options->argv[i]) < 0;
    array = failed ? NULL : value_strings(&words);
    strings_free(&words);
    return array;
}

/* Names only: a value may be a secret, and a plan is kept and sent around. */
static json_t *make_env(const struct resolved *resolved)
{
    struct strings names = {0};
    bool failed = false;
    json_t *array;

    for (size_t i = 0; !failed && i < resolved->env.count; i++)
        failed = strings_addf(&names, "%.*s", (int)strcspn(resolved->env.items[i], "="),
                              resolved->env.items[i]) < 0;
    array = failed ? NULL : value_strings(&names);
    strings_free(&names);
    return array;
}

/* `cwd` is where it has to be started: the names in its options begin there. The command's own directory is
 * found by --chdir or by the workspace, as it is here. */
static json_t *make_spawn(const struct options *options, const struct resolved *resolved)
{
    _cleanup_free_ char *here = getcwd(NULL, 0);
    json_t *spawn = json_object(), *descriptors = json_array();
    int result = 0;

    for (int fd = 0; fd <= 2; fd++)
        result |= json_array_append_new(descriptors, json_integer(fd));
    for (size_t i = 0; i < resolved->pass_fd_count; i++)
        result |= json_array_append_new(descriptors, json_integer(resolved->pass_fds[i]));
    result |= json_object_set_new(spawn, "argv", make_argv(options));
    result |= json_object_set_new(spawn, "env", make_env(resolved));
    result |= value_set_path(spawn, "cwd", here ? here : resolved->cwd);
    result |= json_object_set_new(spawn, "descriptors", descriptors);
    if (result == 0)
        return spawn;
    json_decref(spawn);
    return NULL;
}

static json_t *make_signatures(const struct backend *backend)
{
    json_t *array = json_array();

    for (size_t i = 0; backend->denial_signatures[i]; i++)
        if (json_array_append_new(array, json_string(backend->denial_signatures[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static int add_rule(json_t *array, struct runner_failure_rule rule)
{
    json_t *object = json_object();
    int result = json_object_set_new(object, "status", rule.status ? json_integer(rule.status) : json_null());

    result |= json_object_set_new(object, "signature", json_string(rule.signature));
    return result | json_array_append_new(array, object);
}

/* The backend's own, and of a runner those that its policy gives. */
static json_t *make_rules(const struct backend *backend, const struct plan *plan, const struct policy *policy)
{
    json_t *array = json_array();
    int result = 0;

    for (const struct runner_failure_rule *rule = backend->failure_rules; rule->signature; rule++)
        result |= add_rule(array, *rule);
    for (size_t i = 0; plan->runner && i < policy->runner.failure_signatures.count; i++)
        result |= add_rule(
            array, (struct runner_failure_rule){.signature = policy->runner.failure_signatures.items[i]});
    if (result == 0)
        return array;
    json_decref(array);
    return NULL;
}

static json_t *make_links(const struct plan *plan)
{
    const char **links = plan_links(plan);
    json_t *array = links ? json_array() : NULL;

    for (size_t i = 0; array && links[i]; i++)
        if (json_array_append_new(array, json_string(links[i])) != 0) {
            json_decref(array);
            array = NULL;
        }
    free(links);
    return array;
}

static int print_json(const struct confinement *confinement, const struct options *options, bool spawnable,
                      struct text *text)
{
    const struct resolved *resolved = &confinement->resolved;
    const struct plan *plan = &confinement->plan;
    json_t *root = json_object();
    char *dump;
    int result = 0;

    result |= json_object_set_new(root, "schema", json_string("confine/plan/1"));
    result |= json_object_set_new(root, "version", json_string(CONFINE_VERSION));
    result |= json_object_set_new(root, "backend", json_string(confinement->plan.backend));
    result |= json_object_set_new(root, "form", json_string(spawnable ? "exec" : "run"));
    result |= json_object_set_new(root, "mode", json_string(mode_name(resolved->mode)));
    result |= value_set_path(root, "workspace", resolved->workspace);
    result |= json_object_set_new(root, "grants", explain_grants(resolved));
    result |= json_object_set_new(root, "spawn", spawnable ? make_spawn(options, resolved) : json_null());
    result |= json_object_set_new(root, "links", make_links(plan));
    result |= json_object_set_new(root, "chain", plan_chain_json(plan, resolved, options->argv));
    result |= json_object_set_new(root, "surfaces", plan_surfaces_json(plan->claims));
    result |= json_object_set_new(root, "denial_signatures", make_signatures(confinement->backend));
    result |= json_object_set_new(root, "runner_failure_rules",
                                  make_rules(confinement->backend, plan, &confinement->policy));
    result |= json_object_set_new(root, "warnings", value_strings(&plan->warnings));
    dump = result == 0 ? json_dumps(root, JSON_INDENT(2) | JSON_ENSURE_ASCII) : NULL;
    json_decref(root);
    if (!dump)
        return -ENOMEM;
    text_addf(text, "%s\n", dump);
    free(dump);
    return 0;
}

static void print_people(const struct confinement *confinement, const struct options *options,
                         struct text *text)
{
    const struct report report = {
        .command = options->argv, .resolved = &confinement->resolved, .plan = &confinement->plan};
    struct text lines = {0};

    plan_print_shell(&confinement->plan, &confinement->resolved, options->argv, text);
    report_surfaces(&report, options->verbosity > 0, &lines);
    if (options->verbosity >= 0 && lines.data)
        text_add(text, lines.data);
    text_free(&lines);
}

int command_plan(char **argv, char **envp)
{
    struct confinement confinement = {0};
    struct options options;
    struct error error = {0};
    struct text text = {0};
    bool spawnable = false;
    int result = options_parse(&options, "plan", FOR_PLAN, argv, &error), status = 0;

    if (result == 0 && options.help) {
        help_command(command_by_name("plan"), &text);
    } else if (result == 0) {
        result = confinement_resolve(&confinement, &options, envp, &error);
        /* An option that exec refuses leaves only the supervised form, which nobody can spawn by hand. */
        spawnable = result == 0 && options.json &&
                    later_refuse_exec(&options, &confinement.policy, &(struct error){0}) == 0;
        if (result == 0 && !spawnable)
            result = later_refuse_run(&options, &confinement.policy, &error);
        if (result == 0)
            result = confinement_plan(&confinement, !spawnable, &error);
        if (result == 0 && options.json && print_json(&confinement, &options, spawnable, &text) < 0)
            result = error_no_memory(&error);
        else if (result == 0 && !options.json)
            print_people(&confinement, &options, &text);
    }
    status = result < 0 ? cli_fail_json(&error, options.json) : cli_print(&text);
    text_free(&text);
    confinement_free(&confinement);
    options_free(&options);
    return status;
}
