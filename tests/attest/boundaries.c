/* boundaries.c - how each boundary is taken out of a plan whose claims stay. */
#include "boundaries.h"

#include "backend/build.h"

#include <sys/ioctl.h>

static void grant_everything(struct world *world, const char *argument)
{
    size_t at = world_link(world, "landlock-run") + 1;

    world_insert(world, at, "/");
    world_insert(world, at, argument);
}

static void leave_link_out(struct world *world, const char *link)
{
    world_without_link(world, link);
}

static void open_group(struct world *world, const char *group)
{
    size_t at = world_link(world, "seccomp-run") + 1;

    world_insert(world, at, group);
    world_insert(world, at, "--without");
}

/* On a kernel of ABI 2 nothing but the filter holds it; here Landlock would as well. */
static void open_truncate(struct world *world, const char *group)
{
    open_group(world, group);
    grant_everything(world, "--rw");
}

static void leave_scope_out(struct world *world, const char *option)
{
    if (strcmp(option, "--signal") == 0)
        world_without_guard(world);
    world_without_option(world, "scope-run", option, 0);
}

/* From bubblewrap's own words to where our chain goes on. */
static void leave_bubblewrap_out(struct world *world)
{
    size_t at = world_link(world, world->host.bubblewrap.path), end = at;

    while (world->plan.words[end].kind != WORD_LAUNCHER)
        end++;
    world_remove(world, at, end - at + 1);
    world_without_option(world, "attest-run", "--restore-environment", 0);
    world->plan.foreign = false;
}

/* The process that is started becomes the command itself, as in a chain without a pid namespace. */
static void leave_namespaces_out(struct world *world, const char *argument)
{
    (void)argument;
    world_without_link(world, "namespace-run");
    if (world->plan.foreign)
        leave_bubblewrap_out(world);
    world->plan.pid_namespace = false;
}

/* A chain begins with a link of ours. */
static void leave_detach_out(struct world *world, const char *link)
{
    if (world->plan.foreign)
        leave_namespaces_out(world, "");
    world_without_link(world, link);
}

