/*
 * list.h - what the hosts of a list are, and what is on it nowhere, for attempts to tell one from the other.
 */
#ifndef CONFINE_CHECKS_LIST_H
#define CONFINE_CHECKS_LIST_H

#include "world.h"

struct battery;

struct list {
    char host[WORLD_NAME_SIZE];   /* listed: a name, or without one an address */
    bool named, wildcard;         /* it is a name; one below a name with all that is below it */
    bool private;                 /* it may lead to private addresses */
    long port;                    /* listed for it */
    char second[WORLD_NAME_SIZE]; /* listed as well, with a port that the first has not; empty: there is none
                                   */
    long second_port;
    /* On no rule. */
    char other[WORLD_NAME_SIZE], four[16], six[40];
    long other_port;
};

/* list_read() - of the rules that the battery was told, or of those that it brings itself. Return: NULL, or
 * why there is no list here to be tried. */
const char *list_read(const struct battery *battery, struct list *ret_list);

/* list_add_options() - for a run of its own: the rules, where the caller's options have none. */
void list_add_options(struct trial *trial);

#endif
