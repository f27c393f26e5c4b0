/*
 * resolve_env.c - the command's environment, built from the caller's.
 *
 * Should:  take away what looks like a secret, by name, and say which names.
 * Mustn't: keep anything of a variable that was taken away, or let a variable
 *          of the caller widen what the policy grants.
 */
#include "policy/resolve_internal.h"

#include <strings.h>

const char *const clean_names[] = {"PATH", "HOME",      "USER",     "LOGNAME", "SHELL", "LANG",
                                   "TERM", "COLORTERM", "NO_COLOR", "TZ",      NULL};

/* Names that are never handed down: a way out of the machine, or of no use to another user. */
static const char always_unset[] = "WSL_INTEROP";
static const char *const user_names[] = {"HOME", "USER", "LOGNAME", "SHELL", "MAIL", "XDG_RUNTIME_DIR"};

static bool is_name(const char *text, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(text, name, length) == 0;
}

static bool is_clean_name(const char *text, size_t length)
{
    for (size_t i = 0; clean_names[i]; i++)
        if (is_name(text, length, clean_names[i]))
            return true;
    return length > 3 && memcmp(text, "LC_", 3) == 0;
}

static bool is_user_name(const char *text, size_t length)
{
    for (size_t i = 0; i < ARRAY_SIZE(user_names); i++)
        if (is_name(text, length, user_names[i]))
            return true;
    return false;
}

/* Does the list name the variable? A value of the form NAME=VALUE counts by its name. */
static bool is_listed(const struct entries *entries, const char *text, size_t length)
{
    for (size_t i = 0; i < entries->count; i++) {
        const char *value = entries->items[i].value;

        if (entry_in_force(entries, i) && strcspn(value, "=") == length && memcmp(value, text, length) == 0)
            return true;
    }
    return false;
}

/* Is @secrets taken away? In danger-full-access only if somebody asked for it by name. */
static bool takes_secrets(const struct resolving *resolving)
{
    const struct entries *entries = &resolving->policy->list[LIST_ENV_UNSET];
    bool danger = resolving->resolved->mode == MODE_DANGER_FULL_ACCESS;

    for (size_t i = 0; i < entries->count; i++)
        if (strcmp(entries->items[i].value, "@secrets") == 0 && entry_in_force(entries, i) &&
            (!danger || origin_named(entries->items[i].origin)))
            return true;
    return false;
}

/* What leads programs to a proxy out there. With a list they need none, and would look for that one in vain.
 */
static bool is_proxy_name(const char *text, size_t length)
{
    static const char *const names[] = {"http_proxy",
                                        "https_proxy",
                                        "ftp_proxy",
                                        "all_proxy",
                                        "no_proxy",
                                        "grpc_proxy",
                                        "npm_config_proxy",
                                        "npm_config_http_proxy",
                                        "npm_config_https_proxy",
                                        "npm_config_noproxy"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strlen(names[i]) == length && strncasecmp(names[i], text, length) == 0)
            return true;
    return false;
}

enum fate { FATE_UNSET = 0, FATE_SECRET, FATE_REPLACED, FATE_KEPT };

static enum fate decide(const struct resolving *resolving, const char *text, size_t length, bool secrets)
{
    const struct policy *policy = resolving->policy;

    if (is_listed(&policy->list[LIST_ENV_SET], text, length))
        return FATE_REPLACED;
    if (is_name(text, length, always_unset) && resolving->resolved->mode != MODE_DANGER_FULL_ACCESS)
        return FATE_UNSET;
    if (is_listed(&policy->list[LIST_ENV_UNSET], text, length))
        return FATE_UNSET;
    if (is_listed(&policy->list[LIST_ENV_PASS], text, length))
        return FATE_KEPT;
    if (policy->network == NETWORK_LISTED && resolving->resolved->mode != MODE_DANGER_FULL_ACCESS &&
        is_proxy_name(text, length))
        return FATE_UNSET;
    if (secrets && secret_name(text, length))
        return FATE_SECRET;
    if (policy->env_clean && !is_clean_name(text, length))
        return FATE_REPLACED; /* not worth a word: everything was asked to go */
    if (resolving->resolved->switch_user && is_user_name(text, length))
        return FATE_REPLACED;
    return FATE_KEPT;
}

static int take_variable(struct resolving *resolving, const char *variable, bool secrets)
{
    struct resolved *resolved = resolving->resolved;
    size_t length = strcspn(variable, "=");
    _cleanup_free_ char *name = NULL;
    enum fate fate;
    int r = 0;

    if (length == 0 || variable[length] != '=')
        return 0; /* no variable at all: no program could ask for it by name */
    fate = decide(resolving, variable, length, secrets);
    if (fate == FATE_KEPT)
        return strings_add(&resolved->env, variable);
    if (fate == FATE_REPLACED)
        return 0;
    name = strndup(variable, length);
    if (!name)
        return -ENOMEM;
    if (!strings_have(&resolved->env_unset, name))
        r = strings_add(&resolved->env_unset, name);
    if (r == 0 && fate == FATE_SECRET && !strings_have(&resolved->env_secrets, name))
        r = strings_add(&resolved->env_secrets, name);
    return r;
}

