/*
 * spawn.c - from words to a process.
 *
 * A borrower runs on our memory until its exec, so it starts in the time of an exec alone, whatever
 * the supervisor holds. It mustn't touch anything of the libc's that is not a plain call.
 */
#include "run/spawn.h"

#include "kernel/borrower.h"
#include "run/foreign.h"

#include "links/chain.h"

#include "links/kernel_abi.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define FD_PATH "/proc/self/fd/"

/* Ascending, each once. They come nearly in order: resolving opened one after the other. */
static int keep_add(struct launch *launch, int fd)
{
    size_t at = launch->keep_count;

    while (at > 0 && launch->keep[at - 1] > fd)
        at--;
    if (fd < 0 || (at > 0 && launch->keep[at - 1] == fd))
        return 0;
    if (!array_more(&launch->keep, launch->keep_count, sizeof(*launch->keep)))
        return -ENOMEM;
    memmove(launch->keep + at + 1, launch->keep + at, (launch->keep_count - at) * sizeof(*launch->keep));
    launch->keep[at] = fd;
    launch->keep_count++;
    return 0;
}

/* A file for a resolver that has nobody to ask: the host's, so that what refuses is the network, and the
 * observer sees it; and a word for those that would wait for an answer. Return: 0 or -errno. */
static int make_nameless(struct launch *launch)
{
    static const char own[] = "\noptions timeout:0 attempts:1\n";
    char text[4096 + sizeof(own)];
    ssize_t size = file_read(AT_FDCWD, "/etc/resolv.conf", text, 4096);
    size_t length = size > 0 ? (size_t)size : 0;

    memcpy(text + length, own, sizeof(own) - 1);
    length += sizeof(own) - 1;
    launch->nameless = memfd_create("resolv.conf", MFD_CLOEXEC);
    if (launch->nameless <= 0) {
        launch->nameless = 0;
        return errno ? -errno : -EBADF;
    }
    return pwrite(launch->nameless, text, length, 0) == (ssize_t)length ? 0 : -EIO;
}

static int collect_keep(struct launch *launch, const struct plan *plan, const struct resolved *resolved,
                        const struct chain_fds *fds)
{
    int r = 0;

    for (size_t i = 0; i < plan->word_count && r == 0; i++)
        if (plan->words[i].kind == WORD_PATH)
            r = keep_add(launch, resolved->paths[plan->words[i].path].fd);
        else if (plan->words[i].kind == WORD_NAMELESS)
            r = make_nameless(launch) ?: keep_add(launch, launch->nameless);
        else if (plan->words[i].kind == WORD_LAUNCHER)
            r = keep_add(launch, fds->launcher);
        else if (plan->words[i].kind == WORD_JOIN)
            r = keep_add(launch, resolved->session->fd[plan->words[i].path]);
    for (size_t i = 0; i < resolved->pass_fd_count && r == 0; i++)
        r = keep_add(launch, resolved->pass_fds[i]);
    for (size_t i = 0; i < fds->other_count && r == 0; i++)
        r = keep_add(launch, fds->others[i]);
    if (r == 0)
        r = keep_add(launch, fds->channel);
    if (r == 0)
        r = keep_add(launch, fds->liveness);
    if (r == 0)
        r = keep_add(launch, fds->stderr_fd);
    if (r == 0)
        r = keep_add(launch, fds->tmp);
    if (r == 0)
        r = keep_add(launch, fds->terminal);
    if (r == 0)
        r = keep_add(launch, fds->ahead);
    if (r == 0)
        r = keep_add(launch, fds->ahead_ready);
    return r;
}

/* Room for COUNT strings and the NULL behind them: growing would copy, and leave old rooms behind. */
static int start_list(struct strings *list, size_t count)
{
    list->items = calloc(count + 1, sizeof(*list->items));
    return list->items ? 0 : -ENOMEM;
}

/* Somebody else's string, which is not copied: there are some hundred. */
static int lend(struct strings *list, const char *text)
{
    list->items[list->count++] = (char *)(uintptr_t)text;
    return 0;
}

