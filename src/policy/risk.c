/*
 * risk.c - what a grant would hand over besides what it is asked for.
 *
 * Who may write `~/.ssh` may log in; who may write below `/etc/cron.d` is root. A person may grant that by
 * name, but nobody is to be talked into it by a proposal that a command has brought about.
 *
 * Should:  know what the sets know, by the names that they have and by what these lead to; and places of the
 *          machine, which matter where a command runs as root.
 * Mustn't: be asked before a run starts: it looks many names up. Mustn't decide what is granted.
 */
#include "policy/risk.h"

#include "kernel/object.h"
#include "links/kernel_abi.h"
#include "policy/resolve_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>

#define CRON     "cron runs it"
#define SHELLS   "shells of all users read it when they start"
#define LOADER   "every program loads what it names"
#define LOGINS   "decides who may log in"
#define SERVICE  "started with the machine"
#define PACKAGES "what is installed, and run by that"

/* Besides @runs-later. */
static const struct set_item places[] = {
    {"~/.ssh", "keys, and who may log in", false},
    {"~/.gnupg", "keys, and whom they trust", false},
    {"/var/spool/cron", CRON, false},
    {"/var/spool/at", "atd runs it", false},
    {"/etc/crontab", CRON, false},
    {"/etc/anacrontab", CRON, false},
    {"/etc/cron.d", CRON, false},
    {"/etc/cron.hourly", CRON, false},
    {"/etc/cron.daily", CRON, false},
    {"/etc/cron.weekly", CRON, false},
    {"/etc/cron.monthly", CRON, false},
    {"/etc/profile", SHELLS, false},
    {"/etc/profile.d", SHELLS, false},
    {"/etc/bash.bashrc", SHELLS, false},
    {"/etc/bashrc", SHELLS, false},
    {"/etc/zsh", SHELLS, false},
    {"/etc/zshrc", SHELLS, false},
    {"/etc/zshenv", SHELLS, false},
    {"/etc/fish", SHELLS, false},
    {"/etc/environment", SHELLS, false},
    {"/etc/ld.so.preload", LOADER, false},
    {"/etc/ld.so.conf", LOADER, false},
    {"/etc/ld.so.conf.d", LOADER, false},
    {"/etc/ld.so.cache", LOADER, false},
    {"/etc/passwd", LOGINS, false},
    {"/etc/group", LOGINS, false},
    {"/etc/pam.d", LOGINS, false},
    {"/etc/pam.conf", LOGINS, false},
    {"/etc/security", LOGINS, false},
    {"/etc/ssh", LOGINS, false},
    {"/etc/polkit-1", "who may become root", false},
    {"/etc/doas.conf", "who may become root", false},
    {"/etc/systemd", SERVICE, false},
    {"/etc/init.d", SERVICE, false},
    {"/etc/rc.local", SERVICE, false},
    {"/etc/inittab", SERVICE, false},
    {"/etc/udev", "udev runs what it names", false},
    {"/etc/modprobe.d", "names commands that modprobe runs", false},
    {"/etc/xdg/autostart", "started at login", false},
    {"/etc/gitconfig", "names commands that git runs", false},
    {"/etc/apt", "names where apt installs from", false},
    {"/var/cache/apt", PACKAGES, false},
    {"/var/lib/apt", PACKAGES, false},
    {"/var/lib/dpkg", PACKAGES, false},
    {"/var/lib/rpm", PACKAGES, false},
    {NULL, NULL, false},
};

/* What answers there does for its callers what a command may not: known by a part of the path, or its end. */
static const struct service {
    const char *part;
    bool end;
    const char *why;
} services[] = {
    {"/bus", true, "the user's bus starts programs outside"},
    {"/systemd/", false, "it starts programs outside"},
    {"/.X11-unix/", false, "it sees and presses every key"},
    {"/wayland-", false, "it has the screen and the clipboard"},
    {"/tmux-", false, "it types into terminals outside"},
    {"/screen/", false, "it types into terminals outside"},
    {"/S.gpg-agent", false, "it signs and decrypts with the keys of gnupg"},
    {"/keyring/", false, "it has the user's keyring"},
    {"/emacs", false, "it runs what it is told"},
    {"/vscode-", false, "it runs what it is told"},
};

/* What is asked, and how far it reaches. */
struct asking {
    const char *homes[2]; /* NULL: not known, or the same */
    char *const *env;
    const char *path;
    bool around; /* what lies below the path is reached as well */
};

static bool reaches(const struct asking *asking, const char *item)
{
    return path_contains(item, asking->path) || (asking->around && path_contains(asking->path, item));
}

/* The same for what NAME leads to, where a link is on the way: start files are often links. What is not there
 * yet has the place that it would be made at. */
static bool reaches_target(const struct asking *asking, const char *name)
{
    char front[PATH_MAX], target[PATH_MAX];
    const char *slash = strrchr(name, '/');
    _cleanup_free_ char *joined = NULL;
    int fd;

    if (reaches(asking, name))
        return true;
    fd = object_open(AT_FDCWD, name, 0, RESOLVE_NO_SYMLINKS);
    fd_close(fd);
    if (fd != -ELOOP) /* it has this name and no other, or would have it */
        return false;
    if (realpath(name, target))
        return reaches(asking, target);
    if (slash == name || (size_t)(slash - name) >= sizeof(front))
        return false;
    snprintf(front, sizeof(front), "%.*s", (int)(slash - name), name);
    joined = realpath(front, target) ? text_join(target, slash, NULL) : NULL;
    return joined && reaches(asking, joined);
}

