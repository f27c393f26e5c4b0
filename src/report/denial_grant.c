/*
 * denial_grant.c - what would have granted a refused access, in the words of the policy.
 *
 * Should:  name the narrowest grant that would have done, and none where none would: a file's mode refuses
 *          as well, or the grant would be one on all of a home.
 * Mustn't: offer what does not work, credentials, or what hands over more than a command could do by itself
 * (policy/risk.h): that is said instead. What is protected in a granted tree is offered, with that.
 */
#include "report/denial_grant.h"

#include "policy/address.h"
#include "policy/risk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SSH_PORT 22

/* What has to be granted is the directory that it is in. */
static const bool in_directory[DENIAL_OPERATIONS] = {
    [DENIAL_CREATE] = true, [DENIAL_REMOVE] = true, [DENIAL_RENAME] = true, [DENIAL_LINK] = true};

/* Too much to be proposed: everything, a home or what is above one, a directory at the very top, or one that
 * is everybody's. */
static bool is_wide(const struct resolved *resolved, const char *path)
{
    static const char *const own[] = {"HOME=", "XDG_RUNTIME_DIR="};

    if (strrchr(path, '/') == path || policy_is_shared(path) ||
        (resolved->home && path_contains(path, resolved->home)))
        return true;
    for (size_t i = 0; i < resolved->env.count; i++)
        for (size_t k = 0; k < ARRAY_SIZE(own); k++)
            if (strncmp(resolved->env.items[i], own[k], strlen(own[k])) == 0 &&
                path_contains(path, resolved->env.items[i] + strlen(own[k])))
                return true;
    return false;
}

/* A file of the kernel's own: no policy grants one. */
static bool is_kernels(const char *path)
{
    return path_contains("/proc", path) || path_contains("/sys", path) ||
           (path_contains("/dev", path) && !path_contains("/dev/shm", path));
}

/* @wide: gets what was too much, as a warning */
static char *find_grant(const struct resolved *resolved, const struct denial *denial, struct text *wide)
{
    const char *slash = strrchr(denial->path, '/');
    char *value = in_directory[denial->operation] && slash && !denial->within
                      ? strndup(denial->path, slash == denial->path ? 1 : (size_t)(slash - denial->path))
                      : strdup(denial->path);

    /* A file right below the top is narrow; a directory there is half the machine. */
    if (value && (in_directory[denial->operation] || denial->operation == DENIAL_METADATA) &&
        is_wide(resolved, value)) {
        text_addf(wide, "would hand over all of %s", QUOTE(value));
        free(value);
        value = NULL;
        errno = 0;
    }
    return value;
}

/* A name was looked up, and nobody who answers is there. */
bool denial_is_lookup(const struct denial *denial)
{
    const char *port = denial->address ? strrchr(denial->address, ':') : NULL;

    return port && strcmp(port, ":53") == 0 && denial->operation != DENIAL_BIND &&
           denial->evidence != DENIAL_REFUSED && denial->surface != SURFACE_NET_LISTED;
}

/* The gateway was asked for a name: for which port is not known yet. */
bool denial_is_name_alone(const struct denial *denial)
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

    if (resolved->session && denial_is_lookup(denial))
        return (denial->other_way = strdup("--allow NAME at confine session start")) ? 0 : -ENOMEM;
    if (resolved->session || denial_is_lookup(denial))
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

/* What the grant would hand over, or where none was found, one for the path alone; or else @wide. What is
 * protected is offered all the same: whoever reads the option reads the name of what it opens. Return: 0 or
 * -ENOMEM. */
static int weigh_grant(const struct resolved *resolved, struct denial *denial, enum list list,
                       struct text *wide)
{
    const char *paths[] = {denial->value ? denial->value : denial->path, denial->also};
    struct risk risk = {0};
    struct text text = {0};

