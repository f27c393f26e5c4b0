/*
 * codex_profile.c - what is in force by the settings of codex.
 *
 * Should:  put together a mode of older days, or a profile and those that it extends, as codex-cli 0.171 was
 *          seen to: `sandbox_mode` comes before `default_permissions`, and `sandbox_workspace_write` is for
 *          that mode alone.
 * Mustn't: go round in a circle.
 */
#include "policy/codex_profile.h"

#include <errno.h>
#include <string.h>

#define EXTENDS_MOST 16

/* What codex has built in. */
static const struct {
    const char *name;
    const char *profile;
} builtins[] = {
    {":read-only", "{\"filesystem\": {\":root\": \"read\"}}"},
    {":workspace", "{\"filesystem\": {\":root\": \"read\", \":workspace_roots\": \"write\", \":slash_tmp\": "
                   "\"write\", \":tmpdir\": \"write\"}}"},
};

struct choosing {
    struct converting *converting;
    json_t *profile; /* what is being put together */
};

bool codex_full(const char *path)
{
    return path[0] == '/' || (path[0] == '~' && (path[1] == '/' || path[1] == '\0'));
}

static int add_builtin(struct choosing *choosing, const char *name, struct error *error)
{
    for (size_t i = 0; i < ARRAY_SIZE(builtins); i++)
        if (strcmp(builtins[i].name, name) == 0) {
            json_t *profile = json_loads(builtins[i].profile, 0, NULL);
            int r = profile ? json_object_update_recursive(choosing->profile, profile) : -1;

            json_decref(profile);
            return r == 0 ? 0 : error_no_memory(error);
        }
    return converting_wrong(choosing->converting, QUOTE(name),
                            "the name of a profile that there is and that can be extended", error);
}

/* What profile NAME says itself. */
static int add_own(struct choosing *choosing, const char *name, const json_t *profile, struct error *error)
{
    static const char *const parts[] = {"filesystem", "network", "workspace_roots"};
    json_t *copy, *part;
    const char *key;
    int r = 0;

    json_object_foreach((json_t *)(uintptr_t)profile, key, part)
    {
        bool known = false;

        for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
            known = known || strcmp(parts[i], key) == 0;
        if (known && !json_is_object(part))
            return converting_wrong(choosing->converting, key, "a table", error);
        if (!known && strcmp(key, "extends") != 0 && strcmp(key, "description") != 0)
            converting_note(choosing->converting, "permissions: %s in %s has no equal here", QUOTE(key),
                            QUOTE(name));
    }
    copy = json_deep_copy(profile);
    if (!copy || json_object_update_recursive(choosing->profile, copy) != 0)
        r = error_no_memory(error);
    json_decref(copy);
    return r;
}

/* Profile NAME, and before it those that it extends. */
static int add_profile(struct choosing *choosing, const json_t *permissions, const char *name,
                       struct error *error)
{
    const char *way[EXTENDS_MOST];
    size_t count = 0;

    while (name[0] != ':') {
        const json_t *profile = json_object_get(permissions, name);
        const json_t *extends = json_object_get(profile, "extends");

        if (!json_is_object(profile))
            return converting_wrong(choosing->converting, "default_permissions",
                                    "the name of a profile that there is", error);
        if (count == EXTENDS_MOST)
            return converting_wrong(choosing->converting, "extends", "no circle", error);
        way[count++] = name;
        if (!extends)
            break;
        if (!json_is_string(extends))
            return converting_wrong(choosing->converting, "extends", "the name of a profile", error);
        name = json_string_value(extends);
    }
    if (name[0] == ':') {
        int r = add_builtin(choosing, name, error);

        if (r < 0)
            return r;
    }
    while (count-- > 0) {
        int r = add_own(choosing, way[count], json_object_get(permissions, way[count]), error);

        if (r < 0)
            return r;
    }
    return 0;
}

