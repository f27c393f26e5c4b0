/*
 * report_text.c - the report for people on stderr: one line per thing, each `confine: …`.
 *
 * Should:  be silent after an ordinary run unless more is asked for; group forty surfaces into nine lines.
 * Mustn't: print a text from outside that is not quoted; a line never breaks.
 */
#include "report/report.h"

#include "links/channel.h"

#include <string.h>

#define REFUSED_MOST  5 /* lines */
#define FAILED_MOST   5 /* connections */
#define PLANTED_SHOWN 5 /* lines about what was planted */

/* Messages are made of quoted names already. This is the second look: no control reaches the terminal. */
static void add_line(struct text *text, const char *line)
{
    text_add(text, "confine: ");
    for (const char *c = line; *c; c++) {
        unsigned char byte = (unsigned char)*c;

        if (byte < ' ' || byte == 0x7f)
            text_addf(text, "\\x%02x", byte);
        else
            text_add_bytes(text, c, 1);
    }
    text_add(text, "\n");
}

__attribute__((format(printf, 2, 3))) static void add_linef(struct text *text, const char *format, ...)
{
    char line[2048];
    va_list list;

    va_start(list, format);
    vsnprintf(line, sizeof(line), format, list);
    va_end(list);
    add_line(text, line);
}

void report_error(const struct error *error, struct text *text)
{
    if (*error->hint)
        add_linef(text, "%s (%s)", error->message, error->hint);
    else
        add_line(text, error->message);
}

/* What was refused: a few lines, and how many more. */
static void add_refused(const struct report *report, bool everything, struct text *text)
{
    const struct denial_list *denials = &report->denials;
    size_t said = 0, count = everything ? denials->count : denials_notable(denials);

    for (size_t i = 0; i < denials->count && (everything || said < REFUSED_MOST); i++) {
        const struct denial *denial = &denials->items[i];
        /* Where there is another way, why there is no option is no help. */
        const char *barred = denial->other_way ? NULL : denial->warning;
        struct text phrase = {0}, option = {0};

        if (denial->noise != DENIAL_NOTABLE && !everything)
            continue;
        denial_say(denial, 300, &phrase);
        denial_advise(denial, &option);
        add_linef(text, "refused: %s%s%s%s", phrase.data ? phrase.data : "?",
                  option.length > 0 ? "; granted by "
                  : barred          ? "; no option is offered, because it "
                                    : "",
                  option.length > 0 ? option.data
                  : barred          ? barred
                                    : "",
                  denial->by_mode ? "; its mode or owner refuses as well: no option would help" : "");
        text_free(&phrase);
        text_free(&option);
        said++;
    }
    if (count > said)
        add_linef(text, "refused: %zu more", count - said);
    if (denials->inferred_count > 0)
        add_linef(text,
                  "refusals cannot be observed here (%s); %zu line%s of its error output read%s like one: %s",
                  denials->reason ? denials->reason : "none", denials->inferred_count,
                  denials->inferred_count == 1 ? "" : "s", denials->inferred_count == 1 ? "s" : "",
                  denials->inferred[0].line);
}

/* What was allowed and could not be reached: the program saw a reset, and that looks like a refusal of ours.
 * One that answered another time is for who asks for more: a program may well have waited for it. */
static void add_failed(const struct connections *connections, bool everything, struct text *text)
{
    struct text names = {0};

    connections_say_failed(connections, FAILED_MOST, 300, !everything, &names);
    if (names.data)
        add_linef(text, "allowed, but not reached: %s", names.data);
    text_free(&names);
}

_Static_assert(PROCESS_NUMBERS == 300, "a sentence below says how many");

