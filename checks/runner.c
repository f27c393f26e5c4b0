/*
 * runner.c - the inside: one act after the other, each in a child.
 *
 * Should:  go on whatever happens to the child; keep it until it has been looked at.
 * Mustn't: decide anything.
 */
#include "battery.h"
#include "place.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 60000, CPU_SECONDS = 10 };

static int read_whole(int fd, void *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t length = read(fd, (char *)data + done, size - done);

        if (length < 0 && errno == EINTR)
            continue;
        if (length <= 0)
            return -1;
        done += (size_t)length;
    }
    return 0;
}

static void act_in_child(const struct order *order, int out, int hold)
{
    const struct attempt *attempt = attempt_by_id(order->id);
    struct rlimit none = {0, 0}, cpu = {CPU_SECONDS, CPU_SECONDS};
    struct answer answer = {.errnum = ENOSYS};
    char byte;

    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_CPU, &cpu);
    if (attempt)
        answer.errnum = attempt->act(order, &answer);
    if (write(out, &answer, sizeof(answer)) != (ssize_t)sizeof(answer))
        _exit(1);
    close(out);
    /* What it holds stays held until somebody has looked. */
    while (read(hold, &byte, 1) < 0 && errno == EINTR)
        ;
    _exit(0);
}

/* Return: the child; 0 when there is none. The answer is complete either way. */
static pid_t run_act(const struct order *order, struct answer *answer, int hold[2])
{
    struct pollfd ready = {.events = POLLIN};
    int result[2], status;
    pid_t child;

    *answer = (struct answer){.errnum = EAGAIN};
    if (pipe2(result, O_CLOEXEC) != 0 || pipe2(hold, O_CLOEXEC) != 0)
        return 0;
    child = fork();
    if (child == 0) {
        close(result[0]);
        close(hold[1]);
        act_in_child(order, result[1], hold[0]);
    }
    close(result[1]);
    close(hold[0]);
    ready.fd = result[0];
    if (child < 0) {
        answer->errnum = errno;
        child = 0;
    } else if (poll(&ready, 1, PATIENCE_MS) <= 0) {
        *answer =
            (struct answer){.errnum = ETIMEDOUT, .signal = SIGALRM}; /* not by itself: it proves nothing */
    } else if (read_whole(result[0], answer, sizeof(*answer)) != 0) {
        *answer = (struct answer){.errnum = EINTR};
        if (waitpid(child, &status, 0) == child && WIFSIGNALED(status))
            answer->signal = WTERMSIG(status);
        child = 0;
    }
    close(result[0]);
    return child;
}

int runner_main(int in, int out)
{
    static const int ignored[] = {SIGURG, SIGUSR1, SIGUSR2, SIGHUP, SIGPIPE, SIGIO, SIGWINCH};
    struct answer answer = {.number = getpid()};
    struct order order;

    for (size_t i = 0; i < ITEMS(ignored); i++)
        signal(ignored[i], SIG_IGN);
    fcntl(in, F_SETFD, FD_CLOEXEC);
    fcntl(out, F_SETFD, FD_CLOEXEC);
    if (write(out, &answer, sizeof(answer)) != (ssize_t)sizeof(answer))
        return 1;
    while (read_whole(in, &order, sizeof(order)) == 0) {
        int hold[2] = {-1, -1};
        pid_t child = run_act(&order, &answer, hold);
        bool lost = write(out, &answer, sizeof(answer)) != (ssize_t)sizeof(answer);

        lost = read_whole(in, &order, sizeof(order)) != 0 || lost;
        close(hold[1]);
        if (child > 0) {
            kill(child, SIGKILL);
            while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
                ;
        }
        if (lost)
            return 0;
    }
    return 0;
}

int runner_once(const char *path)
{
    const struct attempt *attempt;
    struct answer answer = {0};
    struct order order;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || read_whole(fd, &order, sizeof(order)) != 0)
        return 125;
    close(fd);
    attempt = attempt_by_id(order.id);
    if (!attempt)
        return 125;
    answer.errnum = attempt->act(&order, &answer);
    printf("confine-check %d\n", answer.errnum);
    return 0;
}
