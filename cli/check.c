/*
 * check.c - `confine check`: the battery of attempts to get out, inside exactly the confinement of the
 * options.
 *
 * confine-check prepares, tries and looks (checks/); it starts `confine run` with the same options. Here its
 * verdicts are held against what the report of that very run claims.
 *
 * Should:  end with 1 when anything crossed where the report says that nothing can.
 * Mustn't: be content with nothing tried; write in a workspace of the caller's, but for one directory that is
 *          removed again.
 */
#include "cli/check.h"
#include "cli/cli.h"
#include "cli/confinement.h"
#include "cli/output.h"
#include "kernel/program.h"
#include "policy/policy_rules.h"
#include "run/battery.h"
#include "util/json.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define BACKENDS_MAX      8
#define STATUS_OVER_CLAIM 1

/* One call. */
struct call {
    const struct options *options;
    char **argv; /* the words behind `check` */
    char **envp;
    const char *only;
    struct output html; /* opened once the first confinement is known */
    bool progress;      /* stderr is a terminal, and nobody asked for silence */
    struct confinement confinement;
    struct options own; /* the options, and the workspace that was made */
    struct strings own_words;
    char base[64];      /* the private directory outside */
    char workspace[96]; /* in it; empty: the caller's own is used, or there is none */
};

/* A directory that a view of its own does not replace. */
static int make_base(struct call *call, struct error *error)
{
    snprintf(call->base, sizeof(call->base), "/var/tmp/confine-check-XXXXXX");
    if (mkdtemp(call->base) && chmod(call->base, 0755) == 0)
        return 0;
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, errno, "no-place",
              "/var/tmp: no directory can be made there: %s", strerror(errno));
    call->base[0] = '\0';
    return error_hint(error, "the battery needs a place outside of what the command may write");
}

/* Resolves with the words that were given, and those of @more. */
static int resolve(struct call *call, const char *more, struct error *error)
{
    size_t count = 0;
    char **words;
    int result = 0;

    while (call->argv[count])
        count++;
    words = calloc(count + 2, sizeof(*words));
    if (!words || (more && strings_add(&call->own_words, more) < 0)) {
        free(words);
        return error_no_memory(error);
    }
    if (more)
        words[0] = call->own_words.items[call->own_words.count - 1];
    memcpy(words + (more ? 1 : 0), call->argv, count * sizeof(*words));
    result = options_parse(&call->own, "check", FOR_CHECK, words, error);
    free(words); /* the words themselves stay */
    if (result == 0)
        result = confinement_resolve(&call->confinement, &call->own, call->envp, error);
    return result;
}

/* Nobody named a workspace or a mode: one is made, so that everything can be tried. */
static int resolve_own(struct call *call, struct error *error)
{
    const struct policy *policy = &call->confinement.policy;
    struct error first = {0};
    char more[128];
    int result = resolve(call, NULL, &first);

    /* Without a workspace it may have failed for just that: the start directory, for instance. */
    if (policy->workspace || origin_named(policy->origin[KEY_MODE])) {
        *error = first;
        return result;
    }
    snprintf(call->workspace, sizeof(call->workspace), "%s/workspace", call->base);
    snprintf(more, sizeof(more), "--workspace=%s", call->workspace);
    if (mkdir(call->workspace, 0755) != 0)
        return error_set(error, ERROR_INTERNAL, errno, "no-place", "%s: %s", call->workspace,
                         strerror(errno));
    confinement_free(&call->confinement);
    options_free(&call->own);
    return resolve(call, more, error);
}

