/*
 * environment.c - what the caller has in its environment, against those who start a confinement. They are not
 * confined yet, and neither is what they can be made to load, read or run.
 *
 * Each act does inside what the variables are meant for, which must have no effect; the same effect outside
 * says that something of the confinement's own start did it.
 *
 * Should:  put the environment back as it was.
 * Mustn't: name anything that an attempt did not make.
 */
#include "battery.h"
#include "place.h"

#include "hook_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- the environment -------------------------------------------------------------------------------------
 */

static struct {
    const char *name;
    char *before; /* NULL: it was not there */
} changes[24];
static size_t change_count;

static int change(const char *name, const char *value)
{
    const char *before = getenv(name);

    if (change_count == ITEMS(changes))
        return -E2BIG;
    changes[change_count].name = name;
    changes[change_count++].before = before ? strdup(before) : NULL;
    return setenv(name, value, 1) != 0 ? -errno : 0;
}

static void put_back(struct trial *trial)
{
    (void)trial;
    while (change_count > 0) {
        change_count--;
        if (!changes[change_count].before)
            unsetenv(changes[change_count].name);
        else
            setenv(changes[change_count].name, changes[change_count].before, 1);
        free(changes[change_count].before);
    }
}

/* NAME is the path of FILE in the directory of the attempt. */
static int change_to_inner(struct trial *trial, const char *name, const char *file)
{
    char path[PLACE_SIZE];
    int result = place_join(path, trial->order.inner, file);

    return result < 0 ? result : change(name, path);
}

static int make_inner(struct trial *trial, const char *name)
{
    char path[PLACE_SIZE];
    int result = place_join(path, trial->order.inner, name);

    return result < 0 ? result : mkdir(path, 0755) != 0 ? -errno : 0;
}

/* --- what lies in wait -----------------------------------------------------------------------------------
 */

/* A script that creates path[2]. */
static int place_script(struct trial *trial, const char *directory, const char *name)
{
    char path[PLACE_SIZE], text[PLACE_SIZE + 64];

    snprintf(text, sizeof(text), "#!/bin/sh\necho x >'%s'\n", trial->order.path[2]);
    return place_file(path, directory, name, text, 0755);
}

/* A shared object that creates path[2] as soon as it is loaded. */
static int place_hook(struct trial *trial, const char *name)
{
    static const char stands_there[] = "confine-check: the name of a file";
    unsigned char bytes[sizeof(hook_bytes)], *place;
    char path[PLACE_SIZE];
    int fd, result = place_join(path, trial->order.inner, name);

    memcpy(bytes, hook_bytes, sizeof(bytes));
    place = memmem(bytes, sizeof(bytes), stands_there, sizeof(stands_there));
    if (result < 0 || !place)
        return result < 0 ? result : -ENOEXEC;
    memcpy(place, trial->order.path[2], strlen(trial->order.path[2]) + 1);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0755);
    if (fd < 0)
        return -errno;
    result = write(fd, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes) ? 0 : -EIO;
    close(fd);
    return result;
}

