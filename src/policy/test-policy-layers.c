/*
 * test-policy-layers.c - the layers and the workspace's own file: real files in a private directory.
 */
#include "test-policy.h"

#include <sys/socket.h>

static int load(const char *argument)
{
    struct strings files = {0};
    int result;

    if (argument)
        need(strings_add(&files, argument) == 0);
    result = policy_load_from(&policy, &places, &files, &error);
    strings_free(&files);
    return result;
}

TEST(layers_in_order)
{
    start();
    check_int(load(NULL), 0); /* neither is there */
    check_int(policy.files.count, 0);
    put("system/policy.json", "{\"policy\": 1, \"network\": {\"mode\": \"host\"}, \"caches\": \"off\"}");
    put("user/policy.json", "{\"policy\": 1, \"network\": {\"mode\": \"none\"}, \"limits\": {\"time\": 5}}");
    put("user/ci.json", "{\"policy\": 1, \"limits\": {\"time\": 6}}");
    check_int(load("ci"), 0);
    check_int(policy.network, NETWORK_NONE);
    check_int(policy.origin[KEY_NETWORK].layer, LAYER_USER);
    check_int(policy.caches, CACHES_OFF);
    check_int(policy.origin[KEY_CACHES].layer, LAYER_SYSTEM);
    check_int(policy.limit_time_ms, 6000);
    check_int(policy.origin[KEY_LIMIT_TIME].layer, LAYER_FILE);
    check_int(policy.files.count, 3);
    check_str(policy.files.items[2], in_dir("user/ci.json"));
    policy_free(&policy);
}

TEST(system_lock_binds_user)
{
    start();
    put("system/policy.json", "{\"policy\": 1, \"locked\": [\"network.mode\"]}");
    put("user/policy.json", "{\"policy\": 1, \"network\": {\"mode\": \"host\"}}");
    check_int(load(NULL), -EINVAL);
    check_str(error.reason, "locked");
    check_has(error.message, "system/policy.json:1:26");
    check_has(error.message, "user/policy.json:1:35");
    policy_free(&policy);
}

TEST(arguments)
{
    start();
    put("user/ci.json", "{\"policy\": 1, \"read\": [\"a\"]}");
    put("ci.json", "{\"policy\": 1, \"read\": [\"b\"]}");
    need(chdir(test_dir) == 0);
    check_int(load("ci.json"), 0);
    check_str(policy.list[LIST_READ].items[0].base, test_dir);
    check_int(load("./ci.json"), 0);
    check_str(policy.list[LIST_READ].items[1].base, test_dir);
    check_int(load("ci"), 0);
    check_str(policy.list[LIST_READ].items[2].base, user_directory);
    check_int(load("nothing"), -ENOENT);
    check_str(error.reason, "policy-missing");
    check_has(error.hint, "./nothing");
    check_int(load("./nothing"), -ENOENT);
    check_str(error.reason, "policy-missing");
    places.user = NULL;
    check_int(load("ci"), -EINVAL);
    check_str(error.reason, "no-home");
    check_int(load(NULL), 0); /* without a home only names are impossible */
    policy_free(&policy);
}

