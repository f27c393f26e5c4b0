/*
 * test-policy-sets.c - the contents of the sets, names that look like secrets, network rules.
 */
#include "harness.h"

#include "policy/policy.h"
#include "policy/policy_rules.h"

TEST(sets_are_well_formed)
{
    for (const struct set *set = policy_sets; set->name; set++) {
        check(set->name[0] == '@' && set_by_name(set->name) == set && *set->what);
        check(set->items[0].value != NULL);
        for (const struct set_item *item = set->items; item->value; item++) {
            check(item->why && *item->why);
            for (const struct set_item *other = set->items; other != item; other++)
                if (!check(strcmp(other->value, item->value) != 0))
                    test_note("%s twice in %s", item->value, set->name);
            if (set->kind == SET_NAMES)
                continue;
            check(strchr(item->value, '*') == NULL);
            check(item->value[0] == '/' || item->value[0] == '$' || strncmp(item->value, "~/", 2) == 0 ||
                  strncmp(item->value, "./", 2) == 0);
            check(item->value[strlen(item->value) - 1] != '/');
            check(!item->root_only || item->value[0] == '/');
        }
    }
    check(set_by_name("credentials") == NULL);
    check(set_by_name("@git") == NULL); /* a word of the workspace, no set */
}

TEST(mixed_files_are_not_credentials)
{
    static const char *const mixed[] = {"~/.npmrc",
                                        "~/.docker/config.json",
                                        "~/.gitconfig",
                                        "~/.m2/settings.xml",
                                        "~/.config/pip/pip.conf",
                                        "~/.bash_history",
                                        "~/.ssh",
                                        "~/.ssh/config",
                                        "~/.ssh/known_hosts",
                                        "~/.gnupg",
                                        "~/.aws",
                                        "~/.aws/config",
                                        "~/.config"};

    for (size_t i = 0; i < ARRAY_SIZE(mixed); i++)
        for (const struct set_item *item = set_by_name("@credentials")->items; item->value; item++)
            if (!check(strcmp(item->value, mixed[i]) != 0))
                test_note("%s is hidden", mixed[i]);
}

static const struct secret_row {
    const char *name;
    bool secret;
} names[] = {
    {"GITHUB_TOKEN", true},
    {"GH_TOKEN", true},
    {"NPM_TOKEN", true},
    {"npm_config__authToken", true},
    {"ACTIONS_ID_TOKEN_REQUEST_URL", true},
    {"VAULT_TOKEN", true},
    {"HF_TOKEN", true},
    {"TOKEN", true},
    {"API_TOKENS", true},
    {"GITHUBTOKEN", true},
    {"AWS_SECRET_ACCESS_KEY", true},
    {"AWS_ACCESS_KEY_ID", true},
    {"AWS_SESSION_TOKEN", true},
    {"OPENAI_API_KEY", true},
    {"ANTHROPIC_API_KEY", true},
    {"OPENAI_APIKEY", true},
    {"SECRET_KEY_BASE", true},
    {"MASTER_KEY", true},
    {"SSH_PRIVATE_KEY", true},
    {"ENCRYPTION_KEY", true},
    {"CLIENT_SECRET", true},
    {"SECRET", true},
    {"DB_PASSWORD", true},
    {"PGPASSWORD", true},
    {"RESTIC_PASSWORD", true},
    {"ROOT_PASSWD", true},
    {"GPG_PASSPHRASE", true},
    {"DB_PASS", true},
    {"SSHPASS", true},
    {"MYSQL_PWD", true},
    {"REDISCLI_AUTH", true},
    {"COMPOSER_AUTH", true},
    {"DOCKER_AUTH_CONFIG", true},
    {"HTTP_AUTHORIZATION", true},
    {"CI_JOB_JWT", true},
    {"CI_JOB_JWT_V2", true},
    {"AZURE_DEVOPS_EXT_PAT", true},
    {"SESSION_COOKIE", true},
    {"AZURE_STORAGE_CONNECTION_STRING", true},
    {"SLACK_WEBHOOK_URL", true},
    {"GOOGLE_APPLICATION_CREDENTIALS", true},
    {"TWINE_PASSWORD", true},
    {"NEXT_PUBLIC_API_KEY", true},
    {"TF_VAR_db_password", true},
    {"PATH", false},
    {"HOME", false},
    {"PWD", false},
    {"OLDPWD", false},
    {"OLD_PWD", false},
    {"KEYBOARD", false},
    {"MONKEY", false},
    {"HOTKEYS", false},
    {"XAUTHORITY", false},
    {"SSH_AUTH_SOCK", false},
    {"LS_COLORS", false},
    {"LANG", false},
    {"LC_ALL", false},
    {"TERM", false},
    {"SHELL", false},
    {"USER", false},
    {"EDITOR", false},
    {"GIT_AUTHOR_NAME", false},
    {"GIT_AUTHOR_EMAIL", false},
    {"TOKENIZERS_PARALLELISM", false},
    {"MAX_TOKENS", false},
    {"MAX_THINKING_TOKENS", false},
    {"CLAUDE_CODE_MAX_OUTPUT_TOKENS", false},
    {"GPG_KEY", false},
    {"GPG_TTY", false},
    {"GPG_AGENT_INFO", false},
    {"SSH_PUBLIC_KEY", false},
    {"SSH_ASKPASS", false},
    {"GIT_ASKPASS", false},
    {"SUDO_ASKPASS", false},
    {"SSH_ASKPASS_REQUIRE", false},
    {"COMPASS", false},
    {"PROXY_BYPASS", false},
    {"PATCH", false},
    {"DISPATCH", false},
    {"COOKIECUTTER", false},
    {"AWS_SHARED_CREDENTIALS_FILE", false},
    {"AWS_WEB_IDENTITY_TOKEN_FILE", false},
    {"PASSWORD_STORE_DIR", false},
    {"CREDENTIALS_DIRECTORY", false},
    {"PGPASSFILE", false},
    {"DBUS_SESSION_BUS_ADDRESS", false},
    {"XDG_RUNTIME_DIR", false},
    {"CARGO_HOME", false},
    {"GOPATH", false},
    {"NODE_OPTIONS", false},
    {"CC", false},
    {"CFLAGS", false},
    {"MAKEFLAGS", false},
    {"TMPDIR", false},
    {"CI", false},
    {"AUTHOR", false},
    {"KEYMAP", false},
    {"CACHE_KEY", false},
    {"HTTP_PROXY", false},
    {"", false},
    {"_", false},
};

