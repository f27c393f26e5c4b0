/*
 * side.c - start what acts, inside and outside, and talk to it.
 *
 * Should:  start both in the same way, but for the words of the confinement.
 * Mustn't: wait for ever for a confinement that neither starts nor ends.
 */
#include "side.h"
#include "world.h"

#include "links/kernel_abi.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    PATIENCE_MS = 120000 /* more than an act has */,
    START_MS = 60000,
    END_MS = 60000,
    FOREIGN_MS = 10000
};

static void become_caller(const struct battery *battery, bool control)
{
    if (battery->root && control &&
        (setresgid(battery->gid, battery->gid, battery->gid) != 0 ||
         setresuid(battery->uid, battery->uid, battery->uid) != 0))
        _exit(125);
    if (battery->root && !control && (setresuid(0, 0, 0) != 0 || setresgid(0, 0, 0) != 0))
        _exit(125);
}

_Noreturn void battery_exec(const struct battery *battery, const struct trial *trial, bool control,
                            int report, char *const *words)
{
    const char *argv[256];
    static char *words_of_exec[256];
    char number[24];
    size_t count = 0;

    if (trial && trial->world)
        world_join(trial);
    become_caller(battery, control);
    for (size_t i = 0; !control && battery->start[i] && count < 200; i++)
        argv[count++] = battery->start[i];
    if (!control && trial && *trial->program)
        argv[0] = trial->program;
    for (size_t i = 0; !control && trial && i < OPTIONS && *trial->option[i]; i++)
        argv[count++] = trial->option[i];
    if (!control && !battery->foreign) {
        fcntl(report, F_SETFD, 0);
        snprintf(number, sizeof(number), "fd:%d", report);
        argv[count++] = "--report";
        argv[count++] = number;
        argv[count++] = "--read";
        argv[count++] = battery->self;
        argv[count++] = "--";
    }
    argv[count++] = battery->self;
    for (size_t i = 0; words[i]; i++)
        argv[count++] = words[i];
    argv[count] = NULL;
    /* execv() takes them as what it would be allowed to change, and does not. */
    memcpy(words_of_exec, argv, sizeof(argv));
    if (trial && trial->enter)
        trial->enter(trial);
    execv(argv[0], words_of_exec);
    _exit(126);
}

static _Noreturn void start_child(const struct battery *battery, const struct trial *trial, bool control,
                                  int in, int out, int report)
{
    static char inside[] = "inside";
    static char *const words[] = {inside, NULL};
    int nothing = open("/dev/null", O_RDWR);

    setpgid(0, 0);
    if (dup2(in, 0) != 0 || dup2(out, 1) != 1 || dup2(nothing, 2) != 2)
        _exit(125);
    if (nothing > 2)
        close(nothing);
    battery_exec(battery, trial, control, report, words);
}

/* Reads one answer. Return: false when there is none: the other side is gone. */
static bool take_answer(struct side *side, struct answer *answer, int patience)
{
    struct pollfd ready = {.fd = side->answers, .events = POLLIN};
    size_t done = 0;

    while (done < sizeof(*answer)) {
        ssize_t length;

        if (poll(&ready, 1, patience) <= 0)
            break;
        length = read(side->answers, (char *)answer + done, sizeof(*answer) - done);
        if (length <= 0)
            break;
        done += (size_t)length;
    }
    /* Somebody else's launcher may write into the same pipe. */
    side->lost = done != sizeof(*answer) || answer->errnum < 0 || answer->errnum > 4095;
    return !side->lost;
}

static void note_end(struct side *side, int status)
{
    side->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    side->pid = 0;
}

static void wait_for(struct side *side)
{
    int status = 0;

    while (side->pid > 0 && waitpid(side->pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (side->pid > 0)
        note_end(side, status);
}

int side_start(struct side *side, const struct battery *battery, const struct trial *trial, bool control)
{
    int orders[2], answers[2];
    struct answer hello;

    *side = SIDE_NONE;
    if (!control)
        side->report = (int)syscall(SYS_memfd_create, "report", 1 /* close-on-exec */);
    if (pipe2(orders, O_CLOEXEC) != 0 || pipe2(answers, O_CLOEXEC) != 0)
        return -errno;
    side->pid = fork();
    if (side->pid == 0)
        start_child(battery, trial, control, orders[0], answers[1], side->report);
    close(orders[0]);
    close(answers[1]);
    side->orders = orders[1];
    side->answers = answers[0];
    if (side->pid < 0)
        return -errno;
    setpgid(side->pid, side->pid);
    if (take_answer(side, &hello, START_MS))
        return 0;
    side_end(side, battery);
    return -ECHILD;
}

int side_end(struct side *side, const struct battery *battery)
{
    struct timespec pause = {.tv_nsec = 2000000};
    int patience = battery->foreign ? FOREIGN_MS : END_MS, status;

    if (side->orders >= 0)
        close(side->orders);
    for (int waited = 0; side->pid > 0 && waited < patience; waited += 2) {
        if (waitpid(side->pid, &status, WNOHANG) == side->pid)
            note_end(side, status);
        else
            nanosleep(&pause, NULL);
    }
    if (side->pid > 0) {
        side->hung = true;
        side_kill(battery, side);
    }
    if (side->answers >= 0)
        close(side->answers);
    side->orders = side->answers = -1;
    return side->status;
}

void side_order(struct side *side, struct trial *trial)
{
    if (side->lost ||
        write(side->orders, &trial->order, sizeof(trial->order)) != (ssize_t)sizeof(trial->order) ||
        !take_answer(side, &trial->answer, PATIENCE_MS)) {
        side->lost = true;
        trial->answer = (struct answer){.errnum = ECHILD};
    }
}

void side_release(struct side *side)
{
    static const struct order release;

    if (!side->lost && write(side->orders, &release, sizeof(release)) != (ssize_t)sizeof(release))
        side->lost = true;
}

void side_kill(const struct battery *battery, struct side *side)
{
    if (battery->root && seteuid(0) != 0)
        _exit(125);
    kill(side->pid, SIGKILL);
    if (battery->root && seteuid(battery->uid) != 0)
        _exit(125);
    wait_for(side);
    side->lost = true;
}
