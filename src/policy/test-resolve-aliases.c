/* test-resolve-aliases.c - hidden objects that another mount shows; in a mount namespace of the test's own.
 */
#include "harness.h"

#include "links/kernel_abi.h"
#include "policy/resolve_internal.h"
#include "policy/test-resolve.h"

#include <sched.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/prctl.h>

/* How the list of mounts is read: by number, or by the text where the kernel refuses that. */
static const struct reading {
    const char *name;
    bool text;
} readings[] = {{"by number", false}, {"by text", true}};

static void write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    need(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && close(fd) == 0);
}

/* Mounts of this process alone. */
static void own_mounts(void)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();
    char map[40];

    if (unshare(uid == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0)
        test_skip("no mount namespace: %s", strerror(errno));
    if (uid != 0) {
        write_file("/proc/self/setgroups", "deny");
        snprintf(map, sizeof(map), "%u %u 1", uid, uid);
        write_file("/proc/self/uid_map", map);
        snprintf(map, sizeof(map), "%u %u 1", gid, gid);
        write_file("/proc/self/gid_map", map);
    }
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        test_skip("no mounts: %s", strerror(errno));
}

static void bind_mount(const char *from, const char *to)
{
    if (mount(from, to, NULL, MS_BIND, NULL) != 0)
        test_skip("no bind mounts: %s", strerror(errno));
}

/* From here on the kernel tells nothing in numbers. */
static void refuse_numbers(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_listmount, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

    need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    need(kernel_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, KERNEL_PTR(&program), 0, 0, 0) == 0);
}

static struct trial start(const struct reading *reading)
{
    struct trial trial = trial_start();

    trial_add(&trial, LIST_HIDE, "!@credentials");
    own_mounts();
    trial_directory("keys");
    trial_directory("keys/inner");
    trial_file("keys/inner/one", 0600);
    trial_file("keys/two", 0600);
    trial_directory("seen");
    if (reading->text)
        refuse_numbers();
    return trial;
}

static bool is_level_of(const struct trial *trial, const char *path, const char *name)
{
    for (size_t i = 0; i < trial->resolved.level_count; i++) {
        const struct hide_level *level = &trial->resolved.levels[i];

        if (strcmp(trial->resolved.paths[level->path].path, path) == 0 && strings_have(&level->except, name))
            return true;
    }
    return false;
}

TEST_EACH(what_a_bind_mount_shows_is_hidden, struct reading, readings)
{
    struct trial trial = start(row);
    const struct hidden *alias;

    bind_mount(trial_path("keys"), trial_path("seen"));
    trial_add(&trial, LIST_HIDE, trial_path("keys/inner/one"));
    need(trial_resolve(&trial) == 0);
    check_int(trial.resolved.hidden_count, 2);
    alias = trial_hidden(&trial, "seen/inner/one");
    need(alias);
    check(alias->alias && alias->named && !alias->held);
    check_int(alias->source.list, LIST_HIDE);
    check_str(alias->sample, "one");
    check(is_level_of(&trial, trial_path("seen/inner"), "one"));
    check(is_level_of(&trial, trial_path("keys/inner"), "one"));
    check(!trial_hidden(&trial, "keys/inner/one")->alias);
    trial_end(&trial);
}

TEST_EACH(a_file_mounted_by_itself_is_hidden, struct reading, readings)
{
    struct trial trial = start(row);

    trial_file("seen/file", 0600);
    bind_mount(trial_path("keys/two"), trial_path("seen/file"));
    trial_add(&trial, LIST_HIDE, trial_path("keys/two"));
    need(trial_resolve(&trial) == 0);
    check_int(trial.resolved.hidden_count, 2);
    need(trial_hidden(&trial, "seen/file"));
    check(trial_hidden(&trial, "seen/file")->alias);
    trial_end(&trial);
}

/* It works from either side: what was named may be the mount. */
TEST_EACH(the_place_behind_a_mount_is_hidden, struct reading, readings)
{
    struct trial trial = start(row);

    bind_mount(trial_path("keys"), trial_path("seen"));
    trial_add(&trial, LIST_HIDE, trial_path("seen"));
    need(trial_resolve(&trial) == 0);
    check_int(trial.resolved.hidden_count, 2);
    need(trial_hidden(&trial, "keys"));
    check(trial_hidden(&trial, "keys")->alias);
    trial_end(&trial);
}

TEST_EACH(a_part_mounted_elsewhere_is_hidden, struct reading, readings)
{
    struct trial trial = start(row);

    bind_mount(trial_path("keys/inner"), trial_path("seen"));
    trial_add(&trial, LIST_HIDE, trial_path("keys"));
    need(trial_resolve(&trial) == 0);
    check_int(trial.resolved.hidden_count, 2);
    need(trial_hidden(&trial, "seen"));
    check(trial_hidden(&trial, "seen")->alias);
    trial_end(&trial);
}

