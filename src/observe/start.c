/*
 * start.c - the execs by which a run starts its command.
 *
 * Theory of operation. Where reading is looked at, execs are announced, and the first ones are the last
 * link's: nobody can read it, for it holds the supervisor's channel. What it executes is known all the same:
 * the word that the caller gave, by its path, or by those of PATH one after the other until one is taken.
 *
 * Should:  name them in the order of chain_exec().
 * Mustn't: name one more than it makes: the command could hide an exec of its own behind that.
 */
#include "observe/start.h"

#include <stdio.h>
#include <string.h>

static const char usual_path[] = "/usr/local/bin:/usr/bin:/bin"; /* as chain_exec() has it */

static struct {
    const char *command;   /* NULL: nothing is due */
    const char *directory; /* that names without a slash in front begin in */
    const char *path;      /* what is left of PATH; NULL: the command has a slash */
} start;

void start_expect(const struct resolved *resolved, const char *command)
{
    start.command = command;
    start.directory = resolved->cwd ? resolved->cwd : "/";
    start.path = command && *command && !strchr(command, '/') ? usual_path : NULL;
    for (size_t i = 0; start.path == usual_path && i < resolved->env.count; i++)
        if (strncmp(resolved->env.items[i], "PATH=", 5) == 0)
            start.path = resolved->env.items[i] + 5;
}

void start_over(void)
{
    start.command = NULL;
}

bool start_next(char *room, size_t size)
{
    const char *command = start.command, *part = start.path ? start.path : "";
    size_t length = strcspn(part, ":");
    int put;

    if (!command)
        return false;
    if (start.path && part[length])
        start.path = part + length + 1;
    else
        start_over();
    if (length > 0 && part[0] == '/')
        put = snprintf(room, size, "%.*s/%s", (int)length, part, command);
    else if (length > 0)
        put = snprintf(room, size, "%s/%.*s/%s", start.directory, (int)length, part, command);
    else
        put = snprintf(room, size, "%s%s%s", *command == '/' ? "" : start.directory,
                       *command == '/' ? "" : "/", command);
    return put >= 0 && (size_t)put < size;
}
