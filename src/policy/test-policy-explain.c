/*
 * test-policy-explain.c - the policy as it is shown, and the answer for a path.
 */
#include "harness.h"

#include "policy/policy_explain.h"
#include "policy/policy_keys.h"
#include "util/json.h"

static struct policy policy;
static struct error error;
static const struct origin user = {.layer = LAYER_USER, .file = "/h/policy.json", .line = 2, .column = 3};
static const struct origin option = {.layer = LAYER_OPTION, .option = "--write"};

static void start(void)
{
    struct entry entry = {
        .value = (char[]){"/data"}, .why = (char[]){"the data"}, .optional = true, .origin = user};

    need(policy_init(&policy, &error) == 0);
    need(policy_set(&policy, KEY_MODE, "workspace-write", NULL, option, &error) == 0);
    need(policy_set(&policy, KEY_WORKSPACE, "app", "/h", user, &error) == 0);
    need(policy_set(&policy, KEY_LIMIT_TIME, "90s", NULL, user, &error) == 0);
    need(policy_set(&policy, KEY_LIMIT_MEMORY, "512M", NULL, user, &error) == 0);
    need(policy_lock(&policy, "network", user, &error) == 0);
    need(policy_add_entry(&policy, LIST_WRITE, &entry, &error) == 0);
    need(policy_add(&policy, LIST_WRITE, "/with space", NULL, option, &error) == 0);
    need(policy_add(&policy, LIST_HIDE, "/h/app/secret", NULL, option, &error) == 0);
    need(policy_add(&policy, LIST_PROTECT, "!@runs-later", NULL, option, &error) == 0);
    need(policy_add(&policy, LIST_ENV_SET, "MY_TOKEN=hunter2", NULL, option, &error) == 0);
    need(policy_add(&policy, LIST_ENV_SET, "LANG=C", NULL, option, &error) == 0);
    need(strings_add(&policy.files, "/h/policy.json") == 0);
}

TEST(text_says_everything)
{
    struct text text = {0};

    start();
    explain_policy(&policy, &text);
    explain_sets(&policy, &text);
    need(!text.failed);
    check_has(text.data, "file                /h/policy.json\n");
    check_has(text.data, "mode                workspace-write              --write\n");
    check_has(text.data, "workspace           app                          /h/policy.json:2:3\n");
    check_has(text.data, "limits.time         90s                          /h/policy.json:2:3\n");
    check_has(text.data, "limits.memory       512M                         /h/policy.json:2:3\n");
    check_has(text.data, "limits.cpu          none                         built-in\n");
    check_has(text.data, "backend             auto                         built-in\n");
    check_has(text.data, "network.mode        none                         built-in\n"
                         "                    (locked)                     /h/policy.json:2:3\n"
                         "network.allow       (locked)                     /h/policy.json:2:3\n");
    check_has(text.data, "/data                        /h/policy.json:2:3, if it exists (\"the data\")\n");
    check_has(text.data, "\"/with space\"");
    check_has(text.data, "@runs-later                  built-in, taken away later\n");
    check_has(text.data, "!@runs-later");
    check_has(text.data, "LANG=C");
    check_has(text.data, "MY_TOKEN=");
    check(!strstr(text.data, "hunter2"));
    check_has(text.data, "\n@credentials: secrets and nothing else\n");
    check_has(text.data, "    ~/.netrc ");
    check(!strstr(text.data, "\n@gpg-agent:")); /* not used */
    for (const struct policy_key *key = policy_keys; key->name; key++)
        if (key->list < 0)
            check_has(text.data, key->name);
    text_free(&text);
    policy_free(&policy);
}

TEST(defaults_are_shown)
{
    struct text text = {0};

    need(policy_init(&policy, &error) == 0);
    need(policy_set(&policy, KEY_GRACE, "0s", NULL, option, &error) == 0);
    need(policy_set(&policy, KEY_SIZE, "80x24", NULL, option, &error) == 0);
    need(policy_set(&policy, KEY_USER, "7", NULL, option, &error) == 0);
    need(policy_set(&policy, KEY_TMP, "/t", NULL, option, &error) == 0);
    need(policy_set(&policy, KEY_LIMIT_PROCESSES, "1024", NULL, option, &error) == 0);
    need(policy_set(&policy, KEY_LIMIT_OUTPUT, "1025", NULL, option, &error) == 0);
    explain_policy(&policy, &text);
    check_has(text.data, "grace               0s ");
    check_has(text.data, "size                80x24 ");
    check_has(text.data, "user                7 ");
    check_has(text.data, "tmp                 /t ");
    check_has(text.data, "limits.processes    1024 ");
    check_has(text.data, "limits.output       1025 ");
    check_has(text.data, "workspace           none ");
    check_has(text.data, "approved_mode       none ");
    text_free(&text);
    policy_free(&policy);
}

