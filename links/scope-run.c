/*
 * scope-run.c - limit which processes outside can be reached.
 *
 *     scope-run [--signal] [--abstract] [--tcp] [--udp] [--unix] [--socket PATH]...
 *               [--guard LIVENESS_FD --channel FD] [--mounts] -- COMMAND [ARG]...
 *
 * One Landlock layer with exactly what is asked: signals, abstract and pathname
 * sockets, TCP and UDP ports; with the guard (guard.h) one more, of the signal
 * scope alone.
 *
 * Should:  show each class by an act of its own, done before and refused after.
 *          In a nested run an outer wall may refuse the act before: then the
 *          class is held already, and must still be afterwards.
 * Mustn't: leave out a right that is asked for because the kernel lacks it, or
 *          make a guard without the signal scope.
 */
#include "control.h"
#include "domain.h"
#include "guard.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

enum class { CLASS_SIGNAL = 0, CLASS_ABSTRACT, CLASS_TCP, CLASS_UDP, CLASS_UNIX, CLASSES };

struct scope {
    bool asked[CLASSES];
    bool mounts; /* no layer with file rights stands beside, and mounts stay possible */
    int guard;   /* liveness descriptor, -1: no guard */
    int channel; /* -1: none */
    int abi;     /* the kernel's */
    struct control control;
    int before[CLASSES]; /* what each act answered before restricting: 0 or -errno */
    int socket[CLASSES]; /* that the acts are done with; -1: none */
    struct sockaddr_un abstract;
    socklen_t abstract_size; /* 0: not named yet */
};

