/*
 * launcher.c - find the links beside the running confine, and refuse ones that somebody else could have
 * written.
 *
 * Should:  look at the program and every directory above it.
 * Mustn't: look anywhere else when it is not there: a launcher from PATH is a launcher of the workspace.
 */
#include "run/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int refuse(struct error *error, const char *path, const char *why)
{
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, EPERM, "launcher-writable",
              "the launcher cannot be trusted: %s %s", QUOTE(path), why);
    return error_hint(error,
                      "install confine where only root or you can write, outside every writable grant");
}

/* A private group (its number is the owner's) is the owner alone; root's group is root's. */
static bool others_can_write(const struct stat *object, uid_t caller)
{
    bool private_group = object->st_gid == 0 || (object->st_uid == caller && object->st_gid == getgid());

    if (object->st_uid != 0 && object->st_uid != caller)
        return true;
    if (S_ISDIR(object->st_mode) && (object->st_mode & S_ISVTX))
        return false; /* others add names there, but cannot replace ours */
    return (object->st_mode & S_IWOTH) || ((object->st_mode & S_IWGRP) && !private_group);
}

/* PATH and every directory above it, from the root down, but for the first @known bytes that were looked at.
 */
static int check_path(const struct resolved *resolved, const char *path, size_t known, struct error *error)
{
    char part[PATH_MAX];
    struct stat object;
    uid_t caller = getuid();

    if (resolved && resolved_under_writable(resolved, path))
        return refuse(error, path, "lies in a writable grant");
    for (const char *slash = path + known; slash; slash = strchr(slash + 1, '/')) {
        const char *next = strchr(slash + 1, '/');
        size_t length = next ? (size_t)(next - path) : strlen(path);

        if (slash == path) {
            if (lstat("/", &object) == 0 && others_can_write(&object, caller))
                return refuse(error, "/", "can be written by others");
        }
        memcpy(part, path, length);
        part[length] = '\0';
        if (lstat(part, &object) != 0) {
            error_set(error, ERROR_SANDBOX_UNAVAILABLE, errno, "missing-launcher", "cannot look at %s: %s",
                      QUOTE(part), strerror(errno));
            return error_hint(error,
                              "install confine whole: bin/confine and libexec/confine belong together");
        }
        if (others_can_write(&object, caller))
            return refuse(error, part, "can be written by somebody else than root and you");
    }
    return 0;
}

int launcher_open(const struct resolved *resolved, const char *program, struct error *error)
{
    char self[PATH_MAX], path[PATH_MAX + 64];
    ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash;
    int fd, r;

    if (size < 0) {
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, errno, "no-proc", "cannot read /proc/self/exe: %s",
                  strerror(errno));
        return error_hint(error, "mount /proc");
    }
    self[size] = '\0';
    slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    slash = strrchr(self, '/');
    if (!slash || strcmp(slash, "/bin") != 0) {
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, ENOENT, "missing-launcher",
                  "confine runs from %s, which is no bin directory, so its links cannot be found",
                  QUOTE(self));
        return error_hint(error, "install it: `make install PREFIX=...`");
    }
    *slash = '\0';
    snprintf(path, sizeof(path), "%s/libexec/confine/%s", self, program);
    fd = openat(AT_FDCWD, path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, errno, "missing-launcher", "cannot open %s: %s",
                  QUOTE(path), strerror(errno));
        return error_hint(error, "install confine whole: bin/confine and libexec/confine belong together");
    }
    r = check_path(resolved, path, 0, error);
    if (r == 0) {
        snprintf(path, sizeof(path), "%s/bin/confine", self);
        r = check_path(resolved, path, strlen(self), error);
    }
    if (r < 0) {
        fd_close(fd);
        return r;
    }
    return fd;
}