static const char *member(const json_t *root, const char *key, const char *name)
{
    return json_string_value(json_object_get(json_object_get(root, key), name));
}

TEST(json_says_everything)
{
    struct text text = {0};
    json_error_t seen;
    json_t *root, *item;

    start();
    check_int(explain_policy_json(&policy, NULL, &text), 0);
    root = json_loads(text.data, JSON_REJECT_DUPLICATES, &seen);
    need(json_is_object(root));
    check_str(json_string_value(json_object_get(root, "schema")), "confine/policy-explained/1");
    check_str(member(root, "mode", "value"), "workspace-write");
    check_str(member(json_object_get(root, "mode"), "from", "layer"), "option");
    check_str(member(json_object_get(root, "mode"), "from", "option"), "--write");
    check_str(member(json_object_get(root, "workspace"), "from", "file"), "/h/policy.json");
    check_int(json_integer_value(
                  json_object_get(json_object_get(json_object_get(root, "workspace"), "from"), "line")),
              2);
    check(json_is_true(json_object_get(json_object_get(root, "network.mode"), "locked")));
    check(json_is_false(json_object_get(json_object_get(root, "mode"), "locked")));
    item = json_array_get(json_object_get(root, "write"), 0);
    check_str(json_string_value(json_object_get(item, "value")), "/data");
    check_str(json_string_value(json_object_get(item, "why")), "the data");
    check(json_is_true(json_object_get(item, "optional")));
    item = json_array_get(json_object_get(root, "protect"), 0);
    check(json_is_false(json_object_get(item, "in_force")));
    check(!strstr(text.data, "hunter2"));
    for (const struct policy_key *key = policy_keys; key->name; key++)
        check(json_object_get(root, key->name) != NULL);
    for (const struct set *set = policy_sets; set->name; set++)
        check(json_object_get(json_object_get(root, "sets"), set->name) != NULL);
    check(json_object_get(root, "resolved") == NULL);
    json_decref(root);
    text_free(&text);
    policy_free(&policy);
}

static const struct set_item netrc = {"~/.netrc", "passwords of ftp, curl and git", false};
static struct resolved_path grants[] = {
    {.path = (char[]){"/"}, .grant = GRANT_READ, .implied = true, .source = {.what = "readable all"}},
    {.path = (char[]){"/h/app"}, .grant = GRANT_WRITE, .named = true, .source = {.what = "the workspace"}},
    {.path = (char[]){"/data"},
     .grant = GRANT_WRITE,
     .named = true,
     .source = {true, LIST_WRITE, 0, NULL, NULL}},
    {.path = (char[]){"/dev/null"}, .grant = GRANT_DEVICE, .implied = true},
    {.path = (char[]){"/run/a.sock"},
     .grant = GRANT_SOCKET,
     .named = true,
     .source = {true, LIST_SOCKETS, 0, NULL, NULL}},
    {.path = (char[]){"/etc"}, .grant = GRANT_NONE},
};
static struct hidden hidden[] = {
    {.path = (char[]){"/h/.netrc"}, .name = (char[]){".netrc"}, .source = {true, LIST_HIDE, 0, &netrc, NULL}},
    {.path = (char[]){"/h/app/secret"},
     .name = (char[]){"secret"},
     .named = true,
     .held = "inside-writable",
     .source = {true, LIST_HIDE, 1, NULL, NULL}},
};
static const struct set_item hooks = {"./.git/hooks", "git runs it", false};
static struct source protected_by[] = {{true, LIST_PROTECT, 0, &hooks, NULL}};
static struct exception exceptions[] = {
    {.path = (char[]){"/h/.config"}, .source = {true, LIST_SHOW, 0, NULL, NULL}},
    {.path = (char[]){"/h/app/.vscode"}, .source = {true, LIST_UNPROTECT, 0, NULL, NULL}},
};

static char app[] = "/h/app", home[] = "/h";

