/*
 * namespace_items.c - what was asked for: names, identities, and what lies in what.
 *
 * A mount cannot be cloned through a descriptor of the mount namespace that
 * was left, so a descriptor only tells the name and the object: the name is
 * opened again inside and must lead to the same object, without any link.
 *
 * Should:  end the link when a name leads elsewhere than it did when it was given.
 * Mustn't: close a descriptor that was given: the next link means the same one.
 */
#include "namespace.h"

#include <sys/stat.h>

/* Kinds whose tree decides how what lies in it is treated. */
static bool is_structure(const struct namespace_item *item)
{
    return item->kind != KIND_SOCKET && item->kind != KIND_DEVICE && item->kind != KIND_COPY &&
           item->kind != KIND_UPPER;
}

/* An answer that nobody wrote reads as no object at all. */
static int identify(int fd, struct stat *seen)
{
    memset(seen, 0xff, sizeof(*seen));
    if (fstat(fd, seen) != 0)
        return errno;
    return seen->st_blksize == (blksize_t)-1 ? EIO : 0;
}

/* The name of what FD is open on. The directory is looked up once: a whole link takes twice as long. */
static const char *read_name(struct namespace *ns, const char *word, int fd)
{
    char name[PATH_MAX], number[12], *digit = number + sizeof(number) - 1;
    ssize_t size;
    char *kept;

    if (ns->descriptors < 0)
        ns->descriptors = namespace_open_directory(ns, AT_FDCWD, "/proc/self/fd");
    *digit = '\0';
    do
        *--digit = (char)('0' + fd % 10);
    while ((fd /= 10) > 0);
    size = readlinkat(ns->descriptors, digit, name, sizeof(name));

    if (size < 0)
        chain_fatal_errno(ns->chain, word, errno);
    if ((size_t)size >= sizeof(name) || size == 0 || name[0] != '/')
        chain_fatal(ns->chain, word, "has no absolute name");
    kept = namespace_take(ns, (size_t)size + 1);
    memcpy(kept, name, (size_t)size);
    return kept;
}

/* Can the word be the name that the kernel would say? It has no `.`, no `..` and no empty part. */
static bool is_plain(const char *word)
{
    for (const char *part = word; *part == '/';) {
        size_t length = strcspn(part + 1, "/");

        if (length == 0 || (part[1] == '.' && (length == 1 || (length == 2 && part[2] == '.'))))
            return part == word && !part[1];
        part += 1 + length;
    }
    return true;
}

/* Opens a word, and fills NAME where the word is the name: no link on the way. Return: a descriptor of the
 * caller's, or -errno. */
static int open_word(const char *word, const char **name)
{
    const struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                                 .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    long fd = -ELOOP;

    if (is_plain(word))
        fd = kernel_call(SYS_openat2, AT_FDCWD, KERNEL_PTR(word), KERNEL_PTR(&how), sizeof(how), 0, 0);
    if (fd >= 0)
        *name = word;
    else if (fd == -ELOOP)
        fd = kernel_call(SYS_openat, AT_FDCWD, KERNEL_PTR(word), O_PATH | O_CLOEXEC, 0, 0, 0);
    return (int)fd;
}

/* Return: N where WORD is /proc/self/fd/N, else -1. */
static int given_number(const char *word)
{
    static const char prefix[] = "/proc/self/fd/";
    int fd = 0;

    if (strncmp(word, prefix, sizeof(prefix) - 1) != 0 || !word[sizeof(prefix) - 1])
        return -1;
    for (const char *c = word + sizeof(prefix) - 1; *c; c++) {
        if (*c < '0' || *c > '9' || fd > (INT_MAX - 9) / 10)
            return -1;
        fd = fd * 10 + (*c - '0');
    }
    return fd;
}

/*
 * namespace_add() - one more item, with the name and identity of what WORD leads to now.
 * @kind: what was asked for
 * @word: an absolute name, or /proc/self/fd/N; must outlive the item
 *
 * What is to be hidden by its name (sockets of others, which come and go) may be gone, or lie where this
 * process cannot get, and the command even less.
 *
 * Return: the item, to be completed by the caller; NULL when there is nothing to hide. Ends the link when
 * there is no such object.
 */
