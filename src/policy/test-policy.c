/*
 * test-policy.c - the table of keys, values, merging, locks.
 */
#include "harness.h"

#include "policy/policy.h"
#include "policy/policy_keys.h"

static const struct origin system_origin = {
    .layer = LAYER_SYSTEM, .file = "/etc/confine/policy.json", .line = 3, .column = 5};
static const struct origin user_origin = {
    .layer = LAYER_USER, .file = "/home/u/policy.json", .line = 1, .column = 2};
static const struct origin option_origin = {.layer = LAYER_OPTION, .option = "--it"};

static struct policy policy;
static struct error error;

static void start(void)
{
    need(policy_init(&policy, &error) == 0);
}

TEST(table_is_complete)
{
    for (int key = 0; key < KEY_COUNT; key++) {
        int rows = 0;

        for (const struct policy_key *row = policy_keys; row->name; row++)
            rows += row->scalar == key;
        check_int(rows, 1);
        check(strcmp(key_name((enum key)key), "unknown") != 0);
    }
    for (int list = 0; list < LIST_COUNT; list++) {
        int rows = 0;

        for (const struct policy_key *row = policy_keys; row->name; row++)
            rows += row->list == list;
        check_int(rows, 1);
        check(strcmp(list_name((enum list)list), "unknown") != 0);
    }
    for (const struct policy_key *row = policy_keys; row->name; row++) {
        check((row->scalar >= 0) != (row->list >= 0));
        check((row->list >= 0) == (row->kind >= KIND_PATHS));
        check(row->kind != KIND_NONE && *row->what && row->option);
        check(policy_key_by_name(row->name) == row);
        check(kind_expected(row->kind) != NULL);
    }
    check(policy_key_by_name("nothing") == NULL);
    check(policy_key_by_name("") == NULL);
}

TEST(layers_have_names)
{
    check_str(layer_name(LAYER_BUILTIN), "built-in");
    for (int a = 0; a < LAYER_COUNT; a++)
        for (int b = 0; b < a; b++)
            check(strcmp(layer_name((enum layer)a), layer_name((enum layer)b)) != 0);
}

TEST(built_in_layer_is_modest_and_implied)
{
    start();
    check_int(policy.mode, MODE_READ_ONLY);
    check_int(policy.network, NETWORK_NONE);
    check_int(policy.grace_ms, 3000);
    check_int(policy.caches, CACHES_PRIVATE);
    check_int(policy.tmp, TMP_PRIVATE);
    check(policy.backend == NULL && policy.workspace == NULL);
    check_int(policy.list[LIST_HIDE].count, 1);
    check_str(policy.list[LIST_HIDE].items[0].value, "@credentials");
    check_str(policy.list[LIST_PROTECT].items[0].value, "@runs-later");
    check_str(policy.list[LIST_ENV_UNSET].items[0].value, "@secrets");
    check(!origin_named(policy.list[LIST_HIDE].items[0].origin));
    for (int key = 0; key < KEY_COUNT; key++)
        check(!origin_named(policy.origin[key]));
    policy_free(&policy);
    check(policy.list[LIST_HIDE].items == NULL);
}

