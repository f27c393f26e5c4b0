/*
 * test-lookup.c - strings to numbers.
 */
#include "harness.h"

#include "util/lookup.h"

TEST(lookup_finds_what_was_added)
{
    static char keys[2000][8];
    struct lookup lookup = {0};

    check_int(lookup_find(&lookup, "x", 1) == LOOKUP_NONE, true);
    for (size_t i = 0; i < 2000; i++) {
        snprintf(keys[i], sizeof(keys[i]), "k%zu", i);
        need(lookup_add(&lookup, keys[i], strlen(keys[i]), i) == 0);
    }
    for (size_t i = 0; i < 2000; i++)
        check_int((int)lookup_find(&lookup, keys[i], strlen(keys[i])), (int)i);
    check(lookup_find(&lookup, "k2000", 5) == LOOKUP_NONE);
    check(lookup_find(&lookup, "", 0) == LOOKUP_NONE);
    lookup_free(&lookup);
    check(lookup_find(&lookup, "k1", 2) == LOOKUP_NONE);
}

TEST(lookup_takes_a_part_of_a_string)
{
    struct lookup lookup = {0};

    need(lookup_add(&lookup, "/a/b/c", 4, 7) == 0);
    check_int((int)lookup_find(&lookup, "/a/b", 4), 7);
    check_int((int)lookup_find(&lookup, "/a/bx", 4), 7);
    check(lookup_find(&lookup, "/a/b/c", 6) == LOOKUP_NONE);
    check(lookup_find(&lookup, "/a/", 3) == LOOKUP_NONE);
    lookup_free(&lookup);
}
