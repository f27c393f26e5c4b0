/*
 * decide.c - rules against names and addresses. See decide.h.
 */
#include "network/decide.h"

#include "network/protocol.h"

#include <errno.h>

const char *const reasons[REASON_COUNT] = {
    [REASON_NOT_LISTED] = "not-listed",       [REASON_PORT] = "port-not-listed",
    [REASON_BAD_NAME] = "bad-name",           [REASON_PRIVATE] = "address-private",
    [REASON_LOOPBACK] = "address-loopback",   [REASON_LINK_LOCAL] = "address-link-local",
    [REASON_METADATA] = "address-metadata",   [REASON_SPECIAL] = "address-special",
    [REASON_RESERVED] = "address-reserved",   [REASON_OWN] = "address-own",
    [REASON_NEVER] = "address-never",         [REASON_TLS_NAME] = "tls-name",
    [REASON_TLS_NO_NAME] = "tls-no-name",     [REASON_TLS_BAD] = "tls-bad",
    [REASON_HTTP_HOST] = "http-host",         [REASON_BAD_REQUEST] = "bad-request",
    [REASON_NOT_SUPPORTED] = "not-supported", [REASON_VARIOUS] = "various",
};

static const enum reason reason_of_kind[] = {
    [ADDRESS_NEVER] = REASON_NEVER,           [ADDRESS_LOOPBACK] = REASON_LOOPBACK,
    [ADDRESS_LINK_LOCAL] = REASON_LINK_LOCAL, [ADDRESS_METADATA] = REASON_METADATA,
    [ADDRESS_SPECIAL] = REASON_SPECIAL,       [ADDRESS_RESERVED] = REASON_RESERVED,
    [ADDRESS_PRIVATE] = REASON_PRIVATE,       [ADDRESS_PUBLIC] = REASON_NONE,
};

int rules_add(struct rules *rules, const char *text)
{
    if (rules->count >= PROTOCOL_RULES)
        return -E2BIG;
    if (!array_more(&rules->items, rules->count, sizeof(*rules->items)))
        return -ENOMEM;
    if (!rule_parse(text, &rules->items[rules->count]))
        return -EINVAL;
    rules->count++;
    return 0;
}

/* A number, or something that some readers take for one: `1`, `0x7f`. */
static bool is_numeric(const char *label, size_t length)
{
    size_t at = length > 1 && label[0] == '0' && label[1] == 'x' ? 2 : 0;
    const char *digits = at ? "0123456789abcdef" : "0123456789";

    for (; at < length; at++)
        if (!strchr(digits, label[at]))
            return false;
    return true;
}

static bool read_labels(const char *text, size_t length, char ret_name[NAME_SIZE])
{
    size_t label = 0;

    if (length > 0 && text[length - 1] == '.')
        length--;
    if (length == 0 || length > 253)
        return false;
    for (size_t i = 0; i <= length; i++) {
        char byte = i < length ? text[i] : '.';

        if (byte >= 'A' && byte <= 'Z')
            byte = (char)(byte + ('a' - 'A'));
        if (byte == '.') {
            if (i == label || i - label > 63 || ret_name[label] == '-' || ret_name[i - 1] == '-')
                return false;
            if (i == length && is_numeric(ret_name + label, i - label))
                return false;
            label = i + 1;
        } else if (!(byte >= 'a' && byte <= 'z') && !(byte >= '0' && byte <= '9') && byte != '-' &&
                   byte != '_') {
            return false;
        }
        ret_name[i] = byte;
    }
    ret_name[length] = '\0';
    return true;
}

bool name_read(const char *text, size_t length, char ret_name[NAME_SIZE])
{
    bool good = read_labels(text, length, ret_name);

    if (!good)
        ret_name[0] = '\0';
    return good;
}

void target_set(const struct address *address, uint16_t port, struct target *ret_target)
{
    *ret_target = (struct target){.is_address = true, .address = *address, .port = port};
    address_text(address, ret_target->name);
}

