/*
 * setup.c - what an earlier run left in the workspace or the caller has in its environment, against those who
 * start a confinement. They are not confined yet, and neither is what they can be made to run.
 *
 * Each act starts what was prepared from inside, which must fail; the same effect outside says that something
 * of the confinement's own start did it.
 */
#include "battery.h"
#include "place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char *kept; /* the PATH that was there */

/* A script that creates path[2]. */
static int place_script(struct trial *trial, const char *directory, const char *name)
{
    char path[PLACE_SIZE], text[PLACE_SIZE + 64];

    snprintf(text, sizeof(text), "#!/bin/sh\necho x >'%s'\n", trial->order.path[2]);
    return place_file(path, directory, name, text, 0755);
}

static int prepare_path(struct trial *trial)
{
    static const char *const names[] = {"bwrap",        "confine", "confine-launch", "namespace-run",
                                        "landlock-run", "sh",      "newuidmap",      "true"};
    char directory[PLACE_SIZE], value[2 * PLACE_SIZE];
    int result = place_victim(trial);

    if (result == 0)
        result = place_join(directory, trial->order.inner, "bin");
    if (result == 0 && mkdir(directory, 0755) != 0)
        result = -errno;
    for (size_t i = 0; i < ITEMS(names) && result == 0; i++)
        result = place_script(trial, directory, names[i]);
    if (result < 0)
        return result;
    free(kept);
    kept = strdup(getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin");
    snprintf(value, sizeof(value), "%s:%.500s", directory, kept ? kept : "/usr/bin:/bin");
    return setenv("PATH", value, 1) != 0 ? -errno : 0;
}

static void finish_path(struct trial *trial)
{
    (void)trial;
    if (kept)
        setenv("PATH", kept, 1);
}

/* Starts PROGRAM and waits for it. Return: 0 or an errno. */
static int start(const char *program, char *const *words)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        int nothing = open("/dev/null", O_RDWR);

        dup2(nothing, 1);
        dup2(nothing, 2);
        execvp(program, words);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return ECHILD;
    return status ? EACCES : 0;
}

static int act_path(const struct order *order, struct answer *answer)
{
    static char name[] = "bwrap";
    static char *const words[] = {name, NULL};

    (void)order;
    (void)answer;
    return start(name, words);
}

/* A file that shells read before anything else. */
static int prepare_shell(struct trial *trial)
{
    char path[PLACE_SIZE];
    int result = place_victim(trial);

    if (access("/bin/bash", X_OK) != 0)
        return place_skip(trial, "there is no bash");
    if (result == 0)
        result = place_script(trial, trial->order.inner, "env.sh");
    if (result == 0)
        result = place_join(path, trial->order.inner, "env.sh");
    if (result < 0)
        return result;
    return setenv("BASH_ENV", path, 1) != 0 || setenv("ENV", path, 1) != 0 ? -errno : 0;
}

static void finish_shell(struct trial *trial)
{
    (void)trial;
    unsetenv("BASH_ENV");
    unsetenv("ENV");
}

static int act_shell(const struct order *order, struct answer *answer)
{
    static char name[] = "/bin/bash", option[] = "-c", text[] = "true";
    static char *const words[] = {name, option, text, NULL};

    (void)order;
    (void)answer;
    return start(name, words);
}

/* The loader of every dynamic program writes a file where this variable says. */
static int prepare_loader(struct trial *trial)
{
    int result = place_victim(trial);

    if (result < 0)
        return result;
    return setenv("LD_DEBUG", "files", 1) != 0 || setenv("LD_DEBUG_OUTPUT", trial->order.path[2], 1) != 0
               ? -errno
               : 0;
}

static void finish_loader(struct trial *trial)
{
    (void)trial;
    unsetenv("LD_DEBUG");
    unsetenv("LD_DEBUG_OUTPUT");
}

static int act_loader(const struct order *order, struct answer *answer)
{
    static char name[] = "/bin/true";
    static char *const words[] = {name, NULL};

    (void)order;
    (void)answer;
    return start(name, words);
}

/* made.PID, whoever made it. */
static int look_loader(struct trial *trial)
{
    return place_find(trial->dir, "made.");
}

#define STARTS "what is run before the boundary stands is run unconfined"
#define SETUP(id, call, what, prepare, act, look, finish)                                                    \
    {                                                                                                        \
        id, SURFACE_FS_WRITE, IN_WORKSPACE | OWN_RUN | BEFORE_START, call, what, STARTS, prepare, act, look, \
            finish                                                                                           \
    }

const struct attempt setup_attempts[] = {
    SETUP("SET-01", "LD_DEBUG_OUTPUT=outside/made", "have the loader of a dynamic launcher write outside",
          prepare_loader, act_loader, look_loader, finish_loader),
    SETUP("SET-02", "PATH=inner/bin; bwrap, sh and others in it",
          "have a program of the workspace taken for one of the launcher's", prepare_path, act_path,
          look_made, finish_path),
    SETUP("SET-03", "BASH_ENV=inner/env.sh", "have a shell of the launcher's read a file of the workspace",
          prepare_shell, act_shell, look_made, finish_shell),
    {0},
};
