/*
 * fuzz-audit.c - fuzz the reader of the kernel's audit records, a line each; its first letter is the type.
 *
 * What comes out belongs to the layer that was laid by the process in question, ends within its room, and is
 * given once.
 */
#include "kernel/audit.h"
#include "observe/audit_record.h"

#include <stdlib.h>
#include <string.h>

static void must(bool held, const char *what)
{
    if (!held) {
        fprintf(stderr, "audit: %s\n", what);
        abort();
    }
}

static size_t drain(struct audit_look *look, bool end)
{
    static struct audit_refusal refusal;
    size_t count = 0;

    while (audit_next(look, end, &refusal)) {
        enum surface surface = SURFACE_COUNT;
        bool within;

        must(look->domain != 0 && refusal.domain == look->domain, "another layer's refusal");
        must(refusal.called || end, "a refusal whose call is not known");
        must(memchr(refusal.path, '\0', sizeof(refusal.path)) != NULL, "a path without an end");
        must(memchr(refusal.executable, '\0', sizeof(refusal.executable)) != NULL,
             "a program without an end");
        must(audit_operation(&refusal, &surface, &within) == DENIAL_NOTHING || surface < SURFACE_COUNT,
             "an operation on nothing");
        must(++count <= AUDIT_WAITING, "more than were waiting");
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned types[] = {AUDIT_TYPE_ACCESS, AUDIT_TYPE_DOMAIN, AUDIT_TYPE_SYSCALL, 1327};
    static struct audit_look look;
    uint64_t domain = 0;

    memset(&look, 0, sizeof(look));
    look.pid = 7510;
    for (size_t at = 0; at < size;) {
        const uint8_t *stop = memchr(data + at, '\n', size - at);
        size_t length = stop ? (size_t)(stop - data) - at : size - at;
        char *record = malloc(length ? length : 1); /* of its own, so that a byte too far is seen */

        must(record != NULL, "memory");
        memcpy(record, data + at, length);
        if (length > 0)
            audit_take(&look, types[(unsigned char)record[0] % 4], record + 1, length - 1);
        free(record);
        must(domain == 0 || look.domain == domain, "the layer has changed");
        domain = look.domain;
        drain(&look, false);
        at += length + 1;
    }
    drain(&look, true);
    must(drain(&look, true) == 0, "told twice");
    return 0;
}
