/*
 * resolver.c - the process that asks name servers. See resolve.h.
 *
 * As many processes as names are looked up at a time: each takes a question off the one socket, and before it
 * begins it sees to it that another one waits there. They have nothing in common but that socket and a page
 * with two numbers; one that dies of an answer takes one place with it.
 *
 * Should:  end with the gateway.
 * Mustn't: look anything up that is not a canonical name, or hand out what is no address.
 */
#include "network/resolve.h"
#include "network/wall.h"

#include "links/kernel_abi.h"

#include <errno.h>
#include <netdb.h>
#ifdef __GLIBC__
#include <nss.h>
#endif
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

struct shared {
    _Atomic int idle, all;
};

static void look_up(const struct resolve_question *question, struct resolve_answer *answer)
{
    static const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int error = getaddrinfo(question->name, NULL, &hints, &found);

    *answer = (struct resolve_answer){.id = question->id};
    if (error == EAI_NONAME
#ifdef EAI_NODATA
        || error == EAI_NODATA
#endif
    )
        answer->error = RESOLVE_UNKNOWN;
    for (const struct addrinfo *at = error ? NULL : found; at && answer->count < RESOLVE_ADDRESSES;
         at = at->ai_next)
        if (address_read(at->ai_addr, &answer->addresses[answer->count]))
            answer->count++;
    if (answer->count > 0)
        answer->error = RESOLVE_FOUND;
    if (found)
        freeaddrinfo(found);
}

/* Let another one wait for the next question. Return: false in the process that looks up. */
static bool make_another(struct shared *shared)
{
    pid_t parent = getpid(), child;

    if (atomic_fetch_sub(&shared->idle, 1) > 1 || atomic_load(&shared->all) >= RESOLVE_AT_ONCE)
        return false;
    atomic_fetch_add(&shared->all, 1);
    atomic_fetch_add(&shared->idle, 1);
    child = fork();
    if (child < 0) {
        atomic_fetch_sub(&shared->all, 1);
        atomic_fetch_sub(&shared->idle, 1);
    }
    if (child == 0 && (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent))
        _exit(0);
    return child == 0;
}

static void serve(int fd, struct shared *shared)
{
    struct resolve_question question;
    struct resolve_answer answer;

    for (;;) {
        ssize_t got = recv(fd, &question, sizeof(question), 0);
        char name[NAME_SIZE];

        if (got == 0 || (got < 0 && errno != EINTR))
            _exit(0);
        if (got != (ssize_t)sizeof(question) || !memchr(question.name, '\0', sizeof(question.name)))
            continue;
        if (make_another(shared))
            continue;
        answer = (struct resolve_answer){.id = question.id};
        if (name_read(question.name, strlen(question.name), name) && strcmp(name, question.name) == 0)
            look_up(&question, &answer);
        if (send(fd, &answer, sizeof(answer), MSG_NOSIGNAL) != (ssize_t)sizeof(answer))
            _exit(0);
        atomic_fetch_add(&shared->idle, 1);
    }
}

bool resolver_stands(int fd)
{
    char byte;
    ssize_t got;

    do
        got = recv(fd, &byte, sizeof(byte), 0);
    while (got < 0 && errno == EINTR);
    return got == 1;
}

int resolver_start(void)
{
    struct shared *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t parent = getpid(), child;
    int ends[2], errnum;

    if (shared == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return -errno;
    *shared = (struct shared){1, 1};
    child = fork();
    errnum = errno;
    if (child == 0) {
        const char *missing;

        syscall(SYS_close_range, 3, ends[1] - 1, 0); /* none below: EINVAL */
        syscall(SYS_close_range, ends[1] + 1, ~0u, 0);
#ifdef __GLIBC__
        /* What else the machine is configured for would be loaded as code; these two are part of the library.
         */
        __nss_configure_lookup("hosts", "files dns");
#endif
        missing =
            prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent ? "it is alone" : wall_resolver();
        if (!missing && send(ends[1], "", 1, MSG_NOSIGNAL) == 1)
            serve(ends[1], shared);
        fprintf(stderr, "confine-gateway: resolver: %s\n", missing ? missing : "it is alone");
        _exit(125);
    }
    fd_close(ends[1]);
    munmap(shared, sizeof(*shared));
    if (child < 0) {
        fd_close(ends[0]);
        return -errnum;
    }
    return ends[0];
}
