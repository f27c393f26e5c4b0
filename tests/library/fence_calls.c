/* fence_calls.c - a fence as a test needs it, and the directories that it is tried on. */
#include "fence_calls.h"

#include <sys/socket.h>
#include <sys/un.h>

int program, work = -1, out = -1;

void put(int directory, const char *name, const char *text)
{
    int fd = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    need(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

const char *text_of(int fd, char *room, size_t size)
{
    ssize_t got = pread(fd, room, size - 1, 0);

    room[got > 0 ? got : 0] = '\0';
    return room;
}

TEST_SETUP()
{
    char path[PATH_MAX];

    test_own_home();
    snprintf(path, sizeof(path), "%s/bin/confine", getenv("CONFINE_STAGE"));
    if (!program)
        program = open(path, O_PATH | O_CLOEXEC);
    if (chdir(test_dir) != 0 || mkdir("ws", 0755) != 0 || mkdir("out", 0755) != 0 ||
        mkdir("ws/sub", 0755) != 0)
        test_note("no directories");
    work = open("ws", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    out = open("out", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

TEST_TEARDOWN()
{
    close(work);
    close(out);
}

struct confine_fence *fence_of(const char *const *words)
{
    struct confine_options options = {.size = sizeof(options), .program = program, .words = words};
    struct confine_fence *fence = NULL;
    char *json = NULL;

    if (!check_int(confine_fence_new(&options, &fence, &json), CONFINE_OK))
        test_note("%s", json ? json : "no reason");
    need(fence != NULL);
    return fence;
}

void fill(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "ws/socket"};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    need(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
    close(fd);
    put(AT_FDCWD, "file", "file");
    put(out, "key", "key");
    put(work, "held", "held");
    need(mkdirat(work, "kept", 0755) == 0 && mkfifoat(work, "fifo", 0644) == 0 &&
         symlinkat("../out/key", work, "to-key") == 0 && symlinkat("../out", work, "to-out") == 0 &&
         symlinkat("nowhere", out, "link") == 0 && symlinkat("kept", work, "to-kept") == 0 &&
         linkat(work, "held", work, "also-held", 0) == 0);
    put(work, "kept/in", "in");
}
