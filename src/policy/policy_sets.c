/*
 * policy_sets.c - the named sets. Their contents are part of the documentation: `confine policy` prints them.
 *
 * Should:  say for every item why it is there; name only what is a secret and nothing else (@credentials), or
 *          what runs later outside by itself (@runs-later).
 * Mustn't: name files that tools need besides (.npmrc, docker's config.json): with them gone the tools
 * silently do something else; nor hold patterns of paths: what is hidden is an object, not a guess.
 *
 * What does not exist is left out. `~` is every home that counts, `$NAME` every absolute path of that
 * variable.
 */
#include "policy/policy.h"

#define SSH    "private key of ssh"
#define CLOUD  "token of a cloud"
#define TOKEN  "token"
#define WEB    "browser profile: cookies and passwords"
#define STORE  "password store"
#define KEYS   "keyring"
#define SHADOW "hashes of passwords"
#define HOST   "host key"

static const struct set_item credentials[] = {
    {"~/.ssh/id_rsa", SSH, false},
    {"~/.ssh/id_dsa", SSH, false},
    {"~/.ssh/id_ecdsa", SSH, false},
    {"~/.ssh/id_ecdsa_sk", SSH, false},
    {"~/.ssh/id_ed25519", SSH, false},
    {"~/.ssh/id_ed25519_sk", SSH, false},
    {"~/.ssh/id_xmss", SSH, false},
    {"~/.ssh/identity", SSH, false},
    {"~/.gnupg/private-keys-v1.d", "private keys of gnupg", false},
    {"~/.gnupg/secring.gpg", "private keys of gnupg", false},
    {"$GNUPGHOME/private-keys-v1.d", "private keys of gnupg", false},
    {"$GNUPGHOME/secring.gpg", "private keys of gnupg", false},
    {"~/.aws/credentials", CLOUD, false},
    {"~/.aws/sso/cache", CLOUD, false},
    {"~/.aws/cli/cache", CLOUD, false},
    {"~/.aws/login/cache", CLOUD, false},
    {"$AWS_SHARED_CREDENTIALS_FILE", CLOUD, false},
    {"$AWS_WEB_IDENTITY_TOKEN_FILE", CLOUD, false},
    {"$AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", CLOUD, false},
    {"~/.config/gcloud/credentials.db", CLOUD, false},
    {"~/.config/gcloud/access_tokens.db", CLOUD, false},
    {"~/.config/gcloud/application_default_credentials.json", CLOUD, false},
    {"~/.config/gcloud/legacy_credentials", CLOUD, false},
    {"$CLOUDSDK_CONFIG/credentials.db", CLOUD, false},
    {"$CLOUDSDK_CONFIG/access_tokens.db", CLOUD, false},
    {"$CLOUDSDK_CONFIG/application_default_credentials.json", CLOUD, false},
    {"$CLOUDSDK_CONFIG/legacy_credentials", CLOUD, false},
    {"$GOOGLE_APPLICATION_CREDENTIALS", CLOUD, false},
    {"~/.azure/msal_token_cache.json", CLOUD, false},
    {"~/.azure/msal_token_cache.bin", CLOUD, false},
    {"~/.azure/service_principal_entries.json", CLOUD, false},
    {"~/.azure/service_principal_entries.bin", CLOUD, false},
    {"~/.azure/accessTokens.json", CLOUD, false},
    {"~/.oci/oci_api_key.pem", CLOUD, false},
    {"~/.oci/sessions", CLOUD, false},
    {"~/.config/doctl/config.yaml", CLOUD, false},
    {"~/.config/hcloud/cli.toml", CLOUD, false},
    {"~/.config/linode-cli", CLOUD, false},
    {"~/.config/scw/config.yaml", CLOUD, false},
    {"~/.config/openstack/clouds.yaml", CLOUD, false},
    {"~/.config/openstack/secure.yaml", CLOUD, false},
    {"~/.config/ibmcloud", CLOUD, false},
    {"~/.bluemix/config.json", CLOUD, false},
    {"~/.fly/config.yml", CLOUD, false},
    {"~/.local/share/com.vercel.cli/auth.json", CLOUD, false},
    {"~/.config/netlify/config.json", CLOUD, false},
    {"~/.wrangler/config/default.toml", CLOUD, false},
    {"~/.config/.wrangler/config/default.toml", CLOUD, false},
    {"~/.terraform.d/credentials.tfrc.json", CLOUD, false},
    {"~/.pulumi/credentials.json", CLOUD, false},
    {"~/.kube/config", "access to a cluster", false},
    {"~/.kube/cache/oidc-login", "access to a cluster", false},
    {"$KUBECONFIG", "access to a cluster", false},
    {"~/.config/argocd/config", "access to a cluster", false},
    {"~/.talos/config", "access to a cluster", false},
    {"~/.netrc", "passwords of ftp, curl and git", false},
    {"~/_netrc", "passwords of ftp, curl and git", false},
    {"$NETRC", "passwords of ftp, curl and git", false},
    {"~/.authinfo", "passwords of Emacs", false},
    {"~/.git-credentials", "passwords of git", false},
    {"~/.config/git/credentials", "passwords of git", false},
    {"$XDG_CONFIG_HOME/git/credentials", "passwords of git", false},
    {"~/.cache/git/credential", "passwords of git", false},
    {"~/.config/gh/hosts.yml", TOKEN " of GitHub", false},
    {"$GH_CONFIG_DIR/hosts.yml", TOKEN " of GitHub", false},
    {"$XDG_CONFIG_HOME/gh/hosts.yml", TOKEN " of GitHub", false},
    {"~/.config/hub", TOKEN " of GitHub", false},
    {"~/.config/glab-cli/config.yml", TOKEN " of GitLab", false},
    {"~/.config/tea/config.yml", TOKEN " of Gitea", false},
    {"~/.config/github-copilot", TOKEN " of GitHub Copilot", false},
    {"~/.cargo/credentials.toml", TOKEN " of crates.io", false},
    {"~/.cargo/credentials", TOKEN " of crates.io", false},
    {"$CARGO_HOME/credentials.toml", TOKEN " of crates.io", false},
    {"$CARGO_HOME/credentials", TOKEN " of crates.io", false},
    {"~/.pypirc", TOKEN " of PyPI", false},
    {"~/.gem/credentials", TOKEN " of RubyGems", false},
    {"~/.local/share/gem/credentials", TOKEN " of RubyGems", false},
    {"~/.config/composer/auth.json", TOKEN " of Composer", false},
    {"~/.composer/auth.json", TOKEN " of Composer", false},
    {"~/.hex/hex.config", TOKEN " of Hex", false},
    {"~/.config/containers/auth.json", TOKEN " of container registries", false},
    {"$REGISTRY_AUTH_FILE", TOKEN " of container registries", false},
    {"$XDG_RUNTIME_DIR/containers/auth.json", TOKEN " of container registries", false},
    {"~/.config/helm/registry/config.json", TOKEN " of container registries", false},
    {"~/.cache/huggingface/token", TOKEN " of Hugging Face", false},
    {"~/.cache/huggingface/stored_tokens", TOKEN " of Hugging Face", false},
    {"~/.kaggle/kaggle.json", TOKEN " of Kaggle", false},
    {"~/.vault-token", TOKEN " of Vault", false},
    {"~/.config/ngrok/ngrok.yml", TOKEN " of ngrok", false},
    {"~/.cloudflared", TOKEN " of Cloudflare", false},
    {"~/.claude/.credentials.json", TOKEN " of an agent", false},
    {"$CLAUDE_CONFIG_DIR/.credentials.json", TOKEN " of an agent", false},
    {"~/.codex/auth.json", TOKEN " of an agent", false},
    {"$CODEX_HOME/auth.json", TOKEN " of an agent", false},
    {"~/.gemini/oauth_creds.json", TOKEN " of an agent", false},
    {"~/.local/share/opencode/auth.json", TOKEN " of an agent", false},
    {"~/.password-store", STORE, false},
    {"$PASSWORD_STORE_DIR", STORE, false},
    {"~/.local/share/keyrings", KEYS, false},
    {"~/.local/share/kwalletd", KEYS, false},
    {"~/.local/share/python_keyring", KEYS, false},
    {"~/.config/op", STORE, false},
    {"~/.config/Bitwarden", STORE, false},
    {"~/.config/Bitwarden CLI", STORE, false},
    {"~/.config/keepassxc", STORE, false},
    {"~/.config/sops", "keys of sops", false},
    {"$SOPS_AGE_KEY_FILE", "keys of sops", false},
    {"~/.config/age", "keys of age", false},
    {"~/.config/rclone/rclone.conf", "passwords of rclone", false},
    {"$RCLONE_CONFIG", "passwords of rclone", false},
    {"~/.pgpass", "passwords of PostgreSQL", false},
    {"$PGPASSFILE", "passwords of PostgreSQL", false},
    {"~/.mylogin.cnf", "passwords of MySQL", false},
    {"~/.config/mozilla", WEB, false},
    {"~/.mozilla", WEB, false},
    {"~/.thunderbird", "mail and its passwords", false},
    {"~/.config/google-chrome", WEB, false},
    {"~/.config/google-chrome-beta", WEB, false},
    {"~/.config/chromium", WEB, false},
    {"~/.config/BraveSoftware", WEB, false},
    {"~/.config/microsoft-edge", WEB, false},
    {"~/.config/vivaldi", WEB, false},
    {"~/.config/opera", WEB, false},
    {"~/snap/firefox/common/.mozilla", WEB, false},
    {"~/snap/chromium/common/chromium", WEB, false},
    {"~/.var/app/org.mozilla.firefox", WEB, false},
    {"~/.var/app/com.google.Chrome", WEB, false},
    {"~/.electrum", "wallet", false},
    {"~/.bitcoin/wallets", "wallet", false},
    {"~/.bitcoin/wallet.dat", "wallet", false},
    {"~/.ethereum/keystore", "wallet", false},
    {"~/.config/solana/id.json", "wallet", false},
    {"/etc/shadow", SHADOW, true},
    {"/etc/shadow-", SHADOW, true},
    {"/etc/gshadow", SHADOW, true},
    {"/etc/gshadow-", SHADOW, true},
    {"/etc/security/opasswd", SHADOW, true},
    {"/etc/ssh/ssh_host_rsa_key", HOST, true},
    {"/etc/ssh/ssh_host_dsa_key", HOST, true},
    {"/etc/ssh/ssh_host_ecdsa_key", HOST, true},
    {"/etc/ssh/ssh_host_ed25519_key", HOST, true},
    {"/etc/ssl/private", "private keys of services", true},
    {"/etc/pki/tls/private", "private keys of services", true},
    {"/etc/letsencrypt/archive", "private keys of services", true},
    {"/etc/wireguard", "private keys of tunnels", true},
    {"/etc/NetworkManager/system-connections", "passwords of networks", true},
    {"/etc/krb5.keytab", HOST, true},
    {"/etc/kubernetes/admin.conf", "access to a cluster", true},
    {"/etc/kubernetes/pki", "access to a cluster", true},
    {"/etc/rancher/k3s/k3s.yaml", "access to a cluster", true},
    {"/var/lib/kubelet/pki", "access to a cluster", true},
    {"/etc/docker/key.json", HOST, true},
    {"/etc/sudoers", "who may become root", true},
    {"/etc/sudoers.d", "who may become root", true},
    /* not for root only: a container's own user reads these */
    {"/run/secrets", "secrets of a container", false},
    {"/var/run/secrets/kubernetes.io", "access to a cluster", false},
    {"/run/credentials", "secrets of services", true},
    {NULL, NULL, false},
};

