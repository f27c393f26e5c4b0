/*
 * listener.c - can calls be announced to somebody here?
 *
 * A process has one filter that announces, with all that were laid around it: who stands in another
 * confinement may find the place taken.
 */
#include "host/host.h"

#include "host/child.h"
#include "links/kernel_abi.h"

#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define TRY_MS 2000

static void try_listener(int answer, void *data)
{
    struct sock_filter code[] = {{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
    struct sock_fprog program = {.len = ARRAY_SIZE(code), .filter = code};
    char said;

    (void)data;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return;
    said = kernel_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                       KERNEL_PTR(&program), 0, 0, 0) >= 0
               ? 'y'
               : 'n';
    if (write(answer, &said, sizeof(said)) != (ssize_t)sizeof(said))
        _exit(1); /* no answer is one */
}

void host_ask_listener(struct host *host)
{
    char said = 0;

    host->listener = HOST_NOT_ASKED;
    if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 2) /* no filter: the place is free */
        return;
    if (child_ask(try_listener, NULL, &said, sizeof(said), TRY_MS) == (ssize_t)sizeof(said))
        host->listener = said == 'y' ? HOST_YES : HOST_NO;
}