static const struct value_row {
    const char *name;
    enum key key;
    const char *value;
    bool good;
} values[] = {
    {"mode", KEY_MODE, "workspace-write", true},
    {"mode_case", KEY_MODE, "Read-Only", false},
    {"mode_part", KEY_MODE, "read", false},
    {"mode_empty", KEY_MODE, "", false},
    {"mode_invalid", KEY_MODE, "invalid", false},
    {"network", KEY_NETWORK, "host", true},
    {"network_bad", KEY_NETWORK, "all", false},
    {"readable", KEY_READABLE, "listed", true},
    {"readable_bad", KEY_READABLE, "true", false},
    {"caches", KEY_CACHES, "off", true},
    {"tmp", KEY_TMP, "session", true},
    {"tmp_directory", KEY_TMP, "/var/tmp/x", true},
    {"tmp_mistake", KEY_TMP, "privat", false},
    {"backend", KEY_BACKEND, "landlock", true},
    {"backend_auto", KEY_BACKEND, "auto", true},
    {"backend_bad", KEY_BACKEND, "docker", false},
    {"user", KEY_USER, "keep", true},
    {"user_id", KEY_USER, "1000", true},
    {"user_name", KEY_USER, "alice", false},
    {"user_minus", KEY_USER, "-1", false},
    {"user_no_change", KEY_USER, "4294967295", false},
    {"flag", KEY_WAIT_ALL, "true", true},
    {"flag_yes", KEY_WAIT_ALL, "yes", false},
    {"size", KEY_SIZE, "80x24", true},
    {"size_zero", KEY_SIZE, "0x24", false},
    {"size_sign", KEY_SIZE, "80x-4", false},
    {"size_more", KEY_SIZE, "80x24x2", false},
    {"size_wide", KEY_SIZE, "70000x24", false},
    {"workspace", KEY_WORKSPACE, "@git", true},
    {"workspace_empty", KEY_WORKSPACE, "", false},
    {"time", KEY_LIMIT_TIME, "10m", true},
    {"time_zero", KEY_LIMIT_TIME, "0", false},
    {"grace_zero", KEY_GRACE, "0s", true},
    {"memory", KEY_LIMIT_MEMORY, "512M", true},
    {"memory_small", KEY_LIMIT_MEMORY, "512m", false},
    {"processes", KEY_LIMIT_PROCESSES, "100", true},
    {"processes_unit", KEY_LIMIT_PROCESSES, "1K", false},
    {"processes_octal", KEY_LIMIT_PROCESSES, "010", false},
    {"processes_space", KEY_LIMIT_PROCESSES, " 1", false},
};

TEST_EACH(values_are_read, struct value_row, values)
{
    struct origin before;
    char message[128];

    start();
    before = policy.origin[row->key];
    check_int(policy_set(&policy, row->key, row->value, NULL, option_origin, &error),
              row->good ? 0 : -EINVAL);
    check_int(policy.origin[row->key].layer, row->good ? LAYER_OPTION : before.layer);
    if (!row->good) {
        check_int(error.code, ERROR_USAGE);
        check_str(error.reason, "bad-value");
        snprintf(message, sizeof(message), "--it: %s is not ", QUOTE(row->value));
        check_has(error.message, message); /* the option says its name, so the key does not */
    }
    policy_free(&policy);
}

TEST(values_land_where_they_belong)
{
    start();
    check_int(policy_set(&policy, KEY_MODE, "workspace-write", NULL, user_origin, &error), 0);
    check_int(policy.mode, MODE_WORKSPACE_WRITE);
    check_int(policy_set(&policy, KEY_SIZE, "132x43", NULL, option_origin, &error), 0);
    check_int(policy.columns, 132);
    check_int(policy.rows, 43);
    check_int(policy_set(&policy, KEY_USER, "1000", NULL, option_origin, &error), 0);
    check_int(policy.user, USER_ID);
    check_int(policy.user_id, 1000);
    check_int(policy_set(&policy, KEY_TMP, "./t", "/base", user_origin, &error), 0);
    check_int(policy.tmp, TMP_DIRECTORY);
    check_str(policy.tmp_directory, "/base/./t");
    check_int(policy_set(&policy, KEY_TMP, "private", NULL, option_origin, &error), 0);
    check(policy.tmp_directory == NULL);
    check_int(policy_set(&policy, KEY_WORKSPACE, "app", "/base", user_origin, &error), 0);
    check_str(policy.workspace, "app");
    check_str(policy.workspace_base, "/base");
    check_int(policy_set(&policy, KEY_WORKSPACE, ".", NULL, option_origin, &error), 0);
    check(policy.workspace_base == NULL);
    check_int(policy_set(&policy, KEY_LIMIT_TIME, "1.5m", NULL, option_origin, &error), 0);
    check_int(policy.limit_time_ms, 90000);
    check_int(policy_set(&policy, KEY_BACKEND, "landlock", NULL, option_origin, &error), 0);
    check_str(policy.backend, "landlock");
    check_int(policy_set(&policy, KEY_BACKEND, "auto", NULL, option_origin, &error), 0);
    check(policy.backend == NULL);
    policy_free(&policy);
}

