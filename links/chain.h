/*
 * chain.h - what every link shares: how it starts, fails, and hands over.
 *
 * A link confines itself with one mechanism and hands over to the rest of its
 * argv. It is a function shaped like a program, `int NAME_run(struct chain *)`:
 * built alone it is a program of its own, fused into confine-launch it passes
 * to the next link without an exec.
 *
 * Should:  end in exactly one of two ways: the next word runs more confined
 *          than before, or one line `NAME: fatal: WHAT: WHY` and status 125.
 * Mustn't: read the environment (but for PATH, to find the command), allocate
 *          without bound, or go on after any doubt.
 */
#ifndef CONFINE_LINKS_CHAIN_H
#define CONFINE_LINKS_CHAIN_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef __WALL
#define __WALL 0x40000000
#endif

#define LINK_FAILED 125 /* the link failed or refused; the command has not run */

struct chain;

/* One row of the table of links that are fused into one program. */
struct link {
    const char *name;
    int (*run)(struct chain *chain);
};

struct chain {
    const char *name;         /* the running link, for messages */
    char **argv;              /* argv[0] names the link; NULL-terminated */
    char **envp;              /* passed through, never read but for PATH */
    char **words;             /* the whole argv of the process, for whoever must not leave it readable */
    const struct link *fused; /* ends with a NULL name; NULL in a link that stands alone */
    struct chain_children *children;    /* of control.h; NULL where there are none */
    void (*later)(struct chain *chain); /* what a link leaves to be done when nothing is tried any more */
};

/*
 * Control children that have not been reaped. They end at once, but who waits for that sleeps until they had
 * their turn: so they are reaped together, when the chain ends. On the first process's own stack: pages for
 * theirs would take longer to get than they live.
 */
#define CHAIN_CHILDREN 4
#define CHAIN_STACK    512
struct chain_children {
    char stack[CHAIN_CHILDREN][CHAIN_STACK] __attribute__((aligned(16)));
    pid_t pid[CHAIN_CHILDREN];
    size_t count;
};

/* Appends TEXT to LINE at AT, with everything that is not printable ASCII escaped as \xNN: names come from
 * outside, and a terminal obeys what it is sent. Returns the new end; cuts at SIZE - 1. */
static inline size_t chain_append(char *line, size_t size, size_t at, const char *text, bool escape)
{
    static const char hex[] = "0123456789abcdef";

    for (; *text && at + 5 < size; text++) {
        unsigned char c = (unsigned char)*text;

        if (!escape || (c >= ' ' && c < 0x7f && c != '\\')) {
            line[at++] = (char)c;
            continue;
        }
        line[at++] = '\\';
        line[at++] = 'x';
        line[at++] = hex[c >> 4];
        line[at++] = hex[c & 15];
    }
    line[at] = '\0';
    return at;
}

/* chain_fatal() - say why the command will not run, in one line and one write, and end with LINK_FAILED. */
_Noreturn static inline void chain_fatal(const struct chain *chain, const char *what, const char *why)
{
    char line[2 * PATH_MAX];
    size_t at = 0;

    at = chain_append(line, sizeof(line), at, chain->name, false);
    at = chain_append(line, sizeof(line), at, ": fatal: ", false);
    at = chain_append(line, sizeof(line), at, what, true);
    at = chain_append(line, sizeof(line), at, ": ", false);
    at = chain_append(line, sizeof(line), at, why, true);
    line[at++] = '\n';
    if (write(STDERR_FILENO, line, at) < 0)
        _exit(LINK_FAILED); /* nobody to tell; the status says it */
    _exit(LINK_FAILED);
}

_Noreturn static inline void chain_fatal_errno(const struct chain *chain, const char *what, int errnum)
{
    chain_fatal(chain, what, strerror(errnum));
}

