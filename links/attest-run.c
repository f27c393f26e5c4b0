/*
 * attest-run - check the boundary from inside, and start the command on the supervisor's word only.
 *
 *   attest-run [--channel FD] [--stderr FD] [--descriptors N] [--pass FD]... [--refused SPEC]...
 *              -- COMMAND [ARG]...
 *
 * Theory of operation. Every other link has run and has shown its own
 * mechanism. What is still unknown is whether the whole holds: so the acts
 * that the plan claims to be impossible are tried here, in the process that
 * is about to become the command.
 *
 * With a channel the supervisor chooses the acts, holds the canaries, looks at
 * them from outside and decides; here is only tried and told. The end of the
 * channel, a message out of turn, or anything but GO means: the command does
 * not start.
 *
 * Without a supervisor (`confine exec`) the acts stand in the argument list,
 * each with the errnos with which its mechanism refuses:
 *
 *   SPEC = SURFACE:ACT:FD:A:B:ERRNO[,ERRNO]...:NAME     numbers in decimal
 *
 * Any other answer ends in 125, but for ENOENT: the object is gone, and nothing is shown by it.
 *
 * --stderr FD: 2 is the chain's own until the command starts, so that a link's
 * last words reach the supervisor; FD becomes 2 then.
 * --pass FD: stays open in the command. Everything else above 2 is closed.
 * --descriptors N: the soft limit of open descriptors, which the chain had to raise, becomes N again.
 */
#include "acts.h"

#include <poll.h>

struct attest {
    struct chain *chain;
    char **command;
    int channel;
    int stderr_fd;
    int descriptors; /* -1: the limit stays */
    size_t first_option;
};

static int64_t take_number(const struct chain *chain, const char **text, char end)
{
    bool negative = **text == '-';
    uint64_t value = 0;
    const char *c = *text + negative;

    if (*c < '0' || *c > '9')
        chain_fatal(chain, "--refused", "usage: not a number");
    for (; *c >= '0' && *c <= '9'; c++) {
        if (value > (UINT64_MAX >> 1) / 10 - 1)
            chain_fatal(chain, "--refused", "usage: number too large");
        value = value * 10 + (uint64_t)(*c - '0');
    }
    if (*c != end)
        chain_fatal(chain, "--refused", "usage: SURFACE:ACT:FD:A:B:ERRNO[,ERRNO]...:NAME");
    *text = c + 1;
    return negative ? -(int64_t)value : (int64_t)value;
}

/* Several surfaces are shown by one act (the terminal's three by one look at it), which is done once. */
static bool is_same_act(const struct channel_check *one, const struct channel_check *other)
{
    return one->act == other->act && one->fd == other->fd && one->a == other->a && one->b == other->b &&
           memcmp(one->name, other->name, sizeof(one->name)) == 0;
}

/* Does CHECK, unless the one before it was the same. Return: as act_perform(). */
static int perform_once(const struct attest *attest, const struct channel_check *check)
{
    static struct channel_check last;
    static bool first = true;
    static int answer;
    struct act_world world = {.envp = attest->chain->envp, .stderr_fd = attest->stderr_fd};

    if (!first && is_same_act(&last, check))
        return answer;
    answer = act_perform(&world, check);
    last = *check;
    first = false;
    return answer;
}

/* One check of the argument list: tried, and held against its errnos. */
static void check_refused(const struct attest *attest, const char *spec)
{
    const struct chain *chain = attest->chain;
    struct channel_check check = {0};
    const char *at = strchr(spec, ':');
    char surface[32];
    bool expected = false;
    int errnum;

    if (!at || (size_t)(at - spec) >= sizeof(surface))
        chain_fatal(chain, "--refused", "usage: SURFACE:ACT:FD:A:B:ERRNO[,ERRNO]...:NAME");
    memcpy(surface, spec, (size_t)(at - spec));
    surface[at - spec] = '\0';
    at++;
    check.act = (uint32_t)take_number(chain, &at, ':');
    check.fd = (int32_t)take_number(chain, &at, ':');
    check.a = take_number(chain, &at, ':');
    check.b = take_number(chain, &at, ':');
    const char *errnos = at;
    const char *name = strchr(at, ':');
    if (!name || strlen(name + 1) >= sizeof(check.name))
        chain_fatal(chain, "--refused", "usage: no name, or one that is too long");
    memcpy(check.name, name + 1, strlen(name + 1) + 1);

    errnum = perform_once(attest, &check);
    while (errnos < name) {
        const char *comma = strchr(errnos, ',');

        if (take_number(chain, &errnos, comma && comma < name ? ',' : ':') == errnum)
            expected = true;
    }
    if (errnum == 0)
        chain_fatal(chain, surface, "the boundary is not there: what it must refuse went through");
    if (errnum < 0)
        chain_fatal(chain, "--refused", "usage: unknown act");
    /* An object that is gone since the control shows nothing: the links have shown their own mechanisms. */
    if (!expected && errnum != ENOENT)
        chain_fatal_errno(chain, surface, errnum);
}

