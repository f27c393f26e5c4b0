/*
 * hide-run.c - make file contents unreadable, where no mount can hide them.
 *
 *     hide-run --level DIR [--except NAME]... [--level DIR ...]... [--show PATH]... -- COMMAND [ARG]...
 *
 * Landlock allows, it cannot deny below what is allowed. So a layer of its own
 * handles READ_FILE and grants it on every sibling of what is hidden, level by
 * level from the root down: an ancestor of a deeper level is itself an
 * exception of its level. Names stay visible, contents do not; a name that
 * comes later beside a hidden one is unreadable as well.
 *
 * Handling one file right takes renames and links across directories away
 * (EXDEV) unless REFER is handled and granted: it is, on `/`. (Below ABI 2 the
 * kernel has no such right and refuses these renames in any case.)
 *
 * --show PATH: an object that stays readable although it lies in an exception,
 * such as the few device nodes of a /dev that is hidden as a whole.
 *
 * The entries are listed here and not where the run is planned: hundreds of
 * descriptors would have to cross the chain.
 *
 * Should:  grant objects, never names: each entry is opened without following
 *          a link, and what is granted is what was opened.
 * Mustn't: grant through a symbolic link (it may lead to what is hidden), or
 *          grant an object that is an exception elsewhere under another name.
 */
#include "control.h"
#include "domain.h"

#include <dirent.h>
#include <sys/stat.h>

#define LEVELS_MAX     64
#define EXCEPTIONS_MAX 1024
#define SHOWN_MAX      1024
#define ENTRIES_MAX    4096 /* each costs 3 to 5 us; more than that is not a plan */

#define SINCE_REFER 2

struct level {
    const char *path;
    int fd;
    size_t first; /* its exceptions */
    size_t count;
    bool shown; /* an entry of it was opened, and seen to be what was opened */
};

struct exception {
    const char *name;
    dev_t device;
    ino_t inode;
    bool present;
    bool readable; /* a regular file that could be opened before: the pair's first half */
};

struct hide {
    size_t level_count;
    size_t exception_count;
    size_t entry_count;
    size_t shown_count;
    struct level level[LEVELS_MAX];
    struct exception exception[EXCEPTIONS_MAX];
};

static char **parse_options(const struct chain *chain, struct hide *hide)
{
    size_t at = 1;

    while (chain->argv[at]) {
        const char *value;

        if (chain_option(chain, &at, "--level", &value)) {
            if (hide->level_count == LEVELS_MAX)
                chain_fatal(chain, "--level", "usage: at most 64 levels");
            hide->level[hide->level_count++] = (struct level){.path = value, .first = hide->exception_count};
        } else if (chain_option(chain, &at, "--except", &value)) {
            if (hide->level_count == 0)
                chain_fatal(chain, "--except", "usage: must follow its --level");
            if (!*value || strchr(value, '/') || strcmp(value, ".") == 0 || strcmp(value, "..") == 0)
                chain_fatal(chain, value, "usage: --except takes the name of one entry, not a path");
            if (hide->exception_count == EXCEPTIONS_MAX)
                chain_fatal(chain, "--except", "usage: at most 1024 exceptions");
            hide->exception[hide->exception_count++].name = value;
            hide->level[hide->level_count - 1].count++;
        } else if (chain_option(chain, &at, "--show", &value)) {
            if (hide->shown_count == SHOWN_MAX)
                chain_fatal(chain, "--show", "usage: at most 1024 paths");
            hide->shown_count++;
        } else {
            break;
        }
    }
    if (hide->level_count == 0)
        chain_fatal(chain, "--level", "usage: at least one is needed");
    return chain_command(chain, at);
}