bool target_read(const char *text, size_t length, bool brackets, uint16_t port, struct target *ret_target)
{
    struct address address;
    char copy[ADDRESS_TEXT];
    bool bracketed = brackets && length > 2 && text[0] == '[' && text[length - 1] == ']';

    if (bracketed) {
        text++;
        length -= 2;
    }
    if (length > 0 && length < sizeof(copy) && !memchr(text, '\0', length)) {
        memcpy(copy, text, length);
        copy[length] = '\0';
        if (address_parse(copy, &address) && (bracketed || !brackets || !strchr(copy, ':')) &&
            (!bracketed || strchr(copy, ':'))) {
            target_set(&address, port, ret_target);
            return true;
        }
    }
    ret_target->is_address = false;
    ret_target->port = port;
    return !bracketed && name_read(text, length, ret_target->name);
}

static bool port_in_rule(const struct rule *rule, uint16_t port)
{
    for (size_t i = 0; i < rule->port_count; i++)
        if (rule->ports[i] == port)
            return true;
    return false;
}

bool decide_name(const struct rules *rules, const char *name)
{
    const char *why, *instead;
    struct rule rule;

    for (size_t i = 0; i < rules->count; i++)
        if (rule_has_name(&rules->items[i], name))
            return true;
    return rules->asks && strchr(name, '.') && rule_parse(name, &rule) &&
           !rule_useless(&rule, &why, &instead);
}

/* Names of a network of one's own (RFC 6762, RFC 8375, and `internal`, which nobody will have). */
static const char *const own_domains[] = {"internal", "local",    "lan",     "home",
                                          "corp",     "intranet", "private", "home.arpa"};

/* Does a name lead to a private address, if it leads anywhere? That is all that can be known of one that is
 * not listed: to look it up would carry data out. */
static bool is_of_own_network(const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; i < ARRAY_SIZE(own_domains); i++) {
        size_t tail = strlen(own_domains[i]);

        if (length > tail + 1 && name[length - tail - 1] == '.' &&
            strcmp(name + length - tail, own_domains[i]) == 0)
            return true;
    }
    return length > 0 && !strchr(name, '.');
}

/* `--allow` with what would have been enough. */
static void write_option(char option[OPTION_SIZE], const char *before, const struct target *target)
{
    bool six = target->is_address && strchr(target->name, ':');
    const char *why, *instead;
    struct rule rule;
    bool own = !target->is_address && is_of_own_network(target->name);
    bool usual = !target->is_address && (target->port == 443 || target->port == 80 || target->port == 0);

    snprintf(option, OPTION_SIZE, "--allow %s%s%s%s", own ? "private:" : before, six ? "[" : "", target->name,
             six ? "]" : "");
    if (!usual)
        snprintf(option + strlen(option), OPTION_SIZE - strlen(option), ":%u", target->port);
    /* One that cannot work is none. */
    if (!rule_parse(option + strlen("--allow "), &rule)) {
        option[0] = '\0';
    } else if (rule_useless(&rule, &why, &instead)) {
        option[0] = '\0';
        if (target->port > 0 && strstr(instead, "--forward"))
            snprintf(option, OPTION_SIZE, "--forward %u", target->port);
    }
}

void decide_option(const char *name, char ret_option[OPTION_SIZE])
{
    struct target target = {.port = 0};

    snprintf(target.name, sizeof(target.name), "%s", name);
    write_option(ret_option, "", &target);
}

/* Does the rule name @address so closely that it means what this is? */
static bool rule_opens(const struct rule *rule, const struct address *address, struct address_range range)
{
    return range.kind > ADDRESS_LOOPBACK && address_in_rule(rule, address) &&
           (range.kind == ADDRESS_PUBLIC || rule->bits >= range.bits);
}

static bool rule_names_one(const struct rule *rule)
{
    return rule->bits == (strchr(rule->name, ':') ? 128 : 32);
}

