/*
 * resolve_wide.c - what may never be granted, whoever asks.
 *
 * A writable root that holds a home, the system or confine itself is no
 * confinement: the command would change what runs outside later. These are
 * refused with the reason, never narrowed silently.
 */
#include "policy/resolve_internal.h"

#include <sys/sysmacros.h>

/* Writable neither as a whole nor, where `below` says so, in part. */
static const struct wide_place {
    const char *path;
    bool below;
    const char *what;
} wide_places[] = {
    {"/bin", true, "programs of the system"},
    {"/sbin", true, "programs of the system"},
    {"/lib", true, "libraries of the system"},
    {"/lib32", true, "libraries of the system"},
    {"/lib64", true, "libraries of the system"},
    {"/libx32", true, "libraries of the system"},
    {"/usr/bin", true, "programs of the system"},
    {"/usr/sbin", true, "programs of the system"},
    {"/usr/lib", true, "libraries of the system"},
    {"/usr/libexec", true, "programs of the system"},
    {"/usr/share", false, "files of the system"},
    {"/usr/local", false, "programs of the machine"},
    {"/usr/local/bin", false, "programs of the machine"},
    {"/usr/local/sbin", false, "programs of the machine"},
    {"/usr/local/lib", false, "libraries of the machine"},
    {"/usr/src", false, "files of the system"},
    {"/etc", false, "the settings of the system"},
    {"/boot", true, "the kernel"},
    {"/proc", true, "an interface of the kernel"},
    {"/sys", true, "an interface of the kernel"},
    {"/run", false, "the sockets of the system"},
    {"/var/lib", false, "the state of the system"},
    {"/var/tmp", false, "the temporary files of all users"},
    {"/tmp", false, "the temporary files of all users"},
    {"/dev/shm", false, "the shared memory of all users"},
    {"/home", false, "the homes of all users"},
    {"/root", false, "the home of root"},
    {"/opt", false, "programs of the machine"},
    {"/nix", true, "programs of the system"},
    {"/gnu", true, "programs of the system"},
};

static int refuse_place(struct resolving *resolving, const struct asked *asked, const char *path,
                        const char *place, const char *what)
{
    error_set(resolving->error, ERROR_POLICY_INVALID, 0, "workspace-too-wide",
              strcmp(path, place) == 0     ? "%s %s: %s must not be writable: it is %s (%s)"
              : path_contains(path, place) ? "%s %s: %s must not be writable: it holds %s (%s)"
                                           : "%s %s: %s must not be writable: it belongs to %s (%s)",
              asked->by, QUOTE(asked->value), QUOTE(path), what, QUOTE(place));
    return error_hint(resolving->error, "name a directory below it that holds only this project");
}

static int refuse_home(struct resolving *resolving, const struct asked *asked, const char *path,
                       const char *home)
{
    refuse_place(resolving, asked, path, home, "a home directory");
    return error_hint(resolving->error, "name a directory below it; in a container whose home is the "
                                        "project, set HOME to another directory");
}

static int refuse_launcher(struct resolving *resolving, const struct asked *asked, const char *path,
                           const char *what)
{
    error_set(resolving->error, ERROR_SANDBOX_UNAVAILABLE, 0, "launcher-writable",
              "%s %s: %s would let the command replace confine itself (%s)", asked->by, QUOTE(asked->value),
              QUOTE(path), QUOTE(what));
    return error_hint(resolving->error, "run a confine that is installed outside this directory");
}

/* Where the policy of the next run is, and what confine keeps for itself. Looked for once. */
static int find_self(struct resolving *resolving)
{
    const struct set *set = set_by_name("@self");
    int r = 0;

    for (const struct set_item *item = set ? set->items : NULL; item && item->value && r == 0; item++)
        r = resolving_expand(resolving, item->value, &resolving->self);
    return r;
}

static bool holds_policy(const char *self)
{
    return strstr(self, "/.cache/") == NULL && strstr(self, "/.local/") == NULL;
}

/* Policies are not to be within reach from above either; a cache in what is granted may be. */
static int refuse_self(struct resolving *resolving, const struct asked *asked, const char *path)
{
    int r = resolving->self.count == 0 ? find_self(resolving) : 0;

    for (size_t i = 0; i < resolving->self.count && r == 0; i++) {
        const char *self = resolving->self.items[i];

        if (path_contains(self, path) || (path_contains(path, self) && holds_policy(self))) {
            refuse_place(resolving, asked, path, self, "where confine keeps its policies and state");
            return error_hint(resolving->error, "name another directory");
        }
    }
    return r;
}