/* The string that was made last, if that worked out. */
static int lend_made(struct launch *launch, struct strings *list, int made)
{
    return made < 0 ? made : lend(list, launch->made.items[launch->made.count - 1]);
}

/* FRONT and a descriptor's number. */
static int add_number(struct launch *launch, const char *front, int number)
{
    char word[sizeof(FD_PATH) + 12];

    number_join(word, front, (unsigned)number, "");
    return lend_made(launch, &launch->argv, strings_add(&launch->made, word));
}

static int add_keep_list(struct launch *launch)
{
    struct text list = {0};
    int r = 0;

    for (size_t i = 0; i < launch->keep_count; i++) {
        if (i > 0)
            text_add(&list, ",");
        text_add_number(&list, launch->keep[i]);
    }
    if (launch->keep_count > 0)
        r = list.failed ? -ENOMEM
                        : lend(&launch->argv, "--keep")
                              ?: lend_made(launch, &launch->argv, strings_add(&launch->made, list.data));
    text_free(&list);
    return r;
}

static int add_word(struct launch *launch, const struct word *word, const struct resolved *resolved,
                    const struct chain_fds *fds, int sentinel, const struct strings *checks,
                    char *const *command)
{
    struct rlimit limit;
    int r = 0;

    switch (word->kind) {
    case WORD_TEXT:
        return lend(&launch->argv, word->text);
    case WORD_MASK:
    case WORD_MASK_IF_THERE:
        return lend(&launch->argv, foreign_mask(word, resolved));
    case WORD_PATH:
        return add_number(launch, FD_PATH, resolved->paths[word->path].fd);
    case WORD_TMP:
        return add_number(launch, FD_PATH, fds->tmp);
    case WORD_JOIN:
        return add_number(launch, "", resolved->session->fd[word->path]);
    case WORD_LAUNCHER:
        return add_number(launch, FD_PATH, fds->launcher);
    case WORD_TERMINAL:
        return add_number(launch, FD_PATH, fds->terminal);
    case WORD_ONTO:
        return lend_made(launch, &launch->argv, strings_add(&launch->made, fds->onto));
    case WORD_CHANNEL:
        return add_number(launch, "", fds->channel);
    case WORD_LIVENESS:
        return add_number(launch, "", fds->liveness);
    case WORD_NAMELESS:
        return add_number(launch, "", launch->nameless);
    case WORD_STDERR:
        return add_number(launch, "", fds->stderr_fd);
    case WORD_SENTINEL:
        return add_number(launch, "", sentinel);
    case WORD_AHEAD:
        if (fds->ahead < 0)
            return 0;
        r = lend(&launch->argv, "--ahead") ?: add_number(launch, "", fds->ahead);
        return r ?: lend(&launch->argv, "--ahead-ready") ?: add_number(launch, "", fds->ahead_ready);
    case WORD_KEEP:
        return add_keep_list(launch);
    case WORD_PASS:
        /* The command gets its caller's limit back, not the one that many grants needed. */
        if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > resolved->descriptor_limit)
            r = lend(&launch->argv, "--descriptors")
                    ?: lend_made(launch, &launch->argv,
                                 strings_addf(&launch->made, "%u", (unsigned)resolved->descriptor_limit));
        for (size_t i = 0; i < resolved->pass_fd_count && r == 0; i++)
            r = lend(&launch->argv, "--pass") ?: add_number(launch, "", resolved->pass_fds[i]);
        return r;
    case WORD_CHECKS:
        for (size_t i = 0; checks && i < checks->count && r == 0; i++)
            r = lend(&launch->argv, "--refused") ?: lend(&launch->argv, checks->items[i]);
        return r;
    case WORD_COMMAND:
        for (; *command && r == 0; command++)
            r = lend(&launch->argv, *command);
        return r;
    }
    return -EINVAL;
}

/* What leads tools to the temp directory. TMP and TEMP are moved only where they are set: makefiles have
 * variables of these names. The JVM looks at no environment for it, and zsh's here-documents at nothing but
 * TMPPREFIX. */
