/*
 * planted.c - what a command wrote that runs later outside: the supervisor's side.
 *
 * The trees are hostile, so nobody with the supervisor's rights reads them: confine-sweep does, behind a wall
 * of its own, with the trees readable and nothing else. What it says is four texts a finding, held to what
 * such a program can honestly say before any of it gets into the report.
 *
 * With `--planted quarantine` it may write there as well, and moves what it found.
 * It is started while the chain is, and waits: at the end of a run everybody waits for it. Its findings are
 * whole when it has closed their pipe; it ends while the supervisor clears up and reports.
 *
 * Should:  cost nothing but a few calls before the command starts.
 * Mustn't: hold up the end for long, or fail a run that has ended well.
 */
#include "run/planted.h"

#include "kernel/children.h"
#include "run/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS       "2" /* of the look itself */
#define ENTRIES       "4000000"
#define PATIENCE_MS   4000 /* then it is ended */
#define OUTPUT_MOST   8000000
#define SETTINGS_MOST (1 << 20) /* bytes of a repository's settings */
#define TEXTS         4         /* of a finding */

static const char *const kinds[] = {"named", "git-hook", "git-setting", "git-file", "git-attributes"};

/* Of those, none lies in another: of nested grants, resolving kept the outermost. */
static bool is_tree(const struct resolved_path *path)
{
    return path->grant == GRANT_WRITE && !path->implied && (S_ISDIR(path->type) || S_ISREG(path->type));
}

/* --- before -----------------------------------------------------------------------------------------------
 */

/* A copy of the settings NAME in DIRECTORY, whose path is PATH. What is not there, or odd, is not kept: then
 * everything in it counts as new. */
static int keep_settings(struct planted_look *planted, int directory, const char *path, const char *name)
{
    _cleanup_fd_ int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    _cleanup_fd_ int copy = -1;
    struct stat status;
    ssize_t copied;

    if (fd < 0 || planted->before_count == PLANTED_BEFORE || fstat(fd, &status) != 0 ||
        !S_ISREG(status.st_mode) || status.st_size > SETTINGS_MOST)
        return 0;
    copy = memfd_create("confine-settings", MFD_CLOEXEC);
    if (copy < 0)
        return -errno;
    for (off_t left = status.st_size; left > 0; left -= copied) {
        char piece[16384];

        copied = read(fd, piece, sizeof(piece));
        if (copied <= 0)
            break;
        if (write(copy, piece, (size_t)copied) != copied)
            return -EIO;
    }
    planted->path[planted->before_count] = text_join(strcmp(path, "/") == 0 ? "" : path, "/", name, NULL);
    if (!planted->path[planted->before_count])
        return -ENOMEM;
    planted->before[planted->before_count++] = steal_fd(&copy);
    return 0;
}