#define HOOK   "git runs it"
#define EDITOR "an editor runs what it names"
#define AGENT  "an agent runs what it names"
#define SHELL  "a shell reads it when it starts"
#define LOGIN  "started at login"

static const struct set_item runs_later[] = {
    {"./.git", "where it is a file: names the repository", false},
    {"./.git/hooks", HOOK, false},
    {"./.git/info/attributes", "names filters that git runs", false},
    {"./.githooks", HOOK, false},
    {"./.husky", HOOK, false},
    {"./.confine.json", "policy of the next run", false},
    {"./" PLANTED_ASIDE, "what was moved aside lies there", false},
    {"./.vscode/tasks.json", EDITOR, false},
    {"./.vscode/launch.json", EDITOR, false},
    {"./.vscode/settings.json", EDITOR, false},
    {"./.vscode/mcp.json", EDITOR, false},
    {"./.idea", EDITOR, false},
    {"./.zed", EDITOR, false},
    {"./.fleet", EDITOR, false},
    {"./.devcontainer", EDITOR, false},
    {"./.devcontainer.json", EDITOR, false},
    {"./.dir-locals.el", EDITOR, false},
    {"./.exrc", EDITOR, false},
    {"./.nvim.lua", EDITOR, false},
    {"./.nvimrc", EDITOR, false},
    {"./.vimrc", EDITOR, false},
    {"./.gdbinit", "a debugger runs it", false},
    {"./.lldbinit", "a debugger runs it", false},
    {"./.claude", AGENT, false},
    {"./.codex", AGENT, false},
    {"./.cursor", AGENT, false},
    {"./.gemini", AGENT, false},
    {"./.opencode", AGENT, false},
    {"./.continue", AGENT, false},
    {"./.windsurf", AGENT, false},
    {"./.roo", AGENT, false},
    {"./.aider.conf.yml", AGENT, false},
    {"./.mcp.json", AGENT, false},
    {"./.envrc", "direnv runs it", false},
    {"./.direnv", "direnv runs it", false},
    {"./mise.toml", "mise runs what it names", false},
    {"./.mise.toml", "mise runs what it names", false},
    {"~/.profile", SHELL, false},
    {"~/.bashrc", SHELL, false},
    {"~/.bash_profile", SHELL, false},
    {"~/.bash_login", SHELL, false},
    {"~/.bash_logout", SHELL, false},
    {"~/.bash_aliases", SHELL, false},
    {"~/.zshrc", SHELL, false},
    {"~/.zshenv", SHELL, false},
    {"~/.zprofile", SHELL, false},
    {"~/.zlogin", SHELL, false},
    {"~/.zlogout", SHELL, false},
    {"~/.kshrc", SHELL, false},
    {"~/.cshrc", SHELL, false},
    {"~/.tcshrc", SHELL, false},
    {"~/.config/fish", SHELL, false},
    {"~/.inputrc", SHELL, false},
    {"~/.pam_environment", LOGIN, false},
    {"~/.xprofile", LOGIN, false},
    {"~/.xsession", LOGIN, false},
    {"~/.xinitrc", LOGIN, false},
    {"~/.config/environment.d", LOGIN, false},
    {"~/.config/autostart", LOGIN, false},
    {"~/.config/systemd/user", LOGIN, false},
    {"~/.local/share/systemd/user", LOGIN, false},
    {"~/.gitconfig", "names commands that git runs", false},
    {"~/.config/git", "names commands that git runs", false},
    {"~/.ssh/config", "names commands that ssh runs", false},
    {"~/.ssh/rc", "sshd runs it", false},
    {"~/.ssh/authorized_keys", "who may log in", false},
    {"~/.ssh/environment", LOGIN, false},
    {"~/.tmux.conf", "tmux runs it", false},
    {"~/.screenrc", "screen runs it", false},
    {"~/.vimrc", EDITOR, false},
    {"~/.vim", EDITOR, false},
    {"~/.config/nvim", EDITOR, false},
    {"~/.emacs", EDITOR, false},
    {"~/.emacs.d", EDITOR, false},
    {"~/.config/Code/User", EDITOR, false},
    {"~/.gdbinit", "a debugger runs it", false},
    {"~/.config/gdb", "a debugger runs it", false},
    {"~/.lldbinit", "a debugger runs it", false},
    {"~/.claude/settings.json", AGENT, false},
    {"~/.claude.json", AGENT, false},
    {"~/.codex/config.toml", AGENT, false},
    {"~/.cargo/config.toml", "names commands that cargo runs", false},
    {"~/.config/pip", "names where pip installs from", false},
    {"~/.local/bin", "in the PATH of many", false},
    {"~/bin", "in the PATH of many", false},
    {NULL, NULL, false},
};

