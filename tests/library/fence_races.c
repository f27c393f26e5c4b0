/* fence_races.c - a fence while somebody swaps what a name leads to. */
#include "fence_calls.h"

#include <pthread.h>
#include <sys/syscall.h>

#define OPENS      600 /* of each of nine */
#define OPENS_LONG 100000

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE 2
#endif

static const struct race {
    const char *name;
    const char *one, *other; /* change places all the time; NULL: a link out of here comes and goes */
    const char *path;
    int flags;
} races[] = {
    {"the last component: a file and a link, read", "file", "link", "file", O_RDONLY},
    {"the last component: a file and a link, written", "file", "link", "file", O_WRONLY | O_APPEND},
    {"the last component, if need be made", "file", "link", "file", O_WRONLY | O_CREAT | O_APPEND},
    {"a directory and a link in the middle, read", "sub", "away", "sub/file", O_RDONLY},
    {"a directory and a link in the middle, written", "sub", "away", "sub/file", O_RDWR},
    {"a directory and a link in the middle, made in", "sub", "away", "sub/new", O_WRONLY | O_CREAT},
    {"a directory, and a file for it", "sub", "file", "sub/file", O_RDONLY},
    {"a link to nothing, in and out", "nothing", "none", "nothing", O_WRONLY | O_CREAT},
    {"nothing, and a link out", "comes", NULL, "comes", O_WRONLY | O_CREAT},
};

static int races_end;

static void *swap(void *data)
{
    const struct race *race = data;

    while (!__atomic_load_n(&races_end, __ATOMIC_RELAXED))
        if (race->other)
            syscall(SYS_renameat2, work, race->one, work, race->other, RENAME_EXCHANGE);
        else if (symlinkat("../out/none", work, race->one) != 0 || unlinkat(work, race->one, 0) != 0)
            unlinkat(work, race->one, 0); /* the fence was faster */
    return NULL;
}

/* Nothing outside goes or comes while what leads there is swapped. */
TEST_IN(no_name_outside_is_ever_changed, 600)
{
    static const struct race race = {.one = "sub", .other = "away"};
    const unsigned changes = (getenv("CONFINE_LONG") ? OPENS_LONG : OPENS) / 5; /* five at a time */
    struct confine_fence *fence = FENCE(NULL);
    unsigned made = 0, removed = 0, renamed = 0;
    pthread_t swapping;

    put(out, "file", "secret");
    put(work, "file", "file");
    put(work, "sub/file", "file");
    need(symlinkat("../out", work, "away") == 0);
    need(pthread_create(&swapping, NULL, swap, (void *)(size_t)&race) == 0);
    for (unsigned i = 0; i < changes; i++) {
        made += confine_fence_mkdir(fence, "sub/new", 0755, NULL) == CONFINE_OK;
        renamed += confine_fence_rename(fence, "file", "sub/none", NULL) == CONFINE_OK;
        removed += confine_fence_remove(fence, "sub/new", NULL) == CONFINE_OK;
        confine_fence_rename(fence, "sub/none", "file", NULL);
        confine_fence_remove(fence, "sub/file", NULL);
    }
    __atomic_store_n(&races_end, 1, __ATOMIC_RELAXED);
    need(pthread_join(swapping, NULL) == 0);
    test_note("%u made, %u removed, %u renamed", made, removed, renamed);
    check(made > 0 && removed > 0 && renamed > 0);
    check(faccessat(out, "file", F_OK, 0) == 0);
    check_fails(faccessat(out, "new", F_OK, 0), ENOENT);
    check_fails(faccessat(out, "none", F_OK, 0), ENOENT);
    confine_fence_unref(fence);
}

static bool is_outside(int fd)
{
    static const char *const names[] = {"file", "new", "none"};
    struct stat seen, st;

    if (fstat(fd, &seen) != 0)
        return true;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (fstatat(out, names[i], &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == seen.st_ino &&
            st.st_dev == seen.st_dev)
            return true;
    return false;
}

TEST_EACH_IN(nothing_outside_is_ever_opened, 1200, struct race, races)
{
    const unsigned opens = getenv("CONFINE_LONG") ? OPENS_LONG : OPENS;
    struct confine_fence *fence = FENCE(NULL);
    unsigned opened = 0, refused = 0, escaped = 0, other = 0;
    pthread_t swapping;
    int fd;

    put(out, "file", "secret");
    put(work, "file", "file");
    put(work, "sub/file", "file");
    need(symlinkat("../out/file", work, "link") == 0 && symlinkat("../out", work, "away") == 0 &&
         symlinkat("sub/made", work, "nothing") == 0 && symlinkat("../out/none", work, "none") == 0);
    need(pthread_create(&swapping, NULL, swap, (void *)(size_t)row) == 0);
    for (unsigned i = 0; i < opens; i++) {
        int r;

        fd = -1;
        r = confine_fence_open(fence, row->path, row->flags, 0644, &fd, NULL);
        opened += r == CONFINE_OK;
        refused += r == CONFINE_E_REFUSED;
        other += r != CONFINE_OK && r != CONFINE_E_REFUSED;
        escaped += r == CONFINE_OK && is_outside(fd);
        if (fd >= 0)
            close(fd);
        if (row->flags & O_CREAT) {
            unlinkat(work, "sub/new", 0);
            unlinkat(work, "sub/made", 0);
        }
    }
    __atomic_store_n(&races_end, 1, __ATOMIC_RELAXED);
    need(pthread_join(swapping, NULL) == 0);
    test_note("%u opened, %u refused, %u other errors, %u outside", opened, refused, other, escaped);
    check_int(escaped, 0);
    check_int(other < opens, 1);
    check_fails(faccessat(out, "new", F_OK, 0), ENOENT);
    check_fails(faccessat(out, "none", F_OK, 0), ENOENT);
    fd = openat(out, "file", O_RDONLY | O_CLOEXEC);
    check_str(TEXT_OF(fd), "secret");
    close(fd);
    confine_fence_unref(fence);
}
