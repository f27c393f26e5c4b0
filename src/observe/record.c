/*
 * record.c - the table of refusals.
 *
 * Should:  hold a bound, whatever the command does; say what did not fit.
 * Mustn't: wait for the reader while the command waits for us.
 */
#include "observe/record.h"

#include "links/kernel_abi.h"
#include "observe/paths.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define NAMES_ROOM (512UL * 1024) /* pages that are not written are not there */

struct seen {
    struct verdict verdict;
    enum denial_operation operation;
    enum denial_noise noise;
    bool is_address, by_mode;
    bool told; /* what it is */
    pid_t pid;
    uint32_t name, name_length, program, program_length; /* in `names` */
    uint32_t hash;
    uint64_t count, told_count;
};

static struct {
    struct seen entries[OBSERVE_RECORDS];
    uint16_t buckets[1024]; /* 1 + index of an entry */
    size_t count;
    char names[NAMES_ROOM];
    size_t used;
    uint64_t lost, unreadable;
    uint32_t untold; /* calls for which the wire had no room */
} table;

static uint32_t hash_of(const struct refusal *refusal, size_t length)
{
    uint32_t hash = 2166136261U ^ (uint32_t)refusal->operation ^ (uint32_t)refusal->verdict.surface << 8;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)refusal->name[i]) * 16777619U;
    return hash;
}

static struct seen *find(const struct refusal *refusal, uint32_t hash, size_t length, uint16_t **ret_bucket)
{
    for (size_t step = 0; step < ARRAY_SIZE(table.buckets); step++) {
        uint16_t *bucket = &table.buckets[(hash + step) % ARRAY_SIZE(table.buckets)];
        struct seen *entry;

        *ret_bucket = bucket;
        if (!*bucket)
            return NULL;
        entry = &table.entries[*bucket - 1];
        if (entry->hash == hash && entry->operation == refusal->operation &&
            entry->verdict.surface == refusal->verdict.surface && entry->name_length == length &&
            memcmp(table.names + entry->name, refusal->name, length) == 0)
            return entry;
    }
    return NULL;
}

/* `_tmp_7_` and a sum of 32 digits, with which pnpm finds out what it could link its store to. */
static bool is_link_probe(const char *name)
{
    const char *slash = strrchr(name, '/'), *at = slash ? slash + 1 : name;
    size_t digits;

    if (strncmp(at, "_tmp_", 5) != 0)
        return false;
    at += 5;
    digits = strspn(at, "0123456789");
    return digits > 0 && at[digits] == '_' && strspn(at + digits + 1, "0123456789abcdef") == 32 &&
           at[digits + 33] == '\0';
}

/* Is it FILE of `/proc/N`, or of `/proc/N/task/N`? */
static bool is_of_process(const char *name, const char *file)
{
    size_t length = strlen(name), tail = strlen(file);

    return strncmp(name, "/proc/", 6) == 0 && length > tail + 6 && strcmp(name + length - tail, file) == 0;
}

/* Every bash opens its terminal for writing, and keeps what was typed; every JVM makes a file for its
 * statistics; Python would keep what it has compiled beside the text, which root alone may for what is
 * installed; a debugger writes by ptrace() where it may not by a file; and Chromium and werkzeug connect a
 * datagram socket, which sends nothing, to learn which address is theirs. */
