/*
 * main.c - the program confine-check: the outside of `confine check`, and the inside of it.
 *
 *   confine-check list                          every attempt, a JSON line each
 *   confine-check battery KEY=VALUE... -- WORDS... all of them, WORDS being the start of a confinement
 *                                               of somebody else's with foreign=yes: then they end where ours
 * begin confine-check inside                        takes orders on 0, answers on 1 confine-check once FILE
 * one order from a file confine-check victim ...                    a process that is attacked
 *
 * It is started by `confine check`, which judges. Nothing here knows a backend or a plan.
 */
#include "battery.h"
#include "place.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

const struct attempt_group attempt_groups[] = {
    {"files", files_attempts},         {"view", view_attempts},
    {"metadata", metadata_attempts},   {"protected", protected_attempts},
    {"network", network_attempts},     {"listed", listed_attempts},
    {"local", local_attempts},         {"ipc", ipc_attempts},
    {"processes", process_attempts},   {"signals", signal_attempts},
    {"setup", environment_attempts},   {"planted", planted_attempts},
    {"parents", parents_attempts},     {"starts", starts_attempts},
    {"privilege", privilege_attempts}, {"terminal", terminal_attempts},
    {"inherited", inherited_attempts}, {"limits", limit_attempts},
    {"later", later_attempts},         {NULL, NULL},
};

const struct attempt *attempt_by_id(const char *id)
{
    for (const struct attempt_group *group = attempt_groups; group->name; group++)
        for (const struct attempt *attempt = group->attempts; attempt->id; attempt++)
            if (strcmp(attempt->id, id) == 0)
                return attempt;
    return NULL;
}

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "confine-check: fatal: %s: %s\n", what, why);
    return 125;
}

/* Return: whether the word was one of ours. */
static bool take_word(struct battery *battery, const char *word)
{
    const char *value = strchr(word, '=');
    const struct {
        const char *key;
        long *number;
    } numbers[] = {
        {"limit-memory", &battery->limit_memory}, {"limit-processes", &battery->limit_processes},
        {"limit-file", &battery->limit_file},     {"limit-time", &battery->limit_time},
        {"limit-cpu", &battery->limit_cpu},       {"limit-tmp", &battery->limit_tmp},
    };
    size_t length = value ? (size_t)(value - word) : 0;

    if (!value)
        return false;
    value++;
    for (size_t i = 0; i < ITEMS(numbers); i++)
        if (strlen(numbers[i].key) == length && memcmp(word, numbers[i].key, length) == 0) {
            *numbers[i].number = strtol(value, NULL, 10);
            return true;
        }
    if (strncmp(word, "base=", 5) == 0)
        snprintf(battery->base, sizeof(battery->base), "%s", value);
    else if (strncmp(word, "workspace=", 10) == 0)
        battery->workspace = value;
    else if (strncmp(word, "own-workspace=", 14) == 0)
        battery->workspace = value, battery->own_workspace = true;
    else if (strncmp(word, "only=", 5) == 0)
        battery->only = value;
    else if (strncmp(word, "uid=", 4) == 0)
        battery->uid = (uid_t)strtoul(value, NULL, 10);
    else if (strncmp(word, "gid=", 4) == 0)
        battery->gid = (gid_t)strtoul(value, NULL, 10);
    else if (strcmp(word, "foreign=yes") == 0)
        battery->foreign = true;
    else if (strncmp(word, "rule=", 5) == 0)
        battery->listed = true;
    else if (strcmp(word, "proxy=yes") == 0)
        battery->proxy = true;
    else if (strncmp(word, "unlistable=", 11) == 0)
        battery->unlistable = value;
    else
        return false;
    return true;
}

/* As the command's user from here on; root stays behind, for the start of the confinement. */
static int become_user(const struct battery *battery)
{
    bool nobody_else = battery->uid == geteuid() && battery->gid == getegid();

    if (!battery->root)
        return 0;
    /* In a container root may lack the capability to leave its groups, and keeps them as the command does. */
    if (setgroups(0, NULL) != 0 && !(nobody_else && errno == EPERM))
        return -errno;
    if (setresgid(battery->gid, battery->gid, 0) != 0 || setresuid(battery->uid, battery->uid, 0) != 0)
        return -errno;
    return 0;
}