/* The socket of a class: made for its first act, used for the second, closed with it. Return: 0 or -errno. */
static int open_once(int *fd, int domain, int type)
{
    if (*fd < 0)
        *fd = socket(domain, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return *fd < 0 ? -errno : 0;
}

/* Any free port of loopback. A socket cannot be bound twice (EINVAL), but the kernel finds that
 * out behind the walls: to be told so is to have been let through. */
static int try_bind(int *fd, int type)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int error = open_once(fd, AF_INET, type);

    if (!error && bind(*fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
        error = errno == EINVAL ? 0 : -errno;
    return error;
}

static int try_signal(struct scope *scope)
{
    return control_signal(&scope->control);
}

static int try_tcp(struct scope *scope)
{
    return try_bind(&scope->socket[CLASS_TCP], SOCK_STREAM);
}

static int try_udp(struct scope *scope)
{
    return try_bind(&scope->socket[CLASS_UDP], SOCK_DGRAM);
}

/* Gives the socket an abstract name that the kernel chooses. Done once, before restricting. */
static int name_abstract(struct scope *scope, int fd)
{
    struct sockaddr_un any = {.sun_family = AF_UNIX};
    socklen_t size = sizeof(scope->abstract);

    if (bind(fd, (const struct sockaddr *)&any, sizeof(any.sun_family)) != 0 ||
        getsockname(fd, (struct sockaddr *)&scope->abstract, &size) != 0)
        return -errno;
    scope->abstract_size = size;
    return 0;
}

/* A socket that takes itself as its peer, and leaves it again: whose socket a name belongs to is a matter of
 * who made it, and it was made outside. With a peer that it has already it would not be asked. */
static int try_abstract(struct scope *scope)
{
    const struct sockaddr nobody = {.sa_family = AF_UNSPEC};
    int *fd = &scope->socket[CLASS_ABSTRACT];
    int error = open_once(fd, AF_UNIX, SOCK_DGRAM);

    if (!error && scope->abstract_size == 0)
        error = name_abstract(scope, *fd);
    if (error)
        return error;
    if (connect(*fd, (const struct sockaddr *)&scope->abstract, scope->abstract_size) != 0 ||
        connect(*fd, &nobody, sizeof(nobody)) != 0)
        return -errno;
    return 0;
}

/* The classes. `refused` is the errno with which Landlock stops the act; no act: an object would have to be
 * made on disk, and what other links leave behind shows it (the supervisor tries it). */
static const struct {
    const char *option;
    uint64_t fs;
    uint64_t net;
    uint64_t scoped;
    int since_abi;
    int refused;
    int (*act)(struct scope *scope);
} classes[CLASSES] = {
    [CLASS_SIGNAL] = {"--signal", 0, 0, LANDLOCK_SCOPED_SIGNAL, 6, EPERM, try_signal},
    [CLASS_ABSTRACT] = {"--abstract", 0, 0, LANDLOCK_SCOPED_ABSTRACT, 6, EPERM, try_abstract},
    [CLASS_TCP] = {"--tcp", 0, LANDLOCK_NET_BIND_TCP | LANDLOCK_NET_CONNECT_TCP, 0, 4, EACCES, try_tcp},
    [CLASS_UDP] = {"--udp", 0, LANDLOCK_NET_BIND_UDP | LANDLOCK_NET_CONNECT_SEND_UDP, 0, 10, EACCES, try_udp},
    [CLASS_UNIX] = {"--unix", LANDLOCK_FS_RESOLVE_UNIX, 0, 0, 9, EACCES, NULL},
};

/* Takes the options; with a RULESET only its sockets are granted. Return: the first word that is no option.
 */
static size_t each_option(const struct chain *chain, struct scope *scope, int ruleset)
{
    size_t at = 1;

    while (chain->argv[at]) {
        const char *value;
        size_t class = 0;

        while (class < CLASSES && !chain_flag(chain, &at, classes[class].option))
            class ++;
        if (class < CLASSES) {
            scope->asked[class] = true;
        } else if (chain_flag(chain, &at, "--mounts")) {
            scope->mounts = true;
        } else if (chain_option(chain, &at, "--guard", &value)) {
            scope->guard = chain_number(chain, "--guard", value);
        } else if (chain_option(chain, &at, "--channel", &value)) {
            scope->channel = chain_number(chain, "--channel", value);
        } else if (chain_option(chain, &at, "--socket", &value)) {
            int fd = ruleset < 0 ? -1 : domain_open(chain, value);

            if (fd < 0) {
                scope->asked[CLASS_UNIX] = true; /* a grant says that the others are refused */
                continue;
            }
            domain_allow(chain, ruleset, fd, LANDLOCK_FS_RESOLVE_UNIX, value);
            domain_close(fd, value);
        } else {
            break;
        }
    }
    return at;
}

static char **parse_options(const struct chain *chain, struct scope *scope)
{
    char **command = chain_command(chain, each_option(chain, scope, -1));
    bool any = false;

    for (size_t i = 0; i < CLASSES; i++)
        any = any || scope->asked[i];
    if (!any)
        chain_fatal(chain, "usage", "nothing to limit");
    if (scope->mounts && scope->asked[CLASS_UNIX])
        chain_fatal(chain, "--mounts",
                    "usage: pathname sockets are a file right, with which every mount is refused");
    if ((scope->guard < 0) != (scope->channel < 0))
        chain_fatal(chain, "--guard", "usage: needs --channel, and the other way round");
    if (scope->guard >= 0 && !scope->asked[CLASS_SIGNAL])
        chain_fatal(chain, "--guard", "usage: needs --signal, or it would reach every process of the user");
    if (scope->guard >= 0 && (fcntl(scope->guard, F_GETFD) < 0 || fcntl(scope->channel, F_GETFD) < 0))
        chain_fatal(chain, "--guard", "a descriptor is not open");
    if (scope->guard >= 0 && scope->guard == scope->channel)
        chain_fatal(chain, "--guard", "usage: the channel is another descriptor");
    return command;
}

/* Beside a layer with file rights *every* layer refuses renames and links across directories (EXDEV) unless
 * it handles REFER and grants it: one that holds nothing but signals or ports too. Return: the ruleset. */
static int allow_renames(const struct chain *chain, struct landlock_ruleset_attr *attr)
{
    int ruleset, root = domain_open(chain, "/");

    attr->handled_access_fs |= LANDLOCK_FS_REFER;
    ruleset = domain_ruleset(chain, attr);
    domain_allow(chain, ruleset, root, LANDLOCK_FS_REFER, "/");
    close(root);
    return ruleset;
}

static int build_ruleset(const struct chain *chain, struct scope *scope)
{
    struct landlock_ruleset_attr attr = {0};
    int ruleset;

    scope->abi = domain_abi(chain);
    for (size_t i = 0; i < CLASSES; i++) {
        if (!scope->asked[i])
            continue;
        domain_need(chain, scope->abi, classes[i].since_abi, classes[i].option);
        attr.handled_access_fs |= classes[i].fs;
        attr.handled_access_net |= classes[i].net;
        attr.scoped |= classes[i].scoped;
    }
    ruleset = scope->mounts ? domain_ruleset(chain, &attr) : allow_renames(chain, &attr);
    if (scope->asked[CLASS_UNIX])
        each_option(chain, scope, ruleset);
    return ruleset;
}

/* Is this the errno of an act that a wall outside refuses, or that has no object on this machine? */
static bool is_held_before(int errnum)
{
    return errnum == EPERM || errnum == EACCES || errnum == EAFNOSUPPORT;
}

static void act_before(const struct chain *chain, struct scope *scope)
{
    for (size_t i = 0; i < CLASSES; i++) {
        if (!scope->asked[i] || !classes[i].act)
            continue;
        scope->before[i] = classes[i].act(scope);
        if (scope->before[i] != 0 && (i == CLASS_SIGNAL || !is_held_before(-scope->before[i])))
            chain_fatal_errno(chain, classes[i].option, -scope->before[i]);
    }
}

static void act_after(const struct chain *chain, struct scope *scope)
{
    for (size_t i = 0; i < CLASSES; i++) {
        int expected = scope->before[i] ? -scope->before[i] : classes[i].refused, error;

        if (!scope->asked[i] || !classes[i].act)
            continue;
        error = classes[i].act(scope);
        if (scope->socket[i] >= 0)
            close(scope->socket[i]);
        if (error == 0)
            chain_fatal(chain, classes[i].option, "the kernel reported success but nothing is refused");
        if (error != -expected)
            chain_fatal_errno(chain, classes[i].option, -error);
    }
}

/* The guard, and the layer that puts it out of the command's reach. The guard is this layer's control: a
 * signal to it is possible before and refused after. */
static void start_guard(const struct chain *chain, const struct scope *scope)
{
    struct landlock_ruleset_attr attr = {.scoped = LANDLOCK_SCOPED_SIGNAL};
    int ruleset = allow_renames(chain, &attr);
    pid_t guard = guard_start(chain, scope->guard, scope->channel);
    long error = kernel_call(SYS_kill, guard, 0, 0, 0, 0, 0);

    if (error)
        chain_fatal_errno(chain, "guard", (int)-error);
    domain_enter(chain, ruleset, scope->abi);
    if (kernel_call(SYS_kill, guard, 0, 0, 0, 0, 0) != -EPERM)
        chain_fatal(chain, "guard", "the kernel reported success but it can still be signalled");
}

/*
 * scope_run() - the link; see the head of this file.
 *
 * Return: never, but through a fused next link.
 */
int scope_run(struct chain *chain)
{
    struct scope scope = {.guard = -1, .channel = -1, .socket = {-1, -1, -1, -1, -1}};
    char **command;
    int ruleset;

    chain_set_dumpable(chain, false);
    command = parse_options(chain, &scope);
    control_start(chain, &scope.control);
    ruleset = build_ruleset(chain, &scope);
    control_show(chain, &scope.control);
    act_before(chain, &scope);
    domain_enter(chain, ruleset, scope.abi);
    control_restricted(chain, &scope.control);
    act_after(chain, &scope);
    control_end(chain, &scope.control);
    if (scope.guard >= 0)
        start_guard(chain, &scope);
    return chain_hand_over(chain, command);
}

LINK_MAIN("scope-run", scope_run)
