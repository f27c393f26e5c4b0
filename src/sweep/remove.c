/*
 * remove.c - take away a hostile tree.
 *
 * One directory is open at a time. Going down pushes the directory's identity,
 * its name and where its listing stood; going up opens `..` and goes on only if
 * that is the directory that was left. So depth costs memory, not descriptors,
 * and a directory that was moved meanwhile is never taken for another.
 *
 * Should:  take away everything it can, and name the first thing that it cannot.
 * Mustn't: follow a link, cross a device, change or remove anything by a name
 *          that it has not opened without following links, or run without end.
 */
#include "sweep/listing.h"
#include "sweep/sweep.h"

#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OPEN_DIRECTORY (O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* A directory on the way from the root of the tree to where the walk stands. */
struct level {
    dev_t device;
    ino_t inode;
    int64_t offset; /* where its listing goes on */
    size_t name;    /* of this directory in its parent: index into names */
    bool progress;  /* something was removed in this pass: the listing may have skipped names */
};

struct tree {
    struct sweep *sweep;
    int root; /* the caller's */
    int at;   /* the directory where the walk stands, readable */
    struct level *levels;
    size_t depth, room; /* levels[depth - 1] is `at` */
    char *names;
    size_t names_length, names_room;
    int64_t start; /* ms */
};

enum step { STEP_ON = 0, STEP_DOWN, STEP_RESTART, STEP_BOUND, STEP_FATAL };

static void note_left(struct tree *tree, const char *name, int errnum, const char *why)
{
    struct sweep *sweep = tree->sweep;

    if (sweep->left_errno || sweep->left_why)
        return;
    snprintf(sweep->left, sizeof(sweep->left), "%s", name);
    sweep->left_errno = errnum;
    sweep->left_why = why;
}

static bool over_time(struct tree *tree)
{
    if (tree->sweep->most_ms == 0 || clock_ms(CLOCK_MONOTONIC) - tree->start < (int64_t)tree->sweep->most_ms)
        return false;
    tree->sweep->bound = "seconds";
    return true;
}

static bool over_entries(struct tree *tree)
{
    if (tree->sweep->most_entries == 0 || tree->sweep->removed < tree->sweep->most_entries)
        return false;
    tree->sweep->bound = "entries";
    return true;
}

/* --- the stack ----------------------------------------------------------------------------------------- */

static bool push(struct tree *tree, const struct stat *st, const char *name)
{
    size_t length = strlen(name) + 1;

    if (tree->depth == tree->room) {
        size_t room = tree->room ? 2 * tree->room : 64;
        struct level *larger = realloc(tree->levels, room * sizeof(*larger));

        if (!larger)
            return false;
        tree->levels = larger;
        tree->room = room;
    }
    if (tree->names_length + length > tree->names_room) {
        size_t room = 2 * tree->names_room + length + 1024;
        char *larger = realloc(tree->names, room);

        if (!larger)
            return false;
        tree->names = larger;
        tree->names_room = room;
    }
    memcpy(tree->names + tree->names_length, name, length);
    tree->levels[tree->depth++] =
        (struct level){.device = st->st_dev, .inode = st->st_ino, .name = tree->names_length};
    tree->names_length += length;
    return true;
}

static struct level *top(struct tree *tree)
{
    return &tree->levels[tree->depth - 1];
}

/* Gives the owner's rights back to the directory behind @object, which is O_PATH: by that descriptor and
 * never by a name, which could be a link to something outside by now. Without a set-ID bit, which the wall
 * refuses. */
static bool open_up(int object, mode_t mode)
{
    return syscall(SYS_fchmodat2, object, "", (mode & 0777) | S_IRWXU, AT_EMPTY_PATH) == 0 ||
           chmod(FD_NAME(object), (mode & 0777) | S_IRWXU) == 0;
}

/* Forgets the way and stands at the root again, whose mode the tree's maker could change as well. */
static enum step restart(struct tree *tree)
{
    struct stat st;

