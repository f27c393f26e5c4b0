/*
 * fence.c - `confine fence`.
 *
 * Should:  say what is wrong with the options on the socket as well: whoever starts this may see nothing
 * else.
 */
#include "cli/cli.h"
#include "cli/confinement.h"

#include "fence/fence.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Return: 0 or a negative errno with @error. */
static int check_socket(struct error *error)
{
    int type = 0, domain = 0;
    socklen_t size = sizeof(type);

    if (getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET &&
        getsockopt(STDIN_FILENO, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX)
        return 0;
    error_set(error, ERROR_USAGE, EINVAL, "no-socket",
              "stdin: a fence answers on a socket, and this is none");
    return error_hint(error, "start it from a program, with one of socketpair(AF_UNIX, SOCK_SEQPACKET)");
}

/* Who says that nothing may run does not mean that its files may be had. */
static int refuse_all(const struct policy *policy, struct error *error)
{
    if (!policy->backend || strcmp(policy->backend, "refuse") != 0)
        return 0;
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, ENOSYS, "refuse", "the backend refuse opens nothing");
    return error_hint(error, "choose another one: --backend auto");
}

int command_fence(char **argv, char **envp)
{
    static struct confinement confinement;
    struct options options = {0};
    struct error error = {0};
    int r = options_parse(&options, "fence", FOR_FENCE, argv, &error), listens = -1;

    if (r == 0 && options.help) {
        struct text text = {0};

        help_command(command_by_name("fence"), &text);
        options_free(&options);
        return cli_print(&text);
    }
    listens = check_socket(r == 0 ? &error : &(struct error){0});
    r = r == 0 ? listens : r;
    if (r == 0)
        r = confinement_resolve(&confinement, &options, envp, &error);
    if (r == 0)
        r = refuse_all(&confinement.policy, &error);
    if (r == 0)
        r = fence_serve(&confinement.resolved, STDIN_FILENO, &error);
    if (r < 0 && listens == 0)
        fence_refuse(STDIN_FILENO, &error);
    confinement_free(&confinement);
    options_free(&options);
    return r < 0 ? cli_fail(&error) : 0;
}