TEST(nearest_word_is_named)
{
    start();
    check_int(policy_set(&policy, KEY_MODE, "workspace-wirte", NULL, user_origin, &error), -EINVAL);
    check_int(error.code, ERROR_POLICY_INVALID);
    check_str(error.hint, "did you mean `workspace-write`?");
    check_has(error.message, "/home/u/policy.json:1:2: mode: workspace-wirte");
    check_int(policy_set(&policy, KEY_MODE, "xyz", NULL, user_origin, &error), -EINVAL);
    check_str(error.hint, "");
    check_int(policy_add(&policy, LIST_HIDE, "@credentails", NULL, option_origin, &error), -EINVAL);
    check_str(error.hint, "did you mean `@credentials`?");
    check_int(policy_add(&policy, LIST_REQUIRE, "fs.wirte", NULL, option_origin, &error), -EINVAL);
    check_str(error.hint, "did you mean `fs.write`?");
    policy_free(&policy);
}

TEST(later_layer_wins_and_lists_add)
{
    start();
    check_int(policy_set(&policy, KEY_NETWORK, "host", NULL, system_origin, &error), 0);
    check_int(policy_set(&policy, KEY_NETWORK, "none", NULL, user_origin, &error), 0);
    check_int(policy.network, NETWORK_NONE);
    check_int(policy.origin[KEY_NETWORK].layer, LAYER_USER);
    check_int(policy_add(&policy, LIST_HIDE, "/secret", NULL, user_origin, &error), 0);
    check_int(policy.list[LIST_HIDE].count, 2);
    check(entry_in_force(&policy.list[LIST_HIDE], 0)); /* hiding one thing opens no other */
    check_int(policy_add(&policy, LIST_HIDE, "!@credentials", NULL, option_origin, &error), 0);
    check(!entry_in_force(&policy.list[LIST_HIDE], 0));
    check(entry_in_force(&policy.list[LIST_HIDE], 1));
    check(!entry_in_force(&policy.list[LIST_HIDE], 2));
    check_int(policy_add(&policy, LIST_HIDE, "@credentials", NULL, option_origin, &error), 0);
    check(entry_in_force(&policy.list[LIST_HIDE], 3));
    policy_free(&policy);
}

TEST(marks_of_entries)
{
    const struct entry *entry;

    start();
    check_int(policy_add(&policy, LIST_WRITE, "~/.cache/go-build?", "/b", option_origin, &error), 0);
    entry = &policy.list[LIST_WRITE].items[0];
    check_str(entry->value, "~/.cache/go-build");
    check_str(entry->base, "/b");
    check(entry->optional && !entry->remove);
    check_int(policy_add(&policy, LIST_WRITE, "!x", NULL, option_origin, &error),
              0); /* a file of that name */
    check_str(policy.list[LIST_WRITE].items[1].value, "!x");
    check(!policy.list[LIST_WRITE].items[1].remove);
    check_int(policy_add(&policy, LIST_WRITE, "?", NULL, option_origin, &error), 0);
    check_str(policy.list[LIST_WRITE].items[2].value, "?");
    check_int(policy_add(&policy, LIST_WRITE, "", NULL, option_origin, &error), -EINVAL);
    check_int(policy_add_entry(&policy, LIST_WRITE,
                               &(struct entry){.value = (char[]){"/x?"}, .origin = option_origin}, &error),
              0);
    check_str(policy.list[LIST_WRITE].items[3].value, "/x?");
    check(!policy.list[LIST_WRITE].items[3].optional);
    policy_free(&policy);
}

