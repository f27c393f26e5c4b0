/*
 * run_error.c - what went wrong with a start, in words.
 *
 * No reason is judged by text: a link's last words are quoted for people, the reason is that it failed. Only
 * the way out, which is for people as well, is looked up by how they end.
 */
#include "run/run_error.h"

#include "host/host.h"
#include "kernel/object.h"
#include "links/pass.h"
#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool ends_with(const char *line, const char *end)
{
    size_t length = strlen(line), rest = strlen(end);

    return length >= rest && strcmp(line + length - rest, end) == 0;
}

/* The way out for a link's last line, `NAME: fatal: WHAT: WHY`. Return: NULL: none is known for these. */
static const char *find_way(const char *line)
{
    static const char ended[] = ": session: it has ended";
    static const int spent[] = {EAGAIN, EMFILE, ENFILE};

    if (ends_with(line, ended))
        return "it ended while this run was starting; a new one: confine session start NAME";
    for (size_t i = 0; i < ARRAY_SIZE(spent); i++)
        if (ends_with(line, strerror(spent[i])))
            return error_spent(spent[i]);
    return NULL;
}

int run_error_errno(struct error *error, int errnum, const char *what)
{
    const char *way = error_spent(errnum);

    error_set(error, ERROR_SANDBOX_UNAVAILABLE, errnum, "set-up-failed", "cannot %s: %s", what,
              pass_strerror(errnum));
    return way ? error_hint(error, "%s", way) : -errnum;
}

int run_error_spawn(struct error *error, int errnum, const char *cwd)
{
    switch (errnum) {
    case E2BIG:
        error_set(
            error, ERROR_COMMAND_NOT_EXECUTABLE, errnum, "arguments-too-long",
            "the command's arguments and environment, with those of the chain, are too long for the kernel");
        return error_hint(error, "pass fewer or shorter arguments, or by a file; --clean-env makes room");
    case EACCES:
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, errnum, "set-up-failed",
                  "cannot enter %s, or not execute the launcher: %s", QUOTE(cwd), strerror(errnum));
        return error_hint(error, "choose another start directory with --chdir");
    default:
        run_error_errno(error, errnum, "start the launcher");
        return error_spent(errnum) ? -errnum
                                   : error_hint(error, "`confine probe` says what this machine can do");
    }
}

int run_error_link(struct error *error, const char *words)
{
    size_t length = strcspn(words, "\n");
    const char *way;
    char line[1024];

    if (length >= sizeof(line))
        length = sizeof(line) - 1;
    memcpy(line, words, length);
    line[length] = '\0';
    if (length == 0)
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, EPROTO, "link-ended",
                  "a link of the chain ended before the command, without a word");
    else
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, EPROTO, "link-failed", "%s",
                  text_quote((char[900]){0}, 900, line, 800));
    way = find_way(line);
    if (way)
        return error_hint(error, "%s", way);
    if (host_is_filtered())
        return error_hint(
            error, "confine runs under a system call filter, as containers have one: where that refuses "
                   "a call that it does not know, have a newer container engine, or docker run "
                   "--security-opt seccomp=unconfined");
    return error_hint(error, "`confine probe` says what this machine can do");
}

/* What stands behind the errno of an exec: the same errno has several causes, each with another way out. */
static const struct {
    int errnum;
    const char *reason, *why, *hint;
    int status;
} causes[] = {
    {ENOENT, "command-not-found", "no such command", "look at its spelling", 127},
    {ENOTDIR, "command-not-found", "a part of its path is no directory", "look at its spelling", 127},
    {EISDIR, "is-a-directory", "it is a directory", "name a program in it", 126},
    {EACCES, "not-executable", "it may not be executed",
     "chmod +x makes it a program; or name what runs it in front, such as sh", 126},
    {ENOEXEC, "bad-format", "it is no program that this kernel can run, and no script with a #! line",
     "name what runs it in front, such as sh", 126},
    {E2BIG, "arguments-too-long", "its arguments and environment are too long",
     "pass fewer or shorter arguments, or by a file; --clean-env makes room", 126},
    {ELOOP, "command-not-found", "too many links lead to it", "name the file itself", 127},
    {ETXTBSY, "not-executable", "it is open for writing", "wait until it has been written", 126},
};

