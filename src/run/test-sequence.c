/*
 * test-sequence.c - what reaches a terminal, in every spelling and every split.
 */
#include "harness.h"
#include "tests/fuzz/sequence-form.h"

#include "run/sequence.h"

#include <stdlib.h>

#define ROOM 16384

/* What comes out of @in in parts of @part bytes, or of a random size for 0. */
static size_t filter(struct sequence *sequence, const char *in, size_t size, size_t part, char *out)
{
    size_t put = 0;

    for (size_t at = 0; at < size;) {
        size_t take = part ? part : 1 + (size_t)rand() % 7;

        if (take > size - at)
            take = size - at;
        put += sequence_filter(sequence, in + at, take, out + put);
        at += take;
    }
    return put;
}

static void check_filtered(bool utf8, const char *in, size_t size, const char *expected, size_t expected_size)
{
    static char out[ROOM + SEQUENCE_HELD + 4];

    for (size_t part = 1; part <= size; part++) {
        struct sequence sequence = {.utf8 = utf8};
        size_t put = filter(&sequence, in, size, part, out);

        check_int((long)put, (long)expected_size);
        check(put != expected_size || memcmp(out, expected, put) == 0);
    }
    for (size_t first = 0; first <= size; first++) {
        struct sequence sequence = {.utf8 = utf8};
        size_t put = sequence_filter(&sequence, in, first, out);

        put += sequence_filter(&sequence, in + first, size - first, out + put);
        check(put == expected_size && memcmp(out, expected, put) == 0);
    }
}

/* What must not pass, by what stands between its introducer and its end. */
static const struct refused {
    const char *name;
    char kind; /* the byte behind ESC */
    const char *body;
} refused[] = {
    {"clipboard", ']', "52;c;aGVsbG8="},
    {"clipboard, leading zeros", ']', "0052;c;aGVsbG8="},
    {"clipboard, a question", ']', "52;c;?"},
    {"clipboard, both selections", ']', "52;pc;aGVsbG8="},
    {"title and icon", ']', "0;evil"},
    {"icon", ']', "1;evil"},
    {"title", ']', "2;evil"},
    {"no number", ']', ";evil"},
    {"empty", ']', ""},
    {"no number at all", ']', "lTitle"},
    {"title of the workstation", ']', "LIcon"},
    {"property", ']', "3;WM_NAME=evil"},
    {"font", ']', "50;evil"},
    {"a font's name is asked for", ']', "50;?"},
    {"Emacs", ']', "51;Efind-file x"},
    {"iTerm2", ']', "1337;Copy=:aGVsbG8="},
    {"notification", ']', "9;evil"},
    {"rxvt", ']', "777;notify;evil;evil"},
    {"working directory", ']', "7;file:///etc"},
    {"a colour is asked for", ']', "11;?"},
    {"colours are asked for", ']', "4;1;?"},
    {"a second colour is asked for", ']', "4;1;red;2;?"},
    {"a number that wraps around", ']', "65546;red"},
    {"a link with a control", ']', "8;;http://x\x01y"},
    {"a link with a C1 control", ']', "8;;http://x\xc2\x9by"},
    {"a link with a byte", ']', "8;;http://x\xffy"},
    {"settings as a string", 'P', "$qm"},
    {"settings as a string, broken", 'P', "$q\nevil\n"},
    {"terminfo", 'P', "+q544e"},
    {"resources", 'P', "+Q41"},
    {"keys", 'P', "0;1|17/17"},
    {"macro", 'P', "1;0;0!z1b5d35323b"},
    {"picture", 'P', "q#0;2;0;0;0#0~~"},
    {"kitty", 'P', "@kitty-cmd{}"},
    {"pictures of kitty", '_', "Gf=32,t=f;L2V0Yy9wYXNzd2Q="},
    {"application", '_', "evil"},
    {"privacy", '^', "evil"},
    {"string", 'X', "evil"},
    {"title of screen", 'k', "evil"},
};

/* Introducer and end in 7 bits, as C1 bytes, and as C1 in UTF-8. */
static const struct ending {
    const char *name, *text;
    bool only_command; /* of ESC ] alone */
} endings[] = {{"BEL", "\a", true},
               {"ESC \\", "\033\\", false},
               {"C1", "\x9c", false},
               {"C1 in UTF-8", "\xc2\x9c", false},
               {"CAN", "\x18", false},
               {"SUB", "\x1a", false},
               {"another sequence", "\033[m\033\\", false}};

TEST_EACH(a_string_is_dropped_in_7_bits, struct refused, refused)
{
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        char in[256], out[256] = "before";
        int size;

        if (endings[i].only_command && row->kind != ']')
            continue;
        size = snprintf(in, sizeof(in), "before\033%c%s%safter", row->kind, row->body, endings[i].text);
        if (strchr(endings[i].text, '['))
            strcat(out, "\033[m");
        strcat(out, "after");
        check_filtered(true, in, (size_t)size, out, strlen(out));
    }
}

