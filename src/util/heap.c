/*
 * heap.c - malloc for short-lived programs, in place of musl's.
 *
 * musl asks the kernel for a page or two per size class and gives them back as soon as they are empty: in one
 * `confine run` some 60 mmap and munmap, and a page fault for each. That was a tenth of its time. Here
 * everything comes out of one piece that is mapped once, its first pages already there; what is freed waits
 * in a list of its size for the next of that size.
 *
 * Should:  touch few pages: sizes are exact to 16 bytes up to a page; what is large has a mapping of its
 *          own and goes back when it is freed.
 * Mustn't: go on after a block that is freed twice or that was written over at its head: it traps.
 *
 * Only for programs that end soon: what has been small blocks stays small blocks. The lock is for a library
 * that starts a thread; there is none today.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define UNIT           ((size_t)16)
#define REGION         ((size_t)1024 * 1024)
#define FIRST_PAGES    ((size_t)28 * 1024) /* mostly enough until the command starts; asked for at once */
#define FINE_MAX       ((size_t)4096) /* block sizes up to here are multiples of UNIT, above powers of two */
#define BLOCK_MAX      ((size_t)64 * 1024) /* what is larger is mapped by itself */
#define FINE_CLASSES   (FINE_MAX / UNIT)
#define CLASSES        (FINE_CLASSES + 5) /* 8 KiB to 64 KiB, and one for the mapped ones */
#define MAPPED         (CLASSES - 1)
#define POPULATE_WRITE 23                       /* MADV_POPULATE_WRITE */
#define MARK_LIVE      UINT64_C(0x6c697665c0f1) /* 48 bits; the class stands below */
#define MARK_FREE      UINT64_C(0x66726565c0f1)
#define MARK_SHIFT     16

/* Before every block: its class, and a mark that only a live block has. The size is a mapped one's only, but
 * keeps the block aligned for every other. */
struct head {
    uint64_t mark;
    uint64_t size; /* of the block, this head included */
};

struct spare {
    struct head head;
    struct spare *next;
};

static struct spare *spares[CLASSES];
static unsigned char *region, *region_end;
static atomic_flag lock = ATOMIC_FLAG_INIT;

static void take_lock(void)
{
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
        ;
}

static void leave_lock(void)
{
    atomic_flag_clear_explicit(&lock, memory_order_release);
}

/* The class for a block of SIZE bytes, head included, and its real size. */
static size_t find_class(size_t size, size_t *ret_size)
{
    size_t class = FINE_CLASSES, room = FINE_MAX * 2;

    if (size <= FINE_MAX) {
        *ret_size = (size + UNIT - 1) & ~(size_t)(UNIT - 1);
        return *ret_size / UNIT - 1;
    }
    for (; room < size; room *= 2)
        class ++;
    *ret_size = room;
    return class;
}

static void *map_pages(size_t size)
{
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return at == MAP_FAILED ? NULL : at;
}

/* The next SIZE bytes that nobody has had; what is left of an old region is given up. */
static struct head *take_fresh(size_t size)
{
    unsigned char *block;

    if (size > (size_t)(region_end - region)) {
        bool first = !region;
        int saved = errno;

        block = map_pages(REGION);
        if (!block)
            return NULL;
        if (first && madvise(block, FIRST_PAGES, POPULATE_WRITE) != 0)
            errno = saved; /* before Linux 5.14: they come one by one */
        region = block;
        region_end = block + REGION;
    }
    block = region;
    region += size;
    return (struct head *)(void *)block;
}

static struct head *take_block(size_t wanted, bool *ret_zero)
{
    size_t size, class;
    struct head *head;

    *ret_zero = true;
    if (wanted > PTRDIFF_MAX - 2 * BLOCK_MAX)
        return NULL;
    wanted += sizeof(*head);
    if (wanted < sizeof(struct spare))
        wanted = sizeof(struct spare);
    if (wanted > BLOCK_MAX) {
        class = MAPPED;
        for (size = BLOCK_MAX; size < wanted;)
            size *= 2; /* room to grow in; pages that nobody touches cost nothing */
        head = map_pages(size);
    } else {
        class = find_class(wanted, &size);
        take_lock();
        head = spares[class] ? &spares[class]->head : NULL;
        if (head) {
            if (head->mark != (MARK_FREE << MARK_SHIFT | class))
                __builtin_trap();
            spares[class] = spares[class]->next;
            *ret_zero = false;
        } else {
            head = take_fresh(size);
        }
        leave_lock();
    }
    if (!head)
        return NULL;
    head->mark = MARK_LIVE << MARK_SHIFT | class;
    head->size = size;
    return head;
}