/* The rules of a list; or why there can be none beside what the options say. */
static int add_list(const struct policy *policy, struct strings *words)
{
    const struct entries *entries = &policy->list[LIST_ALLOW];
    int result = 0;

    if (policy->mode == MODE_DANGER_FULL_ACCESS || policy->network == NETWORK_HOST)
        return strings_add(words, "unlistable=the network is the host's");
    if (policy->upstream)
        return strings_add(words, "unlistable=another proxy decides behind ours");
    if (policy->network == NETWORK_LISTED && entries->count == 0)
        return strings_add(words, "unlistable=no rule allows anything");
    if (policy->proxy_env)
        result = strings_add(words, "proxy=yes");
    for (size_t i = 0; result == 0 && policy->network == NETWORK_LISTED && i < entries->count; i++) {
        struct text text = {0};
        struct rule rule;

        if (!entry_in_force(entries, i) || !rule_parse(entries->items[i].value, &rule))
            continue;
        rule_text(&rule, &text);
        result = text.failed ? -ENOMEM : strings_addf(words, "rule=%s", text.data);
        text_free(&text);
    }
    return result;
}

/* What the battery is told, up to the words that start the confinement. */
static int add_facts(const struct call *call, struct strings *words)
{
    const struct resolved *resolved = &call->confinement.resolved;
    const struct policy *policy = resolved->policy;
    int result = strings_add(words, "battery");

    result = result ?: strings_addf(words, "base=%s", call->base);
    result = result ?: strings_addf(words, "uid=%u", resolved->uid);
    result = result ?: strings_addf(words, "gid=%u", resolved->gid);
    if (*call->workspace)
        result = result ?: strings_addf(words, "own-workspace=%s", call->workspace);
    else if (resolved->workspace && resolved->mode != MODE_READ_ONLY)
        result = result ?: strings_addf(words, "workspace=%s", resolved->workspace);
    if (call->only)
        result = result ?: strings_addf(words, "only=%s", call->only);
    result = result ?: strings_addf(words, "limit-memory=%llu", (unsigned long long)policy->limit_memory);
    result =
        result ?: strings_addf(words, "limit-processes=%llu", (unsigned long long)policy->limit_processes);
    result = result ?: strings_addf(words, "limit-file=%llu", (unsigned long long)policy->limit_file_size);
    result = result ?: strings_addf(words, "limit-time=%llu", (unsigned long long)policy->limit_time_ms);
    result = result ?: strings_addf(words, "limit-cpu=%llu", (unsigned long long)policy->limit_cpu_ms);
    result = result ?: strings_addf(words, "limit-tmp=%llu", (unsigned long long)policy->limit_tmp_size);
    result = result ?: add_list(policy, words);
    return result ?: strings_add(words, "--");
}

/* The words that start this confinement as `confine run`. @backend: NULL: as the options say */
static int add_start(const struct call *call, const char *backend, struct strings *words)
{
    const char *self = program_path();
    int result = self ? strings_add(words, self) : -errno;

    result = result ?: strings_add(words, "run");
    for (size_t i = 0; result == 0 && i < call->own.given_count; i++) {
        const struct option_given *given = &call->own.given[i];
        bool is_backend = given->option->kind == OPTION_KEY && given->option->target == KEY_BACKEND;

        if (!(given->option->commands & FOR_RUN) || (backend && is_backend))
            continue;
        result = given->value ? strings_addf(words, "--%s=%s", given->option->name, given->value)
                              : strings_addf(words, "--%s", given->option->name);
    }
    if (result == 0 && backend)
        result = strings_addf(words, "--backend=%s", backend);
    return result;
}

static void show_progress(const struct call *call, const struct checked *checked, const json_t *line)
{
    struct text text = {0};

    if (!call->progress)
        return;
    if (line)
        text_addf(&text, "\r%s: %zu %-10s", checked->backend, json_array_size(checked->attempts),
                  json_string_value(json_object_get(line, "id")) ?: "");
    else
        text_addf(&text, "\r%60s\r", "");
    cli_say(&text);
}

