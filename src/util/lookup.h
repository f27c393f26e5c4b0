/*
 * lookup.h - from a string to a number, by hash: for lists that would otherwise be compared each with each.
 */
#ifndef CONFINE_UTIL_LOOKUP_H
#define CONFINE_UTIL_LOOKUP_H

#include <stddef.h>
#include <stdint.h>

#define LOOKUP_NONE SIZE_MAX

struct lookup_slot {
    const char *key; /* NULL: free */
    uint32_t length;
    uint32_t hash;
    size_t value;
};

struct lookup {
    struct lookup_slot *slots;
    size_t room; /* a power of two, or 0 */
    size_t count;
};

/* lookup_find() - Return: the value of the first @length bytes of @key, or LOOKUP_NONE. */
size_t lookup_find(const struct lookup *lookup, const char *key, size_t length);

/*
 * lookup_add() - remember @value for the first @length bytes of @key, which must not be there yet.
 * @key: not copied; must outlive the lookup. Its length must fit into 32 bits
 *
 * Return: 0 or -ENOMEM.
 */
int lookup_add(struct lookup *lookup, const char *key, size_t length, size_t value);
void lookup_free(struct lookup *lookup);

#endif