/* Opens NAME for reading and closes it again, never waiting. Return: 0 or -errno. */
static int try_read(int level, const char *name)
{
    int fd = openat(level, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    close(fd);
    return 0;
}

/* Opens a level for listing. Through a descriptor that stands for its path, and not through /proc, which
 * makes three objects for each process that looks itself up there: a tenth of this link's time. Return: a
 * descriptor or -errno. */
static int open_directory(const char *path)
{
    int named = domain_number(path), fd;

    if (named >= 0)
        fd = openat(named, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    else
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Opens every level and learns which objects its exceptions are. One that is absent has nothing to be
 * granted. */
static void open_levels(const struct chain *chain, struct hide *hide)
{
    for (size_t i = 0; i < hide->level_count; i++) {
        struct level *level = &hide->level[i];

        level->fd = open_directory(level->path);
        if (level->fd < 0)
            chain_fatal_errno(chain, level->path, -level->fd);
        for (size_t k = level->first; k < level->first + level->count; k++) {
            struct exception *exception = &hide->exception[k];
            struct stat st = {0};

            if (fstatat(level->fd, exception->name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
                if (errno == ENOENT)
                    continue;
                chain_fatal_errno(chain, exception->name, errno);
            }
            exception->present = true;
            exception->device = st.st_dev;
            exception->inode = st.st_ino;
            exception->readable = S_ISREG(st.st_mode) && try_read(level->fd, exception->name) == 0;
        }
    }
}

static bool is_exception(const struct hide *hide, const struct stat *st)
{
    for (size_t i = 0; i < hide->exception_count; i++)
        if (hide->exception[i].present && hide->exception[i].inode == st->st_ino &&
            hide->exception[i].device == st->st_dev)
            return true;
    return false;
}

static bool is_excepted_name(const struct hide *hide, const struct level *level, const char *name)
{
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return true;
    for (size_t i = level->first; i < level->first + level->count; i++)
        if (strcmp(hide->exception[i].name, name) == 0)
            return true;
    return false;
}

/* A faked open answers with a descriptor that is something else; ours is known by its O_PATH. What fakes it
 * is a filter, which sees the level and the flags but not the name: so it is asked once for each level. */
static void grant_entry(const struct chain *chain, struct hide *hide, struct level *level, int ruleset,
                        const char *name)
{
    struct stat st = {0};
    int fd;

    if (++hide->entry_count > ENTRIES_MAX)
        chain_fatal(chain, level->path, "more than 4096 entries beside what is hidden");
    fd = openat(level->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        if (errno == ENOENT)
            return; /* gone since it was listed */
        chain_fatal_errno(chain, name, errno);
    }
    if (fstat(fd, &st) != 0)
        chain_fatal_errno(chain, name, errno);
    if (st.st_mode == 0 || (!level->shown && !is_path_descriptor(fd)))
        chain_fatal(chain, name, "the kernel reported success but did not open it");
    level->shown = true;
    if (!S_ISLNK(st.st_mode) && !is_exception(hide, &st))
        domain_allow(chain, ruleset, fd, LANDLOCK_FS_READ_FILE, name);
    close(fd);
}

static void grant_level(const struct chain *chain, struct hide *hide, struct level *level, int ruleset)
{
    char records[4096] __attribute__((aligned(8))); /* of a stack that was used before: no page of its own */
    long size;

    while ((size = kernel_call(SYS_getdents64, level->fd, KERNEL_PTR(records), sizeof(records), 0, 0, 0)) >
           0) {
        for (long at = 0; at < size;) {
            const struct kernel_dirent *entry = (const struct kernel_dirent *)(const void *)(records + at);

            /* NOLINTNEXTLINE: the kernel has written SIZE bytes */
            if (entry->size < sizeof(*entry) || entry->size > size - at)
                chain_fatal(chain, level->path, "the kernel answered a malformed listing");
            at += entry->size;
            if (entry->type != DT_LNK && !is_excepted_name(hide, level, entry->name))
                grant_entry(chain, hide, level, ruleset, entry->name);
        }
    }
    if (size < 0)
        chain_fatal_errno(chain, level->path, (int)-size);
}

/* The second half of the pair on hidden files themselves: what could be read must be refused. One that is
 * gone meanwhile shows nothing; the control child has. */
static void check_hidden(const struct chain *chain, const struct hide *hide)
{
    for (size_t i = 0; i < hide->level_count; i++) {
        const struct level *level = &hide->level[i];

        for (size_t k = level->first; k < level->first + level->count; k++) {
            int error = hide->exception[k].readable ? try_read(level->fd, hide->exception[k].name) : -EACCES;

            if (error == 0)
                chain_fatal(chain, hide->exception[k].name, "can still be read");
            if (error != -EACCES && error != -ENOENT)
                chain_fatal_errno(chain, hide->exception[k].name, -error);
        }
        close(level->fd);
    }
}

static void grant_path(const struct chain *chain, int ruleset, const char *path, uint64_t access)
{
    int fd = domain_open(chain, path);

    domain_allow(chain, ruleset, fd, access, path);
    domain_close(fd, path);
}

/* Once more through the options, now for what is shown: a list of them would take a page more. */
static void grant_shown(const struct chain *chain, int ruleset)
{
    size_t at = 1;

    while (chain->argv[at]) {
        const char *value;

        if (chain_option(chain, &at, "--show", &value))
            grant_path(chain, ruleset, value, LANDLOCK_FS_READ_FILE);
        else if (!chain_option(chain, &at, "--level", &value) &&
                 !chain_option(chain, &at, "--except", &value))
            break;
    }
}

/*
 * hide_run() - the link; see the head of this file.
 *
 * Return: never, but through a fused next link.
 */
int hide_run(struct chain *chain)
{
    static struct hide hide;
    struct landlock_ruleset_attr attr = {.handled_access_fs = LANDLOCK_FS_READ_FILE};
    struct control control;
    char **command;
    int ruleset, abi;

    chain_set_dumpable(chain, false);
    hide.level_count =
        0; /* a page that is first read is given twice: as one of zeros, and when it is written */
    command = parse_options(chain, &hide);
    abi = domain_abi(chain);
    if (abi >= SINCE_REFER)
        attr.handled_access_fs |= LANDLOCK_FS_REFER;
    ruleset = domain_ruleset(chain, &attr);
    control_start(chain, &control);
    if (attr.handled_access_fs & LANDLOCK_FS_REFER)
        grant_path(chain, ruleset, "/", LANDLOCK_FS_REFER);
    grant_shown(chain, ruleset);
    open_levels(chain, &hide);
    for (size_t i = 0; i < hide.level_count; i++)
        grant_level(chain, &hide, &hide.level[i], ruleset);
    control_show(chain, &control);
    domain_enter(chain, ruleset, abi);
    control_restricted(chain, &control);
    check_hidden(chain, &hide);
    control_end(chain, &control);
    return chain_hand_over(chain, command);
}

LINK_MAIN("hide-run", hide_run)
