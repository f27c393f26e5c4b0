/*
 * resolve_network.c - rules and ports become what is local in a network of the command's own, and who listens
 * there.
 *
 * A name is answered with an address of a pool that exists in there only. So a program that knows nothing of
 * this connects to a listener whose other end is the gateway. The addresses in /etc/resolv.conf are made
 * local as well: that file stays as it is.
 *
 * Should:  leave `localhost` to the command: a name has an address of its own, and only that is listened on.
 *          Who listens for names below a domain, or for a network, takes the port on loopback, too.
 * Mustn't: resolve a name.
 */
#include "policy/resolve_internal.h"

#include "policy/policy_rules.h"

#include <arpa/inet.h>
#include <fcntl.h>

#define DNS_PORT       53
#define PROXY_PORT     3128
#define PORT_COUNT     65536
#define LISTENERS_MOST 512
#define PINNED_FIRST   2 /* the network itself, and the machine */
#define RESOLVERS_MOST 3 /* that a libc looks at */

#define EVERY_4 "0.0.0.0"
#define EVERY_6 "::"
#define SELF_4  "127.0.0.1"
#define SELF_6  "::1"

static const char resolver_file[] = "/etc/resolv.conf";

/* One more socket; @name: whose it is, or NULL; @port: inside, @host: the port out here that it leads to, or
 * 0. */
static int add_listener(struct resolving *resolving, enum listener_role role, const char *address,
                        const char *name, unsigned port, unsigned host)
{
    struct own_network *network = &resolving->resolved->network;
    const char *kind = role == LISTENER_DNS ? "udp" : "tcp";
    struct listener *listener;
    struct text word = {0};

    if (network->listener_count == LISTENERS_MOST)
        return error_set(resolving->error, ERROR_POLICY_INVALID, E2BIG, "too-many-ports",
                         "--allow: the rules have more ports than can be listened on (%d)", LISTENERS_MOST);
    text_addf(&word, strchr(address, ':') ? "%s:[%s]:%u" : "%s:%s:%u", kind, address, port);
    if (word.failed || !array_more(&network->listeners, network->listener_count, sizeof(*network->listeners)))
        return error_no_memory(resolving->error);
    listener = &network->listeners[network->listener_count++];
    *listener = (struct listener){.role = role,
                                  .address = strdup(address),
                                  .word = word.data,
                                  .name = name ? strdup(name) : NULL,
                                  .port = (uint16_t)port,
                                  .host = (uint16_t)host};
    return listener->address && (!name || listener->name) ? 0 : error_no_memory(resolving->error);
}

static int add_both(struct resolving *resolving, enum listener_role role, const char *four, const char *six,
                    unsigned port, unsigned host)
{
    int r = add_listener(resolving, role, four, NULL, port, host);

    return r == 0 ? add_listener(resolving, role, six, NULL, port, host) : r;
}

int network_add_local(struct resolving *resolving, const char *address, unsigned bits)
{
    struct strings *locals = &resolving->resolved->network.locals;
    struct text word = {0};
    int r;

    text_addf(&word, strchr(address, ':') ? "[%s]/%u" : "%s/%u", address, bits);
    r = word.failed ? -ENOMEM : strings_have(locals, word.data) ? 0 : strings_add(locals, word.data);
    text_free(&word);
    return r < 0 ? error_no_memory(resolving->error) : 0;
}

/* --- rules ---------------------------------------------------------------------------------------------- */

bool network_local(const struct rule *rule, char *word, size_t size)
{
    int family = strchr(rule->name, ':') ? AF_INET6 : AF_INET;
    unsigned char bytes[16] = {0};
    char text[INET6_ADDRSTRLEN];

    if (inet_pton(family, rule->name, bytes) != 1)
        return false;
    for (unsigned bit = rule->bits; bit < (family == AF_INET ? 32U : 128U); bit++)
        bytes[bit / 8] &= (unsigned char)~(0x80U >> bit % 8);
    if (!inet_ntop(family, bytes, text, sizeof(text)))
        return false;
    snprintf(word, size, family == AF_INET ? "%s/%u" : "[%s]/%u", text, rule->bits);
    return true;
}

