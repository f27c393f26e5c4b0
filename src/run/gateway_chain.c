/*
 * gateway_chain.c - the gateway's process: a helper behind our own links.
 *
 * Should:  leave it the files that a resolver reads, and the network.
 * Mustn't: give it a variable of the caller's: there are secrets among them.
 */
#include "run/gateway.h"

#include "backend/build.h"
#include "kernel/children.h"
#include "run/helper.h"
#include "run/run_error.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORDS_MS 1000 /* how long its last words may take */

/* What a resolver reads. */
static const char *const resolver_files[] = {"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf",
                                             "/etc/host.conf", "/etc/gai.conf"};

/* Where it is a link, the directory of what it leads to: there it is written anew by renaming. Return: a
 * descriptor, or -1: there is none. */
static int open_resolver_file(const char *name)
{
    _cleanup_free_ char *target = NULL;
    struct stat object;
    char *slash;

    if (lstat(name, &object) != 0)
        return -1;
    if (!S_ISLNK(object.st_mode))
        return open(name, O_PATH | O_CLOEXEC);
    target = realpath(name, NULL);
    slash = target ? strrchr(target, '/') : NULL;
    if (!slash || slash == target)
        return -1;
    *slash = '\0';
    return open(target, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int fail(struct error *error, int errnum)
{
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, errnum, "gateway-failed", "cannot start the gateway: %s",
              strerror(errnum));
    error_surface(error, "net.listed");
    return -errnum;
}

int gateway_spawn(struct gateway *gateway, int their_end, struct error *error)
{
    static const char *const opened[] = {"net.inet", NULL};
    _cleanup_fd_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int readable[ARRAY_SIZE(resolver_files)], ends[2];
    char number[16];
    const char *const words[] = {"--channel", number, NULL};
    struct helper helper = {.program = "confine-gateway",
                            .words = words,
                            .readable = readable,
                            .keep = &their_end,
                            .keep_count = 1,
                            .opened = opened,
                            .scoped = gateway->plan->landlock_abi >= ABI_SCOPES,
                            .uid = gateway->resolved->uid,
                            .gid = gateway->resolved->gid};
    pid_t pid;

    if (null < 0 || pipe2(ends, O_CLOEXEC) != 0)
        return fail(error, errno);
    gateway->errors = ends[0];
    snprintf(number, sizeof(number), "%d", their_end);
    helper.standard[0] = helper.standard[1] = null;
    helper.standard[2] = ends[1];
    for (size_t i = 0; i < ARRAY_SIZE(resolver_files); i++) {
        int fd = open_resolver_file(resolver_files[i]);

        if (fd >= 0)
            readable[helper.readable_count++] = fd;
    }
    pid = helper_start(&helper, gateway->resolved, error);
    while (helper.readable_count > 0)
        fd_close(readable[--helper.readable_count]);
    fd_close(ends[1]);
    if (pid < 0)
        return pid;
    gateway->pid = pid;
    children_except(pid);
    return 0;
}

int gateway_failed(struct gateway *gateway, struct error *error)
{
    char words[1024];
    ssize_t size = 0;

    if (error->code != ERROR_NONE)
        return -EPROTO;
    while (gateway->errors >= 0 && size < (ssize_t)sizeof(words) - 1) {
        struct pollfd ready = {.fd = gateway->errors, .events = POLLIN};
        ssize_t got = poll(&ready, 1, WORDS_MS) == 1
                          ? read(gateway->errors, words + size, sizeof(words) - 1 - (size_t)size)
                          : -1;

        if (got <= 0)
            break;
        size += got;
    }
    words[size] = '\0';
    run_error_link(error, words);
    error_surface(error, "net.listed");
    return -EPROTO;
}
