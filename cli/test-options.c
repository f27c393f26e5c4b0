/*
 * test-options.c - words of a command line become options, or one error that says what was meant.
 */
#include "harness.h"

#include "cli/later.h"
#include "cli/options.h"

#define WORDS_MAX 12

/* parse() - TEXT split at blanks; the words live until the test ends. */
static int parse(struct options *options, unsigned bit, const char *text, struct error *error)
{
    static char copy[512], *argv[WORDS_MAX + 1];
    size_t count = 0;

    snprintf(copy, sizeof(copy), "%s", text);
    for (char *rest = copy, *word; (word = strsep(&rest, " "));)
        if (*word && count < WORDS_MAX)
            argv[count++] = word;
    argv[count] = NULL;
    *error = (struct error){0};
    return options_parse(options,
                         bit == FOR_EXEC     ? "exec"
                         : bit == FOR_POLICY ? "policy"
                                             : "run",
                         bit, argv, error);
}

static const struct bad_row {
    const char *name;
    const char *words;
    const char *reason;
    const char *part; /* of the message */
    const char *hint; /* part of it, NULL: none */
} bad_rows[] = {
    {"nothing", "", "missing-command", "are missing", "-- COMMAND"},
    {"no command", "-w . --", "missing-command", "no command stands", "-- COMMAND"},
    {"no dashes", "make test", "missing-dashes", "make", "confine run -- make test"},
    {"no dashes after options", "-w . make -j2", "missing-dashes", "make", "confine run -w . -- make -j2"},
    {"dashes too late", "-w . env -- make", "missing-dashes", "env", "confine run -w . -- env make"},
    {"unknown", "--workspaec . -- true", "unknown-option", "--workspaec", "did you mean --workspace?"},
    {"abbreviation", "--work . -- true", "unknown-option", "--work", "did you mean --workspace?"},
    {"far from all", "--zzzzzzzz -- true", "unknown-option", "--zzzzzzzz", "confine help run"},
    {"case", "--Mode read-only -- true", "unknown-option", "--Mode", "did you mean --mode?"},
    {"other command's", "--verify -- true", "option-not-here", "--verify", "confine help run"},
    {"the report on stdout", "--json -- true", "option-not-here", "--json", "--report fd:1"},
    {"no near one is better than a wrong one", "--version -- true", "unknown-option", "--version",
     "confine --version"},
    {"what another sandbox calls it", "--memory 1G -- true", "unknown-option", "--memory",
     "--limit memory=SIZE"},
    {"what is so anyway", "--dev /dev -- true", "unknown-option", "--dev", "a /dev of its own"},
    {"the same with an equals sign", "--ro-bind=/ -- true", "unknown-option", "--ro-bind=/", "--read PATH"},
    {"short unknown", "-x -- true", "unknown-option", "-x", "confine help run"},
    {"short bundle", "-qv -- true", "unknown-option", "-qv", "a letter stands alone"},
    {"short with value", "-w. -- true", "unknown-option", "-w.", "write -w ."},
    {"single dash long", "-mode read-only -- true", "unknown-option", "-mode", "confine help run"},
    {"stdout as elsewhere", "--report - -- true", "option-value", "--report", "stdout is fd:1"},
    {"value missing", "--workspace", "option-value", "--workspace: a value must follow", "--workspace DIR"},
    {"value is dashes", "--workspace -- true", "option-value", "--workspace: a value", "--workspace DIR"},
    {"value is an option", "--report --quiet -- true", "option-value", "--report", "--report=--quiet"},
    {"empty value", "--mode= -- true", "option-value", "--mode: the value is empty", "write --mode MODE"},
    {"flag with value", "--wait-all=yes -- true", "option-value", "--wait-all: it takes no value",
     "--wait-all"},
    {"only dash", "- -- true", "missing-dashes", "-", "confine run -- - true"},
    {"equals only", "--=x -- true", "unknown-option", "--=x", "confine help run"},
};

TEST_EACH(wrong_words, struct bad_row, bad_rows)
{
    struct options options;
    struct error error;

    check(parse(&options, FOR_RUN, row->words, &error) < 0);
    check_int(error.code, ERROR_USAGE);
    check_str(error.reason, row->reason);
    check_has(error.message, row->part);
    if (row->hint)
        check_has(error.hint, row->hint);
    else
        check_str(error.hint, "");
    options_free(&options);
}