/* Starts a program and waits for it. Return: 0 or an errno. */
static int start(const char *const *words)
{
    char *argv[8];
    pid_t child = fork();
    int status;

    if (child == 0) {
        int nothing = open("/dev/null", O_RDWR);

        dup2(nothing, 0);
        dup2(nothing, 1);
        dup2(nothing, 2);
        memset(argv, 0, sizeof(argv));
        for (size_t i = 0; i < ITEMS(argv) - 1 && words[i]; i++)
            argv[i] = (char *)(uintptr_t)words[i];
        execvp(argv[0], argv);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return ECHILD;
    return status ? EACCES : 0;
}

#define STARTS(name, ...)                                                                                    \
    static int act_##name(const struct order *order, struct answer *answer)                                  \
    {                                                                                                        \
        static const char *const words[] = {__VA_ARGS__, NULL};                                              \
                                                                                                             \
        (void)order;                                                                                         \
        (void)answer;                                                                                        \
        return start(words);                                                                                 \
    }

STARTS(loader, "/bin/true")
STARTS(path, "bwrap")
STARTS(shell, "/bin/bash", "-c", "true")
STARTS(function, "/bin/bash", "-c", "true; command_not_there; ls")
STARTS(convert, "iconv", "-f", "CONFINE-CHECK//", "-t", "UTF-8", "/dev/null")
STARTS(git, "git", "--version")

/* --- programs and shells ---------------------------------------------------------------------------------
 */

/* Everything that a launcher may look for. */
static int prepare_path(struct trial *trial)
{
    static const char *const names[] = {"bwrap",
                                        "confine",
                                        "confine-launch",
                                        "confine-sweep",
                                        "namespace-run",
                                        "landlock-run",
                                        "sh",
                                        "bash",
                                        "newuidmap",
                                        "newgidmap",
                                        "true",
                                        "env",
                                        "git",
                                        "getent",
                                        "id",
                                        "mount",
                                        "umount",
                                        "ip",
                                        "nft",
                                        "modprobe",
                                        "fusermount3",
                                        "pasta",
                                        "slirp4netns",
                                        "setpriv",
                                        "systemctl",
                                        "systemd-run"};
    char directory[PLACE_SIZE], value[2 * PLACE_SIZE];
    const char *before = getenv("PATH");
    int result = place_victim(trial);

    if (result == 0)
        result = place_join(directory, trial->order.inner, "bin");
    if (result == 0 && mkdir(directory, 0755) != 0)
        result = -errno;
    for (size_t i = 0; i < ITEMS(names) && result == 0; i++)
        result = place_script(trial, directory, names[i]);
    if (result < 0)
        return result;
    snprintf(value, sizeof(value), "%s:%.500s", directory, before ? before : "/usr/bin:/bin");
    return change("PATH", value);
}

static int needs_bash(struct trial *trial)
{
    int result = place_victim(trial);

    return result == 0 && access("/bin/bash", X_OK) != 0 ? place_skip(trial, "there is no bash") : result;
}

/* A file that shells read before anything else. */
static int prepare_shell(struct trial *trial)
{
    int result = needs_bash(trial);

    if (result == 0)
        result = place_script(trial, trial->order.inner, "env.sh");
    if (result == 0)
        result = change_to_inner(trial, "BASH_ENV", "env.sh");
    return result == 0 ? change_to_inner(trial, "ENV", "env.sh") : result;
}

/* Functions that a shell takes from its environment, by the names of what scripts call. */
static int prepare_function(struct trial *trial)
{
    static const char *const names[] = {"BASH_FUNC_true%%", "BASH_FUNC_ls%%", "BASH_FUNC_exec%%",
                                        "BASH_FUNC_command_not_found_handle%%"};
    char text[PLACE_SIZE + 32];
    int result = needs_bash(trial);

    snprintf(text, sizeof(text), "() { echo x >'%s'; }", trial->order.path[2]);
    for (size_t i = 0; result == 0 && i < ITEMS(names); i++)
        result = change(names[i], text);
    return result;
}

/* What a shell does before each command that it shows. Not as root: that one it does not take. */
static int prepare_prompt(struct trial *trial)
{
    char text[PLACE_SIZE + 32];
    int result = needs_bash(trial);

    snprintf(text, sizeof(text), "$(echo x >'%s')", trial->order.path[2]);
    if (result == 0)
        result = change("SHELLOPTS", "xtrace");
    return result == 0 ? change("PS4", text) : result;
}

static int needs_git(struct trial *trial)
{
    static const char *const words[] = {"git", "--version", NULL};
    int result = place_victim(trial);

    return result == 0 && start(words) != 0 ? place_skip(trial, "there is no git") : result;
}

/* Each git that is started writes there what it does. */
static int prepare_git_trace(struct trial *trial)
{
    int result = needs_git(trial);

    if (result == 0)
        result = change("GIT_TRACE", trial->order.path[2]);
    return result == 0 ? change("GIT_TRACE_SETUP", trial->order.path[2]) : result;
}

/* The settings of git, by variables: a program that it starts to look at a work tree, and before all others.
 */
static int prepare_git_settings(struct trial *trial)
{
    static const char *const names[] = {"GIT_CONFIG_KEY_0", "GIT_CONFIG_KEY_1", "GIT_CONFIG_KEY_2"},
                             *const keys[] = {"core.fsmonitor", "core.pager", "core.sshCommand"},
                             *const values[] = {"GIT_CONFIG_VALUE_0", "GIT_CONFIG_VALUE_1",
                                                "GIT_CONFIG_VALUE_2"};
    int result = needs_git(trial);

    if (result == 0)
        result = place_script(trial, trial->order.inner, "program");
    for (size_t i = 0; result == 0 && i < ITEMS(names); i++) {
        result = change(names[i], keys[i]);
        if (result == 0)
            result = change_to_inner(trial, values[i], "program");
    }
    if (result == 0)
        result = change("GIT_CONFIG_COUNT", "3");
    memcpy(trial->order.path[0], trial->battery->workspace, strlen(trial->battery->workspace) + 1);
    return result;
}

static int act_git_status(const struct order *order, struct answer *answer)
{
    const char *const words[] = {"git", "-C", order->path[0], "status", NULL};

    (void)answer;
    return start(words);
}

/* --- the loader of dynamic programs ----------------------------------------------------------------------
 */

/* It writes a file where this variable says. */
static int prepare_loader(struct trial *trial)
{
    int result = place_victim(trial);

    if (result == 0)
        result = change("LD_DEBUG", "files");
    return result == 0 ? change("LD_DEBUG_OUTPUT", trial->order.path[2]) : result;
}

/* made.PID, whoever made it. */
static int look_loader(struct trial *trial)
{
    return place_find(trial->dir, "made.");
}

/* It writes there how often each function of that library is called. */
static int prepare_profile(struct trial *trial)
{
    int result = place_victim(trial);

    if (result == 0)
        result = change("LD_PROFILE", "libc.so.6");
    return result == 0 ? change("LD_PROFILE_OUTPUT", trial->dir) : result;
}

static int look_profile(struct trial *trial)
{
    return place_find(trial->dir, "libc.so.6.profile");
}

static int prepare_hook(struct trial *trial, const char *variable)
{
    int result = place_victim(trial);

    if (result == 0)
        result = place_hook(trial, "hook.so");
    return result == 0 ? change_to_inner(trial, variable, "hook.so") : result;
}

static int prepare_preload(struct trial *trial)
{
    return prepare_hook(trial, "LD_PRELOAD");
}

static int prepare_audit(struct trial *trial)
{
    return prepare_hook(trial, "LD_AUDIT");
}

/* By a name that the loader looks for where the other variable says. */
static int prepare_library_path(struct trial *trial)
{
    int result = place_victim(trial);

    if (result == 0)
        result = place_hook(trial, "libhook.so.1");
    if (result == 0)
        result = change("LD_LIBRARY_PATH", trial->order.inner);
    return result == 0 ? change("LD_PRELOAD", "libhook.so.1") : result;
}

/* A character set whose conversion is a shared object of ours. */
static int prepare_convert(struct trial *trial)
{
    char path[PLACE_SIZE];
    int result = place_victim(trial);

    if (result == 0)
        result = place_hook(trial, "hook.so");
    if (result == 0)
        result = place_file(path, trial->order.inner, "gconv-modules",
                            "module CONFINE-CHECK// INTERNAL hook 1\n"
                            "module INTERNAL CONFINE-CHECK// hook 1\n",
                            0644);
    return result == 0 ? change("GCONV_PATH", trial->order.inner) : result;
}

/* --- settings of the confinement itself ------------------------------------------------------------------
 */

/* A home in the workspace, with a policy that grants what is outside. */
static int place_policy(struct trial *trial, const char *above)
{
    char directory[PLACE_SIZE], path[PLACE_SIZE], text[2 * PLACE_SIZE];
    int result = place_victim(trial);

    if (result == 0 && *above)
        result = make_inner(trial, above);
    if (result == 0)
        result = place_join(path, trial->order.inner, above);
    if (result == 0)
        result = place_join(directory, path, "confine");
    if (result == 0 && mkdir(directory, 0755) != 0)
        result = -errno;
    snprintf(text, sizeof(text), "{\"policy\": 1, \"mode\": \"workspace-write\", \"write\": [\"%s\"]}\n",
             trial->dir);
    return result == 0 ? place_file(path, directory, "policy.json", text, 0600) : result;
}

static int prepare_home(struct trial *trial)
{
    int result = place_policy(trial, ".config");

    return result == 0 ? change("HOME", trial->order.inner) : result;
}

static int prepare_config_home(struct trial *trial)
{
    int result = place_policy(trial, "config");

    return result == 0 ? change_to_inner(trial, "XDG_CONFIG_HOME", "config") : result;
}

static int act_write(const struct order *order, struct answer *answer)
{
    (void)answer;
    return place_mark(open(order->path[0], O_WRONLY | O_TRUNC), order);
}

/* Temporary files in the workspace, where everything that a launcher may keep there is a link to outside. */
static int prepare_temp(struct trial *trial)
{
    char target[PLACE_SIZE], path[PLACE_SIZE] = "", name[40], child[PLACE_SIZE];
    int result = place_join(target, trial->dir, "target");

    if (result == 0 && mkdir(target, 0755) != 0)
        result = -errno;
    if (result == 0)
        result = place_file(child, target, "0123456789abcdef", "original", 0644);
    for (int i = 0; result == 0 && i < 2; i++) {
        snprintf(name, sizeof(name), "confine-%u", i ? 0 : (unsigned)trial->battery->uid);
        result = place_join(path, trial->order.inner, name);
        if (result == 0 && symlink(target, path) != 0 && errno != EEXIST)
            result = -errno;
    }
    memcpy(trial->order.path[0], path, sizeof(path));
    memcpy(trial->order.path[1], target, sizeof(target));
    return result == 0 ? change("TMPDIR", trial->order.inner) : result;
}

static int act_temp(const struct order *order, struct answer *answer)
{
    char path[PLACE_SIZE];

    (void)answer;
    return place_file(path, order->path[0], "new", order->mark, 0644) < 0 ? errno : 0;
}

/* Anything beside what was there, or that gone. */
static int look_temp(struct trial *trial)
{
    int there = place_find(trial->order.path[1], "0123456789abcdef");
    int count = there < 0 ? there : place_count(trial->order.path[1]);

    return count < 0 ? count : !there || count != 1;
}

/* What changes how programs read words, numbers and names, all at once. */
static int prepare_odd(struct trial *trial)
{
    static const char *const rows[][2] = {
        {"POSIXLY_CORRECT", "1"},
        {"IFS", "/-="},
        {"CDPATH", "/"},
        {"MALLOC_CHECK_", "3"},
        {"MALLOC_PERTURB_", "1"},
        {"GLIBC_TUNABLES", "glibc.malloc.check=3"},
        {"LC_ALL", "tr_TR.UTF-8"},
        {"LANGUAGE", "../../x"},
        {"LOCPATH", "."},
        {"NLSPATH", "./%N"},
        {"TZ", ":../../../x"},
        {"TERM", "../x"},
        {"CONFINE_BACKEND", "none"},
        {"CONFINE_MODE", "danger-full-access"},
    };
    int result = place_victim(trial);

    for (size_t i = 0; result == 0 && i < ITEMS(rows); i++)
        result = change(rows[i][0], rows[i][1]);
    return result;
}

/* --- secrets ---------------------------------------------------------------------------------------------
 */

extern char **environ;

/* The same name twice: whoever takes the first away hands the second one on. */
static void enter_twice(const struct trial *trial)
{
    static char text[2 * MARK_SIZE + 8];
    static char *list[4096];
    size_t count = 0;

    while (count < ITEMS(list) - 3 && environ[count]) {
        list[count] = environ[count];
        count++;
    }
    snprintf(text, sizeof(text), "CHECK_API_TOKEN=%s", trial->secret);
    list[count] = list[count + 1] = text;
    environ = list;
}

static int prepare_twice(struct trial *trial)
{
    trial->enter = enter_twice;
    return 0;
}

static int act_environment(const struct order *order, struct answer *answer)
{
    (void)order;
    for (char **word = environ; *word; word++)
        if (strncmp(*word, "CHECK_API_TOKEN=", 16) == 0) {
            snprintf(answer->data, sizeof(answer->data), "%s", *word + 16);
            return 0;
        }
    return ENOENT;
}

#define STARTING "what is run before the boundary stands is run unconfined"
#define READS    "a policy that the workspace can supply is no policy"
#define SETUP(id, call, what, why, prepare, act, look)                                                       \
    {                                                                                                        \
        id, SURFACE_FS_WRITE, IN_WORKSPACE | OWN_RUN | BEFORE_START | MAY_REFUSE, call, what, why, prepare,  \
            act, look, put_back                                                                              \
    }
#define STARTUP(id, call, what, prepare, act, look) SETUP(id, call, what, STARTING, prepare, act, look)

const struct attempt environment_attempts[] = {
    STARTUP("SET-01", "LD_DEBUG_OUTPUT=outside/made", "have the loader of a dynamic launcher write outside",
            prepare_loader, act_loader, look_loader),
    STARTUP("SET-02", "PATH=inner/bin; bwrap, sh and others in it",
            "have a program of the workspace taken for one of the launcher's", prepare_path, act_path,
            look_made),
    STARTUP("SET-03", "BASH_ENV=inner/env.sh", "have a shell of the launcher's read a file of the workspace",
            prepare_shell, act_shell, look_made),
    STARTUP("SET-22", "LD_PRELOAD=inner/hook.so", "have a dynamic launcher load an object of the workspace",
            prepare_preload, act_loader, look_made),
    STARTUP("SET-23", "LD_AUDIT=inner/hook.so", "have the loader of a dynamic launcher watched by an object",
            prepare_audit, act_loader, look_made),
    STARTUP("SET-24", "LD_LIBRARY_PATH=inner; LD_PRELOAD=libhook.so.1",
            "have a dynamic launcher find its libraries in the workspace", prepare_library_path, act_loader,
            look_made),
    STARTUP("SET-25", "LD_PROFILE_OUTPUT=outside", "have a dynamic launcher profiled into a file outside",
            prepare_profile, act_loader, look_profile),
    STARTUP("SET-26", "GCONV_PATH=inner", "have the C library load a character set of the workspace",
            prepare_convert, act_convert, look_made),
    STARTUP("SET-27", "BASH_FUNC_ls%%=() { ... }", "hand functions to a shell of the launcher's",
            prepare_function, act_function, look_made),
    STARTUP("SET-28", "SHELLOPTS=xtrace; PS4=$(...)", "have a shell of the launcher's run a word as it goes",
            prepare_prompt, act_shell, look_made),
    STARTUP("SET-29", "GIT_TRACE=outside/made", "have a git of the launcher's write outside",
            prepare_git_trace, act_git, look_made),
    STARTUP("SET-30", "GIT_CONFIG_KEY_0=core.fsmonitor", "have a git of the launcher's start a program",
            prepare_git_settings, act_git_status, look_made),
    SETUP("SET-31", "HOME=inner; inner/.config/confine/policy.json",
          "have a policy read that grants what is outside, from a home in the workspace", READS, prepare_home,
          act_write, look_changed),
    SETUP("SET-32", "XDG_CONFIG_HOME=inner/config", "the same by the variable for settings", READS,
          prepare_config_home, act_write, look_changed),
    SETUP("SET-33", "TMPDIR=inner; symlink(outside, inner/confine-UID)",
          "have temporary files made, or removed, behind a link of the workspace",
          "what makes and removes them is not confined", prepare_temp, act_temp, look_temp),
    SETUP("SET-34", "POSIXLY_CORRECT, IFS, LC_ALL, GLIBC_TUNABLES and more",
          "write outside where variables change how words and names are read", STARTING, prepare_odd,
          act_write, look_changed),
    {"SET-35", SURFACE_ENV_SECRETS, OWN_RUN | BEFORE_START | MAY_REFUSE, "CHECK_API_TOKEN=... twice",
     "have a secret survive by being there twice", "a token is as good as the account", prepare_twice,
     act_environment, look_secret, NULL},
    {0},
};