/*
 * chain_option() - take one option with a value, by exact match only.
 * @at:    index of the word to look at; moved past what was taken
 * @value: set to the value when the option is there
 *
 * Both `--name VALUE` and nothing else: no abbreviation, no `--name=VALUE`.
 * Ends the link when the value is missing.
 *
 * Return: true if the word at @at was this option.
 */
static inline bool chain_option(const struct chain *chain, size_t *at, const char *name, const char **value)
{
    if (strcmp(chain->argv[*at], name) != 0)
        return false;
    if (!chain->argv[*at + 1])
        chain_fatal(chain, name, "usage: this option needs a value");
    *value = chain->argv[*at + 1];
    *at += 2;
    return true;
}

/* chain_flag() - take one option without a value, by exact match only. */
static inline bool chain_flag(const struct chain *chain, size_t *at, const char *name)
{
    if (strcmp(chain->argv[*at], name) != 0)
        return false;
    *at += 1;
    return true;
}

/*
 * chain_command() - the words after the mandatory `--`.
 * @at: index of the first word that is no option of this link
 *
 * Return: the rest of argv, with at least one word. Ends the link otherwise.
 */
static inline char **chain_command(const struct chain *chain, size_t at)
{
    if (!chain->argv[at])
        chain_fatal(chain, "usage", "missing `--` and a command");
    if (strcmp(chain->argv[at], "--") != 0)
        chain_fatal(chain, chain->argv[at], "usage: unknown option (and `--` must stand before the command)");
    if (!chain->argv[at + 1])
        chain_fatal(chain, "usage", "no command after `--`");
    return chain->argv + at + 1;
}

/* chain_number() - a whole number in decimal, nothing else around it. Ends the link on anything else. */
static inline int chain_number(const struct chain *chain, const char *option, const char *text)
{
    long value = 0;

    if (!*text)
        chain_fatal(chain, option, "usage: not a number");
    for (const char *c = text; *c; c++) {
        if (*c < '0' || *c > '9' || value > (INT_MAX - 9) / 10)
            chain_fatal(chain, option, "usage: not a number");
        value = value * 10 + (*c - '0');
    }
    return (int)value;
}

/* The command by PATH. Never inlined: its room is a page of the stack that a command with a slash needs not.
 */
__attribute__((noinline)) static int chain_exec_by_path(char **argv, char **envp)
{
    const char *path = "/usr/local/bin:/usr/bin:/bin";
    size_t length = strlen(argv[0]);
    bool denied = false;
    struct stat object;

    for (char **e = envp; *e; e++)
        if (strncmp(*e, "PATH=", 5) == 0) {
            path = *e + 5;
            break;
        }
    for (const char *part = path;; part++) {
        const char *end = strchr(part, ':');
        size_t size = end ? (size_t)(end - part) : strlen(part);
        char file[PATH_MAX];

        if (size + 1 + length < sizeof(file)) {
            memcpy(file, part, size);
            if (size > 0)
                file[size++] = '/';
            memcpy(file + size, argv[0], length + 1);
            execve(file, argv, envp);
            /* A directory of that name, or one on the way that may not be searched, is no command. */
            if (errno == EACCES)
                denied = denied || (stat(file, &object) == 0 && !S_ISDIR(object.st_mode));
            else if (errno != ENOENT && errno != ENOTDIR)
                return errno;
        }
        if (!end)
            break;
        part = end;
    }
    return denied ? EACCES : ENOENT;
}

/*
 * chain_exec() - execve the command, found by PATH when it holds no slash.
 *
 * execve and never execvp: a broken ELF file must not be handed to a shell.
 *
 * Return: errno; it does not return on success.
 */
static inline int chain_exec(char **argv, char **envp)
{
    if (!strchr(argv[0], '/') && argv[0][0])
        return chain_exec_by_path(argv, envp);
    execve(argv[0], argv, envp);
    return errno;
}

