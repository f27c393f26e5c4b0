/*
 * pool.c - see pool.h.
 */
#include "network/pool.h"

#include <errno.h>

#define HASHES    16384 /* a power of two */
#define POOL_BITS 14    /* of a range: as many addresses as there are numbers fit in */

static uint32_t hash_name(const char *name)
{
    uint32_t hash = 2166136261u;

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return (hash ^ hash >> 15) & (HASHES - 1);
}

/* Return: false when @text is no range of the family, or has too few addresses. */
static bool read_range(const char *text, bool six, struct address *ret_base)
{
    char address[ADDRESS_TEXT], *end;
    const char *slash = strchr(text, '/');
    unsigned whole = six ? 128 : 32;
    unsigned long bits = slash ? strtoul(slash + 1, &end, 10) : 0;

    if (!slash || (size_t)(slash - text) >= sizeof(address) || end == slash + 1 || *end || bits < 8 ||
        bits > whole - POOL_BITS)
        return false;
    memcpy(address, text, (size_t)(slash - text));
    address[slash - text] = '\0';
    if (!address_parse(address, ret_base) || ret_base->six != six)
        return false;
    for (unsigned i = (unsigned)bits; i < whole; i++)
        if (ret_base->bytes[i / 8] >> (7 - i % 8) & 1)
            return false; /* not the beginning of a range */
    return true;
}

int pool_begin(struct pool *pool, const char *four, const char *six)
{
    const char *const ranges[2] = {four, six};

    *pool = (struct pool){.used = POOL_PINNED};
    list_begin(&pool->order);
    for (size_t i = 0; i < 2; i++) {
        if (ranges[i] && !read_range(ranges[i], i == 1, &pool->base[i]))
            return -EINVAL;
        pool->have[i] = ranges[i] != NULL;
    }
    /* Pages that are never touched cost nothing. */
    pool->names = calloc(POOL_MOST + 1, sizeof(*pool->names));
    pool->heads = calloc(HASHES, sizeof(*pool->heads));
    return pool->names && pool->heads ? 0 : -ENOMEM;
}

static uint32_t find_name(const struct pool *pool, const char *name)
{
    uint32_t number = pool->heads[hash_name(name)];

    while (number && strcmp(pool->names[number].text, name) != 0)
        number = pool->names[number].next;
    return number;
}

static void use_name(struct pool *pool, uint32_t number)
{
    if (number <= POOL_PINNED)
        return;
    node_remove(&pool->names[number].node);
    node_add(&pool->order, &pool->names[number].node);
}

/* The name with this number is nobody's any more. */
static void give_up(struct pool *pool, uint32_t number)
{
    struct pool_name *name = &pool->names[number];
    uint32_t *link = &pool->heads[hash_name(name->text)];

    while (*link != number)
        link = &pool->names[*link].next;
    *link = name->next;
    free(name->text);
    name->text = NULL;
}

static bool add_name(struct pool *pool, const char *name, uint32_t number)
{
    uint32_t *head = &pool->heads[hash_name(name)];
    char *copy = strdup(name);

    if (!copy)
        return false;
    if (pool->names[number].text)
        give_up(pool, number);
    pool->names[number].text = copy;
    pool->names[number].next = *head;
    *head = number;
    return true;
}

uint32_t pool_take(struct pool *pool, const char *name)
{
    uint32_t number = find_name(pool, name);

    if (number == 0) {
        number = pool->used < POOL_MOST ? pool->used + 1
                                        : (uint32_t)((struct pool_name *)pool->order.after - pool->names);
        if (!add_name(pool, name, number))
            return 0;
        if (number > pool->used)
            pool->used = number;
        pool->fresh = number;
    }
    use_name(pool, number);
    return number;
}

bool pool_address(const struct pool *pool, uint32_t number, bool six, struct address *ret_address)
{
    size_t last = six ? 15 : 3;

    *ret_address = pool->base[six];
    for (size_t i = 0; i < 4; i++) /* the range begins where all that follows is 0 */
        ret_address->bytes[last - i] |= (unsigned char)(number >> (8 * i));
    return pool->have[six];
}

/* Return: the number of @address, 0: it is none that a name may have. */
static uint32_t read_number(const struct pool *pool, const struct address *address)
{
    size_t last = address->six ? 15 : 3;
    struct address at;
    uint32_t number = 0;

    for (size_t i = 0; i < 4; i++)
        number |=
            (uint32_t)(unsigned char)(address->bytes[last - i] ^ pool->base[address->six].bytes[last - i])
            << (8 * i);
    if (!pool->have[address->six] || number > POOL_MOST)
        return 0;
    pool_address(pool, number, address->six, &at);
    return memcmp(at.bytes, address->bytes, sizeof(at.bytes)) == 0 ? number : 0;
}

int pool_find(struct pool *pool, const struct address *address, const char **ret_name)
{
    uint32_t number = read_number(pool, address);

    if (number == 0)
        return -ENOENT;
    if (!pool->names[number].text)
        return 0;
    use_name(pool, number);
    *ret_name = pool->names[number].text;
    return 1;
}

int pool_pin(struct pool *pool, const char *name, const struct address *address)
{
    uint32_t number = read_number(pool, address), before = find_name(pool, name);

    if (number == 0)
        return -ENOENT;
    if (number < 2 || number > POOL_PINNED)
        return -EINVAL;
    if (before == number)
        return 0;
    if (pool->names[number].text || (before != 0 && before <= POOL_PINNED))
        return -EEXIST;
    if (before != 0) /* its number stays in the order, and is given out again */
        give_up(pool, before);
    return add_name(pool, name, number) ? 0 : -ENOMEM;
}

void pool_end(struct pool *pool)
{
    for (uint32_t i = 1; pool->names && i <= pool->used; i++)
        free(pool->names[i].text);
    free(pool->names);
    free(pool->heads);
}
