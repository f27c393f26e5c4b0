/* world.c - caller, directories, policy, plan and run of one confinement. */
#include "world.h"

#include <grp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>

const char *const caller_names[CALLERS] = {
    [CALLER_SWITCHED] = "root, as the owner",
    [CALLER_ROOT] = "root, --user keep",
    [CALLER_USER] = "uid 65534",
};

const char *const variant_names[VARIANTS] = {
    [VARIANT_PLAIN] = "",
    [VARIANT_LISTED] = "--readable listed",
    [VARIANT_OLD_KERNEL] = "plan of ABI 2",
    [VARIANT_NAMESPACE] = "namespace",
    [VARIANT_BUBBLEWRAP] = "bubblewrap",
    [VARIANT_NETWORK] = "namespace, listed",
    [VARIANT_TERMINAL] = "--tty private",
    [VARIANT_TERMINAL_NAMESPACE] = "namespace, --tty private",
    [VARIANT_TERMINAL_BUBBLEWRAP] = "bubblewrap, --tty private",
};

struct seen *seen;

/* --- the caller and its tree --------------------------------------------------------------------------- */

bool caller_possible(enum caller caller)
{
    return geteuid() == 0 || caller == CALLER_USER;
}

/* A capability in the inheritable set alone survives a change of user, and gives nothing by itself. */
static void world_inherit_capability(void)
{
    struct capability_header header = {.version = CAPABILITY_VERSION_3};
    struct capability_data data[2];

    must(kernel_call(SYS_capget, KERNEL_PTR(&header), KERNEL_PTR(data), 0, 0, 0, 0) == 0);
    data[0].inheritable |= 1U << 13; /* CAP_NET_RAW */
    must(kernel_call(SYS_capset, KERNEL_PTR(&header), KERNEL_PTR(data), 0, 0, 0, 0) == 0);
}

void world_make_file(const char *directory, const char *name)
{
    char path[3 * PATH_MAX];
    int fd;

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    must(fd >= 0 && write(fd, name, strlen(name)) > 0 && close(fd) == 0);
}

/* Whoever has to look at the tree after the run has died names it before. A directory holds a hundred of
 * them: hide-run takes no more than 512 names beside what it hides. */
void world_name(struct world *world)
{
    static unsigned number;
    int length = snprintf(world->base, sizeof(world->base), "%s/%d-%u", test_dir, getpid(), ++number / 100);

    if (mkdir(world->base, 0755) != 0)
        must(errno == EEXIST);
    snprintf(world->base + length, sizeof(world->base) - (size_t)length, "/%u", number);
}

/* The directories are made as the command's user; test_dir is the harness's, and left passable. */
static void world_make_tree(struct world *world)
{
    uid_t owner = world->caller == CALLER_ROOT ? 0 : NOBODY;
    char path[3 * PATH_MAX];

    if (geteuid() == 0) {
        must(chmod(test_dir, 0755) == 0 && mkdir(world->base, 0755) == 0 &&
             chown(world->base, owner, owner) == 0 && setegid(owner) == 0 && seteuid(owner) == 0);
    } else {
        must(mkdir(world->base, 0755) == 0);
    }
    snprintf(path, sizeof(path), "%s/ws", world->base);
    must(mkdir(path, 0755) == 0);
    snprintf(path, sizeof(path), "%s/ws/held", world->base);
    must(mkdir(path, 0755) == 0);
    snprintf(path, sizeof(path), "%s/home", world->base);
    must(mkdir(path, 0755) == 0);
    snprintf(path, sizeof(path), "%s/keys", world->base);
    must(mkdir(path, 0755) == 0);
    world_make_file(path, "key");
    world_make_file(world->base, "neighbour");
    world_make_file(world->base, "secret");
    if (getuid() == 0)
        must(seteuid(0) == 0 && setegid(0) == 0);
}

static void world_become_caller(struct world *world)
{
    if (world->inheritable)
        world_inherit_capability();
    if (world->caller != CALLER_USER || geteuid() != 0)
        return;
    must(setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
         setresuid(NOBODY, NOBODY, NOBODY) == 0);
    must(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0); /* as after an exec by that user */
}

