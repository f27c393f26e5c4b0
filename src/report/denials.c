/*
 * denials.c - what was refused, in the words of the policy.
 *
 * What would have granted it stands in denial_grant.c.
 *
 * Mustn't: let a name that the command chose stand unquoted in what people and models read.
 */
#include "report/denials.h"

#include "report/denial_grant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct operation {
    const char *name, *phrase;
} operations[DENIAL_OPERATIONS] = {
    [DENIAL_NOTHING] = {"nothing", "using"},
    [DENIAL_READ] = {"read", "reading"},
    [DENIAL_WRITE] = {"write", "writing"},
    [DENIAL_CREATE] = {"create", "creating"},
    [DENIAL_TRUNCATE] = {"truncate", "truncating"},
    [DENIAL_REMOVE] = {"remove", "removing"},
    [DENIAL_RENAME] = {"rename", "renaming"},
    [DENIAL_LINK] = {"link", "linking"},
    [DENIAL_METADATA] = {"metadata", "changing the metadata of"},
    [DENIAL_EXECUTE] = {"execute", "executing"},
    [DENIAL_CONNECT] = {"connect", "connecting to"},
    [DENIAL_BIND] = {"bind", "binding to"},
    [DENIAL_SEND] = {"send", "sending to"},
    [DENIAL_IOCTL] = {"ioctl", "controlling"},
};

/* clang-format off */
static const char *const noises[DENIAL_NOISES] = {
    [DENIAL_TERMINAL_OF_SHELL] = "shell-terminal",
    [DENIAL_JAVA_PERFORMANCE] = "java-performance",
    [DENIAL_HISTORY] = "history",
    [DENIAL_PYTHON_CACHE] = "python-cache",
    [DENIAL_DEBUGGER_MEMORY] = "debugger-memory",
    [DENIAL_PROCESS_HINT] = "process-hint",
    [DENIAL_LINK_PROBE] = "link-probe",
    [DENIAL_ADDRESS_PROBE] = "address-probe",
};
/* clang-format on */

static const char *const evidences[DENIAL_EVIDENCES] = {
    [DENIAL_PREDICTED] = "predicted",
    [DENIAL_REFUSED] = "refused",
    [DENIAL_KERNEL] = "kernel",
    [DENIAL_BOTH] = "kernel+observed",
};

/* --- records ---------------------------------------------------------------------------------------------
 */

static int fill_rule(const struct resolved *resolved, struct denial *denial, enum denial_rule rule,
                     size_t index)
{
    const struct hidden *hidden = NULL;
    struct text text = {0};

    if (index < resolved->hidden_count)
        hidden = &resolved->hidden[index];
    else if (index - resolved->hidden_count < resolved->around_count)
        hidden = &resolved->around[index - resolved->hidden_count];
    if (rule == DENIAL_BY_PROTECT && index < resolved->protected_paths.count) {
        text_addf(&text, "protect %s ", QUOTE(resolved->protected_paths.items[index]));
        resolved_source(resolved, &resolved->protected_by[index], &text);
    } else if (rule == DENIAL_BY_HIDE && hidden) {
        text_addf(&text, "hide %s ", QUOTE(hidden->path));
        resolved_source(resolved, &hidden->source, &text);
    } else if (rule == DENIAL_BY_PLACE) {
        text_add(&text, "private-place");
    } else if (rule == DENIAL_BY_KIND) {
        text_add(&text, "special-file");
    } else {
        text_addf(&text, rule == DENIAL_BY_NETWORK ? "network %s" : "default",
                  network_name(resolved->policy->network));
    }
    denial->rule = text.data;
    return text.failed ? -ENOMEM : 0;
}

static void denial_free(struct denial *denial)
{
    free(denial->path);
    free(denial->address);
    free(denial->executable);
    free(denial->rule);
    free(denial->value);
    free(denial->also);
    free(denial->warning);
    free(denial->other_way);
}

int denials_add(struct denial_list *denials, const struct resolved *resolved, const struct denial *denial,
                enum denial_rule rule, size_t index)
{
    struct denial *item;
    int r = 0;

