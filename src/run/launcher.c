/*
 * launcher.c - find the links beside the running confine, and refuse ones that somebody else could have
 * written.
 *
 * Should:  look at the program and every directory above it; at those and at confine once: who can write them
 *          is root or the caller, who could have written what we are.
 * Mustn't: look anywhere else when it is not there: a launcher from PATH is a launcher of the workspace.
 */
#include "run/launcher.h"

#include "kernel/program.h"
#include "kernel/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int refuse(struct error *error, const char *path, const char *why)
{
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, EPERM, "launcher-writable",
              "the launcher cannot be trusted: %s %s", QUOTE(path), why);
    return error_hint(error,
                      "install confine where only root or you can write, outside every writable grant");
}

/* PATH and every directory above it, but for the first @known bytes that were looked at; all of it, if those
 * are. */
static int check_path(const struct resolved *resolved, char *path, size_t known, struct error *error)
{
    size_t bad;
    int r;

    if (resolved && resolved_under_writable(resolved, path))
        return refuse(error, path, "lies in a writable grant");
    if (!path[known])
        return 0;
    r = trust_look(path, known, getuid(), &bad);
    if (r == 0)
        return 0;
    path[bad] = '\0';
    if (r == -EPERM || r == -ELOOP)
        return refuse(error, path,
                      r == -ELOOP ? "is a link" : "can be written by somebody else than root and you");
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, -r, "missing-launcher", "cannot look at %s: %s", QUOTE(path),
              strerror(-r));
    return error_hint(error, "install confine whole: bin/confine and libexec/confine belong together");
}

int launcher_open(const struct resolved *resolved, const char *program, struct error *error)
{
    static const char bin[] = "/bin", confine[] = "/confine", libexec[] = "/libexec/confine";
    static bool looked;
    char path[PATH_MAX + 64];
    const char *self = program_path(), *name = self ? strrchr(self, '/') : NULL;
    size_t prefix;
    int fd, r;

    if (!name) {
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, errno, "no-proc", "cannot read /proc/self/exe: %s",
                  strerror(errno));
        return error_hint(error, "mount /proc");
    }
    prefix = (size_t)(name - self);
    if (prefix < sizeof(bin) - 1 || strncmp(name - (sizeof(bin) - 1), bin, sizeof(bin) - 1) != 0) {
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, ENOENT, "missing-launcher",
                  "confine runs as %s, which is in no bin directory, so its links cannot be found",
                  QUOTE(self));
        return error_hint(error, "install it: `make install PREFIX=...`");
    }
    prefix -= sizeof(bin) - 1;
    memcpy(path, self, prefix);
    snprintf(path + prefix, sizeof(path) - prefix, "%s/%s", libexec, program);
    fd = openat(AT_FDCWD, path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, errno, "missing-launcher", "cannot open %s: %s",
                  QUOTE(path), strerror(errno));
        return error_hint(error, "install confine whole: bin/confine and libexec/confine belong together");
    }
    r = check_path(resolved, path, looked ? prefix + sizeof(libexec) - 1 : 0, error);
    if (r == 0) {
        memcpy(path + prefix, bin, sizeof(bin) - 1);
        memcpy(path + prefix + sizeof(bin) - 1, confine, sizeof(confine));
        r = check_path(resolved, path, looked ? strlen(path) : prefix, error);
    }
    looked = looked || r == 0;
    if (r < 0) {
        fd_close(fd);
        return r;
    }
    return fd;
}