static struct resolved make_resolved(void)
{
    struct resolved resolved = {.policy = &policy,
                                .mode = MODE_WORKSPACE_WRITE,
                                .workspace = app,
                                .cwd = app,
                                .home = home,
                                .paths = grants,
                                .path_count = ARRAY_SIZE(grants),
                                .hidden = hidden,
                                .hidden_count = ARRAY_SIZE(hidden),
                                .protected_by = protected_by,
                                .exceptions = exceptions,
                                .exception_count = ARRAY_SIZE(exceptions)};

    start();
    need(policy_add(&policy, LIST_SOCKETS, "/run/a.sock", NULL, option, &error) == 0);
    need(policy_add(&policy, LIST_SHOW, "/h/.config", NULL, option, &error) == 0);
    need(policy_add(&policy, LIST_UNPROTECT, "/h/app/.vscode", NULL, option, &error) == 0);
    need(strings_add(&resolved.protected_paths, "/h/app/.git/hooks") == 0);
    return resolved;
}

static const struct path_row {
    const char *name, *answer;
    bool read, write, connect, hidden;
} paths[] = {
    {"/", "read: grant of /, readable all, from built-in", true, false, false, false},
    {"/etc/passwd", "read: grant of /, readable all, from built-in", true, false, false, false},
    {"/h/app", "read, write: grant of /h/app, the workspace, from /h/policy.json:2:3", true, true, false,
     false},
    {"/h/app/x/y", "read, write: grant of /h/app, the workspace, from /h/policy.json:2:3", true, true, false,
     false},
    {"/h/apple", "read: grant of /", true, false, false, false},
    {"/data/x", "read, write: grant of /data, from /h/policy.json:2:3 (\"the data\")", true, true, false,
     false},
    {"/dev/null", "read, write: grant of /dev/null, of confine itself", true, true, false, false},
    {"/dev/null/x", "read: grant of /", true, false, false, false},
    {"/run/a.sock", "connect: grant of /run/a.sock, from --write", true, false, true, false},
    {"/h/.netrc",
     "nothing of its contents: hidden as /h/.netrc, @credentials (~/.netrc: passwords of ftp, curl and git), "
     "from built-in",
     false, false, false, true},
    {"/h/.netrc/x", "nothing of its contents: hidden as /h/.netrc", false, false, false, true},
    {"/h/.netrc2", "read: grant of /", true, false, false, false},
    {"/h/app/secret",
     "; without mounts NOT hidden (inside-writable) although asked for as /h/app/secret, from --write", true,
     true, false, false},
    {"/h/app/.git/hooks/x",
     "; protected where the backend can (the report says whether it did) as /h/app/.git/hooks, @runs-later "
     "(./.git/hooks: git runs it), from built-in",
     true, true, false, false},
    {"/h/.config/x", "readable all, from built-in; shown as /h/.config, from --write", true, false, false,
     false},
    {"/h/app/.vscode/x", "; unprotected as /h/app/.vscode, from --write", true, true, false, false},
    {"/h/a\nb", "\"/h/a\\x0ab\": read: ", true, false, false, false},
};

static const struct path_modes unknown;

TEST_EACH(paths_are_explained, struct path_row, paths)
{
    struct resolved resolved = make_resolved();
    const char *const names[] = {row->name, NULL};
    struct text text = {0}, json = {0};
    json_t *root, *item;

    explain_path(&resolved, row->name, &unknown, &text);
    check_has(text.data, row->answer);
    check(text.length > 0 && strchr(text.data, '\n') == text.data + text.length - 1);
    check_int(explain_paths_json(&resolved, names, &unknown, &json), 0);
    root = json_loads(json.data, 0, NULL);
    item = json_array_get(root, 0);
    check_str(json_string_value(json_object_get(item, "path")), row->name);
    check_int(json_is_true(json_object_get(item, "read")), row->read);
    check_int(json_is_true(json_object_get(item, "write")), row->write);
    check_int(json_is_true(json_object_get(item, "connect")), row->connect);
    check_int(json_is_true(json_object_get(item, "hidden")), row->hidden);
    json_decref(root);
    text_free(&text);
    text_free(&json);
    strings_free(&resolved.protected_paths);
    policy_free(&policy);
}