TEST_EACH(secret_names, struct secret_row, names)
{
    check_int(secret_name(row->name, strlen(row->name)), row->secret);
}

static const struct rule_row {
    const char *name, *text; /* text: as written again, NULL: no rule */
} rules[] = {
    {"example.org", "example.org:443,80"},
    {"EXAMPLE.org:8080", "example.org:8080"},
    {"*.example.org:1,2,3", "*.example.org:1,2,3"},
    {"private:db:5432", "private:db:5432"},
    {"private:*.corp", "private:*.corp:443,80"},
    {"192.0.2.0/24:53", "192.0.2.0/24:53"},
    {"192.0.2.1:53", "192.0.2.1/32:53"},
    {"[2001:db8::]/32:443", "[2001:db8::]/32:443"},
    {"_dmarc.a-b.org", "_dmarc.a-b.org:443,80"},
    {"", NULL},
    {"*", NULL},
    {"*.", NULL},
    {"*.*.org", NULL},
    {"a.*.org", NULL},
    {".org", NULL},
    {"a..org", NULL},
    {"a.org.", NULL},
    {"-a.org", NULL},
    {"a-.org", NULL},
    {"a b", NULL},
    {"gr\xc3\xb6\xc3\x9f"
     "e.de",
     NULL},
    {"a.org:", NULL},
    {"a.org:0", NULL},
    {"a.org:080", NULL},
    {"a.org:65536", NULL},
    {"a.org:443,", NULL},
    {"a.org:443 ", NULL},
    {"a.org:+1", NULL},
    {"a.org:1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", NULL},
    {"https://a.org", NULL},
    {"a.org/x", NULL},
    {"192.0.2.1", NULL},
    {"192.0.2:80", NULL},
    {"1.2.3.4.5:80", NULL},
    {"0x7f.1:80", NULL},
    {"192.0.2.0/33:80", NULL},
    {"192.0.2.0/:80", NULL},
    {"192.0.2.0/08:80", NULL},
    {"private:192.0.2.1:80", NULL},
    {"*.192.0.2.1:80", NULL},
    {"[2001:db8::/32:443", NULL},
    {"2001:db8::1:443", NULL},
    {"[]:80", NULL},
    {"[", NULL},
};

TEST_EACH(rules_are_read, struct rule_row, rules)
{
    struct rule rule, again, met;
    struct text text = {0};

    if (!check_int(rule_parse(row->name, &rule), row->text != NULL) || !row->text)
        return;
    rule_text(&rule, &text);
    check_str(text.data, row->text);
    check(rule_parse(text.data, &again) && rule_meet(&rule, &again, &met));
    text_free(&text);
}