TEST(descriptors)
{
    int fd, ends[2];
    char name[32];

    start();
    put("p.json", "{\"policy\": 1, \"read\": [\"x\"]}");
    fd = open(in_dir("p.json"), O_RDWR | O_CLOEXEC);
    need(fd >= 0 && lseek(fd, 0, SEEK_END) > 0); /* as it stands after it was written */
    snprintf(name, sizeof(name), "fd:%d", fd);
    check_int(load(name), 0);
    check_int(policy.list[LIST_READ].count, 1);
    check_str(policy.list[LIST_READ].items[0].base, test_dir);
    check(strings_have(&policy.files, in_dir("p.json")));

    need(pipe(ends) == 0);
    need(write(ends[1], "{\"policy\": 1, \"read\": [1]}", 26) == 26);
    close(ends[1]);
    snprintf(name, sizeof(name), "fd:%d", ends[0]);
    check_int(load(name), -EINVAL);
    check_has(error.message, "fd:");
    check_has(error.message, ":1:24: ");
    need(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    need(write(ends[1], "{\"policy\": 1, \"write\": [\"/w\"]}", 30) == 30);
    close(ends[1]);
    snprintf(name, sizeof(name), "fd:%d", ends[0]);
    check_int(load(name), 0);
    check_int(policy.list[LIST_WRITE].count, 1);
    check_int(load("fd:999"), -EBADF);
    check_str(error.reason, "policy-missing");
    check_int(load("fd:"), -EINVAL);
    check_int(load("fd:3x"), -EINVAL);
    check_int(load("fd:-1"), -EINVAL);
    check_int(error.code, ERROR_USAGE);
    fd = open(test_dir, O_RDONLY | O_DIRECTORY);
    snprintf(name, sizeof(name), "fd:%d", fd);
    check_int(load(name), -EINVAL);
    check_str(error.reason, "policy-unsafe");
    policy_free(&policy);
}

/* How a file can be wrong, whichever layer it belongs to. */
static void make_link(const char *name)
{
    put("target.json", "{\"policy\": 1}");
    need(symlink("target.json", in_dir(name)) == 0);
}

static void make_dangling(const char *name)
{
    need(symlink("/nonexistent", in_dir(name)) == 0);
}

static void make_fifo(const char *name)
{
    need(mkfifo(in_dir(name), 0644) == 0);
}

static void make_directory(const char *name)
{
    need(mkdir(in_dir(name), 0755) == 0);
}

static void make_group_writable(const char *name)
{
    put_bytes(name, "{\"policy\": 1}", 13, 0664);
}

static void make_writable(const char *name)
{
    put_bytes(name, "{\"policy\": 1}", 13, 0646);
}

static void make_long(const char *name)
{
    put(name, "{\"policy\": 1}");
    need(truncate(in_dir(name), POLICY_BYTES + 1) == 0);
}

static void make_foreign(const char *name)
{
    if (geteuid() != 0)
        test_skip("only root can give a file away");
    put(name, "{\"policy\": 1}");
    need(chown(in_dir(name), 12345, 12345) == 0);
}

static void make_unreadable(const char *name)
{
    if (geteuid() == 0)
        test_skip("root can read everything");
    put_bytes(name, "{\"policy\": 1}", 13, 0);
}

static const struct unsafe_row {
    const char *name;
    void (*make)(const char *name);
    const char *reason, *part, *hint;
} unsafe[] = {
    {"link", make_link, "policy-unsafe", "is a link", "points to"},
    {"dangling_link", make_dangling, "policy-unsafe", "is a link", ""},
    {"fifo", make_fifo, "policy-unsafe", "is a FIFO", "regular file"},
    {"directory", make_directory, "policy-unsafe", "is a directory", "regular file"},
    {"group_writable", make_group_writable, "policy-unsafe", "written by its group", "chmod go-w"},
    {"writable", make_writable, "policy-unsafe", "written by everybody", "chmod go-w"},
    {"long", make_long, "policy-unsafe", "longer than 1 MiB", "extends"},
    {"foreign", make_foreign, "policy-unsafe", "belongs to uid 12345", "root"},
    {"unreadable", make_unreadable, "policy-unreadable", "Permission denied", ""},
};

TEST_EACH(unsafe_files, struct unsafe_row, unsafe)
{
    static const struct {
        const char *file, *argument;
    } layers[] = {{"system/policy.json", NULL}, {"user/policy.json", NULL}, {"user/x.json", "x"}};
    char path[2 * PATH_MAX];

    start();
    for (size_t i = 0; i < ARRAY_SIZE(layers); i++) {
        row->make(layers[i].file);
        memset(&error, 0, sizeof(error));
        check(load(layers[i].argument) < 0);
        check_int(error.code, ERROR_POLICY_INVALID);
        check_str(error.reason, row->reason);
        check_has(error.message, row->part);
        check_has(error.message, layers[i].file);
        check_has(error.hint, row->hint);
        test_remove(AT_FDCWD, in_dir(layers[i].file));
        unlink(in_dir("target.json"));
    }
    snprintf(path, sizeof(path), "%s", in_dir("x.json"));
    row->make("x.json");
    check(load(path) < 0);
    check_str(error.reason, row->reason);
    put("user/e.json", "{\"policy\": 1, \"extends\": [\"b\"]}");
    unlink(in_dir("target.json"));
    row->make("user/b.json");
    check(load("e") < 0);
    check_str(error.reason, row->reason);
    check_has(error.message, row->part);
    policy_free(&policy);
}

TEST(exactly_one_mebibyte_is_read)
{
    char *text = malloc(POLICY_BYTES);

    start();
    need(text != NULL);
    memset(text, ' ', POLICY_BYTES);
    memcpy(text, "{\"policy\": 1}", 13);
    put_bytes("x.json", text, POLICY_BYTES, 0600);
    check_int(load(in_dir("x.json")), 0);
    free(text);
    policy_free(&policy);
}

TEST(file_that_grows_is_bounded)
{
    int ends[2];
    char name[32], *text = malloc(POLICY_BYTES + 1);
    pid_t child;

    start();
    need(text && pipe(ends) == 0);
    memset(text, ' ', POLICY_BYTES + 1);
    child = fork();
    if (child == 0) {
        signal(SIGPIPE, SIG_IGN);
        for (ssize_t length = 0, got; length < POLICY_BYTES + 1; length += got)
            if ((got = write(ends[1], text, (size_t)(POLICY_BYTES + 1 - length))) < 0)
                break;
        _exit(0);
    }
    close(ends[1]);
    snprintf(name, sizeof(name), "fd:%d", ends[0]);
    check_int(load(name), -EFBIG);
    check_str(error.reason, "policy-unsafe");
    close(ends[0]);
    free(text);
    waitpid(child, NULL, 0);
    policy_free(&policy);
}

TEST(bases_are_weaker)
{
    start();
    put("user/base.json",
        "{\"policy\": 1, \"mode\": \"workspace-write\", \"caches\": \"off\", \"read\": [\"/b\"]}");
    put("user/ci.json",
        "{\"policy\": 1, \"mode\": \"read-only\", \"read\": [\"/c\"], \"extends\": [\"base\"]}");
    check_int(load("ci"), 0);
    check_int(policy.mode, MODE_READ_ONLY);
    check_int(policy.caches, CACHES_OFF);
    check_str(policy.list[LIST_READ].items[0].value, "/b");
    check_str(policy.list[LIST_READ].items[1].value, "/c");
    check_has(policy.list[LIST_READ].items[0].origin.file, "user/base.json");
    check_int(policy.files.count, 2);
    policy_free(&policy);
}

TEST(system_extends_beside_itself)
{
    start();
    put("user/base.json", "{\"policy\": 1, \"caches\": \"off\"}");
    put("system/base.json", "{\"policy\": 1, \"caches\": \"host\"}");
    put("system/policy.json", "{\"policy\": 1, \"extends\": [\"base\"]}");
    check_int(load(NULL), 0);
    check_int(policy.caches, CACHES_HOST);
    check_int(policy.origin[KEY_CACHES].layer, LAYER_SYSTEM);
    policy_free(&policy);
}

TEST(extends_ends)
{
    char name[32], text[64];

    start();
    put("user/a.json", "{\"policy\": 1, \"extends\": [\"a\"]}");
    check_int(load("a"), -EINVAL);
    check_has(error.message, "stands on itself");
    check_has(error.message, "user/a.json:1:27");
    put("user/b.json", "{\"policy\": 1, \"extends\": [\"c\"]}");
    put("user/c.json", "{\"policy\": 1,\n \"extends\": [\"b\"]}");
    check_int(load("b"), -EINVAL);
    check_has(error.message, "stands on itself");
    check_has(error.message, "user/c.json:2:14");
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "user/d%d.json", i);
        snprintf(text, sizeof(text), "{\"policy\": 1, \"extends\": [\"d%d\"]}", i + 1);
        put(name, text);
    }
    check_int(load("d0"), -EINVAL);
    check_has(error.message, "more than 8");
    put("user/leaf.json", "{\"policy\": 1}");
    put("user/e1.json", "{\"policy\": 1, \"extends\": "
                        "[\"leaf\",\"leaf\",\"leaf\",\"leaf\",\"leaf\",\"leaf\",\"leaf\",\"leaf\"]}");
    put("user/e2.json",
        "{\"policy\": 1, \"extends\": [\"e1\",\"e1\",\"e1\",\"e1\",\"e1\",\"e1\",\"e1\",\"e1\"]}");
    check_int(load("e2"), -EINVAL);
    check_has(error.message, "more than 64");
    policy_free(&policy);
    need(policy_init(&policy, &error) == 0);
    put("user/f.json", "{\"policy\": 1, \"extends\": [\"gone\"]}");
    check_int(load("f"), -ENOENT);
    check_str(error.reason, "policy-missing");
    policy_free(&policy);
}

