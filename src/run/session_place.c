/*
 * session_place.c - the directory of a user's sessions, the names in it, and what killed keepers left.
 *
 * Theory of operation. A session has two files: NAME.lock, which its keeper holds locked as long as it lives,
 * and NAME.socket. So files whose lock can be had are a dead keeper's, and the next who looks removes them.
 *
 * Should:  use a directory of the caller's own only, that nobody else can look into.
 * Mustn't: go on elsewhere when the environment names a directory that cannot be used: two callers would then
 * look for the same session in two places.
 */
#include "run/session_wire.h"

#include "policy/accounts.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_TRIES 16 /* the file may be removed by a sweep at the same moment */

const char *session_file(char buffer[SESSION_FILE], const char *name, const char *suffix)
{
    snprintf(buffer, SESSION_FILE, "%s%s", name, suffix);
    return buffer;
}

void session_address(const struct session_place *place, const char *name, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d/%s%s", place->fd, name,
             SESSION_SOCKET);
}

static bool is_name(const char *name)
{
    size_t length = strlen(name);

    if (length == 0 || length >= SESSION_NAME || !isalnum((unsigned char)name[0]))
        return false;
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '.' && *c != '_' && *c != '-')
            return false;
    return true;
}

int session_check_name(const char *name, struct error *error)
{
    if (is_name(name))
        return 0;
    error_set(error, ERROR_USAGE, EINVAL, "session-name", "session %s: this cannot be a name", QUOTE(name));
    return error_hint(error, "letters, digits, `.`, `_` and `-`, first a letter or a digit, at most %d",
                      SESSION_NAME - 1);
}

/* --- the directory -------------------------------------------------------------------------------------- */

static const char *find_variable(char *const *env, const char *assignment)
{
    for (size_t i = 0; env[i]; i++)
        if (strncmp(env[i], assignment, strlen(assignment)) == 0)
            return env[i] + strlen(assignment);
    return NULL;
}

/* The caller's home and what is between it and the sessions. Return: 0, or -errno. */
static int below_home(char *path, size_t size)
{
    _cleanup_free_ char *passwd = NULL;
    struct account account;
    int r = accounts_read(&passwd);

    if (r < 0)
        return r;
    if (!account_find(passwd, geteuid(), &account) || account.home_length == 0 || account.home[0] != '/')
        return -ENOENT;
    snprintf(path, size, "%.*s/.cache/confine/sessions", (int)account.home_length, account.home);
    return 0;
}

/* Where the sessions are. Only the first of these is the caller's to choose. Return: 0, or -errno. */
static int name_place(char *path, size_t size, char *const *env)
{
    const char *runtime = find_variable(env, "XDG_RUNTIME_DIR=");
    struct stat found;

    if (runtime && *runtime) {
        snprintf(path, size, "%s/confine", runtime);
        return runtime[0] == '/' ? 0 : -EINVAL;
    }
    if (geteuid() == 0) {
        snprintf(path, size, "/run/confine");
        return 0;
    }
    snprintf(path, size, "/run/user/%u", (unsigned)geteuid());
    if (lstat(path, &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == geteuid()) {
        snprintf(path, size, "/run/user/%u/confine", (unsigned)geteuid());
        return 0;
    }
    return below_home(path, size);
}

static int fail_place(struct error *error, int errnum, const char *path, const char *why)
{
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, errnum, "no-session-directory",
              "the directory of sessions %s cannot be used: %s", QUOTE(path), why);
    return error_hint(error, "%s",
                      error_spent(errnum)
                          ?: "set XDG_RUNTIME_DIR to a directory of your own that nobody else can write");
}

/* Makes the directories above the last one where they are missing: all but the first are in the caller's
 * home. */
static int make_above(char *path)
{
    for (char *end = strchr(path + 1, '/'); end; end = strchr(end + 1, '/')) {
        int r;

        *end = '\0';
        r = mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : -errno;
        *end = '/';
        if (r == -EACCES || r == -EROFS || r == -EPERM)
            continue; /* it may be there all the same; the open says so */
        if (r < 0)
            return r;
    }
    return 0;
}