/* The caller's HOME stays if it is the command's user's own, as for the caches. Return: 1 yes, 0 no, -ENOMEM.
 */
static int keeps_home(const struct resolving *resolving)
{
    _cleanup_opened_ struct opened home = {.fd = -1};
    int r = resolving->env_home ? path_open(resolving->env_home, &home) : -ENOENT;

    if (r == -ENOMEM)
        return r;
    return r == 0 && S_ISDIR(home.st.st_mode) && home.st.st_uid == resolving->resolved->uid;
}

/* HOME, for a command that runs as another user. */
static int add_home(struct resolving *resolving, const struct account *account)
{
    struct strings *env = &resolving->resolved->env;
    int keep;

    if (env_value(env->items, "HOME") || is_listed(&resolving->policy->list[LIST_ENV_SET], "HOME", 4))
        return 0; /* passed or set by name */
    keep = keeps_home(resolving);
    if (keep < 0)
        return keep;
    if (keep)
        return strings_addf(env, "HOME=%s", resolving->env_home);
    if (!account) /* a uid without an entry has none; `/` is what programs take then */
        return strings_add(env, "HOME=/");
    return strings_addf(env, "HOME=%.*s", (int)account->home_length, account->home);
}

/* A login shell that starts nothing would make every tool that runs $SHELL (gdb, make, tmux) fail. */
static bool starts_nothing(const struct account *account)
{
    static const char *const names[] = {"/nologin", "/false"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        size_t length = strlen(names[i]);

        if (account->shell_length > length &&
            memcmp(account->shell + account->shell_length - length, names[i], length) == 0)
            return true;
    }
    return account->shell_length == 0;
}

/* HOME, USER, LOGNAME and SHELL of the user that the command runs as, unless they are set by name. */
static int add_user(struct resolving *resolving)
{
    struct strings *env = &resolving->resolved->env;
    const struct entries *set = &resolving->policy->list[LIST_ENV_SET];
    struct account account;
    bool known = account_find(resolving->passwd, resolving->resolved->uid, &account);
    int r = add_home(resolving, known ? &account : NULL);

    if (r == 0 && known && !is_listed(set, "USER", 4))
        r = strings_addf(env, "USER=%.*s", (int)account.name_length, account.name);
    if (r == 0 && known && !is_listed(set, "LOGNAME", 7))
        r = strings_addf(env, "LOGNAME=%.*s", (int)account.name_length, account.name);
    if (r == 0 && known && !starts_nothing(&account) && !is_listed(set, "SHELL", 5))
        r = strings_addf(env, "SHELL=%.*s", (int)account.shell_length, account.shell);
    return r;
}

bool variable_of_temp(const char *name, size_t length)
{
    static const char *const names[] = {"TMPDIR", "TMP", "TEMP", "TMPPREFIX"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (is_name(name, length, names[i]))
            return true;
    return false;
}

/* These say where it is, whatever was set. */
static int refuse_temp(struct resolving *resolving, const struct entry *entry, size_t length)
{
    struct asked asked = asked_entry(entry, LIST_ENV_SET);

    if (resolving->resolved->mode == MODE_DANGER_FULL_ACCESS || /* it has no temp directory of its own */
        !variable_of_temp(entry->value, length))
        return 0;
    error_set(resolving->error, ERROR_POLICY_INVALID, 0, "environment-temp",
              "%s %s: %.*s names the temp directory of the run", asked.by, QUOTE(entry->value), (int)length,
              entry->value);
    return error_hint(resolving->error, "choose that one: --tmp DIR");
}

/* NAME=VALUE of the policy; the last one of a name counts. */
static int add_set(struct resolving *resolving)
{
    const struct entries *entries = &resolving->policy->list[LIST_ENV_SET];

    for (size_t i = 0; i < entries->count; i++) {
        const char *value = entries->items[i].value;
        size_t length = strcspn(value, "=");
        struct entries later = {entries->items + i + 1, entries->count - i - 1};

        if (!entry_in_force(entries, i) || is_listed(&later, value, length))
            continue;
        if (length == 0 || value[length] != '=') {
            struct asked asked = asked_entry(&entries->items[i], LIST_ENV_SET);

            error_set(resolving->error, ERROR_POLICY_INVALID, 0, "environment-invalid",
                      "%s %s: not of the form NAME=VALUE", asked.by, QUOTE(value));
            return error_hint(resolving->error, "write --env NAME=VALUE");
        }
        if (refuse_temp(resolving, &entries->items[i], length) < 0)
            return -EINVAL;
        if (strings_add(&resolving->resolved->env, value) < 0)
            return error_no_memory(resolving->error);
    }
    return 0;
}

int resolve_env(struct resolving *resolving)
{
    bool secrets = takes_secrets(resolving);
    int r = 0;

    for (char *const *variable = resolving->env; variable && *variable && r == 0; variable++)
        r = take_variable(resolving, *variable, secrets);
    if (r == 0 && resolving->resolved->switch_user)
        r = add_user(resolving);
    if (r < 0)
        return error_no_memory(resolving->error);
    return add_set(resolving);
}