    if (!array_more(&denials->items, denials->count, sizeof(*denials->items)))
        return -ENOMEM;
    item = &denials->items[denials->count];
    *item = *denial;
    item->path = item->address = item->executable = NULL;
    item->rule = item->value = item->also = item->warning = item->other_way = NULL;
    item->key = NULL;
    item->writes = false;
    if ((denial->path && !(item->path = strdup(denial->path))) ||
        (denial->address && !(item->address = strdup(denial->address))) ||
        (denial->executable && !(item->executable = strdup(denial->executable))))
        r = -ENOMEM;
    if (r == 0)
        r = fill_rule(resolved, item, rule, index);
    if (r == 0)
        r = denial_fill_grant(resolved, item, rule, index);
    if (r < 0)
        denial_free(item);
    else
        denials->count++;
    return r;
}

/* The refusal of CONNECTION that is there already; NULL: none. */
static struct denial *find_refused(const struct denial_list *denials, const char *address)
{
    for (size_t i = 0; i < denials->count; i++)
        if (denials->items[i].evidence == DENIAL_REFUSED && strcmp(denials->items[i].address, address) == 0)
            return &denials->items[i];
    return NULL;
}

static int add_refused(struct denial_list *denials, const struct resolved *resolved,
                       const struct connection *connection, char *const *command)
{
    const char *name = connection->name ? connection->name : connection->address;
    struct denial denial = {.surface = SURFACE_NET_LISTED,
                            .evidence = DENIAL_REFUSED,
                            .operation = DENIAL_CONNECT,
                            .count = (uint64_t)connection->count};
    struct text text = {0};
    struct denial *item;
    int r = 0;

    if (connection->refused && !name && connection->id < 0) /* the sum of what there was no room for */
        denials->lost += denial.count;
    if (!connection->refused || !name)
        return 0;
    text_add(&text, name);
    if (connection->port > 0)
        text_addf(&text, ":%lld", (long long)connection->port);
    denial.address = text.data;
    item = text.failed ? NULL : find_refused(denials, text.data);
    if (text.failed)
        r = -ENOMEM;
    else if (item)
        item->count += denial.count;
    else
        r = denials_add(denials, resolved, &denial, DENIAL_BY_NETWORK, 0);
    if (r == 0 && !item)
        r = denial_take_option(resolved, connection->option, command, &denials->items[denials->count - 1]);
    text_free(&text);
    return r;
}

int denials_add_refused(struct denial_list *denials, const struct resolved *resolved,
                        const struct connections *connections, char *const *command)
{
    const struct connection *item;
    int r = 0;

    for (size_t i = 0; r == 0 && (item = connections_at(connections, i)); i++)
        r = add_refused(denials, resolved, item, command);
    return r;
}

int denials_infer(struct denial_list *denials, const char *signature, const char *line, uint64_t count)
{
    char *copy = strdup(line);

    if (!copy || !array_more(&denials->inferred, denials->inferred_count, sizeof(*denials->inferred))) {
        free(copy);
        return -ENOMEM;
    }
    denials->inferred[denials->inferred_count++] =
        (struct inferred){.signature = signature, .line = copy, .count = count};
    return 0;
}

void denials_free(struct denial_list *denials)
{
    for (size_t i = 0; i < denials->inferred_count; i++)
        free(denials->inferred[i].line);
    free(denials->inferred);
    for (size_t i = 0; i < denials->count; i++)
        denial_free(&denials->items[i]);
    free(denials->items);
    *denials = (struct denial_list){0};
}

size_t denials_notable(const struct denial_list *denials)
{
    size_t count = 0;

    for (size_t i = 0; i < denials->count; i++)
        count += denials->items[i].noise == DENIAL_NOTABLE;
    return count;
}

/* --- for people and programs -----------------------------------------------------------------------------
 */

const char *denial_operation_name(enum denial_operation operation)
{
    return operations[operation].name;
}

void denial_say(const struct denial *denial, size_t most, struct text *text)
{
    char name[512];

    text_quote(name, sizeof(name), denial->path ? denial->path : denial->address, most);
    if (denial_is_lookup(denial))
        text_addf(text, "looking up a name at %s%s", name,
                  denial->other_way ? "" : " (names need --allow NAME)");
    else if (denial_is_name_alone(denial))
        text_addf(text, "looking up %s", name);
    else
        text_addf(text, "%s %s%s", operations[denial->operation].phrase,
                  denial->within ? "something in " : "", name);
    if (denial->other_way)
        text_addf(text, " (%s)", denial->other_way);
}