static const struct tmp_variable {
    const char *assignment, *front, *back; /* `NAME=`; what stands before and after the directory */
    bool only_if_set, keep;                /* keep: the caller's own value counts */
} tmp_variables[] = {
    {"TMPDIR=", "", "", false, false},
    {"TMP=", "", "", true, false},
    {"TEMP=", "", "", true, false},
    {"TMPPREFIX=", "", "/zsh", false, false},
    {"JAVA_TOOL_OPTIONS=", "-Djava.io.tmpdir=", "", false, true},
};

static const char *find_variable(const struct strings *env, const char *assignment)
{
    for (size_t i = 0; i < env->count; i++)
        if (env->items[i][0] == assignment[0] && strncmp(env->items[i], assignment, strlen(assignment)) == 0)
            return env->items[i];
    return NULL;
}

/* Is the variable one that add_tmp() sets? */
static bool is_replaced(const char *variable)
{
    for (size_t i = 0; i < ARRAY_SIZE(tmp_variables); i++)
        if (!tmp_variables[i].keep && variable[0] == tmp_variables[i].assignment[0] &&
            strncmp(variable, tmp_variables[i].assignment, strlen(tmp_variables[i].assignment)) == 0)
            return true;
    return false;
}

/* @plain: a directory of the usual name, which programs find without being told. */
static int add_tmp(struct launch *launch, const struct strings *env, const char *tmp_path, bool plain)
{
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(tmp_variables) && r == 0; i++) {
        const struct tmp_variable *variable = &tmp_variables[i];
        bool set = find_variable(env, variable->assignment);

        /* The JVM splits its options at blanks. */
        if ((variable->only_if_set && !set) || (variable->keep && (set || strpbrk(tmp_path, " \t\n\"'"))) ||
            (plain && (*variable->front || *variable->back)))
            continue;
        r = lend_made(launch, &launch->env,
                      strings_addf(&launch->made, "%s%s%s%s", variable->assignment, variable->front, tmp_path,
                                   variable->back));
    }
    return r;
}

/* One bit per letter that a variable begins with; small and large ones alike, and some others. */
static uint32_t initial(const char *variable)
{
    return UINT32_C(1) << (variable[0] & 31);
}

/* What leads tools to the proxy of the command's own network (--proxy-env), whatever was set: `%u` is its
 * port. */
static const struct proxy_variable {
    const char *assignment, *value;
} proxy_variables[] = {
    {"HTTP_PROXY=", "http://127.0.0.1:%u"},
    {"http_proxy=", "http://127.0.0.1:%u"},
    {"HTTPS_PROXY=", "http://127.0.0.1:%u"},
    {"https_proxy=", "http://127.0.0.1:%u"},
    {"ALL_PROXY=", "socks5h://127.0.0.1:%u"},
    {"all_proxy=", "socks5h://127.0.0.1:%u"},
    {"GRPC_PROXY=", "http://127.0.0.1:%u"},
    {"grpc_proxy=", "http://127.0.0.1:%u"},
    {"NO_PROXY=", "localhost,127.0.0.1,::1,[::1]"},
    {"no_proxy=", "localhost,127.0.0.1,::1,[::1]"},
    {"npm_config_proxy=", "http://127.0.0.1:%u"},
    {"npm_config_https_proxy=", "http://127.0.0.1:%u"},
    {"npm_config_noproxy=", "localhost,127.0.0.1,::1"},
    {"NODE_USE_ENV_PROXY=", "1"},
};

static bool is_proxy_variable(const char *variable)
{
    for (size_t i = 0; i < ARRAY_SIZE(proxy_variables); i++)
        if (strncmp(variable, proxy_variables[i].assignment, strlen(proxy_variables[i].assignment)) == 0)
            return true;
    return false;
}

static int add_proxy(struct launch *launch, unsigned port)
{
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(proxy_variables) && port && r == 0; i++) {
        const char *value = proxy_variables[i].value, *mark = strstr(value, "%u");
        int length = mark ? (int)(mark - value) : (int)strlen(value);

        r = mark ? strings_addf(&launch->made, "%s%.*s%u", proxy_variables[i].assignment, length, value, port)
                 : strings_addf(&launch->made, "%s%s", proxy_variables[i].assignment, value);
        r = lend_made(launch, &launch->env, r);
    }
    return r;
}