static const struct entry_row {
    const char *name;
    enum list list;
    const char *value;
    bool good;
} entries[] = {
    {"set_in_hide", LIST_HIDE, "@runs-later", true},
    {"names_in_hide", LIST_HIDE, "@secrets", false},
    {"sockets_in_hide", LIST_HIDE, "@ssh-agent", false},
    {"set_in_sockets", LIST_SOCKETS, "@ssh-agent", true},
    {"paths_in_sockets", LIST_SOCKETS, "@credentials", false},
    {"names_in_unset", LIST_ENV_UNSET, "@secrets", true},
    {"paths_in_unset", LIST_ENV_UNSET, "@credentials", false},
    {"no_set", LIST_READ, "@nothing", false},
    {"remove_no_set", LIST_HIDE, "!@nothing", false},
    {"set_in_allow", LIST_ALLOW, "@credentials", false},
    {"file_with_at", LIST_READ, "./@nothing", true},
    {"open", LIST_OPEN, "priv.userns", true},
    {"open_group", LIST_OPEN, "process", false},
    {"open_nothing", LIST_OPEN, "fd.inherited", false},
    {"require_group", LIST_REQUIRE, "process", true},
    {"require_full", LIST_REQUIRE, "full", true},
    {"require_list", LIST_REQUIRE, "fs.write,fs.read", false},
    {"setting", LIST_ENV_SET, "A=b=c", true},
    {"setting_empty", LIST_ENV_SET, "A=", true},
    {"setting_no_name", LIST_ENV_SET, "=b", false},
    {"setting_no_value", LIST_ENV_SET, "A", false},
    {"setting_space", LIST_ENV_SET, "A B=c", false},
    {"variable", LIST_ENV_PASS, "_a1", true},
    {"variable_digit", LIST_ENV_PASS, "1a", false},
    {"variable_equals", LIST_ENV_UNSET, "A=b", false},
    {"descriptor", LIST_PASS_FD, "3", true},
    {"descriptor_2", LIST_PASS_FD, "2", false},
    {"descriptor_text", LIST_PASS_FD, "3x", false},
    {"port", LIST_FORWARD, "5432", true},
    {"ports", LIST_PUBLISH, "8080:80", true},
    {"port_zero", LIST_FORWARD, "0", false},
    {"port_big", LIST_FORWARD, "65536", false},
    {"port_empty", LIST_FORWARD, "80:", false},
    {"port_three", LIST_FORWARD, "1:2:3", false},
};

TEST_EACH(entries_are_checked, struct entry_row, entries)
{
    size_t before;

    start();
    before = policy.list[row->list].count;
    check_int(policy_add(&policy, row->list, row->value, NULL, user_origin, &error), row->good ? 0 : -EINVAL);
    check_int(policy.list[row->list].count, before + row->good);
    if (!row->good)
        check_has(error.message, list_name(row->list));
    policy_free(&policy);
}

static const struct mistake_row {
    const char *name, *value, *hint;
} mistakes[] = {
    {"url", "http://example.com/x", "name the host alone"},
    {"path", "example.com/x", "name the host alone"},
    {"everything", "*", "--network host"},
    {"everything_of_a_port", "*:443", "--network host"},
    {"star_inside", "ex*.com", "in front: *.example.com"},
    {"address", "192.0.2.1", "needs a port: ADDRESS:443"},
    {"network", "10.0.0.0/8", "needs a port: ADDRESS:443 or ADDRESS/BITS:443"},
    {"address_6", "2001:db8::1", "in brackets: [ADDRESS]:443"},
    {"address_6_and_port", "fd00::2:18080", "in brackets: [ADDRESS]:443"},
    {"address_6_in_full", "2001:db8:0:0:0:0:0:1:443", "in brackets: [ADDRESS]:443"},
    {"network_6", "::/0:443", "in brackets: [ADDRESS]:443"},
    {"address_6_without_port", "[fd00::2]", "needs a port: [ADDRESS]:443"},
    {"private_address", "private:10.0.0.1:443", "without private: ADDRESS:443"},
    {"private_address_6", "private:[fd00::2]:443", "without private: [ADDRESS]:443"},
    {"two_hosts", "a.org,b.org", "one rule for each host"},
    {"two_hosts_and_ports", "a.org:443,b.org:443", "one rule for each host"},
    {"range_of_ports", "a.org:443-450", "no ranges of ports"},
    {"range_of_an_address", "10.0.0.1:443-450", "no ranges of ports"},
    {"port_too_large", "a.org:70000", "from 1 to 65535"},
    {"port_of_an_address", "10.0.0.1:http", "from 1 to 65535"},
    {"no_port", "a.org:", "from 1 to 65535"},
    {"many_ports", "a.org:1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", "at most 16"},
    {"dot", "example.com.", "the dot at the end"},
    {"dot_and_port", "private:example.com.:80", "the dot at the end"},
    {"letters", "m\xc3\xbcnchen.de", "xn--"},
    {"port_of_a_name", "example.com:https", "from 1 to 65535"},
    {"bits", "192.0.2.0/33:1", "up to 32"},
    {"bits_6", "[fd00::]/129:1", "up to 128"},
    {"spaces", "a b", ""},
};

