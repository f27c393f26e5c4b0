/* worlds.c - an ordinary machine, and what each case changes of it. */
#include "worlds.h"

#include "tests/harness.h"

static void add_path(struct world *w, const char *path, enum grant grant, mode_t type)
{
    w->paths[w->resolved.path_count++] =
        (struct resolved_path){.fd = -1, .path = (char *)(uintptr_t)path, .grant = grant, .type = type};
}

void world_free(struct world *w)
{
    w->policy.backend = NULL; /* a literal where a case sets it */
    policy_free(&w->policy);
    strings_free(&w->resolved.env_secrets);
    strings_free(&w->resolved.env_unset);
    strings_free(&w->resolved.protected_paths);
    strings_free(&w->resolved.view.kept);
    strings_free(&w->resolved.view.copies);
    strings_free(&w->resolved.view.sockets);
    for (size_t i = 0; i < ARRAY_SIZE(w->levels); i++)
        strings_free(&w->levels[i].except);
}

void world_init(struct world *w, int abi)
{
    struct error error;

    memset(w, 0, sizeof(*w));
    need(policy_init(&w->policy, &error) == 0);
    w->supervised = true;
    w->host = (struct host){.landlock_abi = abi,
                            .landlock_errata = abi >= 6 ? 7 : 0,
                            .seccomp = true,
                            .proc = true,
                            .uid = 1000,
                            .gid = 1000,
                            .groups = {.asked = ~0U}};
    w->host.bubblewrap = (struct host_bubblewrap){.answer = HOST_NO,
                                                  .lack = {.reason = "no-bubblewrap",
                                                           .why = "there is no /usr/bin/bwrap",
                                                           .surface = "",
                                                           .structural = true}};
    w->host.namespaces = (struct host_namespaces){.answer = HOST_NO,
                                                  .lack = {.reason = "userns-denied",
                                                           .why = "nobody may make user namespaces",
                                                           .surface = "",
                                                           .hint = "allow it",
                                                           .errnum = EPERM,
                                                           .structural = true}};
    w->resolved = (struct resolved){.policy = &w->policy,
                                    .mode = MODE_WORKSPACE_WRITE,
                                    .mode_from = (char *)(uintptr_t) "option",
                                    .workspace = (char *)(uintptr_t) "/home/me/app",
                                    .cwd = (char *)(uintptr_t) "/home/me/app",
                                    .uid = 1000,
                                    .gid = 1000,
                                    .paths = w->paths,
                                    .edges = w->edges};
    w->resolved.named[SURFACE_FS_WRITE] = w->resolved.named[SURFACE_FS_TRUNCATE] = true;
    add_path(w, "/", GRANT_READ, S_IFDIR);
    add_path(w, "/home/me/app", GRANT_WRITE, S_IFDIR);
    add_path(w, "/dev/null", GRANT_DEVICE, S_IFCHR);
    w->edges[0] = (struct edge){.parent_fd = -1,
                                .parent = (char *)(uintptr_t) "/home/me",
                                .name = (char *)(uintptr_t) "app",
                                .named = true};
    w->edges[1] = (struct edge){.parent_fd = -1, .parent = (char *)(uintptr_t) "/home"};
    w->resolved.edge_count = 2;
}

static void hide_key(struct world *w)
{
    w->levels[0].path = w->resolved.path_count;
    add_path(w, "/home/me/.ssh", GRANT_NONE, S_IFDIR);
    need(strings_add(&w->levels[0].except, "id_ed25519") == 0);
    w->resolved.levels = w->levels;
    w->resolved.level_count = 1;
    w->hidden[0] = (struct hidden){.path = (char *)(uintptr_t) "/home/me/.ssh/id_ed25519",
                                   .parent_fd = -1,
                                   .name = (char *)(uintptr_t) "id_ed25519",
                                   .type = S_IFREG,
                                   .sample = (char *)(uintptr_t) "id_ed25519",
                                   .readable = true};
    w->resolved.hidden = w->hidden;
    w->resolved.hidden_count = 1;
}