void *malloc(size_t size)
{
    bool zero;
    struct head *head = take_block(size, &zero);

    if (!head)
        errno = ENOMEM;
    return head ? head + 1 : NULL;
}

void *calloc(size_t nmemb, size_t size)
{
    struct head *head = NULL;
    size_t total;
    bool zero = true;

    if (!__builtin_mul_overflow(nmemb, size, &total))
        head = take_block(total, &zero);
    if (!head)
        errno = ENOMEM;
    else if (!zero)
        memset(head + 1, 0, total);
    return head ? head + 1 : NULL;
}

/* The head of a block that somebody gives back. */
static struct head *find_head(void *block, size_t *ret_class)
{
    struct head *head = (struct head *)block - 1;

    *ret_class = head->mark & ((1U << MARK_SHIFT) - 1);
    if (head->mark >> MARK_SHIFT != MARK_LIVE || *ret_class >= CLASSES)
        __builtin_trap();
    return head;
}

void free(void *ptr)
{
    size_t class;
    struct head *head;
    struct spare *spare;
    int saved = errno;

    if (!ptr)
        return;
    head = find_head(ptr, &class);
    if (class == MAPPED) {
        munmap(head, head->size);
        errno = saved;
        return;
    }
    spare = (struct spare *)head;
    take_lock();
    head->mark = MARK_FREE << MARK_SHIFT | class;
    spare->next = spares[class];
    spares[class] = spare;
    leave_lock();
}

/* What was taken last grows where it is, as far as the region goes, unless a block of that size is there: of
 * blocks that grow again and again, each would be a fresh one. Return: whether it did. */
static bool grow_last(struct head *head, size_t wanted)
{
    size_t size, class;
    bool last;

    if (wanted > BLOCK_MAX - sizeof(*head))
        return false;
    class = find_class(wanted + sizeof(*head), &size);
    take_lock();
    last = !spares[class] && (unsigned char *)head + head->size == region &&
           size <= (size_t)(region_end - (unsigned char *)head);
    if (last) {
        region = (unsigned char *)head + size;
        head->mark = MARK_LIVE << MARK_SHIFT | class;
        head->size = size;
    }
    leave_lock();
    return last;
}

/* A mapped block takes its pages along. Return: its head, or NULL when it is where it was. */
static struct head *grow_mapped(struct head *head, size_t wanted)
{
    size_t size = head->size;
    void *at;

    if (wanted > PTRDIFF_MAX - 2 * BLOCK_MAX)
        return NULL;
    while (size < wanted + sizeof(*head))
        size *= 2;
    at = mremap(head, head->size, size, MREMAP_MAYMOVE);
    if (at == MAP_FAILED)
        return NULL;
    head = at;
    head->size = size;
    return head;
}

void *realloc(void *ptr, size_t size)
{
    struct head *head;
    size_t class, room;
    void *moved;

    if (!ptr)
        return malloc(size);
    head = find_head(ptr, &class);
    room = head->size - sizeof(*head);
    if (size <= room && (class != MAPPED || size > room / 2))
        return ptr;
    if (class != MAPPED && grow_last(head, size))
        return ptr;
    if (class == MAPPED && size > room) {
        head = grow_mapped(head, size);
        if (!head)
            errno = ENOMEM;
        return head ? head + 1 : NULL;
    }
    moved = malloc(size);
    if (!moved)
        return NULL;
    memcpy(moved, ptr, size < room ? size : room);
    free(ptr);
    return moved;
}

/* Nobody here needs more than the 16 bytes that every block has. */
void *aligned_alloc(size_t alignment, size_t size)
{
    if (alignment <= UNIT)
        return malloc(size);
    errno = ENOMEM;
    return NULL;
}
