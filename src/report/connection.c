/*
 * connection.c - a list of connections, and of what was only counted.
 */
#include "report/connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void connection_free(struct connection *connection)
{
    free(connection->name);
    free(connection->address);
    free(connection->protocol);
    free(connection->rule);
    free(connection->refused);
    free(connection->option);
    free(connection->error);
    *connection = (struct connection){0};
}

void connections_free(struct connections *connections)
{
    for (size_t i = 0; i < connections->count; i++)
        connection_free(&connections->items[i]);
    for (size_t i = 0; i < connections->counted_count; i++)
        connection_free(&connections->counted[i]);
    free(connections->items);
    free(connections->counted);
    *connections = (struct connections){0};
}

struct connection *connections_find(const struct connections *connections, int64_t id)
{
    for (size_t i = connections->count; i > 0; i--)
        if (connections->items[i - 1].id == id)
            return &connections->items[i - 1];
    return NULL;
}

static bool same_text(const char *one, const char *other)
{
    return one && other ? strcmp(one, other) == 0 : one == other;
}

static struct connection *find_counted(const struct connections *connections,
                                       const struct connection *connection)
{
    for (size_t i = 0; i < connections->counted_count; i++) {
        struct connection *row = &connections->counted[i];

        if (row->port == connection->port && same_text(row->name, connection->name) &&
            same_text(row->protocol, connection->protocol) && same_text(row->rule, connection->rule) &&
            same_text(row->refused, connection->refused))
            return row;
    }
    return NULL;
}

int connections_add(struct connections *connections, struct connection *connection)
{
    struct connection *row;

    if (connection->id >= 0) {
        if (!array_more(&connections->items, connections->count, sizeof(*connections->items)))
            return -ENOMEM;
        connections->items[connections->count++] = *connection;
        return 0;
    }
    row = find_counted(connections, connection);
    if (row) {
        row->count += connection->count;
        row->sent += connection->sent;
        row->received += connection->received;
        connection_free(connection);
        return 0;
    }
    if (!array_more(&connections->counted, connections->counted_count, sizeof(*connections->counted)))
        return -ENOMEM;
    connections->counted[connections->counted_count++] = *connection;
    return 0;
}

static void write_known(struct writer *writer, const char *key, int64_t number)
{
    if (number < 0)
        writer_null(writer, key);
    else
        writer_integer(writer, key, number);
}

void connection_members(const struct connection *connection, struct writer *writer)
{
    bool counted = connection->id < 0, refused = connection->refused != NULL;

    writer_text(writer, "name", connection->name);
    if (!counted)
        writer_text(writer, "address", connection->address);
    writer_integer(writer, "port", connection->port);
    writer_text(writer, "protocol", connection->protocol);
    writer_text(writer, "rule", refused ? NULL : connection->rule); /* it may have been refused later */
    writer_text(writer, "refused", connection->refused);
    writer_text(writer, "option", connection->option);
    if (counted)
        writer_integer(writer, "connections", connection->count);
    /* What was refused has sent nothing to anybody. */
    write_known(writer, "sent", refused ? -1 : connection->sent);
    write_known(writer, "received", refused ? -1 : connection->received);
    if (counted)
        return;
    write_known(writer, "ms", connection->ms);
    writer_text(writer, "error", connection->error);
}

void connection_write(const struct connection *connection, struct writer *writer, const char *key)
{
    writer_object(writer, key);
    connection_members(connection, writer);
    writer_end(writer);
}

static int64_t sum(const struct connections *connections, bool refused_only)
{
    int64_t count = 0;

    for (size_t i = 0; i < connections->count; i++)
        count += !refused_only || connections->items[i].refused;
    for (size_t i = 0; i < connections->counted_count; i++)
        if (!refused_only || connections->counted[i].refused)
            count += connections->counted[i].count;
    return count;
}

int64_t connections_refused(const struct connections *connections)
{
    return sum(connections, true);
}

int64_t connections_total(const struct connections *connections)
{
    return sum(connections, false);
}
