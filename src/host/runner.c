/*
 * runner.c - can the operator's own runner be started as it is named?
 *
 * Should:  trust the file as far as the links are trusted: root's or the caller's, and all above it.
 * Mustn't: start it, or look for it anywhere. Mustn't take a script for a program: what its first line names
 *          runs before anything is confined, so that has to be allowed, and stands under the same rules, with
 *          every link that leads to it. Mustn't take a link for what it leads to now.
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

#define HEAD              256 /* as much as the kernel reads of a first line */
#define INTERPRETERS_MOST 5   /* one behind the other; as many as the kernel follows */

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

/* @last: the place is the program itself, and no link. */
static bool look_at(struct host_runner *runner, const char *name, uid_t caller, bool last)
{
    char path[PATH_MAX];
    size_t bad = 0;
    int r = strlen(name) < sizeof(path) ? 0 : -ENAMETOOLONG;

    if (r == 0) {
        memcpy(path, name, strlen(name) + 1);
        r = trust_look(path, 0, caller, &bad);
        path[bad] = '\0';
    }
    if (r == -ELOOP && !last && bad == strlen(name))
        return true;
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

/* The words behind the interpreter may name what it is to read: `#!/usr/bin/env -S python3 /x`. */
static int add_arguments(char *words, struct strings *places)
{
    char *rest = NULL;
    int r = 0;

    for (char *word = strtok_r(words, " \t\r", &rest); word && r == 0; word = strtok_r(NULL, " \t\r", &rest))
        r = host_runner_word(word, NULL, places);
    return r;
}

/* What stands behind `#!` of @script, as the kernel finds it: every link to it, and itself the last. Return:
 * false with the lack, also where there is none. */
static bool look_at_interpreter(struct host_runner *runner, const char *script, char *head, uid_t caller,
                                struct strings *places)
{
    char *name = head + 2 + strspn(head + 2, " \t"), *end;
    size_t first;
    int r;

    name[strcspn(name, "\n")] = '\0';
    end = name + strcspn(name, " \t\r");
    r = *end ? add_arguments(end + 1, places) : 0;
    first = places->count;
    *end = '\0';
    if (r == 0)
        r = *name == '/' ? trust_follow(name, places) : -EINVAL;
    if (r < 0) {
        lack(runner, ENOENT, "missing-interpreter", "name an interpreter that is there, from / on",
             "%s names the interpreter %s: %s", QUOTE(script), QUOTE(name),
             *name == '/' ? strerror(-r) : "not a path from / on");
        return false;
    }
    for (; first < places->count; first++)
        if (!look_at(runner, places->items[first], caller, first + 1 == places->count))
            return false;
    return true;
}

/* The first bytes of @path, which may be executed. Return: how many, or -1 with the lack. */
static ssize_t read_head(struct host_runner *runner, const char *path, char head[HEAD + 1])
{
    _cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat object = {0};
    ssize_t size;

    if (fd >= 0 && fstat(fd, &object) == 0 && (!S_ISREG(object.st_mode) || !(object.st_mode & 0111))) {
        lack(runner, EACCES, "runner-not-executable", "name a program", "%s is no program: %s", QUOTE(path),
             S_ISREG(object.st_mode) ? "it may not be executed" : "it is no file");
        return -1;
    }
    size = fd >= 0 ? read(fd, head, HEAD) : -1;
    if (size < 0)
        lack(runner, errno, "runner-unreadable", "let its mode allow to read it",
             "cannot read %s to see whether it is a script: %s", QUOTE(path), strerror(errno));
    else
        head[size] = '\0';
    runner->set_uid |= (object.st_mode & (S_ISUID | S_ISGID)) != 0;
    return size;
}

/* The program at @path is one for this kernel, or what interprets it is, or what interprets that. */
static bool look_inside(struct host_runner *runner, const char *path, bool may_be_script, uid_t caller,
                        struct strings *places)
{
    static const char elf[] = {0x7f, 'E', 'L', 'F'};
    char head[HEAD + 1];

    for (int depth = 0; depth <= INTERPRETERS_MOST; depth++) {
        ssize_t size = read_head(runner, path, head);

        if (size < 0)
            return false;
        if (size >= (ssize_t)sizeof(elf) && memcmp(head, elf, sizeof(elf)) == 0)
            return true;
        if (!may_be_script) {
            lack(runner, EPERM, "runner-is-script",
                 "say \"runner_is_script\": true in `runner` if that is meant",
                 "%s is a script or no program at all: what interprets it starts before the confinement",
                 QUOTE(path));
            return false;
        }
        runner->script = true;
        if (head[0] != '#' || head[1] != '!') {
            lack(runner, ENOEXEC, "runner-not-executable", "begin it with #! and the interpreter",
                 "%s is no program that this kernel can run, and no script with a #! line", QUOTE(path));
            return false;
        }
        if (!look_at_interpreter(runner, path, head, caller, places))
            return false;
        path = places->items[places->count - 1];
    }
    lack(runner, ELOOP, "runner-not-executable", "let its #! line name a program",
         "%s is a script, interpreted by scripts, more than the kernel follows", QUOTE(runner->path));
    return false;
}

int host_runner_word(const char *word, const char *directory, struct strings *places)
{
    const char *value = strchr(word, '=');
    _cleanup_free_ char *name = NULL;
    size_t first = places->count;
    struct stat object;
    int r;

    value = word[0] != '/' && value ? value + 1 : word;
    if (value[0] != '/' && !directory)
        return 0;
    name = value[0] == '/' ? strdup(value) : text_join(directory, "/", value, NULL);
    r = name ? trust_follow(name, places) : -ENOMEM;
    /* `-v` names nothing, where a file is not there, and `build` no directory of that name. A link may become
     * one to something else. */
    if (value[0] != '/' && places->count == first + 1 &&
        (r == -ENOENT || (r == 0 && stat(name, &object) == 0 && S_ISDIR(object.st_mode)))) {
        free(places->items[--places->count]);
        places->items[places->count] = NULL;
    }
    return r == -ENOMEM ? r : 0;
}

int host_ask_runner(struct host *host, const char *path, bool may_be_script, struct strings *places)
{
    struct host_runner *runner = &host->runner;
    int r;

    *runner = (struct host_runner){.answer = HOST_YES, .path = path};
    if (!look_at(runner, path, host->uid, true))
        return 0;
    r = trust_follow(path, places); /* `..` may be in it */
    if (r == 0)
        look_inside(runner, path, may_be_script, host->uid, places);
    else if (r != -ENOMEM)
        lack(runner, -r, "missing-runner", "name the program that is to be started, from / on",
             "cannot look at %s: %s", QUOTE(path), strerror(-r));
    return r == -ENOMEM ? r : 0;
}
