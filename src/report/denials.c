/*
 * denials.c - what was refused, in the words of the policy.
 *
 * Should:  name the narrowest grant that would have done, and none where none would: a file's mode refuses
 *          as well, or the grant would be one on all of a home.
 * Mustn't: let a name that the command chose stand unquoted in what people and models read.
 */
#include "report/denials.h"

#include "policy/address.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct operation {
    const char *name, *phrase;
    bool in_directory; /* what has to be granted is the directory that it is in */
} operations[DENIAL_OPERATIONS] = {
    [DENIAL_NOTHING] = {"nothing", "using", false},
    [DENIAL_READ] = {"read", "reading", false},
    [DENIAL_WRITE] = {"write", "writing", false},
    [DENIAL_CREATE] = {"create", "creating", true},
    [DENIAL_TRUNCATE] = {"truncate", "truncating", false},
    [DENIAL_REMOVE] = {"remove", "removing", true},
    [DENIAL_RENAME] = {"rename", "renaming", true},
    [DENIAL_LINK] = {"link", "linking", true},
    [DENIAL_METADATA] = {"metadata", "changing the metadata of", false},
    [DENIAL_EXECUTE] = {"execute", "executing", false},
    [DENIAL_CONNECT] = {"connect", "connecting to", false},
    [DENIAL_BIND] = {"bind", "binding to", false},
    [DENIAL_SEND] = {"send", "sending to", false},
    [DENIAL_IOCTL] = {"ioctl", "controlling", false},
};

static const char *const noises[DENIAL_NOISES] = {
    [DENIAL_TERMINAL_OF_SHELL] = "shell-terminal",
    [DENIAL_JAVA_PERFORMANCE] = "java-performance",
};

static const char *const evidences[DENIAL_EVIDENCES] = {
    [DENIAL_PREDICTED] = "predicted",
    [DENIAL_REFUSED] = "refused",
    [DENIAL_KERNEL] = "kernel",
    [DENIAL_BOTH] = "kernel+observed",
};

/* --- what would have granted it --------------------------------------------------------------------------
 */

/* Too much to be proposed: everything, a home or what is above one, or a directory at the very top. */
static bool is_wide(const struct resolved *resolved, const char *path)
{
    if (strrchr(path, '/') == path || (resolved->home && path_contains(path, resolved->home)))
        return true;
    for (size_t i = 0; i < resolved->env.count; i++)
        if (strncmp(resolved->env.items[i], "HOME=", 5) == 0 &&
            path_contains(path, resolved->env.items[i] + 5))
            return true;
    return false;
}

/* A file of the kernel's own: no policy grants one. */
static bool is_kernels(const char *path)
{
    return path_contains("/proc", path) || path_contains("/sys", path) || path_contains("/dev", path);
}

static char *find_grant(const struct resolved *resolved, const struct denial *denial)
{
    const char *slash = strrchr(denial->path, '/');
    char *value = operations[denial->operation].in_directory && slash && !denial->within
                      ? strndup(denial->path, slash == denial->path ? 1 : (size_t)(slash - denial->path))
                      : strdup(denial->path);

    /* A file right below the top is narrow; a directory there is half the machine. */
    if (value && (operations[denial->operation].in_directory || denial->operation == DENIAL_METADATA) &&
        is_wide(resolved, value)) {
        free(value);
        value = NULL;
        errno = 0;
    }
    return value;
}

/* A name was looked up, and nobody who answers is there. */
static bool is_lookup(const struct denial *denial)
{
    const char *port = denial->address ? strrchr(denial->address, ':') : NULL;

    return port && strcmp(port, ":53") == 0 && denial->operation != DENIAL_BIND &&
           denial->evidence != DENIAL_REFUSED && denial->surface != SURFACE_NET_LISTED;
}

/* The gateway was asked for a name: for which port is not known yet. */
static bool is_name_alone(const struct denial *denial)
{
    return denial->evidence == DENIAL_REFUSED && denial->surface == SURFACE_NET_LISTED &&
           !strchr(denial->address, ':');
}

/* Is it a rule that would do, and that anybody should be shown? Credentials of the machine are not offered.
 */
static bool can_allow(const char *text)
{
    const char *why, *instead;
    struct address address;
    struct rule rule;

    return rule_parse(text, &rule) && !rule_useless(&rule, &why, &instead) &&
           !(rule.address && address_parse(rule.name, &address) &&
             address_range(&address).kind == ADDRESS_METADATA);
}

/* The least that would have let it through: this one place, or a network that is not confined. Nothing where
 * a name was looked up: which one is not known; and in a session, whose network was chosen at its start.
 * Return: 0 or -ENOMEM. */
