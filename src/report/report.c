/*
 * report.c - what of the claims held, and one paragraph that says so.
 *
 * Should:  call a surface held only if this very run showed it.
 * Mustn't: let a text that the command or a path chose stand unquoted or unbounded in the summary: it is
 *          read by people at terminals and by models in prompts.
 */
#include "report/report.h"

#include <stddef.h>
#include <string.h>

#define SUMMARY_MAX     600 /* bytes, NUL included */
#define SUMMARY_COMMAND 120
#define SUMMARY_NAME    80
#define SUMMARY_FAILED  2  /* connections that failed */
#define SUMMARY_HOST    60 /* bytes of each of these */

/* Was @claim shown by this run? What is absent needs no mechanism. */
static bool claim_shown(const struct claim *claim)
{
    if (claim->state == STATE_ABSENT)
        return true;
    if (claim->state != STATE_ENFORCED)
        return false;
    for (size_t i = 0; i < claim->by_count; i++)
        if (claim->by[i].evidence == EVIDENCE_ATTESTED)
            return true;
    return false;
}

bool report_gap(const struct report *report, enum surface surface)
{
    if (!report->resolved || !plan_claims(report->resolved, surface))
        return false;
    return !report->plan || !claim_shown(&report->plan->claims[surface]);
}

enum enforcement report_enforcement(const struct report *report)
{
    bool something = false, all = true;

    if (!report->resolved || !report->plan)
        return ENFORCEMENT_NONE;
    for (int s = 0; s < SURFACE_COUNT; s++) {
        const struct claim *claim = &report->plan->claims[s];

        if (claim->by_count > 0 && (claim->state == STATE_PARTIAL || claim->state == STATE_ENFORCED))
            something = true;
        if (report_gap(report, (enum surface)s))
            all = false;
    }
    if (!something)
        return ENFORCEMENT_NONE;
    /* Its limits are all that an unconfined run claims: whoever looks for the word means the boundary. */
    if (report->resolved->mode == MODE_DANGER_FULL_ACCESS)
        return ENFORCEMENT_PARTIAL;
    return all ? ENFORCEMENT_FULL : ENFORCEMENT_PARTIAL;
}

/* A buffer that is only ever added to in whole sentences: from the first that does not fit on, all are left
 * out, so that what stands there is a beginning. */
struct sentences {
    char *buffer;
    size_t size, length;
    bool full;
};

__attribute__((format(printf, 2, 3))) static void add_sentence(struct sentences *sentences,
                                                               const char *format, ...)
{
    size_t room = sentences->size - sentences->length;
    va_list list;
    int length;

    if (sentences->full)
        return;
    va_start(list, format);
    length = vsnprintf(sentences->buffer + sentences->length, room, format, list);
    va_end(list);
    if (length < 0 || (size_t)length >= room) {
        sentences->buffer[sentences->length] = '\0';
        sentences->full = true;
        return;
    }
    sentences->length += (size_t)length;
}

/* The command's words, each quoted where it has to be, cut at SUMMARY_COMMAND bytes. */
static void quote_command(char *const *command, struct text *text)
{
    char word[SUMMARY_NAME + 16];

    for (size_t i = 0; command && command[i]; i++) {
        text_quote(word, sizeof(word), command[i], SUMMARY_NAME);
        if (text->length + strlen(word) > SUMMARY_COMMAND) {
            text_add(text, " …");
            break;
        }
        text_addf(text, "%s%s", i > 0 ? " " : "", word);
    }
}

static void add_start(const struct report *report, struct sentences *sentences)
{
    static const char *const networks[] = {[NETWORK_NONE] = "no network",
                                           [NETWORK_LISTED] = "listed network",
                                           [NETWORK_HOST] = "the host's network"};
    const struct resolved *resolved = report->resolved;
    struct text command = {0};
    char cwd[SUMMARY_NAME + 16];

    quote_command(report->command, &command);
    if (report->outcome.kind == OUTCOME_NOT_STARTED)
        add_sentence(sentences, "Did not run %s: %s (%s).", command.data ? command.data : "anything",
                     error_name(report->error.code), report->error.reason);
    else
        add_sentence(
            sentences, "Ran %s in %s (%s, %s, backend %s%s%s).", command.data ? command.data : "nothing",
            resolved && resolved->cwd ? text_quote(cwd, sizeof(cwd), resolved->cwd, SUMMARY_NAME) : "?",
            resolved ? mode_name(resolved->mode) : "?",
            !resolved                                   ? "?"
            : resolved->mode == MODE_DANGER_FULL_ACCESS ? networks[NETWORK_HOST]
            : report->plan && report->plan->advisory    ? "advisory network list"
                                                        : networks[resolved->policy->network],
            report->backend ? report->backend : "none", resolved && resolved->session ? ", session " : "",
            resolved && resolved->session ? resolved->session->name : "");
    text_free(&command);
}

