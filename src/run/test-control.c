/*
 * test-control.c - the lines of the control channel, both ways, with a supervisor that only writes down what
 * it is asked for.
 */
#include "harness.h"

#include "run/control.h"
#include "run/supervise.h"
#include "util/json.h"

#include <sys/socket.h>

/* --- a supervisor --------------------------------------------------------------------------------------- */

static struct text asked; /* of the supervisor, a line each */
static int allow_answer, resize_answer, close_answer;

void supervise_signal(struct supervision *supervision, int signum)
{
    (void)supervision;
    text_addf(&asked, "signal %d\n", signum);
}

void supervise_kill(struct supervision *supervision)
{
    (void)supervision;
    text_add(&asked, "kill\n");
}

int supervise_resize(struct supervision *supervision, unsigned columns, unsigned rows)
{
    (void)supervision;
    text_addf(&asked, "resize %u %u\n", columns, rows);
    return resize_answer;
}

int supervise_close_input(struct supervision *supervision)
{
    (void)supervision;
    text_add(&asked, "close\n");
    return close_answer;
}

int supervise_allow(struct supervision *supervision, const char *rule, struct error *error)
{
    (void)supervision;
    text_addf(&asked, "allow %s\n", rule);
    return allow_answer == 0 ? 0 : error_set(error, ERROR_USAGE, -allow_answer, "no-list", "no list");
}

int supervise_answer(struct supervision *supervision, uint32_t id, unsigned answer, struct error *error)
{
    (void)supervision;
    if (id > 8)
        return error_set(error, ERROR_USAGE, EINVAL, "no-question", "answer: refused");
    text_addf(&asked, "answer %u %u\n", (unsigned)id, answer);
    return 0;
}

uint64_t supervise_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* --- a channel with two ends ---------------------------------------------------------------------------- */

static struct control control;
static struct plan plan;
static struct report report;
static struct supervision supervision = {.plan = &plan, .report = &report, .command = 77};
static uv_loop_t loop;
static int other; /* the other side */

