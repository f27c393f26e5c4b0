/*
 * seeds.c - what the fuzzers of the gateway's readers begin with: each row of test-bypass-forms.h, in every
 * language.
 *
 *     seeds DIRECTORY       writes DIRECTORY/FUZZER/bypass-ROW-FORM, says `FUZZER ROW FORM` of each
 *
 * Mustn't: leave a row out: one that has no form anywhere is an error.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "network/test-bypass-forms.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

static void fail(const char *what)
{
    fprintf(stderr, "seeds: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* One file. A message of DNS has its length in front, as by TCP. */
static void write_seed(const char *directory, const struct form *form, size_t row, const unsigned char *bytes,
                       size_t length)
{
    unsigned char front[2];
    char path[4096];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", directory, form->fuzzer);
    if (mkdir(path, 0755) != 0 && errno != EEXIST)
        fail(path);
    snprintf(path, sizeof(path), "%s/%s/bypass-%zu-%s", directory, form->fuzzer, row, form->name);
    file = fopen(path, "wb");
    put_port((unsigned)length, front, 0);
    if (!file || (form->put == form_dns && fwrite(front, sizeof(front), 1, file) != 1) ||
        fwrite(bytes, length, 1, file) != 1 || fclose(file) != 0)
        fail(path);
    printf("%s %zu %s\n", form->fuzzer, row, form->name);
}

int main(int argc, char **argv)
{
    static unsigned char room[FORM_SIZE];

    if (argc != 2) {
        fprintf(stderr, "usage: seeds DIRECTORY\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof(bypasses) / sizeof(bypasses[0]); i++) {
        size_t written = 0;

        for (size_t j = 0; j < sizeof(forms) / sizeof(forms[0]); j++) {
            size_t length =
                forms[j].put(bypasses[i].text, ask_length(&bypasses[i]), ask_port(&bypasses[i]), room);

            if (length == 0)
                continue;
            write_seed(argv[1], &forms[j], i, room, length);
            written++;
        }
        if (written == 0) {
            fprintf(stderr, "seeds: %s: it has no form\n", bypasses[i].name);
            return 1;
        }
    }
    return 0;
}
