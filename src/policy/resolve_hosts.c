/*
 * resolve_hosts.c - names of /etc/hosts, which a command finds by itself: their addresses lead to a listener
 * that stands for the name.
 *
 * Should:  look at that file only for names that a rule allows; say of one that is loopback there that it
 * will not be reached, and what leads to a server of this machine. Mustn't: take loopback from the command,
 * or read without a bound: lists against advertisements stand in there.
 */
#include "policy/resolve_internal.h"

#include "policy/policy_rules.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <strings.h>
#include <unistd.h>

#define FILE_MOST  ((size_t)4 * 1024 * 1024)
#define NAMES_MOST 128 /* of rules, in that file */

static const char hosts_file[] = "/etc/hosts";

/* A rule that names names. */
struct wanted {
    struct rule rule;
    char self[INET6_ADDRSTRLEN]; /* the address of its one name that is this machine itself; empty: none */
    bool reached;                /* that name has another one, too */
};

struct hosts {
    struct resolving *resolving;
    struct wanted *wanted;
    size_t wanted_count;
    size_t found;
};

/* The rules that could match a name. */
static int collect(struct hosts *hosts)
{
    const struct entries *entries = &hosts->resolving->policy->list[LIST_ALLOW];
    struct rule rule;

    for (size_t i = 0; i < entries->count; i++) {
        if (!entry_in_force(entries, i) || !rule_parse(entries->items[i].value, &rule) || rule.address)
            continue;
        if (!array_more(&hosts->wanted, hosts->wanted_count, sizeof(*hosts->wanted)))
            return error_no_memory(hosts->resolving->error);
        hosts->wanted[hosts->wanted_count++] = (struct wanted){.rule = rule};
    }
    return 0;
}

static bool matches(const struct rule *rule, const char *name)
{
    size_t length = strlen(name), tail = strlen(rule->name);

    if (!rule->wildcard)
        return strcasecmp(name, rule->name) == 0;
    return length > tail + 1 && name[length - tail - 1] == '.' &&
           strcasecmp(name + length - tail, rule->name) == 0;
}

/* An address in its one spelling. @ret_self: it is loopback's, the command's own inside */
static bool read_address(const char *text, char address[INET6_ADDRSTRLEN], bool *ret_self)
{
    int family = strchr(text, ':') ? AF_INET6 : AF_INET;
    unsigned char bytes[16];

    if (inet_pton(family, text, bytes) != 1 || !inet_ntop(family, bytes, address, INET6_ADDRSTRLEN))
        return false;
    *ret_self = strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0 ||
                strcmp(address, "0.0.0.0") == 0 || strcmp(address, "::") == 0;
    return *ret_self || network_can_listen(family, bytes);
}

/* One name of this machine itself. */
static void note_self(struct hosts *hosts, const char *address, const char *name)
{
    for (size_t i = 0; i < hosts->wanted_count; i++) {
        struct wanted *wanted = &hosts->wanted[i];

        if (!wanted->rule.wildcard && !*wanted->self && matches(&wanted->rule, name))
            snprintf(wanted->self, sizeof(wanted->self), "%s", address);
    }
}

static int warn_of_self(struct hosts *hosts)
{
    struct resolved *resolved = hosts->resolving->resolved;
    int r = 0;

    for (size_t i = 0; i < hosts->wanted_count && r == 0; i++) {
        const struct wanted *wanted = &hosts->wanted[i];
        char port[16] = "PORT";

        if (!*wanted->self || wanted->reached)
            continue;
        if (wanted->rule.port_count == 1)
            snprintf(port, sizeof(port), "%u", wanted->rule.ports[0]);
        r = strings_addf(
            &resolved->warnings,
            "name-is-loopback: --allow %s reaches nothing: it is %s in %s, and that is the "
            "command's own inside; --forward %s leads to that port of this machine, as localhost",
            wanted->rule.name, wanted->self, hosts_file, port);
    }
    return r < 0 ? error_no_memory(hosts->resolving->error) : 0;
}

/* One name of one address. */
static int take_name(struct hosts *hosts, const char *address, char *name)
{
    int r = 0;

    for (size_t i = 0; i < hosts->wanted_count && r == 0; i++) {
        const struct rule *rule = &hosts->wanted[i].rule;

        if (!matches(rule, name) || hosts->found == NAMES_MOST)
            continue;
        hosts->wanted[i].reached = true;
        hosts->found++;
        for (char *c = name; *c; c++)
            *c = *c >= 'A' && *c <= 'Z' ? (char)(*c + ('a' - 'A')) : *c;
        r = network_add_local(hosts->resolving, address, strchr(address, ':') ? 128 : 32);
        for (size_t j = 0; j < rule->port_count && r == 0; j++)
            r = network_add_name(hosts->resolving, address, name, rule->ports[j]);
    }
    return r;
}

/* `ADDRESS NAME [NAME]...`, up to a `#`. The line is cut into words. */
static int take_line(struct hosts *hosts, char *line)
{
    char address[INET6_ADDRSTRLEN] = "";
    bool self = false;
    int r = 0;

    line[strcspn(line, "#")] = '\0';
    for (bool first = true; r == 0; first = false) {
        char *word = line + strspn(line, " \t\r");
        size_t length = strcspn(word, " \t\r");
        bool last = word[length] == '\0';

        if (length == 0)
            break;
        word[length] = '\0';
        if (first && !read_address(word, address, &self))
            break;
        if (!first && self)
            note_self(hosts, address, word);
        else if (!first)
            r = take_name(hosts, address, word);
        if (last)
            break;
        line = word + length + 1;
    }
    return r;
}

int resolve_hosts(struct resolving *resolving)
{
    struct hosts hosts = {.resolving = resolving};
    _cleanup_fd_ int fd = open(hosts_file, O_RDONLY | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    size_t length;
    int r = collect(&hosts);

    if (r == 0 && hosts.wanted_count > 0 && fd >= 0 && fd_read_all(fd, FILE_MOST, &text, &length) == 0)
        for (char *line = text, *end; r == 0 && *line; line = end) {
            end = line + strcspn(line, "\n");
            if (*end)
                *end++ = '\0';
            r = take_line(&hosts, line);
        }
    if (r == 0)
        r = warn_of_self(&hosts);
    free(hosts.wanted);
    return r;
}
