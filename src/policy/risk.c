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
#define LIBRARY  "programs load what is in it"
#define PROGRAMS "programs are started from there"
#define HOOKS    "the system runs what is in it"
#define STARTS   "a program runs it when it starts"

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
    {"~/.local/lib", LIBRARY, false},
    {"~/.local/libexec", PROGRAMS, false},
    {"~/.local/share/applications", "a desktop starts what it names", false},
    {"~/.local/share/dbus-1", "the user's bus starts what it names", false},
    {"~/.config/dbus-1", "the user's bus starts what it names", false},
    {"~/.oh-my-zsh", "a shell reads it when it starts", false},
    {"~/.bash_completion", "a shell reads it when it starts", false},
    {"~/.local/share/bash-completion", "a shell reads it when it starts", false},
    {"~/.nvm", "a shell reads it when it starts", false},
    {"~/.sdkman", "a shell reads it when it starts", false},
    {"~/.asdf", PROGRAMS, false},
    {"~/.pyenv", PROGRAMS, false},
    {"~/.rbenv", PROGRAMS, false},
    {"~/.rustup", PROGRAMS, false},
    {"~/.volta", PROGRAMS, false},
    {"~/.local/share/mise", PROGRAMS, false},
    {"~/.config/mise", "mise runs what it names", false},
    {"~/.config/direnv", "direnv runs it", false},
    {"~/.docker/cli-plugins", PROGRAMS, false},
    {"~/.npmrc", "names commands that npm runs", false},
    {"~/.yarnrc", "names programs that yarn runs", false},
    {"~/.yarnrc.yml", "names programs that yarn runs", false},
    {"~/.gradle/init.d", STARTS, false},
    {"~/.mavenrc", STARTS, false},
    {"~/.terraformrc", "names plugins that terraform runs", false},
    {"~/.terraform.d/plugins", PROGRAMS, false},
    {"~/.hgrc", "names commands that hg runs", false},
    {"~/.config/hg", "names commands that hg runs", false},
    {"~/.ipython/profile_default/startup", STARTS, false},
    {"~/.jupyter", STARTS, false},
    {"~/.Rprofile", STARTS, false},
    {"~/.irbrc", STARTS, false},
    {"~/.psqlrc", STARTS, false},
    {"~/.sqliterc", STARTS, false},
    {"~/.bunfig.toml", "names what bun runs first", false},
    {"~/.config/go/env", "names commands that go runs", false},
    {"~/.cargo/config", "names commands that cargo runs", false},
    {"~/.cargo/bin", PROGRAMS, false},
    {"~/go/bin", PROGRAMS, false},
    {"~/.bun/bin", PROGRAMS, false},
    {"~/.deno/bin", PROGRAMS, false},
    {"~/.m2/settings.xml", "names where maven installs from", false},
    {"~/.m2/extensions.xml", "names what maven runs", false},
    {"~/.gradle/init.gradle", STARTS, false},
    {"~/.gradle/init.gradle.kts", STARTS, false},
    {"~/.gradle/gradle.properties", "names what gradle runs", false},
    {"~/.gemrc", "names where gem installs from", false},
    {"~/.bundle/config", "names where bundler installs from", false},
    {"~/.gem", LIBRARY, false},
    {"~/.local/share/gem", LIBRARY, false},
    {"~/.pip", "names where pip installs from", false},
    {"~/.config/uv", "names where uv installs from", false},
    {"~/.config/composer", LIBRARY, false},
    {"~/.composer", LIBRARY, false},
    {"~/.config/libreoffice", LIBRARY, false},
    {"~/.local/share/jupyter/kernels", "names commands that jupyter runs", false},
    {"~/.pdbrc", STARTS, false},
    {"~/.config/tmux", "tmux runs it", false},
    {"~/.config/emacs", "an editor runs what it names", false},
    {"~/.docker/config.json", "names commands that docker runs", false},
    {"~/.aws/config", "names commands that aws runs", false},
    {"~/.mailcap", "names commands that mail runs", false},
    {"~/.vscode", "an editor loads what is in it", false},
    {"~/.vscode-server", "an editor loads what is in it", false},
    {"~/.cursor-server", "an editor loads what is in it", false},
    {"~/.local/share/nvim", "an editor loads what is in it", false},
    {"~/.config/Cursor/User", "an editor runs what it names", false},
    {"~/.config/VSCodium/User", "an editor runs what it names", false},
    {"~/.config/zed", "an editor runs what it names", false},
    {"~/.config/JetBrains", "an editor runs what it names", false},
    {"~/.config/opencode", "an agent runs what it names", false},
    {"/etc/nsswitch.conf", LOADER, false},
    {"/usr/local/lib", LIBRARY, false},
    {"/usr/local/libexec", PROGRAMS, false},
    {"/etc/alternatives", PROGRAMS, false},
    {"/etc/default", "scripts of the system read it", false},
    {"/etc/logrotate.d", HOOKS, false},
    {"/etc/update-motd.d", HOOKS, false},
    {"/etc/NetworkManager", HOOKS, false},
    {"/etc/network", HOOKS, false},
    {"/etc/dhcp", HOOKS, false},
    {"/etc/kernel", HOOKS, false},
    {"/etc/initramfs-tools", HOOKS, false},
    {"/etc/acpi", HOOKS, false},
    {"/etc/X11", HOOKS, false},
    {"/etc/dbus-1", "what a bus starts, and for whom", false},
    {"/etc/sysctl.conf", "names programs that the kernel starts", false},
    {"/etc/sysctl.d", "names programs that the kernel starts", false},
    {"/etc/binfmt.d", "names programs that the kernel starts", false},
    {"/etc/fstab", "what is mounted, and how", false},
    {"/etc/docker", "names what runs as root", false},
    {"/etc/containers", "names what runs as root", false},
    {"/etc/containerd", "names what runs as root", false},
    {"/boot", "what the machine starts", false},
    {"/etc/yum.repos.d", "names where packages come from", false},
    {"/etc/dnf", "names where packages come from", false},
    {"/etc/pacman.d", "names where packages come from", false},
    {"/etc/apk", "names where packages come from", false},
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
    {"/ssh-agent", false, "it signs with the keys of ssh"}, /* where containers have it */
    {"/ssh-auth.sock", false, "it signs with the keys of ssh"},
    {"/keyring/", false, "it has the user's keyring"},
    {"/emacs", false, "it runs what it is told"},
    {"/vscode-", false, "it runs what it is told"},
    {"/nvim.", false, "it runs what it is told"},
    {"/kitty", false, "it types into terminals outside"},
    {"/wezterm/", false, "it types into terminals outside"},
    {"/sway-ipc.", false, "it runs what it is told"},
    {"/i3/", false, "it runs what it is told"},
    {"/hypr/", false, "it runs what it is told"},
    {"/ydotool", false, "it presses every key"},
    {"/dbus-", false, "a bus starts programs outside"},
    {"/at-spi/", false, "it sees and presses every key"},
    {"/S.scdaemon", false, "it signs with the keys of a card"},
    {"/1password/", false, "it has keys and passwords"},
};

