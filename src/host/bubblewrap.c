/*
 * bubblewrap.c - is there a bubblewrap that can be trusted as far as the distribution can?
 *
 * Should:  look at fixed places only, and at every directory above it: all root's, none of it a link.
 * Mustn't: search PATH, or decide by the version that it says: distributions mend old ones and break new
 * ones.
 */
#include "host/host.h"

#include "host/child.h"
#include "kernel/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define VERSION_MS 2000
#define TRIAL_MS   5000
#define SAFE_MINOR 12 /* 0.12 creates no entries through a link that was planted in the workspace */

static const char *const places[] = {"/usr/bin/bwrap", "/bin/bwrap"};

static void lack(struct host_bubblewrap *bubblewrap, int errnum, const char *reason, const char *why,
                 const char *hint)
{
    bubblewrap->answer = HOST_NO;
    bubblewrap->lack =
        (struct host_lack){.reason = reason, .why = why, .surface = "", .errnum = errnum, .structural = true};
    snprintf(bubblewrap->lack.hint, sizeof(bubblewrap->lack.hint), "%s", hint);
}

/* Return: 0, -errno, or -EPERM where somebody else than root could have put it there. */
static int look_at(const char *path, struct stat *object)
{
    char part[64];

    for (size_t at = 0;; at++) {
        size_t size = at == 0 ? 1 : at;

        if (path[at] != '/' && path[at] != '\0')
            continue;
        memcpy(part, path, size);
        part[size] = '\0';
        if (lstat(part, object) != 0)
            return -errno;
        if (object->st_uid != 0 || S_ISLNK(object->st_mode) || (object->st_mode & S_IWOTH) ||
            ((object->st_mode & S_IWGRP) && (object->st_gid != 0 || !trust_group_is_alone(part))))
            return -EPERM;
        if (path[at] == '\0')
            break;
    }
    return S_ISREG(object->st_mode) && (object->st_mode & S_IXOTH) ? 0 : -EACCES;
}

static void say_version(int answer, void *data)
{
    const char *path = data;
    char *const argv[] = {(char[]){"bwrap"}, (char[]){"--version"}, NULL};
    char *const env[] = {NULL};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null < 0 || dup2(null, 0) != 0 || dup2(answer, 1) != 1 || dup2(null, 2) != 2 || chdir("/") != 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return;
    execve(path, argv, env);
}

/* `bubblewrap 0.8.0`. What is not of this form is old. */
static void ask_version(struct host_bubblewrap *bubblewrap)
{
    static const char name[] = "bubblewrap ";
    char text[128];
    ssize_t size =
        child_ask(say_version, (void *)(uintptr_t)bubblewrap->path, text, sizeof(text) - 1, VERSION_MS);
    unsigned major, minor;
    size_t length;

    snprintf(bubblewrap->version, sizeof(bubblewrap->version), "?");
    bubblewrap->old = true;
    if (size <= 0)
        return;
    text[size] = '\0';
    length = strspn(text + strlen(name), "0123456789.");
    if (strncmp(text, name, strlen(name)) != 0 || length == 0 || length >= sizeof(bubblewrap->version) ||
        sscanf(text + strlen(name), "%4u.%4u", &major, &minor) != 2)
        return;
    snprintf(bubblewrap->version, sizeof(bubblewrap->version), "%.*s", (int)length, text + strlen(name));
    bubblewrap->old = major == 0 && minor < SAFE_MINOR;
}

struct trial {
    const char *path;
    uid_t uid;
    gid_t gid;
};

/* What it starts inside is itself once more: a line of it has come through everything. */
static void try_it(int answer, void *data)
{
    const struct trial *trial = data;
    const char *const words[] = {"bwrap",
                                 "--unshare-user",
                                 "--unshare-pid",
                                 "--unshare-ipc",
                                 "--unshare-uts",
                                 "--unshare-net",
                                 "--unshare-cgroup-try",
                                 "--cap-drop",
                                 "ALL",
                                 "--ro-bind",
                                 "/",
                                 "/",
                                 "--dev",
                                 "/dev",
                                 "--proc",
                                 "/proc",
                                 "--tmpfs",
                                 "/tmp",
                                 "--",
                                 trial->path,
                                 "--version",
                                 NULL};
    char *const env[] = {NULL};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (geteuid() == 0 && trial->uid != 0 &&
        (setgroups(0, NULL) != 0 || setresgid(trial->gid, trial->gid, trial->gid) != 0 ||
         setresuid(trial->uid, trial->uid, trial->uid) != 0))
        return;
    if (null < 0 || dup2(null, 0) != 0 || dup2(answer, 1) != 1 || dup2(null, 2) != 2 || chdir("/") != 0)
        return;
    execve(trial->path, (char *const *)(uintptr_t)words, env);
}

void host_try_bubblewrap(struct host *host, uid_t uid, gid_t gid)
{
    struct host_bubblewrap *bubblewrap = &host->bubblewrap;
    struct trial trial = {.path = bubblewrap->path, .uid = uid, .gid = gid};
    char text[16];

    bubblewrap->tried = true;
    if (child_ask(try_it, &trial, text, sizeof(text), TRIAL_MS) > 0)
        return;
    bubblewrap->answer = HOST_NO;
    if (host->namespaces.answer != HOST_NO)
        host_ask_all(host, uid, gid);
    if (host->namespaces.answer == HOST_NO) {
        bubblewrap->lack = host->namespaces.lack;
        return;
    }
    lack(bubblewrap, EPROTO, "bubblewrap-failed", "it starts nothing, although namespaces can be made here",
         "use --backend namespace or landlock");
    bubblewrap->lack.structural = false;
}

/* Behind its links, because a mount is laid on what is there. */
static void find_resolver(struct host_bubblewrap *bubblewrap)
{
    _cleanup_free_ char *path = realpath("/etc/resolv.conf", NULL);

    if (path && strlen(path) < sizeof(bubblewrap->resolver))
        memcpy(bubblewrap->resolver, path, strlen(path) + 1);
}

void host_ask_bubblewrap(struct host *host)
{
    struct host_bubblewrap *bubblewrap = &host->bubblewrap;
    int r = -ENOENT;

    *bubblewrap = (struct host_bubblewrap){.answer = HOST_NO};
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        struct stat object;
        int seen = look_at(places[i], &object);

        if (seen == 0) {
            bubblewrap->answer = HOST_YES;
            bubblewrap->path = places[i];
            bubblewrap->set_uid = object.st_mode & (S_ISUID | S_ISGID);
            if (host_look_nodes() < 0) { /* it needs them as well, or masks with what is none */
                bubblewrap->answer = HOST_NO;
                host_cannot(&bubblewrap->lack, CANNOT_MOUNT, ENOENT);
                return;
            }
            ask_version(bubblewrap);
            find_resolver(bubblewrap);
            return;
        }
        /* /bin is a link to /usr/bin nearly everywhere: that is no news. */
        if (r == -ENOENT)
            r = seen;
    }
    if (access(places[0], F_OK) != 0)
        r = -ENOENT;
    if (r == -ENOENT)
        lack(bubblewrap, ENOENT, "no-bubblewrap", "there is no /usr/bin/bwrap",
             "install the distribution's package bubblewrap");
    else
        lack(bubblewrap, -r, "bubblewrap-untrusted",
             "/usr/bin/bwrap, or a directory above it, is a link or can be written by others than root",
             "install the distribution's package bubblewrap");
}
