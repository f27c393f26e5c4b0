/* survey-world.c - see survey-world.h. */
#include "survey-world.h"

#include <sys/vfs.h>

#define SETTLED_MS 2700 /* then a directory counts as left alone */

static const uint64_t walked_ahead[] = {0x01021994, 0xef53, 0x794c7630}; /* tmpfs, ext4, overlayfs */

int tree = -1;
int go[2] = {-1, -1};

void make_directory(const char *name)
{
    need(mkdirat(tree, name, 0755) == 0);
}

void put(const char *name, const char *text)
{
    int fd = openat(tree, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0755);

    need(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && close(fd) == 0);
}

int open_top(void)
{
    int top = open(test_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct statfs status;

    need(top >= 0 && pipe2(go, O_CLOEXEC) == 0 && fstatfs(top, &status) == 0);
    for (size_t i = 0; i < ARRAY_SIZE(walked_ahead); i++)
        if ((uint64_t)status.f_type == walked_ahead[i])
            return top;
    test_skip("nobody has seen that trees are walked ahead on this file system");
}

struct timespec clock_of_files(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return now;
}

int64_t passed_ms(const struct timespec *from)
{
    const struct timespec now = clock_of_files();

    return (now.tv_sec - from->tv_sec) * 1000 + (now.tv_nsec - from->tv_nsec) / 1000000;
}

void let_settle(void)
{
    const struct timespec made = clock_of_files();

    while (passed_ms(&made) < SETTLED_MS)
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

static int found(void *data, const char *kind, const char *path, const char *runs, const char *detail)
{
    (void)runs;
    text_addf(data, "%s %s %s\n", kind, path, detail);
    return 0;
}

static struct look_root root;

void prepare(struct answer *answer, int fd, const struct timespec *since)
{
    static struct look prepared = {.home = "/tree"}; /* once for a process */

    need(prepared.names || look_prepare(&prepared) == 0);
    root = (struct look_root){.fd = fd, .path = "/tree"};
    answer->look = (struct look){.roots = &root,
                                 .root_count = 1,
                                 .since = *since,
                                 .found = found,
                                 .data = &answer->text,
                                 .names = prepared.names};
}

void look_at(struct answer *answer, int fd, const struct timespec *since, const struct survey *survey)
{
    prepare(answer, fd, since);
    answer->look.survey = survey;
    /* The walk reads on from where the descriptor stands: behind a survey, where that has left it. */
    need(survey || lseek(fd, 0, SEEK_SET) == 0);
    need(look_trees(&answer->look) == 0);
}

bool check_same(const struct answer *with, const struct answer *without)
{
    const char *one = with->text.data ? with->text.data : "",
               *other = without->text.data ? without->text.data : "";

    return check_str(one, other) && check_int(with->look.closed, without->look.closed) &&
           check(text_same(with->look.bound, without->look.bound));
}

void forget(struct answer *answer)
{
    text_free(&answer->text);
}

int lines(const struct answer *answer)
{
    int count = 0;

    for (size_t i = 0; i < answer->text.length; i++)
        count += answer->text.data[i] == '\n';
    return count;
}
