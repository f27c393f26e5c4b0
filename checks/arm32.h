/*
 * arm32.h - run a few instructions of 32-bit ARM, which an arm64 kernel may do for any file that holds such.
 *
 * They are put into the smallest of ELF files, in memory, and run in a child from there. Where every 32-bit
 * call is refused the program cannot even end: it runs into an instruction that is none.
 */
#ifndef CONFINE_CHECKS_ARM32_H
#define CONFINE_CHECKS_ARM32_H

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARM32_BASE  0x10000U
#define ARM32_UDF   0xe7f000f0U /* udf #0 */
#define ARM32_EABI5 0x05000000U
#define ARM32_WORDS 64

/*
 * arm32_run() - run CODE (COUNT words, at most ARM32_WORDS) as a program of its own.
 *
 * Return: the status it ended with; ENOSYS where it was stopped by ARM32_UDF; ENOEXEC where this machine runs
 * no such program; another errno where it could not be started.
 */
static inline int arm32_run(const uint32_t *code, size_t count)
{
    struct {
        Elf32_Ehdr file;
        Elf32_Phdr part;
        uint32_t code[ARM32_WORDS];
    } program = {
        .file = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB, EV_CURRENT},
                 .e_type = ET_EXEC,
                 .e_machine = EM_ARM,
                 .e_version = EV_CURRENT,
                 .e_entry = ARM32_BASE + sizeof(Elf32_Ehdr) + sizeof(Elf32_Phdr),
                 .e_phoff = sizeof(Elf32_Ehdr),
                 .e_flags = ARM32_EABI5,
                 .e_ehsize = sizeof(Elf32_Ehdr),
                 .e_phentsize = sizeof(Elf32_Phdr),
                 .e_phnum = 1},
        .part = {.p_type = PT_LOAD,
                 .p_vaddr = ARM32_BASE,
                 .p_paddr = ARM32_BASE,
                 .p_filesz = sizeof(program),
                 .p_memsz = sizeof(program),
                 .p_flags = PF_R | PF_X,
                 .p_align = ARM32_BASE},
    };
    static char *words[] = {NULL, NULL};
    static char name[] = "arm32";
    int fd = memfd_create(name, MFD_CLOEXEC), status = 0;
    pid_t child;

    if (count > ARM32_WORDS)
        return E2BIG;
    memcpy(program.code, code, count * sizeof(*code));
    if (fd < 0 || write(fd, &program, sizeof(program)) != (ssize_t)sizeof(program))
        return errno;
    words[0] = name;
    child = fork();
    if (child == 0) {
        fexecve(fd, words, words + 1);
        _exit(errno);
    }
    close(fd);
    if (child < 0 || waitpid(child, &status, 0) != child)
        return errno;
    if (WIFSIGNALED(status))
        return WTERMSIG(status) == SIGILL ? ENOSYS : EINTR;
    return WEXITSTATUS(status);
}

#endif
