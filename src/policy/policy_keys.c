/*
 * policy_keys.c - the table of keys, and the names of what stands in it.
 *
 * Lists add, scalars: the later layer wins unless an earlier one locked the key. Words are listed from narrow
 * to wide where the order means something.
 */
#include "policy/policy_keys.h"

#include <errno.h>

static const struct word mode_words[] = {{"read-only", MODE_READ_ONLY},
                                         {"workspace-write", MODE_WORKSPACE_WRITE},
                                         {"danger-full-access", MODE_DANGER_FULL_ACCESS},
                                         {NULL, 0}};
static const struct word network_words[] = {
    {"none", NETWORK_NONE}, {"listed", NETWORK_LISTED}, {"host", NETWORK_HOST}, {NULL, 0}};
static const struct word readable_words[] = {{"all", false}, {"listed", true}, {NULL, 0}};
static const struct word cache_words[] = {
    {"private", CACHES_PRIVATE}, {"host", CACHES_HOST}, {"off", CACHES_OFF}, {NULL, 0}};
static const struct word tmp_words[] = {{"private", TMP_PRIVATE}, {"session", TMP_SESSION}, {NULL, 0}};
static const struct word user_words[] = {{"owner", USER_OWNER}, {"keep", USER_KEEP}, {NULL, 0}};
static const struct word tty_words[] = {
    {"auto", TTY_AUTO}, {"private", TTY_PRIVATE}, {"inherit", TTY_INHERIT}, {"none", TTY_NONE}, {NULL, 0}};
static const struct word denial_words[] = {
    {"auto", DENIALS_AUTO}, {"on", DENIALS_ON}, {"reads", DENIALS_READS}, {"off", DENIALS_OFF}, {NULL, 0}};
static const struct word planted_words[] = {
    {"report", PLANTED_REPORT}, {"quarantine", PLANTED_QUARANTINE}, {NULL, 0}};
static const struct word backend_words[] = {
    {"auto", 0},
    {"namespace", 0},
    {"bubblewrap", 0},
    {"landlock", 0},
    {"seatbelt", WORD_RESERVED},
    {"windows", WORD_RESERVED},
    {"oci", WORD_RESERVED},
    {"vm", WORD_RESERVED},
    {"remote", WORD_RESERVED},
    {"custom", 0},
    {"refuse", 0},
    {NULL, 0},
};

#define SCALAR(NAME, OPTION, KIND, KEY, FIELD, IN_FILE, NARROW, WORDS, WHAT)                                 \
    {                                                                                                        \
        .name = (NAME), .option = (OPTION), .kind = (KIND), .scalar = (KEY), .list = -1,                     \
        .in_file = (IN_FILE), .narrow = (NARROW), .undoes = -1, .offset = offsetof(struct policy, FIELD),    \
        .words = (WORDS), .what = (WHAT)                                                                     \
    }
#define LIST(NAME, OPTION, KIND, LIST, IN_FILE, NARROW, UNDOES, WHAT)                                        \
    {                                                                                                        \
        .name = (NAME), .option = (OPTION), .kind = (KIND), .scalar = -1, .list = (LIST),                    \
        .in_file = (IN_FILE), .narrow = (NARROW), .undoes = (UNDOES), .what = (WHAT)                         \
    }
#define FILE_TOO    true
#define OPTION_ONLY false

