/*
 * list.c - rules in the form that `confine check` writes them: [private:][*.]NAME:PORT,PORT and
 * ADDRESS/BITS:PORT, an IPv6 address in brackets. See list.h.
 *
 * Should:  take nothing for unlisted that any rule has.
 * Mustn't: share a line with what reads the rules for the gateway.
 */
#include "list.h"
#include "battery.h"
#include "place.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { PORTS = 16, MOST = 4096, NAMES_PORT = 53 };

static const char *const own_rules[] = {"one.confine.test:443,80", "two.confine.test:8443"};

struct entry {
    bool private, wildcard;
    int family; /* 0: it is of a name */
    unsigned bits;
    unsigned char address[16];
    char name[WORLD_NAME_SIZE];
    long ports[PORTS];
    size_t port_count;
};

struct entries {
    struct entry *items;
    size_t count;
};

static bool read_address(const char *text, struct entry *entry)
{
    char address[WORLD_NAME_SIZE];
    const char *slash = strchr(text, '/');

    snprintf(address, sizeof(address), "%.*s", slash ? (int)(slash - text) : 0, text);
    if (inet_pton(AF_INET, address, entry->address) == 1)
        entry->family = AF_INET;
    else if (inet_pton(AF_INET6, address, entry->address) == 1)
        entry->family = AF_INET6;
    else
        return false;
    entry->bits = (unsigned)strtoul(slash + 1, NULL, 10);
    snprintf(entry->name, sizeof(entry->name), "%s", address);
    return true;
}

static bool read_entry(const char *text, struct entry *entry)
{
    static const char private[] = "private:";
    const char *end;
    char host[WORLD_NAME_SIZE], *to = host;

    *entry = (struct entry){.private = strncmp(text, private, sizeof(private) - 1) == 0};
    text += entry->private ? sizeof(private) - 1 : 0;
    end = strrchr(text, ':');
    if (!end || end - text >= WORLD_NAME_SIZE)
        return false;
    for (const char *at = text; at < end; at++)
        if (*at != '[' && *at != ']')
            *to++ = *at;
    *to = '\0';
    while (*end && entry->port_count < PORTS)
        entry->ports[entry->port_count++] = strtol(end + 1, (char **)(uintptr_t)&end, 10);
    if (read_address(host, entry))
        return true;
    entry->wildcard = strncmp(host, "*.", 2) == 0;
    snprintf(entry->name, sizeof(entry->name), "%s", host + (entry->wildcard ? 2 : 0));
    return true;
}

static bool read_entries(const struct battery *battery, struct entries *entries)
{
    entries->items = calloc(MOST, sizeof(*entries->items));
    if (!entries->items)
        return false;
    for (char *const *word = battery->words; strcmp(*word, "--") != 0; word++)
        if (strncmp(*word, "rule=", 5) == 0 &&
            (entries->count == MOST || !read_entry(*word + 5, &entries->items[entries->count++])))
            return false;
    for (size_t i = 0; !battery->listed && i < ITEMS(own_rules); i++)
        if (!read_entry(own_rules[i], &entries->items[entries->count++]))
            return false;
    return true;
}

static bool has_port(const struct entry *entry, long port)
{
    for (size_t i = 0; i < entry->port_count; i++)
        if (entry->ports[i] == port)
            return true;
    return false;
}

static bool has_name(const struct entry *entry, const char *name)
{
    size_t length = strlen(name), own = strlen(entry->name);

    if (entry->family)
        return false;
    if (!entry->wildcard)
        return strcmp(name, entry->name) == 0;
    return length > own + 1 && name[length - own - 1] == '.' && strcmp(name + length - own, entry->name) == 0;
}

static bool has_address(const struct entry *entry, int family, const char *text)
{
    unsigned char address[16];

    if (entry->family != family || inet_pton(family, text, address) != 1)
        return false;
    for (unsigned bit = 0; bit < entry->bits; bit++)
        if ((address[bit / 8] ^ entry->address[bit / 8]) >> (7 - bit % 8) & 1)
            return false;
    return true;
}

