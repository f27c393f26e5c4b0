/*
 * mcp.c - `confine mcp`.
 *
 * Should:  refuse options that no run could have, before the first message.
 */
#include "cli/cli.h"
#include "cli/confinement.h"

#include "mcp/mcp.h"
#include "report/report.h"

int command_mcp(char **argv, char **envp)
{
    static struct confinement confinement;
    struct options options = {0};
    struct error error = {0};
    int r = options_parse(&options, "mcp", FOR_MCP, argv, &error);

    if (r == 0 && options.help) {
        struct text text = {0};

        help_command(command_by_name("mcp"), &text);
        options_free(&options);
        return cli_print(&text);
    }
    if (r == 0)
        r = confinement_resolve(&confinement, &options, envp, &error); /* what is wrong with it is said now */
    confinement_free(&confinement);
    if (r == 0)
        r = mcp_serve(argv, CONFINE_VERSION, &error);
    options_free(&options);
    return r < 0 ? cli_fail(&error) : 0;
}