static void take_line(const struct call *call, struct checked *checked, const char *text, size_t length)
{
    json_t *line = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    const char *type = json_string_value(json_object_get(line, "type"));

    if (type && strcmp(type, "attempt") == 0) {
        json_object_del(line, "type");
        if (json_array_append(checked->attempts, line) != 0)
            error_no_memory(&checked->error);
        show_progress(call, checked, line);
    } else if (type && strcmp(type, "run") == 0 && json_is_object(json_object_get(line, "report"))) {
        json_decref(checked->report);
        checked->report = json_incref(json_object_get(line, "report"));
    } else if (!type) {
        error_set(&checked->error, ERROR_INTERNAL, EPROTO, "battery-failed",
                  "%s: the battery said what cannot be read", checked->backend);
    }
    json_decref(line);
}

/* All lines of the battery, as they come. */
static void take_lines(const struct call *call, struct checked *checked, int fd)
{
    struct text text = {0};
    char block[1 << 14];
    ssize_t length;

    while ((length = read(fd, block, sizeof(block))) > 0 || (length < 0 && errno == EINTR)) {
        size_t done = 0;
        const char *end;

        if (length < 0)
            continue;
        text_add_bytes(&text, block, (size_t)length);
        if (text.failed)
            break;
        while ((end = memchr(text.data + done, '\n', text.length - done))) {
            take_line(call, checked, text.data + done, (size_t)(end - text.data) - done);
            done = (size_t)(end - text.data) + 1;
        }
        memmove(text.data, text.data + done, text.length - done + 1);
        text.length -= done;
    }
    if (text.failed)
        error_no_memory(&checked->error);
    text_free(&text);
    show_progress(call, checked, NULL);
}

static int run_battery(struct call *call, const char *backend, struct checked *checked)
{
    struct strings words = {0};
    int fd = -1, status = 0, result = add_facts(call, &words);
    pid_t child = -1;

    result = result ?: add_start(call, backend, &words);
    if (result < 0)
        result = error_no_memory(&checked->error);
    else
        result = battery_start(&call->confinement.resolved, words.items, &child, &fd, &checked->error);
    strings_free(&words);
    if (result < 0)
        return result;
    take_lines(call, checked, fd);
    close(fd);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    result = judge(checked);
    /* It ends with another status when the run was refused, and then the report says so. */
    if (result == 0 && status != 0)
        result = error_set(&checked->error, ERROR_INTERNAL, EPROTO, "battery-failed",
                           "%s: the battery did not come to its end", checked->backend);
    return result;
}

/* The directories are the command's user's; the outer one last, for then he can change what is in it. */
static int give_base(const struct call *call, struct error *error)
{
    const struct resolved *resolved = &call->confinement.resolved;

    if (geteuid() != 0 ||
        ((!*call->workspace || lchown(call->workspace, resolved->uid, resolved->gid) == 0) &&
         lchown(call->base, resolved->uid, resolved->gid) == 0))
        return 0;
    return error_set(error, ERROR_INTERNAL, errno, "no-place", "%s: %s", call->base, strerror(errno));
}

/* The page's file, before anything runs, and not where the command may write. */
static int open_html(struct call *call, struct error *error)
{
    const char *name = options_value(call->options, OPTION_OWN, OWN_HTML);

    if (!name || call->html.fd >= 0)
        return 0;
    return output_open(&call->html, "html", name, &call->confinement.resolved, error);
}

/* The private caches of a workspace that is gone. They are empty: no tool was started in it. By the rights of
 * the command's user, whose home it is. */
static void remove_caches(const struct resolved *resolved)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();

    setfsgid(resolved->gid);
    setfsuid(resolved->uid);
    for (size_t i = 0; i < resolved->path_count; i++)
        if (resolved->paths[i].grant == GRANT_WRITE && !resolved->paths[i].named &&
            strstr(resolved->paths[i].path, "/.cache/confine/caches/"))
            rmdir(resolved->paths[i].path);
    setfsuid(uid);
    setfsgid(gid);
}

/* One backend, from the base to the judgement. What keeps it from being tried stands in the error of
 * @checked. */
