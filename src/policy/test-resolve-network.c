/*
 * test-resolve-network.c - what listens in a network of the command's own, and what is local there.
 */
#include "harness.h"

#include "policy/resolve_internal.h"

static struct policy policy;
static struct resolved resolved;
static struct error error;

static const struct origin option = {.layer = LAYER_OPTION, .option = "--allow"};

/* RULES: separated by blanks. Return: as resolve_network(). */
static int resolve_rules(const char *rules, enum network network)
{
    struct resolving resolving = {.policy = &policy, .resolved = &resolved, .error = &error};

    need(policy_init(&policy, &error) == 0);
    policy.network = network;
    while (*rules) {
        char rule[128];
        size_t length = strcspn(rules, " ");

        snprintf(rule, sizeof(rule), "%.*s", (int)length, rules);
        need(policy_add(&policy, LIST_ALLOW, rule, NULL, option, &error) == 0);
        rules += length + strspn(rules + length, " ");
    }
    return resolve_network(&resolving);
}

static void forget(void)
{
    network_free(&resolved.network);
    policy_free(&policy);
}

static bool listens(const char *word, const char *name)
{
    for (size_t i = 0; i < resolved.network.listener_count; i++) {
        const struct listener *listener = &resolved.network.listeners[i];

        if (strcmp(listener->word, word) == 0)
            return name ? listener->name && strcmp(listener->name, name) == 0 : !listener->name;
    }
    return false;
}

static size_t count_role(enum listener_role role)
{
    size_t count = 0;

    for (size_t i = 0; i < resolved.network.listener_count; i++)
        count += resolved.network.listeners[i].role == role;
    return count;
}

TEST(a_name_has_an_address_of_its_own)
{
    check_int(resolve_rules("a.test b.test:22 A.test:8080", NETWORK_LISTED), 0);
    check(listens("tcp:198.18.0.2:443", "a.test"));
    check(listens("tcp:[fdc0:ffee:c0f1::2]:443", "a.test"));
    check(listens("tcp:198.18.0.2:80", "a.test"));
    check(listens("tcp:198.18.0.2:8080", "a.test"));
    check(listens("tcp:198.18.0.3:22", "b.test"));
    check_int(count_role(LISTENER_TCP), 8);
    check_int(resolved.network.pinned, 2);
    check_int(resolved.network.rules.count, 3);
    forget();
}

TEST(many_names_listen_for_all_addresses)
{
    check_int(resolve_rules("*.wild.test:443 a.test:443,22", NETWORK_LISTED), 0);
    check(listens("tcp:0.0.0.0:443", NULL));
    check(listens("tcp:[::]:443", NULL));
    check(listens("tcp:198.18.0.2:22", "a.test"));
    check(!listens("tcp:198.18.0.2:443", "a.test")); /* there is one for all */
    forget();
}

static const struct local {
    const char *rule, *local, *word, *inside, *outside;
} locals[] = {
    {"10.0.0.0/8:5432", "10.0.0.0/8", "tcp:0.0.0.0:5432", "10.200.0.1", "11.0.0.1"},
    {"10.1.2.3:5432", "10.1.2.3/32", "tcp:10.1.2.3:5432", "10.1.2.3", "10.1.2.4"},
    {"[2001:db8::]/32:80", "[2001:db8::]/32", "tcp:[::]:80", "2001:db8:1::1", "2001:db9::1"},
    {"[2001:db8::5]:80", "[2001:db8::5]/128", "tcp:[2001:db8::5]:80", "2001:db8::5", "2001:db8::6"},
    {"0.0.0.0/0:80", "0.0.0.0/0", "tcp:0.0.0.0:80", "192.0.2.1", "2001:db8::1"},
};

TEST_EACH(addresses_of_rules_are_local, struct local, locals)
{
    check_int(resolve_rules(row->rule, NETWORK_LISTED), 0);
    check(strings_have(&resolved.network.locals, row->local));
    check(listens(row->word, NULL));
    check(network_has(&resolved.network, row->inside));
    check(!network_has(&resolved.network, row->outside));
    check(network_has(&resolved.network, "198.19.255.255")); /* the pools always are */
    check(network_has(&resolved.network, "fdc0:ffee:c0f1::99"));
    forget();
}

TEST(a_resolver_is_there_and_only_then)
{
    check_int(resolve_rules("a.test", NETWORK_LISTED), 0);
    check(count_role(LISTENER_DNS) >= 1 && count_role(LISTENER_DNS) <= 3);
    check_int(count_role(LISTENER_DNS_TCP), (int)count_role(LISTENER_DNS));
    check(!resolved.network.nameless);
    check(network_gateway(&resolved.network));
    forget();
    check_int(resolve_rules("", NETWORK_NONE), 0);
    check(resolved.network.nameless && strncmp(resolved.network.nameless, "udp:", 4) == 0);
    check_int(resolved.network.listener_count, 0);
    check(!network_gateway(&resolved.network));
    forget();
    check_int(resolve_rules("", NETWORK_HOST), 0);
    check(!resolved.network.nameless);
    forget();
}

TEST(ports_that_two_want)
{
    struct resolving resolving = {.policy = &policy, .resolved = &resolved, .error = &error};

    need(policy_init(&policy, &error) == 0);
    policy.network = NETWORK_LISTED;
    policy.proxy_env = true;
    need(policy_add(&policy, LIST_ALLOW, "*.a.test:3128", NULL, option, &error) == 0);
    need(policy_add(&policy, LIST_FORWARD, "5432:15432", NULL, option, &error) == 0);
    need(policy_add(&policy, LIST_PUBLISH, "8080:3000", NULL, option, &error) == 0);
    check_int(resolve_network(&resolving), 0);
    check_int(resolved.network.proxy_port, 3129); /* the usual one is the rule's */
    check(listens("tcp:127.0.0.1:15432", NULL));
    check_int(resolved.network.published[0].host, 8080);
    check_int(resolved.network.published[0].inside, 3000);
    network_free(&resolved.network);
    need(policy_add(&policy, LIST_FORWARD, "80:3128", NULL, option, &error) == 0);
    check_int(resolve_network(&resolving), -EADDRINUSE);
    check_str(error.reason, "port-taken");
    forget();
    need(policy_init(&policy, &error) == 0);
    need(policy_add(&policy, LIST_FORWARD, "5432:15432", NULL, option, &error) == 0);
    need(policy_add(&policy, LIST_PUBLISH, "5432:15432", NULL, option, &error) == 0);
    check_int(resolve_network(&resolving), -EADDRINUSE); /* a connection would lead to itself, for ever */
    check_str(error.reason, "port-taken");
    check(strstr(error.message, "port 15432 inside is forwarded"));
    forget();
}

TEST(more_ports_than_can_be)
{
    char rule[160];

    need(policy_init(&policy, &error) == 0);
    policy.network = NETWORK_LISTED;
    for (int i = 0; i < 20; i++) {
        int length = snprintf(rule, sizeof(rule), "a.test:");

        for (int k = 0; k < 16; k++)
            length += snprintf(rule + length, sizeof(rule) - (size_t)length, "%s%d", k ? "," : "",
                               2000 + 16 * i + k);
        need(policy_add(&policy, LIST_ALLOW, rule, NULL, option, &error) == 0);
    }
    check_int(resolve_network(&(struct resolving){.policy = &policy, .resolved = &resolved, .error = &error}),
              -E2BIG);
    check_str(error.reason, "too-many-ports");
    forget();
}
