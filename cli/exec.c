/*
 * exec.c - `confine exec`: become the chain, without a supervisor.
 *
 * Should:  refuse by name what only a supervisor can give.
 * Mustn't: leave a file or a process behind: nobody would clean up.
 */
#include "cli/cli.h"
#include "cli/confinement.h"
#include "run/forerunner.h"
#include "run/run.h"

#include <errno.h>

/* What a person should know before the program is another one; afterwards nobody speaks. */
static void say_plan(const struct confinement *confinement, const struct options *options)
{
    struct report report = {
        .command = options->argv, .resolved = &confinement->resolved, .plan = &confinement->plan};
    struct text text = {0};

    if (options->verbosity < 0)
        return;
    report_people(&report, 0, &text);
    if (confinement->resolved.mode == MODE_DANGER_FULL_ACCESS)
        text_add(&text, "confine: danger-full-access: nothing is enforced, every surface is open\n");
    if (options->verbosity > 0)
        report_surfaces(&report, true, &text);
    cli_say(&text);
}

int command_exec(char **argv, char **envp)
{
    /* Once per process. On the stack, that guards itself page by page, all of their pages would be touched.
     */
    static struct confinement confinement;
    static struct error error;
    struct options options;
    struct text text = {0};
    int result, status = -1;

    error.code =
        ERROR_NONE; /* a page that is first read is given twice: as one of zeros, and when it is written */
    result = options_parse(&options, "exec", FOR_EXEC, argv, &error);
    if (result == 0 && options.help) {
        help_command(command_by_name("exec"), &text);
        status = cli_print(&text);
    }
    if (result == 0 && status < 0)
        result = cli_refuse_closed(&error);
    if (result == 0 && status < 0)
        result = confinement_resolve(&confinement, &options, envp, &error);
    if (result == 0 && status < 0)
        result = confinement_plan(&confinement, false, &error);
    if (result == 0 && status < 0) {
        say_plan(&confinement, &options);
        status = run_exec(&confinement.plan, &confinement.resolved, &confinement.host, options.argv, &error);
    }
    forerunner_end();
    if (error.code != ERROR_NONE)
        status = cli_fail(&error);
    confinement_free(&confinement);
    options_free(&options);
    return status;
}
