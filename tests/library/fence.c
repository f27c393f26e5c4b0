/* fence.c - a program that opens its files by a fence. */
#include "fence_calls.h"

#include <pthread.h>

#define THREADS 8

/* --- what is opened ------------------------------------------------------------------------------------- */

TEST(what_is_granted_is_opened_as_open_would)
{
    struct confine_fence *fence = FENCE(NULL);
    int fd = -1, again = -1;

    put(work, "there", "one");
    check_int(confine_fence_open(fence, "there", O_RDONLY, 0, &fd, NULL), CONFINE_OK);
    check_str(TEXT_OF(fd), "one");
    check_int(fcntl(fd, F_GETFD), FD_CLOEXEC);
    check_int(fcntl(fd, F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_RDONLY);
    close(fd);
    check_int(confine_fence_open(fence, "there", O_WRONLY | O_APPEND, 0, &fd, NULL), CONFINE_OK);
    check_int(write(fd, "two", 3), 3);
    close(fd);
    check_int(confine_fence_open(fence, "there", O_RDWR, 0, &fd, NULL), CONFINE_OK);
    check_str(TEXT_OF(fd), "onetwo");
    check_int(confine_fence_open(fence, "there", O_WRONLY | O_TRUNC, 0, &again, NULL), CONFINE_OK);
    check_str(TEXT_OF(fd), "");
    close(fd);
    close(again);
    check_int(confine_fence_open(fence, "new", O_RDWR | O_CREAT | O_EXCL, 0600, &fd, NULL), CONFINE_OK);
    check_int(confine_fence_open(fence, "new", O_RDWR | O_CREAT, 0600, &again, NULL), CONFINE_OK);
    close(fd);
    close(again);
    check_int(confine_fence_open(fence, "sub/../.", O_RDONLY | O_DIRECTORY, 0, &fd, NULL), CONFINE_OK);
    check(faccessat(fd, "new", F_OK, 0) == 0);
    close(fd);
    confine_fence_unref(fence);
}

TEST(a_link_to_nothing_is_followed_where_it_may_lead)
{
    struct confine_fence *fence = FENCE(NULL);
    int fd = -1;

    need(symlinkat("sub/made", work, "in") == 0 && symlinkat("../out/made", work, "away") == 0 &&
         symlinkat("in", work, "twice") == 0 && symlinkat("round", work, "round") == 0);
    check_int(confine_fence_open(fence, "twice", O_WRONLY | O_CREAT, 0644, &fd, NULL), CONFINE_OK);
    check(faccessat(work, "sub/made", F_OK, 0) == 0);
    close(fd);
    check_int(confine_fence_open(fence, "away", O_WRONLY | O_CREAT, 0644, &fd, NULL), CONFINE_E_REFUSED);
    check_fails(faccessat(out, "made", F_OK, 0), ENOENT);
    check_int(confine_fence_open(fence, "round", O_WRONLY | O_CREAT, 0644, &fd, NULL), CONFINE_E_SYSTEM);
    check_int(errno, ELOOP);
    need(unlinkat(work, "sub/made", 0) == 0);
    check_int(confine_fence_open(fence, "in", O_WRONLY | O_CREAT | O_EXCL, 0644, &fd, NULL),
              CONFINE_E_SYSTEM);
    check_int(errno, EEXIST);
    confine_fence_unref(fence);
}

/* What open() says is said, and nothing is opened. */
static const struct failed {
    const char *name;
    int flags, errnum;
} failed[] = {
    {"missing", O_RDONLY, ENOENT},
    {"", O_RDONLY, ENOENT},
    {"there/", O_RDONLY, ENOTDIR},
    {"there/x", O_RDONLY, ENOTDIR},
    {"there", O_RDONLY | O_DIRECTORY, ENOTDIR},
    {"there", O_WRONLY | O_CREAT | O_EXCL, EEXIST},
    {"sub", O_WRONLY, EISDIR},
    {"sub", O_RDONLY | O_CREAT, EISDIR},
    {"new/", O_WRONLY | O_CREAT, EISDIR},
    {"no/new", O_WRONLY | O_CREAT, ENOENT},
    {"link", O_RDONLY | O_NOFOLLOW, ELOOP},
    {"magic/file", O_RDONLY, ELOOP},
    {"round", O_RDONLY, ELOOP},
};

TEST_EACH(what_open_refuses_is_an_errno, struct failed, failed)
{
    struct confine_fence *fence = FENCE(NULL);
    int fd = 7;
    char *json = NULL;

    put(work, "there", "");
    need(symlinkat("there", work, "link") == 0 && symlinkat("/proc/self/cwd", work, "magic") == 0 &&
         symlinkat("round", work, "round") == 0);
    check_int(confine_fence_open(fence, row->name, row->flags, 0644, &fd, &json), CONFINE_E_SYSTEM);
    check_int(errno, row->errnum);
    check(fd == 7 && json == NULL);
    confine_fence_unref(fence);
}

/* --- what is refused ------------------------------------------------------------------------------------ */

static const struct denied {
    const char *name;
    int flags;
    const char *reason, *operation, *rule, *hint;
} denied[] = {
    {"../file", O_WRONLY, "not-granted", "write", "default", "--write"},
    {"../file", O_RDWR | O_TRUNC, "not-granted", "write", "default", "--write"},
    {"../made", O_WRONLY | O_CREAT, "not-granted", "create", "default", "--write"},
    {"../made", O_WRONLY | O_CREAT | O_EXCL, "not-granted", "create", "default", "--write"},
    {"../out/key", O_RDONLY, "hidden", "read", "hide ", "--show"},
    {"../out/key", O_WRONLY, "hidden", "write", "hide ", "--show"},
    {"../out/none", O_RDONLY, "hidden", "read", "hide ", "--show"},
    {"../out/none/x", O_RDONLY, "hidden", "read", "hide ", "--show"},
    {"../out/key/x", O_RDONLY, "hidden", "read", "hide ", "--show"},
    {"../out/key/", O_WRONLY | O_CREAT, "hidden", "read", "hide ", "--show"},
    {"../out/link", O_WRONLY | O_CREAT | O_EXCL, "hidden", "create", "hide ", "--show"},
    {"../out", O_RDONLY | O_DIRECTORY, "hidden", "read", "hide ", "--show"},
    {"to-key", O_RDONLY, "hidden", "read", "hide ", "--show"},
    {"to-out/key", O_RDONLY, "hidden", "read", "hide ", "--show"},
    {"held", O_WRONLY, "protected", "write", "protect ", "--unprotect"},
    {"held", O_WRONLY | O_TRUNC, "protected", "write", "protect ", "--unprotect"},
    {"also-held", O_WRONLY, "protected", "write", "protect ", "--unprotect"},
    {"kept/in", O_WRONLY, "protected", "write", "protect ", "--unprotect"},
    {"kept/new", O_WRONLY | O_CREAT, "protected", "create", "protect ", "--unprotect"},
    {"to-kept/new", O_WRONLY | O_CREAT, "protected", "create", "protect ", "--unprotect"},
    {"fifo", O_RDONLY, "special-file", "read", "special-file", NULL},
    {"fifo", O_WRONLY, "special-file", "write", "special-file", NULL},
    {"socket", O_RDWR, "special-file", "write", "special-file", NULL},
    {"/dev/null", O_WRONLY, "special-file", "write", "special-file", NULL},
    {"/dev/tty", O_RDONLY, "special-file", "read", "special-file", NULL},
    {"/proc/self/environ", O_RDONLY, "private-place", "read", "private-place", NULL},
    {"/proc/self/fd/0", O_RDONLY, "private-place", "read", "private-place", NULL},
    {"/proc/1/cmdline", O_RDONLY, "private-place", "read", "private-place", NULL},
};

TEST_EACH(what_the_policy_refuses_is_named, struct denied, denied)
{
    struct confine_fence *fence;
    char *json = NULL, expected[128];
    int fd = 7;

    fill();
    fence = fence_of((const char *const[]){"-w", "ws", "--hide=out", "-C", "ws", "--protect=ws/held",
                                           "--protect=ws/kept", "--backend=landlock", NULL});
    check_int(confine_fence_open(fence, row->name, row->flags, 0644, &fd, &json), CONFINE_E_REFUSED);
    check(fd == 7);
    check_has(json, "\"code\": \"FS_SANDBOX_DENIED\"");
    snprintf(expected, sizeof(expected), "\"reason\": \"%s\"", row->reason);
    check_has(json, expected);
    snprintf(expected, sizeof(expected), "\"operation\": \"%s\"", row->operation);
    check_has(json, expected);
    snprintf(expected, sizeof(expected), "\"rule\": \"%s", row->rule);
    check_has(json, expected);
    snprintf(expected, sizeof(expected), row->hint ? "\"hint\": \"ask for %s " : "\"hint\": null", row->hint);
    check_has(json, expected);
    check_has(json, "/ws\"");
    if (strstr(row->name, "kept/")) /* the option names what is protected, not the file */
        check_has(json, "/ws/kept\"");
    confine_free(json);
    fd = openat(work, "held", O_RDONLY | O_CLOEXEC);
    check_str(TEXT_OF(fd), "held");
    close(fd);
    confine_fence_unref(fence);
}

TEST(without_a_workspace_nothing_is_written)
{
    struct confine_fence *fence = fence_of((const char *const[]){"--backend=landlock", NULL});
    int fd = 7;

    put(work, "there", "one");
    check_int(confine_fence_open(fence, "ws/there", O_RDONLY, 0, &fd, NULL), CONFINE_OK);
    close(fd);
    check_int(confine_fence_open(fence, "ws/there", O_WRONLY, 0, &fd, NULL), CONFINE_E_REFUSED);
    check_int(confine_fence_open(fence, "ws/new", O_WRONLY | O_CREAT, 0644, &fd, NULL), CONFINE_E_REFUSED);
    confine_fence_unref(fence);
}

TEST(what_was_not_listed_is_not_read)
{
    struct confine_fence *fence;
    int fd = 7;

    put(AT_FDCWD, "file", "file");
    put(AT_FDCWD, "listed", "listed");
    fence = FENCE("--readable=listed", "--read=listed");
    check_int(confine_fence_open(fence, "../listed", O_RDONLY, 0, &fd, NULL), CONFINE_OK);
    close(fd);
    check_int(confine_fence_open(fence, "../file", O_RDONLY, 0, &fd, NULL), CONFINE_E_REFUSED);
    confine_fence_unref(fence);
}

TEST(what_is_put_in_the_place_of_something_hidden_is_hidden)
{
    struct confine_fence *fence;
    char *json = NULL;
    int fd = 7;

    put(work, "secret", "secret");
    put(work, "other", "other");
    need(mkdirat(out, "vault", 0755) == 0 && mkdirat(out, "vault/open", 0755) == 0);
    fence = fence_of((const char *const[]){"--backend=landlock", "-w", "ws", "-C", "ws", "--hide=ws/secret?",
                                           "--hide=out/vault", "--read=out/vault/open", NULL});
    check_int(confine_fence_open(fence, "secret", O_RDONLY, 0, &fd, NULL), CONFINE_E_REFUSED);
    need(renameat(work, "other", work, "secret") == 0 && renameat(out, "vault", out, "away") == 0 &&
         mkdirat(out, "vault", 0755) == 0 && mkdirat(out, "vault/open", 0755) == 0);
    put(out, "vault/new", "new");
    put(out, "vault/open/new", "new");
    check_int(confine_fence_open(fence, "secret", O_RDONLY, 0, &fd, NULL), CONFINE_E_REFUSED);
    check_int(confine_fence_open(fence, "secret", O_WRONLY, 0, &fd, NULL), CONFINE_E_REFUSED);
    check_int(confine_fence_open(fence, "../out/vault/new", O_RDONLY, 0, &fd, NULL), CONFINE_E_REFUSED);
    check(fd == 7);
    if (!check_int(confine_fence_open(fence, "../out/vault/open/new", O_RDONLY, 0, &fd, &json), CONFINE_OK))
        test_note("%s", json);
    confine_free(json);
    close(fd);
    confine_fence_unref(fence);
}

TEST(a_place_of_a_run_s_own_is_not_the_one_of_this_machine)
{
    struct confine_fence *fence = fence_of((const char *const[]){"-w", "ws", NULL});
    char *json = NULL;
    int fd = 7;

    check_int(confine_fence_open(fence, "/tmp", O_RDONLY, 0, &fd, &json), CONFINE_E_REFUSED);
    check_has(json, "private-place");
    confine_free(json);
    check_int(confine_fence_open(fence, "/dev/shm/confine-of-a-test", O_WRONLY | O_CREAT, 0644, &fd, &json),
              CONFINE_E_REFUSED);
    confine_free(json);
    check_int(confine_fence_open(fence, "new", O_WRONLY | O_CREAT, 0644, &fd, NULL), CONFINE_OK);
    close(fd);
    confine_fence_unref(fence);
}

TEST(where_nothing_is_held_files_are_opened_and_devices_not)
{
    struct confine_fence *fence;
    int fd = -1;

    fill();
    fence = fence_of((const char *const[]){"--mode=danger-full-access", "-w", "ws", NULL});
    check_int(confine_fence_open(fence, "../file", O_RDWR, 0, &fd, NULL), CONFINE_OK);
    close(fd);
    check_int(confine_fence_open(fence, "../out/key", O_WRONLY, 0, &fd, NULL), CONFINE_OK);
    close(fd);
    check_int(confine_fence_open(fence, "fifo", O_RDONLY, 0, &fd, NULL), CONFINE_E_REFUSED);
    check_int(confine_fence_open(fence, "/dev/null", O_WRONLY, 0, &fd, NULL), CONFINE_E_REFUSED);
    check_int(confine_fence_open(fence, "/proc/self/environ", O_RDONLY, 0, &fd, NULL), CONFINE_E_REFUSED);
    confine_fence_unref(fence);
}

TEST(for_root_it_is_the_owner_of_the_workspace_who_opens)
{
    struct confine_fence *fence;
    struct stat st;
    int fd = -1;

    if (geteuid() != 0)
        test_skip("not root");
    put(AT_FDCWD, "root-s", "root's");
    need(chmod("root-s", 0600) == 0 && chmod(test_dir, 0755) == 0 && fchown(work, 65534, 65534) == 0);
    fence = FENCE(NULL);
    check_int(confine_fence_open(fence, "new", O_WRONLY | O_CREAT, 0644, &fd, NULL), CONFINE_OK);
    check(fstat(fd, &st) == 0 && st.st_uid == 65534 && st.st_gid == 65534);
    close(fd);
    check_int(confine_fence_open(fence, "../root-s", O_RDONLY, 0, &fd, NULL), CONFINE_E_SYSTEM);
    check_int(errno, EACCES);
    confine_fence_unref(fence);
}

TEST(a_lease_of_somebody_s_is_not_waited_for)
{
    struct confine_fence *fence = FENCE(NULL);
    int leased, fd = -1;

    put(work, "leased", "x");
    leased = openat(work, "leased", O_RDONLY | O_CLOEXEC);
    if (leased < 0 || fcntl(leased, F_SETLEASE, F_RDLCK) != 0)
        test_skip("no leases on this file system");
    check(signal(SIGIO, SIG_IGN) != SIG_ERR);
    check_int(confine_fence_open(fence, "leased", O_WRONLY, 0, &fd, NULL), CONFINE_E_SYSTEM);
    check_int(errno, EAGAIN);
    close(leased);
    check_int(confine_fence_open(fence, "leased", O_WRONLY, 0, &fd, NULL), CONFINE_OK);
    close(fd);
    confine_fence_unref(fence);
}

/* --- the handle ----------------------------------------------------------------------------------------- */

TEST(a_policy_that_is_refused_is_no_fence)
{
    struct confine_options options = {
        .size = sizeof(options), .program = program, .words = (const char *const[]){"-w", "no/where", NULL}};
    struct confine_fence *fence = NULL;
    char *json = NULL;

    check_int(confine_fence_new(&options, &fence, &json), CONFINE_E_REFUSED);
    check_has(json, "\"error\"");
    check_has(json, "no/where");
    check(fence == NULL);
    confine_free(json);
    options.words = (const char *const[]){"--backend", "refuse", NULL};
    check_int(confine_fence_new(&options, &fence, &json), CONFINE_E_REFUSED);
    check_has(json, "the backend refuse opens nothing");
    check(fence == NULL);
    confine_free(json);
    options.descriptor_count = 1;
    options.descriptors = &(int){0};
    fence = (void *)&options; /* which no handle may be given back as */
    check_int(confine_fence_new(&options, &fence, NULL), CONFINE_E_ARGUMENT);
    check(fence == NULL);
    options =
        (struct confine_options){.size = sizeof(options), .program = open("/bin/true", O_PATH | O_CLOEXEC)};
    check_int(confine_fence_new(&options, &fence, NULL), CONFINE_E_PROGRAM);
    confine_fence_unref(NULL);
}

TEST(flags_that_it_does_not_have_are_wrong)
{
    struct confine_fence *fence = FENCE(NULL);
    int fd = 7;

    check_int(confine_fence_open(fence, "new", O_PATH, 0, &fd, NULL), CONFINE_E_ARGUMENT);
    check_int(confine_fence_open(fence, ".", O_TMPFILE | O_RDWR, 0600, &fd, NULL), CONFINE_E_ARGUMENT);
    check_int(confine_fence_open(fence, "new", O_WRONLY | O_CREAT, 04755, &fd, NULL), CONFINE_E_ARGUMENT);
    check_int(confine_fence_open(fence, NULL, O_RDONLY, 0, &fd, NULL), CONFINE_E_ARGUMENT);
    check_int(confine_fence_open(fence, "new", O_RDONLY | O_TRUNC, 0, &fd, NULL), CONFINE_E_SYSTEM);
    check_int(errno, EINVAL);
    check(fd == 7);
    confine_fence_unref(fence);
}

/* The one process whose words have WORD among them. */
static pid_t find_process(const char *word)
{
    DIR *all = opendir("/proc");
    pid_t found = 0;

    for (struct dirent *entry; all && !found && (entry = readdir(all));) {
        char path[300], words[4096];
        int fd;
        ssize_t got;

        snprintf(path, sizeof(path), "/proc/%s/cmdline", entry->d_name);
        fd = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        got = fd >= 0 ? read(fd, words, sizeof(words)) : -1;
        if (got > 0 && memmem(words, (size_t)got, word, strlen(word)))
            found = (pid_t)strtol(entry->d_name, NULL, 10);
        if (fd >= 0)
            close(fd);
    }
    if (all)
        closedir(all);
    return found;
}

TEST(a_fence_that_has_ended_opens_nothing)
{
    char word[PATH_MAX + 16];
    struct confine_fence *fence;
    pid_t server;
    int fd = 7;

    put(work, "there", "one");
    snprintf(word, sizeof(word), "--read=%s/ws", test_dir);
    fence = FENCE(word);
    server = find_process(word);
    need(server > 1 && kill(server, SIGSTOP) == 0);
    need(kill(server, SIGKILL) == 0);
    check_int(confine_fence_open(fence, "there", O_RDONLY, 0, &fd, NULL), CONFINE_E_PROGRAM);
    check_int(confine_fence_open(fence, "there", O_RDONLY, 0, &fd, NULL), CONFINE_E_PROGRAM);
    check(fd == 7);
    confine_fence_unref(fence);
    fence = FENCE(word);
    check(find_process(word) > 1);
    confine_fence_unref(fence);
    check_int(find_process(word), 0); /* nothing is left of it */
}

struct thread {
    pthread_t thread;
    struct confine_fence *fence;
    unsigned number, wrong;
};

static void *open_own(void *data)
{
    struct thread *thread = data;
    char name[32], text[256];

    snprintf(name, sizeof(name), "file-%u", thread->number);
    for (int i = 0; i < 100; i++) {
        int fd = -1;

        if (confine_fence_open(thread->fence, name, O_RDONLY, 0, &fd, NULL) != CONFINE_OK ||
            strcmp(text_of(fd, text, sizeof(text)), name) != 0)
            thread->wrong++;
        if (fd >= 0)
            close(fd);
    }
    return NULL;
}

TEST(threads_get_what_they_asked_for)
{
    struct confine_fence *fence = FENCE(NULL);
    struct thread threads[THREADS];

    for (unsigned i = 0; i < THREADS; i++) {
        char name[32];

        threads[i] = (struct thread){.fence = fence, .number = i};
        snprintf(name, sizeof(name), "file-%u", i);
        put(work, name, name);
        need(pthread_create(&threads[i].thread, NULL, open_own, &threads[i]) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        need(pthread_join(threads[i].thread, NULL) == 0);
        check_int(threads[i].wrong, 0);
    }
    confine_fence_unref(fence);
}
