/*
 * kernel_net.h - addresses and routes of a network namespace: the kernel's numbers, by rtnetlink.
 *
 * The names are ours: musl has no headers of the kernel's.
 *
 * Should:  be included through kernel_abi.h.
 * Mustn't: be used for a namespace that is not our own.
 */
#ifndef CONFINE_LINKS_KERNEL_NET_H
#define CONFINE_LINKS_KERNEL_NET_H

#include <stdint.h>

#define NET_LOOPBACK 1 /* the number of `lo` in every network namespace */

#define NET_NEW_ADDRESS 20 /* RTM_NEWADDR */
#define NET_NEW_ROUTE   24 /* RTM_NEWROUTE */
#define NET_NEW_RULE    32 /* RTM_NEWRULE */
#define NET_ANSWER      2  /* NLMSG_ERROR */

#define NET_REQUEST 0x001 /* NLM_F_REQUEST */
#define NET_ACK     0x004 /* NLM_F_ACK */
#define NET_EXCLUDE 0x200 /* NLM_F_EXCL */
#define NET_CREATE  0x400 /* NLM_F_CREATE */

#define NET_ADDRESS_ADDRESS   1 /* IFA_ADDRESS */
#define NET_ADDRESS_LOCAL     2 /* IFA_LOCAL */
#define NET_ADDRESS_PERMANENT 0x80
#define NET_ROUTE_TO          1 /* RTA_DST */
#define NET_ROUTE_OVER        4 /* RTA_OIF */
#define NET_ROUTE_SOURCE      7 /* RTA_PREFSRC */
#define NET_RULE_TO_TABLE     1 /* FR_ACT_TO_TBL */

#define NET_ROUTE_LOCAL       2   /* RTN_LOCAL */
#define NET_ROUTE_TABLE_LOCAL 255 /* RT_TABLE_LOCAL */
#define NET_ROUTE_BY_KERNEL   2   /* RTPROT_KERNEL */
#define NET_ROUTE_THIS_HOST   254 /* RT_SCOPE_HOST */

#define NET_FREEBIND_4 15 /* IP_FREEBIND */
#define NET_FREEBIND_6 78 /* IPV6_FREEBIND */

struct net_header {
    uint32_t length;
    uint16_t type;
    uint16_t flags;
    uint32_t sequence;
    uint32_t port;
};

struct net_address {
    uint8_t family;
    uint8_t bits;
    uint8_t flags;
    uint8_t scope;
    uint32_t device;
};

struct net_route {
    uint8_t family;
    uint8_t to_bits, from_bits;
    uint8_t service;
    uint8_t table;
    uint8_t protocol;
    uint8_t scope;
    uint8_t type;
    uint32_t flags;
};

struct net_rule {
    uint8_t family;
    uint8_t to_bits, from_bits;
    uint8_t service;
    uint8_t table;
    uint8_t reserved[2];
    uint8_t action;
    uint32_t flags;
};

struct net_attribute {
    uint16_t length;
    uint16_t type;
};

struct net_answer {
    int32_t error; /* -errno; 0: done */
    struct net_header of;
};

_Static_assert(sizeof(struct net_header) == 16 && sizeof(struct net_address) == 8 &&
                   sizeof(struct net_route) == 12 && sizeof(struct net_rule) == 12 &&
                   sizeof(struct net_attribute) == 4 && sizeof(struct net_answer) == 20,
               "the kernel's layout");

#endif
