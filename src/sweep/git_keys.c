/*
 * git_keys.c - the settings of git that run something, and the names of its hooks.
 *
 * Should:  know every key that names a command, a file of settings, or a place of hooks.
 * Mustn't: take for a plant what git writes by itself in an init, a clone or a submodule's update.
 */
#include "sweep/git_config.h"

#include <string.h>
#include <strings.h>

/* Which values do something. */
enum when {
    WHEN_SET = 0, /* any but an empty one */
    WHEN_COMMAND, /* not a truth value */
    WHEN_BANG,    /* begins with `!` */
    WHEN_HELPER,  /* an address that another program is asked to fetch */
};

struct key {
    const char *section;
    const char *name;
    bool subsection; /* `section.*.name` as well */
    enum when when;
    const char *runs;
};

#define COMMAND "git runs the command"
#define READS   "git reads more settings there"

static const struct key keys[] = {
    {"core", "fsmonitor", false, WHEN_COMMAND, "git runs it in every status"},
    {"core", "hookspath", false, WHEN_SET, "git runs the hooks in it"},
    {"core", "sshcommand", false, WHEN_SET, COMMAND},
    {"core", "pager", false, WHEN_SET, COMMAND},
    {"core", "editor", false, WHEN_SET, COMMAND},
    {"core", "askpass", false, WHEN_SET, COMMAND},
    {"core", "gitproxy", false, WHEN_SET, COMMAND},
    {"core", "alternaterefscommand", false, WHEN_SET, COMMAND},
    {"core", "attributesfile", false, WHEN_SET, "it names filters that git runs"},
    {"sequence", "editor", false, WHEN_SET, COMMAND},
    {"pager", "", true, WHEN_COMMAND, COMMAND},
    {"alias", "", true, WHEN_BANG, COMMAND},
    {"filter", "clean", true, WHEN_SET, "git runs it on files that it reads"},
    {"filter", "smudge", true, WHEN_SET, "git runs it on files that it writes"},
    {"filter", "process", true, WHEN_SET, "git runs it on files"},
    {"diff", "external", false, WHEN_SET, COMMAND},
    {"diff", "command", true, WHEN_SET, COMMAND},
    {"diff", "textconv", true, WHEN_SET, COMMAND},
    {"merge", "driver", true, WHEN_SET, COMMAND},
    {"mergetool", "cmd", true, WHEN_SET, COMMAND},
    {"mergetool", "path", true, WHEN_SET, COMMAND},
    {"difftool", "cmd", true, WHEN_SET, COMMAND},
    {"difftool", "path", true, WHEN_SET, COMMAND},
    {"guitool", "cmd", true, WHEN_SET, COMMAND},
    {"browser", "cmd", true, WHEN_SET, COMMAND},
    {"browser", "path", true, WHEN_SET, COMMAND},
    {"man", "cmd", true, WHEN_SET, COMMAND},
    {"man", "path", true, WHEN_SET, COMMAND},
    {"instaweb", "httpd", false, WHEN_SET, COMMAND},
    {"credential", "helper", true, WHEN_SET, "git runs it to ask for passwords"},
    {"gpg", "program", true, WHEN_SET, COMMAND},
    {"gpg", "defaultkeycommand", true, WHEN_SET, COMMAND},
    {"interactive", "difffilter", false, WHEN_SET, COMMAND},
    {"trailer", "command", true, WHEN_SET, COMMAND},
    {"trailer", "cmd", true, WHEN_SET, COMMAND},
    {"tar", "command", true, WHEN_SET, COMMAND},
    {"submodule", "update", true, WHEN_BANG, COMMAND},
    {"remote", "uploadpack", true, WHEN_SET, COMMAND},
    {"remote", "receivepack", true, WHEN_SET, COMMAND},
    {"remote", "vcs", true, WHEN_SET, "git runs the helper of this name"},
    {"remote", "url", true, WHEN_HELPER, "git runs the helper that the address names"},
    {"remote", "pushurl", true, WHEN_HELPER, "git runs the helper that the address names"},
    {"submodule", "url", true, WHEN_HELPER, "git runs the helper that the address names"},
    {"url", "insteadof", true, WHEN_SET, "git fetches from another place"},
    {"url", "pushinsteadof", true, WHEN_SET, "git sends to another place"},
    {"protocol", "allow", true, WHEN_SET, "git accepts helpers in addresses"},
    {"uploadpack", "packobjectshook", false, WHEN_SET, COMMAND},
    {"sendemail", "smtpserver", true, WHEN_SET, COMMAND},
    {"sendemail", "sendmailcmd", true, WHEN_SET, COMMAND},
    {"sendemail", "tocmd", true, WHEN_SET, COMMAND},
    {"sendemail", "cccmd", true, WHEN_SET, COMMAND},
    {"sendemail", "headercmd", true, WHEN_SET, COMMAND},
    {"imap", "tunnel", false, WHEN_SET, COMMAND},
    {"init", "templatedir", false, WHEN_SET, "git copies hooks from it"},
    {"lfs", "path", true, WHEN_SET, COMMAND},
    {"lfs", "clean", true, WHEN_SET, COMMAND},
    {"lfs", "smudge", true, WHEN_SET, COMMAND},
    {"hook", "command", true, WHEN_SET, COMMAND},
    {"include", "path", false, WHEN_SET, READS},
    {"includeif", "path", true, WHEN_SET, READS},
};

/* As githooks(5) lists them. */
static const char *const hooks[] = {
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "p4-prepare-changelist",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "proc-receive",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
};

static bool is_truth(const struct git_setting *setting)
{
    static const char *const words[] = {"true", "false", "yes", "no", "on", "off", "0", "1", ""};

    if (setting->implicit)
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcasecmp(setting->value, words[i]) == 0)
            return true;
    return false;
}

/* `helper::address`: git runs git-remote-helper. */
static bool names_helper(const char *value)
{
    size_t name = strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");

    return name > 0 && value[name] == ':' && value[name + 1] == ':';
}

static bool does_something(const struct key *key, const struct git_setting *setting)
{
    const char *value = setting->value;

    switch (key->when) {
    case WHEN_COMMAND:
        return !is_truth(setting);
    case WHEN_BANG:
        return value[0] == '!';
    case WHEN_HELPER: /* one that begins with a dash was an option of ssh once */
        return names_helper(value) || value[0] == '-';
    case WHEN_SET:
    default:
        return value[0] != '\0' && strcmp(value, "/dev/null") != 0;
    }
}

const char *git_setting_runs(const struct git_setting *setting)
{
    const char *name = setting->key + setting->name;
    bool plain = setting->name == setting->section + 1;

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        const struct key *key = &keys[i];

        if (strlen(key->section) != setting->section ||
            strncmp(setting->key, key->section, setting->section) != 0 || (!plain && !key->subsection))
            continue;
        if ((key->name[0] == '\0' || strcmp(name, key->name) == 0) && does_something(key, setting))
            return key->runs;
    }
    return NULL;
}

bool git_hook_name(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(hooks); i++)
        if (strcmp(hooks[i], name) == 0)
            return true;
    return false;
}