/* A network's address without the bits that name a machine in it. */
static int add_network(struct resolving *resolving, const struct rule *rule)
{
    struct strings *locals = &resolving->resolved->network.locals;
    char word[NETWORK_ADDRESS + 8];

    if (!network_local(rule, word, sizeof(word)))
        return error_set(resolving->error, ERROR_INTERNAL, EINVAL, "bad-rule", "--allow: no address");
    if (!strings_have(locals, word) && strings_add(locals, word) < 0)
        return error_no_memory(resolving->error);
    return 0;
}

/* Does the rule name one name, or one address? Then only that is listened on. */
static bool is_single(const struct rule *rule)
{
    return rule->address ? rule->bits == (strchr(rule->name, ':') ? 128 : 32) : !rule->wildcard;
}

static int keep_rule(struct resolving *resolving, const struct rule *rule)
{
    struct strings *rules = &resolving->resolved->network.rules;
    struct text spelled = {0};
    int r;

    rule_text(rule, &spelled);
    r = spelled.failed ? -ENOMEM : strings_have(rules, spelled.data) ? 0 : strings_add(rules, spelled.data);
    text_free(&spelled);
    return r < 0 ? error_no_memory(resolving->error) : 0;
}

/* @ports: a bit for each on which all addresses are listened on */
static int add_wide_rule(struct resolving *resolving, const struct rule *rule, uint8_t ports[PORT_COUNT / 8])
{
    int r = rule->address ? add_network(resolving, rule) : 0;

    for (size_t i = 0; i < rule->port_count && r == 0; i++) {
        uint16_t port = rule->ports[i];

        if (ports[port / 8] & 1U << port % 8)
            continue;
        ports[port / 8] |= (uint8_t)(1U << port % 8);
        r = add_both(resolving, LISTENER_TCP, EVERY_4, EVERY_6, port, 0);
    }
    return r;
}

void network_pin(unsigned index, char four[NETWORK_ADDRESS], char six[NETWORK_ADDRESS])
{
    unsigned number = index + PINNED_FIRST;

    snprintf(four, NETWORK_ADDRESS, "198.18.%u.%u", number / 256, number % 256);
    snprintf(six, NETWORK_ADDRESS, "fdc0:ffee:c0f1::%x", number);
}

/* Is there a listener on this address and port? */
static bool is_listened(const struct own_network *network, const char *address, unsigned port)
{
    for (size_t i = 0; i < network->listener_count; i++)
        if (network->listeners[i].port == port && strcmp(network->listeners[i].address, address) == 0)
            return true;
    return false;
}

/* Is ADDRESS in the network that a word of `--local` names? */
static bool holds(const char *word, const char *address)
{
    int family = strchr(address, ':') ? AF_INET6 : AF_INET;
    unsigned char network[16], bytes[16];
    const char *slash = strchr(word, '/');
    size_t skip = word[0] == '[', length = slash ? (size_t)(slash - word) - 2 * skip : 0;
    unsigned long bits = slash ? strtoul(slash + 1, NULL, 10) : 0;
    char name[64];

    if (!slash || length >= sizeof(name) || (skip == 1) != (family == AF_INET6))
        return false;
    snprintf(name, sizeof(name), "%.*s", (int)length, word + skip);
    if (inet_pton(family, name, network) != 1 || inet_pton(family, address, bytes) != 1)
        return false;
    for (unsigned long bit = 0; bit < bits; bit++)
        if ((network[bit / 8] ^ bytes[bit / 8]) & 0x80U >> bit % 8)
            return false;
    return true;
}

bool network_pinned(const struct own_network *network, const char *name, char four[NETWORK_ADDRESS],
                    char six[NETWORK_ADDRESS])
{
    for (size_t i = 0; i + 1 < network->listener_count; i++) {
        const struct listener *listener = &network->listeners[i];

        if (!listener->name || strcmp(listener->name, name) != 0 || !holds(NETWORK_POOL4, listener->address))
            continue;
        snprintf(four, NETWORK_ADDRESS, "%s", listener[0].address); /* in pairs */
        snprintf(six, NETWORK_ADDRESS, "%s", listener[1].address);
        return true;
    }
    return false;
}