static void send_word(const struct attest *attest, enum channel_type type, int value)
{
    struct channel_word word = {.type = type, .value = value};

    if (send(attest->channel, &word, sizeof(word), MSG_NOSIGNAL) != (ssize_t)sizeof(word))
        chain_fatal(attest->chain, "channel", "the supervisor does not listen any more");
}

/* Receives one packet, with descriptors if there are any. Ends the link at the end of the channel. */
static size_t receive_packet(const struct attest *attest, void *room, size_t size, int *descriptors,
                             size_t *descriptor_count)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(CHANNEL_DESCRIPTORS * sizeof(int))];
    } control;
    struct iovec part = {.iov_base = room, .iov_len = size};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    ssize_t got;

    do
        got = recvmsg(attest->channel, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got <= 0)
        chain_fatal(attest->chain, "channel", "the supervisor ended before it gave its word");
    if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
        chain_fatal(attest->chain, "channel", "a message was cut");
    *descriptor_count = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        *descriptor_count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(descriptors, CMSG_DATA(c), *descriptor_count * sizeof(int));
    }
    return (size_t)got;
}

/* Everything above 2 is closed by the exec, except what is passed on. All that can fail is done before the
 * supervisor's word: behind it, a failure would look like the command's own. */
static void prepare_command(const struct attest *attest)
{
    const struct chain *chain = attest->chain;
    const char *value;
    int control;
    long answer;

    chain_reap(chain);
    control = fcntl(STDIN_FILENO, F_DUPFD, STDERR_FILENO + 1);
    answer = kernel_call(SYS_close_range, 3, INT_MAX, CLOSE_RANGE_CLOEXEC, 0, 0, 0);

    if (answer < 0)
        chain_fatal_errno(chain, "close_range", (int)-answer);
    if (control < 0)
        chain_fatal(chain, "close_range", "no descriptor is left to see it done by");
    if (fcntl(control, F_GETFD) != FD_CLOEXEC)
        chain_fatal(chain, "close_range", "the kernel reported success but closed nothing");
    for (size_t at = attest->first_option; chain->argv[at] && strcmp(chain->argv[at], "--") != 0;) {
        if (!chain_option(chain, &at, "--pass", &value)) {
            at++;
            continue;
        }
        int fd = chain_number(chain, "--pass", value);
        if (fcntl(fd, F_SETFD, 0) != 0)
            chain_fatal_errno(chain, "--pass", errno);
    }
    if (attest->descriptors >= 0) {
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
            chain_fatal_errno(chain, "--descriptors", errno);
        limit.rlim_cur = (rlim_t)attest->descriptors;
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
            chain_fatal_errno(chain, "--descriptors", errno);
    }
}

