/*
 * lookup.c - open addressing, half full at most.
 *
 * Names come from outside, so somebody could choose them to fall on each other; they would slow down their
 * own run, by as much as comparing each with each did.
 */
#include "util/lookup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 32

/* FNV-1a. */
static uint32_t hash_bytes(const char *key, size_t length)
{
    uint32_t hash = UINT32_C(2166136261);

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)key[i]) * UINT32_C(16777619);
    return hash;
}

/* Where the key is, or would be. There is always a free slot. */
static struct lookup_slot *find_slot(const struct lookup *lookup, const char *key, size_t length,
                                     uint32_t hash)
{
    size_t at = hash & (lookup->room - 1);

    for (;; at = (at + 1) & (lookup->room - 1)) {
        struct lookup_slot *slot = &lookup->slots[at];

        if (!slot->key ||
            (slot->hash == hash && slot->length == length && memcmp(slot->key, key, length) == 0))
            return slot;
    }
}

size_t lookup_find(const struct lookup *lookup, const char *key, size_t length)
{
    const struct lookup_slot *slot;

    if (lookup->count == 0)
        return LOOKUP_NONE;
    slot = find_slot(lookup, key, length, hash_bytes(key, length));
    return slot->key ? slot->value : LOOKUP_NONE;
}

static int grow(struct lookup *lookup)
{
    struct lookup larger = {.room = lookup->room ? 2 * lookup->room : ROOM_FIRST, .count = lookup->count};

    larger.slots = calloc(larger.room, sizeof(*larger.slots));
    if (!larger.slots)
        return -ENOMEM;
    for (size_t i = 0; i < lookup->room; i++) {
        const struct lookup_slot *slot = &lookup->slots[i];

        if (slot->key)
            *find_slot(&larger, slot->key, slot->length, slot->hash) = *slot;
    }
    free(lookup->slots);
    *lookup = larger;
    return 0;
}

int lookup_add(struct lookup *lookup, const char *key, size_t length, size_t value)
{
    uint32_t hash = hash_bytes(key, length);

    if (2 * lookup->count >= lookup->room && grow(lookup) < 0)
        return -ENOMEM;
    *find_slot(lookup, key, length, hash) =
        (struct lookup_slot){.key = key, .length = (uint32_t)length, .hash = hash, .value = value};
    lookup->count++;
    return 0;
}

void lookup_free(struct lookup *lookup)
{
    free(lookup->slots);
    *lookup = (struct lookup){0};
}