static void check_backend(struct call *call, const char *backend, struct checked *checked)
{
    const char *named = backend ? backend : options_value(call->options, OPTION_KEY, KEY_BACKEND);
    int result;

    snprintf(checked->backend, sizeof(checked->backend), "%s", named ? named : "auto");
    checked->attempts = json_array();
    call->workspace[0] = call->base[0] = '\0';
    result = checked->attempts ? make_base(call, &checked->error) : error_no_memory(&checked->error);
    if (result == 0)
        result = resolve_own(call, &checked->error);
    if (result == 0)
        result = open_html(call, &checked->error);
    if (result == 0)
        result = give_base(call, &checked->error);
    if (result == 0)
        run_battery(call, backend, checked);
    if (*call->workspace && *call->base)
        rmdir(call->workspace); /* the battery removes them, once it has come that far */
    if (*call->workspace)
        remove_caches(&call->confinement.resolved);
    if (*call->base)
        rmdir(call->base);
    confinement_free(&call->confinement);
    options_free(&call->own);
    strings_free(&call->own_words);
}

static void set_nothing_tried(const struct checked *checked, size_t count, struct error *error)
{
    struct text text = {0};

    judge_nothing(checked, count, &text);
    if (text.failed) {
        error_no_memory(error);
    } else {
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, ENOENT, "nothing-tried", "%s", text.data);
        error_hint(error, "see: confine check --list");
    }
    text_free(&text);
}

/* Return: the exit status for what was seen. */
static int conclude(const struct checked *checked, size_t count, bool all, struct error *error)
{
    unsigned proved = 0, over = 0;

    for (size_t i = 0; i < count; i++) {
        over += judge_surfaces(&checked[i], JUDGED_OVER_CLAIM);
        proved += judge_count(&checked[i], VERDICT_BLOCKED) + judge_count(&checked[i], VERDICT_CROSSED);
        if (checked[i].error.code != ERROR_NONE && !all)
            *error = checked[i].error;
    }
    if (over > 0)
        return STATUS_OVER_CLAIM;
    if (error->code == ERROR_NONE && proved == 0)
        set_nothing_tried(checked, count, error);
    return error->code == ERROR_NONE ? 0 : STATUS_REFUSED;
}

static void print_checked(const struct options *options, const struct checked *checked, size_t count,
                          struct text *text)
{
    json_t *root;

    if (!options->json) {
        judge_text(checked, count, options->verbosity, isatty(STDOUT_FILENO), text);
        return;
    }
    root = judge_json(checked, count);
    if (root)
        text_add_json(text, root);
    text_add(text, "\n");
    text->failed = text->failed || !root;
    json_decref(root);
}

/* Return: 0, or STATUS_REFUSED with a line on stderr. */
static int write_html(struct call *call, const struct checked *checked, size_t count)
{
    struct error error = {0};
    struct text text = {0};

    if (call->html.fd < 0)
        return 0;
    judge_html(checked, count, &text);
    if (text.failed)
        error_no_memory(&error);
    else
        output_write(&call->html, &text, &error);
    text_free(&text);
    return error.code == ERROR_NONE ? 0 : cli_fail(&error);
}