static const struct noise {
    enum denial_operation operation; /* DENIAL_NOTHING: any */
    enum surface surface;            /* SURFACE_COUNT: any */
    enum { WHOLE = 0, FRONT, LAST_FRONT, PART_BY_MODE, OF_PROCESS, LINK_PROBE } match;
    const char *text;
    enum denial_noise noise;
} noises[] = {
    {DENIAL_WRITE, SURFACE_COUNT, WHOLE, "/dev/tty", DENIAL_TERMINAL_OF_SHELL},
    {DENIAL_NOTHING, SURFACE_COUNT, FRONT, "/tmp/hsperfdata_", DENIAL_JAVA_PERFORMANCE},
    {DENIAL_NOTHING, SURFACE_COUNT, OF_PROCESS, "/coredump_filter", DENIAL_JAVA_PERFORMANCE},
    /* Or a new one beside it. */
    {DENIAL_NOTHING, SURFACE_FS_WRITE, LAST_FRONT, "/.bash_history", DENIAL_HISTORY},
    {DENIAL_NOTHING, SURFACE_FS_WRITE, LAST_FRONT, "/.zsh_history", DENIAL_HISTORY},
    {DENIAL_NOTHING, SURFACE_FS_WRITE, LAST_FRONT, "/.sh_history", DENIAL_HISTORY},
    {DENIAL_NOTHING, SURFACE_FS_WRITE, LAST_FRONT, "/.lesshs", DENIAL_HISTORY},
    {DENIAL_NOTHING, SURFACE_FS_WRITE, LAST_FRONT, "/.python_hist", DENIAL_HISTORY},
    {DENIAL_NOTHING, SURFACE_FS_WRITE, LAST_FRONT, "/.node_repl_history", DENIAL_HISTORY},
    {DENIAL_NOTHING, SURFACE_FS_WRITE, LAST_FRONT, "/.viminf", DENIAL_HISTORY},
    {DENIAL_CREATE, SURFACE_COUNT, PART_BY_MODE, "/__pycache__", DENIAL_PYTHON_CACHE},
    {DENIAL_WRITE, SURFACE_COUNT, OF_PROCESS, "/mem", DENIAL_DEBUGGER_MEMORY},
    {DENIAL_WRITE, SURFACE_COUNT, OF_PROCESS, "/comm", DENIAL_PROCESS_HINT},
    {DENIAL_WRITE, SURFACE_COUNT, OF_PROCESS, "/oom_score_adj", DENIAL_PROCESS_HINT},
    {DENIAL_WRITE, SURFACE_COUNT, OF_PROCESS, "/clear_refs", DENIAL_PROCESS_HINT},
    {DENIAL_CREATE, SURFACE_COUNT, LINK_PROBE, NULL, DENIAL_LINK_PROBE},
    {DENIAL_LINK, SURFACE_COUNT, LINK_PROBE, NULL, DENIAL_LINK_PROBE},
    {DENIAL_CONNECT, SURFACE_NET_UDP, WHOLE, "[2001:4860:4860::8888]:443", DENIAL_ADDRESS_PROBE},
    {DENIAL_CONNECT, SURFACE_NET_UDP, WHOLE, "10.253.155.219:58162", DENIAL_ADDRESS_PROBE},
    {DENIAL_CONNECT, SURFACE_NET_UDP, WHOLE, "[fd31:f903:5ab5:1::1]:58162", DENIAL_ADDRESS_PROBE},
};

static bool is_noise(const struct refusal *refusal, const struct noise *noise)
{
    const char *name = refusal->name, *last = strrchr(name, '/');

    if ((noise->operation != DENIAL_NOTHING && noise->operation != refusal->operation) ||
        (noise->surface != SURFACE_COUNT && noise->surface != refusal->verdict.surface))
        return false;
    return noise->match == WHOLE          ? strcmp(name, noise->text) == 0
           : noise->match == FRONT        ? strncmp(name, noise->text, strlen(noise->text)) == 0
           : noise->match == LAST_FRONT   ? last && strncmp(last, noise->text, strlen(noise->text)) == 0
           : noise->match == PART_BY_MODE ? refusal->by_mode && strstr(name, noise->text)
           : noise->match == OF_PROCESS   ? is_of_process(name, noise->text)
                                          : is_link_probe(name);
}

static enum denial_noise noise_of(const struct refusal *refusal)
{
    for (size_t i = 0; i < ARRAY_SIZE(noises); i++)
        if (is_noise(refusal, &noises[i]))
            return noises[i].noise;
    return DENIAL_NOTABLE;
}

static uint32_t keep_name(const char *name, size_t length)
{
    uint32_t at = (uint32_t)table.used;

    memcpy(table.names + table.used, name, length);
    table.used += length;
    return at;
}

/* Return: was it taken? The word to leave (OBSERVE_SIGNAL) may come while there is no room, and ends no wait:
 * whoever reads is there until all has been told, or the wire breaks. */
static bool send_message(int wire, const struct observe_message *message, size_t size, bool wait)
{
    for (;;) {
        struct pollfd room = {.fd = wire, .events = POLLOUT};
        long put = kernel_call(SYS_write, wire, KERNEL_PTR(message), (long)size, 0, 0, 0);
        long woken;

        if (put != -EAGAIN || !wait)
            return put >= 0;
        woken = kernel_call(SYS_ppoll, KERNEL_PTR(&room), 1, 0, 0, 0, 0);
        if (woken < 0 && woken != -EINTR)
            return false;
    }
}

static void tell_new(int wire, size_t index, bool wait)
{
    static struct observe_message message;
    struct seen *entry = &table.entries[index];

    memset(&message, 0, offsetof(struct observe_message, name));
    message.type = OBSERVE_MESSAGE_NEW;
    message.index = (uint32_t)index;
    message.pid = entry->pid;
    message.count = entry->count;
    message.surface = entry->verdict.surface;
    message.operation = entry->operation;
    message.rule = entry->verdict.rule;
    message.rule_index = (uint32_t)entry->verdict.index;
    message.noise = entry->noise;
    message.by_mode = entry->by_mode;
    message.is_address = entry->is_address;
    memcpy(message.executable, table.names + entry->program, entry->program_length);
    memcpy(message.name, table.names + entry->name, entry->name_length);
    entry->told =
        send_message(wire, &message, offsetof(struct observe_message, name) + entry->name_length, wait);
    if (entry->told)
        entry->told_count = entry->count;
}