struct namespace_item *namespace_add(struct namespace *ns, enum namespace_kind kind, const char *word)
{
    struct namespace_item *item = namespace_take(ns, sizeof(*item));
    int given = given_number(word), fd = given, error;
    const char *name = NULL;
    struct stat seen;

    if (word[0] != '/')
        chain_fatal(ns->chain, word, "usage: not an absolute name");
    for (int tries = 0; given < 0 && fd < 0 && tries < NAMESPACE_TRIES; tries++) {
        fd = open_word(word, &name);
        if (fd >= 0 || kind != KIND_HIDE || (fd != -ENOENT && fd != -ENOTDIR && fd != -EACCES))
            break;
        if (stat(word, &seen) != 0 && errno == -fd) /* two calls say so; else it came back in between */
            return NULL;
    }
    error = fd < 0 ? -fd : identify(fd, &seen);
    if (fd == -ENOSYS)
        namespace_cannot(ns, CANNOT_MOUNT, "openat2", ENOSYS);
    if (error)
        chain_fatal_errno(ns->chain, word, error);
    if (!name)
        name = read_name(ns, word, fd);
    *item = (struct namespace_item){.word = word,
                                    .name = name,
                                    .device = seen.st_dev,
                                    .inode = seen.st_ino,
                                    .mode = seen.st_mode,
                                    .clone = -1,
                                    .lower = -1,
                                    .at = -1,
                                    .shadow = -1,
                                    .part = -1,
                                    .kind = (uint8_t)kind,
                                    .comes = given < 0 && kind == KIND_HIDE};
    item->length = strlen(item->name);
    /* A link here protects another place than the one that is named, and can be replaced itself. */
    if (kind == KIND_PROTECT && given < 0 && strcmp(item->name, word) != 0)
        chain_fatal(ns->chain, word, "usage: a symbolic link leads there, or it was replaced");
    if (item->length == 1 && kind != KIND_RO)
        chain_fatal(ns->chain, word, "usage: not on the root of the whole tree");
    if (given < 0)
        close(fd);
    ns->items[ns->count++] = item;
    return item;
}

static void add_known_place(struct namespace *ns, const char *word, const char *name)
{
    struct namespace_item *item = namespace_take(ns, sizeof(*item));

    *item = (struct namespace_item){.word = word,
                                    .name = name,
                                    .length = strlen(name),
                                    .mode = S_IFDIR,
                                    .clone = -1,
                                    .lower = -1,
                                    .at = -1,
                                    .shadow = -1,
                                    .part = -1,
                                    .kind = KIND_PLACE};
    ns->items[ns->count++] = item;
}

/* A directory that may have another name. */
static void add_place(struct namespace *ns, const char *word, const char *name)
{
    int fd = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 && errno != ENOENT && errno != ENOTDIR)
        chain_fatal_errno(ns->chain, name, errno);
    if (fd < 0)
        return;
    close(fd);
    namespace_add(ns, KIND_PLACE, name)->word = word;
    for (size_t i = 0; i + 1 < ns->count; i++)
        if (ns->items[i]->kind == KIND_PLACE &&
            strcmp(ns->items[i]->name, ns->items[ns->count - 1]->name) == 0) {
            ns->count--;
            return;
        }
}

/*
 * namespace_add_places() - the directories that will be empty and private, where there are such.
 *
 * /dev/shm is one also where the host has none: /dev is ours.
 */
void namespace_add_places(struct namespace *ns)
{
    static const char *const places[][2] = {{"tmp", "/tmp"}, {"run", "/run"}};
    char link[8] = "";

    add_known_place(ns, "shm", "/dev/shm");
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        struct stat seen = {0};

        if (lstat(places[i][1], &seen) == 0 && S_ISDIR(seen.st_mode))
            add_known_place(ns, places[i][0], places[i][1]);
        else
            add_place(ns, places[i][0], places[i][1]);
    }
    /* Nearly everywhere it is another name of /run. */
    if (readlink("/var/run", link, sizeof(link)) != 4 || memcmp(link, "/run", 4) != 0)
        add_place(ns, "var-run", "/var/run");
}