#define PROGRAMS "programs and their libraries"
#define RESOLVER "target of /etc/resolv.conf"

static const struct set_item system_items[] = {
    {"/bin", PROGRAMS, false},
    {"/sbin", PROGRAMS, false},
    {"/usr", PROGRAMS, false},
    {"/lib", PROGRAMS, false},
    {"/lib32", PROGRAMS, false},
    {"/lib64", PROGRAMS, false},
    {"/libx32", PROGRAMS, false},
    {"/opt", PROGRAMS, false},
    {"/nix/store", PROGRAMS, false},
    {"/nix/var/nix/profiles", PROGRAMS, false},
    {"/gnu/store", PROGRAMS, false},
    {"/var/guix/profiles", PROGRAMS, false},
    {"/run/current-system", PROGRAMS, false},
    {"/run/opengl-driver", PROGRAMS, false},
    {"/run/wrappers", PROGRAMS, false},
    {"/snap", PROGRAMS, false},
    {"/home/linuxbrew/.linuxbrew", PROGRAMS, false},
    {"/etc", "settings of the system", false},
    {"/run/systemd/resolve", RESOLVER, false},
    {"/run/resolvconf", RESOLVER, false},
    {"/run/NetworkManager/resolv.conf", RESOLVER, false},
    {"/run/NetworkManager/no-stub-resolv.conf", RESOLVER, false},
    {"/var/lib/ca-certificates", "target of links in /etc", false},
    {"/var/cache/fontconfig", "index of fonts", false},
    {"/proc", "the kernel", false},
    {"/sys", "the kernel", false},
    {NULL, NULL, false},
};

