/*
 * hook.c - what the loader of a dynamic program can be made to load: it makes a file, and that is all.
 *
 * A shared object without any other; setup.c writes the name into its copy.
 */
#include "links/kernel_abi.h"

#include <fcntl.h>

static volatile char name[512] = "confine-check: the name of a file";

__attribute__((constructor)) static void make_file(void)
{
    kernel_call(SYS_openat, AT_FDCWD, KERNEL_PTR(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644, 0, 0);
}