static int fill_network(const struct resolved *resolved, struct denial *denial)
{
    bool one = (denial->surface == SURFACE_NET_LISTED || denial->surface == SURFACE_NET_TCP) &&
               denial->operation != DENIAL_BIND;
    struct text rule = {0};

    if (resolved->session || is_lookup(denial))
        return 0;
    if (one) {
        text_addf(&rule, "%s%s", denial->private ? "private:" : "", denial->address);
        denial->value = rule.data && can_allow(rule.data) ? rule.data : NULL;
        if (!denial->value)
            text_free(&rule);
        denial->key = denial->value ? "allow" : NULL;
        return rule.failed ? -ENOMEM : 0;
    }
    denial->key = "network";
    denial->value = strdup(network_name(NETWORK_HOST));
    return denial->value ? 0 : -ENOMEM;
}

static bool never_grants(const struct resolved *resolved, enum list list, const char *path)
{
    char *const none[] = {NULL};

    return policy_never_grants(resolved->policy, resolved->env.items ? resolved->env.items : none, list,
                               path);
}

/* What is protected is so as a whole: of a directory no file alone can be open, nor one that is yet to be
 * made be named. Return: as find_grant(). */
static char *find_unprotect(const struct resolved *resolved, const struct denial *denial, size_t index)
{
    bool moves = denial->operation == DENIAL_REMOVE || denial->operation == DENIAL_RENAME;
    const char *path = resolved_unprotects(resolved, index, denial->path, moves);

    return path && !is_wide(resolved, path) ? strdup(path) : NULL;
}

/* Return: 0 or -ENOMEM. */
static int fill_grant(const struct resolved *resolved, struct denial *denial, enum denial_rule rule,
                      size_t index)
{
    bool reads = denial->operation == DENIAL_READ || denial->operation == DENIAL_EXECUTE;

    if (denial->by_mode || denial->surface == SURFACE_FS_DEVICE || rule == DENIAL_BY_KIND ||
        (denial->path && is_kernels(denial->path)))
        return 0;
    if (denial->address)
        return fill_network(resolved, denial);
    if (resolved->mode == MODE_READ_ONLY && resolved->workspace && rule == DENIAL_BY_DEFAULT && !reads &&
        path_contains(resolved->workspace, denial->path)) {
        denial->key = "mode";
        denial->value = strdup(mode_name(MODE_WORKSPACE_WRITE));
        return denial->value ? 0 : -ENOMEM;
    }
    errno = 0;
    denial->value = rule == DENIAL_BY_PROTECT ? find_unprotect(resolved, denial, index)
                    : denial->surface == SURFACE_UNIX_PATH || rule == DENIAL_BY_HIDE
                        ? strdup(denial->path)
                        : find_grant(resolved, denial);
    if (!denial->value)
        return errno ? -ENOMEM : 0;
    denial->key = rule == DENIAL_BY_PROTECT              ? "unprotect"
                  : rule == DENIAL_BY_HIDE               ? "show"
                  : denial->surface == SURFACE_UNIX_PATH ? "sockets"
                  : reads                                ? "read"
                                                         : "write";
    /* An option that is shown works. */
    /* No policy file can name what is no UTF-8, and what it would name instead is another path. */
    if (!utf8_valid(denial->value) ||
        (strcmp(denial->key, "write") == 0 && never_grants(resolved, LIST_WRITE, denial->value)) ||
        (strcmp(denial->key, "sockets") == 0 && never_grants(resolved, LIST_SOCKETS, denial->value))) {
        free(denial->value);
        denial->value = NULL;
        denial->key = NULL;
    }
    return 0;
}

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
    free(denial->at_start);
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
    item->path = item->address = item->executable = item->rule = item->value = item->at_start = NULL;
    item->key = NULL;
    if ((denial->path && !(item->path = strdup(denial->path))) ||
        (denial->address && !(item->address = strdup(denial->address))) ||
        (denial->executable && !(item->executable = strdup(denial->executable))))
        r = -ENOMEM;
    if (r == 0)
        r = fill_rule(resolved, item, rule, index);
    if (r == 0)
        r = fill_grant(resolved, item, rule, index);
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

/* The gateway knows best what would have let it through. */
static int take_option(const struct resolved *resolved, const char *option, struct denial *denial)
{
    static const struct {
        const char *front, *key;
    } options[] = {{"--allow ", "allow"}, {"--forward ", "forward"}};

    free(denial->value);
    denial->value = NULL;
    denial->key = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(options) && option; i++) {
        size_t length = strlen(options[i].front);

        if (strncmp(option, options[i].front, length) != 0)
            continue;
        if (resolved->session) /* a run of it adds nothing */
            return asprintf(&denial->at_start, "%s%s", options[i].front, QUOTE(option + length)) < 0 ? -ENOMEM
                                                                                                     : 0;
        denial->key = options[i].key;
        denial->value = strdup(option + length);
        return denial->value ? 0 : -ENOMEM;
    }
    return 0;
}

static int add_refused(struct denial_list *denials, const struct resolved *resolved,
                       const struct connection *connection)
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
        r = take_option(resolved, connection->option, &denials->items[denials->count - 1]);
    text_free(&text);
    return r;
}

