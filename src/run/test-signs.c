/*
 * test-signs.c - what reads like a refusal, in whatever pieces it comes.
 */
#include "harness.h"

#include "backend/backend.h"
#include "run/signs.h"

static const char *const words[] = {"Read-only file system", "Permission denied", "Operation not permitted",
                                    NULL};

static const struct said {
    const char *name, *line;
    bool refused;
} lines[] = {
    {"coreutils", "touch: cannot touch '/etc/x': Permission denied", true},
    {"a shell", "sh: 1: cannot create /etc/x: Read-only file system", true},
    {"Python", "PermissionError: [Errno 13] Permission denied: '/etc/x'", true},
    {"node", "Error: EACCES: permission denied, open '/etc/x'", true},
    {"Rust", "Error: Permission denied (os error 13)", true},
    {"Perl", "x: Permission denied at - line 1.", true},
    {"Java", "java.io.FileNotFoundException: /etc/x (Permission denied)", true},
    {"Go", "open /etc/x: permission denied", true},
    {"the words alone", "Operation not permitted", true},
    {"a sentence's end", "cp: x: Permission denied.", true},
    {"a line of DOS", "cp: x: Permission denied\r", true},
    {"in a sentence", "if you see Permission denied here, ask", false},
    {"a sentence that begins so", "Permission denied errors are common", false},
    {"quoted", "grep: \"Permission denied\" was found", false},
    {"part of a word", "note: Permission deniedness", false},
    {"another error", "touch: cannot touch '/etc/x': No such file or directory", false},
    {"half of it", "touch: Permission", false},
    {"nothing", "", false},
};

TEST_EACH(a_line, struct said, lines)
{
    check_int(sign_of(words, row->line, strlen(row->line)) != NULL, row->refused);
}

static void hear(struct signs *signs, const char *text, size_t piece)
{
    for (size_t at = 0, size = strlen(text); at < size; at += piece)
        signs_hear(signs, text + at, piece < size - at ? piece : size - at);
}

TEST(pieces_make_no_difference)
{
    static const char text[] = "a: Permission denied\nb\n\na: Permission denied\nc: Operation not permitted";

    for (size_t piece = 1; piece < sizeof(text); piece++) {
        struct signs signs = {.signatures = words};
        struct report report = {.denials = {.channel = "none"}};

        hear(&signs, text, piece);
        signs_end(&signs, &report, true);
        check_int(report.denials.heard, true);
        check_str(report.denials.channel, "inferred");
        need(report.denials.inferred_count == 2);
        check_str(report.denials.inferred[0].line, "\"a: Permission denied\"");
        check_str(report.denials.inferred[0].signature, "Permission denied");
        check_int((long long)report.denials.inferred[0].count, 2);
        check_str(report.denials.inferred[1].line, "\"c: Operation not permitted\"");
        denials_free(&report.denials);
    }
}

TEST(nothing_where_it_did_not_fail_or_somebody_saw)
{
    for (int seen = 0; seen < 2; seen++) {
        struct signs signs = {.signatures = words};
        struct report report = {.denials = {.channel = seen ? "observer" : "none"}};

        hear(&signs, "a: Permission denied\n", 64);
        signs_end(&signs, &report, seen);
        check_int(report.denials.heard, !seen);
        check_int((long long)report.denials.inferred_count, 0);
        check_str(report.denials.channel, seen ? "observer" : "inferred");
    }
}

TEST(any_bytes_and_any_length)
{
    static char bytes[300000];
    struct signs signs = {.signatures = words};
    struct report report = {.denials = {.channel = "none"}};
    unsigned state = 1;

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)((state = state * 1664525U + 1013904223U) >> 24);
    memset(bytes, 'x', 100000); /* a line without an end */
    for (int i = 0; i < 40; i++)
        snprintf(bytes + 200000 + (size_t)i * 64, 64, "\n%d\x1b[31m\x01: Permission denied\n", i);
    signs_hear(&signs, bytes, sizeof(bytes));
    signs_end(&signs, &report, true);
    check_int((long long)report.denials.inferred_count, SIGNS_MOST);
    check(report.denials.inferred_lost >= 40 - SIGNS_MOST);
    check_str(report.denials.inferred[0].line, "\"0\\x1b[31m\\x01: Permission denied\"");
    denials_free(&report.denials);
}