static bool is_listed(const struct entries *entries, int family, const char *host)
{
    for (size_t i = 0; i < entries->count; i++)
        if (family ? has_address(&entries->items[i], family, host) : has_name(&entries->items[i], host))
            return true;
    return false;
}

/* The first of @names that no rule has. Return: whether there is one. */
static bool find_unlisted(const struct entries *entries, int family, const char *const *names, size_t count,
                          char *ret_host, size_t size)
{
    for (size_t i = 0; i < count; i++)
        if (!is_listed(entries, family, names[i])) {
            snprintf(ret_host, size, "%s", names[i]);
            return true;
        }
    return false;
}

static bool find_others(const struct entries *entries, struct list *list)
{
    static const char *const names[] = {"no.confine.test", "confine-check.example",
                                        "nobody.confine-check.invalid"};
    static const char *const fours[] = {"93.184.5.5", "151.101.5.5", "9.9.5.5"};
    static const char *const sixes[] = {"2600:1::5", "2a00:5::5"};
    bool taken = true;

    for (list->other_port = 8449; taken; list->other_port += taken) {
        taken = false;
        for (size_t i = 0; i < entries->count; i++)
            taken = taken || has_port(&entries->items[i], list->other_port);
    }
    return find_unlisted(entries, 0, names, ITEMS(names), list->other, sizeof(list->other)) &&
           find_unlisted(entries, AF_INET, fours, ITEMS(fours), list->four, sizeof(list->four)) &&
           find_unlisted(entries, AF_INET6, sixes, ITEMS(sixes), list->six, sizeof(list->six));
}

/* A name with a port that no rule has for the first. */
static void find_second(const struct entries *entries, struct list *list)
{
    for (size_t i = 0; list->named && i < entries->count; i++) {
        const struct entry *entry = &entries->items[i];
        bool taken = entry->family || entry->wildcard || entry->ports[0] == NAMES_PORT;

        for (size_t k = 0; k < entries->count; k++)
            taken = taken || (has_name(&entries->items[k], list->host) &&
                              has_port(&entries->items[k], entry->ports[0]));
        if (taken)
            continue;
        memcpy(list->second, entry->name, sizeof(list->second));
        list->second_port = entry->ports[0];
        return;
    }
}

/* A name is better than an address. */
static bool find_host(const struct entries *entries, struct list *list)
{
    for (int family = 0; family < 2; family++)
        for (size_t i = 0; i < entries->count; i++) {
            const struct entry *entry = &entries->items[i];

            if ((entry->family != 0) != (family != 0) || entry->ports[0] == NAMES_PORT ||
                strlen(entry->name) > 180)
                continue;
            snprintf(list->host, sizeof(list->host), "%s%.180s", entry->wildcard ? "confine-check." : "",
                     entry->name);
            list->named = family == 0;
            list->wildcard = entry->wildcard;
            list->private = entry->private;
            list->port = entry->ports[0];
            return true;
        }
    return false;
}

const char *list_read(const struct battery *battery, struct list *ret_list)
{
    struct entries entries = {.count = 0};
    const char *why = NULL;

    *ret_list = (struct list){.port = 0};
    if (battery->foreign)
        why = "it has no list that is known here";
    else if (battery->unlistable)
        why = battery->unlistable;
    else if (!read_entries(battery, &entries))
        why = "its rules cannot be read";
    else if (!find_host(&entries, ret_list))
        why = "no rule has a port but that of name servers";
    else if (!find_others(&entries, ret_list))
        why = "its rules have every address";
    if (!why)
        find_second(&entries, ret_list);
    free(entries.items);
    return why;
}

void list_add_options(struct trial *trial)
{
    char option[64];

    for (size_t i = 0; !trial->battery->listed && i < ITEMS(own_rules); i++) {
        snprintf(option, sizeof(option), "--allow=%s", own_rules[i]);
        place_option(trial, option);
    }
}