int denials_add_refused(struct denial_list *denials, const struct resolved *resolved,
                        const struct connections *connections)
{
    int r = 0;

    for (size_t i = 0; i < connections->count && r == 0; i++)
        r = add_refused(denials, resolved, &connections->items[i]);
    for (size_t i = 0; i < connections->counted_count && r == 0; i++)
        r = add_refused(denials, resolved, &connections->counted[i]);
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

static const struct {
    const char *key, *option;
} grant_options[] = {
    {"mode", "--mode"},       {"read", "--read"},           {"write", "--write"},
    {"show", "--show"},       {"unprotect", "--unprotect"}, {"sockets", "--socket"},
    {"network", "--network"}, {"allow", "--allow"},         {"forward", "--forward"},
};

void denial_option(const struct denial *denial, struct text *text)
{
    for (size_t i = 0; denial->key && i < ARRAY_SIZE(grant_options); i++)
        if (strcmp(grant_options[i].key, denial->key) == 0)
            text_addf(text, "%s %s", grant_options[i].option, QUOTE(denial->value));
}

void denial_advise(const struct denial *denial, struct text *text)
{
    denial_option(denial, text);
    if (denial->key && strcmp(denial->key, "allow") == 0 && is_name_alone(denial))
        text_addf(text, " (ports 443 and 80; for ssh --allow %s:22)", QUOTE(denial->value));
}

const char *denial_operation_name(enum denial_operation operation)
{
    return operations[operation].name;
}

void denial_say(const struct denial *denial, size_t most, struct text *text)
{
    char name[512];

    text_quote(name, sizeof(name), denial->path ? denial->path : denial->address, most);
    if (is_lookup(denial))
        text_addf(text, "looking up a name at %s (names need --allow NAME)", name);
    else if (is_name_alone(denial))
        text_addf(text, "looking up %s", name);
    else
        text_addf(text, "%s %s%s", operations[denial->operation].phrase,
                  denial->within ? "something in " : "", name);
    if (denial->at_start)
        text_addf(text, " (%s at confine session start)", denial->at_start);
}

/* The grant as a piece of a policy file. */
static void write_grant(struct writer *writer, const struct denial *denial)
{
    struct text option = {0};

    if (!denial->key) {
        writer_null(writer, "grant");
        writer_null(writer, "grant_option");
        return;
    }
    writer_object(writer, "grant");
    if (strcmp(denial->key, "network") == 0) {
        writer_object(writer, "network");
        writer_text(writer, "mode", denial->value);
        writer_end(writer);
    } else if (strcmp(denial->key, "allow") == 0 || strcmp(denial->key, "forward") == 0) {
        writer_object(writer, "network");
        writer_text(writer, "mode", network_name(NETWORK_LISTED));
        writer_array(writer, denial->key);
        writer_text(writer, NULL, denial->value);
        writer_end(writer);
        writer_end(writer);
    } else if (strcmp(denial->key, "mode") == 0) {
        writer_text(writer, "mode", denial->value);
    } else {
        writer_array(writer, denial->key);
        writer_text(writer, NULL, denial->value);
        writer_end(writer);
    }
    writer_end(writer);
    denial_option(denial, &option);
    writer->text.failed |= option.failed;
    writer_text(writer, "grant_option", option.data);
    text_free(&option);
}

/* Was this grant named by an earlier refusal? */
static bool is_named(const struct denial_list *denials, size_t index)
{
    const struct denial *denial = &denials->items[index];

    for (size_t i = 0; i < index; i++)
        if (denials->items[i].noise == DENIAL_NOTABLE && denials->items[i].key == denial->key &&
            strcmp(denials->items[i].value, denial->value) == 0)
            return true;
    return false;
}

static bool has_key(const struct denial_list *denials, const char *key)
{
    for (size_t i = 0; i < denials->count; i++)
        if (denials->items[i].noise == DENIAL_NOTABLE && denials->items[i].key &&
            strcmp(denials->items[i].key, key) == 0)
            return true;
    return false;
}

/* All values of one key of the policy. @first: the first alone, as a text */
static void write_values(struct writer *writer, const struct denial_list *denials, const char *key,
                         bool first)
{
    if (!has_key(denials, key))
        return;
    if (!first)
        writer_array(writer, key);
    for (size_t i = 0; i < denials->count; i++) {
        const struct denial *denial = &denials->items[i];

        if (denial->noise != DENIAL_NOTABLE || !denial->key || strcmp(denial->key, key) != 0 ||
            is_named(denials, i))
            continue;
        writer_text(writer, first ? key : NULL, denial->value);
        if (first)
            return;
    }
    writer_end(writer);
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
    write_values(writer, denials, "mode", true);
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
        write_values(writer, denials, lists[i], false);
    write_network(writer, denials);
    writer_end(writer);
    writer_array(writer, "options");
    for (size_t i = 0; i < denials->count; i++) {
        struct text option = {0};

        if (denials->items[i].noise != DENIAL_NOTABLE || !denials->items[i].key || is_named(denials, i))
            continue;
        denial_option(&denials->items[i], &option);
        writer->text.failed |= option.failed;
        writer_text(writer, NULL, option.data);
        text_free(&option);
    }
    writer_end(writer);
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
    write_grant(writer, denial);
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
