/*
 * namespace_numbers.c - how many numbers the process namespace has for its processes, and so how many of
 * them.
 *
 * Since Linux 6.14 kernel.pid_max is each namespace's own; before, it is the
 * machine's, and only root may write it. A number below 300 is given only
 * once, so the limit is one of up to 300 more than is meant.
 *
 * Should:  read the number back, from the /proc that the command will have.
 * Mustn't: run as root, who would change the whole machine where there is but one number.
 */
#include "namespace.h"

#include <stdio.h>
#include <sys/mount.h>

#define NUMBERS "/proc/sys/kernel/pid_max"

/*
 * namespace_number() - set the number of numbers; pid 2 only, with a /proc that is still writable.
 * @flags: those of the mount, which it gets again afterwards
 */
void namespace_number(const struct namespace *ns, unsigned long flags)
{
    char text[16], seen[16] = "";
    int length = snprintf(text, sizeof(text), "%u", ns->process_numbers), errnum = 0;
    int fd = open(NUMBERS, O_WRONLY | O_CLOEXEC);
    ssize_t size;

    if (fd < 0 || write(fd, text, (size_t)length) != length)
        errnum = errno;
    if (fd >= 0)
        close(fd);
    if (errnum)
        namespace_cannot(ns, CANNOT_NUMBERS, NUMBERS, errnum);
    fd = open(NUMBERS, O_RDONLY | O_CLOEXEC);
    size = fd < 0 ? -1 : read(fd, seen, sizeof(seen) - 1);
    if (size != length + 1 || memcmp(seen, text, (size_t)length) != 0 || seen[length] != '\n')
        chain_fatal(ns->chain, NUMBERS, "the kernel reported success but the number is another");
    close(fd);
    if (mount(NULL, "/proc", NULL, MS_REMOUNT | flags, NULL) != 0)
        chain_fatal_errno(ns->chain, "/proc", errno);
}