/* Where sessions have their names, under the canonical name of that. Looked for once: what is not there now
 * is nobody's. */
static int find_sessions(struct resolving *resolving)
{
    const char *runtime = env_value(resolving->env, "XDG_RUNTIME_DIR");
    const char *const bases[][2] = {
        {runtime && runtime[0] == '/' ? runtime : NULL, "/confine"},
        {resolving->resolved->home, "/.cache/confine/sessions"},
    };
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(bases) && r == 0; i++) {
        _cleanup_free_ char *place = bases[i][0] ? text_join(bases[i][0], bases[i][1], "", NULL) : NULL;
        _cleanup_opened_ struct opened opened = {.fd = -1};

        if (!bases[i][0])
            continue;
        r = place ? path_open(place, &opened) : -ENOMEM;
        if (r == 0)
            r = strings_add(&resolving->sessions, opened.path);
        else if (r != -ENOMEM)
            r = 0; /* there are none there */
    }
    resolving->sessions_found = r == 0;
    return r < 0 ? error_no_memory(resolving->error) : 0;
}

/* Whoever can write where sessions have their names can join and end them, or answer in their place. */
static int refuse_sessions(struct resolving *resolving, const struct asked *asked, const char *path)
{
    int r = resolving->sessions_found ? 0 : find_sessions(resolving);

    for (size_t i = 0; i < resolving->sessions.count && r == 0; i++) {
        const char *place = resolving->sessions.items[i];

        if (path_contains(path, place) || path_contains(place, path))
            return refuse_place(resolving, asked, path, place, "where sessions have their names");
    }
    return r;
}

/* What no writable root may hold, of whatever kind. */
static int refuse_holding(struct resolving *resolving, const struct asked *asked, const char *path)
{
    const char *homes[] = {resolving->resolved->home, resolving->env_home, resolving->command_home,
                           env_value(resolving->env, "HOME")};

    if (strcmp(path, "/") == 0)
        return refuse_place(resolving, asked, path, "/", "the whole file system");
    for (size_t i = 0; i < ARRAY_SIZE(homes); i++)
        if (homes[i] && homes[i][0] == '/' && homes[i][1] && path_contains(path, homes[i]))
            return refuse_home(resolving, asked, path, homes[i]);
    if (resolving->program && path_contains(path, resolving->program))
        return refuse_launcher(resolving, asked, path, resolving->program);
    if (resolving->links_dir &&
        (path_contains(path, resolving->links_dir) || path_contains(resolving->links_dir, path)))
        return refuse_launcher(resolving, asked, path, resolving->links_dir);
    return refuse_self(resolving, asked, path) ?: refuse_sessions(resolving, asked, path);
}

int refuse_wide(struct resolving *resolving, const struct asked *asked, const char *path)
{
    int r = refuse_holding(resolving, asked, path);

    if (r < 0)
        return r;
    if (path_contains("/dev", path) && (!path_contains("/dev/shm", path) || strcmp(path, "/dev/shm") == 0))
        return refuse_place(resolving, asked, path, "/dev", "the devices");
    for (size_t i = 0; i < ARRAY_SIZE(wide_places); i++) {
        const struct wide_place *place = &wide_places[i];

        if (path_contains(path, place->path) || (place->below && path_contains(place->path, path)))
            return refuse_place(resolving, asked, path, place->path, place->what);
    }
    return 0;
}

bool policy_is_shared(const char *path)
{
    static const char *const shared[] = {"/tmp", "/var/tmp", "/dev/shm"};

    for (size_t i = 0; i < ARRAY_SIZE(shared); i++)
        if (strcmp(path, shared[i]) == 0)
            return true;
    return false;
}

/* Never a workspace, but where mounts are missing the only way to run what has their name built in: POSIX
 * semaphores and shared memory, tmpfile(). */
int refuse_wide_write(struct resolving *resolving, const struct asked *asked, const char *path)
{
    return asked->named && policy_is_shared(path) ? refuse_holding(resolving, asked, path)
                                                  : refuse_wide(resolving, asked, path);
}

/* The canonical name of NAME, or what it would be where the end of it is not there yet. Return: owned; NULL:
 * that cannot be known, or there is no memory (*@ret_failed). */