/* The rule for @address and @port. Return: whether there is one; @ret_reason says why not. */
static bool find_address(const struct rules *rules, const struct address *address, uint16_t port, bool own,
                         size_t *ret_rule, enum reason *ret_reason)
{
    struct address_range range = address_range(address);

    *ret_reason = reason_of_kind[range.kind];
    if (own && range.kind != ADDRESS_LOOPBACK)
        *ret_reason = REASON_OWN;
    if (*ret_reason == REASON_NONE)
        *ret_reason = REASON_NOT_LISTED;
    for (size_t i = 0; i < rules->count; i++) {
        if (!rule_opens(&rules->items[i], address, range) || (own && !rule_names_one(&rules->items[i])))
            continue;
        if (port_in_rule(&rules->items[i], port)) {
            *ret_rule = i;
            return true;
        }
        *ret_reason = REASON_PORT;
    }
    return false;
}

/* What to say for an address that was refused. */
static void write_address_option(char option[OPTION_SIZE], const struct target *target, enum reason reason)
{
    option[0] = '\0';
    if (reason == REASON_LOOPBACK)
        snprintf(option, OPTION_SIZE, "--forward %u", target->port);
    else if (reason != REASON_NEVER && reason != REASON_METADATA) /* credentials are not offered */
        write_option(option, "", target);
}

static void decide_literal(const struct rules *rules, const struct target *target, struct verdict *verdict)
{
    int own = address_range(&target->address).kind > ADDRESS_LOOPBACK ? address_is_own(&target->address) : 0;

    /* What cannot be known is taken for the machine's own. */
    if (find_address(rules, &target->address, target->port, own != 0, &verdict->rule, &verdict->reason))
        verdict->reason = REASON_NONE;
    else
        write_address_option(verdict->option, target, verdict->reason);
}

void decide_target(const struct rules *rules, const struct target *target, struct verdict *ret_verdict)
{
    bool found = false, private = false;

    *ret_verdict = (struct verdict){.reason = REASON_NOT_LISTED};
    if (target->is_address) {
        decide_literal(rules, target, ret_verdict);
        return;
    }
    for (size_t i = 0; i < rules->count; i++) {
        const struct rule *rule = &rules->items[i];

        if (!rule_has_name(rule, target->name))
            continue;
        private = private || rule->private;
        if (!port_in_rule(rule, target->port)) {
            ret_verdict->reason = found ? REASON_NONE : REASON_PORT;
            continue;
        }
        if (!found || (rule->private && !ret_verdict->private))
            ret_verdict->rule = i;
        found = true;
        ret_verdict->reason = REASON_NONE;
        ret_verdict->private = ret_verdict->private || rule->private;
    }
    if (!found)
        write_option(ret_verdict->option, private ? "private:" : "", target);
}

enum reason decide_address(const struct rules *rules, const struct target *target,
                           const struct verdict *verdict, const struct address *address,
                           char ret_option[OPTION_SIZE])
{
    struct address_range range = address_range(address);
    int own = range.kind > ADDRESS_LOOPBACK ? address_is_own(address) : 0;
    struct target there;
    enum reason reason;
    size_t rule;

    ret_option[0] = '\0';
    if (own == 0 && (range.kind == ADDRESS_PUBLIC || (range.kind >= ADDRESS_RESERVED && verdict->private)))
        return REASON_NONE;
    if (find_address(rules, address, target->port, own != 0, &rule, &reason))
        return REASON_NONE;
    if (reason == REASON_NOT_LISTED || reason == REASON_PORT) /* of the address; but its name is listed */
        reason = own ? REASON_OWN : reason_of_kind[range.kind];
    target_set(address, target->port, &there);
    if (reason == REASON_PRIVATE || reason == REASON_RESERVED)
        write_option(ret_option, "private:", target);
    else
        write_address_option(ret_option, &there, reason);
    return reason;
}