static int check_all(const struct options *options, char **argv, char **envp, struct error *error)
{
    static struct checked checked[BACKENDS_MAX];
    struct call call = {.options = options, .argv = argv, .envp = envp, .html = OUTPUT_NONE};
    struct text text = {0};
    size_t count = 0;
    bool all = options_value(options, OPTION_OWN, OWN_BACKENDS);
    int status;

    if (all && options_value(options, OPTION_KEY, KEY_BACKEND)) {
        error_set(error, ERROR_USAGE, EINVAL, "option-conflict",
                  "option --all: it is every backend, and --backend names one");
        error_hint(error, "leave one of the two out");
        return STATUS_REFUSED;
    }
    call.only = options_value(options, OPTION_OWN, OWN_ONLY);
    call.progress = options->verbosity >= 0 && !options->json && isatty(STDERR_FILENO);
    for (size_t i = 0; all && backend_table[i] && count < BACKENDS_MAX; i++)
        if (backend_table[i]->automatic)
            check_backend(&call, backend_table[i]->name, &checked[count++]);
    if (!all)
        check_backend(&call, NULL, &checked[count++]);
    status = conclude(checked, count, all, error);
    if (error->code == ERROR_NONE || all) {
        print_checked(options, checked, count, &text);
        if (cli_print(&text) != 0 || write_html(&call, checked, count) != 0)
            status = STATUS_REFUSED;
        /* The object is out already, and there is one. */
        if (error->code != ERROR_NONE)
            status = cli_fail(error);
        *error = (struct error){0};
    }
    for (size_t i = 0; i < count; i++)
        checked_free(&checked[i]);
    return status;
}

/* `--list`: what the battery knows, without running it. */
static void list_line(const json_t *line, bool json, const char *only, json_t *array, struct text *text)
{
    const char *id = json_string_value(json_object_get(line, "id")),
               *group = json_string_value(json_object_get(line, "group"));
    const char *surface = json_string_value(json_object_get(line, "surface"));

    if (!id || !group || !surface ||
        (only && fnmatch(only, id, 0) != 0 && fnmatch(only, group, 0) != 0 && fnmatch(only, surface, 0) != 0))
        return;
    if (json)
        json_array_append(array, (json_t *)(uintptr_t)line);
    else
        text_addf(text, "%-9s %-16s %s\n%26s %s\n%26s %s\n", id, surface,
                  json_string_value(json_object_get(line, "what")), "",
                  json_string_value(json_object_get(line, "call")), "",
                  json_string_value(json_object_get(line, "why")));
}

static int list_attempts(const struct options *options, struct error *error)
{
    static char list[] = "list";
    char *const words[] = {list, NULL};
    const char *only = options_value(options, OPTION_OWN, OWN_ONLY);
    _cleanup_free_ char *lines = NULL;
    json_t *array = json_array(), *root;
    struct text text = {0};
    size_t length = 0;
    pid_t child;
    int fd, result = battery_start(NULL, words, &child, &fd, error);

    if (result < 0)
        return cli_fail(error);
    result = fd_read_all(fd, 1 << 20, &lines, &length);
    close(fd);
    waitpid(child, NULL, 0);
    for (const char *line = lines; result == 0 && *line; line += strcspn(line, "\n") + 1) {
        json_t *value = json_loadb(line, strcspn(line, "\n"), 0, NULL);

        json_object_del(value, "type");
        list_line(value, options->json, only, array, &text);
        json_decref(value);
    }
    if (options->json) {
        root = json_pack("{s:s, s:s, s:O}", "schema", "confine/check-list/1", "version", CONFINE_VERSION,
                         "attempts", array);
        if (root)
            text_add_json(&text, root);
        text_add(&text, "\n");
        json_decref(root);
    }
    json_decref(array);
    if (result < 0)
        text.failed = true;
    return cli_print(&text);
}

int command_check(char **argv, char **envp)
{
    struct options options;
    struct error error = {0};
    struct text text = {0};
    int result = options_parse(&options, "check", FOR_CHECK, argv, &error), status;

    if (result == 0 && options.help) {
        help_command(command_by_name("check"), &text);
        status = cli_print(&text);
    } else if (result == 0 && options_value(&options, OPTION_OWN, OWN_LIST)) {
        status = list_attempts(&options, &error);
    } else {
        if (result == 0)
            result = cli_refuse_closed(&error);
        status = result == 0 ? check_all(&options, argv, envp, &error) : STATUS_REFUSED;
        if (error.code != ERROR_NONE)
            status = cli_fail_json(&error, options.json);
    }
    options_free(&options);
    return status;
}
