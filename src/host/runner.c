/*
 * runner.c - can the operator's own runner be started as it is named?
 *
 * Should:  trust the file as far as the links are trusted: root's or the caller's, and all above it.
 * Mustn't: start it, or look for it anywhere. Mustn't take a script for a program: what its first line names
 *          runs before anything is confined, so that has to be allowed, and stands under the same rules.
 */
#include "host/host.h"

#include "kernel/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD 256 /* as much as the kernel reads of a first line */

__attribute__((format(printf, 5, 6))) static void
lack(struct host_runner *runner, int errnum, const char *reason, const char *hint, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(runner->why, sizeof(runner->why), format, list);
    va_end(list);
    runner->answer = HOST_NO;
    runner->lack = (struct host_lack){.reason = reason, .surface = "", .errnum = errnum};
    snprintf(runner->lack.hint, sizeof(runner->lack.hint), "%s", hint);
}

/* The same for the runner and for what its first line names. */
static bool look_at(struct host_runner *runner, const char *name, uid_t caller)
{
    char path[PATH_MAX];
    size_t bad;
    int r = strlen(name) < sizeof(path) ? 0 : -ENAMETOOLONG;

    if (r == 0) {
        memcpy(path, name, strlen(name) + 1);
        r = trust_look(path, 0, caller, &bad);
        path[bad] = '\0';
    }
    if (r == -EPERM)
        lack(runner, EPERM, "runner-writable",
             "put it where only root or you can write, outside every writable grant",
             "%s can be written by somebody else than root and you", QUOTE(path));
    else if (r == -ELOOP)
        lack(runner, ELOOP, "runner-is-link", "name the program itself", "%s is a link", QUOTE(path));
    else if (r < 0)
        lack(runner, -r, "missing-runner", "name the program that is to be started, from / on",
             "cannot look at %s: %s", QUOTE(name), strerror(-r));
    return r == 0;
}

/* What stands behind `#!`, found as the kernel finds it. Return: false with the lack, also where there is
 * none. */
static bool look_at_interpreter(struct host_runner *runner, char *head, uid_t caller, char *ret_interpreter)
{
    char *name = head + 2 + strspn(head + 2, " \t");

    name[strcspn(name, " \t\r\n")] = '\0';
    if (*name == '/' && realpath(name, ret_interpreter))
        return look_at(runner, ret_interpreter, caller);
    lack(runner, ENOENT, "missing-interpreter", "name an interpreter that is there, from / on",
         "%s names the interpreter %s: %s", QUOTE(runner->path), QUOTE(name),
         *name == '/' ? strerror(errno) : "not a path from / on");
    return false;
}

static bool look_inside(struct host_runner *runner, bool may_be_script, uid_t caller, char *ret_interpreter)
{
    static const char elf[] = {0x7f, 'E', 'L', 'F'};
    char head[HEAD + 1] = "";
    _cleanup_fd_ int fd = open(runner->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat object;
    ssize_t size;

    if (fd >= 0 && fstat(fd, &object) == 0 && (!S_ISREG(object.st_mode) || !(object.st_mode & 0111))) {
        lack(runner, EACCES, "runner-not-executable", "name a program", "%s is no program: %s",
             QUOTE(runner->path), S_ISREG(object.st_mode) ? "it may not be executed" : "it is no file");
        return false;
    }
    size = fd >= 0 ? read(fd, head, HEAD) : -1;
    if (size < 0) {
        lack(runner, errno, "runner-unreadable", "let its mode allow to read it",
             "cannot read %s to see whether it is a script: %s", QUOTE(runner->path), strerror(errno));
        return false;
    }
    runner->set_uid = object.st_mode & (S_ISUID | S_ISGID);
    if (size >= (ssize_t)sizeof(elf) && memcmp(head, elf, sizeof(elf)) == 0)
        return true;
    if (!may_be_script) {
        lack(runner, EPERM, "runner-is-script", "say \"runner_is_script\": true in `runner` if that is meant",
             "%s is a script or no program at all: what interprets it starts before the confinement",
             QUOTE(runner->path));
        return false;
    }
    runner->script = true;
    if (head[0] == '#' && head[1] == '!')
        return look_at_interpreter(runner, head, caller, ret_interpreter);
    lack(runner, ENOEXEC, "runner-not-executable", "begin it with #! and the interpreter",
         "%s is no program that this kernel can run, and no script with a #! line", QUOTE(runner->path));
    return false;
}

void host_ask_runner(struct host *host, const char *path, bool may_be_script, char *ret_interpreter)
{
    struct host_runner *runner = &host->runner;

    *runner = (struct host_runner){.answer = HOST_YES, .path = path};
    *ret_interpreter = '\0';
    if (look_at(runner, path, host->uid))
        look_inside(runner, may_be_script, host->uid, ret_interpreter);
}
