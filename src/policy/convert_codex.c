/*
 * convert_codex.c - the settings of codex as a policy of ours.
 *
 * Should:  make of each entry of the profile in force one of ours, or say why not.
 * Mustn't: make a policy that is wider than what it was made from without saying so.
 */
#include "policy/convert.h"

#include "policy/codex_environment.h"
#include "policy/codex_profile.h"
#include "policy/converting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum access { ACCESS_DENY = 0, ACCESS_READ, ACCESS_WRITE };

static const struct {
    const char *name;
    enum access access;
} accesses[] = {{"deny", ACCESS_DENY}, {"none", ACCESS_DENY}, {"read", ACCESS_READ}, {"write", ACCESS_WRITE}};

/* Settings that speak of the sandbox; all others are only named. */
static const char *const looked_at[] = {"sandbox_mode",
                                        "sandbox_workspace_write",
                                        "default_permissions",
                                        "permissions",
                                        "shell_environment_policy",
                                        "profile",
                                        "profiles",
                                        "projects",
                                        "sandbox_permissions"};

struct codex {
    struct converting converting;
    json_t *profile;              /* put together; owned */
    struct strings read, written; /* full paths */
};

/* --- files
 * -------------------------------------------------------------------------------------------------- */

static int read_access(const struct codex *codex, const char *path, const json_t *value, enum access *ret,
                       struct error *error)
{
    const char *text = json_string_value(value);

    for (size_t i = 0; text && i < ARRAY_SIZE(accesses); i++)
        if (strcmp(accesses[i].name, text) == 0) {
            *ret = accesses[i].access;
            return 0;
        }
    return converting_wrong(&codex->converting, QUOTE(path), "read, write or deny", error);
}

static void grant(struct codex *codex, const char *path, enum access access)
{
    static const char *const keys[] = {
        [ACCESS_DENY] = "hide", [ACCESS_READ] = "read", [ACCESS_WRITE] = "write"};
    struct converting *converting = &codex->converting;
    _cleanup_free_ char *full = NULL;

    full = converting_full(converting, "filesystem", path);
    if (!full && access == ACCESS_DENY)
        converting_note(converting, "filesystem: WIDER: what %s names can be read here", QUOTE(path));
    if (!full)
        return;
    if (access == ACCESS_WRITE)
        converting_writable(converting, "filesystem", path, keys[access]);
    else
        converting_path(converting, "filesystem", path, keys[access]);
    if (access != ACCESS_DENY &&
        strings_add(access == ACCESS_READ ? &codex->read : &codex->written, full) < 0)
        converting->failed = -ENOMEM;
}

/* ROOT with an access of its own, or with one for each of some paths below it. */
static int grant_each(struct codex *codex, const char *root, const json_t *value, struct error *error)
{
    enum access access = ACCESS_DENY;
    const char *below;
    json_t *inner;
    int r;

    if (!json_is_object(value)) {
        r = read_access(codex, root, value, &access, error);
        if (r == 0)
            grant(codex, root, access);
        return r;
    }
    json_object_foreach((json_t *)(uintptr_t)value, below, inner)
    {
        _cleanup_free_ char *path =
            strcmp(below, ".") == 0 ? strdup(root) : text_join(root, "/", below, NULL);

        if (!path)
            return error_no_memory(error);
        if (below[0] == '/' || strncmp(below, "../", 3) == 0 || strstr(below, "/..") ||
            strcmp(below, "..") == 0)
            return converting_wrong(&codex->converting, QUOTE(below), "a path below another", error);
        r = read_access(codex, path, inner, &access, error);
        if (r < 0)
            return r;
        grant(codex, path, access);
    }
    return 0;
}

/* `:workspace_roots`: the directory, and what the profile names beside it. */
static int grant_roots(struct codex *codex, const json_t *value, struct error *error)
{
    const json_t *roots = json_object_get(codex->profile, "workspace_roots");
    const char *path;
    json_t *enabled;
    int r = grant_each(codex, codex->converting.directory, value, error);

    json_object_foreach((json_t *)(uintptr_t)roots, path, enabled)
    {
        if (r < 0 || !json_is_true(enabled))
            continue;
        if (!codex_full(path))
            converting_note(&codex->converting, "workspace_roots: %s is left out: write the whole path",
                            QUOTE(path));
        else
            r = grant_each(codex, path, value, error);
    }
    return r;
}