/* What PATH leads to out here. Return: whether there is one, with its name in @path. */
static bool find_outside(char *const *env, const char *command, char *path, size_t size, struct stat *object)
{
    const char *at = NULL;

    for (; env && *env; env++)
        if (strncmp(*env, "PATH=", 5) == 0)
            at = *env + 5;
    while (at) {
        size_t length = strcspn(at, ":");
        int needed = snprintf(path, size, "%.*s/%s", (int)length, at, command);

        if (*at == '/' && needed > 0 && (size_t)needed < size && stat(path, object) == 0 &&
            S_ISREG(object->st_mode) && (object->st_mode & 0111))
            return true;
        at = at[length] ? at + length + 1 : NULL;
    }
    return false;
}

/* The entry by which COMMAND is hidden, with what it hides. Return: NULL: none, or it cannot be told. */
static const struct hidden *find_hidden(const struct resolved *resolved, const char *command)
{
    _cleanup_fd_ int fd = object_open(resolved->cwd_fd, command, 0, 0);
    char path[PATH_MAX];
    ssize_t length = fd < 0 ? -1 : readlink(FD_NAME(fd), path, sizeof(path));

    if (length < 0 || (size_t)length >= sizeof(path))
        return NULL;
    path[length] = '\0';
    for (size_t i = 0; i < resolved->hidden_count; i++)
        if (!resolved->hidden[i].held && resolved->hidden[i].source.listed &&
            path_contains(resolved->hidden[i].path, path))
            return &resolved->hidden[i];
    return NULL;
}

static int fail_hidden(struct error *error, int errnum, const char *command, const struct resolved *resolved,
                       const struct hidden *hidden)
{
    struct text source = {0};

    resolved_source(resolved, &hidden->source, &source);
    error_set(error, ERROR_COMMAND_NOT_EXECUTABLE, errnum, "hidden", "cannot run %s: it is hidden as %s, %s",
              QUOTE(command), QUOTE(hidden->path), source.data ? source.data : "?");
    text_free(&source);
    error_hint(error, "take that out, or show it: --show %s", QUOTE(hidden->path));
    return 126;
}

int run_error_exec(struct error *error, int errnum, const char *command, const struct resolved *resolved,
                   bool view)
{
    const char *reason = "not-executable", *why = strerror(errnum), *hint = NULL;
    int status = 126;
    char outside[PATH_MAX];
    const struct hidden *hidden;
    struct stat object;
    bool by_path = !strchr(command, '/');
    bool there = !by_path && fstatat(resolved->cwd_fd, command, &object, 0) == 0;

    if (by_path && find_outside(resolved->env.items, command, outside, sizeof(outside), &object)) {
        there = true;
        command = outside;
    }
    hidden = there && (errnum == ENOENT || errnum == EACCES) ? find_hidden(resolved, command) : NULL;
    if (hidden)
        return fail_hidden(error, errnum, command, resolved, hidden);
    for (size_t i = 0; i < ARRAY_SIZE(causes); i++)
        if (causes[i].errnum == (there && S_ISDIR(object.st_mode) ? EISDIR : errnum)) {
            reason = causes[i].reason;
            why = causes[i].why;
            hint = causes[i].hint;
            status = causes[i].status;
            break;
        }
    if (there && errnum == ENOENT && view) {
        reason = "not-in-view";
        why = "it, or the interpreter that it names, is not there inside: hidden, or in /tmp, /run or "
              "/dev/shm, which are private";
        hint = "`confine policy PATH` says which; show it with --read PATH, or put it into the workspace";
        status = 126;
    } else if (there && errnum == ENOENT) {
        reason = "interpreter-missing";
        why = "the interpreter that it names does not exist";
        hint = "install that, or name another in its first line";
        status = 126;
    } else if (there && errnum == EACCES && S_ISREG(object.st_mode) && (object.st_mode & 0111)) {
        reason = "not-readable-inside";
        why = "it is executable, but neither readable nor executable inside";
        hint = "grant it with --read, or --show what is hidden";
    }
    error_set(error, status == 127 ? ERROR_COMMAND_NOT_FOUND : ERROR_COMMAND_NOT_EXECUTABLE, errnum, reason,
              "cannot run %s: %s", QUOTE(command), why);
    if (status == 127 && by_path)
        hint = "it is in no directory of PATH that may be searched";
    else if (status == 127 && command[0] != '/')
        hint = "a name that is not absolute begins in the start directory";
    if (hint)
        error_hint(error, "%s", hint);
    return status;
}