/* clang-format off */
const struct policy_key policy_keys[] = {
    SCALAR("mode", "--mode", KIND_WORD, KEY_MODE, mode, FILE_TOO, NARROW_ORDER, mode_words,
           "what the command may do to files"),
    SCALAR("workspace", "--workspace", KIND_TEXT, KEY_WORKSPACE, workspace, FILE_TOO, NARROW_NEVER, NULL,
           "the directory that is worked in; @git is the top of the repository"),
    SCALAR("chdir", "--chdir", KIND_TEXT, KEY_CHDIR, chdir, OPTION_ONLY, NARROW_NEVER, NULL,
           "start directory"),
    LIST("read", "--read", KIND_PATHS, LIST_READ, FILE_TOO, NARROW_NEVER, -1, "readable"),
    SCALAR("readable", "--readable", KIND_CHOICE, KEY_READABLE, readable_listed, FILE_TOO, NARROW_NEVER,
           readable_words, "whether everything may be read or only what is listed"),
    LIST("write", "--write", KIND_PATHS, LIST_WRITE, FILE_TOO, NARROW_NEVER, -1, "writable as well"),
    LIST("hide", "--hide", KIND_PATHS, LIST_HIDE, FILE_TOO, NARROW_ADD, -1, "not readable"),
    LIST("show", "--show", KIND_PATHS, LIST_SHOW, FILE_TOO, NARROW_NEVER, LIST_HIDE,
         "taken out of the hidden paths"),
    LIST("protect", "--protect", KIND_PATHS, LIST_PROTECT, FILE_TOO, NARROW_ADD, -1,
         "read-only inside a writable tree"),
    LIST("unprotect", "--unprotect", KIND_PATHS, LIST_UNPROTECT, FILE_TOO, NARROW_NEVER, LIST_PROTECT,
         "taken out of the protected paths"),
    LIST("sockets", "--socket", KIND_SOCKETS, LIST_SOCKETS, FILE_TOO, NARROW_NEVER, -1,
         "pathname sockets that may be reached"),
    LIST("devices", "--device", KIND_PATHS, LIST_DEVICES, FILE_TOO, NARROW_NEVER, -1, "device nodes"),
    SCALAR("caches", "--caches", KIND_WORD, KEY_CACHES, caches, FILE_TOO, NARROW_NEVER, cache_words,
           "which tool caches are used"),
    SCALAR("tmp", "--tmp", KIND_TMP, KEY_TMP, tmp, FILE_TOO, NARROW_NEVER, tmp_words, "temp directory"),
    SCALAR("network.mode", "--network", KIND_WORD, KEY_NETWORK, network, FILE_TOO, NARROW_ORDER,
           network_words, "which network there is"),
    LIST("network.allow", "--allow", KIND_RULES, LIST_ALLOW, FILE_TOO, NARROW_BOTH, -1,
         "what may be reached; implies the mode listed"),
    SCALAR("network.proxy_env", "--proxy-env", KIND_FLAG, KEY_PROXY_ENV, proxy_env, FILE_TOO, NARROW_NEVER,
           NULL, "whether proxy variables are set"),
    SCALAR("network.upstream", "--upstream", KIND_PROXY, KEY_UPSTREAM, upstream, FILE_TOO, NARROW_NEVER, NULL,
           "proxy behind the gateway, a URL"),
    LIST("network.forward", "--forward", KIND_PORTS, LIST_FORWARD, FILE_TOO, NARROW_NEVER, -1,
         "host loopback ports reachable inside"),
    LIST("network.publish", "--publish", KIND_PORTS, LIST_PUBLISH, FILE_TOO, NARROW_NEVER, -1,
         "ports inside reachable from host loopback"),
    SCALAR("environment.clean", "--clean-env", KIND_FLAG, KEY_ENV_CLEAN, env_clean, FILE_TOO, NARROW_NEVER,
           NULL, "whether the environment starts from a small base"),
    LIST("environment.set", "--env", KIND_SETTINGS, LIST_ENV_SET, FILE_TOO, NARROW_NEVER, -1,
         "variables and their values"),
    LIST("environment.pass", "--env", KIND_VARIABLES, LIST_ENV_PASS, FILE_TOO, NARROW_NEVER, LIST_ENV_UNSET,
         "variables that are passed although they look like secrets"),
    LIST("environment.unset", "--unset-env", KIND_UNSET, LIST_ENV_UNSET, FILE_TOO, NARROW_NEVER, -1,
         "variables that are taken away"),
    SCALAR("limits.time", "--timeout", KIND_DURATION, KEY_LIMIT_TIME, limit_time_ms, FILE_TOO, NARROW_LESS,
           NULL, "wall clock of the run"),
    SCALAR("limits.memory", "--limit memory", KIND_SIZE, KEY_LIMIT_MEMORY, limit_memory, FILE_TOO,
           NARROW_LESS, NULL, "memory of the whole tree"),
    SCALAR("limits.processes", "--limit processes", KIND_COUNT, KEY_LIMIT_PROCESSES, limit_processes,
           FILE_TOO, NARROW_LESS, NULL, "processes and threads at one time"),
    SCALAR("limits.output", "--limit output", KIND_SIZE, KEY_LIMIT_OUTPUT, limit_output, FILE_TOO,
           NARROW_LESS, NULL, "bytes on stdout and stderr"),
    SCALAR("limits.output_end", "--limit output_end", KIND_FLAG, KEY_LIMIT_OUTPUT_END, limit_output_end,
           FILE_TOO, NARROW_NEVER, NULL, "whether more output ends the run; else it is cut off"),
    SCALAR("limits.file_size", "--limit file_size", KIND_SIZE, KEY_LIMIT_FILE_SIZE, limit_file_size, FILE_TOO,
           NARROW_LESS, NULL, "size of one file"),
    SCALAR("limits.tmp_size", "--limit tmp_size", KIND_SIZE, KEY_LIMIT_TMP_SIZE, limit_tmp_size, FILE_TOO,
           NARROW_LESS, NULL, "size of the private temp directory"),
    SCALAR("limits.cpu", "--limit cpu", KIND_DURATION, KEY_LIMIT_CPU, limit_cpu_ms, FILE_TOO, NARROW_LESS,
           NULL, "processor time of the whole tree"),
    SCALAR("grace", "--grace", KIND_GRACE, KEY_GRACE, grace_ms, FILE_TOO, NARROW_NEVER, NULL,
           "time between SIGTERM and SIGKILL"),
    SCALAR("wait_all", "--wait-all", KIND_FLAG, KEY_WAIT_ALL, wait_all, FILE_TOO, NARROW_NEVER, NULL,
           "whether the run ends only when everything has ended"),
    SCALAR("backend", "--backend", KIND_NAME, KEY_BACKEND, backend, FILE_TOO, NARROW_NEVER, backend_words,
           "what enforces"),
    SCALAR("user", "--user", KIND_USER, KEY_USER, user, FILE_TOO, NARROW_NEVER, user_words,
           "whose processes they are, for a caller that is root"),
    SCALAR("tty", "--tty", KIND_WORD, KEY_TTY, tty, FILE_TOO, NARROW_NEVER, tty_words, "the terminal"),
    SCALAR("size", "--size", KIND_DIMENSIONS, KEY_SIZE, columns, OPTION_ONLY, NARROW_NEVER, NULL,
           "size of a private terminal"),
    SCALAR("denials", "--denials", KIND_WORD, KEY_DENIALS, denials, FILE_TOO, NARROW_NEVER, denial_words,
           "the observer"),
    SCALAR("ask", "--ask", KIND_DURATION, KEY_ASK, ask_ms, OPTION_ONLY, NARROW_NEVER, NULL,
           "how long a refused access waits for an answer over the control channel"),
    SCALAR("planted", "--planted", KIND_WORD, KEY_PLANTED, planted, FILE_TOO, NARROW_NEVER, planted_words,
           "what happens to things that would run later outside"),
    LIST("require", "--require", KIND_DEMANDS, LIST_REQUIRE, FILE_TOO, NARROW_NEVER, -1,
         "what must be enforced and shown, or nothing runs"),
    LIST("open", "--open", KIND_SURFACES, LIST_OPEN, FILE_TOO, NARROW_NEVER, -1,
         "surfaces that are left open on purpose"),
    SCALAR("approved_mode", "--approved-mode", KIND_WORD, KEY_APPROVED_MODE, approved_mode, OPTION_ONLY,
           NARROW_NEVER, mode_words, "the mode that a person approved for this one call"),
    LIST("pass_fd", "--pass-fd", KIND_NUMBERS, LIST_PASS_FD, OPTION_ONLY, NARROW_NEVER, -1,
         "descriptors handed to the command"),
    {.name = NULL},
};
/* clang-format on */