    for (size_t i = 0; i < ARRAY_SIZE(paths) && !risk.item; i++)
        if (paths[i])
            (void)risk_find(resolved->home, resolved->env.items, list, paths[i], &risk);
    if (!risk.item) {
        denial->warning = wide->data;
        wide->data = NULL;
        return wide->failed ? -ENOMEM : 0;
    }
    risk_say(&risk, &text);
    denial->warning = text.data;
    if (list != LIST_UNPROTECT) {
        free(denial->value);
        denial->value = NULL;
        denial->key = NULL;
    }
    return text.failed ? -ENOMEM : 0;
}

static bool never_grants(const struct resolved *resolved, enum list list, const char *path)
{
    char *const none[] = {NULL};

    return policy_never_grants(resolved->policy, resolved->env.items ? resolved->env.items : none, list,
                               path);
}

/* What is protected is so as a whole: of a directory no file alone can be open, nor one that is yet to be
 * made be named. Return: as find_grant(); @ret_also: the second one, or NULL. */
static char *find_unprotect(const struct resolved *resolved, const struct denial *denial, size_t index,
                            char **ret_also)
{
    bool moves = denial->operation == DENIAL_REMOVE || denial->operation == DENIAL_RENAME;
    struct unprotects found;

    if (!resolved_unprotects(resolved, index, denial->path, moves, &found))
        return NULL;
    for (size_t i = 0; i < found.count; i++)
        if (is_wide(resolved, found.names[i]) || !utf8_valid(found.names[i]))
            return NULL;
    if (found.count > 1 && !(*ret_also = strdup(found.names[1])))
        return NULL; /* errno says so */
    return strdup(found.names[0]);
}

/* In a run that may write nothing a grant alone would be refused: another mode; a workspace, which is
 * protected where that is due, for what lies in the start directory; or the mode besides the grant. Return: 1
 * when that is all, 0, or -ENOMEM. */
static int fill_mode(const struct resolved *resolved, struct denial *denial)
{
    const struct policy *policy = resolved->policy;
    const char *workspace = resolved->workspace;

    if (policy->locked >> KEY_MODE & 1)
        return 1;
    if (workspace && path_contains(workspace, denial->path)) {
        denial->key = "mode";
        denial->value = strdup(mode_name(MODE_WORKSPACE_WRITE));
    } else if (!workspace && resolved->cwd && path_contains(resolved->cwd, denial->path) &&
               !(policy->locked >> KEY_WORKSPACE & 1) && utf8_valid(resolved->cwd) &&
               !is_wide(resolved, resolved->cwd) && !never_grants(resolved, LIST_WRITE, resolved->cwd)) {
        denial->key = "workspace";
        denial->value = strdup(resolved->cwd);
    } else {
        denial->writes = true;
        return 0;
    }
    return denial->value ? 1 : -ENOMEM;
}

/* The list of a policy that an entry would have granted it in. */
static enum list find_list(const struct denial *denial, enum denial_rule rule)
{
    if (rule == DENIAL_BY_PROTECT)
        return LIST_UNPROTECT;
    if (rule == DENIAL_BY_HIDE)
        return LIST_SHOW;
    if (denial->surface == SURFACE_UNIX_PATH)
        return LIST_SOCKETS;
    return denial->operation == DENIAL_READ || denial->operation == DENIAL_EXECUTE ? LIST_READ : LIST_WRITE;
}

/* That entry. Return: owned; NULL: nothing, or errno says that there is no memory. */
static char *find_value(const struct resolved *resolved, struct denial *denial, enum list list, size_t index,
                        struct text *wide)
{
    errno = 0;
    if (list == LIST_UNPROTECT)
        return find_unprotect(resolved, denial, index, &denial->also);
    return list == LIST_SHOW || list == LIST_SOCKETS ? strdup(denial->path)
                                                     : find_grant(resolved, denial, wide);
}

/* The git directory of a repository in which the workspace lies, as a directory of it: what `git commit`
 * writes there is granted with the repository as the workspace, which is instead of the one that was named.
 * Hooks are not. Return: 0 or -ENOMEM. */