rlim_t raise_core_limit(void)
{
    struct rlimit limit = {0};

    must(getrlimit(RLIMIT_CORE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    must(setrlimit(RLIMIT_CORE, &limit) == 0);
    return limit.rlim_max;
}

static void leave_core_limit(struct world *world, const char *link)
{
    raise_core_limit();
    leave_detach_out(world, link);
}

/* bubblewrap takes a name, and something else is there by then. */
static void bind_another(struct world *world, const char *option)
{
    size_t at = world_option(world, world_link(world, world->host.bubblewrap.path), option);
    char path[3 * PATH_MAX];

    must(at > 0);
    snprintf(path, sizeof(path), "%s/home", world->base);
    world_remove(world, at + 1, 1);
    world_insert(world, at + 1, path);
}

/* Landlock stands behind the mounts. */
static void leave_mounts_out(struct world *world, const char *argument)
{
    leave_namespaces_out(world, argument);
    grant_everything(world, argument);
}

/* Every layer of Landlock refuses to trace what stands outside of it. */
static void leave_landlock_out(struct world *world, const char *argument)
{
    (void)argument;
    world_without_link(world, "landlock-run");
    world_without_link(world, "hide-run");
    world_without_link(world, "scope-run");
}

/* The scope of signals, and what every layer refuses, stand behind the namespace. */
static void leave_pids_out(struct world *world, const char *argument)
{
    leave_namespaces_out(world, argument);
    leave_landlock_out(world, argument);
}

static void leave_capabilities(struct world *world, const char *link)
{
    leave_namespaces_out(world, "");
    world_without_link(world, link);
}

/* Every link that restricts itself without privilege sets it. */
static void leave_restrictions_out(struct world *world, const char *argument)
{
    leave_pids_out(world, argument);
    world_without_link(world, "drop-run");
    world_without_link(world, "seccomp-run");
}

static void put_secret_back(struct world *world, const char *argument)
{
    must(strings_add(&world->resolved.env, argument) == 0);
}

/* namespace-run begins a session as well. */
static void stay_in_session(struct world *world, const char *argument)
{
    size_t at = world_link(world, "detach-run");

    leave_namespaces_out(world, "");
    world_without_option(world, "detach-run", "--session", 0);
    world_insert(world, at + 1, argument);
}

/* The command's terminal stays, and the caller's comes along: passed on, and put on 1 behind terminal-run. */
static void take_terminal_along(struct world *world, const char *script)
{
    size_t at = world_link(world, "terminal-run") + 1;
    unsigned number;
    char text[64];
    int fd = 3;

    while (fd < 10 && (!isatty(fd) ||
                       ioctl(fd, TIOCGPTN, &number) == 0)) /* not its other side; the shell takes one digit */
        fd++;
    must(fd < 10 && array_more(&world->resolved.pass_fds, world->resolved.pass_fd_count, sizeof(int)));
    world->resolved.pass_fds[world->resolved.pass_fd_count++] = fd;
    while (!word_is(&world->plan.words[at], "--"))
        at++;
    snprintf(text, sizeof(text), "%s%d", script, fd);
    world_insert(world, ++at, "/bin/sh");
    world_insert(world, ++at, "-c");
    world_insert(world, ++at, text);
    world_insert(world, ++at, "sh");
    world_insert_special(world, ++at, WORD_LAUNCHER);
}

static void leave_limit_out(struct world *world, const char *option)
{
    world_without_option(world, "detach-run", option, 1);
}

static void leave_numbers_out(struct world *world, const char *option)
{
    world_without_option(world, "namespace-run", option, 1);
}

/* What is local has a route: that it is one to the outside, the act cannot tell. */
static void add_route(struct world *world, const char *option)
{
    static const char *const networks[] = {"0.0.0.0/0", "[::]/0"};
    size_t at = world_option(world, world_link(world, "namespace-run"), option);

    must(at > 0);
    for (size_t i = 0; i < ARRAY_SIZE(networks); i++) {
        world_insert(world, at, networks[i]);
        world_insert(world, at, option);
    }
}

static void leave_listeners_out(struct world *world, const char *option)
{
    size_t link = world_link(world, "namespace-run");

    while (world_option(world, link, option) > 0)
        world_without_option(world, "namespace-run", option, 1);
}

#define ALONG "exec \"$@\" 1>&"

static const struct boundary boundaries[] = {
    {SURFACE_FS_READ, MECHANISM_LANDLOCK, ACT_OPEN, grant_everything, "--ro", "--ro / granted"},
    {SURFACE_FS_WRITE, MECHANISM_LANDLOCK, ANY_ACT, grant_everything, "--rw", "--rw / granted"},
    {SURFACE_FS_TRUNCATE, MECHANISM_LANDLOCK, ACT_TRUNCATE, grant_everything, "--rw", "--rw / granted"},
    {SURFACE_FS_TRUNCATE, MECHANISM_SECCOMP, ACT_TRUNCATE, open_truncate, "truncate", "group truncate open"},
    {SURFACE_FS_DEVICE, MECHANISM_LANDLOCK, ACT_OPEN, grant_everything, "--rw", "--rw / granted"},
    {SURFACE_FS_DEVICE, MECHANISM_LANDLOCK_HIDE, ACT_OPEN, leave_link_out, "hide-run", "no hide-run"},
    {SURFACE_FS_SPECIAL, MECHANISM_LANDLOCK, ACT_OPEN, grant_everything, "--rw", "--rw / granted"},
    {SURFACE_FS_HIDDEN, MECHANISM_LANDLOCK_HIDE, ACT_OPEN_AT, leave_link_out, "hide-run", "no hide-run"},
    {SURFACE_NET_TCP, MECHANISM_SECCOMP, ACT_SOCKET, open_group, "net.inet", "group net.inet open"},
    {SURFACE_NET_UDP, MECHANISM_SECCOMP, ACT_SOCKET, open_group, "net.inet", "group net.inet open"},
    {SURFACE_NET_TCP, MECHANISM_LANDLOCK_SCOPE, ACT_BIND, leave_scope_out, "--tcp", "no --tcp"},
    {SURFACE_NET_UDP, MECHANISM_LANDLOCK_SCOPE, ACT_SEND_UDP, leave_scope_out, "--udp", "no --udp"},
    {SURFACE_NET_OTHER, MECHANISM_SECCOMP, ACT_SOCKET, open_group, "net.netlink", "group net.netlink open"},
    {SURFACE_UNIX_PATH, MECHANISM_SECCOMP, ANY_ACT, open_group, "unix.path", "group unix.path open"},
    {SURFACE_UNIX_PATH, MECHANISM_LANDLOCK_SCOPE, ACT_CONNECT_PATH, leave_scope_out, "--unix", "no --unix"},
    {SURFACE_UNIX_ABSTRACT, MECHANISM_SECCOMP, ANY_ACT, open_group, "unix.path", "group unix.path open"},
    {SURFACE_UNIX_ABSTRACT, MECHANISM_LANDLOCK_SCOPE, ACT_CONNECT_ABSTRACT, leave_scope_out, "--abstract",
     "no --abstract"},
    {SURFACE_IPC_SYSV, MECHANISM_SECCOMP, ACT_SHM_INFO, open_group, "ipc.sysv", "group ipc.sysv open"},
    {SURFACE_IPC_KEYRING, MECHANISM_SECCOMP, ACT_KEYRING, open_group, "ipc.keyring",
     "group ipc.keyring open"},
    {SURFACE_IPC_MQUEUE, MECHANISM_SECCOMP, ACT_SENTINEL, leave_link_out, "seccomp-run", "no seccomp-run"},
    {SURFACE_PRIV_USERNS, MECHANISM_SECCOMP, ACT_SENTINEL, leave_link_out, "seccomp-run", "no seccomp-run"},
    {SURFACE_KERNEL_SYSCALLS, MECHANISM_SECCOMP, ACT_SENTINEL, leave_link_out, "seccomp-run",
     "no seccomp-run"},
    {SURFACE_PROC_TRACE, MECHANISM_LANDLOCK, ACT_READ_MEMORY, leave_landlock_out, "", "no Landlock layer"},
    {SURFACE_PROC_ADJUST, MECHANISM_SECCOMP, ACT_PRLIMIT, open_group, "proc.adjust",
     "group proc.adjust open"},
    {SURFACE_PROC_SIGNAL, MECHANISM_LANDLOCK_SCOPE, ACT_SIGNAL, leave_scope_out, "--signal", "no --signal"},
    {SURFACE_PRIV_SETUID, MECHANISM_NO_NEW_PRIVS, ACT_NO_NEW_PRIVS, leave_restrictions_out, "",
     "no link that sets it"},
    {SURFACE_PRIV_CAPS, MECHANISM_CAPABILITIES, ACT_CAPABILITIES, leave_capabilities, "drop-run",
     "no drop-run, one inheritable"},
    {SURFACE_FD_INHERITED, MECHANISM_DETACH, ACT_DESCRIPTOR, leave_detach_out, "detach-run", "no detach-run"},
    {SURFACE_ENV_SECRETS, MECHANISM_ENVIRONMENT, ACT_ENVIRONMENT, put_secret_back, "CANARY_API_TOKEN=hunter2",
     "put back"},
    {SURFACE_TTY_READ, MECHANISM_DETACH, ACT_TERMINAL, stay_in_session, "--group", "the caller's session"},
    {SURFACE_TTY_READ, MECHANISM_DETACH, ACT_TERMINAL, take_terminal_along, ALONG,
     "the caller's terminal on 1", .own = true},
    {SURFACE_TTY_READ, MECHANISM_LANDLOCK_HIDE, ACT_OPEN, leave_link_out, "hide-run", "no hide-run"},
    {SURFACE_TTY_INJECT, MECHANISM_DETACH, ACT_TERMINAL, stay_in_session, "--group", "the caller's session"},
    {SURFACE_TTY_INJECT, MECHANISM_DETACH, ACT_TERMINAL, take_terminal_along, ALONG,
     "the caller's terminal on 1", .own = true},
    {SURFACE_TTY_INJECT, MECHANISM_LANDLOCK_HIDE, ACT_OPEN, leave_link_out, "hide-run", "no hide-run"},
    {SURFACE_TTY_STATE, MECHANISM_DETACH, ACT_TERMINAL, stay_in_session, "--group", "the caller's session"},
    {SURFACE_TTY_STATE, MECHANISM_DETACH, ACT_TERMINAL, take_terminal_along, ALONG,
     "the caller's terminal on 1", .own = true},
    {SURFACE_TTY_STATE, MECHANISM_LANDLOCK_HIDE, ACT_OPEN, leave_link_out, "hide-run", "no hide-run"},
    {SURFACE_LIMIT_FILE_SIZE, MECHANISM_RLIMIT, ACT_FILE_SIZE, leave_limit_out, "--file-size",
     "no --file-size"},
    {SURFACE_LIMIT_CPU, MECHANISM_RLIMIT, ACT_CPU_TIME, leave_limit_out, "--cpu-time", "no --cpu-time"},
    {SURFACE_LATER_CRASH, MECHANISM_RLIMIT, ACT_CORE_SIZE, leave_core_limit, "detach-run", "no detach-run"},
    {SURFACE_LIMIT_PROCESSES, MECHANISM_PID_NAMESPACE, ACT_PROCESSES, leave_numbers_out, "--process-numbers",
     "no --process-numbers"},
    {SURFACE_FS_WRITE, MECHANISM_MOUNT, ACT_REPLACED, bind_another, "--bind", "another one bound"},
    {SURFACE_FS_WRITE, MECHANISM_MOUNT, ANY_ACT, leave_mounts_out, "--rw", "no namespace, --rw /"},
    {SURFACE_FS_TRUNCATE, MECHANISM_MOUNT, ANY_ACT, leave_namespaces_out, "", "no namespace-run"},
    {SURFACE_FS_METADATA, MECHANISM_MOUNT, ANY_ACT, leave_namespaces_out, "", "no namespace-run"},
    {SURFACE_FS_DEVICE, MECHANISM_MOUNT, ANY_ACT, leave_namespaces_out, "", "no namespace-run"},
    {SURFACE_FS_HIDDEN, MECHANISM_MOUNT, ACT_OPEN, leave_namespaces_out, "", "no namespace-run"},
    {SURFACE_FS_PROTECTED, MECHANISM_MOUNT, ANY_ACT, leave_namespaces_out, "", "no namespace-run"},
    {SURFACE_NET_TCP, MECHANISM_NET_NAMESPACE, ACT_NAMESPACE, leave_namespaces_out, "", "no namespace-run"},
    {SURFACE_NET_UDP, MECHANISM_NET_NAMESPACE, ACT_NAMESPACE, leave_namespaces_out, "", "no namespace-run"},
    {SURFACE_NET_OTHER, MECHANISM_NET_NAMESPACE, ACT_NAMESPACE, leave_namespaces_out, "", "no namespace-run"},
    {SURFACE_NET_OTHER, MECHANISM_SECCOMP, ACT_SENTINEL, leave_link_out, "seccomp-run", "no seccomp-run"},
    {SURFACE_NET_LISTED, MECHANISM_NET_NAMESPACE, ACT_NAMESPACE, leave_namespaces_out, "",
     "no namespace-run"},
    {SURFACE_NET_LISTED, MECHANISM_NET_NAMESPACE, ACT_ROUTE, add_route, "--local", "everything is local"},
    {SURFACE_NET_LISTED, MECHANISM_GATEWAY, ACT_LISTENER, leave_listeners_out, "--listen", "no --listen"},
    {SURFACE_UNIX_ABSTRACT, MECHANISM_NET_NAMESPACE, ACT_NAMESPACE, leave_namespaces_out, "",
     "no namespace-run"},
    {SURFACE_UNIX_PATH, MECHANISM_MOUNT, ACT_OBJECT, leave_namespaces_out, "", "no namespace-run"},
    {SURFACE_IPC_SYSV, MECHANISM_IPC_NAMESPACE, ACT_NAMESPACE, leave_namespaces_out, "", "no namespace-run"},
    {SURFACE_IPC_MQUEUE, MECHANISM_IPC_NAMESPACE, ACT_NAMESPACE, leave_namespaces_out, "",
     "no namespace-run"},
    {SURFACE_PROC_SIGNAL, MECHANISM_PID_NAMESPACE, ACT_SIGNAL, leave_pids_out, "", "no namespace, no layer"},
    {SURFACE_PROC_TRACE, MECHANISM_PID_NAMESPACE, ACT_READ_MEMORY, leave_pids_out, "",
     "no namespace, no layer"},
    {SURFACE_PROC_ADJUST, MECHANISM_PID_NAMESPACE, ACT_PRLIMIT, leave_pids_out, "", "no namespace, no layer"},
    {SURFACE_PROC_VISIBLE, MECHANISM_PID_NAMESPACE, ACT_NAMESPACE, leave_namespaces_out, "",
     "no namespace-run"},
    {SURFACE_PROC_VISIBLE, MECHANISM_MOUNT, ACT_OBJECT, leave_namespaces_out, "", "no namespace-run"},
    {SURFACE_TTY_READ, MECHANISM_MOUNT, ACT_OBJECT, leave_namespaces_out, "", "no namespace-run"},
    {SURFACE_TTY_INJECT, MECHANISM_MOUNT, ACT_OBJECT, leave_namespaces_out, "", "no namespace-run"},
    {SURFACE_TTY_STATE, MECHANISM_MOUNT, ACT_OBJECT, leave_namespaces_out, "", "no namespace-run"},
};

const struct boundary *boundary_of(const struct check *check)
{
    bool own = check->act == ACT_TERMINAL && check->a;

    for (size_t i = 0; i < ARRAY_SIZE(boundaries); i++)
        if (boundaries[i].own == own && boundaries[i].surface == check->surface &&
            boundaries[i].mechanism == check->mechanism &&
            (boundaries[i].act == ANY_ACT || boundaries[i].act == check->act))
            return &boundaries[i];
    return NULL;
}
