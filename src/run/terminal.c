/*
 * terminal.c - the terminal that the command has for itself, and what it is joined to out here.
 *
 * Theory of operation. Two pumps: from the caller's terminal (or its pipe) to ours, and back. The caller's
 * terminal is raw meanwhile, so that every key is a byte and the command's terminal makes of it what the
 * command has asked for: an echo, a line, a signal to a job inside.
 *
 * One key is not a job's inside: where the command itself is in the foreground of its terminal, nobody inside
 * could continue what a stop key stops, and the kernel stops nothing. There the key means this run, as it
 * would without us: the command is stopped, and we with it.
 *
 * Should:  end what comes from a pipe by the terminal's own end of file, each time that somebody reads, and
 *          make a long line readable in parts: of a line, the terminal holds 4095 bytes and drops the rest.
 * Mustn't: set O_NONBLOCK on anything of the caller's (the flag is shared with every other user of it).
 *          Mustn't read the caller's terminal from the background, or let out to it what is no whole
 * sequence.
 */
#include "run/terminal.h"

#include "run/pump.h"
#include "run/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define TICK_MS      200
#define LINE_MOST    2048 /* bytes of a line from a pipe that are put in at once */
#define COLUMNS      80
#define ROWS         24
#define STATUS_BYTES 4096

void terminal_clear(struct terminal *terminal)
{
    *terminal = (struct terminal){.theirs = -1, .master = -1, .peer = -1};
    terminal->keeper.fd = -1;
    pump_clear(&terminal->in);
    pump_clear(&terminal->out);
}

/* --- before the chain -------------------------------------------------------------------------------------
 */

/* The command's terminal takes the place of one of the caller's: of the first on 0 to 2. Another one is
 * relayed one way, as without a terminal of its own. Return: its descriptor, -1: there is none. */
static int choose_outer(struct terminal *terminal)
{
    int outer = -1;

    for (int fd = 0; fd < 3; fd++) {
        if (!isatty(fd))
            continue;
        if (outer < 0)
            outer = fd;
        terminal->on[fd] = fd_same(outer, fd);
    }
    return outer;
}

/* Does the terminal decode UTF-8? It says so itself where its line discipline has to know; inside a container
 * nobody has told it, and the locale is what is left. */
static bool decodes_utf8(const struct terminal *terminal, bool utf8)
{
    struct termios modes;

    return utf8 || (tcgetattr(terminal->keeper.fd, &modes) == 0 && (modes.c_iflag & IUTF8));
}

/* The first of these that is set decides. */
static bool is_utf8_locale(const struct strings *env)
{
    static const char *const names[] = {"LC_ALL=", "LC_CTYPE=", "LANG="};

    for (size_t n = 0; n < ARRAY_SIZE(names); n++)
        for (size_t i = 0; i < env->count; i++) {
            const char *value = env->items[i] + strlen(names[n]);

            if (strncmp(env->items[i], names[n], strlen(names[n])) == 0 && *value)
                return strcasestr(value, "UTF-8") || strcasestr(value, "UTF8");
        }
    return false;
}

static int join_outer(struct terminal *terminal, int outer, bool utf8)
{
    int r = keeper_open(&terminal->keeper, outer);

    if (r < 0)
        return r;
    terminal->sequence = calloc(1, sizeof(*terminal->sequence));
    if (!terminal->sequence)
        return -ENOMEM;
    terminal->sequence->utf8 = decodes_utf8(terminal, utf8);
    r = pump_from(&terminal->in, terminal->keeper.fd, terminal->keeper.owned);
    return r < 0 ? r : pump_to(&terminal->out, terminal->keeper.fd, terminal->keeper.owned);
}

int terminal_prepare(struct terminal *terminal, const struct resolved *resolved, int standard[3])
{
    int outer, r;

    if (!terminal->wanted)
        return 0;
    terminal->columns = resolved->policy->columns;
    terminal->rows = resolved->policy->rows;
    terminal->theirs = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (terminal->theirs < 0)
        return -errno;
    outer = choose_outer(terminal);
    terminal->piped = outer < 0;
    if (outer >= 0) {
        r = join_outer(terminal, outer, is_utf8_locale(&resolved->env));
    } else {
        terminal->on[0] = terminal->on[1] = terminal->on[2] = true;
        r = pump_from(&terminal->in, 0, false);
        if (r == 0)
            r = pump_to(&terminal->out, 1, false);
    }
    for (int fd = 0; fd < 3; fd++)
        if (terminal->on[fd])
            standard[fd] = terminal->theirs;
    return r;
}