/* A name that begins with a colon. */
static int grant_special(struct codex *codex, const char *name, const json_t *value, struct error *error)
{
    enum access access = ACCESS_DENY;
    int r;

    if (strcmp(name, ":workspace_roots") == 0)
        return grant_roots(codex, value, error);
    if (strcmp(name, ":root") != 0 && strcmp(name, ":minimal") != 0 && strcmp(name, ":tmpdir") != 0 &&
        strcmp(name, ":slash_tmp") != 0) {
        converting_note(&codex->converting,
                        "filesystem: %s is a name that codex does not know either, and ignores", QUOTE(name));
        return 0;
    }
    if (json_is_object(value)) {
        converting_note(&codex->converting,
                        "filesystem: paths below %s have no equal here: name them as they are", name);
        return 0;
    }
    r = read_access(codex, name, value, &access, error);
    if (r == 0 && access == ACCESS_WRITE && strcmp(name, ":root") == 0)
        converting_note(
            &codex->converting,
            "filesystem: :root cannot be written here; --mode danger-full-access is no sandbox at all");
    else if (r == 0 && access == ACCESS_WRITE && strcmp(name, ":minimal") == 0)
        converting_note(&codex->converting, "filesystem: :minimal cannot be written here");
    else if (r == 0 && access != ACCESS_READ && strcmp(name, ":root") != 0 && strcmp(name, ":minimal") != 0)
        converting_note(&codex->converting,
                        "filesystem: %s is the run's own and private here, and can be written; --write /tmp "
                        "opens the machine's",
                        name);
    return r;
}

/* May PATH lie in what can be written? Nobody knows here where `~` is. */
static bool is_inside(const struct codex *codex, const char *path)
{
    for (size_t i = 0; i < codex->written.count; i++)
        if (path_contains(codex->written.items[i], path) ||
            (codex->written.items[i][0] == '~') != (path[0] == '~'))
            return true;
    return false;
}

/* What is readable in a tree that can be written. Here that is protected, and nothing in it can be written
 * again. */
static void hold_read(struct codex *codex)
{
    struct converting *converting = &codex->converting;

    for (size_t i = 0; i < codex->read.count; i++) {
        const char *path = codex->read.items[i];

        if (!is_inside(codex, path))
            continue;
        converting_path(converting, "filesystem", path, "protect");
        for (size_t j = 0; j < codex->written.count; j++)
            if (path_contains(path, codex->written.items[j]) && strcmp(path, codex->written.items[j]) != 0)
                converting_note(converting,
                                "filesystem: %s cannot be written here, because %s around it is read-only",
                                QUOTE(codex->written.items[j]), QUOTE(path));
    }
    if (codex->written.count > 0)
        converting_note(
            converting,
            "filesystem: WIDER: .git, .agents and .codex in what can be written are read-only there as a "
            "whole, here what runs something later, and .git/config is looked at when the run ends; "
            "--protect .git "
            "does the same, and no commit works");
}

static int convert_filesystem(struct codex *codex, struct error *error)
{
    const json_t *filesystem = json_object_get(codex->profile, "filesystem");
    const char *root = json_string_value(json_object_get(filesystem, ":root"));
    const char *path;
    json_t *value;
    int r = 0;

    if (!root || strcmp(root, "deny") == 0 || strcmp(root, "none") == 0)
        converting_set(&codex->converting, NULL, "readable", json_string("listed"));
    json_object_foreach((json_t *)(uintptr_t)filesystem, path, value)
    {
        if (path[0] == ':')
            r = grant_special(codex, path, value, error);
        else if (strcmp(path, "glob_scan_max_depth") == 0)
            continue; /* of patterns, which are noted one by one */
        else if (!codex_full(path))
            r = converting_wrong(&codex->converting, QUOTE(path), "absolute, or begin with ~/ or a colon",
                                 error);
        else
            r = grant_each(codex, path, value, error);
        if (r < 0)
            return r;
    }
    hold_read(codex);
    if (codex->written.count == 0)
        converting_set(&codex->converting, NULL, "mode", json_string("read-only"));
    return 0;
}

/* --- network
 * ------------------------------------------------------------------------------------------------ */

/* One name of `domains`. Return: does it allow every host? */
static bool convert_domain(struct converting *converting, const char *name, const char *access)
{
    if (strcmp(access, "allow") != 0) {
        converting_note(converting,
                        "domains: WIDER: %s cannot be taken out of a list here; if a rule with a star allows "
                        "it, name the hosts instead",
                        QUOTE(name));
        return false;
    }
    if (strcmp(name, "*") == 0)
        return true;
    if (strncmp(name, "**.", 3) == 0) { /* the name and all below it */
        converting_rule(converting, "domains", name + 3, "");
        converting_rule(converting, "domains", name + 1, "");
    } else {
        converting_rule(converting, "domains", name, "");
    }
    return false;
}

static int convert_domains(struct codex *codex, const json_t *domains, bool *ret_all, struct error *error)
{
    const char *name;
    json_t *access;

    json_object_foreach((json_t *)(uintptr_t)domains, name, access)
    {
        if (!json_is_string(access))
            return converting_wrong(&codex->converting, QUOTE(name), "allow or deny", error);
        *ret_all = convert_domain(&codex->converting, name, json_string_value(access)) || *ret_all;
    }
    return 0;
}