/* --- the workspace's own file --- */

static int narrow(const char *text)
{
    int fd, result;

    if (text)
        put(".confine.json", text);
    fd = open(test_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    need(fd >= 0);
    result = policy_narrow(&policy, fd, test_dir, &error);
    close(fd);
    return result;
}

TEST(workspace_file_may_be_missing)
{
    start();
    check_int(narrow(NULL), 0);
    check_int(policy.files.count, 0);
    policy_free(&policy);
}

TEST(workspace_file_narrows)
{
    const struct origin option = {.layer = LAYER_OPTION, .option = "--mode"};

    start();
    check_int(policy_set(&policy, KEY_MODE, "workspace-write", NULL, option, &error), 0);
    check_int(policy_set(&policy, KEY_NETWORK, "host", NULL, option, &error), 0);
    check_int(policy_set(&policy, KEY_LIMIT_TIME, "10s", NULL, option, &error), 0);
    check_int(policy_set(&policy, KEY_LIMIT_OUTPUT, "1K", NULL, option, &error), 0);
    check_int(policy_lock(&policy, "mode", option, &error), 0); /* narrower than a lock is no breach of it */
    check_int(
        narrow(
            "{\"policy\": 1, \"mode\": \"read-only\", \"network\": {\"mode\": \"none\"}, \"hide\": [\"s\"],\n"
            "\"protect\": [\"p\"], \"limits\": {\"time\": 5, \"output\": \"1M\", \"processes\": 9}}"),
        0);
    check_int(policy.mode, MODE_READ_ONLY);
    check_int(policy.origin[KEY_MODE].layer, LAYER_WORKSPACE);
    check_has(policy.origin[KEY_MODE].file, "/.confine.json");
    check_int(policy.network, NETWORK_NONE);
    check_int(policy.limit_time_ms, 5000);
    check_int(policy.limit_output, 1024);
    check_int(policy.origin[KEY_LIMIT_OUTPUT].layer, LAYER_OPTION);
    check_int(policy.limit_processes, 9); /* no limit is the widest */
    check_int(policy.list[LIST_HIDE].count, 2);
    check_str(policy.list[LIST_HIDE].items[1].value, "s");
    check_str(policy.list[LIST_HIDE].items[1].base, test_dir);
    check_int(policy.list[LIST_HIDE].items[1].origin.line, 1);
    check_int(policy.list[LIST_PROTECT].count, 2);
    check(strings_have(&policy.files, in_dir(".confine.json")));
    policy_free(&policy);
}

TEST(workspace_file_never_widens)
{
    start();
    check_int(narrow("{\"policy\": 1, \"mode\": \"danger-full-access\", \"network\": {\"mode\": \"host\"}}"),
              0);
    check_int(policy.mode, MODE_READ_ONLY);
    check_int(policy.network, NETWORK_NONE);
    check_int(policy.origin[KEY_MODE].layer, LAYER_BUILTIN);
    check_int(policy.origin[KEY_NETWORK].layer, LAYER_BUILTIN);
    check_int(narrow("{\"policy\": 1, \"network\": {\"allow\": [\"a.org\"]}}"), 0);
    check_int(policy.network, NETWORK_NONE);
    check_int(policy.list[LIST_ALLOW].count, 0);
    check_int(narrow("{\"policy\": 1, \"hide\": [\"!@credentials\"]}"), -EINVAL);
    check_str(error.reason, "not-narrowing");
    check(entry_in_force(&policy.list[LIST_HIDE], 0));
    policy_free(&policy);
}

static const struct forbidden_row {
    const char *name, *text, *at;
} forbidden[] = {
    {"read", "{\"policy\": 1, \"read\": []}", ":1:15: read "},
    {"write", "{\"policy\": 1,\n\"write\": [\"/\"]}", ":2:1: write "},
    {"show", "{\"policy\": 1, \"show\": []}", ":1:15: show "},
    {"unprotect", "{\"policy\": 1, \"unprotect\": []}", ":1:15: unprotect "},
    {"sockets", "{\"policy\": 1, \"sockets\": []}", ":1:15: sockets "},
    {"devices", "{\"policy\": 1, \"devices\": []}", ":1:15: devices "},
    {"workspace", "{\"policy\": 1, \"workspace\": \"..\"}", ":1:15: workspace "},
    {"readable", "{\"policy\": 1, \"readable\": \"all\"}", ":1:15: readable "},
    {"caches", "{\"policy\": 1, \"caches\": \"host\"}", ":1:15: caches "},
    {"tmp", "{\"policy\": 1, \"tmp\": \"private\"}", ":1:15: tmp "},
    {"backend", "{\"policy\": 1, \"backend\": \"refuse\"}", ":1:15: backend "},
    {"environment", "{\"policy\": 1, \"environment\": {}}", ":1:15: environment "},
    {"runner", "{\"policy\": 1, \"runner\": {\"command\": [\"/x\"]}}", ":1:15: runner "},
    {"extends", "{\"policy\": 1, \"extends\": []}", ":1:15: extends "},
    {"locked", "{\"policy\": 1, \"locked\": []}", ":1:15: locked "},
    {"require", "{\"policy\": 1, \"require\": []}", ":1:15: require "},
    {"open", "{\"policy\": 1, \"open\": [\"proc.trace\"]}", ":1:15: open "},
    {"user", "{\"policy\": 1, \"user\": \"keep\"}", ":1:15: user "},
    {"tty", "{\"policy\": 1, \"tty\": \"inherit\"}", ":1:15: tty "},
    {"grace", "{\"policy\": 1, \"grace\": \"1h\"}", ":1:15: grace "},
    {"forward", "{\"policy\": 1, \"network\": {\"forward\": [\"22\"]}}", ":1:27: network.forward "},
    {"upstream", "{\"policy\": 1, \"network\": {\"upstream\": \"x\"}}", ":1:27: network.upstream "},
};

TEST_EACH(workspace_file_may_not_hold, struct forbidden_row, forbidden)
{
    start();
    check_int(narrow(row->text), -EINVAL);
    check_str(error.reason, "not-narrowing");
    check_has(error.message, row->at);
    check_has(error.message, "/.confine.json:");
    policy_free(&policy);
}

static const struct wrong_row {
    const char *name, *text;
} wrong[] = {{"syntax", "{"}, {"value", "{\"policy\": 1, \"mode\": \"x\"}"}};

TEST_EACH(a_wrong_workspace_file_has_a_way_out, struct wrong_row, wrong)
{
    start();
    check(narrow(row->text) < 0);
    check_int(error.code, ERROR_POLICY_INVALID);
    check_has(error.hint, "remove it");
    policy_free(&policy);
}

/* The table's other half: whatever may not narrow is refused, whatever may is read. */
TEST(workspace_file_and_table_agree)
{
    for (const struct policy_key *key = policy_keys; key->name; key++) {
        const char *dot = strchr(key->name, '.');
        struct text text = {0};
        bool group = dot && strncmp(key->name, "environment", 11) == 0;

        memset(&error, 0, sizeof(error));
        need(policy_init(&policy, &error) == 0);
        if (dot)
            text_addf(&text, "{\"policy\": 1, \"%.*s\": {\"%s\": null}}", (int)(dot - key->name), key->name,
                      dot + 1);
        else
            text_addf(&text, "{\"policy\": 1, \"%s\": null}", key->name);
        check_int(narrow(text.data), -EINVAL);
        if (key->narrow != NARROW_NEVER)
            check_has(error.message, "not null"); /* the type is wrong, so the key was let through */
        else
            check_str(error.reason, key->in_file || group ? "not-narrowing" : "policy-invalid");
        text_free(&text);
        policy_free(&policy);
    }
}

TEST(networks_intersect)
{
    const struct origin option = {.layer = LAYER_OPTION, .option = "--allow"};
    const struct entries *allow = &policy.list[LIST_ALLOW];

    start();
    check_int(policy_set(&policy, KEY_NETWORK, "listed", NULL, option, &error), 0);
    check_int(policy_add(&policy, LIST_ALLOW, "*.a.org", NULL, option, &error), 0);
    check_int(policy_add(&policy, LIST_ALLOW, "b.org", NULL, option, &error), 0);
    check_int(narrow("{\"policy\": 1, \"network\": {\"mode\": \"host\"}}"), 0);
    check_int(allow->count, 2);
    check_int(narrow("{\"policy\": 1, \"network\": {\"allow\": [\"x.a.org:443\", \"*.a.org:443\", \"c.org\", "
                     "\"x.a.org:443\"]}}"),
              0);
    check_int(policy.network, NETWORK_LISTED);
    check_int(allow->count, 2);
    check_str(allow->items[0].value, "x.a.org:443");
    check_str(allow->items[1].value, "*.a.org:443");
    check_int(allow->items[0].origin.layer, LAYER_WORKSPACE);
    check_int(narrow("{\"policy\": 1, \"network\": {\"mode\": \"listed\"}}"),
              0); /* nothing listed, nothing left */
    check_int(allow->count, 0);
    policy_free(&policy);

    need(policy_init(&policy, &error) == 0);
    check_int(policy_set(&policy, KEY_NETWORK, "host", NULL, option, &error), 0);
    check_int(narrow("{\"policy\": 1, \"network\": {\"allow\": [\"a.org\"]}}"), 0);
    check_int(policy.network, NETWORK_LISTED);
    check_int(allow->count, 1);
    policy_free(&policy);
}

TEST_EACH(unsafe_workspace_files, struct unsafe_row, unsafe)
{
    start();
    row->make(".confine.json");
    check(narrow(NULL) < 0);
    check_str(error.reason, row->reason);
    check_has(error.message, row->part);
    if (strcmp(row->reason, "policy-unsafe") == 0)
        check_has(error.hint, "an earlier command may have left it");
    policy_free(&policy);
}

TEST(workspace_owner_may_own_its_file)
{
    if (geteuid() != 0)
        test_skip("only root can give a file away");
    start();
    put(".confine.json", "{\"policy\": 1}");
    need(chown(in_dir(".confine.json"), 12345, 12345) == 0);
    need(chown(test_dir, 12345, 12345) == 0);
    check_int(narrow(NULL), 0);
    need(chown(test_dir, 54321, 54321) == 0);
    check_int(narrow(NULL), -EINVAL);
    policy_free(&policy);
}