static void read_only(struct world *w)
{
    w->resolved.mode = MODE_READ_ONLY;
    w->paths[1].grant = GRANT_READ;
    w->resolved.edge_count = 0;
    w->resolved.named[SURFACE_FS_WRITE] = w->resolved.named[SURFACE_FS_TRUNCATE] = false;
}
static void network_host(struct world *w)
{
    w->policy.network = NETWORK_HOST;
}
static void network_listed(struct world *w)
{
    w->policy.network = NETWORK_LISTED;
    w->resolved.named[SURFACE_NET_LISTED] = true;
}
static void listed(struct world *w)
{
    w->policy.readable_listed = true;
}
static void observed(struct world *w)
{
    w->resolved.observed = true;
}
static void audited(struct world *w)
{
    observed(w);
    w->host.audit = HOST_YES;
}
static void as_exec(struct world *w)
{
    w->supervised = false;
}
static void exec_on_terminal(struct world *w)
{
    w->supervised = false;
    w->host.terminal = true;
    w->host.regular = true;
}
static void on_terminal(struct world *w)
{
    w->host.terminal = w->host.interactive = true;
}
static void terminal_hidden(struct world *w)
{
    hide_key(w);
    on_terminal(w);
}
static void open_some(struct world *w)
{
    static const enum surface opened[] = {SURFACE_UNIX_PATH, SURFACE_IPC_SYSV, SURFACE_PRIV_USERNS};

    for (size_t i = 0; i < ARRAY_SIZE(opened); i++)
        w->resolved.open[opened[i]] = true;
}
static void open_signals(struct world *w)
{
    w->resolved.open[SURFACE_PROC_SIGNAL] = true;
}
static void open_tcp(struct world *w)
{
    w->resolved.open[SURFACE_NET_TCP] = true;
}
static void limits(struct world *w)
{
    w->policy.limit_time_ms = 60000;
    w->policy.limit_file_size = 1 << 20;
    w->resolved.named[SURFACE_LIMIT_TIME] = w->resolved.named[SURFACE_LIMIT_FILE_SIZE] = true;
}
static void memory_limit(struct world *w)
{
    w->policy.limit_memory = 1 << 30;
    w->resolved.named[SURFACE_LIMIT_MEMORY] = true;
}
static void all_groups(struct world *w)
{
    w->host.groups.uses = ~0U;
}
static void group_limits(struct world *w)
{
    all_groups(w);
    w->policy.limit_memory = 1 << 30;
    w->policy.limit_processes = 100;
    w->policy.limit_output = 1 << 20;
    w->policy.limit_cpu_ms = 1500;
    w->resolved.named[SURFACE_LIMIT_MEMORY] = w->resolved.named[SURFACE_LIMIT_PROCESSES] = true;
    w->resolved.named[SURFACE_LIMIT_OUTPUT] = w->resolved.named[SURFACE_LIMIT_CPU] = true;
}
static void limits_leak(struct world *w)
{
    group_limits(w);
    add_path(w, "/sys/fs/cgroup/mine", GRANT_WRITE, S_IFDIR);
}
static void limits_alone(struct world *w)
{
    group_limits(w);
    w->host.groups.uses = 0;
    w->policy.limit_memory = 0;
    w->resolved.named[SURFACE_LIMIT_MEMORY] = false;
}
static void cpu_alone(struct world *w)
{
    limits_alone(w);
    w->policy.limit_processes = 0;
    w->resolved.named[SURFACE_LIMIT_PROCESSES] = false;
}
static void cpu_required(struct world *w)
{
    cpu_alone(w);
    w->resolved.required[SURFACE_LIMIT_CPU] = true;
}
static void unconfined_limits(struct world *w)
{
    group_limits(w);
    w->resolved.mode = MODE_DANGER_FULL_ACCESS;
    w->resolved.named[SURFACE_FS_WRITE] = w->resolved.named[SURFACE_FS_TRUNCATE] = false;
}
static void secrets(struct world *w)
{
    need(strings_add(&w->resolved.env_secrets, "GITHUB_TOKEN") == 0);
}
static void root(struct world *w)
{
    w->host.uid = w->host.gid = w->resolved.uid = w->resolved.gid = 0;
}
static void root_by_name(struct world *w)
{
    root(w);
    w->policy.backend = (char *)(uintptr_t) "landlock";
}
static void root_as_owner(struct world *w)
{
    w->host.uid = w->host.gid = 0;
    w->resolved.switch_user = true;
}
static void require_full(struct world *w)
{
    w->resolved.require_full = true;
}
static void protect(struct world *w)
{
    w->resolved.named[SURFACE_FS_PROTECTED] = true;
}
static void socket_granted(struct world *w)
{
    add_path(w, "/run/agent.sock", GRANT_SOCKET, S_IFSOCK);
}
static void unknown_backend(struct world *w)
{
    w->policy.backend = (char *)(uintptr_t) "landlok";
}
static void refused(struct world *w)
{
    w->policy.backend = (char *)(uintptr_t) "refuse";
}
static void full_access(struct world *w)
{
    w->resolved.mode = MODE_DANGER_FULL_ACCESS;
}
static void not_enabled(struct world *w)
{
    w->host.landlock_errno = EOPNOTSUPP;
}
static void filtered(struct world *w)
{
    w->host.landlock_errno = EPERM;
}
static void no_kernel(struct world *w)
{
    w->host.landlock_errno = ENOSYS;
}
static void no_proc(struct world *w)
{
    w->host.proc = false;
}
static void pass_fd(struct world *w)
{
    static int passed[] = {7};

    w->resolved.pass_fds = passed;
    w->resolved.pass_fd_count = 1;
}
static void in_namespace(struct world *w)
{
    w->policy.backend = (char *)(uintptr_t) "namespace";
    w->host.namespaces.answer = HOST_YES;
}
static void namespace_observed(struct world *w)
{
    in_namespace(w);
    listed(w);
    observed(w);
}
static void namespace_audited(struct world *w)
{
    namespace_observed(w);
    w->host.audit = HOST_YES;
}
static void namespace_full(struct world *w)
{
    static struct source protected_by[2];

    in_namespace(w);
    hide_key(w);
    add_path(w, "/run/agent.sock", GRANT_SOCKET, S_IFSOCK);
    add_path(w, "/dev/kvm", GRANT_DEVICE, S_IFCHR);
    add_path(w, "/dev/shm/pool", GRANT_WRITE, S_IFDIR);
    w->policy.limit_tmp_size = 1 << 20;
    w->policy.wait_all = true;
    w->resolved.protected_by = protected_by;
    need(strings_add(&w->resolved.protected_paths, "/home/me/app/.git/hooks") == 0 &&
         strings_add(&w->resolved.protected_paths, "/home/me/.bashrc") == 0 &&
         strings_add(&w->resolved.view.kept, "/run/resolv.conf") == 0 &&
         strings_add(&w->resolved.view.copies, "/etc/ssh/ssh_config.d/a.conf") == 0 &&
         strings_add(&w->resolved.view.sockets, "/home/me/db.sock") == 0);
}
/* Two names in one directory and one below it, what is written down inside the workspace, and a directory
 * with the workspace in it. */
