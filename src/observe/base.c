/*
 * base.c - where relative names begin.
 *
 * Theory of operation. To find a link of /proc takes three times as long as to read it. One that is asked for
 * twice is kept open. The kernel looks at each reading where it leads, and finds nothing once its thread has
 * gone or has closed the descriptor: so what is kept from call to call is the way to the answer, never the
 * answer.
 *
 * Mustn't: keep a directory of the command's open: only links are, and no thread or file system waits for
 * those.
 */
#include "observe/base.h"

#include "observe/paths.h"

#include <fcntl.h>
#include <unistd.h>

#define KEPT 16

static struct {
    pid_t pid; /* 0: free */
    int directory;
    int link; /* O_PATH; -1: was asked for once */
} kept[KEPT];

void base_name(pid_t pid, int directory, const char *name, char room[BASE_NAME])
{
    char process[40];

    if (directory == AT_FDCWD || name[0] == '/') {
        number_join(room, "/proc/", (unsigned)pid, name[0] == '/' ? "/root" : "/cwd");
        return;
    }
    number_join(process, "/proc/", (unsigned)pid, "/fd/");
    number_join(room, process, (unsigned)directory, "");
}

/* Return: its place; -1: there was none, it has one now. */
static int find_kept(pid_t pid, int directory)
{
    static int last, next;

    if (kept[last].pid == pid && kept[last].directory == directory)
        return last;
    for (int i = 0; i < KEPT; i++)
        if (kept[i].pid == pid && kept[i].directory == directory)
            return last = i;
    if (kept[next].pid > 0 && kept[next].link >= 0)
        close(kept[next].link);
    kept[next].pid = pid;
    kept[next].directory = directory;
    kept[next].link = -1;
    next = (next + 1) % KEPT;
    return -1;
}

static ssize_t read_now(pid_t pid, int directory, char *room, size_t size)
{
    char name[BASE_NAME];
    int at = find_kept(pid, directory);
    ssize_t got;

    if (at >= 0 && kept[at].link >= 0) {
        got = link_read(kept[at].link, "", room, size);
        if (got >= 0)
            return got;
        close(kept[at].link); /* another thread may have its number by now */
        kept[at].link = -1;
    }
    base_name(pid, directory, "", name);
    if (at < 0)
        return link_read(AT_FDCWD, name, room, size);
    kept[at].link = open_only(AT_FDCWD, name, O_NOFOLLOW);
    return kept[at].link < 0 ? kept[at].link : link_read(kept[at].link, "", room, size);
}

/* The answer of the call that is looked at; its thread is held meanwhile. */
static struct {
    pid_t pid; /* 0: none */
    int directory;
    char text[OBSERVE_PATH];
} answer;

const char *base_read(pid_t pid, int directory)
{
    if (answer.pid == pid && answer.directory == directory)
        return answer.text;
    answer.pid = read_now(pid, directory, answer.text, sizeof(answer.text)) < 0 ? 0 : pid;
    answer.directory = directory;
    return answer.pid ? answer.text : NULL;
}

void base_forget(void)
{
    answer.pid = 0;
}
