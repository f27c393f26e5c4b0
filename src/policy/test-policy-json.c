/*
 * test-policy-json.c - the reader of one file: what it refuses, where, and what it hints.
 */
#include "test-policy.h"

static int read_text(const char *text, size_t length, enum layer layer)
{
    int fd, result;

    put_bytes("p.json", text, length, 0644);
    fd = open(in_dir("p.json"), O_RDONLY | O_CLOEXEC);
    need(fd >= 0);
    result = policy_read_file(&policy, fd, "/dir/p.json", layer, &error);
    close(fd);
    return result;
}

/* Valid JSON or not, none of these is a policy. `at`: line and column. */
static const struct bad_row {
    const char *name, *text, *at, *part, *hint;
} bad[] = {
    {"nothing", "", "1:1", "end of file", ""},
    {"no_object", "[1]", "1:1", "a policy must be an object, not an array", ""},
    {"only_text", "\"x\"", "1:1", "must be an object, not a text", ""},
    {"no_version", "{\"mode\": \"read-only\"}", "1:1", "`policy` is missing", "begins with"},
    {"version_2", "{\"policy\": 2}", "1:12", "policy must be 1", "later version"},
    {"version_text", "{\"policy\": \"1\"}", "1:12", "policy must be 1", ""},
    {"version_fraction", "{\"policy\": 1.0}", "1:12", "policy must be 1", ""},
    {"trailing", "{\"policy\": 1} x", "1:15", "end of file expected", ""},
    {"repeated", "{\"policy\": 1,\n \"mode\": \"read-only\",\n \"mode\": \"read-only\"}", "3:2", "duplicate",
     ""},
    {"comma", "{\"policy\": 1,}", "1:14", "", ""},
    {"unknown", "{\"policy\": 1,\n  \"wirte\": []}", "2:3", "unknown key wirte", "did you mean `write`?"},
    {"unknown_special", "{\"policy\": 1, \"networks\": {}}", "1:15", "unknown key networks", "`network`"},
    {"unknown_far", "{\"policy\": 1, \"xyzzy\": 1}", "1:15", "unknown key xyzzy", "confine-policy(5)"},
    {"unknown_option", "{\"policy\": 1, \"timeout\": \"1s\"}", "1:15", "unknown key timeout",
     "here the option --timeout is called limits.time"},
    {"unknown_option_env", "{\"policy\": 1, \"env\": {}}", "1:15", "unknown key env",
     "here the option --env is called environment.set"},
    {"unknown_beginning", "{\"policy\": 1, \"environ\": {}}", "1:15", "unknown key environ", "`environment`"},
    {"unknown_case", "{\"policy\": 1, \"Mode\": \"read-only\"}", "1:15", "unknown key Mode", "`mode`"},
    {"unknown_escaped", "{\"policy\": 1, \"\\u001b[31m\": 1}", "1:15", "unknown key \"\\x1b[31m\"", ""},
    {"empty_key", "{\"policy\": 1, \"\": 1}", "1:15", "unknown key \"\"", ""},
    {"dotted_key", "{\"policy\": 1, \"limits.time\": \"1s\"}", "1:15", "unknown key limits.time", ""},
    {"misplaced", "{\"policy\": 1, \"allow\": []}", "1:15", "unknown key allow",
     "its place is inside network"},
    {"misplaced_in", "{\"policy\": 1, \"limits\": {\"mode\": 1}}", "1:26", "unknown key mode in limits",
     "its place is"},
    {"option_only", "{\"policy\": 1, \"chdir\": \"x\"}", "1:15", "unknown key chdir", "option only: --chdir"},
    {"approved_mode", "{\"policy\": 1, \"approved_mode\": \"read-only\"}", "1:15", "unknown key",
     "option only"},
    {"mode_type", "{\"policy\": 1, \"mode\": 1}", "1:23", "mode must be a text, not a number", ""},
    {"mode_null", "{\"policy\": 1, \"mode\": null}", "1:23", "not null", ""},
    {"mode_value", "{\"policy\": 1,\n\"mode\":\n  \"read-onyl\"}", "3:3", "read-onyl is not one of",
     "`read-only`"},
    {"list_type", "{\"policy\": 1, \"write\": \"/x\"}", "1:24", "write must be a list, not a text", ""},
    {"item_type", "{\"policy\": 1, \"write\": [\"/x\",\n 7]}", "2:2", "not a number", ""},
    {"item_empty", "{\"policy\": 1, \"write\": [\"\"]}", "1:25", "is not a path", ""},
    {"item_key", "{\"policy\": 1, \"write\": [{\"path\": \"/x\", \"optoinal\": true}]}", "1:40",
     "unknown key optoinal", "`optional`"},
    {"item_no_path", "{\"policy\": 1, \"write\": [{\"why\": \"x\"}]}", "1:25", "has no `path`", ""},
    {"item_optional", "{\"policy\": 1, \"write\": [{\"path\": \"/x\", \"optional\": \"yes\"}]}", "1:52",
     "true or false", ""},
    {"item_why", "{\"policy\": 1, \"write\": [{\"path\": \"/x\", \"why\": 1}]}", "1:47", "why must be a text",
     ""},
    {"item_repeated", "{\"policy\": 1, \"write\": [{\"path\": \"/x\", \"path\": \"/y\"}]}", "1:40",
     "duplicate", ""},
    {"set_unknown", "{\"policy\": 1, \"hide\": [\"/a\", \"@credential\"]}", "1:30", "is no set",
     "`@credentials`"},
    {"set_of_names", "{\"policy\": 1, \"hide\": [\"@secrets\"]}", "1:24", "not a set that can stand here",
     ""},
    {"group_type", "{\"policy\": 1, \"network\": \"none\"}", "1:26", "network must be an object", ""},
    {"network_mode", "{\"policy\": 1, \"network\": {\"mode\": \"off\"}}", "1:35",
     "off is not one of none, listed, host", ""},
    {"network_key", "{\"policy\": 1, \"network\": {\"alow\": []}}", "1:27", "unknown key alow in network",
     "`allow`"},
    {"rule", "{\"policy\": 1, \"network\": {\"allow\": [\"http://x\"]}}", "1:37", "http://x is not NAME", ""},
    {"network_none_and_list", "{\"policy\": 1, \"network\": {\"mode\": \"none\", \"allow\": [\"a.org\"]}}",
     "1:43", "network.allow: it means nothing with the network none", "leave `mode` out"},
    {"network_list_and_host", "{\"policy\": 1, \"network\": {\"allow\": [\"a.org\"], \"mode\": \"host\"}}",
     "1:27", "it means nothing with the network host", "leave `mode` out"},
    {"upstream", "{\"policy\": 1, \"network\": {\"upstream\": \"foo\"}}", "1:39",
     "network.upstream: foo is not http://[USER:PASSWORD@]HOST:PORT", ""},
    {"upstream_secret", "{\"policy\": 1, \"network\": {\"upstream\": \"http://u:p@x\"}}", "1:39",
     "the URL (it has a password)", ""},
    {"limit_zero", "{\"policy\": 1, \"limits\": {\"time\": 0}}", "1:34", "is not a duration", ""},
    {"limit_negative", "{\"policy\": 1, \"limits\": {\"processes\": -1}}", "1:39", "whole number", ""},
    {"limit_fraction", "{\"policy\": 1, \"limits\": {\"processes\": 1.5}}", "1:39", "not a fraction", ""},
    {"limit_key", "{\"policy\": 1, \"limits\": {\"filesize\": 1}}", "1:26", "unknown key filesize",
     "`file_size`"},
    {"clean_type", "{\"policy\": 1, \"environment\": {\"clean\": 1}}", "1:40", "must be true or false", ""},
    {"set_type", "{\"policy\": 1, \"environment\": {\"set\": [\"A=b\"]}}", "1:38", "an object of names", ""},
    {"set_value", "{\"policy\": 1, \"environment\": {\"set\": {\"A\": 1}}}", "1:44", "must be a text", ""},
    {"set_name", "{\"policy\": 1, \"environment\": {\"set\": {\"A=B\": \"c\"}}}", "1:39",
     "no name of a variable", ""},
    {"require", "{\"policy\": 1, \"require\": [\"fs.wirte\"]}", "1:27", "is not a surface", "`fs.write`"},
    {"opening", "{\"policy\": 1, \"open\": [\"env.secrets\"]}", "1:24", "cannot be opened", "--env NAME"},
    {"locked", "{\"policy\": 1, \"locked\": [\"mdoe\"]}", "1:26", "no key that can be locked", "`mode`"},
    {"locked_type", "{\"policy\": 1, \"locked\": [1]}", "1:26", "locked must be", ""},
    {"extends_type", "{\"policy\": 1, \"extends\": \"base\"}", "1:26", "extends must be a list", ""},
    {"extends_path", "{\"policy\": 1, \"extends\": [\"../x\"]}", "1:27", "is no name", "NAME.json"},
    {"runner_key", "{\"policy\": 1, \"runner\": {\"comand\": []}}", "1:26", "unknown key comand in runner",
     "`command`"},
    {"runner_empty", "{\"policy\": 1, \"runner\": {\"command\": []}}", "1:25", "runner has no `command`", ""},
    {"runner_relative", "{\"policy\": 1, \"runner\": {\"command\": [\"opt/r\"]}}", "1:15",
     "the runner opt/r is not named from / on", "/usr/bin/NAME"},
    {"runner_lines",
     "{\"policy\": 1, \"runner\": {\"command\": [\"/r\"], \"failure_signatures\": [\"a\\nb\"]}}", "1:25",
     "must be part of one line", ""},
    {"runner_blank", "{\"policy\": 1, \"runner\": {\"command\": [\"/r\"], \"failure_signatures\": [\"  \"]}}",
     "1:25", "must be part of one line", ""},
    {"runner_script", "{\"policy\": 1, \"runner\": {\"command\": [\"/r\"], \"runner_is_script\": 1}}", "1:65",
     "must be true or false", ""},
    {"runner_type", "{\"policy\": 1, \"runner\": {\"command\": [1]}}", "1:38", "command must be", ""},
    {"schema_type", "{\"policy\": 1, \"$schema\": 1}", "1:26", "$schema must be a text", ""},
    {"bom", "\xef\xbb\xbf{\"policy\": 1}", "1:1", "", ""},
};

