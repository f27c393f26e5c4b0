/*
 * namespace_store.c - memory for items and names, until the end.
 *
 * Should:  take no mapping for what is usual: an allocator makes four, which the
 *          fork of pid 1 copies and the end takes down.
 * Mustn't: give anything back.
 */
#include "namespace.h"

#include <sys/mman.h>

#define STORE_FIRST  32768 /* enough for what is usual; pages of it that nobody touches cost nothing */
#define STORE_NEXT   ((size_t)1024 * 1024) /* bytes that are asked for at a time when it is not enough */
#define STORE_ALIGNS 16

static struct {
    char *next;
    size_t left;
} store;

/*
 * namespace_take() - memory for as long as the link lives.
 * @size: bytes
 *
 * Return: that many zero bytes. Ends the link where there are none.
 */
void *namespace_take(const struct namespace *ns, size_t size)
{
    static _Alignas(STORE_ALIGNS) char first[STORE_FIRST];
    char *taken;

    size = (size + STORE_ALIGNS - 1) / STORE_ALIGNS * STORE_ALIGNS;
    if (!store.next) {
        store.next = first;
        store.left = sizeof(first);
    }
    if (size > store.left) {
        size_t more = size > STORE_NEXT ? size : STORE_NEXT;
        void *block = mmap(NULL, more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (block == MAP_FAILED)
            chain_fatal_errno(ns->chain, "options", errno);
        store.next = block;
        store.left = more;
    }
    taken = store.next;
    store.next += size;
    store.left -= size;
    return taken;
}
