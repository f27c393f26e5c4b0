/*
 * seccomp_filter.h - the shape of a generated filter, shared by seccomp-gen,
 * seccomp-run and the tests.
 */
#ifndef CONFINE_LINKS_SECCOMP_FILTER_H
#define CONFINE_LINKS_SECCOMP_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel_abi.h"

/* Whole instruction codes, the only ones that occur. */
enum {
    FILTER_LOAD = BPF_LD | BPF_W | BPF_ABS,         /* A = word of seccomp_data at k */
    FILTER_AND = BPF_ALU | BPF_AND | BPF_K,         /* A &= k */
    FILTER_JUMP = BPF_JMP | BPF_JA,                 /* k instructions on */
    FILTER_IF_EQUAL = BPF_JMP | BPF_JEQ | BPF_K,    /* A == k */
    FILTER_IF_AT_LEAST = BPF_JMP | BPF_JGE | BPF_K, /* A >= k, unsigned */
    FILTER_IF_BITS = BPF_JMP | BPF_JSET | BPF_K,    /* A & k */
    FILTER_RETURN = BPF_RET | BPF_K,                /* the verdict k */
};

/* Offsets in what the kernel hands to a filter. Both architectures are little-endian. */
enum {
    FILTER_DATA_NR = 0,
    FILTER_DATA_ARCH = 4,
    FILTER_DATA_ARGS = 16, /* 8 bytes each, low half first */
};

/* What the instruction at an index becomes when its group is opened. */
struct seccomp_patch {
    uint16_t at;
    uint8_t group; /* enum seccomp_group */
    struct sock_filter open;
};

/* Where an argument is compared with an id of whoever loads the filter. */
struct seccomp_id {
    uint16_t at;
    bool group; /* else the user */
};

/* One filter of a set. */
struct seccomp_set {
    const char *name;
    bool exact;      /* for the choice OPENED only; else for any, by patches */
    uint32_t opened; /* groups, a bit each */
    const struct sock_filter *code;
    const struct seccomp_patch *patches;
    const struct seccomp_id *ids;
    uint16_t length;
    uint16_t patch_count;
    uint16_t id_count;
    uint16_t sentinel; /* the return whose errno is the run's own */
};

#endif