TEST_EACH(another_mount_is_left_alone, struct reading, readings)
{
    struct trial trial = start(row);

    trial_directory("other");
    trial_directory("other/inner");
    trial_file("other/inner/one", 0600);
    bind_mount(trial_path("other"), trial_path("seen"));
    trial_add(&trial, LIST_HIDE, trial_path("keys/inner/one"));
    need(trial_resolve(&trial) == 0);
    check_int(trial.resolved.hidden_count, 1);
    trial_end(&trial);
}

/* What is mounted over the other name is another object. */
TEST_EACH(a_covered_mount_shows_nothing, struct reading, readings)
{
    struct trial trial = start(row);

    trial_directory("other");
    trial_directory("other/inner");
    trial_file("other/inner/one", 0600);
    bind_mount(trial_path("keys"), trial_path("seen"));
    bind_mount(trial_path("other"), trial_path("seen"));
    trial_add(&trial, LIST_HIDE, trial_path("keys/inner/one"));
    need(trial_resolve(&trial) == 0);
    check_int(trial.resolved.hidden_count, 1);
    trial_end(&trial);
}

TEST_EACH(in_a_grant_it_is_said_to_be_another_mount, struct reading, readings)
{
    struct trial trial = start(row);

    trial_directory("ws");
    trial_directory("ws/mnt");
    bind_mount(trial_path("keys"), trial_path("ws/mnt"));
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_set(&trial, KEY_WORKSPACE, trial_path("ws"));
    trial_add(&trial, LIST_HIDE, trial_path("keys/two"));
    need(trial_resolve(&trial) == 0);
    check_int(trial.resolved.hidden_count, 2);
    need(trial_hidden(&trial, "ws/mnt/two"));
    check_str(trial_hidden(&trial, "ws/mnt/two")->held, "other-mount");
    check(!trial_hidden(&trial, "keys/two")->held);
    trial_end(&trial);
}

TEST_EACH(a_name_with_blanks_is_found, struct reading, readings)
{
    struct trial trial = start(row);

    trial_directory("a b\\c\n");
    trial_file("a b\\c\n/key", 0600);
    bind_mount(trial_path("a b\\c\n"), trial_path("seen"));
    trial_add(&trial, LIST_HIDE, trial_path("a b\\c\n/key"));
    need(trial_resolve(&trial) == 0);
    check_int(trial.resolved.hidden_count, 2);
    need(trial_hidden(&trial, "seen/key"));
    trial_end(&trial);
}

TEST_EACH(what_is_mounted_beside_a_named_path_is_seen, struct reading, readings)
{
    struct trial trial = start(row);

    trial_directory("keys/mnt");
    trial_directory("plain");
    trial_file("plain/key", 0600);
    need(mount("none", trial_path("keys/mnt"), "tmpfs", 0, NULL) == 0);
    trial_add(&trial, LIST_HIDE, trial_path("keys/inner"));
    trial_add(&trial, LIST_HIDE, trial_path("keys/inner/one"));
    trial_add(&trial, LIST_HIDE, trial_path("plain/key"));
    need(trial_resolve(&trial) == 0);
    check(!trial_hidden(&trial, "keys/inner")->plain_parent);
    check(trial_hidden(&trial, "keys/inner/one")->plain_parent);
    check(trial_hidden(&trial, "plain/key")->plain_parent);
    trial_end(&trial);
}

/* A devpts outside of /dev holds terminals: it is taken out of what may be read, or the claims are lowered.
 */
TEST_EACH(terminals_mounted_elsewhere_are_taken_out, struct reading, readings)
{
    struct trial trial = start(row);
    struct strings mounts = {0};
    struct mount_table table = {0};

    trial_directory("terminals");
    if (mount("none", trial_path("terminals"), "devpts", 0, NULL) != 0)
        test_skip("no devpts: %s", strerror(errno));
    need(device_mounts(&table, &mounts) == 0);
    check(strings_have(&mounts, trial_path("terminals")));
    check(!strings_have(&mounts, "/dev/pts") && !strings_have(&mounts, "/dev"));
    need(trial_resolve(&trial) == 0);
    check(trial.resolved.devices_elsewhere || is_level_of(&trial, test_dir, "terminals"));
    strings_free(&mounts);
    mounts_free(&table);
    trial_end(&trial);
}