static int fill_repository(const struct resolved *resolved, struct denial *denial)
{
    static const char git[] = "/.git";
    struct risk risk;

    if (!resolved->workspace || resolved->policy->locked >> KEY_WORKSPACE & 1 ||
        risk_find(resolved->home, resolved->env.items, LIST_WRITE, denial->path, &risk))
        return 0;
    for (const char *at = strstr(denial->path, git); at; at = strstr(at + 1, git)) {
        _cleanup_free_ char *top = strndup(denial->path, (size_t)(at - denial->path));
        char next = at[sizeof(git) - 1];

        if (!top)
            return -ENOMEM;
        if ((next != '/' && next != '\0') || !*top || strcmp(top, resolved->workspace) == 0 ||
            !path_contains(top, resolved->workspace) || is_wide(resolved, top) || !utf8_valid(top) ||
            never_grants(resolved, LIST_WRITE, top))
            continue;
        return asprintf(&denial->other_way, "--workspace %s instead has the repository as the workspace",
                        QUOTE(top)) < 0
                   ? -ENOMEM
                   : 0;
    }
    return 0;
}

int denial_fill_grant(const struct resolved *resolved, struct denial *denial, enum denial_rule rule,
                      size_t index)
{
    const enum list list = find_list(denial, rule);
    const bool locked = resolved->policy->locked_lists >> list & 1;
    struct text wide = {0};
    int r;

    if (denial->by_mode || denial->surface == SURFACE_FS_DEVICE || rule == DENIAL_BY_KIND ||
        (denial->path && is_kernels(denial->path)))
        return 0;
    if (denial->address)
        return fill_network(resolved, denial);
    if (resolved->mode == MODE_READ_ONLY && list == LIST_WRITE) {
        r = fill_mode(resolved, denial);
        if (r != 0)
            return r < 0 ? r : 0;
    }
    if (list == LIST_WRITE && rule == DENIAL_BY_DEFAULT && fill_repository(resolved, denial) < 0)
        return -ENOMEM;
    denial->value = find_value(resolved, denial, list, index, &wide);
    if (!denial->value && errno)
        return -ENOMEM;
    /* An option that is shown works. No policy file can name what is no UTF-8, and what it would name instead
     * is another path. */
    if (denial->value &&
        (!utf8_valid(denial->value) || locked ||
         ((list == LIST_WRITE || list == LIST_SOCKETS) && never_grants(resolved, list, denial->value)))) {
        if (utf8_valid(denial->value) && !locked)
            text_addf(&wide, "would be refused for %s, whoever asks", QUOTE(denial->value));
        free(denial->value);
        denial->value = NULL;
    }
    denial->key = denial->value ? list_name(list) : NULL;
    r = weigh_grant(resolved, denial, list, &wide);
    denial->writes = denial->writes && denial->key;
    text_free(&wide);
    return r;
}

/* Is the host at AT, of LENGTH bytes, one that ssh is to reach? `ssh://git@HOST/x`, `git@HOST:x`, `HOST:x`
 * and `git@HOST` are; what has a port or another scheme is not. */
static bool is_ssh_host(const char *word, const char *at, size_t length)
{
    static const char scheme[] = "ssh://";
    const char *begin = at, *colon;
    char next = at[length];

    while (begin > word && !strchr(" \t\n\"'=", begin[-1]))
        begin--;
    colon = strstr(begin, "://");
    if (colon && colon < at)
        return strncmp(begin, scheme, sizeof(scheme) - 1) == 0 && (at[-1] == '/' || at[-1] == '@');
    if (begin < at && at[-1] != '@')
        return false;
    return next == ':' ? !strchr("0123456789", at[length + 1])
                       : begin < at && (next == '\0' || strchr(" \t\n\"'", next));
}

/* Does the command's own text say that ssh is to reach the host, and no more than that? */
static bool is_for_ssh(char *const *command, const char *host)
{
    size_t length = strlen(host);
    bool found = false;

    for (size_t i = 0; command && command[i]; i++)
        for (const char *at = strstr(command[i], host); at; at = strstr(at + 1, host)) {
            if (!is_ssh_host(command[i], at, length))
                return false;
            found = true;
        }
    return found;
}

