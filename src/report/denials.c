/*
 * denials.c - what was refused, in the words of the policy.
 *
 * Should:  name the narrowest grant that would have done, and none where none would: a file's mode refuses
 *          as well, or the grant would be one on all of a home.
 * Mustn't: let a name that the command chose stand unquoted in what people and models read.
 */
#include "report/denials.h"

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
};

static const char *const noises[DENIAL_NOISES] = {
    [DENIAL_TERMINAL_OF_SHELL] = "shell-terminal",
    [DENIAL_JAVA_PERFORMANCE] = "java-performance",
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
    char *value = operations[denial->operation].in_directory && slash
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

/* Return: 0 or -ENOMEM. */
static int fill_grant(const struct resolved *resolved, struct denial *denial, enum denial_rule rule)
{
    bool reads = denial->operation == DENIAL_READ || denial->operation == DENIAL_EXECUTE;

    if (denial->by_mode || denial->surface == SURFACE_FS_DEVICE || (denial->path && is_kernels(denial->path)))
        return 0;
    if (denial->address) {
        denial->key = "network";
        denial->value = strdup("host");
        return denial->value ? 0 : -ENOMEM;
    }
    if (resolved->mode == MODE_READ_ONLY && resolved->workspace && rule == DENIAL_BY_DEFAULT && !reads &&
        path_contains(resolved->workspace, denial->path)) {
        denial->key = "mode";
        denial->value = strdup(mode_name(MODE_WORKSPACE_WRITE));
        return denial->value ? 0 : -ENOMEM;
    }
    errno = 0;
    denial->value = denial->surface == SURFACE_UNIX_PATH || rule != DENIAL_BY_DEFAULT
                        ? strdup(denial->path)
                        : find_grant(resolved, denial);
    if (!denial->value)
        return errno ? -ENOMEM : 0;
    denial->key = rule == DENIAL_BY_PROTECT              ? "unprotect"
                  : rule == DENIAL_BY_HIDE               ? "show"
                  : denial->surface == SURFACE_UNIX_PATH ? "sockets"
                  : reads                                ? "read"
                                                         : "write";
    return 0;
}

/* --- records ---------------------------------------------------------------------------------------------
 */

static int fill_rule(const struct resolved *resolved, struct denial *denial, enum denial_rule rule,
                     size_t index)
{
    struct text text = {0};

    if (rule == DENIAL_BY_PROTECT && index < resolved->protected_paths.count) {
        text_addf(&text, "protect %s ", QUOTE(resolved->protected_paths.items[index]));
        resolved_source(resolved, &resolved->protected_by[index], &text);
    } else if (rule == DENIAL_BY_HIDE && index < resolved->hidden_count) {
        text_addf(&text, "hide %s ", QUOTE(resolved->hidden[index].path));
        resolved_source(resolved, &resolved->hidden[index].source, &text);
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
    item->path = item->address = item->executable = item->rule = item->value = NULL;
    item->key = NULL;
    if ((denial->path && !(item->path = strdup(denial->path))) ||
        (denial->address && !(item->address = strdup(denial->address))) ||
        (denial->executable && !(item->executable = strdup(denial->executable))))
        r = -ENOMEM;
    if (r == 0)
        r = fill_rule(resolved, item, rule, index);
    if (r == 0)
        r = fill_grant(resolved, item, rule);
    if (r < 0)
        denial_free(item);
    else
        denials->count++;
    return r;
}

void denials_free(struct denial_list *denials)
{
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
    {"mode", "--mode"},           {"read", "--read"},      {"write", "--write"},     {"show", "--show"},
    {"unprotect", "--unprotect"}, {"sockets", "--socket"}, {"network", "--network"},
};

void denial_option(const struct denial *denial, struct text *text)
{
    for (size_t i = 0; denial->key && i < ARRAY_SIZE(grant_options); i++)
        if (strcmp(grant_options[i].key, denial->key) == 0)
            text_addf(text, "%s %s", grant_options[i].option, QUOTE(denial->value));
}

void denial_say(const struct denial *denial, size_t most, struct text *text)
{
    char name[512];

    text_addf(text, "%s %s", operations[denial->operation].phrase,
              text_quote(name, sizeof(name), denial->path ? denial->path : denial->address, most));
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
    } else if (strcmp(denial->key, "mode") == 0) {
        writer_text(writer, "mode", denial->value);
    } else {
        writer_array(writer, denial->key);
        writer_path(writer, NULL, denial->value);
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

/* All values of one key of the policy. */
static void write_values(struct writer *writer, const struct denial_list *denials, const char *key)
{
    bool list = strcmp(key, "mode") != 0 && strcmp(key, "network") != 0, begun = false;

    for (size_t i = 0; i < denials->count; i++) {
        const struct denial *denial = &denials->items[i];

        if (denial->noise != DENIAL_NOTABLE || !denial->key || strcmp(denial->key, key) != 0 ||
            is_named(denials, i))
            continue;
        if (list && !begun)
            writer_array(writer, key);
        if (strcmp(key, "network") == 0)
            writer_object(writer, key);
        begun = true;
        if (list)
            writer_text(writer, NULL, denial->value);
        else
            writer_text(writer, "mode", denial->value);
        if (strcmp(key, "network") == 0)
            writer_end(writer);
    }
    if (list && begun)
        writer_end(writer);
}

bool denials_escalate(struct writer *writer, const char *key, const struct denial_list *denials)
{
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
    for (size_t i = 0; i < ARRAY_SIZE(grant_options); i++)
        write_values(writer, denials, grant_options[i].key);
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
    writer_text(writer, "evidence", "predicted");
    writer_integer(writer, "pid", denial->pid);
    writer_path(writer, "executable", denial->executable);
    writer_integer(writer, "count", (int64_t)denial->count);
    writer_text(writer, "rule", denial->rule);
    write_grant(writer, denial);
    writer_bool(writer, "by_mode", denial->by_mode);
    writer_text(writer, "noise", noises[denial->noise]);
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
    writer_end(writer);
}
