/*
 * silent.c - which mount does not answer?
 *
 * Should:  look at each mount point in a child of its own, for a moment.
 * Mustn't: look at one in this process: whoever does waits as long as the file server is gone.
 */
#include "host/host.h"

#include "host/child.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_MS      500
#define MOUNTS_BYTES (1 << 20)
#define MOUNTS_MOST  256

static void look(int answer, void *data)
{
    struct stat object;

    if (stat(data, &object) != 0)
        object.st_mode = 0; /* an error is an answer */
    if (write(answer, "", 1) != 1)
        _exit(1); /* no answer is one */
}

/* The mount point of a line of mountinfo is its fifth word; blanks and the like are octal there. */
static void take_point(const char *line, char *point, size_t size)
{
    size_t length = 0;

    for (int blanks = 0; *line && blanks < 4; line++)
        blanks += *line == ' ';
    while (*line && *line != ' ' && length + 1 < size) {
        if (line[0] == '\\' && line[1] && line[2] && line[3]) {
            point[length++] = (char)((line[1] & 3) << 6 | (line[2] & 7) << 3 | (line[3] & 7));
            line += 4;
        } else {
            point[length++] = *line++;
        }
    }
    point[length] = '\0';
}

bool host_find_silent(char *point, size_t size)
{
    _cleanup_fd_ int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    size_t length;
    char byte;

    if (fd < 0 || fd_read_all(fd, MOUNTS_BYTES, &text, &length) < 0)
        return false;
    for (char *line = text, *end = NULL; line && *line; line = end) {
        static unsigned looked;

        end = strchr(line, '\n');
        if (end)
            *end++ = '\0';
        take_point(line, point, size);
        if (looked++ == MOUNTS_MOST)
            break;
        if (*point && child_ask(look, point, &byte, 1, LOOK_MS) == -ETIMEDOUT)
            return true;
    }
    return false;
}
