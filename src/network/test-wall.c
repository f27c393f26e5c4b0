/* test-wall.c - what either process of the gateway can do behind its walls: each in a process of its own. */
#include "harness.h"

#include "network/wall.h"

#include "links/kernel_abi.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

static int try_open(void)
{
    return open("/etc/passwd", O_RDONLY | O_CLOEXEC);
}

static int try_write_open(void)
{
    return open("/dev/null", O_WRONLY | O_CLOEXEC);
}

static int try_create(void)
{
    char name[PATH_MAX + 8];

    snprintf(name, sizeof(name), "%s/new", test_dir);
    return open(name, O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
}

static int try_path(void)
{
    return open("/", O_PATH | O_CLOEXEC);
}

static int try_unlink(void)
{
    return unlink("/nowhere/at/all");
}

static int try_inet(void)
{
    return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static int try_inet6(void)
{
    return socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static int try_unix(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static int try_pair(void)
{
    int ends[2];

    return socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
}

static int try_netlink(void)
{
    return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0);
}

static int try_vsock(void)
{
    return socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static int try_listen(void)
{
    return listen(-1, 1);
}

static int try_exec(void)
{
    char name[] = "true", *argv[] = {name, NULL};

    return execve("/nowhere/at/all", argv, argv + 1);
}

static int try_fork(void)
{
    pid_t child = fork();

    if (child == 0)
        syscall(SYS_exit_group, 0);
    return child < 0 ? -1 : 0; /* the resolver does not wait for its own */
}

static int try_thread(void)
{
    return (int)syscall(SYS_clone, 0x00010f00 /* VM, FS, FILES, SIGHAND, THREAD */, 0, 0, 0, 0);
}

static int try_namespace(void)
{
    return (int)syscall(SYS_clone, 0x10000000 | SIGCHLD, 0, 0, 0, 0);
}

static int try_kill(void)
{
    return kill(getppid(), 0);
}

static int try_trace(void)
{
    return (int)syscall(SYS_ptrace, 0, 0, 0, 0);
}

static int try_read_memory(void)
{
    return (int)syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0);
}

static int try_map_code(void)
{
    /* By number: one C library has another word for this refusal. */
    long page = syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return page == -1 ? -1 : 0;
}

static int try_make_code(void)
{
    static _Alignas(4096) char page[4096];

    return mprotect(page, sizeof(page), PROT_READ | PROT_EXEC);
}

static int try_map(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return page == MAP_FAILED ? -1 : 0;
}

static int try_dumpable(void)
{
    return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

static int try_ring(void)
{
    return (int)syscall(SYS_io_uring_setup, 1, NULL);
}

static int try_open2(void)
{
    return (int)syscall(SYS_openat2, AT_FDCWD, "/", NULL, 0);
}

static int try_take_descriptor(void)
{
    return (int)syscall(SYS_pidfd_open, getppid(), 0);
}

#define ALLOWED 0

/* The errno with which each is stopped; ALLOWED: it is needed. */
static const struct row {
    const char *name;
    int (*act)(void);
    int gateway, resolver;
} rows[] = {
    {"open a file", try_open, EPERM, ALLOWED},
    {"open for writing", try_write_open, EPERM, EPERM},
    {"create", try_create, EPERM, EPERM},
    {"open neither", try_path, EPERM, EPERM},
    {"openat2", try_open2, EPERM, EPERM},
    {"unlink", try_unlink, EPERM, EPERM},
    {"a TCP socket", try_inet, ALLOWED, ALLOWED},
    {"a UDP socket of IPv6", try_inet6, ALLOWED, ALLOWED},
    {"a UNIX socket", try_unix, EPERM, EPERM},
    {"a pair of sockets", try_pair, EPERM, EPERM},
    {"netlink", try_netlink, EPERM, EPERM},
    {"vsock", try_vsock, EPERM, EPERM},
    {"listen", try_listen, EPERM, EPERM},
    {"exec", try_exec, EPERM, EPERM},
    {"fork", try_fork, EPERM, ALLOWED},
    {"a thread", try_thread, EPERM, EPERM},
    {"a namespace", try_namespace, EPERM, EPERM},
    {"kill", try_kill, EPERM, EPERM},
    {"ptrace", try_trace, EPERM, EPERM},
    {"another's memory", try_read_memory, EPERM, EPERM},
    {"another's descriptors", try_take_descriptor, EPERM, EPERM},
    {"map code", try_map_code, EPERM, EPERM},
    {"make code", try_make_code, EPERM, EPERM},
    {"map memory", try_map, ALLOWED, ALLOWED},
    {"become dumpable", try_dumpable, EPERM, EPERM},
    {"a ring", try_ring, EPERM, EPERM},
};

/* What the act answered in a child behind WALL: 0 or errno; 255: the wall could not be had. */
static int behind(const char *(*wall)(void), int (*act)(void))
{
    pid_t child = fork();
    int status = 0;

    need(child >= 0);
    if (child == 0) {
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || wall())
            _exit(255);
        errno = 0;
        /* By number: a sanitizer looks for leaks at an exit, with calls that it does not get here. */
        syscall(SYS_exit_group, act() < 0 ? errno : 0);
    }
    need(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

TEST_EACH(gateway_can_do_what_it_must_and_no_more, struct row, rows)
{
    check_int(behind(wall_gateway, row->act), row->gateway);
}

TEST_EACH(resolver_can_do_what_it_must_and_no_more, struct row, rows)
{
    check_int(behind(wall_resolver, row->act), row->resolver);
}

TEST(files_are_gone)
{
    if (landlock_abi() < 1)
        test_skip("no Landlock here");
    check_int(behind(wall_files, try_open), EACCES);
    check_int(behind(wall_files, try_create), EACCES);
    check_int(behind(wall_files, try_inet), 0);
}

TEST(unconfined_process_is_told_from_a_confined_one)
{
    check_str(wall_attest(), "it can be traced");
    need(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0);
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0)
        check_str(wall_attest(), "no_new_privs is off");
    need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0)
        check_str(wall_attest(), "there is no filter");
}
