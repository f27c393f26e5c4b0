/*
 * sequence.c - what a command may tell the terminal that it does not own.
 *
 * Theory of operation. What comes out is text and whole sequences, each written anew from its parsed parts,
 * so that the terminal stands in its ground state between any two of them and cannot understand one
 * differently than this parser did. What passes stands in tables; whatever is in none is dropped:
 *
 *   - strings (OSC, DCS, APC, PM, SOS and screen's ESC k) but for colours and links: clipboard, titles,
 *     notifications, downloads, macros and what wraps all of these for another terminal;
 *   - controls that make the terminal send what somebody else chose (ENQ, titles, settings as strings),
 *     print, change its size, its keys or its character set, or leave the language parsed here (VT52);
 *   - C1 controls, whether one byte or UTF-8: no program needs them where ESC is understood.
 *
 * Questions that are answered in a few digits (attributes, cursor position) pass, because editors ask them;
 * they are counted, and whoever restores the terminal waits for the answers: so only so many may be waited
 * for at a time.
 *
 * Should:  be the same for every split of the input; hold a bounded number of bytes.
 * Mustn't: let a byte of a sequence out before the whole is known.
 */
#include "run/sequence.h"

#include <stdio.h>
#include <string.h>

#define ESC          0x1b
#define CAN          0x18
#define SUB          0x1a
#define BEL          0x07
#define DEL          0x7f
#define C1_ST        0x9c
#define CONTROL_MOST 128 /* bytes of a control sequence */
#define REPLACEMENT  '?'

/* BEL, BS, HT, LF, VT, FF, CR, SO, SI */
#define CONTROLS_PASS 0xff80U

struct sink {
    char *data;
    size_t size;
};

/* Bits of `left` beyond those of the rows of `modes`. */
enum { LEFT_LOOK = 40, LEFT_REGION, LEFT_CHARSET, LEFT_KEYPAD, LEFT_INSERT, LEFT_CURSOR, LEFT_COLOURS };

/* DEC private modes that may be set and reset; `undo`: how a terminal is left that was left with it changed.
 * VT52 (2), the width (3, 40) and what reaches the clipboard (1041, 1044) are not among them. */
static const struct mode {
    unsigned number;
    char undo;
} modes[] = {
    {1049, 'l'}, {1047, 'l'}, {47, 'l'},   {1, 'l'},    {5, 'l'},    {6, 'l'},    {7, 'h'},
    {8, 'h'},    {12, 'l'},   {25, 'h'},   {45, 'l'},   {66, 'l'},   {69, 'l'},   {9, 'l'},
    {1000, 'l'}, {1001, 'l'}, {1002, 'l'}, {1003, 'l'}, {1004, 'l'}, {1005, 'l'}, {1006, 'l'},
    {1007, 0},   {1015, 'l'}, {1016, 'l'}, {1034, 0},   {1036, 0},   {1039, 0},   {1048, 0},
    {2004, 'l'}, {2026, 'l'}, {2027, 0},   {2031, 'l'}, {2048, 'l'}, {4, 0},
};

/* How a control sequence is judged. */
enum judgement {
    JUDGE_PASS,
    JUDGE_QUESTION, /* passes without a parameter, or with 0 */
    JUDGE_ASK,      /* passes, and is answered in digits whatever the parameter */
    JUDGE_STATUS,   /* 6; not 5, by which whoever restores the terminal knows the last answer */
    JUDGE_PRIVATE,  /* `modes` */
    JUDGE_MODES,    /* insert, new line, cursor */
    JUDGE_WINDOW,   /* sizes, and the titles' stack */
};

/* Control sequences that may pass: marker, intermediate, finals. */
static const struct control {
    char marker, intermediate;
    const char *finals;
    enum judgement judgement;
    unsigned char left; /* a bit that it sets, 0: none */
} controls[] = {
    {0, 0, "@ABCDEFGHIJKLMPSTXZ`abdefgsu", JUDGE_PASS, 0},
    {0, 0, "m", JUDGE_PASS, LEFT_LOOK},
    {0, 0, "r", JUDGE_PASS, LEFT_REGION},
    {0, 0, "c", JUDGE_QUESTION, 0},
    {0, 0, "n", JUDGE_STATUS, 0},
    {0, 0, "hl", JUDGE_MODES, 0},
    {0, 0, "t", JUDGE_WINDOW, 0},
    {'?', 0, "hl", JUDGE_PRIVATE, 0},
    {'?', 0, "JKWc", JUDGE_PASS, 0},
    {'?', 0, "n", JUDGE_STATUS, 0},
    {'?', '$', "p", JUDGE_ASK, 0},
    {0, '$', "p", JUDGE_ASK, 0},
    {'>', 0, "c", JUDGE_QUESTION, 0},
    {0, ' ', "q", JUDGE_PASS, LEFT_CURSOR},
    {0, ' ', "@A", JUDGE_PASS, 0},
    {0, '!', "p", JUDGE_PASS, 0},
    {0, '"', "q", JUDGE_PASS, 0},
    {0, '$', "rtvxz{", JUDGE_PASS, 0},
    {0, '*', "x", JUDGE_PASS, 0},
    {0, '\'', "}~", JUDGE_PASS, 0},
    {0, '#', "{}pq", JUDGE_PASS, 0},
};

