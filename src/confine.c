/*
 * confine.c - the library: the program confine, started and listened to.
 *
 * Should:  give back whatever it took, on every way out; leave judging to confine, which says what it
 * refuses. Mustn't: hold state beyond a handle, or anything that two threads would have to share.
 */
#include "confine.h"

#include "confine_json.h"
#include "confine_start.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define ANSWER_MS 60000 /* how long a JSON answer may take */
#define END_MS    30000 /* how long a run that is killed may take to be gone */
#define TEXT_MOST (64 << 20)

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

extern char **environ;

struct confine_run {
    int control, report, pidfd;
};

/* What a start needs, made from what the caller gave. Descriptors of ours are closed again, on every way. */
struct call {
    const struct confine_options *options;
    const char **argv;
    size_t argc;
    int *places; /* what becomes which descriptor */
    size_t place_count;
    int null, policy;
    char (*numbers)[32]; /* texts of options that name a descriptor */
    size_t number_count;
};

int confine_contract(void)
{
    return CONFINE_CONTRACT;
}

void confine_free(void *text)
{
    free(text);
}

static int close_fd(int fd)
{
    int kept = errno;

    if (fd >= 0)
        close(fd);
    errno = kept;
    return -1;
}

/* --- what was asked ------------------------------------------------------------------------------------- */

/* Members of a later version that are in use would be left out without a word. */
static int check_options(const struct confine_options *options)
{
    const unsigned char *bytes = (const unsigned char *)options;

    if (options->size < sizeof(*options) || options->size > 4096)
        return CONFINE_E_ARGUMENT;
    for (size_t i = sizeof(*options); i < options->size; i++)
        if (bytes[i] != 0)
            return CONFINE_E_ARGUMENT;
    if (options->program < 0 || options->directory < 0 ||
        (options->descriptor_count > 0 && !options->descriptors) || options->descriptor_count > 4096)
        return CONFINE_E_ARGUMENT;
    return CONFINE_OK;
}

static int is_option(const char *word, const char *name)
{
    size_t length = strlen(name);

    return strncmp(word, name, length) == 0 && (word[length] == '\0' || word[length] == '=');
}

static int check_words(const char *const *words)
{
    for (; words && *words; words++)
        if (strcmp(*words, "--") == 0 || is_option(*words, "--control") || is_option(*words, "--report"))
            return CONFINE_E_ARGUMENT;
    return CONFINE_OK;
}

static size_t count_words(const char *const *words)
{
    size_t count = 0;

    while (words && words[count])
        count++;
    return count;
}

/* A file of ours in memory; the first flag is for machines where such files must not be executable. */
static int make_file(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_NOEXEC_SEAL);

    return fd >= 0 || errno != EINVAL ? fd : memfd_create(name, MFD_CLOEXEC);
}

static int write_policy(int fd, const char *text)
{
    size_t length = strlen(text);

    while (length > 0) {
        ssize_t put = write(fd, text, length);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return CONFINE_E_SYSTEM;
        text += put;
        length -= (size_t)put;
    }
    return CONFINE_OK;
}

static void add_word(struct call *call, const char *word)
{
    call->argv[call->argc++] = word;
}

/* FD goes behind the places that are there, and stands as a number in an option. */
static void add_place(struct call *call, int fd, const char *option)
{
    char *text = call->numbers[call->number_count++];

    snprintf(text, sizeof(call->numbers[0]), "%sfd:%zu", option, call->place_count);
    call->places[call->place_count++] = fd;
    add_word(call, text);
}

static void end_call(struct call *call)
{
    call->null = close_fd(call->null);
    call->policy = close_fd(call->policy);
    free(call->argv);
    free(call->places);
    free(call->numbers);
}

/* The caller's descriptors at their places; those above 2 are said to be passed. */
static void place_given(struct call *call)
{
    const struct confine_options *options = call->options;

    for (size_t i = 0; i < 3 || i < options->descriptor_count; i++) {
        int fd = i < options->descriptor_count ? options->descriptors[i] : -1;

        call->places[call->place_count++] = fd < 0 && i < 3 ? call->null : fd;
        if (i < 3 || fd < 0)
            continue;
        snprintf(call->numbers[call->number_count], sizeof(call->numbers[0]), "--pass-fd=%zu", i);
        add_word(call, call->numbers[call->number_count++]);
    }
}

/*
 * begin_call() - the words and places that every call has.
 * @verb: `run` and so on
 * @rest: how many words come at the end
 *
 * Return: CONFINE_OK, or another; end_call() is due either way.
 */
