/*
 * test-heap.c - the allocator of programs that end soon. It is this program's own one as well.
 */
#include "harness.h"

#include <stdint.h>

#define BLOCKS 400

/* Sizes at the edges of the classes, and up to what is mapped by itself. */
static size_t pick_size(unsigned *seed)
{
    static const size_t edges[] = {0,    1,    15,    16,    17,    1007,  1008,  1009,
                                   1024, 2031, 32752, 32753, 65519, 65520, 65521, 200000};

    *seed = *seed * 1664525U + 1013904223U;
    return *seed >> 31 ? edges[*seed >> 16 & 15] : *seed >> 16 & 255;
}

static bool holds(const unsigned char *block, size_t size, unsigned char with)
{
    for (size_t i = 0; i < size; i++)
        if (block[i] != with)
            return false;
    return true;
}

TEST(blocks_keep_what_is_written_to_them)
{
    static unsigned char *blocks[BLOCKS];
    static size_t sizes[BLOCKS];
    unsigned seed = 1;

    for (int step = 0; step < 40000; step++) {
        size_t at = (size_t)step % BLOCKS, size = pick_size(&seed), kept = sizes[at];
        unsigned char mark = (unsigned char)at;

        need(!blocks[at] || holds(blocks[at], kept, mark));
        if (seed >> 8 & 1) {
            blocks[at] = realloc(blocks[at], size);
            need(blocks[at] && holds(blocks[at], size < kept ? size : kept, mark));
        } else {
            free(blocks[at]);
            blocks[at] = seed >> 9 & 1 ? malloc(size) : calloc(1, size);
            need(blocks[at] && (seed >> 9 & 1 || holds(blocks[at], size, 0)));
        }
        need((uintptr_t)blocks[at] % 16 == 0);
        sizes[at] = size;
        memset(blocks[at], mark, size);
    }
    check(true);
}

TEST(what_is_freed_is_used_again)
{
    void *first = malloc(100), *second;

    free(first);
    second = malloc(100);
    check(first == second);
    free(second);
}

TEST(too_much_is_refused)
{
    volatile size_t most = SIZE_MAX, half = SIZE_MAX / 2;
    void *kept = malloc(10), *grown;

    errno = 0;
    check(malloc(most) == NULL);
    check_int(errno, ENOMEM);
    check(calloc(half, 4) == NULL);
    check(aligned_alloc(4096, 4096) == NULL);
    grown = realloc(kept, half);
    check(grown == NULL);
    free(grown ? grown : kept);
}

/* How a child ends that does something forbidden with a block. */
static int misuse(bool twice)
{
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        volatile unsigned char *volatile block = malloc(40);

        if (twice)
            free((void *)(uintptr_t)block);
        else
            block[-12] = 0;
        free((void *)(uintptr_t)block);
        _exit(0);
    }
    need(child > 0 && waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST(a_block_freed_twice_or_overwritten_traps)
{
    check(misuse(true) != 0);
    check(misuse(false) != 0);
}

TEST(what_grows_again_and_again_is_not_a_fresh_block_each_time)
{
    enum { MOST = 16 };
    const void *seen[MOST] = {NULL};
    size_t count = 0;

    for (int round = 0; round < 1000 && count < MOST; round++) {
        char *block = malloc(1000);
        size_t i = 0;

        block = realloc(block, 3000);
        need(block);
        while (i < count && seen[i] != block)
            i++;
        if (i == count)
            seen[count++] = block;
        free(block);
    }
    check(count < MOST);
}
