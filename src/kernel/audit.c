/*
 * audit.c - see audit.h.
 *
 * The records go to a group that whoever has CAP_AUDIT_READ may listen to, beside the daemon; they are sent
 * in the first network namespace only, and their process ids are those of the first process namespace.
 */
#include "kernel/audit.h"

#include "links/kernel_abi.h"
#include "util/util.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define FAMILY_NETLINK   16
#define PROTOCOL_AUDIT   9
#define GROUP_READ       1 /* AUDIT_NLGRP_READLOG */
#define CAN_AUDIT_READ   37
#define MESSAGE_GET      1000 /* AUDIT_GET */
#define MESSAGE_REQUEST  1
#define FAILURE_PANICS   2 /* AUDIT_FAIL_PANIC */
#define STATUS_MS        1000
#define FIRST_PIDS       0xEFFFFFFCU /* the kernel's own numbers of what is there from the start */
#define ROOM_FOR_RECORDS (8 * 1024 * 1024)

struct netlink_address {
    uint16_t family, pad;
    uint32_t port, groups;
};

struct netlink_head {
    uint32_t length;
    uint16_t type, flags;
    uint32_t sequence, port;
};

struct audit_words { /* struct audit_status, as far as it is needed */
    uint32_t mask, enabled, failure, daemon, rate, backlog_limit, lost, backlog;
};

static bool may_read(void)
{
    struct capability_header header = {.version = CAPABILITY_VERSION_3};
    struct capability_data data[2] = {{0}};

    return kernel_call(SYS_capget, KERNEL_PTR(&header), KERNEL_PTR(data), 0, 0, 0, 0) == 0 &&
           (data[CAN_AUDIT_READ / 32].effective & 1U << CAN_AUDIT_READ % 32);
}

/* Where we cannot look at process 1, the group tells nobody of another network namespace anything. */
static bool is_elsewhere(void)
{
    struct stat own, first;

    if (stat("/proc/self/ns/pid", &own) != 0 || own.st_ino != FIRST_PIDS)
        return true;
    return stat("/proc/self/ns/net", &own) != 0 ||
           (stat("/proc/1/ns/net", &first) == 0 && first.st_ino != own.st_ino);
}

/* Only three types of records are let through: of what else the machine does nothing is even received. */
static int let_through(int fd)
{
    static const uint16_t types[] = {AUDIT_TYPE_SYSCALL, AUDIT_TYPE_ACCESS, AUDIT_TYPE_DOMAIN};
    struct sock_filter code[2 + ARRAY_SIZE(types) + 1];
    struct sock_fprog program = {.len = ARRAY_SIZE(code), .filter = code};
    int one = 1;

    code[0] = (struct sock_filter){BPF_LD | BPF_H | BPF_ABS, 0, 0, 4}; /* in the network's order */
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        code[1 + i] = (struct sock_filter){BPF_JMP | BPF_JEQ | BPF_K, (uint8_t)(ARRAY_SIZE(types) - i), 0,
                                           (uint32_t)(types[i] >> 8 | (types[i] & 0xff) << 8)};
    code[1 + ARRAY_SIZE(types)] = (struct sock_filter){BPF_RET | BPF_K, 0, 0, 0};
    code[2 + ARRAY_SIZE(types)] = (struct sock_filter){BPF_RET | BPF_K, 0, 0, UINT32_MAX};
    if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_LOCK_FILTER, &one, sizeof(one)) != 0)
        return -errno;
    return 0;
}

int audit_listen(void)
{
    struct netlink_address place = {.family = FAMILY_NETLINK, .groups = GROUP_READ};
    int fd = socket(FAMILY_NETLINK, SOCK_RAW | SOCK_CLOEXEC, PROTOCOL_AUDIT), size = ROOM_FOR_RECORDS, r;

    if (fd < 0)
        return -errno;
    r = let_through(fd);
    if (r == 0 && bind(fd, (struct sockaddr *)&place, sizeof(place)) != 0)
        r = -errno;
    if (r < 0) {
        close(fd);
        return r;
    }
    /* Other people's refusals take their room as well. Without the privilege as much as the machine allows.
     */
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) != 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
    return fd;
}

long audit_receive(int fd, void *room, size_t size)
{
    struct netlink_address from = {0};
    uint32_t length = sizeof(from);
    long got = kernel_call(SYS_recvfrom, fd, KERNEL_PTR(room), (long)size, MSG_DONTWAIT, KERNEL_PTR(&from),
                           KERNEL_PTR(&length));

    return got >= 0 && (length < sizeof(from) || from.port != 0) ? -EPERM : got;
}

int audit_status(struct audit_state *state)
{
    struct netlink_address kernel = {.family = FAMILY_NETLINK};
    struct {
        struct netlink_head head;
        struct audit_words words;
        char more[256];
    } message = {.head = {.length = sizeof(message.head), .type = MESSAGE_GET, .flags = MESSAGE_REQUEST}};
    _cleanup_fd_ int fd = socket(FAMILY_NETLINK, SOCK_RAW | SOCK_CLOEXEC, PROTOCOL_AUDIT);
    struct pollfd ready = {.fd = fd, .events = POLLIN};

    if (fd < 0 ||
        sendto(fd, &message, sizeof(message.head), 0, (struct sockaddr *)&kernel, sizeof(kernel)) < 0)
        return -errno;
    if (poll(&ready, 1, STATUS_MS) != 1)
        return -ETIMEDOUT;
    memset(&message, 0, sizeof(message));
    if (audit_receive(fd, &message, sizeof(message)) < (long)sizeof(message.head))
        return -EIO;
    if (message.head.type != MESSAGE_GET)
        return -EPERM;
    *state = (struct audit_state){.on = message.words.enabled != 0,
                                  .panics = message.words.failure == FAILURE_PANICS,
                                  .lost = message.words.lost};
    return 0;
}

const char *audit_unreadable(void)
{
    struct audit_state state;
    int fd;

    if (!may_read())
        return "no-capability";
    if (audit_status(&state) == 0) {
        if (!state.on) /* the usual answer to root, and all that it pays */
            return "audit-off";
        if (state.panics) /* a command can be refused faster than records are written */
            return "audit-panics";
    }
    if (is_elsewhere())
        return "other-namespace";
    fd = audit_listen();
    if (fd < 0)
        return "audit-refused";
    close(fd);
    return NULL;
}
