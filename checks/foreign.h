/* foreign.h - the way into the kernel that programs of another, older architecture take on this one. */
#ifndef CONFINE_CHECKS_FOREIGN_H
#define CONFINE_CHECKS_FOREIGN_H

/* foreign_send() - send MARK (MARK_SIZE - 1 bytes) to UDP port PORT of the loopback, by the calls of 32-bit
 * programs. Return: 0 or an errno; ENOSYS or ENOEXEC where the kernel has no such entry. */
int foreign_send(long port, const char *mark);

/* foreign_send_old() - the same by the one call of all sockets, on x86-64 alone: its number is a harmless
 * call's among those of 64 bits. */
int foreign_send_old(long port, const char *mark);

#endif