static void add_outcome(const struct outcome *outcome, struct sentences *sentences)
{
    switch (outcome->kind) {
    case OUTCOME_NOT_STARTED:
        break;
    case OUTCOME_EXITED:
        add_sentence(sentences, " Exit %d.", outcome->status);
        break;
    case OUTCOME_SIGNALED:
        add_sentence(sentences, " Ended by signal %d (%s).", outcome->signal, strsignal(outcome->signal));
        break;
    case OUTCOME_TIMED_OUT:
        add_sentence(sentences, " Ended by the time limit after %llu ms.",
                     (unsigned long long)outcome->wall_ms);
        break;
    case OUTCOME_LIMIT:
        if (outcome->limit && strcmp(outcome->limit, "control") == 0)
            add_sentence(sentences, " Killed over the control channel.");
        else
            add_sentence(sentences, " Ended by the limit %s.", outcome->limit ? outcome->limit : "?");
        break;
    }
    if (outcome->output_truncated)
        add_sentence(sentences, " Its output was cut off by the limit output.");
    if (outcome->survivors_killed > 0)
        add_sentence(sentences, " %u process%s left behind %s killed.", outcome->survivors_killed,
                     outcome->survivors_killed == 1 ? "" : "es",
                     outcome->survivors_killed == 1 ? "was" : "were");
}

/* How the network was used, the first thing that it did not give, and what could not be reached: the program
 * saw no more of that than a reset. */
static void add_network(const struct report *report, struct sentences *sentences)
{
    const struct connections *connections = &report->connections;
    long long total = connections_total(connections), refused = connections_refused(connections);
    long long failed = connections_failed(connections);
    const struct connection *item, *first = NULL;
    struct text names = {0};
    char name[SUMMARY_NAME + 16];

    if (total == 0)
        return;
    for (size_t i = 0; !first && (item = connections_at(connections, i)); i++)
        if (item->refused && item->name)
            first = item;
    add_sentence(sentences, " Network: %lld connection%s, %lld refused", total, total == 1 ? "" : "s",
                 refused);
    if (first)
        add_sentence(sentences, ", first %s (%s)", text_quote(name, sizeof(name), first->name, SUMMARY_NAME),
                     first->refused);
    connections_say_failed(connections, SUMMARY_FAILED, SUMMARY_HOST, false, &names);
    if (failed > 0)
        add_sentence(sentences, "%s %lld failed: %s", first ? ";" : ",", failed,
                     names.data ? names.data : "?");
    add_sentence(sentences, ".");
    text_free(&names);
}

static bool is_unconfined(const struct report *report)
{
    return report->resolved && report->resolved->mode == MODE_DANGER_FULL_ACCESS;
}

static void add_gaps(const struct report *report, struct sentences *sentences)
{
    struct text names = {0};
    unsigned count = 0;

    for (int s = 0; s < SURFACE_COUNT; s++)
        if (report_gap(report, (enum surface)s) && ++count <= 6)
            text_addf(&names, "%s%s", count > 1 ? ", " : "", surface_table[s].name);
    if (report->outcome.kind == OUTCOME_NOT_STARTED)
        add_sentence(sentences, " No process of the command was started.");
    else if (report_enforcement(report) == ENFORCEMENT_NONE)
        add_sentence(sentences, " Nothing was enforced.");
    else if (count == 0 && is_unconfined(report))
        add_sentence(sentences, " Nothing but its limits was enforced.");
    else if (is_unconfined(report))
        add_sentence(sentences, " Nothing but its limits was enforced, and in part: %s.",
                     names.data ? names.data : "?");
    else if (count == 0)
        add_sentence(sentences, " Everything that the policy claims was enforced and shown.");
    else
        add_sentence(sentences, count > 6 ? " Not held in full: %s and %u more." : " Not held in full: %s.",
                     names.data ? names.data : "?", count - 6);
    text_free(&names);
}

/* What somebody allowed while it ran. */
static void add_approvals(const struct report *report, struct sentences *sentences)
{
    uint64_t total = approvals_total(&report->approvals);

    if (total > 0)
        add_sentence(sentences,
                     " %llu access%s outside the grants %s approved while it ran (see `approvals`).",
                     (unsigned long long)total, total == 1 ? "" : "es", total == 1 ? "was" : "were");
}

/* What an agent may do instead: for what it would have written there is the workspace; for a host, none. */
static const char *find_instead(const struct denial *denial)
{
    return !denial->address && denial->key && strcmp(denial->key, "write") == 0 && !denial->writes
               ? "write below the workspace, or ask for"
               : "ask for";
}

