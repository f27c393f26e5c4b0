/*
 * world.c - the namespaces of a small Internet, and the way into it. See world.h.
 *
 * A rule of routing sends every address to loopback, from a table that bind() does not look into: so they are
 * all reached, and none but WORLD_OWN is the machine's own. It needs no device and no right outside: a user
 * makes it in a user namespace.
 *
 * Should:  be gone with the process that serves it.
 * Mustn't: change anything outside of the namespaces, or serve with a right that a caller does not have.
 */
#include "world.h"
#include "battery.h"
#include "place.h"

#include "links/kernel_abi.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TABLE = 100, ROUTING = 0 /* netlink's protocol */, READY_MS = 10000, MEMORY = 4096 };

/* --- addresses and routes --------------------------------------------------------------------------------
 */

struct message {
    struct net_header header;
    unsigned char body[64];
};

static void begin_message(struct message *message, uint16_t type, const void *head, size_t size)
{
    *message = (struct message){.header = {.length = (uint32_t)(sizeof(message->header) + size),
                                           .type = type,
                                           .flags = NET_REQUEST | NET_ACK | NET_CREATE | NET_EXCLUDE}};
    memcpy(message->body, head, size);
}

static void add_number(struct message *message, uint16_t type, uint32_t number)
{
    struct net_attribute attribute = {sizeof(attribute) + sizeof(number), type};
    unsigned char *at = (unsigned char *)message + message->header.length;

    memcpy(at, &attribute, sizeof(attribute));
    memcpy(at + sizeof(attribute), &number, sizeof(number));
    message->header.length += attribute.length;
}

static int ask_kernel(int fd, const struct message *message)
{
    struct {
        struct net_header header;
        struct net_answer answer;
        unsigned char rest[256];
    } reply;
    ssize_t length;

    if (send(fd, message, message->header.length, 0) != (ssize_t)message->header.length)
        return -errno;
    length = recv(fd, &reply, sizeof(reply), 0);
    return length < (ssize_t)(sizeof(reply.header) + sizeof(reply.answer)) || reply.header.type != NET_ANSWER
               ? -EPROTO
               : reply.answer.error;
}

static int raise_loopback(void)
{
    struct ifreq request = {.ifr_name = "lo"};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), result = fd < 0 ? -errno : 0;

    if (result == 0 && ioctl(fd, SIOCGIFFLAGS, &request) != 0)
        result = -errno;
    request.ifr_flags |= IFF_UP;
    if (result == 0 && ioctl(fd, SIOCSIFFLAGS, &request) != 0)
        result = -errno;
    if (fd >= 0)
        close(fd);
    return result;
}

static int add_address(int fd)
{
    struct net_address head = {.family = AF_INET, .bits = 32, .device = NET_LOOPBACK};
    struct message message;

    begin_message(&message, NET_NEW_ADDRESS, &head, sizeof(head));
    add_number(&message, NET_ADDRESS_LOCAL, inet_addr(WORLD_OWN));
    add_number(&message, NET_ADDRESS_ADDRESS, inet_addr(WORLD_OWN));
    return ask_kernel(fd, &message);
}

/* Everything of the family that is nobody's comes to us. */
static int take_all(int fd, uint8_t family)
{
    struct net_rule rule = {.family = family, .table = TABLE, .action = NET_RULE_TO_TABLE};
    struct net_route route = {.family = family,
                              .table = TABLE,
                              .protocol = NET_ROUTE_BY_KERNEL,
                              .scope = NET_ROUTE_THIS_HOST,
                              .type = NET_ROUTE_LOCAL};
    struct message message;
    int result;

    begin_message(&message, NET_NEW_RULE, &rule, sizeof(rule));
    result = ask_kernel(fd, &message);
    begin_message(&message, NET_NEW_ROUTE, &route, sizeof(route));
    add_number(&message, NET_ROUTE_OVER, NET_LOOPBACK);
    if (family == AF_INET)
        add_number(&message, NET_ROUTE_SOURCE, inet_addr(WORLD_OWN));
    return result < 0 ? result : ask_kernel(fd, &message);
}

static int make_network(void)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, ROUTING),
        result = fd < 0 ? -errno : raise_loopback();

    if (result == 0)
        result = add_address(fd);
    if (result == 0)
        result = take_all(fd, AF_INET);
    if (result == 0)
        take_all(fd, AF_INET6); /* without it, what needs it has no control */
    if (fd >= 0)
        close(fd);
    return result;
}

/* --- namespaces ------------------------------------------------------------------------------------------
 */

static int write_maps(const struct battery *battery)
{
    char uid[40], gid[40];
    int result;

    snprintf(uid, sizeof(uid), "%u %u 1", battery->uid, battery->uid);
    snprintf(gid, sizeof(gid), "%u %u 1", battery->gid, battery->gid);
    result = place_write("/proc/self/uid_map", uid);
    if (result == 0)
        result = place_write("/proc/self/setgroups", "deny");
    return -(result ? result : place_write("/proc/self/gid_map", gid));
}