/* Everything else of `network`. */
static void note_network(struct converting *converting, const json_t *network)
{
    static const struct {
        const char *name, *note;
    } notes[] = {
        {"allow_local_binding",
         "a command may always listen on a loopback of its own here; --publish leads to it"},
        {"dangerously_allow_all_unix_sockets", "sockets are opened one by one here: name each in `sockets`"},
        {"allow_upstream_proxy", "say --upstream URL"},
    };
    const char *name, *path;
    json_t *value, *access;

    json_object_foreach((json_t *)(uintptr_t)network, name, value)
    {
        const char *note = "there is no proxy of one's own here: the gateway decides by itself";

        if (strcmp(name, "enabled") == 0 || strcmp(name, "domains") == 0 ||
            strcmp(name, "unix_sockets") == 0 || converting_empty(value))
            continue;
        for (size_t i = 0; i < ARRAY_SIZE(notes); i++)
            if (strcmp(notes[i].name, name) == 0)
                note = notes[i].note;
        if (strcmp(name, "mode") == 0 && json_is_string(value))
            note = strcmp(json_string_value(value), "limited") == 0
                       ? "WIDER: nothing looks at the methods of HTTP here"
                       : NULL;
        if (note)
            converting_note(converting, "network: %s: %s", QUOTE(name), note);
    }
    json_object_foreach(json_object_get(network, "unix_sockets"), path, access)
    {
        if (json_is_string(access) && strcmp(json_string_value(access), "allow") == 0)
            converting_path(converting, "unix_sockets", path, "sockets");
    }
}

static int convert_network(struct codex *codex, struct error *error)
{
    const json_t *network = json_object_get(codex->profile, "network"),
                 *domains = json_object_get(network, "domains");
    bool enabled = json_is_true(json_object_get(network, "enabled")), all = false;
    int r = 0;

    if (!network)
        return 0;
    note_network(&codex->converting, network);
    if (domains && !json_is_object(domains))
        return converting_wrong(&codex->converting, "domains", "a table", error);
    if (!enabled && domains)
        converting_note(&codex->converting,
                        "domains: nothing is reached, there as here: enabled is not true");
    if (!enabled)
        return 0;
    r = convert_domains(codex, domains, &all, error);
    if (r == 0 && (all || json_object_size(domains) == 0)) {
        json_object_del(codex->converting.policy, "network");
        converting_set(&codex->converting, "network", "mode", json_string("host"));
    }
    return r;
}

/* --- the whole
 * ---------------------------------------------------------------------------------------------- */

/* Settings of other things, in one line. */
static void note_others(struct converting *converting, const json_t *root)
{
    struct text names = {0};
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)root, name, value)
    {
        bool known = false;

        for (size_t i = 0; i < ARRAY_SIZE(looked_at); i++)
            known = known || strcmp(looked_at[i], name) == 0;
        if (!known)
            text_addf(&names, "%s%s", names.length > 0 ? ", " : "", QUOTE(name));
    }
    if (names.length > 0)
        converting_note(converting, "not looked at, because it does not speak of the sandbox: %s",
                        names.data);
    if (names.failed)
        converting->failed = -ENOMEM;
    text_free(&names);
    if (json_object_get(root, "profile") || json_object_get(root, "profiles"))
        converting_note(
            converting,
            "profiles: not looked at: codex has each in a file of its own by now; convert NAME.config.toml");
    if (json_object_get(root, "projects"))
        converting_note(converting, "projects: there is no trust in a directory here");
    if (json_object_get(root, "sandbox_permissions"))
        converting_note(converting, "sandbox_permissions: codex does not know it any more");
}

static int convert_all(struct codex *codex, const json_t *root, struct error *error)
{
    int r = codex_profile(&codex->converting, root, codex->profile, error);

    if (r > 0) {
        r = 0;
        converting_set(&codex->converting, NULL, "mode", json_string("danger-full-access"));
        converting_note(&codex->converting, "danger-full-access: nothing is confined, there as here");
    } else if (r == 0) {
        r = convert_filesystem(codex, error);
        if (r == 0)
            r = convert_network(codex, error);
    }
    if (r == 0)
        r = codex_environment(&codex->converting, json_object_get(root, "shell_environment_policy"), error);
    if (r == 0)
        note_others(&codex->converting, root);
    return r;
}

int convert_codex(const char *file, const json_t *root, const char *directory, json_t **ret,
                  struct strings *notes, struct error *error)
{
    struct codex codex = {
        .converting = {.file = file, .whose = "codex", .directory = directory, .notes = notes},
        .profile = json_object()};
    int r = codex.profile ? converting_begin(&codex.converting, error) : error_no_memory(error);

    if (r == 0)
        r = convert_all(&codex, root, error);
    json_decref(codex.profile);
    strings_free(&codex.read);
    strings_free(&codex.written);
    return converting_end(&codex.converting, r, ret, error);
}