    fd_close(tree->at);
    tree->depth = 0;
    tree->names_length = 0;
    if (fstat(tree->root, &st) == 0 && (st.st_mode & S_IRWXU) != S_IRWXU)
        open_up(tree->root, st.st_mode); /* root needs no rights; for others the next line tells */
    tree->at = openat(tree->root, ".", O_RDONLY | OPEN_DIRECTORY);
    if (tree->at < 0 || fstat(tree->at, &st) != 0) {
        note_left(tree, ".", errno, NULL);
        return STEP_FATAL;
    }
    if (!push(tree, &st, ".")) {
        note_left(tree, ".", ENOMEM, NULL);
        return STEP_FATAL;
    }
    return STEP_ON;
}

/* --- down and up --------------------------------------------------------------------------------------- */

/* Opens the directory NAME, making it accessible if need be. Return: the descriptor, or -1 with errno. */
static int open_child(struct tree *tree, const char *name, struct stat *st)
{
    _cleanup_fd_ int object = openat(tree->at, name, O_PATH | OPEN_DIRECTORY);
    int fd;

    if (object < 0 || fstat(object, st) != 0)
        return -1;
    if (st->st_dev != top(tree)->device) {
        errno = EXDEV;
        return -1;
    }
    if ((st->st_mode & S_IRWXU) != S_IRWXU)
        open_up(object, st->st_mode); /* root needs no rights; for others the next line tells */
    fd = openat(object, ".", O_RDONLY | OPEN_DIRECTORY);
    return fd;
}

static enum step go_down(struct tree *tree, const char *name, int64_t offset)
{
    struct stat st;
    int fd = open_child(tree, name, &st);

    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
            note_left(tree, name, errno, NULL);
            return STEP_FATAL;
        }
        if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)
            top(tree)->progress = true; /* swapped: the next pass sees what it is now */
        else
            note_left(tree, name, errno, errno == EXDEV ? "it lies on another device" : NULL);
        return STEP_ON;
    }
    top(tree)->offset = offset;
    if (!push(tree, &st, name)) {
        fd_close(fd);
        note_left(tree, name, ENOMEM, NULL);
        return STEP_FATAL;
    }
    fd_close(tree->at);
    tree->at = fd;
    return STEP_DOWN;
}

/* From a directory that is done to the one above it, and removes the one that was left. */
static enum step go_up(struct tree *tree)
{
    const struct level *above = &tree->levels[tree->depth - 2];
    const char *name = tree->names + top(tree)->name;
    struct stat st;
    int fd = openat(tree->at, "..", O_RDONLY | OPEN_DIRECTORY);

    if (fd < 0 || fstat(fd, &st) != 0 || st.st_dev != above->device || st.st_ino != above->inode) {
        fd_close(fd);
        return STEP_RESTART; /* moved meanwhile: whatever is above now was not opened by us */
    }
    fd_close(tree->at);
    tree->at = fd;
    tree->names_length = top(tree)->name;
    tree->depth--;
    if (unlinkat(fd, name, AT_REMOVEDIR) == 0) {
        tree->sweep->removed++;
        top(tree)->progress = true;
    } else if (errno != ENOENT && errno != ENOTDIR && errno != ENOTEMPTY && errno != EEXIST) {
        note_left(tree, name, errno, NULL);
    }
    if (lseek(fd, top(tree)->offset, SEEK_SET) < 0) {
        note_left(tree, name, errno, NULL);
        return STEP_FATAL;
    }
    return STEP_ON;
}

/* --- one directory ------------------------------------------------------------------------------------- */

/* Removes what NAME is now. A directory is always tried with rmdir first: a mount point answers EBUSY to
 * that, and so is never entered, whatever it is mounted from. Return: 0 or errno. */