static const struct useless_row {
    const char *name, *instead; /* NULL: it can be followed */
} useless[] = {
    {"example.org", NULL},
    {"localhost.example.org", NULL},
    {"notlocalhost:80", NULL},
    {"localhost", "--forward"},
    {"LocalHost:3000", "--forward"},
    {"a.localhost:80", "--forward"},
    {"*.localhost", "--forward"},
    {"private:localhost:80", "--forward"},
    {"127.0.0.1:80", "--forward"},
    {"127.0.0.0/8:80", "--forward"},
    {"127.9.0.0/16:80", "--forward"},
    {"[::1]:80", "--forward"},
    {"126.0.0.0/7:80", NULL},
    {"0.0.0.0/0:443", NULL},
    {"[::]/0:443", NULL},
    {"0.0.0.0:80", "0.0.0.0/0"},
    {"0.1.2.3:80", "0.0.0.0/0"},
    {"[::]:80", "0.0.0.0/0"},
    {"224.0.0.1:80", "0.0.0.0/0"},
    {"239.0.0.0/8:80", "0.0.0.0/0"},
    {"255.255.255.255:80", "0.0.0.0/0"},
    {"[ff02::1]:80", "0.0.0.0/0"},
    {"[::ffff:1.2.3.4]:80", "as such"},
    {"[::ffff:127.0.0.1]:80", "as such"},
    {"[::ffff:0:0]/96:80", "as such"},
    {"[64:ff9b::127.0.0.1]:80", "0.0.0.0/0"},
    {"[fe80::1]:80", "another address"},
    {"[fe80::]/10:80", "another address"},
    {"198.18.0.5:80", "name the host"},
    {"198.18.0.0/15:80", "name the host"},
    {"198.0.0.0/8:80", NULL},
    {"10.0.0.1/8:443", "first address"},
    {"10.0.0.128/24:443", "first address"},
    {"10.0.0.1/32:443", NULL},
    {"[fd00::1]/64:443", "first address"},
    {"[fd00::1]/128:443", NULL},
    {"[::ffff:1.2.3.4]/64:443", "first address"},
    {"[fdc0:ffee:c0f1::5]:80", "name the host"},
    {"[fdc0:ffee:c0f2::5]:80", NULL},
    {"10.0.0.0/8:80", NULL},
    {"169.254.169.254:80", NULL},
    {"192.0.2.1:80", NULL},
};

TEST_EACH(rules_that_cannot_be_followed_are_told, struct useless_row, useless)
{
    const char *why = NULL, *instead = NULL;
    struct rule rule;

    need(rule_parse(row->name, &rule));
    if (check_int(rule_useless(&rule, &why, &instead), row->instead != NULL) && row->instead)
        check(why && strstr(instead, row->instead));
}

static const struct proxy_row {
    const char *name;
    bool good;
} proxies[] = {
    {"http://proxy.corp:3128", true},
    {"http://proxy:3128/", true},
    {"http://10.0.0.1:3128", true},
    {"http://127.0.0.1:3128", true},
    {"http://[fd00::1]:3128", true},
    {"http://u:p%40%3A@proxy.corp:80", true},
    {"http://u:p/@q@proxy.corp:80", true},
    {"foo", false},
    {"", false},
    {"https://proxy.corp:3128", false},
    {"http://", false},
    {"http://proxy.corp", false},
    {"http://127.0.0.1", false},
    {"http://[fd00::1]", false},
    {"http://proxy.corp:0", false},
    {"http://proxy.corp:70000", false},
    {"http://proxy.corp:1,2", false},
    {"http://proxy.corp:3128/x", false},
    {"http://*.corp:3128", false},
    {"http://private:proxy.corp:3128", false},
    {"http://10.0.0.0/8:3128", false},
    {"http://u@proxy.corp:3128", false},
    {"http://u:p%4@proxy.corp:3128", false},
    {"http://u:%00@proxy.corp:3128", false},
};

TEST_EACH(proxies_are_read, struct proxy_row, proxies)
{
    check_int(proxy_valid(row->name), row->good);
}

static const struct meet_row {
    const char *name, *a, *b, *both;
} meetings[] = {
    {"same", "a.org", "a.org:443", "a.org:443"},
    {"different", "a.org", "b.org", NULL},
    {"no_port", "a.org:1", "a.org:2", NULL},
    {"below", "*.a.org:443", "x.a.org", "x.a.org:443"},
    {"not_itself", "*.a.org", "a.org", NULL},
    {"not_a_tail", "*.a.org", "xa.org", NULL},
    {"narrower_star", "*.a.org", "*.b.a.org:80", "*.b.a.org:80"},
    {"same_star", "*.a.org", "*.a.org:80", "*.a.org:80"},
    {"private_in_one", "private:a.org", "a.org", "a.org:443,80"},
    {"private_in_both", "private:a.org", "private:a.org", "private:a.org:443,80"},
    {"address", "192.0.2.0/24:1,2", "192.0.2.0/24:2", "192.0.2.0/24:2"},
    {"other_bits", "192.0.2.0/24:1", "192.0.2.0/25:1", NULL},
};

TEST_EACH(rules_meet, struct meet_row, meetings)
{
    for (int turn = 0; turn < 2; turn++) {
        struct rule a, b, both;
        struct text text = {0};

        need(rule_parse(turn ? row->b : row->a, &a) && rule_parse(turn ? row->a : row->b, &b));
        check_int(rule_meet(&a, &b, &both), row->both != NULL);
        if (!row->both)
            continue;
        rule_text(&both, &text);
        check_str(text.data, row->both);
        text_free(&text);
    }
}