/* HERE, CHECKS, RESULTS, GO. Ends the link unless the supervisor said GO. */
static void talk_to_supervisor(struct attest *attest)
{
    static struct channel_checks checks;
    static struct channel_results results = {.type = CHANNEL_RESULTS};
    static int descriptors[CHANNEL_DESCRIPTORS];
    struct channel_word word;
    size_t descriptor_count, size;

    send_word(attest, CHANNEL_HERE, CHANNEL_VERSION);
    size = receive_packet(attest, &checks, sizeof(checks), descriptors, &descriptor_count);
    if (size < offsetof(struct channel_checks, check) || checks.type != CHANNEL_CHECKS ||
        checks.count > CHANNEL_CHECKS_MAX ||
        size != offsetof(struct channel_checks, check) + checks.count * sizeof(checks.check[0]))
        chain_fatal(attest->chain, "channel", "a message out of turn instead of the checks");

    struct act_world world = {.descriptors = descriptors,
                              .count = descriptor_count,
                              .nonce = checks.nonce,
                              .envp = attest->chain->envp,
                              .stderr_fd = attest->stderr_fd};
    for (uint32_t i = 0; i < checks.count; i++) {
        uint32_t same = 0;

        checks.check[i].name[CHANNEL_NAME - 1] = '\0';
        while (same < i && !is_same_act(&checks.check[same], &checks.check[i]))
            same++;
        results.result[i].id = checks.check[i].id;
        results.result[i].errnum =
            same < i ? results.result[same].errnum : act_perform(&world, &checks.check[i]);
    }
    results.count = checks.count;
    for (size_t i = 0; i < descriptor_count; i++)
        close(descriptors[i]);
    prepare_command(attest);
    size = offsetof(struct channel_results, result) + results.count * sizeof(results.result[0]);
    if (send(attest->channel, &results, size, MSG_NOSIGNAL) != (ssize_t)size)
        chain_fatal(attest->chain, "channel", "the supervisor does not listen any more");
    chain_do_later(attest->chain);

    size = receive_packet(attest, &word, sizeof(word), descriptors, &descriptor_count);
    if (size != sizeof(word) || word.type != CHANNEL_GO || descriptor_count != 0)
        chain_fatal(attest->chain, "channel", "the supervisor did not say go");
}

/* The exec failed: told on the channel if there is one, else in a line, with the status that a shell would
 * give. */
_Noreturn static void tell_exec_failed(const struct attest *attest, int errnum)
{
    if (attest->channel >= 0) {
        send_word(attest, CHANNEL_EXEC_FAILED, errnum);
    } else {
        char line[2 * PATH_MAX];
        size_t at = chain_append(line, sizeof(line), 0, "confine: cannot run ", false);

        at = chain_append(line, sizeof(line), at, attest->command[0], true);
        at = chain_append(line, sizeof(line), at, ": ", false);
        at = chain_append(line, sizeof(line), at, strerror(errnum), true);
        at = chain_append(line, sizeof(line), at, " (name a program by its path, or one that PATH leads to)",
                          false);
        line[at++] = '\n';
        if (write(STDERR_FILENO, line, at) < 0)
            _exit(errnum == ENOENT ? 127 : 126); /* nobody to tell; the status says it */
    }
    _exit(errnum == ENOENT ? 127 : 126);
}

/* Takes the prefix off every variable. What has none is of the program before us, not of the caller. */
static void restore_environment(const struct chain *chain)
{
    const size_t length = strlen(ENVIRONMENT_PREFIX);
    size_t kept = 0;

    for (size_t i = 0; chain->envp[i]; i++)
        if (strncmp(chain->envp[i], ENVIRONMENT_PREFIX, length) == 0)
            chain->envp[kept++] = chain->envp[i] + length;
    chain->envp[kept] = NULL;
}

int attest_run(struct chain *chain)
{
    struct attest attest = {
        .chain = chain, .channel = -1, .stderr_fd = -1, .descriptors = -1, .first_option = 1};
    const char *value;
    size_t at = 1;

    chain_set_dumpable(chain, false);
    while (chain->argv[at] && strcmp(chain->argv[at], "--") != 0) {
        if (chain_option(chain, &at, "--channel", &value))
            attest.channel = chain_number(chain, "--channel", value);
        else if (chain_option(chain, &at, "--stderr", &value))
            attest.stderr_fd = chain_number(chain, "--stderr", value);
        else if (chain_option(chain, &at, "--descriptors", &value))
            attest.descriptors = chain_number(chain, "--descriptors", value);
        else if (chain_flag(chain, &at, "--restore-environment"))
            restore_environment(chain);
        else if (!chain_option(chain, &at, "--pass", &value) &&
                 !chain_option(chain, &at, "--refused", &value))
            break;
    }
    attest.command = chain_command(chain, at);
    for (at = 1; chain->argv[at] && strcmp(chain->argv[at], "--") != 0;)
        if (chain_option(chain, &at, "--refused", &value))
            check_refused(&attest, value);
        else
            at++;
    if (attest.channel >= 0)
        talk_to_supervisor(&attest);
    else
        prepare_command(&attest);
    if (attest.stderr_fd >= 0 && dup2(attest.stderr_fd, STDERR_FILENO) != STDERR_FILENO)
        tell_exec_failed(&attest, errno ? errno : EIO);
    tell_exec_failed(&attest, chain_exec(attest.command, chain->envp));
}

LINK_MAIN("attest-run", attest_run)