void terminal_list(const struct terminal *terminal, int stderr_fd, char *buffer, size_t size)
{
    int length = snprintf(buffer, size, "%d", terminal->theirs);

    for (int fd = 0; fd < 3; fd++)
        if (terminal->on[fd])
            length += snprintf(buffer + length, size - (size_t)length, ",%d", fd == 2 ? stderr_fd : fd);
}

/* --- what is typed ----------------------------------------------------------------------------------------
 */

static bool is_canonical(const struct terminal *terminal, struct termios *ret_modes)
{
    *ret_modes = (struct termios){0};
    return tcgetattr(terminal->peer, ret_modes) == 0 && (ret_modes->c_lflag & ICANON);
}

/* A line that has not ended is made readable by the end-of-file character, which in the middle of a line ends
 * nothing. Return: bytes in @out, which has room for one more in LINE_MOST. */
static size_t split_lines(struct terminal *terminal, const char *in, size_t size, char *out)
{
    struct termios modes;
    bool canonical = is_canonical(terminal, &modes);
    size_t put = 0;

    for (size_t i = 0; i < size; i++) {
        bool ends = in[i] == '\n' || (in[i] == '\r' && (modes.c_iflag & ICRNL)) ||
                    (unsigned char)in[i] == modes.c_cc[VEOF];

        out[put++] = in[i];
        terminal->line = ends ? 0 : terminal->line + 1;
        if (terminal->line == LINE_MOST) {
            if (canonical)
                out[put++] = (char)modes.c_cc[VEOF];
            terminal->line = 0;
        }
    }
    return put;
}

/* Would a stop stop the command as it does by default? Unknown is no. */
static bool stops_by_default(pid_t pid)
{
    char path[40], text[STATUS_BYTES];
    unsigned long long ignored = 0, caught = 0;
    const char *line;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    if (file_read(AT_FDCWD, path, text, sizeof(text)) <= 0)
        return false;
    line = strstr(text, "\nSigIgn:");
    if (!line || sscanf(line, "\nSigIgn: %llx SigCgt: %llx", &ignored, &caught) != 2)
        return false;
    return !((ignored | caught) >> (SIGTSTP - 1) & 1);
}

/* Is the byte at @in the stop key, and meant for this run? */
static bool is_our_stop(const struct terminal *terminal, const char *in, size_t size, size_t *ret_at)
{
    struct termios modes = {0};
    const char *found;
    pid_t group = 0;

    if (tcgetattr(terminal->peer, &modes) != 0 || !(modes.c_lflag & ISIG) || !modes.c_cc[VSUSP])
        return false;
    found = memchr(in, modes.c_cc[VSUSP], size);
    if (!found || ioctl(terminal->master, TIOCGPGRP, &group) != 0 || group != terminal->leader)
        return false;
    *ret_at = (size_t)(found - in);
    return stops_by_default(group);
}

static size_t type(void *self, const char *in, size_t size, char *out)
{
    struct terminal *terminal = self;
    size_t at;

    if (terminal->piped)
        return split_lines(terminal, in, size, out);
    sequence_answered(terminal->sequence, in, size);
    if (is_our_stop(terminal, in, size, &at)) {
        supervise_signal(terminal->supervision, SIGTSTP);
        size = at; /* the terminal throws away what was typed behind it, too */
    }
    memcpy(out, in, size);
    return size;
}

static void on_tick(uv_timer_t *timer);

/* There is nothing more to type: from a pipe each reader is told so, a terminal has hung up. */
static void typed_all(void *self, int errnum)
{
    struct terminal *terminal = self;

    (void)errnum;
    if (!terminal->piped) {
        supervise_signal(terminal->supervision, SIGHUP);
        return;
    }
    terminal->ended = true;
    on_tick(&terminal->tick);
    uv_timer_start(&terminal->tick, on_tick, TICK_MS, TICK_MS);
}