/* What no option would grant, because files' modes refuse it as well. @count: of all refusals */
static void add_modes(const struct denial_list *denials, size_t count, struct sentences *sentences)
{
    size_t by_mode = 0;

    for (size_t i = 0; i < denials->count; i++)
        by_mode += denials->items[i].noise == DENIAL_NOTABLE && denials->items[i].by_mode;
    if (by_mode == count && by_mode > 0)
        add_sentence(sentences, " File modes refuse %s as well, so no option would help.",
                     count == 1 ? "it" : "them");
    else if (by_mode > 0)
        add_sentence(sentences, " %zu of them %s refused by file modes as well: no option would help there.",
                     by_mode, by_mode == 1 ? "is" : "are");
}

/* Does a filter refuse every socket of this kind, before anybody can look? */
static bool has_filter(const struct report *report, enum surface surface)
{
    const struct claim *claim = &report->plan->claims[surface];

    for (size_t i = 0; i < claim->by_count; i++)
        if (claim->by[i].mechanism == MECHANISM_SECCOMP)
            return true;
    return false;
}

/* What a filter refuses, where it failed and that may have been why. */
static void add_unseen(const struct report *report, struct sentences *sentences)
{
    static const struct {
        enum surface surface;
        const char *what;
    } unseen[] = {{SURFACE_NET_TCP, "sockets of the network, of loopback too"},
                  {SURFACE_UNIX_PATH, "Unix sockets (but with --open unix.path)"},
                  {SURFACE_IPC_SYSV, "System V IPC (but with --open ipc.sysv)"}};
    struct text names = {0};

    if (report->outcome.kind != OUTCOME_EXITED || report->outcome.status == 0 || !report->plan)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(unseen); i++)
        if (has_filter(report, unseen[i].surface))
            text_addf(&names, "%s%s", names.length > 0 ? "; " : "", unseen[i].what);
    if (names.data)
        add_sentence(sentences, " Refused, and not observed with this backend: %s.", names.data);
    text_free(&names);
}

/* What was refused, if anybody looked. */
static void add_denials(const struct report *report, struct sentences *sentences)
{
    const struct denial_list *denials = &report->denials;
    size_t count = denials_notable(denials), said = 0;
    struct text names = {0}, option = {0};
    const char *instead = "ask for", *warning = NULL;

    if (!denials->known) {
        add_sentence(sentences, denials->channel && strcmp(denials->channel, "none") != 0 &&
                                        strcmp(denials->channel, "inferred") != 0
                                    ? " What was refused is not known in full."
                                    : " No denial observer ran.");
        if (denials->inferred_count > 0)
            add_sentence(sentences,
                         " %zu line%s of its error output read%s like a refusal, which the sandbox or a file "
                         "mode may have made.",
                         denials->inferred_count, denials->inferred_count == 1 ? "" : "s",
                         denials->inferred_count == 1 ? "s" : "");
        else if (report->outcome.kind == OUTCOME_EXITED && report->outcome.status != 0 && count == 0)
            add_sentence(sentences,
                         " \"Permission denied\" for something outside the workspace may have been "
                         "the sandbox, not the program.");
    } else if (count == 0 && denials->unreadable > 0) {
        add_sentence(sentences, " What was refused is not known: %llu call%s could not be read.",
                     (unsigned long long)denials->unreadable, denials->unreadable == 1 ? "" : "s");
    } else if (count == 0) {
        add_sentence(sentences, " No refused access was observed.");
    }
    if (denials->known)
        add_unseen(report, sentences);
    for (size_t i = 0; i < denials->count && said < 3; i++) {
        if (denials->items[i].noise != DENIAL_NOTABLE)
            continue;
        text_add(&names, said++ > 0 ? ", " : "");
        denial_say(&denials->items[i], SUMMARY_NAME, &names);
        if (!denials->items[i].key && !denials->items[i].other_way && !warning)
            warning = denials->items[i].warning;
        if (option.length > 0)
            continue;
        denial_advise(&denials->items[i], &option);
        instead = find_instead(&denials->items[i]);
    }
    if (count > said)
        text_addf(&names, " and %zu more", count - said);
    if (count > 0 && names.data)
        add_sentence(sentences, " %zu access%s refused: %s.", count, count == 1 ? "" : "es", names.data);
    add_modes(denials, count, sentences);
    if (option.length > 0)
        add_sentence(sentences, " This was the sandbox, not the program: %s %s.", instead, option.data);
    if (warning)
        add_sentence(sentences, " No option is offered for what %s.", warning);
    text_free(&names);
    text_free(&option);
}