/* The inner ESC of the wrapped ends the wrapper: what it wraps is judged by itself. */
TEST(what_is_wrapped_is_dropped)
{
    static const char in[] = "a\033Ptmux;\033\033]52;c;aGVsbG8=\a\033\\b";

    check_filtered(true, in, sizeof(in) - 1, "ab", 2);
}

/* Is there anything in OUT that a terminal could obey? */
static bool is_plain(const char *out, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)out[i] == 0x1b ||
            ((unsigned char)out[i] >= 0x80 && (unsigned char)out[i] < 0xa0) || out[i] == 5)
            return false;
    return true;
}

/* With C1 in either spelling nothing begins at all: the text is to be seen. */
TEST_EACH(a_string_in_8_bits_never_begins, struct refused, refused)
{
    static const struct {
        char kind;
        unsigned char c1;
    } c1s[] = {{']', 0x9d}, {'P', 0x90}, {'X', 0x98}, {'^', 0x9e}, {'_', 0x9f}};

    for (size_t i = 0; i < sizeof(c1s) / sizeof(c1s[0]); i++)
        for (int spelling = 0; spelling < 4; spelling++) {
            static char out[ROOM + SEQUENCE_HELD + 4];
            char in[256];
            int size;

            size = snprintf(in, sizeof(in), "%s%c%s\a", spelling & 1 ? "\xc2" : "", c1s[i].c1, row->body);
            if (row->kind != c1s[i].kind || strchr(row->body, 0x1b)) {
                check(true);
                continue;
            }
            for (size_t part = 0; part <= (size_t)size; part++) {
                struct sequence sequence = {.utf8 = spelling & 2};

                check(is_plain(out, filter(&sequence, in, (size_t)size, part, out)));
            }
        }
}

