/*
 * hand.c - start, ask and end the process in the command's network.
 *
 * Should:  start it only when something is asked for: most runs never do.
 * Mustn't: wait for it without a bound, or use one that did not say that it stands where it should, or that
 * has not answered: what it says later would be taken for the answer to another question.
 */
#include "run/hand.h"

#include "kernel/children.h"
#include "run/channel.h"
#include "run/launcher.h"
#include "run/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_MS       2000
#define NAMESPACE_OWNER _IO(0xb7, 1) /* NS_GET_USERNS */

/* The network is not always that of the process's own user namespace: bubblewrap makes another one last. */
int hand_look(struct hand *hand, pid_t pid)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
    hand->net = open(path, O_RDONLY | O_CLOEXEC);
    hand->user = hand->net < 0 ? -1 : ioctl(hand->net, NAMESPACE_OWNER);
    if (hand->user < 0)
        return -errno;
    return fcntl(hand->user, F_SETFD, FD_CLOEXEC) != 0 ? -errno : 0;
}

/* One answer. @ret_lost: there was none, and what comes next is none to the next question. Return: 0, or what
 * it says, or -errno. */
static int hear(const struct hand *hand, int *ret_fd, bool *ret_lost)
{
    struct channel_word word;
    struct handed_over handed;
    pid_t writer;
    ssize_t size = channel_receive_all(hand->fd, &word, sizeof(word), ANSWER_MS, &writer, &handed);

    *ret_lost = true;
    if (size < 0)
        return (int)size;
    if (size != (ssize_t)sizeof(word) || word.type != CHANNEL_SERVED ||
        handed.count != (word.value == 0 && ret_fd ? 1 : 0)) {
        handed_close(&handed);
        return size == 0 ? -ECONNRESET : -EPROTO;
    }
    *ret_lost = false;
    if (word.value == 0 && ret_fd)
        *ret_fd = handed.fd[0];
    return -word.value;
}

static int write_chain(struct plan *plan, const struct hand *hand, const struct resolved *resolved)
{
    char user[32], net[32], whose[64];
    const char *const front[] = {"--session", "--user", whose, "--"};
    const char *const back[] = {"namespace-run", "--serve", "--join-user", user,
                                "--join-net",    net,       "--channel"};
    int r = plan_word(plan, "detach-run") ?: plan_special(plan, WORD_KEEP);

    snprintf(user, sizeof(user), "%d", hand->user);
    snprintf(net, sizeof(net), "%d", hand->net);
    snprintf(whose, sizeof(whose), "%u:%u", (unsigned)resolved->uid, (unsigned)resolved->gid);
    for (size_t i = 0; i < ARRAY_SIZE(front) && r == 0; i++)
        if (resolved->switch_user || (i != 1 && i != 2))
            r = plan_word(plan, front[i]);
    for (size_t i = 0; i < ARRAY_SIZE(back) && r == 0; i++)
        r = plan_word(plan, back[i]);
    return r ?: plan_special(plan, WORD_CHANNEL);
}

static int spawn(struct hand *hand, const struct resolved *resolved, int channel)
{
    static char *no_command[] = {NULL};
    struct error error = {0};
    _cleanup_fd_ int launcher = launcher_open(resolved, "confine-launch", &error);
    _cleanup_fd_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    _cleanup_fd_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    const int others[] = {hand->user, hand->net}, standard[3] = {null, null, null};
    struct chain_fds fds = CHAIN_FDS_NONE;
    struct launch launch = {0};
    struct plan plan = {0};
    int r;

    if (launcher < 0 || null < 0 || root < 0)
        return launcher < 0 ? launcher : -errno;
    fds.channel = channel;
    fds.others = others;
    fds.other_count = ARRAY_SIZE(others);
    r = write_chain(&plan, hand, resolved);
    if (r == 0)
        r = launch_prepare(&launch, &plan, resolved, &fds, 0, NULL, NULL, no_command);
    if (r == 0) {
        free(launch.env.items); /* the list alone; nothing in this chain reads a variable */
        launch.env = (struct strings){0};
        r = spawn_chain(launcher, &launch, standard, root, NULL, NULL);
        launch_free(&launch);
    }
    plan_free(&plan);
    return r;
}

static int start(struct hand *hand, const struct resolved *resolved, bool *ret_lost)
{
    int ends[2], r;

    if (hand->net < 0)
        return -ENOENT;
    r = channel_open(&ends[0], &ends[1]);
    if (r < 0)
        return r;
    r = spawn(hand, resolved, ends[1]);
    fd_close(ends[1]);
    if (r < 0) {
        fd_close(ends[0]);
        return r;
    }
    hand->fd = ends[0];
    hand->pid = r;
    children_except(hand->pid);
    return hear(hand, NULL, ret_lost);
}

static void stop(struct hand *hand)
{
    hand->fd = fd_close(hand->fd);
    /* One that ended by itself may have been reaped, and then its number is another's. */
    if (hand->pid > 0 && children_include(hand->pid)) {
        kill(hand->pid, SIGKILL);
        while (waitpid(hand->pid, NULL, __WALL) < 0 && errno == EINTR)
            ;
    }
    hand->pid = 0;
}

static void let_go(struct hand *hand)
{
    hand->user = fd_close(hand->user);
    hand->net = fd_close(hand->net);
}

int hand_start(struct hand *hand, const struct resolved *resolved)
{
    bool lost = false;
    int r = start(hand, resolved, &lost);

    if (r < 0)
        stop(hand);
    let_go(hand);
    return r;
}

int hand_ask(struct hand *hand, const struct resolved *resolved, const char *word, int *ret_fd)
{
    bool lost = false;
    int r = hand->fd < 0 ? start(hand, resolved, &lost) : 0;

    if (r == 0) {
        r = channel_send(hand->fd, word, strlen(word), NULL, 0);
        lost = r < 0;
    }
    if (r == 0)
        r = hear(hand, ret_fd, &lost);
    if (r < 0 && lost)
        stop(hand);
    return r;
}

/* It says nothing that was not asked for, so that whatever can be read is its end. */
bool hand_lost(const struct hand *hand)
{
    struct pollfd end = {.fd = hand->fd, .events = POLLIN};

    return hand->fd < 0 || poll(&end, 1, 0) > 0;
}

void hand_end(struct hand *hand)
{
    stop(hand);
    let_go(hand);
}
