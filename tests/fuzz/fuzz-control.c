/*
 * fuzz-control.c - fuzz what comes in over the control channel.
 *
 * However the bytes are cut, they mean the same; every finished line is either obeyed by one call or refused
 * by one line of JSON; nothing is answered to what was not finished.
 */
#include "run/control.h"
#include "run/supervise.h"
#include "util/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct text asked;

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
    return 0;
}

int supervise_close_input(struct supervision *supervision)
{
    (void)supervision;
    text_add(&asked, "close\n");
    return 0;
}

int supervise_allow(struct supervision *supervision, const char *rule, struct error *error)
{
    (void)supervision;
    (void)error;
    text_addf(&asked, "allow %s\n", QUOTE(rule));
    return 0;
}

int supervise_answer(struct supervision *supervision, uint32_t id, unsigned answer, struct error *error)
{
    (void)supervision;
    (void)id;
    (void)answer;
    return error_set(error, ERROR_USAGE, EINVAL, "no-question", "answer: refused");
}

uint64_t supervise_now_ns(void)
{
    return 0;
}

static void must(bool held, const char *what)
{
    if (!held) {
        fprintf(stderr, "control: %s\n", what);
        abort();
    }
}

/* What was said and what was asked for, when DATA comes in pieces of STEP bytes. */
static void hear(const uint8_t *data, size_t size, size_t step, struct text *said)
{
    static struct control control;
    static struct plan plan;
    static struct report report;
    struct supervision supervision = {.plan = &plan, .report = &report};
    char buffer[4096];
    uv_loop_t loop;
    int ends[2];
    ssize_t got;

    memset(&control, 0, sizeof(control));
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "no socket");
    must(control_begin(&control, ends[1]) == 0 && uv_loop_init(&loop) == 0, "no loop");
    must(control_part.start(&control, &supervision, &loop) == 0, "no part");
    control_part.go(&control);
    for (size_t at = 0; at < size; at += step) {
        must(send(ends[0], data + at, step < size - at ? step : size - at, 0) > 0, "cannot send");
        uv_run(&loop, UV_RUN_NOWAIT);
        while ((got = recv(ends[0], buffer, sizeof(buffer), MSG_DONTWAIT)) > 0)
            text_add_bytes(said, buffer, (size_t)got);
    }
    must(control.held < CONTROL_LINE && control.lost == 0, "more is held than a line, or a line was lost");
    control_part.end(&control);
    uv_close((uv_handle_t *)&control.poll, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    must(uv_loop_close(&loop) == 0, "the loop is not closed");
    close(control.waiter);
    close(ends[0]);
    close(ends[1]);
    text_free(&control.out);
}

static size_t count_lines(const char *text, size_t length)
{
    size_t count = 0;

    for (size_t i = 0; i < length; i++)
        count += text[i] == '\n';
    return count;
}

/* Each is an object, and says what was wrong in which line. */
static void check_said(const struct text *said)
{
    for (size_t at = 0; at < said->length;) {
        const char *end = memchr(said->data + at, '\n', said->length - at);
        json_t *line;

        must(end != NULL, "an unfinished line");
        line = json_loadb(said->data + at, (size_t)(end - said->data) - at, JSON_REJECT_DUPLICATES, NULL);
        must(line && strcmp(json_string_value(json_object_get(line, "type")), "error") == 0, "no error line");
        must(json_integer_value(json_object_get(line, "line")) > 0, "no number");
        json_decref(line);
        at = (size_t)(end - said->data) + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text whole = {0}, pieces = {0}, first;
    size_t lines = count_lines((const char *)data, size), answers;

    hear(data, size, size ? size : 1, &whole);
    first = asked;
    asked = (struct text){0};
    check_said(&whole);
    answers = count_lines(whole.data, whole.length) + count_lines(first.data, first.length);
    /* A second kill is the first one. */
    must(answers <= lines && (answers == lines || (first.data && strstr(first.data, "kill\n"))),
         "a line was neither obeyed nor refused");
    hear(data, size, 1 + size / 7, &pieces);
    must(whole.length == pieces.length && (!whole.data || strcmp(whole.data, pieces.data) == 0),
         "in pieces it is answered differently");
    must(first.length == asked.length && (!first.data || strcmp(first.data, asked.data) == 0),
         "in pieces it means something else");
    text_free(&whole);
    text_free(&pieces);
    text_free(&first);
    text_free(&asked);
    return 0;
}