static void tell_count(int wire, size_t index)
{
    struct observe_message message;
    struct seen *entry = &table.entries[index];

    memset(&message, 0, offsetof(struct observe_message, name));
    message.type = OBSERVE_MESSAGE_COUNT;
    message.index = (uint32_t)index;
    message.count = entry->count;
    send_message(wire, &message, offsetof(struct observe_message, name), true);
}

/* The process of a thread, as the kernel's audit names it. Return: the thread where the kernel does not say.
 */
static pid_t process_of(pid_t thread)
{
    struct pidfd_words words = {.mask = PIDFD_WORDS_PID};
    long fd = kernel_call(SYS_pidfd_open, thread, PIDFD_OF_THREAD, 0, 0, 0, 0), r;

    if (fd < 0)
        return thread;
    r = kernel_call(SYS_ioctl, fd, PIDFD_IOCTL_WORDS, KERNEL_PTR(&words), 0, 0, 0);
    close((int)fd);
    return r == 0 && (words.mask & PIDFD_WORDS_PID) && words.process > 0 ? (pid_t)words.process : thread;
}

/* Before it goes on: so whoever has it from the kernel as well has it later. The same again is told once. */
static void tell_call(int wire, size_t index, const struct notify_request *request)
{
    static struct observe_message last;
    struct observe_message message;

    memset(&message, 0, offsetof(struct observe_message, name));
    message.type = OBSERVE_MESSAGE_CALL;
    message.index = (uint32_t)index;
    message.pid = process_of((pid_t)request->pid);
    message.call = (uint32_t)request->call.nr;
    memcpy(message.arguments, request->call.args, sizeof(message.arguments));
    if (memcmp(&message, &last, offsetof(struct observe_message, name)) == 0)
        return;
    if (send_message(wire, &message, offsetof(struct observe_message, name), false))
        memcpy(&last, &message, offsetof(struct observe_message, name));
    else
        table.untold++;
}

void record_unreadable(void)
{
    table.unreadable++;
}

size_t record_program(pid_t pid, char *room)
{
    char location[40];
    long got;

    number_join(location, "/proc/", (unsigned)pid, "/exe");
    got = kernel_call(SYS_readlinkat, AT_FDCWD, KERNEL_PTR(location), KERNEL_PTR(room), OBSERVE_PROGRAM - 1,
                      0, 0);
    room[got < 0 ? 0 : got] = '\0';
    return got < 0 ? 0 : (size_t)got;
}

void record_refusal(int wire, const struct refusal *refusal)
{
    static char program[OBSERVE_PROGRAM];
    size_t length = strlen(refusal->name), program_length;
    uint32_t hash = hash_of(refusal, length);
    uint16_t *bucket;
    struct seen *entry = find(refusal, hash, length, &bucket);

    if (entry) {
        entry->count++;
        if (refusal->request)
            tell_call(wire, (size_t)(entry - table.entries), refusal->request);
        return;
    }
    program_length = record_program(refusal->pid, program);
    if (table.count == OBSERVE_RECORDS || length >= OBSERVE_PATH ||
        table.used + length + program_length > NAMES_ROOM) {
        table.lost++;
        return;
    }
    entry = &table.entries[table.count];
    *entry = (struct seen){.verdict = refusal->verdict,
                           .operation = refusal->operation,
                           .noise = noise_of(refusal),
                           .is_address = refusal->is_address,
                           .by_mode = refusal->by_mode,
                           .pid = refusal->pid,
                           .hash = hash,
                           .name_length = (uint32_t)length,
                           .program_length = (uint32_t)program_length,
                           .count = 1};
    entry->name = keep_name(refusal->name, length);
    entry->program = keep_name(program, program_length);
    *bucket = (uint16_t)++table.count;
    tell_new(wire, table.count - 1, false);
    if (refusal->request)
        tell_call(wire, table.count - 1, refusal->request);
}

void record_end(int wire)
{
    struct observe_message message;

    for (size_t i = 0; i < table.count; i++)
        if (!table.entries[i].told)
            tell_new(wire, i, true);
        else if (table.entries[i].told_count != table.entries[i].count)
            tell_count(wire, i);
    for (size_t i = 0; i < table.count; i++)
        if (!table.entries[i].told)
            table.lost += table.entries[i].count;
    memset(&message, 0, offsetof(struct observe_message, name));
    message.type = OBSERVE_MESSAGE_END;
    message.count = table.lost;
    message.unreadable = table.unreadable;
    message.call = table.untold;
    send_message(wire, &message, offsetof(struct observe_message, name), true);
}