/* The initials of the variables that caches have: most others need no second look. @ret_count: how many. */
static uint32_t cache_initials(const struct plan *plan, const struct resolved *resolved, size_t *ret_count)
{
    uint32_t initials = 0;

    *ret_count = 0;
    for (size_t i = 0; i < resolved->cache_count; i++) {
        const struct strings *env = cache_env(&resolved->caches[i], plan->overlays);

        for (size_t j = 0; j < env->count; j++)
            initials |= initial(env->items[j]);
        *ret_count += env->count;
    }
    return initials;
}

/* Does a cache have this variable for itself? */
static bool is_cache_variable(const struct plan *plan, const struct resolved *resolved, const char *variable)
{
    size_t length = strcspn(variable, "=") + 1;

    for (size_t i = 0; i < resolved->cache_count; i++) {
        const struct strings *env = cache_env(&resolved->caches[i], plan->overlays);

        for (size_t j = 0; j < env->count; j++)
            if (env->items[j][0] == variable[0] && strncmp(env->items[j], variable, length) == 0)
                return true;
    }
    return false;
}

/* Where tools find their caches. Without a temp directory, what would point into it is left out. */
static int add_caches(struct launch *launch, const struct plan *plan, const struct resolved *resolved,
                      const char *tmp_path)
{
    int r = 0;

    for (size_t i = 0; i < resolved->cache_count; i++) {
        const struct strings *env = cache_env(&resolved->caches[i], plan->overlays);

        for (size_t j = 0; j < env->count && r == 0; j++) {
            const char *variable = env->items[j], *mark = strstr(variable, TMP_PLACEHOLDER);

            if (!mark)
                r = lend(&launch->env, variable);
            else if (tmp_path)
                r = lend_made(launch, &launch->env,
                              strings_addf(&launch->made, "%.*s%s%s", (int)(mark - variable), variable,
                                           tmp_path, mark + strlen(TMP_PLACEHOLDER)));
        }
    }
    return r;
}

/* The resolved environment, then the caches', with the temp directory's name where it belongs. */
static int build_environment(struct launch *launch, const struct plan *plan, const struct resolved *resolved,
                             unsigned proxy_port, const char *tmp_path)
{
    bool plain = false;
    size_t count;
    uint32_t initials = cache_initials(plan, resolved, &count);
    int r = start_list(&launch->env,
                       resolved->env.count + count + ARRAY_SIZE(tmp_variables) + ARRAY_SIZE(proxy_variables));

    if (!tmp_path)
        tmp_path = resolved->tmp_directory;
    if (!tmp_path && plan->own_tmp) {
        tmp_path = plan->own_tmp;
        plain = true;
    }
    for (size_t i = 0; i < resolved->env.count && r == 0; i++) {
        const char *variable = resolved->env.items[i];

        if ((tmp_path && is_replaced(variable)) || (proxy_port && is_proxy_variable(variable)) ||
            ((initials & initial(variable)) && is_cache_variable(plan, resolved, variable)))
            continue;
        r = lend(&launch->env, variable);
    }
    if (r == 0)
        r = add_caches(launch, plan, resolved, tmp_path);
    if (r == 0)
        r = add_proxy(launch, proxy_port);
    if (r == 0 && tmp_path)
        r = add_tmp(launch, &resolved->env, tmp_path, plain);
    return r;
}

/* See ENVIRONMENT_PREFIX. */
static int hide_environment(struct launch *launch)
{
    for (size_t i = 0; i < launch->env.count; i++) {
        if (strings_addf(&launch->made, "%s%s", ENVIRONMENT_PREFIX, launch->env.items[i]) < 0)
            return -ENOMEM;
        launch->env.items[i] = launch->made.items[launch->made.count - 1];
    }
    return 0;
}