static int set_access(struct choosing *choosing, const char *path, const char *access, struct error *error)
{
    json_t *filesystem = json_object_get(choosing->profile, "filesystem");

    if (access ? json_object_set_new(filesystem, path, json_string(access)) != 0
               : json_object_get(filesystem, path) && json_object_del(filesystem, path) != 0)
        return error_no_memory(error);
    return 0;
}

/* sandbox_mode = "workspace-write", with what stands beside it. */
static int add_workspace_write(struct choosing *choosing, const json_t *options, struct error *error)
{
    const json_t *roots = json_object_get(options, "writable_roots"), *root;
    int r = add_builtin(choosing, ":workspace", error);
    size_t i;

    if (r == 0 && options && !json_is_object(options))
        r = converting_wrong(choosing->converting, "sandbox_workspace_write", "a table", error);
    if (r == 0 && roots && !json_is_array(roots))
        r = converting_wrong(choosing->converting, "writable_roots", "an array of texts", error);
    if (r == 0 && json_is_true(json_object_get(options, "exclude_slash_tmp")))
        r = set_access(choosing, ":slash_tmp", NULL, error);
    if (r == 0 && json_is_true(json_object_get(options, "exclude_tmpdir_env_var")))
        r = set_access(choosing, ":tmpdir", NULL, error);
    if (r == 0 && json_is_true(json_object_get(options, "network_access")) &&
        json_object_set_new(choosing->profile, "network", json_pack("{s:b}", "enabled", 1)) != 0)
        r = error_no_memory(error);
    if (r < 0)
        return r;
    json_array_foreach(roots, i, root)
    {
        const char *path = json_string_value(root);

        if (!path)
            return converting_wrong(choosing->converting, "writable_roots", "an array of texts", error);
        if (!codex_full(path))
            converting_note(choosing->converting, "writable_roots: %s is left out: write the whole path",
                            QUOTE(path));
        else if (set_access(choosing, path, "write", error) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int add_mode(struct choosing *choosing, const json_t *root, const char *mode, struct error *error)
{
    const json_t *options = json_object_get(root, "sandbox_workspace_write");

    if (json_object_get(root, "default_permissions"))
        converting_note(choosing->converting,
                        "default_permissions: not in force there while sandbox_mode is set");
    if (strcmp(mode, "workspace-write") == 0)
        return add_workspace_write(choosing, options, error);
    if (options)
        converting_note(choosing->converting, "sandbox_workspace_write: not in force there in mode %s",
                        QUOTE(mode));
    if (strcmp(mode, "read-only") == 0)
        return add_builtin(choosing, ":read-only", error);
    return strcmp(mode, "danger-full-access") == 0
               ? 1
               : converting_wrong(choosing->converting, "sandbox_mode",
                                  "read-only, workspace-write or danger-full-access", error);
}

int codex_profile(struct converting *converting, const json_t *root, json_t *profile, struct error *error)
{
    struct choosing choosing = {converting, profile};
    const json_t *mode = json_object_get(root, "sandbox_mode"),
                 *name = json_object_get(root, "default_permissions");
    const json_t *permissions = json_object_get(root, "permissions");

    if (mode && !json_is_string(mode))
        return converting_wrong(converting, "sandbox_mode", "a text", error);
    if (mode)
        return add_mode(&choosing, root, json_string_value(mode), error);
    if (json_object_get(root, "sandbox_workspace_write"))
        converting_note(
            converting,
            "sandbox_workspace_write: not in force there without sandbox_mode = \"workspace-write\"");
    if (!name && !permissions) {
        converting_note(converting, "sandbox_mode: not set: there it depends on whether the project is "
                                    "trusted, here nothing can be written");
        return add_builtin(&choosing, ":read-only", error);
    }
    if (!json_is_string(name))
        return converting_wrong(converting, "default_permissions", "the name of a profile", error);
    return strcmp(json_string_value(name), ":danger-full-access") == 0
               ? 1
               : add_profile(&choosing, permissions, json_string_value(name), error);
}
