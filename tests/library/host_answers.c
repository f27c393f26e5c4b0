/* host_answers.c - answers in JSON, and calls that are wrong. */
#include "host_calls.h"

/* --- answers in JSON ------------------------------------------------------------------------------------ */

TEST(what_this_machine_can_do)
{
    char *json = NULL;

    check_int(confine_probe(&options, &json), CONFINE_OK);
    check_has(json, "\"schema\": \"confine/probe/1\"");
    confine_free(json);
}

TEST(what_would_run)
{
    char *json = NULL;

    check_int(confine_plan(&options, WORDS("true", "--", "x"), &json), CONFINE_OK);
    check_has(json, "\"schema\": \"confine/plan/1\"");
    confine_free(json);
}

/* A plan's own words, held against a failure and against a command that says less. */
TEST(whose_failure_it_was)
{
    const char *line = NULL;
    char *json = NULL;

    check_int(confine_plan(&options, WORDS("true"), &json), CONFINE_OK);
    check_int(confine_match_runner_failure(json, 125, "landlock-run: fatal: x\n", &line), CONFINE_OK);
    check_has(line ? line : "", "landlock-run");
    check_int(confine_match_runner_failure(json, 125, "false: x\n", &line), CONFINE_OK);
    check(!line);
    confine_free(json);
}

TEST(what_is_allowed)
{
    struct confine_options with = options;
    char *json = NULL;

    with.policy = "{\"policy\": 1, \"read\": [\"/etc\"]}";
    check_int(confine_explain(&with, WORDS("/etc/passwd", "/usr"), &json), CONFINE_OK);
    check_has(json, "/etc/passwd");
    confine_free(json);
    check_int(confine_explain(&with, NULL, &json), CONFINE_OK);
    confine_free(json);
}

TEST(what_is_refused_is_json_too)
{
    struct confine_options with = options;
    char *json = NULL;

    with.policy = "{\"policy\": 1, \"raed\": []}";
    check_int(confine_plan(&with, WORDS("true"), &json), CONFINE_E_REFUSED);
    check_has(json, "\"code\": \"POLICY_INVALID\"");
    check_has(json, "read"); /* the nearest key */
    confine_free(json);
    with.policy = NULL;
    with.words = WORDS("--backend", "nonsense");
    check_int(confine_probe(&with, &json), CONFINE_E_REFUSED);
    check_has(json, "\"error\": {");
    confine_free(json);
}

/* --- calls that are wrong ------------------------------------------------------------------------------- */

static const struct wrong {
    const char *name;
    struct confine_options options;
} wrong[] = {
    {"no size", {.size = 0}},
    {"a smaller size", {.size = sizeof(struct confine_options) - 1}},
    {"an absurd size", {.size = 1 << 20}},
    {"a program below 0", {.size = sizeof(struct confine_options), .program = -1}},
    {"a directory below 0", {.size = sizeof(struct confine_options), .directory = -1}},
    {"descriptors that are not there", {.size = sizeof(struct confine_options), .descriptor_count = 1}},
    {"dashes", {.size = sizeof(struct confine_options), .words = (const char *const[]){"--", "true", NULL}}},
    {"a channel",
     {.size = sizeof(struct confine_options), .words = (const char *const[]){"--control=fd:3", NULL}}},
    {"a report",
     {.size = sizeof(struct confine_options), .words = (const char *const[]){"--report", "/tmp/x", NULL}}},
    {"help", {.size = sizeof(struct confine_options), .words = (const char *const[]){"--help", NULL}}},
    {"help by its letter",
     {.size = sizeof(struct confine_options), .words = (const char *const[]){"-h", NULL}}},
};

TEST_EACH(is_a_wrong_call, struct wrong, wrong)
{
    size_t before = count_open();
    struct confine_run *run = (void *)&before; /* which no handle may be given back as */

    check_int(confine_spawn(&row->options, WORDS("true"), &run), CONFINE_E_ARGUMENT);
    check(run == NULL);
    check_int(count_open(), before);
}

TEST(other_wrong_calls)
{
    static const struct {
        struct confine_options options;
        int of_later;
    } later = {{.size = sizeof(later)}, 1};
    struct confine_options with = options;
    struct confine_run *run = NULL;
    char *json;

    check_int(confine_spawn(&later.options, WORDS("true"), &run), CONFINE_E_ARGUMENT);
    check_int(confine_spawn(&options, NULL, &run), CONFINE_E_ARGUMENT);
    check_int(confine_spawn(&options, (const char *const[]){NULL}, &run), CONFINE_E_ARGUMENT);
    check_int(confine_spawn(&options, WORDS("true"), NULL), CONFINE_E_ARGUMENT);
    check_int(confine_plan(&options, NULL, &json), CONFINE_E_ARGUMENT);
    check_int(confine_plan(&options, WORDS("true"), NULL), CONFINE_E_ARGUMENT);
    check_int(confine_run_wait(NULL, 0, NULL, NULL), CONFINE_E_ARGUMENT);
    check_int(confine_run_fd(NULL), CONFINE_E_ARGUMENT);
    with.policy = "{}";
    check_int(confine_probe(&with, &json), CONFINE_E_ARGUMENT);
    confine_run_unref(NULL);
    confine_free(NULL);
}

TEST(a_program_that_is_none)
{
    struct confine_options with = options;
    size_t before = count_open();
    struct confine_run *run = NULL;
    char *json = NULL;

    with.program = open("/usr", O_PATH | O_CLOEXEC);
    check_int(confine_spawn(&with, WORDS("true"), &run), CONFINE_E_PROGRAM);
    check_int(errno, EACCES);
    close(with.program);
    with.program = open("/bin/true", O_PATH | O_CLOEXEC);
    check_int(confine_probe(&with, &json), CONFINE_E_PROGRAM);
    check_int(errno, EPROTO);
    check(json == NULL);
    close(with.program);
    with = options;
    with.directory = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
    check_int(confine_spawn(&with, WORDS("true"), &run), CONFINE_E_SYSTEM);
    check_int(errno, ENOTDIR);
    close(with.directory);
    check(run == NULL);
    check_int(count_open(), before);
}

TEST(the_program_that_it_was_installed_with)
{
    static const struct confine_options installed = {.size = sizeof(installed)};
    struct confine_run *run = NULL;
    int r = confine_spawn(&installed, WORDS("true"), &run);

    if (getenv("CONFINE_INSTALLED_NOWHERE")) {
        check_int(r, CONFINE_E_PROGRAM);
        check_int(errno, ENOENT);
    } else if (check_int(r, CONFINE_OK)) {
        check_int(end_of(run).kind, CONFINE_ENDED_EXITED);
    }
}
