/*
 * fuzz-link.c - fuzz the argument loop of one link. The build names it: LINK_FILE and LINK_RUN.
 *
 * The input is argv, its words divided by newlines. The link ends where its own
 * work would begin, at chain_command(), or in the fatal line, whose form is held
 * here for whatever words there were.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS_MAX 64

static jmp_buf end_of_link;
static unsigned lines; /* fatal lines of this input */

enum end { END_FATAL = 1, END_COMMAND };

/* What the fuzzer does not allow is a crash, which libFuzzer keeps with its input. */
static void must(int held, const char *what)
{
    if (!held) {
        fprintf(stderr, "link: %s\n", what);
        abort();
    }
}

_Noreturn static void fuzz_exit(int status)
{
    must(status == 125, "ended with another status than 125");
    longjmp(end_of_link, END_FATAL);
}

static long fuzz_write(int fd, const void *data, size_t size)
{
    const char *line = data;

    must(fd == 2, "wrote elsewhere than to stderr");
    must(size > 1 && line[size - 1] == '\n', "the fatal line does not end");
    for (size_t i = 0; i + 1 < size; i++)
        must(line[i] >= ' ' && line[i] < 0x7f, "something unprintable in the fatal line");
    must(memmem(line, size, ": fatal: ", 9) != NULL, "not a fatal line");
    lines++;
    return (long)size;
}

#define _exit(status)         fuzz_exit(status)
#define write(fd, data, size) fuzz_write(fd, data, size)
#define CONFINE_FUSED
#include "links/chain.h"

static char **fuzz_command(const struct chain *chain, size_t at)
{
    char **command = chain_command(chain, at);

    must(command[0] != NULL && strcmp(command[-1], "--") == 0, "a command without `--` before it");
    longjmp(end_of_link, END_COMMAND);
}

#define chain_command(chain, at)       fuzz_command(chain, at)
#define chain_set_dumpable(chain, yes) (void)(yes)
/* A link may keep its options in static memory, which would still hold the last input's. */
#pragma clang section bss = "fuzz_link"
#include LINK_FILE
__attribute__((used)) static char fuzz_mark; /* so that the section is never empty */
#pragma clang section bss = ""

extern char __start_fuzz_link[], __stop_fuzz_link[];

/* Not by memset: ASan keeps red zones between the variables, and they may be overwritten just here. */
__attribute__((no_sanitize("address"))) static void forget_options(void)
{
    for (volatile char *byte = __start_fuzz_link; byte < __stop_fuzz_link; byte++)
        *byte = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char name[] = LINK_NAME, *environment[] = {NULL};
    char *words[WORDS_MAX + 2] = {name}, *text = malloc(size + 1), *rest = text;
    static struct chain_children children;
    struct chain chain = {.name = LINK_NAME, .argv = words, .envp = environment, .children = &children};

    must(text != NULL, "no memory");
    memcpy(text, data, size);
    text[size] = '\0';
    forget_options();
    lines = 0;
    for (size_t i = 1; i <= WORDS_MAX && rest; i++)
        words[i] = strsep(&rest, "\n");
    /* The one word that makes a link work instead of looking at the next word. */
    if (!words[1] || strcmp(words[1], "--probe") != 0 || words[2]) {
        switch (setjmp(end_of_link)) {
        case 0:
            LINK_RUN(&chain);
            must(0, "came back without a command or a fatal line");
            break;
        case END_FATAL:
            must(lines == 1, "not exactly one fatal line");
            break;
        default:
            must(lines == 0, "a fatal line, and yet a command");
        }
    }
    free(text);
    return 0;
}