#define SECRET "the secret there"
#define SCREEN "who has it sees and presses every key"

/* What is one wherever it lies, known by a part of the path: each login has another name for it. */
static const struct {
    const char *part;
    struct set_item item;
} secrets[] = {
    {"/krb5cc", {SECRET, "tickets of Kerberos", false}},
    {"/xauth_", {SECRET, SCREEN, false}},
    {"/.Xauthority", {SECRET, SCREEN, false}},
    {"/.mutter-Xwaylandauth.", {SECRET, SCREEN, false}},
};

enum kind { KIND_LATER = 0, KIND_SECRET, KIND_AGENT };

/* One name of an item, or what that leads to. */
struct place {
    enum kind kind;
    const struct set_item *item;
    char *name;
};

/* All of them, for one user: looked up once, and again when somebody may have changed a link. A fence asks
 * for each name that it refuses. */
static struct known {
    char *homes[2]; /* NULL: not known */
    char *const *env;
    int64_t until; /* ms */
    struct place *places;
    size_t count;
} known;

#define KNOWN_MS 2000

/* What is asked, and how far it reaches. */
struct asking {
    const char *path;
    bool around; /* what lies below the path is reached as well */
};

static bool reaches(const struct asking *asking, const char *item)
{
    return path_contains(item, asking->path) || (asking->around && path_contains(asking->path, item));
}

