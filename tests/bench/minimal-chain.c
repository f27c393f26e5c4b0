/*
 * minimal-chain.c - the least that three guarantees cost: what a chain of the backend landlock is measured
 * against.
 *
 *     minimal-chain LAYERS PAIRS INSTRUCTIONS WRITABLE COMMAND [ARG]...
 *
 * LAYERS 0 to 3 of Landlock: files (`/` readable, WRITABLE writable), the scopes of signals and abstract
 * sockets, and READ_FILE for each entry of `/` but /dev. With one layer all of it is in that one, which no
 * link can do alone. PAIRS 1: before each layer a child that can be inspected, and afterwards can not.
 * INSTRUCTIONS of a system call filter; 0: none. Nothing else is checked, nothing is resolved, nothing is
 * closed.
 */
#include "links/kernel_abi.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILTER_MOST 1000
#define STEPS       12
#define READ_RIGHTS (LANDLOCK_FS_EXECUTE | LANDLOCK_FS_READ_FILE | LANDLOCK_FS_READ_DIR)
#define SCOPES      (LANDLOCK_SCOPED_SIGNAL | LANDLOCK_SCOPED_ABSTRACT)

static int allow_at(int ruleset, int at, const char *name, uint64_t access)
{
    int fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    int error = fd < 0 ? -1 : landlock_allow_path(ruleset, fd, access);

    close(fd);
    return error;
}

/* Each entry of `/` but /dev. */
static int allow_siblings(int ruleset)
{
    DIR *root = opendir("/");
    int error = 0;

    for (struct dirent *entry; root && error == 0 && (entry = readdir(root));)
        if (entry->d_type != DT_LNK && entry->d_name[0] != '.' && strcmp(entry->d_name, "dev") != 0)
            error = allow_at(ruleset, dirfd(root), entry->d_name, LANDLOCK_FS_READ_FILE);
    if (root)
        closedir(root);
    return root ? error : -1;
}

static int end_child(void *unused)
{
    (void)unused;
    kernel_call(SYS_exit_group, 0, 0, 0, 0, 0, 0);
    return 0;
}

static int inspect(pid_t child)
{
    void *head;
    size_t size;

    return (int)kernel_call(SYS_get_robust_list, child, KERNEL_PTR(&head), KERNEL_PTR(&size), 0, 0, 0);
}

/* Enters the domain of RULESET, with the pair around it. Return: 0 or -1. */
static int enter(int ruleset, bool pair)
{
    static char stack[512] __attribute__((aligned(16)));
    pid_t child =
        pair ? clone(end_child, stack + sizeof(stack), CLONE_VM | CLONE_FS | CLONE_SIGHAND, NULL) : 0;

    if (pair && (child < 0 || inspect(child) != 0))
        return -1;
    if (ruleset < 0 || landlock_restrict(ruleset, 0) != 0)
        return -1;
    close(ruleset);
    if (pair && (inspect(child) != -EPERM || waitpid(child, NULL, __WALL) != child))
        return -1;
    return 0;
}

/* The layers, or all that they hold in one. Return: 0 or -1. */
static int restrict_all(int layers, bool pairs, const char *writable)
{
    struct landlock_ruleset_attr files = {.handled_access_fs =
                                              landlock_mask(LANDLOCK_FAMILY_FS, landlock_abi())};
    struct landlock_ruleset_attr scopes = {.scoped = SCOPES};
    struct landlock_ruleset_attr hide = {.handled_access_fs = LANDLOCK_FS_READ_FILE | LANDLOCK_FS_REFER};
    bool single = layers == 1;
    int ruleset;

    if (single)
        files.scoped = SCOPES;
    if (layers > 1 && enter(landlock_create(&scopes), pairs) != 0)
        return -1;
    ruleset = landlock_create(&files);
    if (allow_at(ruleset, AT_FDCWD, "/", READ_RIGHTS & ~(single ? LANDLOCK_FS_READ_FILE : 0)) != 0 ||
        allow_at(ruleset, AT_FDCWD, writable, files.handled_access_fs) != 0 ||
        (single && allow_siblings(ruleset) != 0) || enter(ruleset, pairs) != 0)
        return -1;
    if (layers < 3)
        return 0;
    ruleset = landlock_create(&hide);
    if (allow_at(ruleset, AT_FDCWD, "/", LANDLOCK_FS_REFER) != 0 || allow_siblings(ruleset) != 0)
        return -1;
    return enter(ruleset, pairs);
}

/* So many instructions, of which a call sees STEPS, as in a search tree. */
static int load_filter(size_t instructions)
{
    static struct sock_filter code[FILTER_MOST];
    struct sock_fprog program = {.len = (unsigned short)instructions, .filter = code};

    if (instructions == 0)
        return 0;
    for (size_t i = 0; i + 1 < instructions; i++)
        code[i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)i + 1000, 0, 0);
    code[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
    code[STEPS] = (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, (uint32_t)(instructions - STEPS - 2));
    code[instructions - 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    return (int)kernel_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, KERNEL_PTR(&program), 0, 0, 0);
}

int main(int argc, char **argv, char **envp)
{
    int layers = argc > 5 ? atoi(argv[1]) : 0, instructions = argc > 5 ? atoi(argv[3]) : -1;

    if (layers < 0 || layers > 3 || instructions < 0 || instructions > FILTER_MOST ||
        (instructions > 0 && instructions < STEPS + 2))
        return 125;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        (layers > 0 && restrict_all(layers, argv[2][0] == '1', argv[4]) != 0) ||
        load_filter((size_t)instructions) != 0)
        return 125;
    execve(argv[5], argv + 5, envp);
    return 125;
}