/* Secrets that the confinement takes away: a variable, and a file that a variable names. */
static int set_secrets(struct battery *battery)
{
    fill_mark(battery->token);
    fill_mark(battery->credential_secret);
    if (place_file(battery->credential, battery->base, "credentials", battery->credential_secret, 0600) < 0 ||
        setenv("CONFINE_CHECK_TOKEN", battery->token, 1) != 0 ||
        setenv("AWS_SHARED_CREDENTIALS_FILE", battery->credential, 1) != 0)
        return -1;
    return 0;
}

/* What a project has that runs later outside: there when the confinement starts, so that it can be protected.
 */
static int fill_workspace(const struct battery *battery)
{
    static const char *const directories[] = {".git", ".git/hooks", ".git/objects", ".git/refs", ".vscode"};
    static const char *const files[][2] = {
        {".git/HEAD", "ref: refs/heads/main\n"},
        {".git/config", "[core]\n\trepositoryformatversion = 0\n"},
        {".git/hooks/post-commit", "original"},
        {".vscode/tasks.json", "original"},
    };
    char path[PLACE_SIZE];
    int result = 0;

    for (size_t i = 0; result == 0 && i < ITEMS(directories); i++) {
        result = place_join(path, battery->workspace, directories[i]);
        if (result == 0 && mkdir(path, 0755) != 0)
            result = -errno;
    }
    for (size_t i = 0; result == 0 && i < ITEMS(files); i++)
        result = place_file(path, battery->workspace, files[i][0], files[i][1], 0644);
    return result;
}

/* A session of keys for this battery alone, in which the user's own are found. A kernel without keys has
 * none. */
static void begin_keys(void)
{
    enum { JOIN = 1, LINK = 8, OF_SESSION = -3, OF_USER = -4 };

    if (syscall(SYS_keyctl, JOIN, NULL, 0, 0, 0) >= 0)
        syscall(SYS_keyctl, LINK, OF_USER, OF_SESSION, 0, 0);
}

static int main_battery(char **words, const char *self)
{
    static struct battery battery;
    char outside[PLACE_SIZE];
    int result;

    battery = (struct battery){
        .self = self, .words = words, .uid = getuid(), .gid = getgid(), .root = geteuid() == 0};
    for (; *words && strcmp(*words, "--") != 0; words++)
        if (!take_word(&battery, *words))
            return fail(*words, "not a word of a battery");
    if (!*words || !words[1] || !*battery.base)
        return fail("battery", "no base or no command");
    battery.start = words + 1;
    signal(SIGPIPE, SIG_IGN);
    umask(022);
    if (become_user(&battery) < 0)
        return fail("user", strerror(errno));
    result = janitor_start();
    if (result < 0)
        return fail("janitor", strerror(-result));
    janitor_note(LEFT_TREE, 0, battery.base);
    if (place_join(outside, battery.base, "outside") < 0 || mkdir(outside, 0755) != 0 ||
        set_secrets(&battery) < 0)
        return fail(battery.base, strerror(errno));
    begin_keys();
    if (battery.own_workspace && fill_workspace(&battery) < 0)
        return fail(battery.workspace, "it could not be filled");
    result = battery_run(&battery);
    remove_tree(battery.base);
    return result;
}

int main(int argc, char **argv)
{
    static char self[PLACE_SIZE];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

    /* A copy of this program is made set-id, for an attempt. Whoever starts that must get nothing by it. */
    if (getauxval(AT_SECURE))
        return argc == 2 && strcmp(argv[1], "privilege") == 0 ? privilege_main() : 125;
    if (argc == 2 && strcmp(argv[1], "list") == 0) {
        output_list();
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "inside") == 0)
        return runner_main(0, 1);
    if (argc == 3 && strcmp(argv[1], "once") == 0)
        return runner_once(argv[2]);
    if (argc == 2 && strcmp(argv[1], "privilege") == 0)
        return privilege_main();
    if (argc == 5 && strcmp(argv[1], "victim") == 0)
        return victim_main(argv + 2);
    if (argc > 2 && strcmp(argv[1], "battery") == 0 && length > 0)
        return main_battery(argv + 2, self);
    return fail("usage", "it is started by confine check");
}