static void open_channel(void)
{
    int ends[2];

    need(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    other = ends[0];
    report.backend = "none";
    report.plan = &plan;
    need(control_begin(&control, ends[1]) == 0);
    need(uv_loop_init(&loop) == 0);
    need(control_part.start(&control, &supervision, &loop) == 0);
    control_part.go(&control);
}

static void close_channel(void)
{
    control_part.end(&control);
    uv_close((uv_handle_t *)&control.poll, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    check_int(uv_loop_close(&loop), 0);
    check_int(control_finish(&control, &report, 0), 0);
    close(other);
    text_free(&asked);
}

static void say_bytes(const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t put = send(other, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (put > 0) {
            bytes += put;
            length -= (size_t)put;
        }
        uv_run(&loop, UV_RUN_NOWAIT);
        need(put > 0 || errno == EAGAIN);
    }
    uv_run(&loop, UV_RUN_NOWAIT);
    uv_run(&loop, UV_RUN_NOWAIT);
}

static void say(const char *line)
{
    say_bytes(line, strlen(line));
}

/* What came over, at most SIZE - 1 bytes of it. */
static const char *hear(char *buffer, size_t size)
{
    ssize_t got = recv(other, buffer, size - 1, MSG_DONTWAIT);

    buffer[got > 0 ? got : 0] = '\0';
    return buffer;
}

#define HEAR() hear((char[4096]){0}, 4096)

/* Everything that comes until the end, line by line: the last is kept, and all are counted. */
struct heard {
    size_t lines;
    int64_t lost;
    json_t *last;
};

static bool hear_line(struct heard *heard, const char *line, size_t length)
{
    json_t *value = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);

    if (!check(value != NULL))
        return false;
    json_decref(heard->last);
    heard->last = value;
    heard->lines++;
    heard->lost += json_integer_value(json_object_get(value, "lost"));
    return true;
}

static void hear_all(struct heard *heard)
{
    static char bytes[1 << 20];
    size_t held = 0, at = 0;
    ssize_t got = 0;

    while (held < sizeof(bytes) && (got = recv(other, bytes + held, sizeof(bytes) - held, 0)) > 0)
        held += (size_t)got;
    check_int(got, 0); /* an end, and no error */
    while (at < held) {
        const char *end = memchr(bytes + at, '\n', held - at);

        if (!check(end != NULL) || !hear_line(heard, bytes + at, (size_t)(end - bytes) - at))
            return;
        at = (size_t)(end - bytes) + 1;
    }
}

static const char *last_type(const struct heard *heard)
{
    return json_string_value(json_object_get(heard->last, "type"));
}

/* --- in ------------------------------------------------------------------------------------------------- */

static const struct obeyed {
    const char *name;
    const char *line;
    const char *asked;
} obeyed[] = {
    {"a signal by name", "{\"type\":\"signal\",\"signal\":\"TERM\"}\n", "signal 15\n"},
    {"a signal by its long name", "{\"signal\":\"SIGUSR1\",\"type\":\"signal\"}\n", "signal 10\n"},
    {"a signal by number", " { \"type\" : \"signal\", \"signal\" : 64 }\r\n", "signal 64\n"},
    {"a stop from a terminal stops the command", "{\"type\":\"signal\",\"signal\":\"TSTP\"}\n",
     "signal 19\n"},
    {"resize", "{\"type\":\"resize\",\"columns\":132,\"rows\":43}\n", "resize 132 43\n"},
    {"the end of the input", "{\"type\":\"stdin-close\"}\n", "close\n"},
    {"kill", "{\"type\":\"kill\"}\n", "kill\n"},
    {"kill, once", "{\"type\":\"kill\"}\n{\"type\":\"kill\"}\n", "kill\n"},
    {"several lines at once",
     "{\"type\":\"signal\",\"signal\":1}\n{\"type\":\"signal\",\"signal\":2}\n{\"type\":\"signal\","
     "\"signal\":3}\n",
     "signal 1\nsignal 2\nsignal 3\n"},
    {"an answer", "{\"type\":\"answer\",\"id\":7,\"answer\":\"once\"}\n", "answer 7 2\n"},
    {"every answer",
     "{\"type\":\"answer\",\"id\":1,\"answer\":\"deny\"}\n{\"type\":\"answer\",\"id\":1,\"answer\":\"deny-"
     "like\"}\n"
     "{\"type\":\"answer\",\"id\":1,\"answer\":\"run\"}\n",
     "answer 1 0\nanswer 1 1\nanswer 1 3\n"},
    {"escapes in a name", "{\"t\\u0079pe\":\"k\\u0069ll\"}\n", "kill\n"},
};

TEST_EACH(is_obeyed, struct obeyed, obeyed)
{
    open_channel();
    say(row->line);
    check_str(asked.data, row->asked);
    check_str(HEAR(), "");
    close_channel();
}

static const struct refused {
    const char *name;
    const char *line;
    const char *reason;
} refused[] = {
    {"an unknown type", "{\"type\":\"stop\"}\n", "unknown-type"},
    {"a type that is nearly one", "{\"type\":\"kil\"}\n", "unknown-type"},
    {"another case", "{\"type\":\"KILL\"}\n", "unknown-type"},
    {"no type", "{\"signal\":9}\n", "no-type"},
    {"a type that is no text", "{\"type\":9}\n", "no-type"},
    {"no object", "[\"kill\"]\n", "no-type"},
    {"a word", "\"kill\"\n", "no-type"},
    {"no JSON", "kill\n", "not-json"},
    {"an empty line", "\n", "not-json"},
    {"two values", "{\"type\":\"kill\"}{\"type\":\"kill\"}\n", "not-json"},
    {"a repeated key", "{\"type\":\"allow\",\"type\":\"kill\"}\n", "not-json"},
    {"a comment", "{\"type\":\"kill\"} // now\n", "not-json"},
    {"bad UTF-8", "{\"type\":\"ki\xffll\"}\n", "not-json"},
    {"deeper than any message", "{\"type\":\"kill\",\"x\":[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]}\n",
     "not-json"},
    {"a member too many", "{\"type\":\"kill\",\"now\":true}\n", "unknown-member"},
    {"a member too few", "{\"type\":\"signal\"}\n", "missing-member"},
    {"a signal that is none", "{\"type\":\"signal\",\"signal\":\"TERMINATE\"}\n", "bad-member"},
    {"signal 0", "{\"type\":\"signal\",\"signal\":0}\n", "bad-member"},
    {"signal 65", "{\"type\":\"signal\",\"signal\":65}\n", "bad-member"},
    {"a signal below 0", "{\"type\":\"signal\",\"signal\":-9}\n", "bad-member"},
    {"a large signal", "{\"type\":\"signal\",\"signal\":4294967305}\n", "bad-member"},
    {"a signal with a fraction", "{\"type\":\"signal\",\"signal\":9.0}\n", "bad-member"},
    {"no columns", "{\"type\":\"resize\",\"columns\":0,\"rows\":1}\n", "bad-member"},
    {"many rows", "{\"type\":\"resize\",\"columns\":1,\"rows\":65536}\n", "bad-member"},
    {"half an answer", "{\"type\":\"answer\",\"id\":1}\n", "missing-member"},
    {"an answer that is none", "{\"type\":\"answer\",\"id\":1,\"answer\":\"yes\"}\n", "bad-member"},
    {"an answer to nothing", "{\"type\":\"answer\",\"id\":0,\"answer\":\"once\"}\n", "bad-member"},
    {"a number that is none", "{\"type\":\"answer\",\"id\":\"1\",\"answer\":\"once\"}\n", "bad-member"},
    {"a question that is none", "{\"type\":\"answer\",\"id\":9,\"answer\":\"once\"}\n", "no-question"},
    {"a rule that is none", "{\"type\":\"allow\",\"rule\":\"*.\"}\n", "bad-member"},
    {"no rule", "{\"type\":\"allow\"}\n", "missing-member"},
    {"a rule of a number", "{\"type\":\"allow\",\"rule\":80}\n", "bad-member"},
};

TEST_EACH(is_refused_by_name, struct refused, refused)
{
    char expected[100];

    open_channel();
    say("{\"type\":\"signal\",\"signal\":1}\n");
    say(row->line);
    snprintf(expected, sizeof(expected), "{\"type\": \"error\",\"line\": 2,\"reason\": \"%s\",", row->reason);
    check_has(HEAR(), expected);
    check_str(asked.data, "signal 1\n");
    say("{\"type\":\"signal\",\"signal\":2}\n"); /* and the next one is obeyed */
    check_str(asked.data, "signal 1\nsignal 2\n");
    close_channel();
}

TEST(what_no_part_has_is_an_error)
{
    open_channel();
    resize_answer = close_answer = -ENOTTY;
    say("{\"type\":\"resize\",\"columns\":1,\"rows\":1}\n");
    check_has(HEAR(), "\"no-terminal\"");
    say("{\"type\":\"stdin-close\"}\n");
    check_has(HEAR(), "\"not-relayed\"");
    resize_answer = -EIO;
    say("{\"type\":\"resize\",\"columns\":1,\"rows\":1}\n");
    check_has(HEAR(), "\"resize-failed\"");
    close_channel();
}

TEST(a_rule_is_asked_for_in_one_spelling)
{
    struct error answer = {0};

    open_channel();
    say("{\"type\":\"allow\",\"rule\":\"Registry.Example.org\"}\n");
    check_str(asked.data, "allow registry.example.org:443,80\n");
    control_part.answered(&control, "registry.example.org:443,80", NULL);
    check_str(HEAR(), "{\"type\": \"allowed\",\"rule\": \"registry.example.org:443,80\"}\n");
    error_set(&answer, ERROR_USAGE, EINVAL, "rule-refused", "allow: a.org:1: too-many");
    control_part.answered(&control, "a.org:1", &answer);
    check_has(HEAR(), "\"rule-refused\"");
    allow_answer = -EINVAL;
    say("{\"type\":\"allow\",\"rule\":\"a.org\"}\n");
    check_has(HEAR(), "\"no-list\"");
    close_channel();
}

TEST(a_connection_is_told)
{
    struct connection connection = {.id = 3,
                                    .name = (char *)(uintptr_t) "a.org",
                                    .protocol = (char *)(uintptr_t) "tcp",
                                    .refused = (char *)(uintptr_t) "not-listed",
                                    .option = (char *)(uintptr_t) "--allow a.org",
                                    .port = 443,
                                    .count = 1,
                                    .sent = -1,
                                    .received = 0,
                                    .ms = -1};

    open_channel();
    control_part.connection(&control, &connection);
    check_str(
        HEAR(),
        "{\"type\": \"connection\",\"id\": 3,\"name\": \"a.org\",\"address\": null,\"port\": 443,"
        "\"protocol\": \"tcp\",\"rule\": null,\"refused\": \"not-listed\",\"option\": \"--allow a.org\","
        "\"sent\": null,\"received\": null,\"ms\": null,\"error\": null}\n");
    close_channel();
}

TEST(a_line_may_come_in_pieces)
{
    static const char line[] = "{\"type\":\"signal\",\"signal\":\"HUP\"}\n";

    open_channel();
    for (size_t i = 0; i < strlen(line); i++) {
        check(asked.data == NULL);
        say_bytes(line + i, 1);
    }
    check_str(asked.data, "signal 1\n");
    close_channel();
}

TEST(where_in_a_line)
{
    const char *said;

    open_channel();
    say_bytes("\n{\"type\": kill}\n", 16);
    said = HEAR();
    check_has(said, "\"line\": 2");
    check_has(said, "\"message\": \"column 10: ");
    close_channel();
}

TEST(a_nul_in_a_line_is_refused)
{
    open_channel();
    say_bytes("{\"type\":\"kill\"}\0\n", 17);
    check_has(HEAR(), "\"not-json\"");
    check(asked.data == NULL);
    close_channel();
}

static const struct length {
    const char *name;
    size_t length;
    bool obeyed;
} lengths[] = {
    {"as long as a line may be", CONTROL_LINE, true},
    {"one byte longer", CONTROL_LINE + 1, false},
    {"twice as long", 2 * CONTROL_LINE, false},
    {"ten times as long", 10 * CONTROL_LINE + 17, false},
};

TEST_EACH(a_line_has_a_bound, struct length, lengths)
{
    static const char message[] = "{\"type\":\"signal\",\"signal\":1}";
    char *line = malloc(row->length);

    need(line);
    memset(line, ' ', row->length);
    memcpy(line, message, strlen(message));
    line[row->length - 1] = '\n';
    open_channel();
    say_bytes(line, row->length);
    if (row->obeyed)
        check_str(HEAR(), "");
    else
        check_has(HEAR(), "\"line\": 1,\"reason\": \"line-too-long\"");
    check_str(HEAR(), "");
    check_str(asked.data, row->obeyed ? "signal 1\n" : NULL);
    say("{\"type\":\"signal\",\"signal\":2}\nx\n");
    check_str(asked.data, row->obeyed ? "signal 1\nsignal 2\n" : "signal 2\n");
    check_has(HEAR(), "\"line\": 3,");
    free(line);
    close_channel();
}

/* --- the end of the channel ----------------------------------------------------------------------------- */

TEST(the_end_of_the_channel_ends_the_run)
{
    open_channel();
    check(!control_gone(&control));
    check_int(close(other), 0);
    check(control_gone(&control));
    uv_run(&loop, UV_RUN_NOWAIT);
    check_str(asked.data, "kill\n");
    other = -1;
    close_channel();
}

TEST(half_an_end_ends_the_run_too_and_the_rest_is_said)
{
    struct heard heard = {0};

    open_channel();
    check_int(shutdown(other, SHUT_WR), 0);
    check(control_gone(&control));
    uv_run(&loop, UV_RUN_NOWAIT);
    check_str(asked.data, "kill\n");
    check_int(control_finish(&control, &report, 137), 0);
    hear_all(&heard);
    check_str(last_type(&heard), "ended");
    json_decref(heard.last);
    close_channel();
}

TEST(a_line_that_was_not_finished_was_not_said)
{
    open_channel();
    say("{\"type\":\"signal\",\"signal\":1}");
    check_int(shutdown(other, SHUT_WR), 0);
    uv_run(&loop, UV_RUN_NOWAIT);
    check_str(asked.data, "kill\n");
    close_channel();
}

TEST(a_reader_who_is_gone_ends_the_run_without_a_signal)
{
    open_channel();
    signal(SIGPIPE, SIG_DFL);
    check_int(shutdown(other, SHUT_RD), 0);
    control_part.started(&control);
    check_str(asked.data, "kill\n");
    close_channel();
}

static const struct judged {
    const char *name;
    bool killed;
    struct outcome seen, judged;
} judged[] = {
    {"killed by us",
     true,
     {.kind = OUTCOME_SIGNALED, .signal = SIGKILL},
     {.kind = OUTCOME_LIMIT, .limit = "control"}},
    {"killed by somebody else",
     false,
     {.kind = OUTCOME_SIGNALED, .signal = SIGKILL},
     {.kind = OUTCOME_SIGNALED, .signal = SIGKILL}},
    {"ended before we came",
     true,
     {.kind = OUTCOME_EXITED, .status = 3},
     {.kind = OUTCOME_EXITED, .status = 3}},
    {"ended by another signal",
     true,
     {.kind = OUTCOME_SIGNALED, .signal = SIGTERM},
     {.kind = OUTCOME_SIGNALED, .signal = SIGTERM}},
    {"the time was over first",
     true,
     {.kind = OUTCOME_TIMED_OUT, .limit = "time"},
     {.kind = OUTCOME_TIMED_OUT, .limit = "time"}},
};

TEST_EACH(the_outcome_is_what_happened, struct judged, judged)
{
    struct outcome outcome = row->seen;

    control.killed = row->killed;
    control_judge(&control, &outcome);
    check_int(outcome.kind, row->judged.kind);
    check_int(outcome.signal, row->judged.signal);
    check_int(outcome.status, row->judged.status);
    check_str(outcome.limit, row->judged.limit);
}

/* --- out ------------------------------------------------------------------------------------------------ */

TEST(started_once_and_warnings_once_and_ended_last)
{
    struct heard heard = {0};

    open_channel();
    need(strings_add(&report.warnings, "first: one\nline") == 0);
    control_part.started(&control);
    control_part.started(&control);
    control_part.limited(&control, "time");
    need(strings_add(&report.warnings, "second") == 0);
    check_int(control_finish(&control, &report, 124), 0);
    hear_all(&heard);
    check_int(heard.lines, 5);
    check_str(last_type(&heard), "ended");
    check_int(json_integer_value(json_object_get(heard.last, "status")), 124);
    check_str(json_string_value(json_object_get(json_object_get(heard.last, "report"), "schema")),
              "confine/report/1");
    json_decref(heard.last);
    close_channel();
}

TEST(a_reader_who_takes_nothing_costs_a_bound_and_is_told_what_was_lost)
{
    enum { MANY = 20000 };
    struct heard heard = {0};
    pid_t child;

    open_channel();
    control_part.started(&control);
    for (size_t i = 0; i < MANY; i++)
        control_part.limited(&control, "time");
    check(control.lost > 0);
    check(control.out.length - control.sent <= CONTROL_QUEUE);
    child = fork();
    if (child == 0)
        _exit(control_finish(&control, &report, 0) == 0 ? 0 : 1);
    close(control.fd);
    hear_all(&heard);
    check_str(last_type(&heard), "ended");
    check_int((long long)heard.lines + heard.lost, MANY + 2);
    check(heard.lost > MANY / 2);
    json_decref(heard.last);
    need(waitpid(child, &(int){0}, 0) == child);
    control.fd = -1;
    close_channel();
}

TEST(a_reader_who_takes_nothing_is_not_waited_for_without_end)
{
    open_channel();
    for (size_t i = 0; i < 20000; i++)
        control_part.limited(&control, "time");
    control.last_ms = 100;
    check_int(control_finish(&control, &report, 0), -ETIMEDOUT);
    close_channel();
}

TEST(what_comes_too_late_does_not_spoil_the_end)
{
    static const char line[] = "{\"type\":\"kill\"}\n";
    struct heard heard = {0};

    open_channel();
    need(send(other, line, strlen(line), 0) > 0);
    check_int(control_finish(&control, &report, 0), 0);
    hear_all(&heard);
    check_str(last_type(&heard), "ended");
    check(asked.data == NULL);
    json_decref(heard.last);
    close_channel();
}

TEST(the_caller_s_description_stays_as_it_was)
{
    open_channel();
    check_int(fcntl(control.fd, F_GETFL) & O_NONBLOCK, 0);
    close_channel();
}

TEST(without_a_channel_nothing_happens)
{
    control.fd = -1;
    check_int(control_finish(&control, &report, 0), 0);
    check(!control_gone(&control));
}
