/*
 * namespace_local.c - loopback, and what is local beside it: addresses and routes, by rtnetlink.
 *
 * Should:  hear the kernel's answer to each.
 * Mustn't: take one that is there already for a failure.
 */
#include "namespace_net.h"

void net_raise_loopback(const struct namespace *ns)
{
    bool up = true;
    int error = namespace_raise_loopback(&up);

    if (error)
        namespace_cannot(ns, CANNOT_NET, "loopback", -error);
    if (!up)
        chain_fatal(ns->chain, "loopback", "the kernel reported success but it is not up");
}

struct request {
    struct net_header header;
    uint8_t rest[64];
};

static void add(struct request *request, const void *data, size_t size)
{
    memcpy((uint8_t *)request + request->header.length, data, size);
    request->header.length += (uint32_t)size; /* every one is a multiple of four */
}

static void add_attribute(struct request *request, uint16_t type, const void *data, size_t size)
{
    const struct net_attribute attribute = {.length = (uint16_t)(sizeof(attribute) + size), .type = type};

    add(request, &attribute, sizeof(attribute));
    add(request, data, size);
}

static struct request make_request(const struct net_place *place, bool route)
{
    const struct net_address address = {.family = (uint8_t)place->family,
                                        .bits = (uint8_t)place->number,
                                        .flags = NET_ADDRESS_PERMANENT,
                                        .device = NET_LOOPBACK};
    const struct net_route to = {.family = (uint8_t)place->family,
                                 .to_bits = (uint8_t)place->number,
                                 .table = NET_ROUTE_TABLE_LOCAL,
                                 .protocol = NET_ROUTE_BY_KERNEL,
                                 .scope = NET_ROUTE_THIS_HOST,
                                 .type = NET_ROUTE_LOCAL};
    const uint32_t device = NET_LOOPBACK;
    struct request request = {.header = {.length = sizeof(request.header),
                                         .type = route ? NET_NEW_ROUTE : NET_NEW_ADDRESS,
                                         .flags = NET_REQUEST | NET_ACK | NET_CREATE}};

    if (route) {
        add(&request, &to, sizeof(to));
        if (place->number > 0)
            add_attribute(&request, NET_ROUTE_TO, place->bytes, net_address_size(place));
        add_attribute(&request, NET_ROUTE_OVER, &device, sizeof(device));
    } else {
        add(&request, &address, sizeof(address));
        add_attribute(&request, NET_ADDRESS_LOCAL, place->bytes, net_address_size(place));
        add_attribute(&request, NET_ADDRESS_ADDRESS, place->bytes, net_address_size(place));
    }
    return request;
}

/* Asks for one address or network, and hears the answer. Return: 0 or errno. */
int net_ask_local(const struct namespace *ns, int fd, const struct net_place *place, enum form form)
{
    const struct request request = make_request(place, form == FORM_LOCAL);
    struct {
        struct net_header header;
        struct net_answer answer;
        uint8_t rest[128];
    } reply = {.answer = {.error = -EPROTO}};
    ssize_t got = -1;

    if (send(fd, &request, request.header.length, 0) == (ssize_t)request.header.length)
        got = recv(fd, &reply, sizeof(reply), 0);
    if (got < 0)
        return errno;
    if (got < (ssize_t)(sizeof(reply.header) + sizeof(reply.answer)) || reply.header.type != NET_ANSWER)
        chain_fatal(ns->chain, net_forms[form].option, "the kernel answered something else");
    return reply.answer.error == -EEXIST ? 0 : -reply.answer.error;
}