/* The same with one entry more. */
static void resolve_again(struct trial *trial, enum list list, const char *value)
{
    resolved_free(&trial->resolved);
    trial->resolved = (struct resolved){.workspace_fd = -1, .cwd_fd = -1};
    trial_add(trial, list, value);
    need(trial_resolve(trial) == 0);
}

/* --- what is protected ---------------------------------------------------------------------------------- */

TEST_EACH(what_a_bind_mount_shows_in_what_is_writable_is_protected, struct reading, readings)
{
    struct trial trial = start(row);
    const struct strings *held = &trial.resolved.protected_paths;
    struct unprotects names;

    trial_directory("work");
    trial_directory("work/kept");
    trial_directory("work/kept/inner");
    trial_directory("work/again");
    trial_directory("work/part");
    trial_directory("work/free");
    trial_file("work/kept/file", 0600);
    trial_file("work/file", 0600);
    bind_mount(trial_path("work/kept"), trial_path("work/again"));
    bind_mount(trial_path("work/kept/inner"), trial_path("work/part"));
    bind_mount(trial_path("work/kept/file"), trial_path("work/file"));
    bind_mount(trial_path("work/kept"), trial_path("seen")); /* nothing can be written there anyway */
    bind_mount(trial_path("keys"), trial_path("work/free"));
    trial_set(&trial, KEY_WORKSPACE, trial_path("work"));
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_add(&trial, LIST_PROTECT, trial_path("work/kept"));
    need(trial_resolve(&trial) == 0);
    check_int(held->count, 4);
    check(strings_have(held, trial_path("work/kept")) && strings_have(held, trial_path("work/again")));
    check(strings_have(held, trial_path("work/part")) && strings_have(held, trial_path("work/file")));
    for (size_t i = 0; i < held->count; i++)
        check(trial.resolved.protected_by[i].listed && trial.resolved.protected_by[i].list == LIST_PROTECT);
    /* Its own name takes it out everywhere; no other does, and what does not is not offered. */
    need(resolved_unprotects(&trial.resolved, SIZE_MAX, trial_path("work/again/new"), false, &names));
    check_int(names.count, 1);
    check_str(names.names[0], trial_path("work/kept"));
    need(resolved_unprotects(&trial.resolved, SIZE_MAX, trial_path("work/part/new"), false, &names));
    check_int(names.count, 1);
    check_str(names.names[0], trial_path("work/kept"));
    resolve_again(&trial, LIST_UNPROTECT, trial_path("work/kept"));
    check_int(held->count, 0);
    trial_end(&trial);
}

TEST_EACH(what_is_writable_by_its_other_name_alone_is_protected_there, struct reading, readings)
{
    struct trial trial = start(row);
    const struct strings *held = &trial.resolved.protected_paths;

    trial_directory("work");
    trial_directory("work/part");
    trial_directory("work/all");
    trial_directory("away");
    trial_directory("away/kept");
    trial_directory("away/kept/inner");
    bind_mount(trial_path("away/kept/inner"), trial_path("work/part"));
    bind_mount(trial_path("away"), trial_path("work/all"));
    trial_set(&trial, KEY_WORKSPACE, trial_path("work"));
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_add(&trial, LIST_PROTECT, trial_path("away/kept"));
    need(trial_resolve(&trial) == 0);
    check_int(held->count, 2);
    check(strings_have(held, trial_path("work/all/kept")) && strings_have(held, trial_path("work/part")));
    trial_end(&trial);
}

/* What sets name in a home is looked at only where it can be written: by another name as well. */
TEST_EACH(what_runs_later_in_a_home_is_protected_by_its_other_name, struct reading, readings)
{
    struct trial trial = start(row);
    const struct strings *held = &trial.resolved.protected_paths;

    trial_directory("work");
    trial_directory("work/home");
    trial_directory("work/part");
    trial_directory("home/.config");
    trial_directory("home/.config/autostart");
    trial_file("home/.bashrc", 0600);
    trial_file("home/.profile", 0600);
    bind_mount(trial_path("home"), trial_path("work/home"));
    bind_mount(trial_path("home/.config"), trial_path("work/part"));
    trial_set(&trial, KEY_WORKSPACE, trial_path("work"));
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_add(&trial, LIST_UNPROTECT, trial_path("home/.profile"));
    need(trial_resolve(&trial) == 0);
    check(strings_have(held, trial_path("work/home/.bashrc")));
    check(strings_have(held, trial_path("work/home/.config/autostart")));
    check(strings_have(held, trial_path("work/part/autostart")));
    check(!strings_have(held, trial_path("work/home/.profile")));
    check(!strings_have(held, trial_path("home/.bashrc")));
    trial_end(&trial);
}