/* Return: 0 or -ENOMEM; @name is taken over. */
static int add_place(enum kind kind, const struct set_item *item, char *name)
{
    if (!name || !array_more(&known.places, known.count, sizeof(*known.places))) {
        free(name);
        return -ENOMEM;
    }
    known.places[known.count++] = (struct place){kind, item, name};
    return 0;
}

/* NAME, and what it leads to where a link is on the way: start files are often links. What is not there yet
 * has the place that it would be made at. */
static int add_name(enum kind kind, const struct set_item *item, char *name)
{
    char front[PATH_MAX], target[PATH_MAX];
    const char *slash = name ? strrchr(name, '/') : NULL;
    int r = add_place(kind, item, name), fd;

    if (r < 0)
        return r;
    fd = object_open(AT_FDCWD, name, 0, RESOLVE_NO_SYMLINKS);
    fd_close(fd);
    if (fd != -ELOOP) /* it has this name and no other, or would have it */
        return 0;
    if (realpath(name, target))
        return add_place(kind, item, strdup(target));
    if (!slash || slash == name || (size_t)(slash - name) >= sizeof(front))
        return 0;
    snprintf(front, sizeof(front), "%.*s", (int)(slash - name), name);
    return realpath(front, target) ? add_place(kind, item, text_join(target, slash, NULL)) : 0;
}

/* `$NAME/x` in each directory of that variable. */
static int add_variable(enum kind kind, const struct set_item *item)
{
    const char *rest = strchr(item->value, '/'), *value;
    _cleanup_free_ char *variable =
        rest ? strndup(item->value + 1, (size_t)(rest - item->value - 1)) : strdup(item->value + 1);
    int r = variable ? 0 : -ENOMEM;

    value = r == 0 && known.env ? env_value(known.env, variable) : NULL;
    while (r == 0 && value && *value == '/') {
        size_t length = strcspn(value, ":");
        _cleanup_free_ char *front = strndup(value, length);

        r = front ? add_name(kind, item, text_join(front, rest ? rest : "", NULL)) : -ENOMEM;
        value += length + (value[length] == ':');
    }
    return r;
}

static int add_items(enum kind kind, const struct set_item *items)
{
    int r = 0;

    for (const struct set_item *item = items; item->value && r == 0; item++) {
        if (*item->value == '/')
            r = add_name(kind, item, strdup(item->value));
        for (size_t i = 0; *item->value == '~' && r == 0 && i < ARRAY_SIZE(known.homes); i++)
            r = known.homes[i] ? add_name(kind, item, text_join(known.homes[i], item->value + 1, NULL)) : 0;
        if (*item->value == '$')
            r = add_variable(kind, item);
    }
    return r;
}

static void forget(void)
{
    for (size_t i = 0; i < known.count; i++)
        free(known.places[i].name);
    free(known.places);
    free(known.homes[0]);
    free(known.homes[1]);
    known = (struct known){0};
}