/* What says where name servers are, and which names have an address without them. */
static int cover_names(const struct trial *trial)
{
    static const char *const names[] = {"resolv.conf", "hosts"};
    char from[PLACE_SIZE], to[32];

    for (size_t i = 0; i < ITEMS(names); i++) {
        int result = place_join(from, trial->dir, names[i]);

        snprintf(to, sizeof(to), "/etc/%s", names[i]);
        if (result < 0)
            return result;
        if (mount(from, to, NULL, MS_BIND, NULL) != 0 && (i == 0 || errno != ENOENT))
            return -errno;
    }
    return 0;
}

static int make_namespaces(const struct trial *trial)
{
    const struct battery *battery = trial->battery;
    int spaces = CLONE_NEWNET | CLONE_NEWNS, result = 0;

    if (battery->root && (setresuid(0, 0, 0) != 0 || unshare(spaces) != 0))
        return -errno;
    if (!battery->root) {
        if (unshare(spaces | CLONE_NEWUSER) != 0)
            return -errno;
        result = write_maps(battery);
    }
    if (result == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        result = -errno;
    if (result == 0)
        result = make_network();
    return result < 0 ? result : cover_names(trial);
}

/* The process of the world. It says what it came to in one number, and serves. */
static _Noreturn void be_world(const struct trial *trial, const struct world *world, int sync, pid_t parent)
{
    int result = prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent ? -ECHILD : 0;

    if (result == 0)
        result = make_namespaces(trial);
    if (result < 0) {
        if (write(sync, &result, sizeof(result)) != (ssize_t)sizeof(result))
            _exit(125);
        _exit(0);
    }
    world_serve(trial, world, sync);
}

static int start_world(struct trial *trial, const struct world *world)
{
    struct pollfd ready = {.events = POLLIN};
    int ends[2], result = -ETIMEDOUT;
    pid_t parent = getpid(), child;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return -errno;
    child = fork();
    if (child == 0) {
        close(ends[0]);
        be_world(trial, world, ends[1], parent);
    }
    close(ends[1]);
    trial->fd[0] = ends[0];
    if (child < 0)
        return -errno;
    janitor_note(LEFT_PROCESS, child, NULL);
    trial->helper[0] = child;
    ready.fd = ends[0];
    if (poll(&ready, 1, READY_MS) > 0 && read(ends[0], &result, sizeof(result)) != (ssize_t)sizeof(result))
        result = -ECHILD;
    return result;
}

int world_make(struct trial *trial, const struct world *world)
{
    static char why[96];
    char path[PLACE_SIZE];
    int result = place_file(path, trial->dir, "resolv.conf", "nameserver " WORLD_RESOLVER "\n", 0644);

    if (result == 0)
        result = place_file(path, trial->dir, "hosts", "127.0.0.1 localhost\n", 0644);
    if (result < 0)
        return result;
    trial->memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (trial->memory == MAP_FAILED) {
        trial->memory = NULL;
        return -ENOMEM;
    }
    trial->no_witness = world->no_witness;
    result = start_world(trial, world);
    if (result < 0) {
        snprintf(why, sizeof(why), "no network of its own can be made here: %s", strerror(-result));
        return place_skip(trial, why);
    }
    trial->world = trial->helper[0];
    return 0;
}

static int open_space(pid_t pid, const char *name)
{
    char path[40];

    snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

void world_join(const struct trial *trial)
{
    static const char *const names[] = {"user", "net", "mnt"};
    char directory[PLACE_SIZE];
    bool root = trial->battery->root;
    int spaces[ITEMS(names)];

    if (!getcwd(directory, sizeof(directory)) || (root && seteuid(0) != 0))
        _exit(CANNOT_ENTER);
    for (size_t i = root; i < ITEMS(names); i++)
        spaces[i] = open_space(trial->world, names[i]);
    for (size_t i = root; i < ITEMS(names); i++)
        if (spaces[i] < 0 || setns(spaces[i], 0) != 0)
            _exit(CANNOT_ENTER);
    if (chdir(directory) != 0)
        _exit(CANNOT_ENTER);
}

/* --- what came there -------------------------------------------------------------------------------------
 */

void witness_write(const struct order *order, char ret_witness[MARK_SIZE])
{
    for (size_t i = 0; i < MARK_SIZE - 1; i++)
        ret_witness[i] = order->mark[MARK_SIZE - 2 - i];
    ret_witness[MARK_SIZE - 1] = '\0';
}

int world_heard(struct trial *trial, enum heard kind)
{
    const struct world_memory *memory = (const void *)trial->memory;
    struct pollfd ready = {.fd = trial->fd[0], .events = POLLIN};
    char byte = 0;
    bool witness = false;

    if (write(trial->fd[0], &byte, 1) != 1 || poll(&ready, 1, READY_MS) <= 0 ||
        read(trial->fd[0], &byte, 1) != 1)
        return -ECHILD;
    for (int i = 0; i < HEARD_COUNT; i++)
        witness = witness || memory->witnesses[i] > 0;
    if (trial->no_witness)
        witness = memory->asked > 0;
    if (!witness) {
        trial->skip = "not even what is listed was reached";
        return -ENOLINK;
    }
    return memory->marks[kind] > 0;
}
