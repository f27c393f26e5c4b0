/*
 * confine_call.c - the words and descriptors of one start of the program confine.
 *
 * Should:  refuse what a later version of the interface has and this one would leave out.
 * Mustn't: keep anything of the caller's beyond the call.
 */
#include "confine_call.h"

#include "confine_start.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

extern char **environ;

int call_close(int fd)
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

/* What is the library's own, and what makes the program print a text for people in the place of its answer.
 */
static int check_words(const char *const *words)
{
    for (; words && *words; words++)
        if (strcmp(*words, "--") == 0 || strcmp(*words, "-h") == 0 || is_option(*words, "--help") ||
            is_option(*words, "--control") || is_option(*words, "--report"))
            return CONFINE_E_ARGUMENT;
    return CONFINE_OK;
}

size_t call_count(const char *const *words)
{
    size_t count = 0;

    while (words && words[count])
        count++;
    return count;
}

/* The first flag is for machines where such files must not be executable. */
int call_file(const char *name)
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

void call_word(struct call *call, const char *word)
{
    call->argv[call->argc++] = word;
}

void call_place(struct call *call, int fd, const char *option)
{
    char *text = call->numbers[call->number_count++];

    snprintf(text, sizeof(call->numbers[0]), "%sfd:%zu", option, call->place_count);
    call->places[call->place_count++] = fd;
    call_word(call, text);
}

void call_end(struct call *call)
{
    call->null = call_close(call->null);
    call->policy = call_close(call->policy);
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
        call_word(call, call->numbers[call->number_count++]);
    }
}

int call_begin(struct call *call, const struct confine_options *options, const char *verb, size_t rest)
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
    words = call_count(options->words);
    places = options->descriptor_count + 3 + 3; /* 0 to 2, and ours */
    call->argv = calloc(words + rest + places + 8, sizeof(*call->argv));
    call->places = calloc(places, sizeof(*call->places));
    call->numbers = calloc(places, sizeof(*call->numbers));
    if (!call->argv || !call->places || !call->numbers)
        return CONFINE_E_MEMORY;
    call->null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (call->null < 0)
        return CONFINE_E_SYSTEM;
    call_word(call, "confine");
    call_word(call, verb);
    place_given(call);
    return CONFINE_OK;
}

int call_options(struct call *call, const char *const *rest)
{
    const struct confine_options *options = call->options;

    if (options->policy) {
        call->policy = call_file("confine-policy");
        if (call->policy < 0 || write_policy(call->policy, options->policy) != CONFINE_OK)
            return CONFINE_E_SYSTEM;
        call_place(call, call->policy, "--policy=");
    }
    for (const char *const *word = options->words; word && *word; word++)
        call_word(call, *word);
    if (rest)
        call_word(call, "--");
    for (; rest && *rest; rest++)
        call_word(call, *rest);
    return CONFINE_OK;
}

int call_start(struct call *call, int *ret_pidfd)
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