/* At most so many words: of a plan's, each stands for one or two, but for the lists. */
static size_t count_words(const struct plan *plan, const struct resolved *resolved,
                          const struct strings *checks, char *const *command)
{
    size_t count = 1 + 2 * plan->word_count + 2 * resolved->pass_fd_count + 2 * (checks ? checks->count : 0);

    while (*command++)
        count++;
    return count;
}

int launch_prepare(struct launch *launch, const struct plan *plan, const struct resolved *resolved,
                   const struct chain_fds *fds, int sentinel, const struct strings *checks,
                   const char *tmp_path, char *const *command)
{
    int r;

    *launch = (struct launch){0};
    r = start_list(&launch->argv, count_words(plan, resolved, checks, command));
    if (r == 0)
        r = collect_keep(launch, plan, resolved, fds);
    /* argv[0] of a fused chain names the program; a plan without links is the command alone. */
    if (r == 0 && plan->word_count > 0 && plan->words[0].kind != WORD_COMMAND)
        r = lend(&launch->argv, "confine-launch");
    for (size_t i = 0; i < plan->word_count && r == 0; i++)
        r = add_word(launch, &plan->words[i], resolved, fds, sentinel, checks, command);
    if (r == 0)
        r = build_environment(launch, plan, resolved, fds->proxy_port, tmp_path);
    if (r == 0 && plan->foreign)
        r = hide_environment(launch);
    if (r < 0)
        launch_free(launch);
    return r;
}

void launch_free(struct launch *launch)
{
    free(launch->argv.items);
    free(launch->env.items);
    strings_free(&launch->made);
    free(launch->keep);
    if (launch->nameless > 0)
        fd_close(launch->nameless);
    *launch = (struct launch){0};
}

int launch_keep(const struct launch *launch)
{
    for (size_t i = 0; i < launch->keep_count; i++) {
        long r = kernel_call(SYS_fcntl, launch->keep[i], F_SETFD, 0, 0, 0, 0);

        if (r < 0)
            return (int)r;
    }
    return 0;
}

/* Everything between clone and exec. Runs on the parent's memory. Return: -errno; none on success. */
static int become_chain(int program, const struct launch *launch, const int standard[3], int cwd,
                        void (*before)(void *data), void *data)
{
    static char *no_environment[] = {NULL};
    char *const *env = launch->env.items ? launch->env.items : no_environment;
    int r;

    for (int fd = 0; fd < 3; fd++) {
        /* dup3 refuses a descriptor onto itself, where only the flag has to go. */
        long done = standard[fd] == fd ? kernel_call(SYS_fcntl, fd, F_SETFD, 0, 0, 0, 0)
                                       : kernel_call(SYS_dup3, standard[fd], fd, 0, 0, 0, 0);
        if (done < 0)
            return (int)done;
    }
    if (kernel_call(SYS_fchdir, cwd, 0, 0, 0, 0, 0) < 0)
        return -EACCES;
    r = launch_keep(launch);
    if (r < 0)
        return r;
    if (before)
        before(data);
    if (program < 0)
        return -chain_exec(launch->argv.items, (char **)(uintptr_t)env);
    return (int)kernel_call(SYS_execveat, program, (long)(uintptr_t) "", (long)(uintptr_t)launch->argv.items,
                            (long)(uintptr_t)env, AT_EMPTY_PATH, 0);
}

struct becoming {
    int program, cwd;
    const struct launch *launch;
    const int *standard;
    void (*before)(void *data);
    void *data;
    volatile int failed;
};

static void become(void *data)
{
    struct becoming *becoming = data;

    becoming->failed = become_chain(becoming->program, becoming->launch, becoming->standard, becoming->cwd,
                                    becoming->before, becoming->data);
    _exit(LINK_FAILED);
}

pid_t spawn_chain(int program, const struct launch *launch, const int standard[3], int cwd,
                  void (*before)(void *data), void *data)
{
    struct becoming becoming = {.program = program,
                                .cwd = cwd,
                                .launch = launch,
                                .standard = standard,
                                .before = before,
                                .data = data};
    pid_t pid = borrower_start(become, &becoming);

    return becoming.failed ? becoming.failed : pid;
}