static void namespace_names(struct world *w)
{
    static const struct hidden hidden[] = {
        {.path = (char *)(uintptr_t) "/home/me/.ssh/id_ed25519",
         .name = (char *)(uintptr_t) "id_ed25519",
         .type = S_IFREG,
         .sample = (char *)(uintptr_t) "id_ed25519",
         .named = true,
         .plain_parent = true},
        {.path = (char *)(uintptr_t) "/home/me/.ssh/keys",
         .name = (char *)(uintptr_t) "keys",
         .type = S_IFDIR,
         .named = true,
         .plain_parent = true},
        {.path = (char *)(uintptr_t) "/home/me/app/.env",
         .name = (char *)(uintptr_t) ".env",
         .type = S_IFREG,
         .sample = (char *)(uintptr_t) ".env",
         .held = "inside-writable",
         .named = true,
         .plain_parent = true},
        {.path = (char *)(uintptr_t) "/home/me/other",
         .name = (char *)(uintptr_t) "other",
         .type = S_IFREG,
         .sample = (char *)(uintptr_t) "other",
         .named = true},
    };

    in_namespace(w);
    memcpy(w->hidden, hidden, sizeof(hidden));
    w->resolved.hidden = w->hidden;
    w->resolved.hidden_count = ARRAY_SIZE(hidden);
    w->resolved.named[SURFACE_FS_HIDDEN] = true;
    w->around[0] = (struct hidden){.path = (char *)(uintptr_t) "/home/me",
                                   .name = (char *)(uintptr_t) "me",
                                   .type = S_IFDIR,
                                   .named = true};
    w->resolved.around = w->around;
}
static void namespace_around(struct world *w)
{
    namespace_names(w);
    w->resolved.around_count = 1;
}
static void namespace_exec(struct world *w)
{
    in_namespace(w);
    exec_on_terminal(w);
}
static void namespace_terminal(struct world *w)
{
    in_namespace(w);
    on_terminal(w);
}
static void namespace_host(struct world *w)
{
    in_namespace(w);
    network_host(w);
}
static void namespace_limits(struct world *w)
{
    in_namespace(w);
    group_limits(w);
}
static void namespace_limits_alone(struct world *w)
{
    in_namespace(w);
    limits_alone(w);
}
static void namespace_limits_alone_root(struct world *w)
{
    namespace_limits_alone(w);
    root(w);
}
static void namespace_root(struct world *w)
{
    in_namespace(w);
    root(w);
}
static void namespace_require_full(struct world *w)
{
    w->host.namespaces.answer = HOST_YES;
    require_full(w);
}
static void in_bubblewrap(struct world *w)
{
    w->policy.backend = (char *)(uintptr_t) "bubblewrap";
    w->host.bubblewrap = (struct host_bubblewrap){.answer = HOST_YES,
                                                  .path = "/usr/bin/bwrap",
                                                  .version = "0.8.0",
                                                  .old = true,
                                                  .tried = true,
                                                  .resolver = "/etc/resolv.conf"};
}
static void bubblewrap_full(struct world *w)
{
    namespace_full(w);
    in_bubblewrap(w);
    w->policy.limit_tmp_size = 0;
    add_path(w, "/home/me/app/inner", GRANT_WRITE, S_IFDIR);
}
static void bubblewrap_terminal(struct world *w)
{
    in_bubblewrap(w);
    w->policy.tty = TTY_PRIVATE;
}
static void bubblewrap_exec(struct world *w)
{
    in_bubblewrap(w);
    exec_on_terminal(w);
    w->host.bubblewrap.old = false;
}
static void bubblewrap_host(struct world *w)
{
    in_bubblewrap(w);
    network_host(w);
}
static void bubblewrap_nests(struct world *w)
{
    in_bubblewrap(w);
    w->resolved.open[SURFACE_PRIV_USERNS] = true;
}
static void bubblewrap_second(struct world *w)
{
    in_bubblewrap(w);
    w->policy.backend = NULL;
}
static void bubblewrap_inside(struct world *w)
{
    in_bubblewrap(w);
    hide_key(w);
    w->hidden[0].path = (char *)(uintptr_t) "/home/me/app/key";
    w->hidden[0].named = true;
}
static void in_custom(struct world *w)
{
    w->policy.backend = (char *)(uintptr_t) "custom";
    need(strings_add(&w->policy.runner.command, "/usr/bin/bwrap") == 0);
    need(strings_add(&w->policy.runner.command, "--assert-userns-disabled") == 0);
    w->host.namespaces.answer = HOST_YES;
}
static void custom_exec(struct world *w)
{
    in_custom(w);
    exec_on_terminal(w);
}
static void custom_required(struct world *w)
{
    in_custom(w);
    w->resolved.required[SURFACE_NET_TCP] = true;
}
static void custom_limited(struct world *w)
{
    in_custom(w);
    w->policy.limit_time_ms = 1000;
    w->policy.limit_output = 1000;
    w->policy.limit_file_size = 1000;
}
static void custom_missing(struct world *w)
{
    w->policy.backend = (char *)(uintptr_t) "custom";
}
static void namespace_nests(struct world *w)
{
    in_namespace(w);
    w->resolved.open[SURFACE_PRIV_USERNS] = true;
}
static void namespace_nests_for_root(struct world *w)
{
    namespace_nests(w);
    root(w);
}
static void namespace_refused(struct world *w)
{
    w->policy.backend = (char *)(uintptr_t) "namespace";
}
static void namespace_opened(struct world *w)
{
    in_namespace(w);
    w->resolved.open[SURFACE_PROC_VISIBLE] = true;
}