/* Nothing of the harness's on 0 to 2 but its output, and a terminal where one is asked for. */
static void world_detach(const struct world *world)
{
    int null = open("/dev/null", O_RDWR), terminal;
    const char *name;

    must(null >= 0 && dup2(null, 0) == 0 && dup2(null, 1) == 1 && dup2(null, 2) == 2);
    close(null);
    if (!world->terminal)
        return;
    terminal = posix_openpt(O_RDWR | O_NOCTTY);
    must(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0 && setsid() == getpid());
    name = ptsname(terminal);
    must(name);
    terminal = open(name, O_RDWR);
    must(terminal >= 0 && ioctl(terminal, TIOCSCTTY, 0) == 0);
}

/* --- policy and plan ----------------------------------------------------------------------------------- */

/* Left out of its directory by its name, where mounts can: that is done for what somebody names. */
static void world_hide_by_name(struct world *world)
{
    struct error error = {0};
    char path[3 * PATH_MAX];

    snprintf(path, sizeof(path), "%s/keys/key", world->base);
    must(policy_add(&world->policy, LIST_HIDE, path, NULL, (struct origin){.layer = LAYER_OPTION}, &error) ==
         0);
}

/* Everything is implied, as if a built-in default asked it: then what is not shown is reported, not refused.
 */
static void world_ask(struct world *world, enum key key, const char *value)
{
    struct error error = {0};

    if (policy_set(&world->policy, key, value, NULL, (struct origin){.layer = LAYER_BUILTIN}, &error) < 0) {
        test_note("%s: %s", value, error.message);
        _exit(EXIT_FAILURE);
    }
}

static const char *world_backend(const struct world *world)
{
    static const char *const names[VARIANTS] = {[VARIANT_NAMESPACE] = "namespace",
                                                [VARIANT_BUBBLEWRAP] = "bubblewrap",
                                                [VARIANT_NETWORK] = "namespace",
                                                [VARIANT_TERMINAL_NAMESPACE] = "namespace",
                                                [VARIANT_TERMINAL_BUBBLEWRAP] = "bubblewrap"};

    return names[world->variant] ? names[world->variant] : "landlock";
}

/* Since Linux 6.14 each process namespace has its own numbers. */
static bool world_numbers_are_own(void)
{
    struct utsname name;
    unsigned major, minor;

    must(uname(&name) == 0 && sscanf(name.release, "%u.%u", &major, &minor) == 2);
    return major > 6 || (major == 6 && minor >= 14);
}

static void world_resolve(struct world *world)
{
    struct error error = {0};
    char path[3 * PATH_MAX];

    must(policy_init(&world->policy, &error) == 0);
    snprintf(path, sizeof(path), "%s/ws", world->base);
    world_ask(world, KEY_MODE, "workspace-write");
    world_ask(world, KEY_WORKSPACE, path);
    world_ask(world, KEY_BACKEND, world_backend(world));
    world_ask(world, KEY_CACHES, "off");
    world_ask(world, KEY_LIMIT_FILE_SIZE, FILE_LIMIT);
    world_ask(world, KEY_LIMIT_CPU, "1h");
    /* The link refuses root, whom it sees where detach-run is left out. */
    if (world->variant == VARIANT_NAMESPACE && world->caller == CALLER_USER && world_numbers_are_own())
        world_ask(world, KEY_LIMIT_PROCESSES, "5000");
    world_ask(world, KEY_USER, world->caller == CALLER_ROOT ? "keep" : "owner");
    if (world->variant == VARIANT_LISTED)
        world_ask(world, KEY_READABLE, "listed");
    if (world->variant >= VARIANT_TERMINAL)
        world_ask(world, KEY_TTY, "private");
    if (world->variant == VARIANT_NETWORK) {
        world_ask(world, KEY_NETWORK, "listed");
        must(policy_add(&world->policy, LIST_ALLOW, "example.org:443", NULL,
                        (struct origin){.layer = LAYER_BUILTIN}, &error) == 0);
    }
    snprintf(path, sizeof(path), "%s/secret", world->base);
    must(policy_add(&world->policy, LIST_HIDE, path, NULL, (struct origin){.layer = LAYER_BUILTIN}, &error) ==
         0);
    snprintf(path, sizeof(path), "%s/ws/held", world->base);
    must(policy_add(&world->policy, LIST_PROTECT, path, NULL, (struct origin){.layer = LAYER_BUILTIN},
                    &error) == 0);
    world_hide_by_name(world);
    must(strings_addf(&world->env, "HOME=%s/home", world->base) == 0 &&
         strings_addf(&world->env, "TMPDIR=%s/home", world->base) == 0 &&
         strings_add(&world->env, "PATH=/usr/bin:/bin") == 0 &&
         strings_add(&world->env, "CANARY_API_TOKEN=hunter2") == 0);
    if (resolve_policy(&world->policy, world->env.items, &world->resolved, &error) < 0) {
        test_note("resolve: %s", error.message);
        _exit(EXIT_FAILURE);
    }
    world->resolved.named[SURFACE_FS_HIDDEN] = false; /* as if it were implied, too */
}