static const struct set_item self_items[] = {
    {"/etc/confine", "policy of the system", false},
    {"~/.config/confine", "policy of the user", false},
    {"~/.cache/confine", "private caches", false},
    {"~/.local/state/confine", "state", false},
    {NULL, NULL, false},
};

static const struct set_item ssh_agent[] = {
    {"$SSH_AUTH_SOCK", "signs with the keys of ssh", false},
    {NULL, NULL, false},
};

static const struct set_item gpg_agent[] = {
    {"$XDG_RUNTIME_DIR/gnupg/S.gpg-agent", "signs and decrypts with the keys of gnupg", false},
    {"$XDG_RUNTIME_DIR/gnupg/S.keyboxd", "the public keys", false},
    {"$GNUPGHOME/S.gpg-agent", "signs and decrypts with the keys of gnupg", false},
    {"$GNUPGHOME/S.keyboxd", "the public keys", false},
    {"~/.gnupg/S.gpg-agent", "signs and decrypts with the keys of gnupg", false},
    {"~/.gnupg/S.keyboxd", "the public keys", false},
    {NULL, NULL, false},
};

/* `*` is any run of characters, letters count in either case, `!` makes an exception and always wins. */
static const struct set_item secrets[] = {
    {"*TOKEN", "token", false},
    {"*TOKEN_*", "token", false},
    {"*TOKENS", "tokens", false},
    {"*SECRET*", "says so itself", false},
    {"*PASSWORD*", "password", false},
    {"*PASSWD*", "password", false},
    {"*PASSPHRASE*", "password", false},
    {"*PASS", "password", false},
    {"*_PWD", "password", false},
    {"*APIKEY*", "key", false},
    {"*API_KEY*", "key", false},
    {"*ACCESS_KEY*", "key", false},
    {"*PRIVATE_KEY*", "key", false},
    {"*_KEY", "key", false},
    {"*CREDENTIAL*", "says so itself", false},
    {"AUTH", "password or token", false},
    {"*_AUTH", "password or token", false},
    {"DOCKER_AUTH_CONFIG", "password of a registry", false},
    {"*AUTHORIZATION*", "password or token", false},
    {"JWT", "token", false},
    {"*_JWT*", "token", false},
    {"*_PAT", "personal access token", false},
    {"*_COOKIE*", "session", false},
    {"*CONNECTION_STRING*", "holds a password", false},
    {"*_WEBHOOK*", "an address that is the password", false},
    {"!*_FILE", "where it is, not what it is", false},
    {"!*_PATH", "where it is, not what it is", false},
    {"!*_DIR", "where it is, not what it is", false},
    {"!*_DIRECTORY", "where it is, not what it is", false},
    {"!*_HOME", "where it is, not what it is", false},
    {"!*_SOCK", "a socket", false},
    {"!*ASKPASS*", "a program that asks", false},
    {"!*BYPASS", "another word", false},
    {"!*COMPASS", "another word", false},
    {"!OLD_PWD", "a directory", false},
    {"!*MAX*TOKENS", "a number", false},
    {"!*OUTPUT_TOKENS", "a number", false},
    {"!*INPUT_TOKENS", "a number", false},
    {"!*PUBLIC_KEY", "public", false},
    {"!GPG_KEY", "a fingerprint", false},
    {"!*CACHE_KEY", "a name", false},
    {"!*PRIMARY_KEY", "a name", false},
    {"!*SORT_KEY", "a name", false},
    {"!*PARTITION_KEY", "a name", false},
    {NULL, NULL, false},
};