/* The end of file, if somebody reads lines and has read all there was, the last end included. */
static void type_end(struct terminal *terminal)
{
    struct pollfd unread = {.fd = terminal->peer, .events = POLLIN};
    struct termios modes;
    char end[2];
    size_t size = 0;

    if (!is_canonical(terminal, &modes) || poll(&unread, 1, 0) != 0)
        return;
    if (terminal->line > 0)
        end[size++] = (char)modes.c_cc[VEOF];
    end[size++] = (char)modes.c_cc[VEOF];
    if (write(terminal->master, end, size) == (ssize_t)size)
        terminal->line = 0;
}

/* --- what is shown ----------------------------------------------------------------------------------------
 */

static size_t show(void *self, const char *in, size_t size, char *out)
{
    struct terminal *terminal = self;

    if (!terminal->sequence) {
        memcpy(out, in, size);
        return relays_admit(terminal->relays, size);
    }
    size = sequence_filter(terminal->sequence, in, size, out);
    terminal->keeper.kept->left =
        terminal->sequence->left; /* before it is written: more is undone at worst */
    return relays_admit(terminal->relays, size);
}

/* Nobody takes what is shown: without a terminal of its own the command would be told by SIGPIPE. */
static void shown_all(void *self, int errnum)
{
    struct terminal *terminal = self;

    if (errnum == 0 || terminal->hung_up)
        return;
    terminal->hung_up = true;
    if (errnum != EPIPE && !terminal->sequence)
        terminal->failed = errnum;
    supervise_signal(terminal->supervision, SIGHUP);
}

/* --- size and foreground ----------------------------------------------------------------------------------
 */

/* The command is told by SIGWINCH. */
static int set_size(struct terminal *terminal, unsigned columns, unsigned rows)
{
    struct winsize size = {.ws_col = (unsigned short)columns, .ws_row = (unsigned short)rows};

    if (terminal->master < 0 || columns > UINT16_MAX || rows > UINT16_MAX)
        return -EINVAL;
    return ioctl(terminal->master, TIOCSWINSZ, &size) == 0 ? 0 : -errno;
}

static int take_size(struct terminal *terminal)
{
    struct winsize size = {0};
    unsigned columns = terminal->columns, rows = terminal->rows;

    if (!columns && terminal->keeper.fd >= 0 && ioctl(terminal->keeper.fd, TIOCGWINSZ, &size) == 0) {
        columns = size.ws_col;
        rows = size.ws_row;
    }
    if (!columns && terminal->keeper.fd < 0) {
        columns = COLUMNS;
        rows = ROWS;
    }
    return set_size(terminal, columns, rows);
}

static void on_resized(uv_signal_t *handle, int signum)
{
    (void)signum;
    take_size(handle->data);
}

static void wait_for_foreground(struct terminal *terminal)
{
    if (!uv_is_active((uv_handle_t *)&terminal->tick))
        uv_timer_start(&terminal->tick, on_tick, TICK_MS, TICK_MS);
}

/* Reading the caller's terminal from the background would stop us. */
static bool may_read(void *self)
{
    struct terminal *terminal = self;

    if (terminal->piped || keeper_is_foreground(&terminal->keeper))
        return true;
    wait_for_foreground(terminal);
    return false;
}

/* Takes the caller's terminal, if we are in its foreground by now. */
static void enter(struct terminal *terminal)
{
    if (terminal->keeper.fd < 0)
        return;
    if (keeper_enter(&terminal->keeper))
        pump_resume(&terminal->in);
    else
        wait_for_foreground(terminal);
}

static void on_tick(uv_timer_t *timer)
{
    struct terminal *terminal = timer->data;

    if (terminal->ended)
        type_end(terminal);
    else if (terminal->in.paused)
        enter(terminal);
    else
        uv_timer_stop(timer);
}

/* --- the part ---------------------------------------------------------------------------------------------
 */

static int start_terminal(void *self, struct supervision *supervision, uv_loop_t *loop)
{
    struct terminal *terminal = self;
    int r = uv_timer_init(loop, &terminal->tick);

    terminal->supervision = supervision;
    terminal->loop = loop;
    if (r == 0)
        r = uv_signal_init(loop, &terminal->resized);
    terminal->tick.data = terminal->resized.data = terminal;
    return r;
}