/* Limits that were asked for, and hold in part. */
static void add_weak_limits(const struct report *report, struct text *text)
{
    static const struct {
        const char *reason, *words;
    } weak[] = {
        {"by-numbers",
         "there can be up to 300 processes more (by-numbers): it is exact where confine can make a cgroup"},
        {"per-process",
         "it is the time of each process (per-process), of all of them where confine can make a "
         "cgroup"},
        {"group-writable", "the command may write its cgroup (group-writable)"},
        {"userns-opened", "the command may leave its cgroup by --open priv.userns (userns-opened)"},
        {"limit-lost", "somebody changed it while the command ran (limit-lost)"},
        {"can-leave", "the command can leave its cgroup (can-leave), because nothing confines it"},
    };

    for (int s = SURFACE_LIMIT_TIME; report->plan && s <= SURFACE_LIMIT_CPU; s++) {
        const struct claim *claim = &report->plan->claims[s];

        for (size_t i = 0; claim->state == STATE_PARTIAL && claim->reason && i < ARRAY_SIZE(weak); i++)
            if (strcmp(weak[i].reason, claim->reason) == 0)
                add_linef(text, "%s holds in part: %s", surface_table[s].name, weak[i].words);
    }
}

/* What was planted: a few lines, and how many more there are. */
static void add_planted(const struct planted_list *planted, bool everything, struct text *text)
{
    size_t shown = everything || planted->count <= PLANTED_SHOWN ? planted->count : PLANTED_SHOWN;

    for (size_t i = 0; i < shown; i++) {
        const struct planted_item *item = &planted->items[i];

        add_linef(text, "new, and runs later outside: %s: %s%s%s%s%s", QUOTE(item->path), item->runs,
                  *item->detail ? ": " : "", *item->detail ? QUOTE(item->detail) : "",
                  item->moved   ? "; now "
                  : item->stays ? "; still there: "
                                : "",
                  item->moved   ? QUOTE(item->moved)
                  : item->stays ? item->stays
                                : "");
    }
    if (shown < planted->count)
        add_linef(text, "new, and runs later outside: %zu more (--report has them)", planted->count - shown);
    if (planted->incomplete)
        add_linef(text, "not all of the tree was looked at for what runs later outside: %s",
                  planted->incomplete);
}

/* Notable: what a person would not expect of `COMMAND` alone. */
static void add_notable(const struct report *report, bool everything, struct text *text)
{
    const struct resolved *resolved = report->resolved;
    const struct outcome *outcome = &report->outcome;
    bool planned = report->plan && everything; /* what is true of every run of this backend is no news */
    const struct strings *warnings[] = {resolved ? &resolved->policy->warnings : NULL,
                                        resolved ? &resolved->warnings : NULL,
                                        planned ? &report->plan->warnings : NULL, &report->warnings};

    for (size_t i = 0; i < ARRAY_SIZE(warnings); i++)
        for (size_t j = 0; warnings[i] && j < warnings[i]->count; j++)
            add_linef(text, "warning: %s", warnings[i]->items[j]);
    for (size_t i = 0; resolved && i < resolved->skipped_count; i++)
        add_linef(text, "skipped: %s: %s", QUOTE(resolved->skipped[i].what), resolved->skipped[i].why);
    if (outcome->kind == OUTCOME_NOT_STARTED)
        return;
    if (resolved && resolved->mode == MODE_DANGER_FULL_ACCESS)
        add_line(text,
                 report_enforcement(report) == ENFORCEMENT_NONE
                     ? "danger-full-access: nothing was enforced, every surface was open"
                     : "danger-full-access: nothing but limits was enforced, every other surface was open");
    if (outcome->kind == OUTCOME_TIMED_OUT)
        add_linef(text, "the time limit ended the run after %llu ms", (unsigned long long)outcome->wall_ms);
    if (outcome->kind == OUTCOME_LIMIT)
        add_linef(text, "the limit %s ended the run", outcome->limit ? outcome->limit : "?");
    add_refused(report, everything, text);
    add_weak_limits(report, text);
    add_failed(&report->connections, everything, text);
    if (outcome->output_truncated)
        add_line(text, "output was cut off by the limit output");
    if (outcome->survivors_killed > 0)
        add_linef(text, "%u process%s left behind %s killed", outcome->survivors_killed,
                  outcome->survivors_killed == 1 ? "" : "es",
                  outcome->survivors_killed == 1 ? "was" : "were");
    add_planted(&report->planted, everything, text);
}