TEST_EACH(mistakes_in_rules_are_told, struct mistake_row, mistakes)
{
    start();
    check_int(policy_add(&policy, LIST_ALLOW, row->value, NULL, user_origin, &error), -EINVAL);
    check_has(error.message, "is not NAME");
    if (*row->hint)
        check_has(error.hint, row->hint);
    else
        check_str(error.hint, "");
    policy_free(&policy);
}

TEST(locks_hold_and_name_the_file)
{
    start();
    check_int(policy_set(&policy, KEY_MODE, "read-only", NULL, system_origin, &error), 0);
    check_int(policy_lock(&policy, "mode", system_origin, &error), 0);
    check_int(policy_lock(&policy, "limits.time", system_origin, &error), 0);
    check_int(policy_set(&policy, KEY_MODE, "workspace-write", NULL, user_origin, &error), -EINVAL);
    check_str(error.reason, "locked");
    check_has(error.message, "mode is locked by /etc/confine/policy.json:3:5");
    check_int(policy.mode, MODE_READ_ONLY);
    check_int(policy_set(&policy, KEY_MODE, "read-only", NULL, option_origin, &error),
              0); /* changes nothing */
    check_int(policy_set(&policy, KEY_LIMIT_TIME, "1h", NULL, option_origin, &error), -EINVAL);
    check_int(error.code, ERROR_USAGE);
    check_int(policy_set(&policy, KEY_NETWORK, "host", NULL, option_origin, &error), 0); /* not locked */
    check_int(policy_lock(&policy, "mode", user_origin, &error), 0);
    check_int(policy.lock[KEY_MODE].layer, LAYER_SYSTEM); /* the first one is the one to ask */
    check_int(policy_lock(&policy, "mdoe", user_origin, &error), -EINVAL);
    check_str(error.hint, "did you mean `mode`?");
    check_int(policy_lock(&policy, "approved_mode", user_origin, &error), -EINVAL);
    policy_free(&policy);
}

TEST(locks_on_objects)
{
    start();
    check_int(policy_set(&policy, KEY_NETWORK, "listed", NULL, system_origin, &error), 0);
    check_int(policy_lock(&policy, "network", system_origin, &error), 0);
    check_int(policy_lock(&policy, "limits", system_origin, &error), 0);
    check_int(policy_set(&policy, KEY_NETWORK, "host", NULL, user_origin, &error), -EINVAL);
    check_int(policy_set(&policy, KEY_UPSTREAM, "http://h:1", NULL, option_origin, &error), -EINVAL);
    check_int(policy_add(&policy, LIST_ALLOW, "example.org", NULL, option_origin, &error), -EINVAL);
    check_has(error.message, "network.allow is locked by /etc/confine/policy.json:3:5");
    check_int(policy_add(&policy, LIST_FORWARD, "22", NULL, option_origin, &error), -EINVAL);
    check_int(policy_add(&policy, LIST_PUBLISH, "3000", NULL, option_origin, &error), -EINVAL);
    check_int(policy_set(&policy, KEY_LIMIT_TIME, "1h", NULL, option_origin, &error), -EINVAL);
    check_int(policy_set(&policy, KEY_LIMIT_MEMORY, "1G", NULL, option_origin, &error), -EINVAL);
    check_int(policy_set(&policy, KEY_GRACE, "5s", NULL, option_origin, &error), 0); /* none of them */
    check_int(policy_lock(&policy, "limit", user_origin, &error), -EINVAL);
    check_int(policy_lock(&policy, "", user_origin, &error), -EINVAL);
    policy_free(&policy);
}

