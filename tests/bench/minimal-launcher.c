/*
 * minimal-launcher.c - the least that a Landlock launcher can do; what landlock-run is measured against.
 *
 *     minimal-launcher [--fork] WRITABLE COMMAND [ARG]...
 *
 * One ruleset with all rights of files, `/` readable, WRITABLE writable, restrict, exec. Nothing is checked
 * that need not be. --fork takes and reaps one child before restricting, as any proof from outside has to.
 */
#include "links/kernel_abi.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int allow(int ruleset, const char *path, uint64_t access)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    int error = fd < 0 ? -1 : landlock_allow_path(ruleset, fd, access);

    close(fd);
    return error;
}

int main(int argc, char **argv, char **envp)
{
    struct landlock_ruleset_attr attr = {0};
    bool forking = argc > 1 && strcmp(argv[1], "--fork") == 0;
    int ruleset;
    pid_t child;

    argv += forking ? 2 : 1;
    if (argc < (forking ? 4 : 3))
        return 125;
    attr.handled_access_fs = landlock_mask(LANDLOCK_FAMILY_FS, landlock_abi());
    ruleset = landlock_create(&attr);
    if (ruleset < 0 ||
        allow(ruleset, "/", LANDLOCK_FS_EXECUTE | LANDLOCK_FS_READ_FILE | LANDLOCK_FS_READ_DIR) ||
        allow(ruleset, argv[0], attr.handled_access_fs))
        return 125;
    if (forking) {
        child = fork();
        if (child == 0)
            _exit(0);
        if (child < 0 || waitpid(child, NULL, 0) != child)
            return 125;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || landlock_restrict(ruleset, 0) != 0)
        return 125;
    execve(argv[1], argv + 1, envp);
    return 125;
}
