/*
 * lie.c - run a program under a system call filter that answers for the kernel.
 *
 *     lie CALL=ERRNO[,CALL=ERRNO]... COMMAND [ARG]...
 *
 * ERRNO 0 is a lie: success without effect. The others stand for kernels and
 * container engines that refuse.
 */
#include "../../links/kernel_abi.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static const struct {
    const char *name;
    long number;
} calls[] = {
    {"landlock_create_ruleset", SYS_landlock_create_ruleset},
    {"landlock_add_rule", SYS_landlock_add_rule},
    {"landlock_restrict_self", SYS_landlock_restrict_self},
    {"seccomp", SYS_seccomp},
    {"capset", SYS_capset},
    {"capget", SYS_capget},
    {"prctl", SYS_prctl},
    {"setgroups", SYS_setgroups},
    {"setresuid", SYS_setresuid},
    {"setresgid", SYS_setresgid},
    {"close_range", SYS_close_range},
    {"clone", SYS_clone},
    {"get_robust_list", SYS_get_robust_list},
    {"kill", SYS_kill},
    {"openat", SYS_openat},
    {"fstat", SYS_fstat},
    {"keyctl", SYS_keyctl},
    {"setsid", SYS_setsid},
    {"prlimit64", SYS_prlimit64},
    {"getdents64", SYS_getdents64},
    {"unshare", SYS_unshare},
    {"setns", SYS_setns},
    {"read", SYS_read},
    {"mount", SYS_mount},
    {"mount_setattr", SYS_mount_setattr},
    {"renameat", SYS_renameat},
    {"renameat2", SYS_renameat2},
    {"open_tree", SYS_open_tree},
    {"move_mount", SYS_move_mount},
    {"openat2", SYS_openat2},
    {"mkdirat", SYS_mkdirat},
    {"write", SYS_write},
    {"chdir", SYS_chdir},
    {"ioctl", SYS_ioctl},
    {"close", SYS_close},
    {"sendmsg", SYS_sendmsg},
#ifdef SYS_open /* newer machines have openat and dup3 alone */
    {"dup2", SYS_dup2},
    {"open", SYS_open},
#endif
};

static long number_of(const char *name)
{
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (strcmp(calls[i].name, name) == 0)
            return calls[i].number;
    fprintf(stderr, "lie: unknown call %s\n", name);
    exit(99);
}

int main(int argc, char **argv)
{
    struct sock_filter code[64] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    struct sock_fprog program = {.len = 1, .filter = code};

    if (argc < 3)
        return 99;
    for (char *word = strtok(argv[1], ","); word; word = strtok(NULL, ",")) {
        char *value = strchr(word, '=');

        if (!value || program.len > 60)
            return 99;
        *value++ = '\0';
        code[program.len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number_of(word), 0, 1);
        code[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | atoi(value));
    }
    code[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        kernel_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, KERNEL_PTR(&program), 0, 0, 0) != 0) {
        perror("lie");
        return 99;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 99;
}