/* Which directory has this name: one that is moved there has files that are older. */
static int keep_directory(struct planted_look *planted, int directory, const char *path, const char *name)
{
    int fd = planted->before_count == PLANTED_BEFORE
                 ? -1
                 : openat(directory, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return 0;
    planted->path[planted->before_count] = text_join(strcmp(path, "/") == 0 ? "" : path, "/", name, NULL);
    if (!planted->path[planted->before_count]) {
        fd_close(fd);
        return -ENOMEM;
    }
    planted->before[planted->before_count++] = fd;
    return 0;
}

static int keep_repository(struct planted_look *planted, int directory, const char *path)
{
    int r = keep_settings(planted, directory, path, "config");

    if (r == 0)
        r = keep_settings(planted, directory, path, "config.worktree");
    if (r == 0)
        r = keep_directory(planted, directory, path, "info");
    return r ? r : keep_directory(planted, directory, path, "hooks");
}

/* Of the repository that a writable tree has at its top, or is. */
static int keep_tree(struct planted_look *planted, const struct resolved_path *tree)
{
    _cleanup_fd_ int git = openat(tree->fd, ".git", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    _cleanup_free_ char *path = NULL;

    if (git < 0)
        return faccessat(tree->fd, "HEAD", F_OK, AT_SYMLINK_NOFOLLOW) == 0
                   ? keep_repository(planted, tree->fd, tree->path)
                   : 0;
    path = text_join(tree->path, "/.git", NULL);
    return path ? keep_repository(planted, git, path) : -ENOMEM;
}

/* Is it certain that no directory lies right in this one? These file systems count each as a link to it. */
static bool has_no_directory(int fd)
{
    static const uint32_t counting[] = {0xef53 /* ext4 */, 0x58465342 /* xfs */, 0x01021994 /* tmpfs */};
    struct statfs where;
    struct stat status;
    size_t i = 0;

    if (fstat(fd, &status) != 0 || status.st_nlink != 2 || fstatfs(fd, &where) != 0)
        return false;
    while (i < ARRAY_SIZE(counting) && (uint32_t)where.f_type != counting[i])
        i++;
    return i < ARRAY_SIZE(counting);
}

/* Right in TREE, those that have something of @runs-later in them, or in which all is of it. In others it is
 * told by the times. */
static int keep_directories(struct planted_look *planted, const struct resolved *resolved,
                            const struct resolved_path *tree)
{
    const bool home = resolved->home && strcmp(resolved->home, tree->path) == 0;
    char name[NAME_MAX + 1], last[NAME_MAX + 1] = "";
    int r = 0;

    if (has_no_directory(tree->fd))
        return 0;
    for (const struct set_item *item = set_by_name("@runs-later")->items; item->value && r == 0; item++) {
        if (item->value[0] != '.' && !(home && item->value[0] == '~'))
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(item->value + 2, "/"), item->value + 2);
        if (strcmp(name, last) == 0) /* they stand together */
            continue;
        memcpy(last, name, sizeof(last));
        r = keep_directory(planted, tree->fd, tree->path, name);
    }
    return r;
}

/* As far as trees are looked at: what is kept of another is never compared. Settings first, as long as there
 * is room. */
static int keep_trees(struct planted_look *planted, const struct resolved *resolved, bool directories)
{
    int r = 0;

    for (size_t i = 0, trees = 0; i < resolved->path_count && trees < PLANTED_ROOTS && r == 0; i++) {
        const struct resolved_path *tree = &resolved->paths[i];

        if (!is_tree(tree))
            continue;
        trees++;
        if (S_ISDIR(tree->type))
            r = directories ? keep_directories(planted, resolved, tree) : keep_tree(planted, tree);
    }
    return r;
}

int planted_begin(struct planted_look *planted, const struct resolved *resolved, int landlock_abi)
{
    int r = 0;

    *planted = (struct planted_look){.go = -1, .said = -1};
    if (resolved->mode != MODE_WORKSPACE_WRITE)
        return 0;
    planted->wanted = true;
    if (landlock_abi == 0)
        planted->impossible = "no-landlock";
    /* The clock that the kernel stamps files by: it may stand a tick behind the other one. */
    clock_gettime(CLOCK_REALTIME_COARSE, &planted->since);
    if (!planted->impossible)
        r = keep_trees(planted, resolved, false);
    return r == 0 && !planted->impossible ? keep_trees(planted, resolved, true) : r;
}

/* --- after ------------------------------------------------------------------------------------------------
 */

/* What confine-sweep is started with. */
struct looking {
    struct strings words;
    int trees[PLANTED_ROOTS];
    size_t tree_count;
    bool more; /* trees than that */
};

static int add_number(struct strings *words, int number)
{
    return strings_addf(words, "%d", number);
}

static int add_trees(struct looking *looking, const struct resolved *resolved)
{
    for (size_t i = 0; i < resolved->path_count; i++) {
        const struct resolved_path *path = &resolved->paths[i];
        int fd;

        if (!is_tree(path))
            continue;
        if (looking->tree_count == PLANTED_ROOTS) {
            looking->more = true;
            break;
        }
        fd = S_ISDIR(path->type) ? openat(path->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                                 : fd_copy(path->fd, 3);
        if (fd < 0)
            return -errno;
        looking->trees[looking->tree_count++] = fd;
        if (strings_add(&looking->words, "--root") < 0 || add_number(&looking->words, fd) < 0 ||
            strings_add(&looking->words, path->path) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int add_words(struct looking *looking, const struct planted_look *planted,
                     const struct resolved *resolved)
{
    struct strings *words = &looking->words;
    int r = strings_add(words, "look") ?: strings_add(words, "--wait");

    if (r == 0)
        r = strings_add(words, "--since");
    if (r == 0)
        r = strings_addf(words, "%lld.%ld", (long long)planted->since.tv_sec, planted->since.tv_nsec);
    if (r == 0)
        r = strings_add(words, "--seconds") ?: strings_add(words, SECONDS);
    if (r == 0)
        r = strings_add(words, "--entries") ?: strings_add(words, ENTRIES);
    if (r == 0 && resolved->home && resolved->home[0] == '/')
        r = strings_add(words, "--home") ?: strings_add(words, resolved->home);
    if (r == 0 && planted->aside)
        r = strings_add(words, "--aside") ?: strings_addf(words, "%.12s", planted->aside);
    for (size_t i = 0; i < planted->before_count && r == 0; i++)
        r = strings_add(words, "--before") ?: add_number(words, planted->before[i])
            ?: strings_add(words, planted->path[i]);
    return r ? r : add_trees(looking, resolved);
}

/* Everything that comes out of FD, as long as it does not take too long. Return: 0, or -errno. */
static int read_findings(int fd, struct text *text)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    int64_t until = clock_ms(CLOCK_MONOTONIC) + PATIENCE_MS;

    for (;;) {
        int64_t left = until - clock_ms(CLOCK_MONOTONIC);
        char piece[16384];
        ssize_t length;

        if (left <= 0 || poll(&poll_fd, 1, (int)left) == 0)
            return -ETIMEDOUT;
        length = read(fd, piece, sizeof(piece));
        if (length < 0 && errno == EINTR)
            continue;
        if (length <= 0)
            return length < 0 ? -errno : 0;
        text_add_bytes(text, piece, (size_t)length);
        if (text->failed || text->length > OUTPUT_MOST)
            return -EFBIG;
    }
}

/* Its word for why it did not see everything, as one of ours. NULL: it did; "odd": no such word. */
static const char *bound_of(const char *word, const char *closed)
{
    static const char *const bounds[] = {"entries", "seconds", "depth", "findings"};

    for (size_t i = 0; i < ARRAY_SIZE(bounds); i++)
        if (strcmp(word, bounds[i]) == 0)
            return bounds[i];
    if (word[0])
        return "odd-answer";
    return strcmp(closed, "0") == 0 ? NULL : "unreadable-directories";
}

static bool known_kind(const char *kind)
{
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (strcmp(kinds[i], kind) == 0)
            return true;
    return false;
}

static bool take_finding(struct planted_list *list, char *const texts[TEXTS])
{
    struct planted_item *item;

    if (!known_kind(texts[0]) || texts[1][0] != '/' ||
        !array_more(&list->items, list->count, sizeof(*list->items)))
        return false;
    item = &list->items[list->count];
    *item = (struct planted_item){.kind = strdup(texts[0]),
                                  .path = strdup(texts[1]),
                                  .runs = strdup(texts[2]),
                                  .detail = strdup(texts[3])};
    list->count++;
    return item->kind && item->path && item->runs && item->detail;
}

/* `moved`, the number of a finding, where it is now, why it is still there. */
static bool take_move(struct planted_list *list, char *const texts[TEXTS])
{
    char *end;
    unsigned long index = strtoul(texts[1], &end, 10);
    struct planted_item *item = index < list->count ? &list->items[index] : NULL;

    if (texts[1][0] < '0' || texts[1][0] > '9' || *end || !item || item->moved || item->stays)
        return false;
    if (texts[2][0] == '/')
        item->moved = strdup(texts[2]);
    else
        item->stays = strdup(texts[3]);
    return item->moved || item->stays;
}

/* Settings of one file go together, with the first of them. */
static bool share_moves(struct planted_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        for (size_t j = 0; j < i && !list->items[i].moved && !list->items[i].stays; j++)
            if (list->items[j].moved && strcmp(list->items[j].path, list->items[i].path) == 0) {
                list->items[i].moved = strdup(list->items[j].moved);
                if (!list->items[i].moved)
                    return false;
            }
    return true;
}

/* Return: why it is not all; NULL: it is. */
static const char *take_findings(struct planted_list *list, const struct text *text)
{
    char *at = text->data, *end = text->data ? text->data + text->length : NULL;

    while (at < end) {
        char *texts[TEXTS];

        for (size_t i = 0; i < TEXTS; i++) {
            char *stop = at < end ? memchr(at, '\0', (size_t)(end - at)) : NULL;

            if (!stop)
                return "odd-answer";
            texts[i] = at;
            at = stop + 1;
        }
        if (strcmp(texts[0], "end") == 0)
            return at == end && share_moves(list) ? bound_of(texts[1], texts[2]) : "odd-answer";
        if (strcmp(texts[0], "moved") == 0 ? !take_move(list, texts) : !take_finding(list, texts))
            return "odd-answer";
    }
    return "ended-early";
}

/* Takes over whatever it opens. Return: its pid, or -errno. */
static pid_t start(const struct planted_look *planted, const struct resolved *resolved,
                   struct looking *looking, int in, int out)
{
    struct error error = {0};
    struct helper helper = {.program = "confine-sweep",
                            .words = (const char *const *)looking->words.items,
                            .walled = true,
                            .readable = looking->trees,
                            .readable_count = looking->tree_count,
                            .keep = planted->before,
                            .keep_count = planted->before_count,
                            .standard = {in, out, -1},
                            .uid = resolved->uid,
                            .gid = resolved->gid};
    _cleanup_fd_ int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (nothing < 0)
        return -errno;
    helper.standard[2] = nothing;
    return helper_start(&helper, resolved, &error);
}

void planted_start(struct planted_look *planted, const struct resolved *resolved, const char *run_id)
{
    struct looking looking = {0};
    int in[2] = {-1, -1}, out[2] = {-1, -1};

    if (!planted->wanted || planted->impossible)
        return;
    if (resolved->policy->planted == PLANTED_QUARANTINE)
        planted->aside = run_id;
    if (add_words(&looking, planted, resolved) == 0 && pipe2(in, O_CLOEXEC) == 0 &&
        pipe2(out, O_CLOEXEC) == 0)
        planted->pid = start(planted, resolved, &looking, in[0], out[1]);
    fd_close(in[0]);
    fd_close(out[1]);
    planted->go = in[1];
    planted->said = out[0];
    planted->more = looking.more;
    if (planted->pid > 0)
        children_except(planted->pid);
    for (size_t i = 0; i < looking.tree_count; i++)
        fd_close(looking.trees[i]);
    strings_free(&looking.words);
}

static pid_t ending; /* of the one that has been told to, and is still to be seen gone; 0: none */

void planted_gone(void)
{
    while (ending > 0 && waitpid(ending, NULL, 0) < 0 && errno == EINTR)
        ;
    ending = 0;
}

/* Ends it, unless the tree has reaped it already. How it ended tells nothing: whether it said everything, its
 * last word says. */
static void begin_end(struct planted_look *planted)
{
    if (planted->pid > 0 && children_include(planted->pid) && kill(planted->pid, SIGKILL) == 0)
        ending = planted->pid;
    planted->pid = 0;
}

static int begin(struct planted_look *planted)
{
    if (planted->begun)
        return 0;
    planted->begun = true;
    return write(planted->go, "l", 1) == 1 ? 0 : -errno;
}

/* A write that fails is an end of it, and seen then. */
static void begin_early(void *self)
{
    struct planted_look *planted = self;

    if (planted->pid > 0)
        (void)begin(planted);
}

const struct part_calls planted_part = {.emptied = begin_early};

static const char *look(struct planted_look *planted, struct planted_list *list)
{
    const char *incomplete = "not-started";
    struct text text = {0};
    int r;

    if (planted->pid > 0) {
        r = begin(planted) ?: read_findings(planted->said, &text);
        incomplete = r == -ETIMEDOUT ? "seconds" : r < 0 ? "ended-early" : take_findings(list, &text);
    }
    if (!incomplete && planted->more)
        incomplete = "trees";
    text_free(&text);
    return incomplete;
}

static bool is_before(const struct timespec *one, const struct timespec *two)
{
    return one->tv_sec != two->tv_sec ? one->tv_sec < two->tv_sec : one->tv_nsec < two->tv_nsec;
}

/* What was moved has changed just now: a run that begins in the same tick would find it new, and move it once
 * more, below itself. */
static void let_tick_pass(const struct planted_list *list)
{
    struct timespec moved, tick;
    bool any = false;

    for (size_t i = 0; i < list->count; i++)
        any = any || list->items[i].moved;
    clock_gettime(CLOCK_REALTIME, &moved);
    /* Five times the longest tick there is: a clock that is set back meanwhile is not waited for. */
    for (unsigned i = 0; any && i < 50; i++) {
        clock_gettime(CLOCK_REALTIME_COARSE, &tick);
        if (is_before(&moved, &tick))
            return;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

void planted_look(struct planted_look *planted, struct report *report)
{
    if (!planted->wanted)
        return;
    report->planted.looked = true;
    report->planted.incomplete = planted->impossible ? planted->impossible : look(planted, &report->planted);
    let_tick_pass(&report->planted);
}

void planted_end(struct planted_look *planted)
{
    begin_end(planted);
    planted->said = fd_close(planted->said);
    planted->go = fd_close(planted->go);
    for (size_t i = 0; i < planted->before_count; i++) {
        fd_close(planted->before[i]);
        free(planted->path[i]);
    }
    planted->before_count = 0;
}
