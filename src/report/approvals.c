/*
 * approvals.c - approvals, each path once.
 */
#include "report/approvals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct approval_item *find(const struct approval_list *approvals, const struct approval_item *like)
{
    for (size_t i = 0; i < approvals->count; i++) {
        struct approval_item *item = &approvals->items[i];

        if (item->for_run == like->for_run && text_same(item->path, like->path) &&
            text_same(item->address, like->address) && (item->for_run || item->operation == like->operation))
            return item;
    }
    return NULL;
}

int approvals_add(struct approval_list *approvals, const struct approval_item *item)
{
    struct approval_item *known = find(approvals, item), copy = *item;

    if (known) {
        known->count++;
        return 0;
    }
    copy.count = 1;
    copy.path = item->path ? strdup(item->path) : NULL;
    copy.address = item->address ? strdup(item->address) : NULL;
    copy.executable = item->executable ? strdup(item->executable) : NULL;
    if ((item->path && !copy.path) || (item->address && !copy.address) ||
        (item->executable && !copy.executable) || approvals->count == APPROVALS_MOST ||
        !array_more(&approvals->items, approvals->count, sizeof(*approvals->items))) {
        free(copy.path);
        free(copy.address);
        free(copy.executable);
        approvals->unlisted++;
        return -ENOMEM;
    }
    approvals->items[approvals->count++] = copy;
    return 0;
}

uint64_t approvals_total(const struct approval_list *approvals)
{
    uint64_t total = approvals->unlisted;

    for (size_t i = 0; i < approvals->count; i++)
        total += approvals->items[i].count;
    return total;
}

void approvals_write(struct writer *writer, const char *key, const struct approval_list *approvals)
{
    if (!approvals->asks) {
        writer_null(writer, key);
        return;
    }
    writer_object(writer, key);
    writer_integer(writer, "asked", (int64_t)approvals->asked);
    writer_integer(writer, "unasked", (int64_t)approvals->unasked);
    writer_integer(writer, "unlisted", (int64_t)approvals->unlisted);
    writer_array(writer, "items");
    for (size_t i = 0; i < approvals->count; i++) {
        const struct approval_item *item = &approvals->items[i];

        writer_object(writer, NULL);
        writer_text(writer, "operation", denial_operation_name(item->operation));
        writer_path(writer, "path", item->path);
        writer_text(writer, "address", item->address);
        writer_text(writer, "answer", item->for_run ? "run" : "once");
        writer_integer(writer, "pid", item->pid);
        writer_path(writer, "executable", item->executable);
        writer_integer(writer, "count", (int64_t)item->count);
        writer_end(writer);
    }
    writer_end(writer);
    writer_end(writer);
}

void approvals_free(struct approval_list *approvals)
{
    for (size_t i = 0; i < approvals->count; i++) {
        free(approvals->items[i].path);
        free(approvals->items[i].address);
        free(approvals->items[i].executable);
    }
    free(approvals->items);
    *approvals = (struct approval_list){0};
}