static const struct case_of {
    const char *name, *in, *out;
} cases[] = {
    /* passes as it is */
    {"text", "plain text\r\n\ttab", "plain text\r\n\ttab"},
    {"bell and backspace", "\a\b\v\f\016\017", "\a\b\v\f\016\017"},
    {"UTF-8", "\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80 \xed\x9f\xbf",
     "\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80 \xed\x9f\xbf"},
    {"C1 as part of a character", "\xc3\x9d\xe7\x9c\x9c", "\xc3\x9d\xe7\x9c\x9c"},
    {"colours", "\033[1;38;5;9m\033[4:3m\033[0m", "\033[1;38;5;9m\033[4:3m\033[0m"},
    {"cursor", "\033[H\033[2J\033[10;20H\033[K\0337\0338", "\033[H\033[2J\033[10;20H\033[K\0337\0338"},
    {"alternate screen", "\033[?1049h\033[?1049l", "\033[?1049h\033[?1049l"},
    {"attributes are asked for", "\033[c\033[0c\033[>c\033[>0c", "\033[c\033[0c\033[>c\033[>0c"},
    {"the cursor is asked for", "\033[6n\033[?6n", "\033[6n\033[?6n"},
    {"status is asked for", "a\033[5nb", "ab"},
    {"a mode is asked for", "\033[?2026$p", "\033[?2026$p"},
    {"size is asked for", "\033[14t\033[18t", "\033[14t\033[18t"},
    {"link", "\033]8;;http://x/?a=b\033\\x\033]8;;\a", "\033]8;;http://x/?a=b\033\\x\033]8;;\a"},
    {"palette", "\033]4;1;rgb:ff/00/00\a\033]104\a", "\033]4;1;rgb:ff/00/00\a\033]104\a"},
    {"character sets", "\033(0lqk\033(B", "\033(0lqk\033(B"},
    {"keypad", "\033=\033>", "\033=\033>"},
    {"cursor style", "\033[2 q", "\033[2 q"},
    /* dropped */
    {"answer-back", "a\005b", "ab"},
    {"NUL and DEL", "a\177b", "ab"},
    {"title is asked for", "a\033[21tb", "ab"},
    {"icon is asked for", "a\033[20tb", "ab"},
    {"the same with zeros", "a\033[0021tb", "ab"},
    {"the same, second", "a\033[21;1tb", "ab"},
    {"the same, below", "a\033[22:21tb", "ab"},
    {"the same, wrapped", "a\033[65557tb", "ab"},
    {"title's modes", "a\033[>2tb", "ab"},
    {"window", "a\033[8;10;10t\033[3;0;0t\033[2tb", "ab"},
    {"printer", "a\033[i\033[5i\033[?5i\033[4ib", "ab"},
    {"attributes as a string", "a\033[=c\033[>q\033Zb", "ab"},
    {"attributes, told", "a\033[1c\033[?1cb", "a\033[?1cb"},
    {"parameters are asked for", "a\033[x\033[1xb", "ab"},
    {"screen is asked for", "a\033[1;1;1;1;1;1*yb", "ab"},
    {"presentation is asked for", "a\033[1$wb", "ab"},
    {"macro is run", "a\033[1*zb", "ab"},
    {"self-test", "a\033[4;1yb", "ab"},
    {"VT52", "a\033[?2lb", "ab"},
    {"width", "a\033[?3h\033[?40hb", "ab"},
    {"keys", "a\033[>4;2m\033[>1u\033[=1u\033[?ub", "ab"},
    {"keyboard is locked", "a\033[2hb", "ab"},
    {"8-bit controls", "a\033 G\033[62\"pb", "ab"},
    {"encoding", "a\033%@\033%G\033%/Gb", "ab"},
    {"modes are kept and put back", "a\033[?1000s\033[?1000rb", "ab"},
    {"status of the printer", "a\033[?15n\033[?26n\033[?53nb", "ab"},
    {"two questions in one", "a\033[5;6nb", "ab"},
    {"locator", "a\033['|\033[1'zb", "ab"},
    {"menu and paste of selections", "a\033[?1041;1044hb", "ab"},
    {"ESC k", "a\033kevil\033\\b", "ab"},
    /* rewritten */
    {"modes, some of which may", "\033[?2;25;3;1049h", "\033[?25;1049h"},
    {"controls within", "a\033[2\r1\005tb\033[\n31mc", "a\rb\n\033[31mc"},
    {"DEL within", "a\033[2\1771tb", "ab"},
    {"begun anew", "a\033[2\033[31mb", "a\033[31mb"},
    {"cancelled", "a\033[2\0301tb", "a1tb"},
    {"a C1 byte within",
     "a\033[2\x9d"
     "1tb",
     "a?1tb"},
    {"C1 bytes",
     "a\x9b"
     "21t\x85"
     "b",
     "a?21t?b"},
    {"C1 in UTF-8",
     "a\xc2\x9b"
     "21tb",
     "a??21tb"},
    {"other spellings of C1",
     "a\xe0\x82\x9b"
     "b\xf0\x80\x82\x9b"
     "c\xc0\x9b",
     "a???b????c??"},
    {"broken UTF-8", "\xc3(\xe2\x82(\xff\xfe\xed\xa0\x80\xf4\x90\x80\x80", "?(?(?????????"},
    {"markers in the wrong place", "a\033[1?25h\033[1 2q\033[??25hb", "ab"},
    {"console's palette", "a\033]P1ff0000b\033]Rc", "abc"},
    {"not the console's palette", "a\033]P1;52;c\ab", "ab"},
    {"intermediates in plenty", "a\033((((0b\033[!!pc", "abc"},
    {"an ESC in the middle of a string", "a\033]52;c;x\033]0;y\033[1mb", "a\033[1mb"},
};

TEST_EACH(a_terminal_sees, struct case_of, cases)
{
    check_filtered(true, row->in, strlen(row->in), row->out, strlen(row->out));
}

static const struct case_of latin[] = {
    {"Latin-1", "\xfc\xa0\xff", "\xfc\xa0\xff"},
    {"C1 bytes",
     "\x9b"
     "21t\x9d"
     "52;c;x\x9c\x90\x98\x9e\x9f",
     "?21t?52;c;x?????"},
    {"C1 as part of a character of UTF-8",
     "\xc5\x9d"
     "52;c;aGVsbG8=\a",
     "\xc5?52;c;aGVsbG8=\a"},
};

TEST_EACH(a_terminal_of_8_bits_sees, struct case_of, latin)
{
    check_filtered(false, row->in, strlen(row->in), row->out, strlen(row->out));
}

/* NUL cannot stand in the tables. */
TEST(nul_is_dropped)
{
    check_filtered(true,
                   "a\0b\033[\0"
                   "31mc",
                   10, "ab\033[31mc", 8);
}

TEST(what_is_too_long_is_dropped)
{
    static char in[3 * SEQUENCE_HELD], out[ROOM + SEQUENCE_HELD + 4];
    struct sequence sequence = {.utf8 = true};
    size_t size;

    memset(in, '1', sizeof(in));
    memcpy(in, "\033[", 2);
    memcpy(in + 300, "mA", 2);
    check_int((long)sequence_filter(&sequence, in, 302, out), 1);
    check_int(out[0], 'A');
    memset(in, 'x', sizeof(in));
    memcpy(in, "\033]8;;", 5);
    memcpy(in + 2 * SEQUENCE_HELD, "\aB", 2);
    check_int((long)sequence_filter(&sequence, in, 2 * SEQUENCE_HELD + 2, out), 1);
    check_int(out[0], 'B');
    memcpy(in + SEQUENCE_HELD, "\aC", 2); /* the longest that passes */
    size = sequence_filter(&sequence, in, SEQUENCE_HELD + 2, out);
    check_int((long)size, SEQUENCE_HELD + 2);
    check(memcmp(in, out, size) == 0);
}