const struct world_row world_rows[] = {
    {"abi-1", 1, NULL},
    {"abi-2", 2, NULL},
    {"abi-3", 3, NULL},
    {"abi-4", 4, NULL},
    {"abi-5", 5, NULL},
    {"abi-6", 6, NULL},
    {"abi-7", 7, NULL},
    {"abi-9", 9, NULL},
    {"abi-10", 10, NULL},
    {"abi-11", 11, NULL},
    {"read-only", 7, read_only},
    {"hidden", 7, hide_key},
    {"network-host", 7, network_host},
    {"network-listed", 7, network_listed},
    {"readable-listed", 7, listed},
    {"observed", 7, observed},
    {"observed-audit", 7, audited},
    {"exec", 7, as_exec},
    {"exec-terminal", 7, exec_on_terminal},
    {"terminal", 7, on_terminal},
    {"terminal-hidden", 7, terminal_hidden},
    {"open-some", 7, open_some},
    {"open-signals", 7, open_signals},
    {"open-tcp", 7, open_tcp},
    {"limits", 7, limits},
    {"limit-memory", 7, memory_limit},
    {"limits-groups", 7, group_limits},
    {"limits-leak", 7, limits_leak},
    {"limits-alone", 7, limits_alone},
    {"limits-cpu-alone", 7, cpu_alone},
    {"limits-cpu-required", 7, cpu_required},
    {"limits-unconfined", 7, unconfined_limits},
    {"survivors-by-group", 5, all_groups},
    {"secrets", 7, secrets},
    {"root", 7, root},
    {"root-by-name", 7, root_by_name},
    {"root-as-owner", 7, root_as_owner},
    {"require-full", 7, require_full},
    {"protect-named", 7, protect},
    {"socket-abi-7", 7, socket_granted},
    {"socket-abi-9", 9, socket_granted},
    {"unknown-backend", 7, unknown_backend},
    {"refuse", 7, refused},
    {"danger-full-access", 7, full_access},
    {"landlock-not-enabled", 0, not_enabled},
    {"landlock-filtered", 0, filtered},
    {"no-landlock", 0, no_kernel},
    {"no-proc", 7, no_proc},
    {"pass-fd", 7, pass_fd},
    {"namespace", 7, in_namespace},
    {"namespace-observed", 7, namespace_observed},
    {"namespace-observed-audit", 7, namespace_audited},
    {"namespace-limits", 7, namespace_limits},
    {"namespace-limits-alone", 7, namespace_limits_alone},
    {"namespace-limits-alone-root", 7, namespace_limits_alone_root},
    {"namespace-names", 7, namespace_names},
    {"namespace-around", 7, namespace_around},
    {"namespace-abi-0", 0, in_namespace},
    {"namespace-abi-9", 9, in_namespace},
    {"namespace-full", 9, namespace_full},
    {"namespace-terminal", 7, namespace_terminal},
    {"namespace-exec-terminal", 7, namespace_exec},
    {"namespace-network-host", 7, namespace_host},
    {"namespace-root", 7, namespace_root},
    {"namespace-require-full", 7, namespace_require_full},
    {"namespace-refused", 7, namespace_refused},
    {"namespace-opened", 7, namespace_opened},
    {"open-userns", 9, namespace_nests},
    {"open-userns-root", 7, namespace_nests_for_root},
    {"bubblewrap", 7, in_bubblewrap},
    {"bubblewrap-abi-0", 0, in_bubblewrap},
    {"bubblewrap-full", 9, bubblewrap_full},
    {"bubblewrap-terminal", 7, bubblewrap_terminal},
    {"bubblewrap-exec-terminal", 7, bubblewrap_exec},
    {"bubblewrap-network-host", 7, bubblewrap_host},
    {"bubblewrap-second", 7, bubblewrap_second},
    {"bubblewrap-nests", 7, bubblewrap_nests},
    {"bubblewrap-hidden-inside", 7, bubblewrap_inside},
    {"custom", 7, in_custom},
    {"custom-exec-terminal", 7, custom_exec},
    {"custom-limits", 7, custom_limited},
    {"custom-no-runner", 7, custom_missing},
    {"custom-require", 7, custom_required},
    {.name = NULL},
};
