/* host_calls.c - a run as a test needs it. */
#include "host_calls.h"

#include <sys/socket.h>

static int program;
struct confine_options options = {.size = sizeof(options)};

TEST_SETUP()
{
    char path[PATH_MAX];

    if (!program) {
        snprintf(path, sizeof(path), "%s/bin/confine", getenv("CONFINE_STAGE"));
        program = open(path, O_PATH | O_CLOEXEC);
        options.program = program;
    }
    test_own_home();
    if (chdir("/var/tmp") != 0)
        test_note("no /var/tmp");
}

struct confine_run *spawn(const struct confine_options *with, const char *const *command)
{
    struct confine_run *run = NULL;

    need(confine_spawn(with, command, &run) == CONFINE_OK);
    need(run != NULL);
    return run;
}

struct confine_end end_of(struct confine_run *run)
{
    struct confine_end end = {.size = sizeof(end)};

    check_int(confine_run_wait(run, LONG_MS, &end, NULL), CONFINE_OK);
    confine_run_unref(run);
    return end;
}

void say(const struct confine_run *run, const char *line)
{
    check_int(send(confine_run_fd(run), line, strlen(line), MSG_NOSIGNAL), (long long)strlen(line));
}

bool hear_line(const struct confine_run *run, char *line, size_t size)
{
    size_t length = 0;

    while (length + 1 < size) {
        ssize_t got = recv(confine_run_fd(run), line + length, 1, 0);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        if (line[length] == '\n') {
            line[length] = '\0';
            return true;
        }
        length++;
    }
    return false;
}

bool hear(const struct confine_run *run, const char *type)
{
    char *line = malloc(1 << 20), start[64];
    bool heard = false;

    snprintf(start, sizeof(start), "{\"type\": \"%s\"", type);
    while (line && !heard && hear_line(run, line, 1 << 20))
        heard = strncmp(line, start, strlen(start)) == 0;
    free(line);
    return heard;
}

bool all_gone(int fd)
{
    struct pollfd end = {.fd = fd, .events = POLLIN};
    char byte;
    ssize_t got = 1;

    while (got > 0)
        got = poll(&end, 1, LONG_MS) == 1 ? read(fd, &byte, 1) : -1;
    return got == 0;
}

size_t count_open(void)
{
    DIR *dir = opendir("/proc/self/fd");
    size_t count = 0;

    while (dir && readdir(dir))
        count++;
    if (dir)
        closedir(dir);
    return count;
}

volatile sig_atomic_t children_told;

void on_child(int signum)
{
    (void)signum;
    children_told++;
}