TEST_EACH(reader_refuses, struct bad_row, bad)
{
    char where[64];

    start();
    check_int(read_text(row->text, strlen(row->text), LAYER_USER), -EINVAL);
    check_int(error.code, ERROR_POLICY_INVALID);
    snprintf(where, sizeof(where), "/dir/p.json:%s: ", row->at);
    if (!check(strncmp(error.message, where, strlen(where)) == 0))
        test_note("seen: %s", error.message);
    check_has(error.message, row->part);
    check_has(error.hint, row->hint);
    for (const char *byte = error.message; *byte; byte++)
        need((unsigned char)*byte >= 0x20);
    policy_free(&policy);
}

static const char everything[] =
    "{\"$schema\": \"x\", \"policy\": 1, \"mode\": \"workspace-write\", \"workspace\": \"@git\",\n"
    " \"read\": [\"/r\"], \"readable\": \"listed\",\n"
    " \"write\": [{\"path\": \"~/.cache/go-build\", \"optional\": true, \"why\": \"go build cache\"}, "
    "\"w?\"],\n"
    " \"hide\": [\"!@credentials\", \"x\"], \"show\": [\"y\"], \"protect\": [\"z\"], \"unprotect\": "
    "[\"u\"],\n"
    " \"sockets\": [\"@ssh-agent\"], \"devices\": [\"/dev/kvm\"], \"caches\": \"off\", \"tmp\": \"t/x\",\n"
    " \"network\": {\"allow\": [\"a.org\", {\"rule\": \"*.b.org:443\", \"why\": \"b\"}], \"forward\": "
    "[\"5432\"]},\n"
    " \"environment\": {\"clean\": true, \"set\": {\"A\": \"b=c\"}, \"unset\": [\"U\"], \"pass\": "
    "[\"MY_TOKEN\"]},\n"
    " \"limits\": {\"time\": \"10m\", \"output\": \"16M\", \"processes\": 100, \"memory\": 1048576, \"cpu\": "
    "5},\n"
    " \"grace\": \"1s\", \"wait_all\": false, \"user\": 1000, \"tty\": \"none\",\n"
    " \"backend\": \"landlock\", \"require\": [\"file\"], \"open\": [\"proc.adjust\"], \"locked\": "
    "[\"mode\"]}";