static bool has_key(const struct denial_list *denials, const char *key)
{
    for (size_t i = 0; i < denials->count; i++)
        if (denials->items[i].noise == DENIAL_NOTABLE && denials->items[i].key &&
            strcmp(denials->items[i].key, key) == 0)
            return true;
    return false;
}

/* The text once. Return: whether it is there for the first time. */
static bool is_first(struct strings *seen, const char *text, struct writer *writer)
{
    if (strings_have(seen, text))
        return false;
    if (strings_add(seen, text) < 0)
        writer->text.failed = true;
    return true;
}

/* All values of one key of the policy, each once. @single: the first alone, as a text */
static void write_values(struct writer *writer, const struct denial_list *denials, const char *key,
                         bool single)
{
    struct strings seen = {0};

    if (!has_key(denials, key))
        return;
    if (!single)
        writer_array(writer, key);
    for (size_t i = 0; i < denials->count && !(single && seen.count > 0); i++) {
        const struct denial *denial = &denials->items[i];

        if (denial->noise != DENIAL_NOTABLE || !denial->key || strcmp(denial->key, key) != 0)
            continue;
        if (is_first(&seen, denial->value, writer))
            writer_text(writer, single ? key : NULL, denial->value);
        if (denial->also && is_first(&seen, denial->also, writer))
            writer_text(writer, NULL, denial->also);
    }
    if (!single)
        writer_end(writer);
    strings_free(&seen);
}

static void write_option(struct writer *writer, struct strings *seen, const char *key, const char *value)
{
    struct text option = {0};

    denial_option_of(key, value, &option);
    writer->text.failed |= option.failed;
    if (option.data && is_first(seen, option.data, writer))
        writer_text(writer, NULL, option.data);
    text_free(&option);
}

/* The same as options, one a text. */
static void write_options(struct writer *writer, const struct denial_list *denials)
{
    struct strings seen = {0};

    writer_array(writer, "options");
    for (size_t i = 0; i < denials->count; i++) {
        const struct denial *denial = &denials->items[i];
        const char *values[] = {denial->value, denial->also};

        if (denial->noise != DENIAL_NOTABLE || !denial->key)
            continue;
        if (denial->writes)
            write_option(writer, &seen, "mode", mode_name(MODE_WORKSPACE_WRITE));
        for (size_t j = 0; j < ARRAY_SIZE(values) && values[j]; j++)
            write_option(writer, &seen, denial->key, values[j]);
    }
    writer_end(writer);
    strings_free(&seen);
}

/* Is the mode workspace-write a part of any grant? A workspace gives it as an option, but not in a file. */
static bool needs_writing(const struct denial_list *denials)
{
    for (size_t i = 0; i < denials->count; i++)
        if (denials->items[i].noise == DENIAL_NOTABLE && denials->items[i].key && denials->items[i].writes)
            return true;
    return has_key(denials, "mode") || has_key(denials, "workspace");
}

/* All of the network, or what may be reached of it. */
static void write_network(struct writer *writer, const struct denial_list *denials)
{
    bool host = false;

    if (!has_key(denials, "network") && !has_key(denials, "allow") && !has_key(denials, "forward"))
        return;
    for (size_t i = 0; i < denials->count; i++)
        host = host || (denials->items[i].noise == DENIAL_NOTABLE && denials->items[i].key &&
                        strcmp(denials->items[i].key, "network") == 0 &&
                        strcmp(denials->items[i].value, network_name(NETWORK_HOST)) == 0);
    writer_object(writer, "network");
    writer_text(writer, "mode", network_name(host ? NETWORK_HOST : NETWORK_LISTED));
    if (!host)
        write_values(writer, denials, "allow", false);
    write_values(writer, denials, "forward", false);
    writer_end(writer);
}