static const char *const expected[KIND_TOTAL] = {
    [KIND_NONE] = "nothing",
    [KIND_WORD] = "one of its words",
    [KIND_CHOICE] = "one of its words",
    [KIND_NAME] = "one of its words",
    [KIND_FLAG] = "true or false",
    [KIND_TEXT] = "a text that is not empty",
    [KIND_PROXY] = "http://[USER:PASSWORD@]HOST:PORT",
    [KIND_DURATION] = "a duration such as 10s, 1.5m, 2h or 300ms, more than nothing",
    [KIND_GRACE] = "a duration such as 3s, 1.5m or 300ms",
    [KIND_SIZE] = "a size such as 16M, 1G, 512K or a number of bytes, more than nothing",
    [KIND_COUNT] = "a whole number from 1",
    [KIND_TMP] = "private, session or a directory (with a slash in it: ./tmp)",
    [KIND_USER] = "owner, keep or a user id",
    [KIND_DIMENSIONS] = "COLUMNSxROWS such as 80x24",
    [KIND_PATHS] = "a path or a set",
    [KIND_SOCKETS] = "the path of a socket or a set",
    [KIND_RULES] = "NAME[:PORT,…], *.NAME[:PORT,…], ADDRESS[/BITS]:PORT or private:NAME[:PORT,…]",
    [KIND_PORTS] = "PORT or PORT:INSIDE, both numbers: this machine's loopback, and the command's",
    [KIND_SURFACES] = "a surface",
    [KIND_DEMANDS] = "a surface, a group of surfaces or full",
    [KIND_SETTINGS] = "NAME=VALUE",
    [KIND_VARIABLES] = "the name of a variable",
    [KIND_UNSET] = "the name of a variable or a set",
    [KIND_NUMBERS] = "the number of an open descriptor above 2",
};

