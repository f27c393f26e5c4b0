/*
 * socket_address.c - see socket_address.h. No list of interfaces: what a socket can be bound to is the
 * machine's own.
 */
#include "network/socket_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <time.h>

bool address_read(const struct sockaddr *from, struct address *ret_address)
{
    *ret_address = (struct address){.six = from->sa_family == AF_INET6};
    if (from->sa_family == AF_INET) {
        const struct sockaddr_in *four = (const void *)from;

        memcpy(ret_address->bytes, &four->sin_addr, 4);
        return true;
    }
    if (from->sa_family != AF_INET6)
        return false;
    memcpy(ret_address->bytes, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr, 16);
    address_unmap(ret_address);
    return true;
}

uint16_t address_port(const struct sockaddr *from)
{
    return ntohs(from->sa_family == AF_INET6 ? ((const struct sockaddr_in6 *)(const void *)from)->sin6_port
                                             : ((const struct sockaddr_in *)(const void *)from)->sin_port);
}

socklen_t address_socket(const struct address *address, uint16_t port, struct sockaddr_storage *ret_socket)
{
    memset(ret_socket, 0, sizeof(*ret_socket));
    if (address->six) {
        struct sockaddr_in6 *six = (struct sockaddr_in6 *)ret_socket;

        six->sin6_family = AF_INET6;
        six->sin6_port = htons(port);
        memcpy(&six->sin6_addr, address->bytes, 16);
        return sizeof(*six);
    }
    struct sockaddr_in *four = (struct sockaddr_in *)ret_socket;

    four->sin_family = AF_INET;
    four->sin_port = htons(port);
    memcpy(&four->sin_addr, address->bytes, 4);
    return sizeof(*four);
}

/* Return: 1 when a socket can be bound to it, 0 when not, -errno when that could not be tried. */
static int try_bind(const struct address *address)
{
    struct sockaddr_storage name;
    socklen_t length = address_socket(address, 0, &name);
    _cleanup_fd_ int fd = socket(name.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return errno == EAFNOSUPPORT ? 0 : -errno;
    if (bind(fd, (struct sockaddr *)&name, length) == 0)
        return 1;
    return errno == EADDRNOTAVAIL || errno == EINVAL ? 0 : -errno; /* link-local without a link is nobody's */
}

/* Does the kernel reach it by itself? It takes the address as its own sender then. */
static int try_route(const struct address *address)
{
    struct sockaddr_storage name, sender = {0};
    socklen_t length = address_socket(address, 9, &name), sender_length = sizeof(sender);
    struct address own;
    _cleanup_fd_ int fd = socket(name.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return errno == EAFNOSUPPORT ? 0 : -errno;
    if (connect(fd, (struct sockaddr *)&name, length) != 0)
        return 0; /* no way there at all */
    if (getsockname(fd, (struct sockaddr *)&sender, &sender_length) != 0)
        return -errno;
    return address_read((struct sockaddr *)&sender, &own) && own.six == address->six &&
           memcmp(own.bytes, address->bytes, sizeof(own.bytes)) == 0;
}

static int ask_kernel(const struct address *address)
{
    /* Nobody has it. Where it can be bound, every address can (ip_nonlocal_bind), and that says nothing. */
    static const struct address nobody[2] = {{.bytes = {240, 0, 0, 1}},
                                             {.six = true, .bytes = {0x01, 0, 0, 0, 0, 0, 0, 1, [15] = 1}}};
    int bound = try_bind(address);

    if (bound == 0)
        return try_route(address);
    if (bound < 0)
        return bound;
    return try_bind(&nobody[address->six]) == 1 ? try_route(address) : 1;
}

int address_is_own(const struct address *address)
{
    /* Addresses come and go, but not within a second; and a build asks for the same few all the time. */
    static struct {
        struct address address;
        time_t until;
        int own;
    } known[16];
    size_t at = (address->bytes[3] ^ address->bytes[7] ^ address->bytes[15]) % ARRAY_SIZE(known);
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (known[at].until <= now.tv_sec || known[at].address.six != address->six ||
        memcmp(known[at].address.bytes, address->bytes, sizeof(address->bytes)) != 0) {
        known[at].own = ask_kernel(address);
        known[at].address = *address;
        known[at].until = now.tv_sec + 1;
    }
    return known[at].own;
}