/* A session with a list takes rules for all of its runs; all else was chosen at its start. Return: 0 or
 * -ENOMEM. */
static int grant_in_session(const struct resolved *resolved, const char *front, const char *rule,
                            struct denial *denial)
{
    bool live = strcmp(front, "--allow ") == 0 && resolved->policy->network == NETWORK_LISTED;
    int r = live ? asprintf(&denial->other_way, "confine session allow %s %s", resolved->session->name,
                            QUOTE(rule))
                 : asprintf(&denial->other_way, "%s%s at confine session start", front, QUOTE(rule));

    return r < 0 ? -ENOMEM : 0;
}

/* The gateway knows best what would have let it through. */
int denial_take_option(const struct resolved *resolved, const char *option, char *const *command,
                       struct denial *denial)
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
        if (resolved->session) /* an option of a run adds nothing to it */
            return grant_in_session(resolved, options[i].front, option + length, denial);
        denial->key = options[i].key;
        if (denial_is_name_alone(denial) && is_for_ssh(command, denial->address))
            return asprintf(&denial->value, "%s:%d", option + length, SSH_PORT) < 0 ? -ENOMEM : 0;
        denial->value = strdup(option + length);
        return denial->value ? 0 : -ENOMEM;
    }
    return 0;
}

static const struct {
    const char *key, *option;
} grant_options[] = {
    {"mode", "--mode"},           {"read", "--read"},           {"write", "--write"},
    {"show", "--show"},           {"unprotect", "--unprotect"}, {"sockets", "--socket"},
    {"workspace", "--workspace"}, {"network", "--network"},     {"allow", "--allow"},
    {"forward", "--forward"},
};

void denial_option_of(const char *key, const char *value, struct text *text)
{
    for (size_t i = 0; i < ARRAY_SIZE(grant_options); i++)
        if (strcmp(grant_options[i].key, key) == 0)
            text_addf(text, "%s%s %s", text->length > 0 ? " " : "", grant_options[i].option, QUOTE(value));
}

void denial_option(const struct denial *denial, struct text *text)
{
    if (denial->key && denial->writes)
        denial_option_of("mode", mode_name(MODE_WORKSPACE_WRITE), text);
    if (denial->key)
        denial_option_of(denial->key, denial->value, text);
    if (denial->key && denial->also)
        denial_option_of(denial->key, denial->also, text);
}

/* A rule of a name: `private:` is none. */
static bool has_port(const char *rule)
{
    const char *colon = strrchr(rule, ':');

    return colon && colon[1] >= '0' && colon[1] <= '9';
}

void denial_advise(const struct denial *denial, struct text *text)
{
    denial_option(denial, text);
    if (denial->key && strcmp(denial->key, "allow") == 0 && denial_is_name_alone(denial) &&
        !has_port(denial->value))
        text_addf(text, " (ports 443 and 80; for ssh --allow %s:%d)", QUOTE(denial->value), SSH_PORT);
    if (denial->key && denial->warning)
        text_addf(text, ", which %s", denial->warning);
}

/* The grant as a piece of a policy file. */
void denial_write_grant(struct writer *writer, const struct denial *denial)
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
    } else if (strcmp(denial->key, "workspace") == 0) {
        writer_text(writer, "mode", mode_name(MODE_WORKSPACE_WRITE));
        writer_text(writer, "workspace", denial->value);
    } else {
        if (denial->writes)
            writer_text(writer, "mode", mode_name(MODE_WORKSPACE_WRITE));
        writer_array(writer, denial->key);
        writer_text(writer, NULL, denial->value);
        if (denial->also)
            writer_text(writer, NULL, denial->also);
        writer_end(writer);
    }
    writer_end(writer);
    denial_option(denial, &option);
    writer->text.failed |= option.failed;
    writer_text(writer, "grant_option", option.data);
    text_free(&option);
}
