/*
 * connection.c - a list of connections, and of what was only counted.
 */
#include "report/connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ERROR_SHOWN 60 /* bytes */

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

static struct connection *find_counted(const struct connections *connections,
                                       const struct connection *connection)
{
    for (size_t i = 0; i < connections->counted_count; i++) {
        struct connection *row = &connections->counted[i];

        if (row->port == connection->port && text_same(row->name, connection->name) &&
            text_same(row->protocol, connection->protocol) && text_same(row->rule, connection->rule) &&
            text_same(row->refused, connection->refused))
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
        row->failed += connection->failed;
        if (!row->error) {
            row->error = connection->error;
            connection->error = NULL;
        }
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
        writer_integer(writer, "failed", connection->failed);
    else
        write_known(writer, "ms", connection->ms);
    writer_text(writer, "error", connection->error);
}

void connection_write(const struct connection *connection, struct writer *writer, const char *key)
{
    writer_object(writer, key);
    connection_members(connection, writer);
    writer_end(writer);
}

const struct connection *connections_at(const struct connections *connections, size_t index)
{
    if (index < connections->count)
        return &connections->items[index];
    index -= connections->count;
    return index < connections->counted_count ? &connections->counted[index] : NULL;
}

static int64_t sum(const struct connections *connections, bool refused_only)
{
    const struct connection *item;
    int64_t count = 0;

    for (size_t i = 0; (item = connections_at(connections, i)); i++)
        if (!refused_only || item->refused)
            count += item->id < 0 ? item->count : 1;
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

/* As many brought nothing back, and it was not the command that gave up. */
static int64_t count_failed(const struct connection *connection)
{
    static const char client[] = "the client ";

    if (connection->id < 0)
        return connection->failed;
    return !connection->refused && connection->error && connection->received <= 0 &&
           strncmp(connection->error, client, sizeof(client) - 1) != 0;
}

int64_t connections_failed(const struct connections *connections)
{
    const struct connection *item;
    int64_t count = 0;

    for (size_t i = 0; (item = connections_at(connections, i)); i++)
        count += count_failed(item);
    return count;
}

static const char *meant(const struct connection *connection)
{
    return connection->name ? connection->name : connection->address ? connection->address : "?";
}

/* Does an earlier one say the same? */
static bool is_repeated(const struct connections *connections, size_t index)
{
    const struct connection *item = connections_at(connections, index), *earlier;

    for (size_t i = 0; i < index; i++) {
        earlier = connections_at(connections, i);
        if (count_failed(earlier) > 0 && earlier->error && earlier->port == item->port &&
            strcmp(meant(earlier), meant(item)) == 0 && strcmp(earlier->error, item->error) == 0)
            return true;
    }
    return false;
}

/* Did the same host answer at the same port, before or after? */
static bool is_reached(const struct connections *connections, const struct connection *failed)
{
    const struct connection *item;

    for (size_t i = 0; (item = connections_at(connections, i)); i++)
        if (!item->refused && item->port == failed->port && item->received > 0 &&
            strcmp(meant(item), meant(failed)) == 0)
            return true;
    return false;
}

/* The gateway reads what strangers say: of its sentences only plain letters are passed on, and not many. */
static void say_error(const char *error, struct text *text)
{
    for (size_t i = 0; i < ERROR_SHOWN && error[i]; i++) {
        bool plain = error[i] >= ' ' && error[i] <= '~' && error[i] != '"' && error[i] != '\\';

        text_add_bytes(text, plain ? &error[i] : "?", 1);
    }
}

void connections_say_failed(const struct connections *connections, size_t most, size_t cut, bool never,
                            struct text *text)
{
    const struct connection *item;
    size_t said = 0;
    char name[512];

    for (size_t i = 0; (item = connections_at(connections, i)); i++) {
        if (count_failed(item) == 0 || !item->error || is_repeated(connections, i) ||
            (never && is_reached(connections, item)))
            continue;
        if (said++ == most) {
            text_add(text, " and others");
            break;
        }
        text_addf(text, "%s%s:%lld (", said > 1 ? ", " : "", text_quote(name, sizeof(name), meant(item), cut),
                  (long long)item->port);
        say_error(item->error, text);
        text_add(text, ")");
    }
}