/* namespace_is_below() - Return: whether the item is TREE's directory, or lies in it. */
bool namespace_is_below(const struct namespace_item *item, const struct namespace_item *tree)
{
    if (tree->length == 1)
        return true;
    return item->length >= tree->length && memcmp(item->name, tree->name, tree->length) == 0 &&
           (item->name[tree->length] == '\0' || item->name[tree->length] == '/');
}

/* namespace_is_merged() - Return: whether the item is seen through an overlay, where objects have another
 * identity. */
bool namespace_is_merged(const struct namespace_item *item)
{
    for (const struct namespace_item *above = item->above; above; above = above->above) {
        if (!above->shown)
            continue;
        if (above->kind == KIND_OVERLAY || above->kind == KIND_COVER)
            return true;
        if (above->kind == KIND_RW || above->kind == KIND_RO)
            return false; /* a clone of its own lies over it */
    }
    return false;
}

/* By name, with `/` before every other character: a tree stands right before all that it holds. */
static int compare(const void *left, const void *right)
{
    const struct namespace_item *a = *(struct namespace_item *const *)left;
    const struct namespace_item *b = *(struct namespace_item *const *)right;
    const unsigned char *x = (const unsigned char *)a->name, *y = (const unsigned char *)b->name;

    while (*x && *x == *y) {
        x++;
        y++;
    }
    if (*x == *y)
        return (int)a->kind - (int)b->kind;
    if (*x == '\0' || *y == '\0')
        return *x ? 1 : -1;
    if (*x == '/' || *y == '/')
        return *x == '/' ? -1 : 1;
    return (int)*x - (int)*y;
}

/* Does this kind bring something into the view, so that a hidden directory above must let it be reached? */
static bool is_kept(const struct namespace_item *item)
{
    return item->kind == KIND_RW || item->kind == KIND_RO || item->kind == KIND_SOCKET ||
           item->kind == KIND_OVERLAY;
}

/* namespace_sort() - order the items, and find for each the tree that it lies in. */
void namespace_sort(struct namespace *ns)
{
    struct namespace_item *above = NULL;

    qsort(ns->items, ns->count, sizeof(*ns->items), compare);
    for (size_t i = 0; i < ns->count; i++) {
        struct namespace_item *item = ns->items[i];

        while (above && !namespace_is_below(item, above))
            above = above->above;
        item->above = above;
        if (is_kept(item))
            for (struct namespace_item *tree = above; tree; tree = tree->above)
                if (tree->kind == KIND_HIDE && tree->length < item->length)
                    tree->keeps = true;
        if (is_structure(item))
            above = item;
    }
}

/*
 * namespace_open() - open the item's name as it is seen now.
 * @flags: of open(), O_CLOEXEC is added
 *
 * Return: a descriptor of the caller's, or -errno where the name is not there. Ends the link where it leads
 * to another object than the one that was named.
 */
int namespace_open(const struct namespace *ns, const struct namespace_item *item, int flags)
{
    struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC),
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    int fd =
        (int)kernel_call(SYS_openat2, AT_FDCWD, KERNEL_PTR(item->name), KERNEL_PTR(&how), sizeof(how), 0, 0);
    struct stat seen;
    int error;

    if (fd == -ELOOP)
        chain_fatal(ns->chain, item->name, "was replaced while the view was built");
    if (fd == -ENOSYS) /* as below another confine: its filter cannot see what this call is asked for */
        namespace_cannot(ns, CANNOT_MOUNT, "openat2", ENOSYS);
    if (fd < 0)
        return fd;
    error = identify(fd, &seen);
    if (error)
        chain_fatal_errno(ns->chain, item->name, error);
    if ((seen.st_dev != item->device || seen.st_ino != item->inode) && !item->comes &&
        !namespace_is_merged(item))
        chain_fatal(ns->chain, item->name, "was replaced while the view was built");
    return fd;
}
