/*
 * gateway_reach.c - who is where in the command's network, as far as it is known out here.
 *
 * The observer sees an address and a port, and where nobody listens the kernel refuses before the gateway
 * hears of it. Here stands whose address that is, and whether somebody has begun to listen there since.
 *
 * Should:  hear what the gateway has just given out before it says that nobody knows.
 * Mustn't: grow with what the command asks: the gateway bounds what it tells; wait for one that tells without
 * end.
 */
#include "run/gateway.h"

#include "network/protocol.h"
#include "policy/policy_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define QUEUED 1024 /* packets, more than its socket holds */

int gateway_note_given(struct gateway *gateway, const char *name, const char *four, const char *six)
{
    struct given *given;

    if (gateway->given_count >= PROTOCOL_ITEMS)
        return -EPROTO;
    if (!array_more(&gateway->given, gateway->given_count, sizeof(*gateway->given)))
        return -ENOMEM;
    given = &gateway->given[gateway->given_count];
    *given = (struct given){.name = strdup(name)};
    if (!given->name)
        return -ENOMEM;
    snprintf(given->address[0], sizeof(given->address[0]), "%s", four ? four : "");
    snprintf(given->address[1], sizeof(given->address[1]), "%s", six ? six : "");
    gateway->given_count++;
    return 0;
}

int gateway_note_listener(struct gateway *gateway, const char *address, unsigned port)
{
    return strings_addf(&gateway->added, "%s %u", address, port);
}

bool gateway_listens(const struct gateway *gateway, const char *address, unsigned port)
{
    char one[NETWORK_ADDRESS + 8], all[NETWORK_ADDRESS + 8];

    snprintf(one, sizeof(one), "%s %u", address, port);
    snprintf(all, sizeof(all), "%s %u", strchr(address, ':') ? "::" : "0.0.0.0", port);
    return strings_have(&gateway->added, one) || strings_have(&gateway->added, all);
}

/* The name that has @address; NULL: none is known. */
static const char *find_name(const struct gateway *gateway, const char *address)
{
    const struct own_network *network = &gateway->resolved->network;
    const char *name = network_name_at(network, address);
    char four[NETWORK_ADDRESS], six[NETWORK_ADDRESS];

    for (size_t i = 0; i < gateway->pinned.count && !name; i++) {
        network_pin(network->pinned + (unsigned)i, four, six);
        if (strcmp(address, four) == 0 || strcmp(address, six) == 0)
            name = gateway->pinned.items[i];
    }
    for (size_t i = gateway->given_count; i > 0 && !name; i--) /* an address may have been another's */
        if (strcmp(gateway->given[i - 1].address[0], address) == 0 ||
            strcmp(gateway->given[i - 1].address[1], address) == 0)
            name = gateway->given[i - 1].name;
    return name;
}

/* What it has said until now. Whoever never ends does not keep us from everything else. */
static void hear_queued(struct gateway *gateway)
{
    for (int i = 0; i < QUEUED && gateway_hear(gateway) > 0; i++)
        ;
}

const char *gateway_name_at(struct gateway *gateway, const char *address)
{
    const char *name = find_name(gateway, address);

    if (name || !network_has(&gateway->resolved->network, address))
        return name;
    hear_queued(gateway);
    return find_name(gateway, address);
}

/* Has it led to an address for which a rule must say so? */
static bool was_private(const struct connections *connections, const char *name)
{
    static const char *const reasons[] = {"address-private", "address-reserved"};

    for (size_t i = 0; i < connections->count; i++) {
        const struct connection *item = &connections->items[i];

        for (size_t j = 0; item->name && item->refused && j < ARRAY_SIZE(reasons); j++)
            if (strcmp(item->refused, reasons[j]) == 0 && strcmp(item->name, name) == 0)
                return true;
    }
    return false;
}

bool gateway_is_private(struct gateway *gateway, const char *name)
{
    const struct strings *rules = &gateway->resolved->network.rules;
    struct rule rule;

    for (size_t i = 0; i < rules->count; i++)
        if (rule_parse(rules->items[i], &rule) && rule.private && rule_has_name(&rule, name))
            return true;
    hear_queued(gateway);
    return was_private(&gateway->report->connections, name);
}

void gateway_forget(struct gateway *gateway)
{
    for (size_t i = 0; i < gateway->given_count; i++)
        free(gateway->given[i].name);
    free(gateway->given);
    gateway->given = NULL;
    gateway->given_count = 0;
    strings_free(&gateway->added);
    strings_free(&gateway->unheard);
    strings_free(&gateway->pinned);
}
