/*
 * run.c - `confine run`: everything between the words on the command line and the report.
 *
 * Should:  end every way with one status, one line for people at most per fact, and one report where one was
 *          asked for.
 * Mustn't: start anything before the report's file is open.
 */
#include "run/run.h"
#include "cli/ask.h"
#include "cli/attach.h"
#include "cli/cli.h"
#include "cli/confinement.h"
#include "cli/output.h"
#include "cli/session.h"
#include "run/control.h"
#include "run/forerunner.h"
#include "run/planted.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* A name for this run that no other one has. */
static int name_run(struct report *report, struct error *error)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char random[16];

    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return error_set(error, ERROR_INTERNAL, EIO, "no-random", "getrandom: no random bytes");
    for (size_t i = 0; i < sizeof(random); i++) {
        report->run_id[2 * i] = digits[random[i] >> 4];
        report->run_id[2 * i + 1] = digits[random[i] & 15];
    }
    if (clock_gettime(CLOCK_REALTIME, &report->started) != 0)
        return error_set(error, ERROR_INTERNAL, errno, "no-clock", "clock_gettime: %s", strerror(errno));
    return 0;
}

/* Where it is told what happened. */
struct outputs {
    struct output report;
    struct control control;
};

/* The first error is the one that is reported; a second one is said. */
static int keep_error(struct report *report, int result, struct error *error)
{
    if (error->code == ERROR_NONE)
        error_set(error, ERROR_INTERNAL, -result, "control-unusable", "control: %s", strerror(-result));
    if (report->error.code == ERROR_NONE)
        report->error = *error;
    else
        cli_fail(error);
    return result;
}

/* The report's file, once the grants are known or when they never will be, and the channel, which says why
 * the report has none. */
static int open_outputs(struct outputs *outputs, const struct options *options, struct report *report)
{
    struct error of_report = {0}, of_control = {0};
    int result = 0, attached = 0, fd = -1;

    if (options->report)
        result = output_open(&outputs->report, "report", options->report, report->resolved, &of_report);
    if (result < 0)
        keep_error(report, result, &of_report);
    if (options->control)
        attached = attach_control(options->control, outputs->report.fd, report->resolved, &fd, &of_control);
    if (fd >= 0)
        attached = control_begin(&outputs->control, fd);
    if (attached < 0)
        keep_error(report, attached, &of_control);
    return result < 0 ? result : attached;
}

/* What the report says of the choice; without a plan there is no backend. */
static void note_choice(const struct confinement *confinement, struct report *report)
{
    report->tried_count = confinement->tried_count;
    memcpy(report->tried, confinement->tried, sizeof(report->tried));
    report->plan = confinement->has_plan ? &confinement->plan : NULL;
    report->backend = confinement->has_plan ? confinement->plan.backend : NULL;
}

/* Will anybody see what is refused? */
static bool is_watched(const struct options *options, const struct policy *policy)
{
    bool told = options->report || options->control;

    return policy->denials == DENIALS_ON || policy->denials == DENIALS_READS ||
           (policy->denials == DENIALS_AUTO &&
            (told || (options->verbosity >= 0 && isatty(STDERR_FILENO)) || options->verbosity > 0));
}

/* Everything between parsed options and the start. Return: 0, or a negative errno with the report's error. */
static int prepare(struct confinement *confinement, const struct options *options, struct outputs *outputs,
                   char **envp, struct report *report)
{
    int result = cli_refuse_closed(&report->error), opened;

    if (result == 0)
        result = session_take_early(options, envp, &report->error);
    if (result == 0)
        result = confinement_resolve(confinement, options, envp, &report->error);
    if (result == 0)
        result = ask_refuse(options, &confinement->policy, confinement->resolved.mode, &report->error);
    if (confinement->has_resolved)
        report->resolved = &confinement->resolved;
    opened = open_outputs(outputs, options, report);
    if (result < 0 || opened < 0)
        return result < 0 ? result : opened;
    confinement->resolved.observed = is_watched(options, &confinement->policy);
    result = confinement_plan(confinement, true, &report->error);
    note_choice(confinement, report);
    return result;
}

/*
 * The attested start is the probe: what this machine cannot do shows itself there, before the command exists,
 * and then the next candidate starts. What failed for any other reason is the end of the run.
 */
static int start(struct confinement *confinement, const struct options *options, struct control *control,
                 struct report *report)
{
    for (;;) {
        struct error failed;
        int status = run_supervised(&confinement->plan, &confinement->resolved, &confinement->host,
                                    options->argv, control->fd < 0 ? NULL : control, report);
        int result;

        if (report->outcome.kind != OUTCOME_NOT_STARTED || report->error.code == ERROR_NONE)
            return status;
        failed = report->error;
        result = confinement_again(confinement, true, &failed, &report->error);
        note_choice(confinement, report);
        if (result < 0)
            return cli_status(&report->error);
        if (result > 0) {
            report->error = failed;
            return status;
        }
        report->error = (struct error){0};
        strings_free(&report->ephemeral);
    }
}

static void write_report(struct output *output, const struct report *report)
{
    struct error error = {0};
    struct text text = {0};

    if (output->fd < 0)
        return;
    if (report_json(report, &text) < 0)
        error_no_memory(&error);
    else
        output_write(output, &text, &error);
    text_free(&text);
    /* The command ran and its status is the truth about it; the lost report is said. */
    if (error.code != ERROR_NONE)
        cli_fail(&error);
}

/* People first, then the file, then the channel: a reader that waits for one finds everything before it. */
static void finish(const struct options *options, struct outputs *outputs, const struct report *report,
                   int status)
{
    bool told = options->report || options->control;
    struct error error = {0};
    struct text text = {0};
    int result;

    report_people(report, told ? -1 : options->verbosity, &text);
    cli_say(&text);
    write_report(&outputs->report, report);
    result = control_finish(&outputs->control, report, status);
    if (result == 0)
        return;
    error_set(&error, ERROR_INTERNAL, -result, "control-failed", "control: nobody took the last line: %s",
              strerror(-result));
    cli_fail(&error);
}

int command_run(char **argv, char **envp)
{
    /* Once per process. On the stack, that guards itself page by page, all of their pages would be touched.
     */
    static struct confinement confinement;
    static struct report report;
    static struct outputs outputs;
    static struct options options;
    struct text text = {0};
    int result, named, status;

    report.outcome.status = -1;
    outputs.report = OUTPUT_NONE;
    outputs.control.fd = outputs.control.waiter = -1;
    result = options_parse(&options, "run", FOR_RUN, argv, &report.error);
    if (result == 0 && options.help) {
        options_free(&options);
        help_command(command_by_name("run"), &text);
        return cli_print(&text);
    }
    report.command = options.argv;
    named = name_run(&report, result < 0 ? &(struct error){0} : &report.error);
    if (result < 0)
        open_outputs(&outputs, &options, &report);
    else
        result = named < 0 ? named : prepare(&confinement, &options, &outputs, envp, &report);
    status =
        result == 0 ? start(&confinement, &options, &outputs.control, &report) : cli_status(&report.error);
    forerunner_end();
    finish(&options, &outputs, &report, status);
    planted_gone();
    return status; /* all that is held goes with the process, sooner than it could be given back */
}