/* `~/x` in each home, `$NAME/x` in each directory of that variable, `/x`. */
static bool reaches_item(const struct asking *asking, const char *item)
{
    const char *rest = strchr(item, '/');
    _cleanup_free_ char *variable = NULL;
    const char *value;

    if (*item == '/')
        return reaches_target(asking, item);
    for (size_t i = 0; *item == '~' && i < ARRAY_SIZE(asking->homes); i++) {
        _cleanup_free_ char *name = asking->homes[i] ? text_join(asking->homes[i], item + 1, NULL) : NULL;

        if (name && reaches_target(asking, name))
            return true;
    }
    if (*item != '$' || !asking->env)
        return false;
    variable = rest ? strndup(item + 1, (size_t)(rest - item - 1)) : strdup(item + 1);
    value = variable ? env_value(asking->env, variable) : NULL;
    while (value && *value == '/') {
        size_t length = strcspn(value, ":");
        _cleanup_free_ char *front = strndup(value, length);
        _cleanup_free_ char *name = front ? text_join(front, rest ? rest : "", NULL) : NULL;

        if (name && reaches_target(asking, name))
            return true;
        value += length + (value[length] == ':');
    }
    return false;
}

/* `./.git/hooks` in whatever tree: at or below it, or with @around a directory of it. `.git` itself is mostly
 * a directory, and what git needs of it is no risk. */
static bool is_in_tree(const struct asking *asking, const char *item)
{
    const char *tail = item + 1, *path = asking->path;
    size_t length = strlen(tail), end = strlen(path);

    if (strcmp(item, "./.git") == 0)
        return false;
    for (const char *at = strstr(path, tail); at; at = strstr(at + 1, tail))
        if (at[length] == '/' || at[length] == '\0')
            return true;
    for (const char *slash = strchr(tail + 1, '/'); asking->around && slash; slash = strchr(slash + 1, '/')) {
        size_t front = (size_t)(slash - tail);

        if (end >= front && memcmp(path + end - front, tail, front) == 0)
            return true;
    }
    return false;
}

/* A repository: of a work tree nothing is protected that is not the workspace. */
static bool is_repository(const char *path)
{
    static const char *const parts[][3] = {{"/HEAD", "/objects", "/hooks"},
                                           {"/.git/HEAD", "/.git/objects", "/.git/hooks"}};
    struct stat st;

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        size_t there = 0;

        for (size_t j = 0; j < ARRAY_SIZE(parts[i]); j++) {
            _cleanup_free_ char *name = text_join(path, parts[i][j], NULL);

            there += name && stat(name, &st) == 0;
        }
        if (there == ARRAY_SIZE(parts[i]))
            return true;
    }
    return false;
}

static const struct set_item *find_path(const struct asking *asking, const struct set_item *items)
{
    for (const struct set_item *item = items; item->value; item++)
        if (item->value[0] == '.' ? is_in_tree(asking, item->value) : reaches_item(asking, item->value))
            return item;
    return NULL;
}

static const struct set_item *find_later(struct asking *asking)
{
    static const struct set_item programs = {"$PATH", "programs are looked for there", false};
    static const struct set_item hooks = {"a repository's hooks", "git runs them", false};
    const struct set_item *found;

    asking->around = true;
    found = find_path(asking, places) ?: find_path(asking, set_by_name("@runs-later")->items);
    if (!found && reaches_item(asking, programs.value))
        found = &programs;
    return found ?: is_repository(asking->path) ? &hooks : NULL;
}

static const struct set_item *find_secret(struct asking *asking)
{
    asking->around = false; /* what is hidden in a directory is so in one that is granted, too */
    return find_path(asking, set_by_name("@credentials")->items);
}

static bool is_service(const char *path, const struct service *service)
{
    size_t length = strlen(path), part = strlen(service->part);

    return service->end ? length >= part && strcmp(path + length - part, service->part) == 0
                        : strstr(path, service->part) != NULL;
}

/* Return: whether one is found, in @ret. */
static bool find_service(struct asking *asking, struct risk *ret)
{
    static const char *const sets[] = {"@ssh-agent", "@gpg-agent"};

    asking->around = false;
    for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
        const struct set_item *found = find_path(asking, set_by_name(sets[i])->items);

        if (!found)
            continue;
        *ret = (struct risk){found->value, found->why};
        return true;
    }
    for (size_t i = 0; i < ARRAY_SIZE(services); i++) {
        if (!is_service(asking->path, &services[i]))
            continue;
        *ret = (struct risk){"the service there", services[i].why};
        return true;
    }
    return false;
}

bool risk_find(const char *home, char *const *env, enum list list, const char *path, struct risk *ret)
{
    const char *env_home = env ? env_value(env, "HOME") : NULL;
    struct asking asking = {
        .homes = {home, env_home && *env_home == '/' ? env_home : NULL}, .env = env, .path = path};
    const struct set_item *found = NULL;

    if (list == LIST_SOCKETS)
        return find_service(&asking, ret);
    if (list == LIST_WRITE || list == LIST_UNPROTECT)
        found = find_later(&asking);
    if (!found && (list == LIST_WRITE || list == LIST_SHOW || list == LIST_READ))
        found = find_secret(&asking);
    if (found)
        *ret = (struct risk){found->value, found->why};
    return found;
}

void risk_say(const struct risk *risk, struct text *text)
{
    text_addf(text, "would hand over %s (%s)", risk->item, risk->why);
}
