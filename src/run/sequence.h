/*
 * sequence.h - what a command may tell the terminal that it does not own.
 *
 * A terminal obeys what is written to it: it puts texts on the clipboard, takes a title and answers with it,
 * starts a printer. This filter lets text and what a screen needs pass, and nothing else.
 */
#ifndef CONFINE_RUN_SEQUENCE_H
#define CONFINE_RUN_SEQUENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEQUENCE_HELD 4096 /* bytes of a sequence that may be held until it is complete */
#define SEQUENCE_ROOM 2048 /* enough for what sequence_reset() writes */

enum sequence_state {
    SEQUENCE_GROUND = 0,
    SEQUENCE_CHARACTER,     /* in a character of UTF-8 */
    SEQUENCE_ESCAPE,        /* behind ESC */
    SEQUENCE_INTERMEDIATE,  /* ESC and at least one of SP to / */
    SEQUENCE_CONTROL,       /* behind ESC [ */
    SEQUENCE_IGNORED,       /* the same, too long or malformed: up to its end */
    SEQUENCE_STRING,        /* behind ESC ], P, X, ^, _ or k */
    SEQUENCE_STRING_ESCAPE, /* the same, and an ESC */
    SEQUENCE_PALETTE,       /* the Linux console's ESC ] P and seven digits, which has no end of its own */
    SEQUENCE_STATES
};

struct sequence {
    enum sequence_state state;
    bool utf8;            /* the terminal decodes UTF-8; set by the caller */
    bool refused;         /* the string that is being read will be dropped */
    unsigned char kind;   /* of the string: the byte behind its ESC */
    unsigned char before; /* the last byte of the string */
    unsigned need;        /* bytes of the character, or digits, still to come */
    uint64_t left;        /* what has been changed and not changed back: see sequence_reset() */
    unsigned questions;   /* sequences that passed and that a terminal answers */
    unsigned unanswered;  /* of them, as far as what came in shows; at most SEQUENCE_UNANSWERED */
    size_t length;
    char held[SEQUENCE_HELD];
};

/* Questions that may wait for their answers at a time; others are dropped. */
#define SEQUENCE_UNANSWERED 256

/*
 * sequence_answered() - note what the terminal has sent.
 *
 * Every answer has one ESC, but not every ESC is of an answer: keys count as well.
 */
void sequence_answered(struct sequence *sequence, const char *in, size_t size);

/*
 * sequence_filter() - copy what may pass.
 * @sequence: zero before the first call, but for `utf8`; goes on where the last call ended
 * @out: room for @size + SEQUENCE_HELD + 4 bytes. Only whole characters and whole sequences are put there
 *
 * Return: the bytes put into @out.
 */
size_t sequence_filter(struct sequence *sequence, const char *in, size_t size, char *out);

/*
 * sequence_reset() - what undoes @left, so that the terminal sends nothing by itself any more and looks as
 * before.
 * @out: SEQUENCE_ROOM bytes
 *
 * Return: the bytes put into @out; 0 if there is nothing to undo.
 */
size_t sequence_reset(uint64_t left, char *out);

#endif