/* A kernel may have none, and a run then does without. */
static enum host_answer world_overlays(void)
{
    char line[128];
    enum host_answer answer = HOST_NO;
    FILE *list = fopen("/proc/filesystems", "re");

    must(list);
    while (fgets(line, sizeof(line), list))
        if (strstr(line, "\toverlay\n"))
            answer = HOST_NOT_ASKED;
    fclose(list);
    return answer;
}

static void world_plan(struct world *world)
{
    struct error error = {0};

    host_look(&world->host);
    world->host.overlays = world_overlays();
    if (world->variant == VARIANT_OLD_KERNEL)
        world->host.landlock_abi = 2;
    if (strcmp(world_backend(world), "bubblewrap") == 0)
        host_ask_bubblewrap(&world->host);
    if (backend_by_name(world_backend(world))
            ->plan(&world->resolved, &world->host, !world->exec, &world->plan, &error) < 0) {
        test_note("plan: %s", error.message);
        _exit(EXIT_FAILURE);
    }
    memcpy(seen->checks, world->plan.checks, world->plan.check_count * sizeof(struct check));
    seen->check_count = world->plan.check_count;
    if (world->only) {
        world->plan.checks[0] = *world->only;
        world->plan.check_count = 1;
        world->resolved.required[world->only->surface] |= world->require;
    }
}

/* --- the run ------------------------------------------------------------------------------------------- */

static bool world_exists(const struct world *world, const char *name)
{
    char path[3 * PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s", world->base, name);
    return access(path, F_OK) == 0;
}

_Noreturn static void world_live(struct world *world, char *const *command)
{
    struct report report = {.outcome.status = -1};

    world_make_tree(world);
    world_become_caller(world);
    world_detach(world);
    world_resolve(world);
    world_plan(world);
    if (!command)
        goto done;
    if (world->change)
        world->change(world, world->argument);
    report.command = command;
    report.plan = &world->plan;
    report.resolved = &world->resolved;
    if (world->supervise)
        seen->status = world->supervise(world, command, &report);
    else
        seen->status =
            run_supervised_without(&world->plan, &world->resolved, command, world->missing, &report);
    seen->error = report.error;
    if (world->only)
        seen->claim = world->plan.claims[world->only->surface];
    seen->inside = world_exists(world, "ws/ran");
    seen->outside = world_exists(world, "outside");
done:
    seen->done = true;
    _exit(EXIT_SUCCESS);
}

static char world_script[] = "echo ran >ran; (echo ran >../outside) 2>/dev/null || exit 42";

pid_t world_start(const struct world *model, bool command)
{
    static char shell[] = "/bin/sh", option[] = "-c", script[4096];
    static char *const words[] = {shell, option, script, NULL};
    static struct world world;
    pid_t pid;

    snprintf(script, sizeof(script), "%s", model->script ? model->script : world_script);
    if (!seen) {
        seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        need(seen != MAP_FAILED);
    }
    memset(seen, 0, sizeof(*seen));
    world = *model;
    if (world.base[0] == '\0')
        world_name(&world);
    pid = fork();
    if (pid == 0)
        world_live(&world, command ? words : NULL);
    return pid;
}

bool world_run(const struct world *model, bool command)
{
    int status;
    pid_t pid = world_start(model, command);

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && seen->done;
}
