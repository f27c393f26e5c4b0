/*
 * fuzz-sequence.c - the filter of the terminal: the same for every split, and nothing but what may pass.
 *
 * The first byte says whether the terminal decodes UTF-8, the second the size of the parts.
 */
#include "sequence-form.h"

#include "run/sequence.h"

#include <stdlib.h>

static void must(bool holds)
{
    if (!holds)
        abort(); /* a terminal would obey it, or not see what another split shows */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sequence whole = {0}, parts = {0}, again = {0};
    size_t room, put = 0, step, second = 0;
    char *out, *other;

    if (size < 3)
        return 0;
    whole.utf8 = parts.utf8 = again.utf8 = data[0] & 1;
    step = (size_t)data[1] + 1;
    data += 2;
    size -= 2;
    room = size + SEQUENCE_HELD + 4;
    out = malloc(room);
    other = malloc(room + SEQUENCE_HELD + 4);
    must(out && other);
    put = sequence_filter(&whole, (const char *)data, size, out);
    must(put <= room && is_well_formed(out, out + put));
    for (size_t at = 0; at < size; at += step)
        second += sequence_filter(&parts, (const char *)data + at, step < size - at ? step : size - at,
                                  other + second);
    must(second == put && memcmp(out, other, put) == 0 && whole.left == parts.left);
    second = sequence_filter(&again, out, put, other);
    must(second == put && memcmp(out, other, put) == 0);
    free(out);
    free(other);
    return 0;
}