/* The words of one group: `fs.write, fs.truncate`. */
static void add_names(struct text *names, const char *name)
{
    text_addf(names, "%s%s", names->length > 0 ? ", " : "", name);
}

/* One line for a group: what held in full, in part, what is open. */
static void add_group(const struct report *report, const char *group, struct text *text)
{
    struct text held = {0}, partial = {0}, open = {0};

    for (int s = 0; s < SURFACE_COUNT; s++) {
        const struct claim *claim = &report->plan->claims[s];
        const char *name = surface_table[s].name;

        if (strcmp(surface_table[s].group, group) != 0)
            continue;
        if (claim->state == STATE_PARTIAL)
            add_names(&partial, name);
        else if (claim->state == STATE_OPEN)
            add_names(&open, name);
        else
            add_names(&held, name);
    }
    text_addf(text, "confine:   %-10s", group);
    if (held.length > 0)
        text_addf(text, " held: %s%s", held.data, partial.length + open.length > 0 ? ";" : "");
    if (partial.length > 0)
        text_addf(text, " in part: %s%s", partial.data, open.length > 0 ? ";" : "");
    if (open.length > 0)
        text_addf(text, " open: %s", open.data);
    text_add(text, "\n");
    text_free(&held);
    text_free(&partial);
    text_free(&open);
}

/* One line for a surface: its state, by what and how that was shown, or what crosses. */
static void add_surface(const struct claim *claim, const struct surface_info *info, struct text *text)
{
    text_addf(text, "confine:     %-16s %-8s", info->name, state_name(claim->state));
    for (size_t i = 0; i < claim->by_count; i++)
        text_addf(text, "%s %s (%s)", i > 0 ? "," : "", mechanism_name(claim->by[i].mechanism),
                  evidence_name(claim->by[i].evidence));
    if (claim->reason)
        text_addf(text, " [%s]", claim->reason);
    if (claim->approved > 0)
        text_addf(text, " [approved: %llu]", (unsigned long long)claim->approved);
    if (claim->state == STATE_OPEN || claim->state == STATE_PARTIAL)
        text_addf(text, " %s", info->what);
    text_add(text, "\n");
}

void report_surfaces(const struct report *report, bool each, struct text *text)
{
    const char *group = "";

    if (!report->plan)
        return;
    for (int s = 0; s < SURFACE_COUNT; s++) {
        if (strcmp(surface_table[s].group, group) != 0) {
            group = surface_table[s].group;
            add_group(report, group, text);
        }
        if (each)
            add_surface(&report->plan->claims[s], &surface_table[s], text);
    }
}

/* The variables that were taken away: a tool that asks for its token in vain is the first thing to look for.
 */
static void add_unset(const struct report *report, struct text *text)
{
    const struct strings *unset = &report->resolved->env_unset;
    struct text names = {0};

    for (size_t i = 0; i < unset->count; i++)
        add_names(&names, QUOTE(unset->items[i]));
    if (names.length > 0)
        add_linef(text, "variables taken away: %s", names.data);
    text_free(&names);
}

void report_people(const struct report *report, int verbosity, struct text *text)
{
    char summary[600];

    if (verbosity >= 0)
        add_notable(report, verbosity > 0, text);
    if (verbosity > 0) {
        for (size_t i = 0; i < report->tried_count; i++)
            add_linef(text, "backend %s passed over: %s", report->tried[i].name, report->tried[i].message);
        report_summary(report, summary, sizeof(summary));
        add_line(text, summary);
        if (report->resolved)
            add_unset(report, text);
        if (report->outcome.kind != OUTCOME_NOT_STARTED)
            report_surfaces(report, true, text);
    }
    if (report->error.code != ERROR_NONE)
        report_error(&report->error, text);
}