static char *find_canonical(const char *name, bool *ret_failed)
{
    _cleanup_free_ char *front = strdup(name);
    char *slash, *joined;

    *ret_failed = !front;
    while (front && *front) {
        _cleanup_opened_ struct opened opened = {.fd = -1};
        int r = path_open(front, &opened);

        if (r == 0) {
            joined = text_join(opened.path, name + strlen(front), NULL);
            *ret_failed = !joined;
            return joined;
        }
        *ret_failed = r == -ENOMEM;
        slash = strrchr(front, '/');
        if (r != -ENOENT || !slash)
            return NULL;
        *slash = '\0';
    }
    return NULL;
}

/* NAMES, and what they lead to by now: somebody may have made one of them, or a directory above, a link. */
static int add_unasked(struct resolving *resolving, const struct strings *names)
{
    struct strings *unasked = &resolving->resolved->unasked;
    int r = 0;

    for (size_t i = 0; i < names->count && r == 0; i++) {
        bool failed;
        _cleanup_free_ char *canonical = find_canonical(names->items[i], &failed);

        r = failed ? -ENOMEM : strings_add(unasked, names->items[i]);
        if (r == 0 && canonical && strcmp(canonical, names->items[i]) != 0)
            r = strings_add(unasked, canonical);
    }
    return r < 0 ? error_no_memory(resolving->error) : 0;
}

/* Nobody is asked about what no option could grant, about the policies of the next run, or about credentials,
 * those that are not there yet included. */
int resolve_unasked(struct resolving *resolving)
{
    static const char *const sets[] = {"@self", "@credentials"};
    const char *runtime = env_value(resolving->env, "XDG_RUNTIME_DIR");
    const char *const own[] = {resolving->program, resolving->links_dir, "/dev", "/proc", "/sys"};
    struct strings names = {0};
    int r = 0;

    if (resolving->policy->ask_ms == 0)
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(sets) && r == 0; i++)
        for (const struct set_item *item = set_by_name(sets[i])->items; item->value && r == 0; item++)
            r = resolving_expand(resolving, item->value, &names);
    for (size_t i = 0; i < ARRAY_SIZE(own) && r == 0; i++)
        r = own[i] ? strings_add(&names, own[i]) : 0;
    for (size_t i = 0; i < ARRAY_SIZE(wide_places) && r == 0; i++)
        r = wide_places[i].below ? strings_add(&names, wide_places[i].path) : 0;
    for (size_t i = 0; i < resolving->policy->files.count && r == 0; i++)
        r = strings_add(&names, resolving->policy->files.items[i]);
    for (size_t i = 0; i < resolving->resolved->hidden_count && r == 0; i++)
        r = strings_add(&names, resolving->resolved->hidden[i].path);
    for (size_t i = 0; i < resolving->resolved->protected_paths.count && r == 0; i++)
        r = strings_add(&names, resolving->resolved->protected_paths.items[i]);
    if (r == 0 && runtime && runtime[0] == '/')
        r = strings_addf(&names, "%s/confine", runtime);
    r = r < 0 ? error_no_memory(resolving->error) : add_unasked(resolving, &names);
    strings_free(&names);
    return r;
}

/* Whoever may talk to these is root, or can start anything outside. A final `/` means everything below. */
static const struct root_socket {
    const char *path, *what;
} root_sockets[] = {
    {"/run/docker.sock", "docker"},
    {"/run/docker/", "docker"},
    {"/run/containerd/", "containerd"},
    {"/run/podman/", "podman"},
    {"/run/crio/", "cri-o"},
    {"/run/buildkit/", "buildkit"},
    {"/run/lxd.socket", "lxd"},
    {"/run/snapd.socket", "snapd"},
    {"/run/snapd-snap.socket", "snapd"},
    {"/run/systemd/", "systemd"},
    {"/run/dbus/system_bus_socket", "the system bus"},
    {"/run/libvirt/", "libvirt"},
    {"/run/udev/control", "udev"},
    {"/var/lib/lxd/", "lxd"},
    {"/var/lib/incus/", "incus"},
    {"/var/snap/lxd/", "lxd"},
};

/* The same services under a user's own runtime directory, or moved elsewhere: known by their last part. */
static const struct root_socket root_socket_ends[] = {
    {"/docker.sock", "docker"},
    {"/podman.sock", "podman"},
    {"/containerd.sock", "containerd"},
    {"/crio.sock", "cri-o"},
    {"/buildkitd.sock", "buildkit"},
    {"/systemd/private", "systemd"},
    {"/system_bus_socket", "the system bus"},
    {"/libvirt-sock", "libvirt"},
    {"/unix.socket", "lxd"},
};