const char *kind_expected(enum kind kind)
{
    return expected[kind];
}

const struct policy_key *policy_key_by_name(const char *name)
{
    for (const struct policy_key *key = policy_keys; key->name; key++)
        if (strcmp(key->name, name) == 0)
            return key;
    return NULL;
}

const struct policy_key *policy_key_of(enum key key)
{
    for (const struct policy_key *row = policy_keys; row->name; row++)
        if (row->scalar == (int)key)
            return row;
    return NULL;
}

const struct policy_key *policy_key_of_list(enum list list)
{
    for (const struct policy_key *row = policy_keys; row->name; row++)
        if (row->list == (int)list)
            return row;
    return NULL;
}

const char *key_name(enum key key)
{
    const struct policy_key *row = policy_key_of(key);

    return row ? row->name : "unknown";
}

const char *list_name(enum list list)
{
    const struct policy_key *row = policy_key_of_list(list);

    return row ? row->name : "unknown";
}

static const char *word_name(const struct word *words, unsigned value)
{
    for (; words->name; words++)
        if (words->value == value)
            return words->name;
    return "invalid";
}

const char *mode_name(enum mode mode)
{
    return word_name(mode_words, mode);
}

bool backend_reserved(const char *name)
{
    for (const struct word *word = backend_words; word->name; word++)
        if (strcmp(word->name, name) == 0)
            return word->value == WORD_RESERVED;
    return false;
}

const char *network_name(enum network network)
{
    return word_name(network_words, network);
}

const char *layer_name(enum layer layer)
{
    static const char *const names[LAYER_COUNT] = {
        [LAYER_BUILTIN] = "built-in", [LAYER_SYSTEM] = "system",       [LAYER_USER] = "user",
        [LAYER_FILE] = "file",        [LAYER_WORKSPACE] = "workspace", [LAYER_OPTION] = "option",
    };

    return (size_t)layer < ARRAY_SIZE(names) ? names[layer] : "unknown";
}

const char *origin_where(char *buffer, size_t size, const struct origin *origin)
{
    if (origin->option)
        snprintf(buffer, size, "%s", origin->option);
    else if (!origin->file)
        snprintf(buffer, size, "%s", layer_name(origin->layer));
    else if (origin->line > 0)
        snprintf(buffer, size, "%s:%d:%d", QUOTE(origin->file), origin->line, origin->column);
    else
        snprintf(buffer, size, "%s", QUOTE(origin->file));
    return buffer;
}

int policy_refuse(struct error *error, const struct origin *origin, const char *reason, const char *format,
                  ...)
{
    bool usage = origin->layer == LAYER_OPTION;
    char text[900];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    return error_set(error, usage ? ERROR_USAGE : ERROR_POLICY_INVALID, 0, reason, "%s: %s", WHERE(origin),
                     text);
}