static const struct left {
    const char *name, *in, *reset;
} lefts[] = {
    {"nothing", "text\033[?25h\033[r\033>", ""},
    {"mouse", "\033[?1000;1006h", "\033[?1000l\033[?1006l"},
    {"mouse, and back", "\033[?1000;1006h\033[?1006;1000l", ""},
    {"paste and focus", "\033[?2004h\033[?1004h", "\033[?1004l\033[?2004l"},
    {"screen", "\033[?1049h\033[?25l", "\033[?1049l\033[?25h"},
    {"keys of the cursor", "\033[?1h\033=", "\033[?1l\033>"},
    {"wrapping", "\033[?7l", "\033[?7h"},
    {"region", "\033[2;5r", "\0337\033[r\0338"},
    {"look", "\033[31m", "\033[m"},
    {"characters", "\033(0", "\033(B\017"},
    {"insert", "\033[4h", "\033[4l"},
    {"style", "\033[3 q", "\033[0 q"},
};

TEST_EACH(is_left_and_undone, struct left, lefts)
{
    char out[SEQUENCE_HELD + 64], reset[SEQUENCE_ROOM + 1];
    struct sequence sequence = {.utf8 = true};

    sequence_filter(&sequence, row->in, strlen(row->in), out);
    reset[sequence_reset(sequence.left, reset)] = '\0';
    check_str(reset, row->reset);
    reset[0] = '\0';
    check(sequence_reset(UINT64_MAX, reset) < SEQUENCE_ROOM);
    /* What undoes it passes by itself, and leaves nothing to undo but the colours. */
    sequence = (struct sequence){.utf8 = true};
    sequence_filter(&sequence, reset, sequence_reset(UINT64_MAX, reset), out);
    check_int((long)sequence.questions, 0);
}

TEST(questions_are_counted)
{
    char out[SEQUENCE_HELD + 64];
    struct sequence sequence = {.utf8 = true};
    static const char in[] = "\033[c\033[>c\033[6n\033[?7$p\033[18t\033[22;0t\033[21t\033[m";

    sequence_filter(&sequence, in, sizeof(in) - 1, out);
    check_int((long)sequence.questions, 5);
}

TEST(questions_without_answers_are_bounded)
{
    char out[SEQUENCE_HELD + 64];
    struct sequence sequence = {.utf8 = true};
    static const char question[] = "\033[6n", answers[] = "\033[1;1Rx\033[2;2R";

    for (unsigned i = 0; i < SEQUENCE_UNANSWERED; i++)
        check_int((long)sequence_filter(&sequence, question, 4, out), 4);
    check_int((long)sequence_filter(&sequence, question, 4, out), 0);
    sequence_answered(&sequence, answers, sizeof(answers) - 1);
    check_int((long)sequence_filter(&sequence, question, 4, out), 4);
    check_int((long)sequence_filter(&sequence, question, 4, out), 4);
    check_int((long)sequence_filter(&sequence, question, 4, out), 0);
}

/* Bytes that mean something are likely. */
TEST(chance_makes_nothing_else)
{
    static const char likely[] =
        "\033\033\033[]P_^Xk\\?;:0125>\a\x18\x9b\x9d\x9c\xc2\xe2\x82 $'!*tnchlmpqiyABk\005\r\n";
    static char in[ROOM], out[ROOM + SEQUENCE_HELD + 4], again[ROOM + SEQUENCE_HELD + 4];

    srand(1);
    for (int round = 0; round < 400; round++) {
        struct sequence one = {.utf8 = round & 1}, two = {.utf8 = round & 1};
        size_t size = 1 + (size_t)rand() % 4000, put;

        for (size_t i = 0; i < size; i++)
            in[i] = rand() % 8 ? likely[(size_t)rand() % (sizeof(likely) - 1)] : (char)rand();
        put = sequence_filter(&one, in, size, out);
        check(is_well_formed(out, out + put));
        check_int((long)filter(&two, in, size, 0, again), (long)put);
        check(memcmp(out, again, put) == 0);
        check(one.left == two.left && one.questions == two.questions);
        /* What came out passes as it is. */
        two = (struct sequence){.utf8 = round & 1};
        check(sequence_filter(&two, out, put, again) == put && memcmp(out, again, put) == 0);
    }
}