TEST(locks_on_lists)
{
    start();
    check_int(policy_lock(&policy, "hide", system_origin, &error), 0);
    check_int(policy_lock(&policy, "write", system_origin, &error), 0);
    check_int(policy_lock(&policy, "environment.unset", system_origin, &error), 0);
    check_int(policy_add(&policy, LIST_HIDE, "/more", NULL, user_origin, &error), 0);
    check_int(policy_add(&policy, LIST_HIDE, "!@credentials", NULL, user_origin, &error), -EINVAL);
    check_str(error.reason, "locked");
    check_int(policy_add(&policy, LIST_SHOW, "~/.ssh/id_rsa", NULL, user_origin, &error), -EINVAL);
    check_has(error.message, "hide is locked by /etc/confine/policy.json");
    check_int(policy_add(&policy, LIST_WRITE, "/x", NULL, option_origin, &error), -EINVAL);
    check_int(policy_add(&policy, LIST_ENV_PASS, "TOKEN", NULL, option_origin, &error), -EINVAL);
    check_int(policy_add(&policy, LIST_UNPROTECT, "/x", NULL, option_origin, &error),
              0); /* protect is not locked */
    check(entry_in_force(&policy.list[LIST_HIDE], 0));
    policy_free(&policy);
}

static const struct amount_row {
    const char *name;
    bool size; /* else a duration */
    int result;
    uint64_t value;
} amounts[] = {
    {"10s", false, 0, 10000},
    {"1.5m", false, 0, 90000},
    {"2h", false, 0, 7200000},
    {"300ms", false, 0, 300},
    {"7", false, 0, 7000},
    {"0.25s", false, 0, 250},
    {"0", false, 0, 0},
    {"", false, -EINVAL, 0},
    {"s", false, -EINVAL, 0},
    {"1.s", false, -EINVAL, 0},
    {".5s", false, -EINVAL, 0},
    {"1.5", false, -EINVAL, 0},
    {"-1s", false, -EINVAL, 0},
    {"+1s", false, -EINVAL, 0},
    {"1 s", false, -EINVAL, 0},
    {"1S", false, -EINVAL, 0},
    {"1d", false, -EINVAL, 0},
    {"1e3s", false, -EINVAL, 0},
    {"0x10", false, -EINVAL, 0},
    {"inf", false, -EINVAL, 0},
    {"1.0000000s", false, -EINVAL, 0},
    {"9223372036854ms", false, 0, 9223372036854},
    {"9223372036855ms", false, -ERANGE, 0},
    {"99999999999999999999999h", false, -ERANGE, 0},
    {"2562047788h", false, -ERANGE, 0},
    {"16M", true, 0, 16777216},
    {"512K", true, 0, 524288},
    {"1G", true, 0, 1073741824},
    {"1.5K", true, 0, 1536},
    {"123", true, 0, 123},
    {"16m", true, -EINVAL, 0},
    {"16MB", true, -EINVAL, 0},
    {"1.5", true, -EINVAL, 0},
    {"9223372036854775807", true, 0, INT64_MAX},
    {"9223372036854775808", true, -ERANGE, 0},
    {"8589934592G", true, -ERANGE, 0},
};

TEST_EACH(amounts_are_read, struct amount_row, amounts)
{
    uint64_t value = 77;

    check_int(row->size ? parse_size(row->name, &value) : parse_duration(row->name, &value), row->result);
    check_int(value, row->result == 0 ? row->value : 77);
}

TEST(lists_have_an_end)
{
    char name[32];
    int count = 0;

    start();
    for (int i = 0; i < 20000; i++) {
        snprintf(name, sizeof(name), "/x/%d", i);
        if (policy_add(&policy, LIST_READ, name, NULL, user_origin, &error) < 0)
            break;
        count++;
    }
    check_int(count, 16384);
    check_str(error.reason, "too-many");
    policy_free(&policy);
}