const struct set policy_sets[] = {
    {"@credentials", SET_PATHS, "secrets and nothing else", credentials},
    {"@runs-later", SET_PATHS, "what would run later outside, written now", runs_later},
    {"@system", SET_PATHS, "where programs live, and what they need to start", system_items},
    {"@self", SET_PATHS, "policy and state of confine; the running program and its links are added",
     self_items},
    {"@ssh-agent", SET_SOCKETS, "the agent of ssh", ssh_agent},
    {"@gpg-agent", SET_SOCKETS, "the agent of gnupg", gpg_agent},
    {"@secrets", SET_NAMES, "names of variables that look like secrets", secrets},
    {NULL, SET_PATHS, NULL, NULL},
};

const struct set *set_by_name(const char *name)
{
    for (const struct set *set = policy_sets; set->name; set++)
        if (strcmp(set->name, name) == 0)
            return set;
    return NULL;
}

static char upper(char byte)
{
    return byte >= 'a' && byte <= 'z' ? (char)(byte - ('a' - 'A')) : byte;
}

/* Back to the last star only: linear in practice, quadratic at worst, never recursive. */
static bool matches(const char *pattern, const char *name, const char *end)
{
    const char *star = NULL, *retry = NULL;

    while (name < end) {
        if (*pattern == '*') {
            star = ++pattern;
            retry = name;
            if (!*star)
                return true;
        } else if (*pattern == upper(*name)) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star;
            do /* the next place where the part after the star could begin */
                retry++;
            while (retry < end && upper(*retry) != *star && *star != '*');
            name = retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

/* One bit per letter that occurs. A pattern cannot match a name that lacks one of its letters, and nearly all
 * names lack one. */
static uint32_t letters_of(const char *text, size_t length)
{
    uint32_t letters = 0;

    for (size_t i = 0; i < length; i++)
        if (text[i] != '*' && text[i] != '!')
            letters |= UINT32_C(1) << (upper(text[i]) & 31);
    return letters;
}

/* The letters of each pattern. Nothing of them is read before it is written: such a page would be given
 * twice. */
static const uint32_t *letters_needed(void)
{
    static uint32_t needed[ARRAY_SIZE(secrets)];
    static bool unknown = true; /* not zero: then it stands where something is written in any case */

    for (size_t i = 0; unknown && secrets[i].value; i++)
        needed[i] = letters_of(secrets[i].value, strlen(secrets[i].value));
    unknown = false;
    return needed;
}

bool secret_name(const char *variable, size_t length)
{
    const uint32_t *needed = letters_needed();
    const char *end = variable + length;
    uint32_t letters = letters_of(variable, length);
    bool secret = false;

    for (size_t i = 0; secrets[i].value; i++) {
        const char *pattern = secrets[i].value;

        if (needed[i] & ~letters)
            continue;
        if (pattern[0] == '!' && matches(pattern + 1, variable, end))
            return false;
        secret = secret || (pattern[0] != '!' && matches(pattern, variable, end));
    }
    return secret;
}
