/*
 * replay.c - a fuzzer without a fuzzer: every file of the directories that are named, once.
 *
 * Linked in the place of libFuzzer, so that what it began with and what it once found is tried with any
 * compiler.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MOST 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fail(const char *what)
{
    fprintf(stderr, "replay: %s: %s\n", what, strerror(errno));
    exit(2);
}

static void replay(const char *path)
{
    static uint8_t data[FILE_MOST];
    FILE *file = fopen(path, "rb");
    size_t size;

    if (!file)
        fail(path);
    size = fread(data, 1, sizeof(data), file);
    if (ferror(file) || size == sizeof(data))
        fail(path);
    fclose(file);
    fprintf(stderr, "%s\n", path); /* the last one is the one that it fell over */
    LLVMFuzzerTestOneInput(data, size);
}

int main(int argc, char **argv)
{
    unsigned count = 0;

    for (int i = 1; i < argc; i++) {
        DIR *directory = opendir(argv[i]);
        struct dirent *entry;

        if (!directory)
            fail(argv[i]);
        while ((entry = readdir(directory))) {
            char path[4096];

            if (entry->d_name[0] == '.')
                continue;
            snprintf(path, sizeof(path), "%s/%s", argv[i], entry->d_name);
            replay(path);
            count++;
        }
        closedir(directory);
    }
    printf("%u\n", count);
    return 0;
}
