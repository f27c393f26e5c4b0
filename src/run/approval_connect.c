/*
 * approval_connect.c - connections that somebody is asked about.
 *
 * Theory of operation. With questions every name has an address inside, and whoever connects to one is held.
 * What a rule allows goes on at once. A yes is a rule more for all of the run, and the call goes on when that
 * is in force and somebody listens: it is the gateway that decides, by the address that the connection really
 * goes to, so that nothing is gained by changing the call's words meanwhile.
 *
 * Mustn't: offer a rule that could not work, or one that leads to a cloud's credentials.
 */
#include "policy/address.h"
#include "policy/policy_rules.h"
#include "run/approval_state.h"
#include "run/gateway.h"
#include "run/observer.h"
#include "run/supervise.h"

#include <stdlib.h>
#include <string.h>

/* Does one of the rules have this name or address, on this port? */
static bool has_rule(const struct strings *rules, const char *name, unsigned port)
{
    struct address address;
    bool numeric = address_parse(name, &address);
    struct rule rule;

    for (size_t i = 0; i < rules->count; i++) {
        if (!rule_parse(rules->items[i], &rule) ||
            !(numeric ? rule.address && address_in_rule(&rule, &address) : rule_has_name(&rule, name)))
            continue;
        for (size_t j = 0; j < rule.port_count; j++)
            if (rule.ports[j] == port)
                return true;
    }
    return false;
}

/* The rule that would let LABEL through, in the one spelling of it. Return: owned; NULL: there is none. */
static char *find_rule(const struct approval *approval, const char *label)
{
    struct denial denial = {.surface = SURFACE_NET_LISTED,
                            .operation = DENIAL_CONNECT,
                            .address = (char *)(uintptr_t)label,
                            .count = 1};
    struct denial_list one = {0};
    char *name = strndup(label, (size_t)(strrchr(label, ':') - label));
    struct text text = {0};
    struct rule rule;

    denial.private = name && gateway_is_private(approval->observer->gateway, name);
    free(name);
    if (denials_add(&one, approval->resolved, &denial, DENIAL_BY_NETWORK, 0) == 0 && one.items[0].key &&
        strcmp(one.items[0].key, "allow") == 0 && rule_parse(one.items[0].value, &rule))
        rule_text(&rule, &text);
    denials_free(&one);
    if (text.failed)
        text_free(&text);
    return text.data;
}

bool connect_listens(const struct approval *approval, const struct observe_message *message)
{
    char address[NETWORK_ADDRESS];
    unsigned port;

    return observer_read_place(message->name, address, &port) &&
           (network_listens(&approval->resolved->network, address, port, false, false) ||
            gateway_listens(approval->observer->gateway, address, port));
}

/* What a connection is called: `NAME:PORT`, or what the call says where no name has that address. Return:
 * owned; NULL without memory. @ret_allowed: a rule that is in force has it */
static char *find_label(const struct approval *approval, const char *place, bool *ret_allowed)
{
    char address[NETWORK_ADDRESS];
    struct text label = {0};
    const char *name;
    unsigned port;

    *ret_allowed = false;
    if (!observer_read_place(place, address, &port))
        return NULL;
    name = gateway_name_at(approval->observer->gateway, address);
    *ret_allowed = has_rule(&approval->resolved->network.rules, name ? name : address, port) ||
                   has_rule(&approval->added, name ? name : address, port);
    if (name)
        text_addf(&label, "%s:%u", name, port);
    else
        text_add(&label, place);
    if (label.failed)
        text_free(&label);
    return label.data;
}

void connect_hold(struct approval *approval, const struct observe_message *message)
{
    bool allowed;
    char *label = find_label(approval, message->name, &allowed);
    char *rule = label && !allowed ? find_rule(approval, label) : NULL;
    const struct approval_memory *memory = label ? approval_recall(approval, label) : NULL;
    int object = -1;

    if (!label || allowed)
        approval_let_go_on(approval, message->held);
    else if (approval->ended || memory || !rule || !approval_ask(approval, message, &object, &label, &rule))
        approval_refuse(approval, message, label);
    free(label);
    free(rule);
}

const char *connect_allow(struct approval *approval, struct approval_held *held)
{
    struct error error = {0};

    if (supervise_allow(approval->supervision, held->rule, &error) < 0)
        return "not-allowed";
    held->requested = true;
    return NULL;
}

void connect_answered(struct approval *approval, const char *rule, const struct error *refused)
{
    if (!refused && strings_add(&approval->added, rule) < 0)
        return; /* it is asked about again */
    for (size_t i = 0; i < APPROVAL_SLOTS; i++) {
        struct approval_held *held = &approval->held[i];

        if (held->id == 0 || !held->rule || strcmp(held->rule, rule) != 0)
            continue;
        if (!refused)
            held->granted = true;
        else if (held->requested)
            approval_conclude(approval, held, APPROVAL_DENY, "not-allowed");
    }
}