TEST(what_the_paths_became)
{
    struct resolved resolved = make_resolved();
    struct text text = {0};

    explain_resolved(&resolved, &text);
    check_str(
        text.data,
        "writable   /h/app  (the workspace, from /h/policy.json:2:3)\n"
        "writable   /data  (from /h/policy.json:2:3 (\"the data\"))\n"
        "socket     /run/a.sock  (from --write)\n"
        "hidden     /h/.netrc  (@credentials (~/.netrc: passwords of ftp, curl and git), from built-in)\n"
        "hidden     /h/app/secret  (from --write), without mounts NOT held (inside-writable)\n"
        "protected  /h/app/.git/hooks  (@runs-later (./.git/hooks: git runs it), from built-in)\n"
        "shown      /h/.config  (from --write)\n"
        "open       /h/app/.vscode  (from --write)\n");
    text_free(&text);
    strings_free(&resolved.protected_paths);
    policy_free(&policy);
}

TEST(nothing_is_listed)
{
    struct resolved resolved = make_resolved();
    struct text text = {0};

    need(policy_set(&policy, KEY_READABLE, "listed", NULL, option, &error) == 0);
    resolved.paths = grants + 1;
    resolved.path_count--;
    explain_path(&resolved, "/root/x", &unknown, &text);
    check_str(text.data, "/root/x: nothing: no grant reaches it, readable listed from --write\n");
    text_free(&text);
    strings_free(&resolved.protected_paths);
    policy_free(&policy);
}

static const struct modes_row {
    const char *name, *path;
    struct path_modes modes;
    const char *words; /* NULL: none */
} modes_rows[] = {
    {"nothing is refused", "/h/app/x", {true, true, true, true}, NULL},
    {"writing",
     "/h/app/x",
     {true, true, true, false},
     "; but its mode or owner does not let user 7 write it\n"},
    {"reading",
     "/h/app/x",
     {true, true, false, true},
     "; but its mode or owner does not let user 7 read it\n"},
    {"both",
     "/h/app/x",
     {true, true, false, false},
     "; but its mode or owner does not let user 7 read or write it\n"},
    {"what the policy refuses is no news", "/etc/x", {true, true, true, false}, NULL},
    {"nor what is hidden", "/h/.netrc", {true, true, false, false}, NULL},
    {"it is not there",
     "/h/app/x",
     {true, false, false, false},
     "; but the mode or owner of its directory does not let user 7 make it\n"},
    {"it is not there, and could be made", "/h/app/x", {true, false, false, true}, NULL},
};

TEST_EACH(modes_are_said_where_they_let_less, struct modes_row, modes_rows)
{
    struct resolved resolved = make_resolved();
    const char *const names[] = {row->path, NULL};
    struct text text = {0}, json = {0};
    json_t *root, *mode;

    resolved.uid = 7;
    explain_path(&resolved, row->path, &row->modes, &text);
    if (row->words)
        check_has(text.data, row->words);
    else
        check(!strstr(text.data, "; but"));
    check_int(strstr(text.data, "; it does not exist, and sets hide and protect only what does") != NULL,
              !row->modes.there);
    check_int(explain_paths_json(&resolved, names, &row->modes, &json), 0);
    root = json_loads(json.data, 0, NULL);
    mode = json_object_get(json_array_get(root, 0), "mode");
    check_int(json_is_true(json_object_get(mode, "read")), row->modes.read);
    check_int(json_is_true(json_object_get(mode, "write")), row->modes.write);
    json_decref(root);
    text_free(&text);
    text_free(&json);
    strings_free(&resolved.protected_paths);
    policy_free(&policy);
}

TEST(danger_is_everything)
{
    struct resolved resolved = make_resolved();
    struct text text = {0};

    resolved.mode = MODE_DANGER_FULL_ACCESS;
    explain_path(&resolved, "/h/.netrc", &unknown, &text);
    check_has(text.data, "everything: mode danger-full-access, from --write, confines nothing");
    text_free(&text);
    strings_free(&resolved.protected_paths);
    policy_free(&policy);
}

TEST(resolved_in_json)
{
    struct resolved resolved = make_resolved();
    struct text text = {0};
    json_t *root, *part;

    check_int(explain_policy_json(&policy, &resolved, &text), 0);
    root = json_loads(text.data, JSON_REJECT_DUPLICATES, NULL);
    part = json_object_get(root, "resolved");
    check_str(json_string_value(json_object_get(part, "workspace")), "/h/app");
    check_int(json_array_size(json_object_get(part, "grants")), 5); /* what is no grant is not one here */
    check_int(json_array_size(json_object_get(part, "hidden")), 2);
    check_str(
        json_string_value(json_object_get(json_array_get(json_object_get(part, "hidden"), 1), "reason")),
        "inside-writable");
    json_decref(root);
    text_free(&text);
    strings_free(&resolved.protected_paths);
    policy_free(&policy);
}