/* ESC, at most one intermediate, and a final. */
static const struct escape {
    const char *intermediates, *finals;
    unsigned char left;
} escapes[] = {
    {"", "78DEHMc69", 0},
    {"", "=", LEFT_KEYPAD},
    {"", ">", 0},
    {"#", "34568", 0},
    {"()*+", "0123456789<=>ABCDEHKQRYZfg`", LEFT_CHARSET},
};

/* Operating system commands by number: colours, links. */
static const struct command {
    unsigned from, to;
    bool questions; /* a `?` in it asks nothing */
    unsigned char left;
} commands[] = {
    {4, 5, false, LEFT_COLOURS},   {8, 8, true, 0},
    {10, 12, false, LEFT_COLOURS}, {17, 17, false, LEFT_COLOURS},
    {19, 19, false, LEFT_COLOURS}, {104, 105, false, 0},
    {110, 112, false, 0},          {117, 117, false, 0},
    {119, 119, false, 0},
};

/* What undoes the bits that are no private mode. */
static const struct undo {
    unsigned char left;
    const char *text;
} undos[] = {
    {LEFT_REGION, "\0337\033[r\0338"},
    {LEFT_LOOK, "\033[m"},
    {LEFT_CHARSET, "\033(B\017"},
    {LEFT_KEYPAD, "\033>"},
    {LEFT_INSERT, "\033[4l"},
    {LEFT_CURSOR, "\033[0 q"},
    {LEFT_COLOURS, "\033]104\033\\\033]110\033\\\033]111\033\\\033]112\033\\"},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void put(struct sink *sink, unsigned char byte)
{
    sink->data[sink->size++] = (char)byte;
}

static void put_bytes(struct sink *sink, const char *bytes, size_t size)
{
    memcpy(sink->data + sink->size, bytes, size);
    sink->size += size;
}

/* A control that is executed wherever it stands. */
static void put_control(struct sink *sink, unsigned char byte)
{
    if (CONTROLS_PASS >> byte & 1)
        put(sink, byte);
}

static void begin(struct sequence *sequence, enum sequence_state state)
{
    sequence->state = state;
    sequence->length = 0;
}

static void mark(struct sequence *sequence, unsigned bit, bool on)
{
    if (on)
        sequence->left |= (uint64_t)1 << bit;
    else
        sequence->left &= ~((uint64_t)1 << bit);
}

/* --- control sequences ------------------------------------------------------------------------------------
 */

/* A parsed control sequence; `parameters` is not ended by a NUL. */
struct parts {
    char marker, intermediate, final;
    const char *parameters;
    size_t size;
};

/* The number at *AT, which is moved behind it. One that is too long to be any is UINT16_MAX. */
static unsigned take_number(const char **at, const char *end)
{
    unsigned value = 0;

    for (; *at < end && **at >= '0' && **at <= '9'; ++*at)
        value = value >= 6553 ? UINT16_MAX : value * 10 + (unsigned)(**at - '0');
    return value;
}

static bool split(const struct sequence *sequence, unsigned char final, struct parts *parts)
{
    const char *at = sequence->held, *end = at + sequence->length;

    *parts = (struct parts){.final = (char) final};
    if (at < end && *at >= '<' && *at <= '?')
        parts->marker = *at++;
    parts->parameters = at;
    while (at < end && *at >= '0' && *at <= ';')
        at++;
    parts->size = (size_t)(at - parts->parameters);
    if (at < end)
        parts->intermediate = *at++;
    return at == end && (!parts->intermediate || (parts->intermediate >= ' ' && parts->intermediate <= '/'));
}

static void put_parts(struct sink *sink, const struct parts *parts, const char *parameters, size_t size)
{
    put(sink, ESC);
    put(sink, '[');
    if (parts->marker)
        put(sink, (unsigned char)parts->marker);
    put_bytes(sink, parameters, size);
    if (parts->intermediate)
        put(sink, (unsigned char)parts->intermediate);
    put(sink, (unsigned char)parts->final);
}

/* Is NUMBER a mode that may be changed? Notes what has to be undone. */
static bool may_change(struct sequence *sequence, const struct parts *parts, unsigned number)
{
    if (!parts->marker) {
        if (number == 4)
            mark(sequence, LEFT_INSERT, parts->final == 'h');
        return number == 4 || number == 20 || number == 34;
    }
    for (size_t i = 0; i < COUNT(modes); i++) {
        if (modes[i].number != number)
            continue;
        mark(sequence, (unsigned)i, modes[i].undo && parts->final != modes[i].undo);
        return true;
    }
    return false;
}

/* The modes of a list that may be changed, and not the others. */
static void put_modes(struct sequence *sequence, struct sink *sink, const struct parts *parts)
{
    const char *at = parts->parameters, *end = at + parts->size;
    char list[CONTROL_MOST];
    size_t size = 0;

    while (at < end) {
        const char *from = at;
        unsigned number = take_number(&at, end);

        if (at < end && *at != ';')
            return; /* no list of numbers */
        if (may_change(sequence, parts, number)) {
            if (size > 0)
                list[size++] = ';';
            memcpy(list + size, from, (size_t)(at - from));
            size += (size_t)(at - from);
        }
        at += at < end;
    }
    if (size > 0)
        put_parts(sink, parts, list, size);
}

/* Does a terminal answer this one, and may it be asked? 0: it must not; 1: it passes; 2: it is answered. */
static int may_ask(enum judgement judgement, const struct parts *parts)
{
    const char *at = parts->parameters, *end = at + parts->size;
    unsigned number = take_number(&at, end);
    bool alone = at == end;

    switch (judgement) {
    case JUDGE_QUESTION:
        return alone && number == 0 ? 2 : 0;
    case JUDGE_STATUS:
        return alone && number == 6 ? 2 : 0;
    case JUDGE_ASK:
        return alone ? 2 : 0;
    case JUDGE_WINDOW:
        if (!alone && *at != ';')
            return 0;
        if (number == 22 || number == 23)
            return 1;
        return number == 14 || number == 16 || number == 18 || number == 19 ? 2 : 0;
    default:
        return 1;
    }
}

static void judge(struct sequence *sequence, struct sink *sink, unsigned char final)
{
    struct parts parts;
    size_t i = 0;
    int answer;

    if (!split(sequence, final, &parts))
        return;
    while (i < COUNT(controls) &&
           (controls[i].marker != parts.marker || controls[i].intermediate != parts.intermediate ||
            !strchr(controls[i].finals, parts.final)))
        i++;
    if (i == COUNT(controls))
        return;
    if (controls[i].judgement == JUDGE_PRIVATE || controls[i].judgement == JUDGE_MODES) {
        put_modes(sequence, sink, &parts);
        return;
    }
    answer = may_ask(controls[i].judgement, &parts);
    if (answer == 0 || (answer == 2 && sequence->unanswered == SEQUENCE_UNANSWERED))
        return;
    sequence->questions += answer == 2;
    sequence->unanswered += answer == 2;
    if (controls[i].left)
        mark(sequence, controls[i].left, parts.size > 0);
    put_parts(sink, &parts, parts.parameters, parts.size);
}

/* --- escapes and strings ----------------------------------------------------------------------------------
 */

static void judge_escape(struct sequence *sequence, struct sink *sink, unsigned char final)
{
    char intermediate = sequence->length > 0 ? sequence->held[0] : '\0';

    if (sequence->length > 1)
        return;
    for (size_t i = 0; i < COUNT(escapes); i++) {
        if (intermediate ? !strchr(escapes[i].intermediates, intermediate) : *escapes[i].intermediates)
            continue;
        if (!strchr(escapes[i].finals, (char) final))
            continue;
        if (escapes[i].left)
            mark(sequence, escapes[i].left, final != 'B');
        if (final == '>' && !intermediate)
            mark(sequence, LEFT_KEYPAD, false);
        put(sink, ESC);
        if (intermediate)
            put(sink, (unsigned char)intermediate);
        put(sink, final);
        return;
    }
}

/* The end of a string, by BEL or by ESC \. */
static void judge_string(struct sequence *sequence, struct sink *sink, const char *end, size_t end_size)
{
    const char *at = sequence->held, *last = at + sequence->length;
    unsigned number;

    if (sequence->refused || at == last || *at < '1' || *at > '9')
        return;
    number = take_number(&at, last);
    if (at < last && *at != ';')
        return;
    for (size_t i = 0; i < COUNT(commands); i++) {
        if (number < commands[i].from || number > commands[i].to)
            continue;
        if (!commands[i].questions && memchr(at, '?', (size_t)(last - at)))
            return;
        if (commands[i].left)
            mark(sequence, commands[i].left, true);
        put(sink, ESC);
        put(sink, ']');
        put_bytes(sink, sequence->held, sequence->length);
        put_bytes(sink, end, end_size);
        return;
    }
}

static void begin_string(struct sequence *sequence, unsigned char kind)
{
    begin(sequence, SEQUENCE_STRING);
    sequence->kind = kind;
    sequence->before = 0;
    sequence->refused = kind != ']';
}

/* --- the states: each takes a byte. Return: false when it is to be looked at again, in the ground state.
 * ---- */

static bool is_continued(const struct sequence *sequence, unsigned char byte)
{
    /* The first byte after these has a narrower range: no other spelling, no surrogate, none beyond Unicode,
     * and no C1. */
    static const struct {
        unsigned char lead, from, to;
    } narrow[] = {
        {0xc2, 0xa0, 0xbf}, {0xe0, 0xa0, 0xbf}, {0xed, 0x80, 0x9f}, {0xf0, 0x90, 0xbf}, {0xf4, 0x80, 0x8f}};

    for (size_t i = 0; i < COUNT(narrow) && sequence->length == 1; i++)
        if ((unsigned char)sequence->held[0] == narrow[i].lead)
            return byte >= narrow[i].from && byte <= narrow[i].to;
    return byte >= 0x80 && byte <= 0xbf;
}

static bool take_ground(struct sequence *sequence, struct sink *sink, unsigned char byte)
{
    if (byte == ESC) {
        begin(sequence, SEQUENCE_ESCAPE);
    } else if (byte < ' ') {
        put_control(sink, byte);
    } else if (byte < DEL || (byte >= 0xa0 && !sequence->utf8)) {
        put(sink, byte);
    } else if (byte >= 0xc2 && byte <= 0xf4 && sequence->utf8) {
        begin(sequence, SEQUENCE_CHARACTER);
        sequence->held[sequence->length++] = (char)byte;
        sequence->need = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
    } else if (byte != DEL) {
        put(sink, REPLACEMENT);
    }
    return true;
}

static bool take_character(struct sequence *sequence, struct sink *sink, unsigned char byte)
{
    if (!is_continued(sequence, byte)) {
        put(sink, REPLACEMENT);
        return false;
    }
    sequence->held[sequence->length++] = (char)byte;
    if (--sequence->need == 0) {
        put_bytes(sink, sequence->held, sequence->length);
        begin(sequence, SEQUENCE_GROUND);
    }
    return true;
}

/* What is the same within every sequence. Return: whether BYTE was that; *AGAIN: as of a state. */
static bool take_common(struct sequence *sequence, struct sink *sink, unsigned char byte, bool *again)
{
    *again = byte < 0x80;
    if (byte == ESC)
        begin(sequence, SEQUENCE_ESCAPE);
    else if (byte == CAN || byte == SUB || byte >= 0x80)
        begin(sequence, SEQUENCE_GROUND);
    else if (byte < ' ')
        put_control(sink, byte);
    else
        return byte == DEL;
    return true;
}

static bool take_escape(struct sequence *sequence, struct sink *sink, unsigned char byte)
{
    bool taken;

    if (take_common(sequence, sink, byte, &taken))
        return taken;
    if (byte < '0') {
        sequence->state = SEQUENCE_INTERMEDIATE;
        sequence->held[sequence->length] = (char)byte;
        sequence->length += sequence->length < 2;
    } else if (byte == '[' && sequence->state == SEQUENCE_ESCAPE) {
        begin(sequence, SEQUENCE_CONTROL);
    } else if (strchr("]PX^_k", byte) && sequence->state == SEQUENCE_ESCAPE) {
        begin_string(sequence, byte);
    } else {
        judge_escape(sequence, sink, byte);
        begin(sequence, SEQUENCE_GROUND);
    }
    return true;
}

static bool take_control(struct sequence *sequence, struct sink *sink, unsigned char byte)
{
    bool taken;

    if (take_common(sequence, sink, byte, &taken))
        return taken;
    if (byte < '@') {
        if (sequence->length == CONTROL_MOST - 1)
            sequence->state = SEQUENCE_IGNORED;
        sequence->held[sequence->length] = (char)byte;
        sequence->length += sequence->state == SEQUENCE_CONTROL;
        return true;
    }
    if (sequence->state == SEQUENCE_CONTROL)
        judge(sequence, sink, byte);
    begin(sequence, SEQUENCE_GROUND);
    return true;
}

/* Strings: swallowed up to their end, which a terminal may see in more than one byte. As nothing of them has
 * been let out, it matters little which. */
static bool take_string(struct sequence *sequence, struct sink *sink, unsigned char byte)
{
    bool first = sequence->length == 0 && sequence->kind == ']' && !sequence->refused;
    bool ends = byte == C1_ST && (sequence->before < 0x80 || sequence->before == 0xc2);

    if (byte == ESC) {
        sequence->state = SEQUENCE_STRING_ESCAPE;
    } else if (byte == BEL && sequence->kind == ']') {
        judge_string(sequence, sink, "\a", 1);
        begin(sequence, SEQUENCE_GROUND);
    } else if (byte == CAN || byte == SUB || ends || (first && byte == 'R')) {
        begin(sequence, SEQUENCE_GROUND);
    } else if (first && byte == 'P') {
        begin(sequence, SEQUENCE_PALETTE);
        sequence->need = 7;
    } else {
        sequence->refused |= byte < ' ' || byte >= DEL || sequence->length == SEQUENCE_HELD;
        if (!sequence->refused)
            sequence->held[sequence->length++] = (char)byte;
        sequence->before = byte;
    }
    return true;
}

static bool take_string_escape(struct sequence *sequence, struct sink *sink, unsigned char byte)
{
    if (byte == '\\') {
        judge_string(sequence, sink, "\033\\", 2);
        begin(sequence, SEQUENCE_GROUND);
        return true;
    }
    begin(sequence, SEQUENCE_ESCAPE); /* another sequence has ended the string */
    return take_escape(sequence, sink, byte);
}

static bool take_palette(struct sequence *sequence, struct sink *sink, unsigned char byte)
{
    (void)sink;
    if (!(byte >= '0' && byte <= '9') && !((byte | 0x20) >= 'a' && (byte | 0x20) <= 'f')) {
        begin_string(sequence, ']'); /* then it was not the console's */
        sequence->refused = true;
        return take_string(sequence, sink, byte);
    }
    if (--sequence->need == 0)
        begin(sequence, SEQUENCE_GROUND);
    return true;
}

static bool (*const takers[SEQUENCE_STATES])(struct sequence *, struct sink *, unsigned char) = {
    [SEQUENCE_GROUND] = take_ground,   [SEQUENCE_CHARACTER] = take_character,
    [SEQUENCE_ESCAPE] = take_escape,   [SEQUENCE_INTERMEDIATE] = take_escape,
    [SEQUENCE_CONTROL] = take_control, [SEQUENCE_IGNORED] = take_control,
    [SEQUENCE_STRING] = take_string,   [SEQUENCE_STRING_ESCAPE] = take_string_escape,
    [SEQUENCE_PALETTE] = take_palette,
};

size_t sequence_filter(struct sequence *sequence, const char *in, size_t size, char *out)
{
    struct sink sink = {.data = out};

    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)in[i];

        if (sequence->state == SEQUENCE_GROUND && byte >= ' ' && byte < DEL) {
            put(&sink, byte); /* most of it */
        } else if (!takers[sequence->state](sequence, &sink, byte)) {
            begin(sequence, SEQUENCE_GROUND);
            take_ground(sequence, &sink, byte);
        }
    }
    return sink.size;
}

void sequence_answered(struct sequence *sequence, const char *in, size_t size)
{
    for (size_t i = 0; i < size && sequence->unanswered > 0; i++)
        sequence->unanswered -= in[i] == ESC;
}

size_t sequence_reset(uint64_t left, char *out)
{
    struct sink sink = {.data = out};
    char text[16];

    for (size_t i = 0; i < COUNT(modes); i++)
        if (left >> i & 1)
            put_bytes(&sink, text,
                      (size_t)snprintf(text, sizeof(text), "\033[?%u%c", modes[i].number, modes[i].undo));
    for (size_t i = 0; i < COUNT(undos); i++)
        if (left >> undos[i].left & 1)
            put_bytes(&sink, undos[i].text, strlen(undos[i].text));
    return sink.size;
}