/* One name or address. On ports where everything is listened on, nothing has to be added, nor could be. */
static int add_single_rule(struct resolving *resolving, const struct rule *rule,
                           const uint8_t ports[PORT_COUNT / 8])
{
    struct own_network *network = &resolving->resolved->network;
    const char *name = rule->address ? NULL : rule->name;
    char four[NETWORK_ADDRESS] = "", six[NETWORK_ADDRESS] = "";
    int r = rule->address ? add_network(resolving, rule) : 0;

    if (r == 0 && rule->address)
        snprintf(four, sizeof(four), "%.45s", rule->name); /* in whichever family it is */
    for (size_t i = 0; i < rule->port_count && r == 0; i++) {
        uint16_t port = rule->ports[i];

        if (ports[port / 8] & 1U << port % 8)
            continue;
        if (name && !four[0] && !network_pinned(network, name, four, six))
            network_pin(network->pinned++, four, six);
        if (is_listened(network, four, port))
            continue;
        r = add_listener(resolving, LISTENER_TCP, four, name, port, 0);
        if (r == 0 && six[0])
            r = add_listener(resolving, LISTENER_TCP, six, name, port, 0);
    }
    return r;
}

int network_add_name(struct resolving *resolving, const char *address, const char *name, unsigned port)
{
    if (is_listened(&resolving->resolved->network, address, port))
        return 0; /* the first name of an address stands for all */
    return add_listener(resolving, LISTENER_TCP, address, name, port, 0);
}

/* @single: one pass for those that name many, one for those that name one */
static int add_rules(struct resolving *resolving, bool single, uint8_t ports[PORT_COUNT / 8])
{
    const struct entries *entries = &resolving->policy->list[LIST_ALLOW];
    struct rule rule;
    int r = 0;

    for (size_t i = 0; i < entries->count && r == 0; i++) {
        if (!entry_in_force(entries, i))
            continue;
        if (!rule_parse(entries->items[i].value, &rule))
            return error_set(resolving->error, ERROR_INTERNAL, EINVAL, "bad-rule", "--allow %s: no rule",
                             QUOTE(entries->items[i].value));
        if (is_single(&rule) != single)
            continue;
        r = keep_rule(resolving, &rule);
        if (r == 0)
            r = single ? add_single_rule(resolving, &rule, ports) : add_wide_rule(resolving, &rule, ports);
    }
    return r;
}

/* --- the resolver --------------------------------------------------------------------------------------- */

/* @taken: every address has this TCP port already */
static int add_resolver(struct resolving *resolving, const char *address, bool taken)
{
    bool six = strchr(address, ':');
    int r = 0;

    if (six ? strcmp(address, SELF_6) != 0 : strncmp(address, "127.", 4) != 0)
        r = network_add_local(resolving, address, six ? 128 : 32);
    if (r == 0)
        r = add_listener(resolving, LISTENER_DNS, address, NULL, DNS_PORT, 0);
    return r < 0 || taken ? r : add_listener(resolving, LISTENER_DNS_TCP, address, NULL, DNS_PORT, 0);
}

bool network_can_listen(int family, const unsigned char bytes[16])
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};

    if (family == AF_INET)
        return bytes[0] < 224;
    if (memcmp(bytes, mapped, sizeof(mapped)) == 0)
        return false;
    return bytes[0] != 0xff && (bytes[0] != 0xfe || (bytes[1] & 0xc0) != 0x80);
}

/* The address of a `nameserver` line, in the one spelling of it. Return: whether it is one that can be made
 * local: of one with a zone, the device is missing in there. */
static bool read_nameserver(const char *line, char address[INET6_ADDRSTRLEN])
{
    static const char word[] = "nameserver";
    unsigned char bytes[16];
    char name[64];
    size_t length;
    int family;

    if (strncmp(line, word, sizeof(word) - 1) != 0 || !strchr(" \t", line[sizeof(word) - 1]))
        return false;
    line += sizeof(word) - 1;
    line += strspn(line, " \t");
    length = strcspn(line, " \t\n");
    if (length >= sizeof(name))
        return false;
    snprintf(name, sizeof(name), "%.*s", (int)length, line);
    family = strchr(name, ':') ? AF_INET6 : AF_INET;
    if (inet_pton(family, name, bytes) != 1 || !network_can_listen(family, bytes) ||
        !inet_ntop(family, bytes, address, INET6_ADDRSTRLEN))
        return false;
    if (strcmp(address, EVERY_4) == 0 || strcmp(address, EVERY_6) == 0) /* a libc takes it for loopback */
        snprintf(address, INET6_ADDRSTRLEN, "%s", family == AF_INET ? SELF_4 : SELF_6);
    return true;
}