static int refuse_root_socket(struct resolving *resolving, const struct asked *asked, const char *what)
{
    error_set(resolving->error, ERROR_POLICY_INVALID, EPERM, "socket-root-equivalent",
              "%s %s: whoever reaches %s can do anything outside", asked->by, QUOTE(asked->value), what);
    error_surface(resolving->error, "unix.path");
    return error_hint(resolving->error, "let a program outside talk to %s", what);
}

int refuse_socket(struct resolving *resolving, const struct asked *asked, const struct opened *opened)
{
    const char *path = opened->path;
    size_t length = strlen(path);

    if (strncmp(path, "/var/run/", 9) == 0)
        path += 4;
    for (size_t i = 0; i < ARRAY_SIZE(root_sockets); i++) {
        size_t most = strlen(root_sockets[i].path);

        if (strncmp(path, root_sockets[i].path, most) == 0 &&
            (root_sockets[i].path[most - 1] == '/' || path[most] == '\0'))
            return refuse_root_socket(resolving, asked, root_sockets[i].what);
    }
    for (size_t i = 0; i < ARRAY_SIZE(root_socket_ends); i++) {
        size_t end = strlen(root_socket_ends[i].path);

        if (length >= end && strcmp(opened->path + length - end, root_socket_ends[i].path) == 0)
            return refuse_root_socket(resolving, asked, root_socket_ends[i].what);
    }
    if (S_ISSOCK(opened->st.st_mode))
        return 0;
    error_set(resolving->error, ERROR_POLICY_INVALID, ENOTSOCK, "not-a-socket", "%s %s: not a socket",
              asked->by, QUOTE(asked->value));
    return error_hint(resolving->error, "name the socket itself");
}

static int refuse_node(struct resolving *resolving, const struct asked *asked, const char *why)
{
    error_set(resolving->error, ERROR_POLICY_INVALID, EPERM, "device-refused", "%s %s: %s", asked->by,
              QUOTE(asked->value), why);
    return error_hint(resolving->error, "leave it out: no command gets it");
}

/* Somebody may sit there: a virtual console, a serial line, a pseudo-terminal; or keys are read and made
 * there. */
static bool is_terminal(dev_t device)
{
    unsigned number = major(device);

    return number == 4 || (number == 5 && minor(device) == 1) || (number >= 136 && number <= 143) ||
           number == 13 || (number == 10 && minor(device) == 223);
}

int refuse_device(struct resolving *resolving, const struct asked *asked, const struct opened *opened)
{
    const unsigned memory_major = 1, memory_minors[] = {1, 2, 4, 11}; /* mem, kmem, port, kmsg */

    if (S_ISBLK(opened->st.st_mode))
        return refuse_node(resolving, asked, "a block device holds whole file systems, past every rule");
    if (!S_ISCHR(opened->st.st_mode)) {
        error_set(resolving->error, ERROR_POLICY_INVALID, ENODEV, "not-a-device", "%s %s: not a device node",
                  asked->by, QUOTE(asked->value));
        return error_hint(resolving->error, "files and directories are granted with --read and --write");
    }
    for (size_t i = 0; i < ARRAY_SIZE(memory_minors); i++)
        if (opened->st.st_rdev == makedev(memory_major, memory_minors[i]))
            return refuse_node(resolving, asked, "it is the memory or the ports of the machine");
    resolving->resolved->terminal_granted |= is_terminal(opened->st.st_rdev);
    return 0;
}

bool policy_never_grants(const struct policy *policy, char *const *env, enum list list, const char *path)
{
    struct resolved resolved = {.policy = policy, .workspace_fd = -1, .cwd_fd = -1, .cache_lock = -1};
    struct error error = {0};
    struct resolving resolving = {.policy = policy, .env = env, .resolved = &resolved, .error = &error};
    struct asked asked = {.value = path, .named = true};
    struct opened socket = {.fd = -1, .path = (char *)(uintptr_t)path, .st = {.st_mode = S_IFSOCK}};
    int r = resolving_start(&resolving);

    if (r == 0 && list == LIST_WRITE)
        r = refuse_wide_write(&resolving, &asked, path);
    else if (r == 0 && list == LIST_SOCKETS)
        r = refuse_socket(&resolving, &asked, &socket);
    resolving_end(&resolving);
    resolved_free(&resolved);
    return r < 0;
}
