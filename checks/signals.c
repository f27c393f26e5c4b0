/*
 * signals.c - signals to a process outside, of the same user.
 *
 * The victim blocks all signals, so that what was sent can be read from its status.
 */
#include "place.h"
#include "survivor.h"

#include "links/kernel_abi.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TEST_SIGNAL = SIGURG }; /* nothing happens to those who do not wait for it */

static int answer_of(long result)
{
    return result < 0 ? errno : 0;
}

static int look_signalled(struct trial *trial)
{
    static const char *const keys[] = {"SigPnd:", "ShdPnd:"};
    char text[4096];
    int length = place_read_process(trial, "status", text, sizeof(text));

    for (size_t i = 0; length > 0 && i < ITEMS(keys); i++) {
        const char *line = strstr(text, keys[i]);

        if (line && strtoull(line + strlen(keys[i]), NULL, 16))
            return 1;
    }
    return length < 0 ? length : 0;
}

static int act_kill(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(kill((pid_t)order->number[0], TEST_SIGNAL));
}

static int act_kill_group(const struct order *order, struct answer *answer)
{
    (void)order;
    (void)answer;
    return answer_of(kill(0, TEST_SIGNAL));
}

static int act_kill_named_group(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(kill((pid_t)-order->number[3], TEST_SIGNAL));
}

static int act_pidfd_signal(const struct order *order, struct answer *answer)
{
    int fd = (int)syscall(SYS_pidfd_open, order->number[0], 0);

    (void)answer;
    if (fd < 0)
        return errno;
    return answer_of(syscall(SYS_pidfd_send_signal, fd, TEST_SIGNAL, NULL, 0));
}

static int act_proc_pidfd_signal(const struct order *order, struct answer *answer)
{
    char path[40];
    int fd;

    (void)answer;
    snprintf(path, sizeof(path), "/proc/%ld", order->number[0]);
    fd = open(path, O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return errno;
    return answer_of(syscall(SYS_pidfd_send_signal, fd, TEST_SIGNAL, NULL, 0));
}

static int act_tgkill(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(syscall(SYS_tgkill, order->number[0], order->number[0], TEST_SIGNAL));
}

static int act_tkill(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(syscall(SYS_tkill, order->number[0], TEST_SIGNAL));
}

static int act_queue_signal(const struct order *order, struct answer *answer)
{
    siginfo_t info = {.si_signo = TEST_SIGNAL, .si_code = SI_QUEUE};

    (void)answer;
    return answer_of(syscall(SYS_rt_sigqueueinfo, order->number[0], TEST_SIGNAL, &info));
}

/* The kernel sends it, when something arrives at a descriptor. */
static int act_owner(const struct order *order, struct answer *answer)
{
    int pair[2];

    (void)answer;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 ||
        fcntl(pair[0], F_SETOWN, (int)order->number[0]) != 0 || fcntl(pair[0], F_SETFL, O_ASYNC) != 0)
        return errno;
    return write(pair[1], "x", 1) == 1 ? 0 : errno;
}

static int act_owner_thread(const struct order *order, struct answer *answer)
{
    struct {
        int type, pid;
    } owner = {0 /* a thread */, (int)order->number[0]};
    int ends[2];

    (void)answer;
    if (pipe(ends) != 0 || fcntl(ends[0], 15 /* F_SETOWN_EX */, &owner) != 0 ||
        fcntl(ends[0], F_SETFL, O_ASYNC) != 0)
        return errno;
    return write(ends[1], "x", 1) == 1 ? 0 : errno;
}

static int prepare_in_group(struct trial *trial)
{
    trial->order.number[3] = trial->group;
    return place_process(trial);
}

#define KILLS "what can be signalled can be ended"
#define SIGNALS(id, call, what, prepare, act)                                                                \
    {                                                                                                        \
        id, SURFACE_PROC_SIGNAL, 0, call, what, KILLS, prepare, act, look_signalled, NULL                    \
    }

const struct attempt signal_attempts[] = {
    SIGNALS("PROC-01", "kill(VICTIM)", "signal a process outside", place_alone, act_kill),
    SIGNALS("PROC-02", "kill(0)", "signal its own group, in which somebody outside is", prepare_in_group,
            act_kill_group),
    SIGNALS("PROC-03", "pidfd_send_signal()", "signal a process outside by a handle", place_alone,
            act_pidfd_signal),
    SIGNALS("PROC-30", "tgkill(VICTIM, VICTIM)", "signal a thread outside", place_alone, act_tgkill),
    SIGNALS("PROC-31", "tkill(VICTIM)", "signal a thread outside by the older call", place_alone, act_tkill),
    SIGNALS("PROC-32", "rt_sigqueueinfo(VICTIM)", "queue a signal for a process outside", place_alone,
            act_queue_signal),
    SIGNALS("PROC-33", "fcntl(F_SETOWN, VICTIM); O_ASYNC",
            "have the kernel signal a process, as owner of a socket", place_alone, act_owner),
    SIGNALS("PROC-34", "fcntl(F_SETOWN_EX, VICTIM); O_ASYNC",
            "have the kernel signal a thread, as owner of a pipe", place_alone, act_owner_thread),
    SIGNALS("PROC-35", "kill(-GROUP)", "signal the group of those who started it", prepare_in_group,
            act_kill_named_group),
    SIGNALS("PROC-36", "pidfd_send_signal(open(/proc/VICTIM))", "signal a process by its directory",
            place_alone, act_proc_pidfd_signal),
    {"PROC-24", SURFACE_PROC_SURVIVOR, IN_WORKSPACE | AFTER_END, "fork(); setsid(); fork()",
     "stay when the run has ended", "it goes on in a project that somebody has looked at since", NULL,
     survivor_act, survivor_look, survivor_finish},
    {"PROC-25", SURFACE_PROC_SURVIVOR, IN_WORKSPACE | OWN_RUN | KILLED,
     "fork(); setsid(); fork(); the supervisor is killed", "stay when those who watch are killed",
     "a harness that crashes must not leave what it started", NULL, survivor_act, survivor_look,
     survivor_finish},
    {0},
};