/* What it was told of and did not find: the program says that there is no such file, and outside there is. In
 * a workspace that lies in such a place what it looked for may be beside it. */
static void add_absent(const struct report *report, struct sentences *sentences)
{
    const struct strings *absent = &report->absent;
    const struct resolved *resolved = report->resolved;
    struct text names = {0}, options = {0};
    char name[SUMMARY_NAME + 16];

    for (size_t i = 0; i < absent->count; i++) {
        text_quote(name, sizeof(name), absent->items[i], SUMMARY_NAME);
        text_addf(&names, "%s%s", i > 0 ? ", " : "", name);
        text_addf(&options, "%s--read %s", i > 0 ? " " : "", name);
    }
    if (names.data && options.data)
        add_sentence(sentences, " Not there inside, because that place is private: %s; ask for %s.",
                     names.data, options.data);
    else if (report->outcome.kind == OUTCOME_EXITED && report->outcome.status != 0 && report->plan &&
             report->plan->own_tmp && resolved->workspace && path_contains("/tmp", resolved->workspace))
        add_sentence(sentences,
                     " /tmp is private: what lies beside the workspace is not there inside (ask for "
                     "--read PATH).");
    text_free(&names);
    text_free(&options);
}

/* A group counts what it refuses, and a warning says so (limits_tell()). */
static bool is_counted(const struct report *report, enum surface surface)
{
    const struct claim *claim = &report->plan->claims[surface];

    for (size_t i = 0; i < claim->by_count; i++)
        if (claim->by[i].mechanism == MECHANISM_CGROUP)
            return true;
    return false;
}

/* Limits that are met between the kernel and a program alone: that may have been why it failed. */
static void add_unseen_limits(const struct report *report, struct sentences *sentences)
{
    static const struct {
        const char *name, *words;
        size_t limit; /* in the policy */
        enum surface surface;
    } rows[] = {
        {"file_size", "File too large", offsetof(struct policy, limit_file_size), SURFACE_LIMIT_FILE_SIZE},
        {"tmp_size", "No space left on device", offsetof(struct policy, limit_tmp_size),
         SURFACE_LIMIT_TMP_SIZE},
        {"processes", "Resource temporarily unavailable", offsetof(struct policy, limit_processes),
         SURFACE_LIMIT_PROCESSES},
    };

    if (report->outcome.kind != OUTCOME_EXITED || report->outcome.status == 0 || !report->resolved ||
        !report->plan)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        uint64_t limit;

        memcpy(&limit, (const char *)report->resolved->policy + rows[i].limit, sizeof(limit));
        if (limit > 0 && !is_counted(report, rows[i].surface))
            add_sentence(sentences, " \"%s\" may have been the limit %s.", rows[i].words, rows[i].name);
    }
}

static void add_planted(const struct planted_list *planted, struct sentences *sentences)
{
    size_t moved = 0;

    for (size_t i = 0; i < planted->count; i++)
        moved += planted->items[i].moved != NULL;
    if (planted->count == 1)
        add_sentence(
            sentences,
            moved ? " 1 thing that it wrote was moved aside: it would run later outside (see `planted`)."
                  : " 1 thing that it wrote runs later outside (see `planted`).");
    else if (planted->count > 1 && moved == planted->count)
        add_sentence(
            sentences,
            " %zu things that it wrote were moved aside: they would run later outside (see `planted`).",
            moved);
    else if (planted->count > 1 && moved > 0)
        add_sentence(sentences,
                     " %zu things that it wrote run later outside; moved aside: %zu (see `planted`).",
                     planted->count, moved);
    else if (planted->count > 1)
        add_sentence(sentences, " %zu things that it wrote run later outside (see `planted`).",
                     planted->count);
    if (planted->looked && planted->incomplete)
        add_sentence(sentences, " Not all that it wrote was looked at for what runs later outside (%s).",
                     planted->incomplete);
}

void report_summary(const struct report *report, char *buffer, size_t size)
{
    struct sentences sentences = {.buffer = buffer, .size = size < SUMMARY_MAX ? size : SUMMARY_MAX};
    const struct outcome *outcome = &report->outcome;

    if (size == 0)
        return;
    buffer[0] = '\0';
    add_start(report, &sentences);
    add_outcome(outcome, &sentences);
    add_network(report, &sentences);
    add_gaps(report, &sentences);
    add_planted(&report->planted, &sentences);
    if (outcome->kind == OUTCOME_NOT_STARTED || report_enforcement(report) == ENFORCEMENT_NONE ||
        is_unconfined(report))
        return;
    add_approvals(report, &sentences);
    add_absent(report, &sentences);
    add_denials(report, &sentences);
    add_unseen_limits(report, &sentences);
}