TEST(reader_reads_everything)
{
    const struct entry *entry;

    start();
    if (!check_int(read_text(everything, strlen(everything), LAYER_USER), 0))
        test_note("seen: %s", error.message);
    check_int(policy.mode, MODE_WORKSPACE_WRITE);
    check_str(policy.workspace, "@git");
    check_str(policy.workspace_base, "/dir");
    check(policy.readable_listed);
    entry = policy.list[LIST_WRITE].items;
    check_int(policy.list[LIST_WRITE].count, 2);
    check_str(entry[0].value, "~/.cache/go-build");
    check_str(entry[0].why, "go build cache");
    check(entry[0].optional && entry[1].optional);
    check_str(entry[1].value, "w");
    check_str(entry[1].base, "/dir");
    check_int(entry[1].origin.line, 3);
    check_int(entry[1].origin.column, 86);
    check_int(entry[1].origin.layer, LAYER_USER);
    check_str(entry[1].origin.file, "/dir/p.json");
    check(!entry_in_force(&policy.list[LIST_HIDE], 0));
    check_int(policy.tmp, TMP_DIRECTORY);
    check_int(policy.network, NETWORK_LISTED); /* implied by allow */
    check_int(policy.origin[KEY_NETWORK].line, 6);
    check_str(policy.list[LIST_ALLOW].items[1].value, "*.b.org:443");
    check_str(policy.list[LIST_ENV_SET].items[0].value, "A=b=c");
    check_str(policy.list[LIST_ENV_PASS].items[0].value, "MY_TOKEN");
    check_int(policy.limit_time_ms, 600000);
    check_int(policy.limit_output, 16777216);
    check_int(policy.limit_processes, 100);
    check_int(policy.limit_memory, 1048576);
    check_int(policy.limit_cpu_ms, 5000);
    check_int(policy.grace_ms, 1000);
    check_int(policy.user, USER_ID);
    check_int(policy.user_id, 1000);
    check_str(policy.backend, "landlock");
    check(policy.locked >> KEY_MODE & 1);
    check_int(policy_set(&policy, KEY_MODE, "read-only", NULL,
                         (struct origin){.layer = LAYER_OPTION, .option = "--mode"}, &error),
              -EINVAL);
    check_str(error.reason, "locked");
    check_has(error.message, "/dir/p.json:10:");
    policy_free(&policy);
}

