/*
 * confine-sweep.c - the program: its wall, and then the work.
 *
 *     confine-sweep [--user UID:GID] remove|look [OPTION]...
 *
 * The wall leaves it the descriptors that its words name. The tests call sweep_main() as well, and are
 * confined by nobody.
 *
 * Mustn't: read a byte of a tree before the wall stands.
 */
#include "sweep/sweep.h"
#include "sweep/wall.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

static int fail(const char *what)
{
    fprintf(stderr, "confine-sweep: fatal: %s\n", what);
    return SWEEP_EXIT_FAILED;
}

/* UID:GID, which is cut. */
static bool take_user(struct wall *wall, char *text)
{
    char *colon = strchr(text, ':');
    uint64_t uid, gid;

    if (!colon)
        return false;
    *colon = '\0';
    if (!sweep_number(text, UINT32_MAX - 1, &uid) || !sweep_number(colon + 1, UINT32_MAX - 1, &gid))
        return false;
    wall->user = true;
    wall->uid = (uid_t)uid;
    wall->gid = (gid_t)gid;
    return true;
}

/* The descriptors among the words. What one names that is none is left to whoever reads them. */
static bool take_kept(struct wall *wall, char **words)
{
    static const struct {
        const char *option;
        bool tree;
    } kept[] = {{"--fd", true}, {"--root", true}, {"--before", false}};
    uint64_t fd;

    wall->looks = strcmp(*words, "look") == 0;
    wall->changes = strcmp(*words, "remove") == 0;
    for (; *words; words++) {
        if (strcmp(*words, "--aside") == 0)
            wall->changes = true;
        for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
            if (strcmp(*words, kept[i].option) == 0 && sweep_number(words[1], INT_MAX, &fd) &&
                !wall_keep(wall, (int)fd, kept[i].tree))
                return false;
    }
    return wall->tree_count > 0 || !wall->changes || wall_keep(wall, SWEEP_DIRECTORY, true);
}

int main(int argc, char **argv)
{
    static struct wall wall;
    const char *why;

    /* Started by a descriptor, it has a number for a name before Linux 6.14. */
    if (prctl(PR_SET_NAME, "confine-sweep", 0, 0, 0) != 0)
        return fail("it cannot be named");
    if (argc > 2 && strcmp(argv[1], "--user") == 0) {
        if (!take_user(&wall, argv[2]))
            return fail("usage: --user UID:GID, both in decimal");
        argc -= 2;
        argv += 2;
    }
    if (argc < 2 || !take_kept(&wall, argv + 1))
        return fail("usage: confine-sweep [--user UID:GID] remove|look [OPTION]...");
    why = wall_build(&wall);
    return why ? fail(why) : sweep_main(argv);
}