TEST(words_behind_the_dashes_are_the_commands)
{
    struct options options;
    struct error error;

    need(parse(&options, FOR_RUN, "-w . -- make --mode=danger-full-access -- -q", &error) == 0);
    check_int((long)options.given_count, 1);
    check_int(options.verbosity, 0);
    check_str(options.argv[0], "make");
    check_str(options.argv[1], "--mode=danger-full-access");
    check_str(options.argv[2], "--");
    check_str(options.argv[3], "-q");
    options_free(&options);
}

TEST(both_spellings_of_a_value)
{
    struct options options;
    struct error error;

    need(parse(&options, FOR_RUN, "--mode read-only --env=A=B -n none --report=fd:3 -- true", &error) == 0);
    check_str(options_value(&options, OPTION_KEY, KEY_MODE), "read-only");
    check_str(options_value(&options, OPTION_KEY, KEY_NETWORK), "none");
    check_str(options_value(&options, OPTION_ENV, 0), "A=B");
    check_str(options.report, "fd:3");
    check(!options_value(&options, OPTION_KEY, KEY_WORKSPACE));
    options_free(&options);
}

TEST(the_report_is_known_when_something_is_wrong)
{
    struct options options;
    struct error error;

    check(parse(&options, FOR_RUN, "--bogus --report /r --alsobogus -- true", &error) < 0);
    check_has(error.message, "--bogus"); /* the first error is the one */
    check_str(options.report, "/r");
    options_free(&options);
    /* A word that may be a model's is never read as an option. */
    check(parse(&options, FOR_RUN, "echo --report /r", &error) < 0);
    check(!options.report);
    options_free(&options);
}

TEST(paths_of_policy_need_no_dashes)
{
    struct options options;
    struct error error;

    need(parse(&options, FOR_POLICY, "-w . /etc /usr", &error) == 0);
    check_str(options.argv[1], "/usr");
    options_free(&options);
    need(parse(&options, FOR_POLICY, "-w .", &error) == 0);
    check(!options.argv);
    options_free(&options);
}

/* apply() - a policy of the built-in layer and these options. */
static int apply(struct policy *policy, struct options *options, unsigned bit, const char *words,
                 struct error *error)
{
    int result = parse(options, bit, words, error);

    need(result == 0);
    need(policy_init(policy, error) == 0);
    result = options_apply(options, policy, error);
    if (result == 0 && bit == FOR_RUN)
        result = later_refuse_run(options, policy, error);
    if (result == 0 && bit == FOR_EXEC)
        result = later_refuse_exec(options, policy, error);
    return result;
}

static const struct later_row {
    const char *name;
    unsigned bit;
    const char *words;
    const char *reason;
    const char *surface;
} later_rows[] = {
    {"tty inherit", FOR_RUN, "--tty inherit -- true", "not-in-this-version", "tty.inject"},
    {"exec quarantine", FOR_EXEC, "--planted quarantine -- true", "needs-supervisor", "later.exec"},
    {"exec listed", FOR_EXEC, "-n listed -- true", "needs-supervisor", "net.listed"},
    {"exec allow", FOR_EXEC, "--allow example.org -- true", "needs-supervisor", "net.listed"},
    {"exec forward", FOR_EXEC, "--forward 80 -- true", "needs-supervisor", "net.tcp"},
    {"exec publish", FOR_EXEC, "--publish 80 -- true", "needs-supervisor", "net.tcp"},
    {"exec session", FOR_EXEC, "--session x -- true", "needs-supervisor", ""},
    {"exec report", FOR_EXEC, "--report /r -- true", "needs-supervisor", ""},
    {"exec control", FOR_EXEC, "--control fd:3 -- true", "needs-supervisor", ""},
    {"exec timeout", FOR_EXEC, "--timeout 1s -- true", "needs-supervisor", "limit.time"},
    {"exec limit time", FOR_EXEC, "--limit time=1s -- true", "needs-supervisor", "limit.time"},
    {"exec limit memory", FOR_EXEC, "--limit memory=1G -- true", "needs-supervisor", "limit.memory"},
    {"exec limit processes", FOR_EXEC, "--limit processes=9 -- true", "needs-supervisor", "limit.processes"},
    {"exec limit output", FOR_EXEC, "--limit output=1M -- true", "needs-supervisor", "limit.output"},
    {"exec limit cpu", FOR_EXEC, "--limit cpu=10s -- true", "needs-supervisor", "limit.cpu"},
    {"exec grace", FOR_EXEC, "--grace 1s -- true", "needs-supervisor", ""},
    {"exec wait-all", FOR_EXEC, "--wait-all -- true", "needs-supervisor", "proc.survivor"},
    {"exec tmp", FOR_EXEC, "--tmp private -- true", "needs-supervisor", ""},
    {"exec tty", FOR_EXEC, "--tty none -- true", "needs-supervisor", "tty.inject"},
    {"exec private tty", FOR_EXEC, "--tty private -- true", "needs-supervisor", "tty.inject"},
    {"exec size", FOR_EXEC, "--size 80x24 -- true", "needs-supervisor", ""},
    {"exec planted", FOR_EXEC, "--planted report -- true", "needs-supervisor", "later.exec"},
    {"exec denials", FOR_EXEC, "--denials off -- true", "needs-supervisor", ""},
};