TEST(own_lock_does_not_bind_the_same_file)
{
    static const char text[] = "{\"locked\": [\"mode\"], \"policy\": 1, \"mode\": \"workspace-write\"}";

    start();
    check_int(read_text(text, strlen(text), LAYER_SYSTEM), 0);
    check_int(policy.mode, MODE_WORKSPACE_WRITE);
    policy_free(&policy);
}

TEST(explicit_network_mode_is_not_overruled)
{
    static const char text[] = "{\"policy\": 1, \"network\": {\"allow\": [], \"mode\": \"none\"}}";

    start();
    check_int(read_text(text, strlen(text), LAYER_SYSTEM), 0);
    check_int(policy.network, NETWORK_NONE);
    policy_free(&policy);
}

static int read_runner(const char *runner, enum layer layer)
{
    struct text text = {0};
    int r;

    text_addf(&text, "{\"policy\": 1, \"runner\": %s}", runner);
    r = read_text(text.data, text.length, layer);
    text_free(&text);
    return r;
}

TEST(runner_is_read)
{
    start();
    check_int(read_runner("{\"command\": [\"/opt/r\", \"-x\"], \"failure_signatures\": [\"r: \", \"no r\"], "
                          "\"runner_is_script\": true}",
                          LAYER_SYSTEM),
              0);
    check_int(policy.runner.command.count, 2);
    check_str(policy.runner.command.items[1], "-x");
    check_int(policy.runner.failure_signatures.count, 2);
    check(policy.runner.is_script);
    check_int(policy.runner.origin.layer, LAYER_SYSTEM);
    /* The later one wins as a whole. */
    check_int(read_runner("{\"command\": [\"/opt/s\"]}", LAYER_USER), 0);
    check_int(policy.runner.command.count, 1);
    check_str(policy.runner.command.items[0], "/opt/s");
    check_int(policy.runner.failure_signatures.count, 0);
    check(!policy.runner.is_script);
    policy_free(&policy);
}

TEST(runner_is_locked)
{
    static const char locked[] =
        "{\"policy\": 1, \"runner\": {\"command\": [\"/opt/r\"]}, \"locked\": [\"runner\"]}";

    start();
    check_int(read_text(locked, strlen(locked), LAYER_SYSTEM), 0);
    check_int(read_runner("{\"command\": [\"/opt/r\"]}", LAYER_USER), 0);
    check_int(read_runner("{\"command\": [\"/opt/r\"], \"runner_is_script\": true}", LAYER_USER), -EINVAL);
    check_str(error.reason, "locked");
    check_int(read_runner("{\"command\": [\"/opt/s\"]}", LAYER_FILE), -EINVAL);
    check_str(error.reason, "locked");
    check_str(policy.runner.command.items[0], "/opt/r");
    check(!policy.runner.is_script);
    policy_free(&policy);
}

TEST(root_of_the_file_system_is_a_base)
{
    int fd;

    start();
    put("p.json", "{\"policy\": 1, \"read\": [\"x\"]}");
    fd = open(in_dir("p.json"), O_RDONLY | O_CLOEXEC);
    check_int(policy_read_file(&policy, fd, "/p.json", LAYER_USER, &error), 0);
    check_str(policy.list[LIST_READ].items[0].base, "/");
    check_int(policy_read_file(&policy, fd, "/p.json", LAYER_USER, &error), -EINVAL); /* at its end: empty */
    close(fd);
    policy_free(&policy);
}

TEST(json_numbers_and_texts_mean_the_same)
{
    static const char text[] =
        "{\"policy\": 1, \"limits\": {\"time\": \"5\", \"cpu\": 5, \"output\": 5, \"file_size\": \"5\"}}";

    start();
    check_int(read_text(text, strlen(text), LAYER_USER), 0);
    check_int(policy.limit_time_ms, policy.limit_cpu_ms);
    check_int(policy.limit_output, policy.limit_file_size);
    policy_free(&policy);
}