/* chain_reap() - see all control children ended, before anything else runs in this process. */
static inline void chain_reap(const struct chain *chain)
{
    struct chain_children *children = chain->children;
    pid_t gone;

    for (; children && children->count > 0; children->count--) {
        pid_t child = children->pid[children->count - 1];

        do
            gone = waitpid(child, NULL, __WALL);
        while (gone < 0 && errno == EINTR);
        if (gone != child)
            chain_fatal_errno(chain, "control child", gone < 0 ? errno : ECHILD);
    }
}

/* chain_do_later() - do what an earlier link has left; once. */
static inline void chain_do_later(struct chain *chain)
{
    void (*later)(struct chain *) = chain->later;

    chain->later = NULL;
    if (later)
        later(chain);
}

/*
 * chain_hand_over() - the end of every link: run the next word.
 *
 * In a fused program a word of the table is called; anything else is
 * executed. There is no return to the caller's code after either.
 */
static inline int chain_hand_over(struct chain *chain, char **next)
{
    int errnum;

    for (const struct link *link = chain->fused; link && link->name; link++)
        if (strcmp(link->name, next[0]) == 0) {
            chain->name = link->name;
            chain->argv = next;
            return link->run(chain);
        }
    chain_do_later(chain);
    chain_reap(chain);
    errnum = chain_exec(next, chain->envp);
    chain_fatal_errno(chain, next[0], errnum);
}

/* chain_set_dumpable() - an undumpable process cannot be traced or read by the caller's other processes. An
 * exec makes it dumpable again, so this holds between links, never for the command. */
static inline void chain_set_dumpable(const struct chain *chain, bool dumpable)
{
    if (prctl(PR_SET_DUMPABLE, dumpable ? 1 : 0, 0, 0, 0) != 0)
        chain_fatal_errno(chain, "PR_SET_DUMPABLE", errno);
    if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != (dumpable ? 1 : 0))
        chain_fatal(chain, "PR_SET_DUMPABLE", "the kernel reported success but did nothing");
}

/* chain_start() - refuse what no link may start with. */
static inline void chain_start(const struct chain *chain)
{
    if (getauxval(AT_SECURE))
        chain_fatal(chain, "AT_SECURE", "a link must not be set-id or carry file capabilities");
    if (!chain->argv[0])
        chain_fatal(chain, "usage", "empty argument list");
}

/* The main of a link that stands alone. In confine-launch the table calls FUNCTION instead. */
#ifdef CONFINE_FUSED
#define LINK_MAIN(NAME, FUNCTION)
#else
#define LINK_MAIN(NAME, FUNCTION)                                                                            \
    int main(int argc, char **argv, char **envp)                                                             \
    {                                                                                                        \
        struct chain_children children;                                                                      \
        struct chain chain = {                                                                               \
            .name = NAME, .argv = argv, .envp = envp, .words = argv, .children = &children};                 \
                                                                                                             \
        children.count = 0; /* the rest is written before it is read */                                      \
        (void)argc;                                                                                          \
        chain_start(&chain);                                                                                 \
        return FUNCTION(&chain);                                                                             \
    }
#endif

/*
 * chain_launch() - what confine-launch does with its words: run the links that they name, in this process.
 * @argv: NULL-terminated; [0] is for messages, [1] names the first link
 * @envp: the command's environment
 *
 * Return: only if the first link gives a status of its own (`landlock-run --probe`).
 */
int chain_launch(char **argv, char **envp);

/* What runs in a process of its own before a chain starts: see namespace_ahead.c. */
pid_t namespace_start_ahead(int ready, bool net, int *ret_process);

int detach_run(struct chain *chain);
int namespace_run(struct chain *chain);
int terminal_run(struct chain *chain);
int landlock_run(struct chain *chain);
int audit_run(struct chain *chain);
int hide_run(struct chain *chain);
int scope_run(struct chain *chain);
int drop_run(struct chain *chain);
int seccomp_run(struct chain *chain);
int observe_run(struct chain *chain);
int attest_run(struct chain *chain);

#endif