TEST_EACH(refused_and_not_ignored, struct later_row, later_rows)
{
    struct options options;
    struct policy policy = {0};
    struct error error;

    check(apply(&policy, &options, row->bit, row->words, &error) < 0);
    check_int(error.code, ERROR_SANDBOX_UNAVAILABLE);
    check_str(error.reason, row->reason);
    check_str(error.surface, row->surface);
    check_has(error.message, "option --");
    check(*error.hint);
    policy_free(&policy);
    options_free(&options);
}

static const struct good_row {
    const char *name;
    unsigned bit;
    const char *words;
} good_rows[] = {
    {"nothing asked", FOR_RUN, "-- true"},
    {"time", FOR_RUN, "--timeout 10m --grace 1s --wait-all -- true"},
    {"limits", FOR_RUN, "--limit time=10m,file_size=1G -- true"},
    {"off", FOR_RUN, "--denials off --tty none -- true"},
    {"asking", FOR_RUN, "--ask 2m --control fd:3 -- true"},
    {"observer", FOR_RUN, "--denials auto -- true"},
    {"session", FOR_RUN, "--session x --tmp session -- true"},
    {"network host", FOR_RUN, "-n host -- true"},
    {"temp", FOR_RUN, "--tmp private -- true"},
    {"exec", FOR_EXEC, "-w . --limit file_size=1G --tmp /x --hide /y -- true"},
};

TEST_EACH(taken, struct good_row, good_rows)
{
    struct options options;
    struct policy policy = {0};
    struct error error;

    check_int(apply(&policy, &options, row->bit, row->words, &error), 0);
    check_str(error.message, "");
    policy_free(&policy);
    options_free(&options);
}

TEST(options_are_named_and_the_strongest)
{
    struct options options;
    struct policy policy = {0};
    struct error error;

    need(apply(&policy, &options, FOR_RUN,
               "-w /w --write /a? --require fs.write,file --open proc.adjust -- true", &error) == 0);
    check_int(policy.mode, MODE_WORKSPACE_WRITE); /* by -w */
    check_int(policy.origin[KEY_MODE].layer, LAYER_OPTION);
    check_str(policy.origin[KEY_WORKSPACE].option, "--workspace");
    check_str(policy.list[LIST_WRITE].items[0].value, "/a");
    check(policy.list[LIST_WRITE].items[0].optional);
    check_int((long)policy.list[LIST_REQUIRE].count, 2);
    check_int((long)policy.list[LIST_OPEN].count, 1);
    check(origin_named(policy.list[LIST_OPEN].items[0].origin));
    policy_free(&policy);
    options_free(&options);
    need(apply(&policy, &options, FOR_RUN, "-m read-only -w /w -- true", &error) == 0);
    check_int(policy.mode, MODE_READ_ONLY); /* what is said is stronger than what is implied */
    policy_free(&policy);
    options_free(&options);
}

static const struct value_row {
    const char *name;
    const char *words;
    const char *part;
} value_rows[] = {
    {"limit without value", "--limit time -- true", "KEY=VALUE"},
    {"unknown limit", "--limit tme=1s -- true", "tme"},
    {"empty word", "--require fs.write,, -- true", "a word is missing"},
    {"env without name", "--env =x -- true", "has no name"},
    {"mode", "--mode full -- true", "full"},
    {"network", "--network all -- true", "all"},
    {"duration", "--timeout soon -- true", "soon"},
};

TEST_EACH(wrong_values, struct value_row, value_rows)
{
    struct options options;
    struct policy policy = {0};
    struct error error;

    check(apply(&policy, &options, FOR_RUN, row->words, &error) < 0);
    check_has(error.message, row->part);
    check(error.code == ERROR_USAGE);
    policy_free(&policy);
    options_free(&options);
}

TEST(the_table_is_sound)
{
    for (const struct option *a = option_table; a->name; a++) {
        check(a->commands != 0);
        check(*a->group && *a->what);
        check(a->what[strlen(a->what) - 1] != '.');
        for (const struct option *b = option_table; b < a; b++) {
            check(strcmp(a->name, b->name) != 0);
            check(!a->letter || a->letter != b->letter);
        }
    }
}