bool denials_escalate(struct writer *writer, const char *key, const struct denial_list *denials)
{
    static const char *const lists[] = {"read", "write", "show", "unprotect", "sockets"};
    bool some = false, enough = true;

    for (size_t i = 0; i < denials->count; i++) {
        if (denials->items[i].noise != DENIAL_NOTABLE)
            continue;
        some = some || denials->items[i].key;
        enough = enough && denials->items[i].key;
    }
    if (!some)
        return false;
    writer_object(writer, key);
    writer_object(writer, "grant");
    if (needs_writing(denials))
        writer_text(writer, "mode", mode_name(MODE_WORKSPACE_WRITE));
    write_values(writer, denials, "workspace", true);
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
        write_values(writer, denials, lists[i], false);
    write_network(writer, denials);
    writer_end(writer);
    write_options(writer, denials);
    writer_bool(writer, "sufficient", enough);
    writer_end(writer);
    return true;
}

void denial_write(struct writer *writer, const struct denial *denial)
{
    writer_text(writer, "surface", surface_table[denial->surface].name);
    writer_text(writer, "operation", operations[denial->operation].name);
    writer_path(writer, "path", denial->path);
    writer_text(writer, "address", denial->address);
    writer_text(writer, "evidence", evidences[denial->evidence]);
    if (denial->pid > 0)
        writer_integer(writer, "pid", denial->pid);
    else
        writer_null(writer, "pid");
    writer_path(writer, "executable", denial->executable);
    writer_integer(writer, "count", (int64_t)denial->count);
    writer_text(writer, "rule", denial->rule);
    denial_write_grant(writer, denial);
    writer_text(writer, "warning", denial->warning);
    writer_bool(writer, "by_mode", denial->by_mode);
    writer_bool(writer, "within", denial->within);
    writer_text(writer, "noise", noises[denial->noise]);
}

static void write_audit(struct writer *writer, const struct denial_audit *audit)
{
    if (!audit->read) {
        writer_null(writer, "audit");
        return;
    }
    writer_object(writer, "audit");
    if (audit->refused > 0) /* else the kernel never said that there was a layer */
        writer_bool(writer, "complete", audit->complete);
    else
        writer_null(writer, "complete");
    writer_integer(writer, "refused", (int64_t)audit->refused);
    writer_integer(writer, "joined", (int64_t)audit->joined);
    if (audit->lost_known)
        writer_integer(writer, "lost", audit->lost);
    else
        writer_null(writer, "lost");
    writer_end(writer);
}

/* Apart from the refusals, because they are none. */
static void write_inferred(struct writer *writer, const struct denial_list *denials)
{
    if (!denials->heard) {
        writer_null(writer, "inferred");
        return;
    }
    writer_object(writer, "inferred");
    writer_integer(writer, "lost", (int64_t)denials->inferred_lost);
    writer_array(writer, "items");
    for (size_t i = 0; i < denials->inferred_count; i++) {
        writer_object(writer, NULL);
        writer_text(writer, "evidence", "inferred");
        writer_text(writer, "signature", denials->inferred[i].signature);
        writer_text(writer, "line", denials->inferred[i].line);
        writer_integer(writer, "count", (int64_t)denials->inferred[i].count);
        writer_end(writer);
    }
    writer_end(writer);
    writer_end(writer);
}

void denials_write(struct writer *writer, const char *key, const struct denial_list *denials)
{
    bool complete = denials->known && denials->lost == 0 && denials->unreadable == 0 && !denials->reason;

    writer_object(writer, key);
    writer_text(writer, "channel", denials->channel ? denials->channel : "none");
    writer_bool(writer, "complete", complete);
    if (denials->known) {
        writer_integer(writer, "lost", (int64_t)denials->lost);
        writer_integer(writer, "unreadable", (int64_t)denials->unreadable);
    } else {
        writer_null(writer, "lost");
        writer_null(writer, "unreadable");
    }
    writer_text(writer, "reason", denials->reason);
    write_audit(writer, &denials->audit);
    writer_array(writer, "covers");
    for (size_t i = 0; i < denials->cover_count; i++)
        writer_text(writer, NULL, denials->covers[i]);
    writer_end(writer);
    writer_array(writer, "items");
    for (size_t i = 0; i < denials->count; i++) {
        writer_object(writer, NULL);
        denial_write(writer, &denials->items[i]);
        writer_end(writer);
    }
    writer_end(writer);
    write_inferred(writer, denials);
    writer_end(writer);
}