/* The modes of the caller's terminal, or those that a new one has. */
static int take_modes(struct terminal *terminal)
{
    struct termios modes = {0};

    if (tcgetattr(terminal->keeper.fd >= 0 ? terminal->keeper.fd : terminal->peer, &modes) != 0)
        return -errno;
    if (terminal->keeper.fd < 0)
        modes.c_iflag |= IUTF8;
    return tcsetattr(terminal->peer, TCSANOW, &modes) == 0 ? 0 : -errno;
}

bool terminal_take(struct terminal *terminal, int master, pid_t writer)
{
    if (!terminal->wanted || terminal->master >= 0 || master < 0)
        return false;
    terminal->master = master;
    terminal->leader = writer;
    return true;
}

int terminal_adopt(struct terminal *terminal, pid_t leader)
{
    const struct pump_calls typing = {type, may_read, typed_all, terminal};
    const struct pump_calls showing = {show, NULL, shown_all, terminal};
    unsigned number;
    pid_t session = 0;
    int r, master = terminal->master;

    if (master < 0 || terminal->leader != leader || ioctl(master, TIOCGPTN, &number) != 0 ||
        ioctl(master, TIOCGSID, &session) != 0 || session != leader)
        return -EPERM;
    terminal->peer = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal->peer < 0 || fcntl(master, F_SETFL, O_RDWR | O_NONBLOCK) != 0)
        return -errno;
    r = take_modes(terminal);
    if (r == 0)
        r = take_size(terminal);
    if (r == 0)
        r = pump_to(&terminal->in, master, true);
    if (r == 0)
        r = pump_from(&terminal->out, master, true);
    if (r == 0)
        r = pump_start(&terminal->in, terminal->loop, &typing);
    if (r == 0)
        r = pump_start(&terminal->out, terminal->loop, &showing);
    if (r == 0)
        r = keeper_watch(&terminal->keeper);
    if (r == 0 && terminal->keeper.fd >= 0 && terminal->columns == 0)
        r = uv_signal_start(&terminal->resized, on_resized, SIGWINCH);
    return r;
}

static int resize(void *self, unsigned columns, unsigned rows)
{
    return set_size(self, columns, rows);
}

/* From a pipe: what it has not brought by now is not waited for. */
static int close_input(void *self)
{
    struct terminal *terminal = self;

    if (!terminal->piped)
        return -ENOTTY;
    pump_end(&terminal->in);
    return 0;
}

static void go_terminal(void *self)
{
    struct terminal *terminal = self;

    take_size(terminal); /* it may have changed since */
    if (terminal->piped)
        pump_resume(&terminal->in);
    else
        enter(terminal);
    pump_resume(&terminal->out);
}

static void stop_terminal(void *self)
{
    keeper_leave(&((struct terminal *)self)->keeper);
}

/* What was on the screen is gone: who is in the foreground inside draws it anew. */
static void continue_terminal(void *self)
{
    struct terminal *terminal = self;
    pid_t group = 0;

    if (terminal->keeper.fd < 0)
        return;
    enter(terminal);
    take_size(terminal);
    if (terminal->sequence->left && ioctl(terminal->master, TIOCGPGRP, &group) == 0 && group > 1)
        kill(-group, SIGWINCH);
}

static void end_terminal(void *self)
{
    struct terminal *terminal = self;

    pump_finish(&terminal->in, false);
    pump_finish(&terminal->out, true);
    keeper_end(&terminal->keeper, terminal->sequence && terminal->sequence->questions > 0);
}

const struct part_calls terminal_part = {.start = start_terminal,
                                         .go = go_terminal,
                                         .resize = resize,
                                         .close_input = close_input,
                                         .stop = stop_terminal,
                                         .cont = continue_terminal,
                                         .end = end_terminal};

int terminal_error(const struct terminal *terminal)
{
    return terminal->failed;
}

void terminal_free(struct terminal *terminal)
{
    keeper_end(&terminal->keeper, false);
    pump_free(&terminal->in);
    pump_free(&terminal->out);
    terminal->theirs = fd_close(terminal->theirs);
    terminal->master = fd_close(terminal->master);
    terminal->peer = fd_close(terminal->peer);
    free(terminal->sequence);
    terminal->sequence = NULL;
}
