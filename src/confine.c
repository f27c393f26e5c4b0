/*
 * confine.c - the library: the program confine, started and listened to.
 *
 * Should:  give back whatever it took, on every way out; leave judging to confine, which says what it
 * refuses. Mustn't: hold state beyond a handle, or anything that two threads would have to share.
 */
#include "confine.h"

#include "confine_call.h"
#include "confine_json.h"
#include "confine_start.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define ANSWER_MS 60000 /* how long a JSON answer may take */
#define TEXT_MOST (64 << 20)

struct confine_run {
    int control, report, pidfd;
};

int confine_contract(void)
{
    return CONFINE_CONTRACT;
}

void confine_free(void *text)
{
    free(text);
}

/* All of a file of ours, NUL-terminated. Return: NULL if it is empty or cannot be read, with errno. */
static char *read_file(int fd)
{
    struct stat st;
    char *text;
    size_t at = 0;

    errno = 0;
    if (fstat(fd, &st) != 0 || st.st_size <= 0 || st.st_size > TEXT_MOST)
        return NULL;
    text = malloc((size_t)st.st_size + 1);
    while (text && at < (size_t)st.st_size) {
        ssize_t got = pread(fd, text + at, (size_t)st.st_size - at, (off_t)at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        at += (size_t)got;
    }
    if (text)
        text[at] = '\0';
    return text;
}

/* --- answers in JSON ------------------------------------------------------------------------------------ */

static int read_answer(int fd, char **ret_json)
{
    char *text = read_file(fd);
    int r;

    if (!text && errno == ENOMEM)
        return CONFINE_E_MEMORY;
    if (!text || !json_complete(text)) {
        free(text);
        errno = EPROTO;
        return CONFINE_E_PROGRAM;
    }
    r = json_look(text, "error") ? CONFINE_E_REFUSED : CONFINE_OK;
    *ret_json = text;
    return r;
}

/* Starts what was prepared and waits for its answer. */
static int ask(struct call *call, int answer, char **ret_json)
{
    int pidfd, r;

    call->places[1] = answer;
    call->places[0] = call->places[2] = call->null;
    r = call_start(call, &pidfd);
    if (r != CONFINE_OK)
        return r;
    r = start_wait(pidfd, ANSWER_MS);
    if (r != CONFINE_OK)
        start_kill(pidfd);
    call_close(pidfd);
    return r == CONFINE_OK ? read_answer(answer, ret_json) : r;
}

static int ask_json(const struct confine_options *options, const char *verb, const char *const *rest,
                    char **ret_json)
{
    struct call call;
    int answer = -1, r;

    if (!ret_json)
        return CONFINE_E_ARGUMENT;
    r = call_begin(&call, options, verb, call_count(rest) + 1);
    if (r == CONFINE_OK) {
        call_word(&call, "--json");
        r = call_options(&call, rest);
    }
    if (r == CONFINE_OK) {
        answer = call_file("confine-answer");
        r = answer < 0 ? CONFINE_E_SYSTEM : ask(&call, answer, ret_json);
    }
    call_close(answer);
    call_end(&call);
    return r;
}

int confine_probe(const struct confine_options *options, char **ret_json)
{
    if (options && (options->policy || options->descriptor_count > 0))
        return CONFINE_E_ARGUMENT;
    return ask_json(options, "probe", NULL, ret_json);
}

int confine_plan(const struct confine_options *options, const char *const *command, char **ret_json)
{
    if (!command || !*command)
        return CONFINE_E_ARGUMENT;
    return ask_json(options, "plan", command, ret_json);
}

int confine_explain(const struct confine_options *options, const char *const *paths, char **ret_json)
{
    return ask_json(options, "policy", paths && *paths ? paths : NULL, ret_json);
}

/* --- runs ----------------------------------------------------------------------------------------------- */

static void free_run(struct confine_run *run)
{
    call_close(run->control);
    call_close(run->report);
    call_close(run->pidfd);
    free(run);
}

int confine_spawn(const struct confine_options *options, const char *const *command,
                  struct confine_run **ret_run)
{
    struct confine_run *run;
    struct call call;
    int ends[2], r;

    if (!ret_run)
        return CONFINE_E_ARGUMENT;
    *ret_run = NULL;
    if (!command || !*command)
        return CONFINE_E_ARGUMENT;
    run = malloc(sizeof(*run));
    if (!run)
        return CONFINE_E_MEMORY;
    *run = (struct confine_run){-1, -1, -1};
    r = call_begin(&call, options, "run", call_count(command) + 1);
    if (r == CONFINE_OK) {
        run->report = call_file("confine-report");
        if (run->report < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
            r = CONFINE_E_SYSTEM;
    }
    if (r == CONFINE_OK) {
        run->control = ends[0];
        call_place(&call, ends[1], "--control=");
        call_place(&call, run->report, "--report=");
        r = call_options(&call, command);
        if (r == CONFINE_OK)
            r = call_start(&call, &run->pidfd);
        call_close(ends[1]);
    }
    call_end(&call);
    if (r == CONFINE_OK)
        *ret_run = run;
    else
        free_run(run);
    return r;
}

int confine_run_fd(const struct confine_run *run)
{
    return run ? run->control : CONFINE_E_ARGUMENT;
}

/* The number of a word in a table that ends with NULL; of none, OTHERWISE. */
static int find_word(const char *const *words, const char *value, int otherwise)
{
    for (int i = 0; words[i]; i++)
        if (json_is_word(value, words[i]))
            return i;
    return otherwise;
}

static void fill_end(struct confine_end *end, const char *report)
{
    static const char *const kinds[] = {"?", "not-started", "exited", "signaled", "timed-out", "limit", NULL};
    static const char *const errors[] = {"?",
                                         "SANDBOX_UNAVAILABLE",
                                         "ATTESTATION_FAILED",
                                         "POLICY_INVALID",
                                         "COMMAND_NOT_FOUND",
                                         "COMMAND_NOT_EXECUTABLE",
                                         "USAGE",
                                         "INTERNAL",
                                         NULL};
    const char *outcome = report ? json_look(report, "outcome") : NULL;
    const char *error = report ? json_look(report, "error") : NULL;
    const char *code = error ? json_look(error, "code") : NULL;

    end->kind = outcome ? find_word(kinds, json_look(outcome, "kind"), CONFINE_ENDED_UNKNOWN) : 0;
    end->status = outcome ? json_number(json_look(outcome, "status"), -1) : -1;
    end->signal = outcome ? json_number(json_look(outcome, "signal"), 0) : 0;
    end->error = code ? find_word(errors, code, CONFINE_ERROR_OTHER) : CONFINE_ERROR_NONE;
}

int confine_run_wait(struct confine_run *run, int timeout_ms, struct confine_end *end, char **ret_report)
{
    char *report;
    int r;

    if (!run || (end && end->size < sizeof(*end)))
        return CONFINE_E_ARGUMENT;
    r = start_wait(run->pidfd, timeout_ms);
    if (r != CONFINE_OK)
        return r;
    report = read_file(run->report);
    if (!report && errno == ENOMEM)
        return CONFINE_E_MEMORY;
    if (report && !json_complete(report)) { /* confine was ended while it wrote */
        free(report);
        report = NULL;
    }
    if (end)
        fill_end(end, report);
    if (ret_report)
        *ret_report = report;
    else
        free(report);
    return CONFINE_OK;
}

void confine_run_unref(struct confine_run *run)
{
    if (!run)
        return;
    shutdown(run->control, SHUT_RDWR); /* which ends the run, also where a fork of the caller holds a copy */
    start_end(run->pidfd);
    free_run(run);
}
