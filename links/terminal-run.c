/*
 * terminal-run.c - a terminal of one's own.
 *
 *     terminal-run --channel FD --on FD[,FD]... -- COMMAND [ARG]...
 *
 * Makes a pseudo-terminal where it stands: in a view of its own that is one of
 * the view, so that it has a name there. What --on names becomes the terminal,
 * which is the controlling one of a session that this process leads; the other
 * side goes to the supervisor over the channel (TERMINAL) and nowhere else.
 *
 * Should:  be the leader of its session, or become it: signals and job control
 *          of the terminal are for this session alone.
 * Mustn't: keep the other side: whoever has it types for the user. Mustn't
 *          take a terminal that is there for the one it has made.
 */
#include "chain.h"
#include "channel.h"
#include "kernel_abi.h"
#include "pass.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>

#define TERMINAL_DEVICE "/dev/ptmx"
#define TERMINAL_MOST   8 /* descriptors that become the terminal */

struct terminal {
    const struct chain *chain;
    int channel;
    size_t count;
    int on[TERMINAL_MOST];
};

static void add_descriptors(struct terminal *terminal, const char *text)
{
    for (const char *at = text; at;) {
        const char *comma = strchr(at, ',');
        size_t length = comma ? (size_t)(comma - at) : strlen(at);
        char number[12];

        if (terminal->count == TERMINAL_MOST)
            chain_fatal(terminal->chain, "--on", "usage: at most 8 descriptors");
        if (length >= sizeof(number))
            chain_fatal(terminal->chain, "--on", "usage: not the number of a descriptor");
        snprintf(number, sizeof(number), "%.*s", (int)length, at);
        terminal->on[terminal->count] = chain_number(terminal->chain, "--on", number);
        if (fcntl(terminal->on[terminal->count], F_GETFD) < 0)
            chain_fatal(terminal->chain, "--on", "this descriptor is not open");
        terminal->count++;
        at = comma ? comma + 1 : NULL;
    }
}

static void lead_session(const struct chain *chain)
{
    if (getsid(0) == getpid())
        return;
    if (setsid() < 0)
        chain_fatal_errno(chain, "setsid", errno);
    if (getsid(0) != getpid() || getpgrp() != getpid())
        chain_fatal(chain, "setsid", "the kernel reported success but the session is another");
}

/* The two sides, each seen to be what it should be. */
static void make_sides(const struct chain *chain, int *ret_master, int *ret_slave)
{
    struct stat seen = {0};
    struct termios modes;
    unsigned number = UINT32_MAX;
    int unlocked = 0;

    *ret_master = open(TERMINAL_DEVICE, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (*ret_master < 0)
        chain_fatal_errno(chain, TERMINAL_DEVICE, errno);
    if (ioctl(*ret_master, TIOCGPTN, &number) != 0 || number == UINT32_MAX)
        chain_fatal(chain, TERMINAL_DEVICE, "does not make terminals");
    if (ioctl(*ret_master, TIOCSPTLCK, &unlocked) != 0)
        chain_fatal_errno(chain, "unlock the terminal", errno);
    *ret_slave = ioctl(*ret_master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (*ret_slave < 0)
        chain_fatal_errno(chain, "open the terminal", errno);
    if (tcgetattr(*ret_slave, &modes) != 0 || fstat(*ret_slave, &seen) != 0 || !S_ISCHR(seen.st_mode) ||
        ioctl(*ret_slave, TIOCGPTN, &number) == 0)
        chain_fatal(chain, "open the terminal", "the kernel reported success but it is no terminal");
}

static void take_terminal(const struct terminal *terminal, int slave)
{
    const struct chain *chain = terminal->chain;
    struct stat wanted = {0}, seen;

    if (ioctl(slave, TIOCSCTTY, 0) != 0)
        chain_fatal_errno(chain, "controlling terminal", errno);
    if (tcgetsid(slave) != getpid() || tcgetpgrp(slave) != getpgrp())
        chain_fatal(chain, "controlling terminal", "the kernel reported success but it is another session's");
    if (fstat(slave, &wanted) != 0)
        chain_fatal_errno(chain, "open the terminal", errno);
    for (size_t i = 0; i < terminal->count; i++) {
        memset(&seen, 0, sizeof(seen));
        if (dup2(slave, terminal->on[i]) != terminal->on[i])
            chain_fatal_errno(chain, "--on", errno);
        if (fstat(terminal->on[i], &seen) != 0 || seen.st_ino != wanted.st_ino ||
            seen.st_dev != wanted.st_dev || seen.st_rdev != wanted.st_rdev)
            chain_fatal(chain, "--on", "the kernel reported success but this descriptor is another object");
    }
    close(slave);
}

/* Hands the other side over, and sees that it is no longer here. */
static void hand_out(const struct terminal *terminal, int master)
{
    const struct chain *chain = terminal->chain;
    const struct channel_word word = {.type = CHANNEL_TERMINAL};
    int r;

    r = pass_descriptors(terminal->channel, &word, sizeof(word), &master, 1, PASS_PATIENTLY);
    if (r < 0)
        chain_fatal(chain, "channel",
                    r == -EPIPE ? "the supervisor does not listen any more" : pass_strerror(-r));
    close(master);
    if (fcntl(master, F_GETFD) >= 0)
        chain_fatal(chain, "close", "the kernel reported success but did not close the other side");
}

/*
 * terminal_run() - the link; see the head of this file.
 *
 * Return: never, but through a fused next link.
 */
int terminal_run(struct chain *chain)
{
    struct terminal terminal = {.chain = chain, .channel = -1};
    const char *value;
    size_t at = 1;
    char **command;
    int master, slave;

    chain_set_dumpable(chain, false);
    while (chain->argv[at]) {
        if (chain_option(chain, &at, "--channel", &value))
            terminal.channel = chain_number(chain, "--channel", value);
        else if (chain_option(chain, &at, "--on", &value))
            add_descriptors(&terminal, value);
        else
            break;
    }
    command = chain_command(chain, at);
    if (terminal.channel <= STDERR_FILENO || fcntl(terminal.channel, F_GETFD) < 0)
        chain_fatal(chain, "--channel", "usage: needs a descriptor that is open, and none of 0, 1 and 2");
    if (terminal.count == 0)
        chain_fatal(chain, "--on", "usage: needs a descriptor");
    lead_session(chain);
    make_sides(chain, &master, &slave);
    take_terminal(&terminal, slave);
    hand_out(&terminal, master);
    return chain_hand_over(chain, command);
}

LINK_MAIN("terminal-run", terminal_run)
