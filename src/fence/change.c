/*
 * change.c - names that are made, removed and changed in directories that are open.
 *
 * What is decided on is a name in a directory: the directory is open and stays the one that was decided on,
 * and a link of that name is itself what is meant. What is found there is asked about as well, so that a
 * hidden or a protected object does not go by another name of it.
 *
 * Should:  begin anew if what is there has become another kind of thing.
 */
#include "fence/fence.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A name in a directory, and what is there. */
struct entry_at {
    struct fence_object object;
    char name[OBSERVE_PATH];
    bool slash; /* one stood behind it: it has to be a directory */
};

#define ENTRY_NONE                                                                                           \
    {                                                                                                        \
        .object = FENCE_OBJECT_NONE                                                                          \
    }

/* Return: 0; -EAGAIN: once more; -ECANCELED: refused, @answer says so; or another -errno. */
static int find_entry(const struct fence *fence, const char *path, struct entry_at *entry,
                      struct fence_answer *answer)
{
    struct fence_object *object = &entry->object;
    int r = fence_entry(fence, path, object, entry->name, &entry->slash, answer);

    if (r < 0)
        return r;
    object->fd = openat(object->parent, entry->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (object->fd < 0)
        return errno == ENOENT ? 0 : -errno;
    return fstat(object->fd, &object->st) == 0 ? 0 : -errno;
}

/* Why it cannot be what is to go: 0: it can. */
static int look_at(const struct entry_at *entry)
{
    if (entry->object.fd < 0)
        return -ENOENT;
    return entry->slash && !S_ISDIR(entry->object.st.st_mode) ? -ENOTDIR : 0;
}

static int refused(const struct fence_answer *answer)
{
    return answer->denied ? -ECANCELED : -answer->errnum;
}

static int make_directory(const struct fence *fence, const struct fence_change *change,
                          struct fence_answer *answer)
{
    struct entry_at entry = ENTRY_NONE;
    int r = find_entry(fence, change->path, &entry, answer);

    if (r == 0 && !fence_allows(fence, &entry.object, DENIAL_CREATE, answer))
        r = refused(answer);
    if (r == 0 && mkdirat(entry.object.parent, entry.name, change->mode) != 0)
        r = -errno;
    fence_release(&entry.object);
    return r;
}

static int remove_entry(const struct fence *fence, const struct fence_change *change,
                        struct fence_answer *answer)
{
    struct entry_at entry = ENTRY_NONE;
    int r = find_entry(fence, change->path, &entry, answer);
    bool directory;

    if (r == 0 && !fence_allows(fence, &entry.object, DENIAL_REMOVE, answer))
        r = refused(answer);
    if (r == 0)
        r = look_at(&entry);
    directory = r == 0 && S_ISDIR(entry.object.st.st_mode);
    if (r == 0 && unlinkat(entry.object.parent, entry.name, directory ? AT_REMOVEDIR : 0) != 0)
        r = errno == (directory ? ENOTDIR : EISDIR) ? -EAGAIN : -errno;
    fence_release(&entry.object);
    return r;
}

static int rename_entry(const struct fence *fence, const struct fence_change *change,
                        struct fence_answer *answer)
{
    struct entry_at from = ENTRY_NONE, to = ENTRY_NONE;
    int r = find_entry(fence, change->path, &from, answer);

    if (r == 0 && !fence_allows(fence, &from.object, DENIAL_RENAME, answer))
        r = refused(answer);
    if (r == 0)
        r = look_at(&from);
    if (r == 0)
        r = find_entry(fence, change->to, &to, answer);
    to.object.arrives = true;
    if (r == 0 && !fence_allows(fence, &to.object, DENIAL_RENAME, answer))
        r = refused(answer);
    if (r == 0 && to.slash && !S_ISDIR(from.object.st.st_mode))
        r = -ENOTDIR;
    if (r == 0 && renameat(from.object.parent, from.name, to.object.parent, to.name) != 0)
        r = -errno;
    fence_release(&from.object);
    fence_release(&to.object);
    return r;
}

static int (*const acts[])(const struct fence *, const struct fence_change *, struct fence_answer *) = {
    [FENCE_MAKE_DIRECTORY] = make_directory,
    [FENCE_REMOVE] = remove_entry,
    [FENCE_RENAME] = rename_entry,
};

void fence_change(const struct fence *fence, const struct fence_change *change, struct fence_answer *answer)
{
    int r = -EAGAIN;

    for (int tries = 0; tries < FENCE_TRIES && r == -EAGAIN; tries++) {
        *answer = (struct fence_answer){.fd = -1};
        r = acts[change->act](fence, change, answer);
    }
    if (r < 0 && !answer->denied)
        answer->errnum = -r;
}
