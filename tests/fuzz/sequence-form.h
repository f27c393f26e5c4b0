/*
 * sequence-form.h - a second parser of what a terminal is sent, by its form alone.
 */
#ifndef CONFINE_TESTS_FUZZ_SEQUENCE_FORM_H
#define CONFINE_TESTS_FUZZ_SEQUENCE_FORM_H

#include <stdbool.h>
#include <string.h>

/* A second parser, by regular grammar alone: whatever came in, only these shapes come out. */
static bool is_well_formed(const char *at, const char *end)
{
    while (at < end) {
        unsigned char byte = (unsigned char)*at++;

        if (byte != 0x1b) {
            if (byte == 5 || byte == 0x18 || byte == 0x1a || byte == 0x7f || byte == 0)
                return false;
            continue;
        }
        if (at == end)
            return false;
        if (*at == '[') {
            for (at++; at < end && *at >= ' ' && *at < '@'; at++)
                ;
            if (at == end || *at == 'i' || *at < '@' || *at > '~')
                return false;
            at++;
        } else if (*at == ']') {
            if (memchr("4581", at[1], 4) == NULL)
                return false;
            for (at++; at < end && *at >= ' ' && *at < 0x7f; at++)
                ;
            if (at == end || (*at != '\a' && !(*at == 0x1b && at[1] == '\\')))
                return false;
            at += *at == '\a' ? 1 : 2;
        } else if (strchr("PX^_kZ%", *at)) {
            return false;
        } else {
            at++;
        }
    }
    return true;
}

#endif