/* Return: 0 or -ENOMEM; then nothing is known. */
static int look_up(const char *home, char *const *env)
{
    static const struct set_item programs[] = {{"$PATH", "programs are looked for there", false},
                                               {NULL, NULL, false}};
    const char *env_home = env ? env_value(env, "HOME") : NULL;
    int r = 0;

    if (!env_home || *env_home != '/' || (home && strcmp(home, env_home) == 0))
        env_home = NULL;
    if (known.until > clock_ms(CLOCK_MONOTONIC_COARSE) && known.env == env &&
        text_same(known.homes[0], home) && text_same(known.homes[1], env_home))
        return 0;
    forget();
    known.env = env;
    if ((home && !(known.homes[0] = strdup(home))) || (env_home && !(known.homes[1] = strdup(env_home))))
        r = -ENOMEM;
    if (r == 0)
        r = add_items(KIND_LATER, places);
    if (r == 0)
        r = add_items(KIND_LATER, set_by_name("@runs-later")->items);
    if (r == 0)
        r = add_items(KIND_LATER, programs);
    if (r == 0)
        r = add_items(KIND_SECRET, set_by_name("@credentials")->items);
    if (r == 0)
        r = add_items(KIND_AGENT, set_by_name("@ssh-agent")->items);
    if (r == 0)
        r = add_items(KIND_AGENT, set_by_name("@gpg-agent")->items);
    if (r < 0)
        forget();
    else
        known.until = clock_ms(CLOCK_MONOTONIC_COARSE) + KNOWN_MS;
    return r;
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

static const struct set_item *find_place(const struct asking *asking, enum kind kind)
{
    for (size_t i = 0; i < known.count; i++)
        if (known.places[i].kind == kind && reaches(asking, known.places[i].name))
            return known.places[i].item;
    return NULL;
}

static const struct set_item *find_later(const char *path)
{
    static const struct set_item hooks = {"a repository's hooks", "git runs them", false};
    const struct asking asking = {path, true};
    const struct set_item *found = find_place(&asking, KIND_LATER);

    for (const struct set_item *item = set_by_name("@runs-later")->items; !found && item->value; item++)
        found = item->value[0] == '.' && is_in_tree(&asking, item->value) ? item : NULL;
    return found ?: is_repository(path) ? &hooks : NULL;
}

/* What is hidden in a directory is so in one that is granted, too. */
static const struct set_item *find_secret(const char *path)
{
    for (size_t i = 0; i < ARRAY_SIZE(secrets); i++)
        if (strstr(path, secrets[i].part))
            return &secrets[i].item;
    return find_place(&(struct asking){path, false}, KIND_SECRET);
}

/* By the path of a socket, or of a directory of them. */
static bool is_service(const char *path, const struct service *service)
{
    const size_t length = strlen(path), part = strlen(service->part);
    _cleanup_free_ char *directory = service->end ? NULL : text_join(path, "/", NULL);

    if (service->end)
        return length >= part && strcmp(path + length - part, service->part) == 0;
    return !directory || strstr(directory, service->part);
}

/* Return: whether one is found, in @ret. */
static bool find_service(const char *path, struct risk *ret)
{
    const struct set_item *found = find_place(&(struct asking){path, true}, KIND_AGENT);

    if (found) {
        *ret = (struct risk){found->value, found->why};
        return true;
    }
    for (size_t i = 0; i < ARRAY_SIZE(services); i++) {
        if (!is_service(path, &services[i]))
            continue;
        *ret = (struct risk){"the service there", services[i].why};
        return true;
    }
    return false;
}

bool risk_find(const char *home, char *const *env, enum list list, const char *path, struct risk *ret)
{
    const struct set_item *found = NULL;

    if (look_up(home, env) < 0) { /* what cannot be weighed is not offered */
        *ret = (struct risk){"what is not known", "there was no memory to look"};
        return true;
    }
    if (list == LIST_SOCKETS)
        return find_service(path, ret);
    if (list == LIST_WRITE || list == LIST_UNPROTECT)
        found = find_later(path);
    if (!found && (list == LIST_WRITE || list == LIST_SHOW || list == LIST_READ))
        found = find_secret(path);
    if (found)
        *ret = (struct risk){found->value, found->why};
    return found;
}

void risk_say(const struct risk *risk, struct text *text)
{
    text_addf(text, "would hand over %s (%s)", risk->item, risk->why);
}