static int begin_call(struct call *call, const struct confine_options *options, const char *verb, size_t rest)
{
    static const struct confine_options none = {.size = sizeof(none)};
    size_t words, places;
    int r;

    *call = (struct call){.options = options ? options : &none, .null = -1, .policy = -1};
    options = call->options;
    r = check_options(options);
    if (r == CONFINE_OK)
        r = check_words(options->words);
    if (r != CONFINE_OK)
        return r;
    words = count_words(options->words);
    places = options->descriptor_count + 3 + 3; /* 0 to 2, and ours */
    call->argv = calloc(words + rest + places + 8, sizeof(*call->argv));
    call->places = calloc(places, sizeof(*call->places));
    call->numbers = calloc(places, sizeof(*call->numbers));
    if (!call->argv || !call->places || !call->numbers)
        return CONFINE_E_MEMORY;
    call->null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (call->null < 0)
        return CONFINE_E_SYSTEM;
    add_word(call, "confine");
    add_word(call, verb);
    place_given(call);
    return CONFINE_OK;
}

/* The policy in a file, and the caller's words, which are stronger; then what stands behind the options. */
static int add_options(struct call *call, const char *const *rest)
{
    const struct confine_options *options = call->options;

    if (options->policy) {
        call->policy = make_file("confine-policy");
        if (call->policy < 0 || write_policy(call->policy, options->policy) != CONFINE_OK)
            return CONFINE_E_SYSTEM;
        add_place(call, call->policy, "--policy=");
    }
    for (const char *const *word = options->words; word && *word; word++)
        add_word(call, *word);
    if (rest)
        add_word(call, "--");
    for (; rest && *rest; rest++)
        add_word(call, *rest);
    return CONFINE_OK;
}

static int start_call(struct call *call, int *ret_pidfd)
{
    const struct confine_options *options = call->options;
    struct start start = {.program = options->program,
                          .directory = options->directory,
                          .argv = call->argv,
                          .envp = options->environment ? options->environment : (const char *const *)environ,
                          .descriptors = call->places,
                          .descriptor_count = call->place_count};

    return start_program(&start, ret_pidfd);
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
    r = start_call(call, &pidfd);
    if (r != CONFINE_OK)
        return r;
    r = start_wait(pidfd, ANSWER_MS);
    if (r != CONFINE_OK)
        start_kill(pidfd);
    close_fd(pidfd);
    return r == CONFINE_OK ? read_answer(answer, ret_json) : r;
}

static int ask_json(const struct confine_options *options, const char *verb, const char *const *rest,
                    char **ret_json)
{
    struct call call;
    int answer = -1, r;

    if (!ret_json)
        return CONFINE_E_ARGUMENT;
    r = begin_call(&call, options, verb, count_words(rest) + 1);
    if (r == CONFINE_OK) {
        add_word(&call, "--json");
        r = add_options(&call, rest);
    }
    if (r == CONFINE_OK) {
        answer = make_file("confine-answer");
        r = answer < 0 ? CONFINE_E_SYSTEM : ask(&call, answer, ret_json);
    }
    close_fd(answer);
    end_call(&call);
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
    close_fd(run->control);
    close_fd(run->report);
    close_fd(run->pidfd);
    free(run);
}

int confine_spawn(const struct confine_options *options, const char *const *command,
                  struct confine_run **ret_run)
{
    struct confine_run *run;
    struct call call;
    int ends[2], r;

    if (!command || !*command || !ret_run)
        return CONFINE_E_ARGUMENT;
    run = malloc(sizeof(*run));
    if (!run)
        return CONFINE_E_MEMORY;
    *run = (struct confine_run){-1, -1, -1};
    r = begin_call(&call, options, "run", count_words(command) + 1);
    if (r == CONFINE_OK) {
        run->report = make_file("confine-report");
        if (run->report < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
            r = CONFINE_E_SYSTEM;
    }
    if (r == CONFINE_OK) {
        run->control = ends[0];
        add_place(&call, ends[1], "--control=");
        add_place(&call, run->report, "--report=");
        r = add_options(&call, command);
        if (r == CONFINE_OK)
            r = start_call(&call, &run->pidfd);
        close_fd(ends[1]);
    }
    end_call(&call);
    if (r == CONFINE_OK)
        *ret_run = run;
    else
        free_run(run);
    return r;
}

int confine_run_fd(const struct confine_run *run)
{
    return run->control;
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
    if (start_wait(run->pidfd, END_MS) != CONFINE_OK) {
        start_kill(run->pidfd);
        start_wait(run->pidfd, END_MS);
    }
    free_run(run);
}