static int remove_name(int at, const char *name, bool directory)
{
    int errnum;

    if (unlinkat(at, name, directory ? AT_REMOVEDIR : 0) == 0)
        return 0;
    errnum = errno;
    if (directory || (errnum != EISDIR && errnum != EPERM))
        return errnum;
    if (unlinkat(at, name, AT_REMOVEDIR) == 0) /* the listing did not say what it is, or it was swapped */
        return 0;
    return errno == ENOTDIR ? errnum : errno;
}

static enum step remove_entry(struct tree *tree, const struct kernel_dirent *entry)
{
    int errnum;

    if (over_entries(tree))
        return STEP_BOUND;
    errnum = remove_name(tree->at, entry->name, entry->type == LISTED_DIRECTORY);
    switch (errnum) {
    case 0:
        tree->sweep->removed++;
        top(tree)->progress = true;
        return STEP_ON;
    case ENOENT:
        return STEP_ON;
    case ENOTDIR: /* it was a directory when it was listed */
        top(tree)->progress = true;
        return STEP_ON;
    case ENOTEMPTY:
    case EEXIST:
        return go_down(tree, entry->name, entry->offset);
    default:
        note_left(tree, entry->name, errnum, NULL);
        return STEP_ON;
    }
}

/* Works through the listing of where the walk stands, from where its descriptor stands. */
static enum step work(struct tree *tree)
{
    static _Alignas(struct kernel_dirent) char entries[32768];
    const struct kernel_dirent *entry;

    for (;;) {
        long size = listing_read(tree->at, entries, sizeof(entries));

        if (over_time(tree))
            return STEP_BOUND;
        if (size < 0) {
            note_left(tree, tree->names + top(tree)->name, (int)-size, NULL);
            return tree->depth > 1 ? STEP_ON : STEP_FATAL;
        }
        if (size == 0) {
            if (!top(tree)->progress)
                return STEP_ON;
            top(tree)->progress = false; /* once more: a listing that shrinks may skip names */
            if (lseek(tree->at, 0, SEEK_SET) < 0)
                return STEP_FATAL;
            continue;
        }
        for (long at = 0; (entry = listing_next(entries, size, &at));) {
            enum step step = remove_entry(tree, entry);

            if (step != STEP_ON)
                return step;
        }
    }
}

static int see_entry(int at)
{
    static _Alignas(struct kernel_dirent) char entries[4096];
    long size;

    if (lseek(at, 0, SEEK_SET) < 0)
        return -errno;
    while ((size = listing_read(at, entries, sizeof(entries))) > 0)
        if (listing_next(entries, size, &(long){0}))
            return 1;
    return (int)size;
}

static enum sweep_end walk(struct tree *tree)
{
    enum step step = restart(tree);

    for (;;) {
        if (step == STEP_ON || step == STEP_DOWN)
            step = work(tree);
        if (step == STEP_ON && tree->depth > 1)
            step = go_up(tree);
        else if (step == STEP_ON)
            break; /* the root, and a pass that removed nothing */
        if (step == STEP_RESTART)
            step = over_time(tree) ? STEP_BOUND : restart(tree);
        if (step == STEP_BOUND)
            return SWEEP_BOUND;
        if (step == STEP_FATAL)
            return SWEEP_FAILED;
    }
    switch (see_entry(tree->at)) {
    case 0:
        return SWEEP_EMPTY;
    case 1:
        note_left(tree, ".", 0, "names appeared while they were removed");
        return SWEEP_FAILED;
    default:
        note_left(tree, ".", EIO, NULL);
        return SWEEP_FAILED;
    }
}

enum sweep_end sweep_remove(int directory, struct sweep *sweep)
{
    struct tree tree = {.sweep = sweep, .root = directory, .at = -1};
    enum sweep_end end;

    sweep->removed = 0;
    sweep->left_errno = 0;
    sweep->left_why = sweep->bound = NULL;
    tree.start = clock_ms(CLOCK_MONOTONIC);
    end = walk(&tree);
    fd_close(tree.at);
    free(tree.levels);
    free(tree.names);
    return end;
}