static int add_resolvers(struct resolving *resolving, bool taken)
{
    char text[4096], seen[RESOLVERS_MOST][INET6_ADDRSTRLEN];
    size_t count = 0;
    int r = 0;

    if (file_read(AT_FDCWD, resolver_file, text, sizeof(text)) < 0)
        text[0] = '\0';
    for (const char *line = text; *line && count < RESOLVERS_MOST && r == 0;) {
        bool known = !read_nameserver(line, seen[count]);

        for (size_t i = 0; i < count && !known; i++)
            known = strcmp(seen[i], seen[count]) == 0;
        if (!known)
            r = add_resolver(resolving, seen[count++], taken);
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return r < 0 || count > 0 ? r : add_resolver(resolving, SELF_4, taken); /* what a libc asks then */
}

/* --- ports ---------------------------------------------------------------------------------------------- */

/* PORT or PORT:INSIDE, which was looked at when it was read. */
static void read_ports(const char *value, struct port_pair *pair)
{
    char *end;

    pair->host = (uint16_t)strtoul(value, &end, 10);
    pair->inside = *end == ':' ? (uint16_t)strtoul(end + 1, NULL, 10) : pair->host;
}

static int fail_taken(struct resolving *resolving, const struct entry *entry, unsigned port)
{
    struct asked asked = asked_entry(entry, LIST_FORWARD);

    error_set(resolving->error, ERROR_POLICY_INVALID, EADDRINUSE, "port-taken",
              "%s %s: port %u inside is that of a rule, or forwarded already", asked.by, QUOTE(entry->value),
              port);
    return error_hint(resolving->error, "choose another one: PORT:INSIDE, and INSIDE is the one inside");
}

static int add_forwards(struct resolving *resolving, uint8_t ports[PORT_COUNT / 8])
{
    const struct entries *entries = &resolving->policy->list[LIST_FORWARD];
    int r = 0;

    for (size_t i = 0; i < entries->count && r == 0; i++) {
        struct port_pair pair;

        if (!entry_in_force(entries, i))
            continue;
        read_ports(entries->items[i].value, &pair);
        if (ports[pair.inside / 8] & 1U << pair.inside % 8)
            return fail_taken(resolving, &entries->items[i], pair.inside);
        ports[pair.inside / 8] |= (uint8_t)(1U << pair.inside % 8);
        r = add_both(resolving, LISTENER_FORWARD, SELF_4, SELF_6, pair.inside, pair.host);
    }
    return r;
}

/* What is forwarded listens there: it would lead back out, to itself where the ports outside are one. */
static int fail_forwarded(struct resolving *resolving, const struct entry *entry, unsigned port)
{
    struct asked asked = asked_entry(entry, LIST_PUBLISH);

    error_set(resolving->error, ERROR_POLICY_INVALID, EADDRINUSE, "port-taken",
              "%s %s: port %u inside is forwarded, so no server can listen there", asked.by,
              QUOTE(entry->value), port);
    return error_hint(resolving->error, "choose another one: PORT:INSIDE, and INSIDE is the one inside");
}

static bool is_forwarded(const struct own_network *network, unsigned port)
{
    for (size_t i = 0; i < network->listener_count; i++)
        if (network->listeners[i].role == LISTENER_FORWARD && network->listeners[i].port == port)
            return true;
    return false;
}

static int add_published(struct resolving *resolving)
{
    struct port_pair pair;

    struct own_network *network = &resolving->resolved->network;
    const struct entries *entries = &resolving->policy->list[LIST_PUBLISH];

    for (size_t i = 0; i < entries->count; i++) {
        if (!entry_in_force(entries, i))
            continue;
        if (!array_more(&network->published, network->published_count, sizeof(*network->published)))
            return error_no_memory(resolving->error);
        read_ports(entries->items[i].value, &pair);
        if (is_forwarded(network, pair.inside))
            return fail_forwarded(resolving, &entries->items[i], pair.inside);
        network->published[network->published_count++] = pair;
    }
    return 0;
}

/* The first port that nobody has. */
static int add_proxy(struct resolving *resolving, const uint8_t ports[PORT_COUNT / 8])
{
    unsigned port = PROXY_PORT;

    while (ports[port / 8] & 1U << port % 8)
        port++;
    resolving->resolved->network.proxy_port = (uint16_t)port;
    return add_both(resolving, LISTENER_PROXY, SELF_4, SELF_6, port, 0);
}

/* Not inlined: most runs need none of its pages. */
__attribute__((noinline)) static int add_all(struct resolving *resolving, bool listed)
{
    uint8_t ports[PORT_COUNT / 8] = {0};
    int r = listed ? add_rules(resolving, false, ports) : 0;

    if (r == 0 && listed)
        r = add_rules(resolving, true, ports);
    if (r == 0 && listed)
        r = resolve_hosts(resolving);
    if (r == 0 && listed)
        r = add_resolvers(resolving, ports[DNS_PORT / 8] & 1U << DNS_PORT % 8);
    if (r == 0)
        r = add_forwards(resolving, ports);
    if (r == 0)
        r = add_published(resolving);
    if (r == 0 && listed && resolving->policy->proxy_env)
        r = add_proxy(resolving, ports);
    return r;
}

/* Without a network there are no names, and a resolver should hear so: some wait for seconds. The first one
 * is enough, since all are asked at once, or this one first. */
static int add_nameless(struct resolving *resolving)
{
    struct own_network *network = &resolving->resolved->network;
    char text[4096], address[INET6_ADDRSTRLEN] = SELF_4;
    bool found = false, six;
    struct text word = {0};

    if (file_read(AT_FDCWD, resolver_file, text, sizeof(text)) < 0)
        text[0] = '\0';
    for (const char *line = text; *line && !found; line += line[0] == '\n') {
        found = read_nameserver(line, address);
        line += strcspn(line, "\n");
    }
    six = strchr(address, ':');
    text_addf(&word, six ? "udp:[%s]:%d" : "udp:%s:%d", found ? address : SELF_4, DNS_PORT);
    if (word.failed)
        return error_no_memory(resolving->error);
    network->nameless = word.data;
    if (found && (six ? strcmp(address, SELF_6) != 0 : strncmp(address, "127.", 4) != 0))
        return network_add_local(resolving, address, six ? 128 : 32);
    return 0;
}

/*
 * resolve_network() - fill in resolved->network.
 *
 * Return: 0, or a negative errno with the error set.
 */
int resolve_network(struct resolving *resolving)
{
    const struct policy *policy = resolving->policy;
    bool listed = policy->network == NETWORK_LISTED;

    if (policy->network == NETWORK_NONE && add_nameless(resolving) < 0)
        return -ENOMEM;
    resolving->resolved->network.listed = listed;
    if (!listed && policy->list[LIST_FORWARD].count == 0 && policy->list[LIST_PUBLISH].count == 0)
        return 0;
    return add_all(resolving, listed);
}

bool network_has(const struct own_network *network, const char *address)
{
    for (size_t i = 0; i < network->locals.count; i++)
        if (holds(network->locals.items[i], address))
            return true;
    return holds(NETWORK_POOL4, address) || holds(NETWORK_LOCAL6, address);
}

bool network_listens(const struct own_network *network, const char *address, unsigned port, bool datagrams,
                     bool exactly)
{
    const char *every = strchr(address, ':') ? EVERY_6 : EVERY_4;

    for (size_t i = 0; i < network->listener_count; i++) {
        const struct listener *listener = &network->listeners[i];

        if (listener->port == port && datagrams == (listener->role == LISTENER_DNS) &&
            (strcmp(listener->address, address) == 0 ||
             (!exactly && strcmp(listener->address, every) == 0 && network_has(network, address))))
            return true;
    }
    return false;
}

const char *network_name_at(const struct own_network *network, const char *address)
{
    for (size_t i = 0; i < network->listener_count; i++)
        if (network->listeners[i].name && strcmp(network->listeners[i].address, address) == 0)
            return network->listeners[i].name;
    return NULL;
}

void network_free(struct own_network *network)
{
    for (size_t i = 0; i < network->listener_count; i++) {
        free(network->listeners[i].address);
        free(network->listeners[i].word);
        free(network->listeners[i].name);
    }
    free(network->listeners);
    free(network->published);
    free(network->nameless);
    strings_free(&network->rules);
    strings_free(&network->locals);
    *network = (struct own_network){0};
}