/* A directory that others can write would let them replace ours. */
static int check_above(const char *path, struct error *error)
{
    char above[PATH_MAX];
    struct stat found;

    snprintf(above, sizeof(above), "%s", path);
    *strrchr(above, '/') = '\0';
    if (stat(above, &found) != 0)
        return fail_place(error, errno, path, strerror(errno));
    if ((found.st_uid != geteuid() && found.st_uid != 0) ||
        ((found.st_mode & 022) && !(found.st_mode & S_ISVTX)))
        return fail_place(error, EPERM, path, "somebody else can write the directory above it");
    return 0;
}

static int check_place(int fd, const char *path, struct error *error)
{
    struct stat found;

    if (fstat(fd, &found) != 0)
        return fail_place(error, errno, path, strerror(errno));
    if (found.st_uid != geteuid())
        return fail_place(error, EPERM, path, "it is somebody else's");
    if (found.st_mode & 077)
        return fail_place(error, EPERM, path, "others can look into it");
    return 0;
}

/* --- names and locks ------------------------------------------------------------------------------------ */

/* Is the open file still the one of this name? */
static bool is_current(const struct session_place *place, const char *file, int fd)
{
    struct stat open_one, named;

    return fstat(fd, &open_one) == 0 && fstatat(place->fd, file, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           stat_same(&open_one, &named);
}

int session_lock(const struct session_place *place, const char *name)
{
    char file[SESSION_FILE];

    session_file(file, name, SESSION_LOCK);
    for (int tries = 0; tries < LOCK_TRIES; tries++) {
        int fd = openat(place->fd, file, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600), r = 0;

        if (fd < 0)
            return -errno;
        while (flock(fd, LOCK_EX | LOCK_NB) != 0 && r == 0)
            r = errno == EINTR ? 0 : -errno;
        if (r == 0 && is_current(place, file, fd))
            return fd;
        fd_close(fd);
        if (r < 0)
            return r;
    }
    return -EWOULDBLOCK;
}

void session_remove(const struct session_place *place, const char *name)
{
    char file[SESSION_FILE];

    unlinkat(place->fd, session_file(file, name, SESSION_SOCKET), 0);
    unlinkat(place->fd, session_file(file, name, SESSION_LOCK), 0); /* last: it is what says whose they are */
}

/* Removes the files of NAME if nobody lives who holds them. */
static void sweep_one(const struct session_place *place, const char *name)
{
    char file[SESSION_FILE];
    _cleanup_fd_ int fd =
        openat(place->fd, session_file(file, name, SESSION_LOCK), O_RDWR | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && is_current(place, file, fd))
        session_remove(place, name);
}

static void sweep(const struct session_place *place)
{
    int fd = openat(place->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    if (!directory)
        fd_close(fd);
    while (directory && (entry = readdir(directory))) {
        char name[SESSION_NAME];
        size_t length = strlen(entry->d_name), suffix = strlen(SESSION_LOCK);

        if (length <= suffix || length - suffix >= sizeof(name) ||
            strcmp(entry->d_name + length - suffix, SESSION_LOCK) != 0)
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)(length - suffix), entry->d_name);
        if (is_name(name))
            sweep_one(place, name);
    }
    if (directory)
        closedir(directory);
}

int session_open_place(struct session_place *place, char *const *env, enum session_place_why why,
                       struct error *error)
{
    bool make = why == SESSION_PLACE_START;
    int r = name_place(place->path, sizeof(place->path), env);

    place->fd = -1;
    if (r == -EINVAL)
        return fail_place(error, EINVAL, place->path, "XDG_RUNTIME_DIR is no absolute name");
    if (r < 0)
        return fail_place(error, -r, "below the home directory", "there is none");
    if (make)
        r = make_above(place->path);
    if (r == 0 && make && mkdir(place->path, 0700) != 0 && errno != EEXIST)
        r = -errno;
    if (r < 0)
        return fail_place(error, -r, place->path, strerror(-r));
    place->fd = open(place->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (place->fd < 0 && errno == ENOENT && !make)
        return 0;
    if (place->fd < 0)
        return fail_place(error, errno, place->path, strerror(errno));
    r = check_place(place->fd, place->path, error);
    if (r == 0 && make)
        r = check_above(place->path, error);
    if (r < 0) {
        place->fd = fd_close(place->fd);
        return r;
    }
    if (why != SESSION_PLACE_JOIN)
        sweep(place);
    return 0;
}
