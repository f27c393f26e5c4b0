/*
 * act.c - do one thing and print its errno (0: it was done). Static, so that it runs where little is granted.
 *
 *     act NAME [A [B]]
 */
#include "../../links/kernel_abi.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

static int closing(int fd)
{
    return fd < 0 ? -1 : close(fd);
}

static int do_read(const char *a, const char *b)
{
    (void)b;
    return closing(open(a, O_RDONLY | O_NONBLOCK));
}
static int do_write(const char *a, const char *b)
{
    (void)b;
    return closing(open(a, O_WRONLY | O_NONBLOCK));
}
static int do_otrunc(const char *a, const char *b)
{
    (void)b;
    return closing(open(a, O_RDONLY | O_TRUNC));
}
static int do_create(const char *a, const char *b)
{
    (void)b;
    return closing(open(a, O_WRONLY | O_CREAT | O_EXCL, 0600));
}
static int do_truncate(const char *a, const char *b)
{
    (void)b;
    return truncate(a, 0);
}
static int do_unlink(const char *a, const char *b)
{
    (void)b;
    return unlink(a);
}
static int do_mkdir(const char *a, const char *b)
{
    (void)b;
    return mkdir(a, 0700);
}
static int do_rmdir(const char *a, const char *b)
{
    (void)b;
    return rmdir(a);
}
static int do_symlink(const char *a, const char *b)
{
    (void)b;
    return symlink("x", a);
}
static int do_fifo(const char *a, const char *b)
{
    (void)b;
    return mkfifo(a, 0600);
}
static int do_device(const char *a, const char *b)
{
    (void)b;
    return mknod(a, S_IFCHR | 0600, makedev(1, 3));
}
static int do_rdwr(const char *a, const char *b)
{
    (void)b;
    return closing(open(a, O_RDWR | O_NONBLOCK));
}
static int do_ioctl(const char *a, const char *b)
{
    int fd = open(a, O_RDONLY), size;

    (void)b;
    return fd < 0 ? -1 : ioctl(fd, 0x1260 /* BLKGETSIZE: any command that the device must look at */, &size);
}
static int do_rename(const char *a, const char *b)
{
    return rename(a, b);
}
static int do_link(const char *a, const char *b)
{
    return link(a, b);
}
static int do_signal(const char *a, const char *b)
{
    (void)b;
    return kill(atoi(a), 0);
}

/* A server and a client on loopback, as any test suite has them. */
static int do_loopback(const char *a, const char *b)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0), peer;
    char byte = 0;

    (void)a;
    (void)b;
    if (server < 0 || bind(server, (struct sockaddr *)&address, size) != 0 || listen(server, 1) != 0 ||
        getsockname(server, (struct sockaddr *)&address, &size) != 0 ||
        connect(client, (struct sockaddr *)&address, size) != 0 || (peer = accept(server, NULL, NULL)) < 0 ||
        write(client, "x", 1) != 1 || read(peer, &byte, 1) != 1)
        return -1;
    return byte == 'x' ? 0 : -1;
}

/* Connects to 127.0.0.1:A, by TCP. */
static int do_connect(const char *a, const char *b)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((unsigned short)atoi(a)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    (void)b;
    return connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&address, sizeof(address));
}

static socklen_t name_abstract(struct sockaddr_un *address, const char *name)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    strncpy(address->sun_path + 1, name, sizeof(address->sun_path) - 2);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
}

static int do_abstract(const char *a, const char *b)
{
    struct sockaddr_un address;
    socklen_t size = name_abstract(&address, a);

    (void)b;
    return connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, size);
}

/* Listens on the abstract name A until it is ended; prints when it does. */
static int do_listen(const char *a, const char *b)
{
    struct sockaddr_un address;
    socklen_t size = name_abstract(&address, a);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    (void)b;
    if (bind(fd, (struct sockaddr *)&address, size) != 0 || listen(fd, 64) != 0)
        return -1;
    printf("listening\n");
    fflush(stdout);
    for (;;)
        pause();
}

/* Not an errno: the kernel's Landlock ABI. */
static int do_abi(const char *a, const char *b)
{
    (void)a;
    (void)b;
    printf("%d\n", landlock_abi());
    exit(0);
}

static const struct {
    const char *name;
    int (*act)(const char *a, const char *b);
} acts[] = {
    {"read", do_read},       {"write", do_write},       {"otrunc", do_otrunc},     {"create", do_create},
    {"unlink", do_unlink},   {"mkdir", do_mkdir},       {"truncate", do_truncate}, {"rmdir", do_rmdir},
    {"symlink", do_symlink}, {"fifo", do_fifo},         {"device", do_device},     {"rdwr", do_rdwr},
    {"rename", do_rename},   {"link", do_link},         {"signal", do_signal},     {"loopback", do_loopback},
    {"connect", do_connect}, {"abstract", do_abstract}, {"listen", do_listen},     {"ioctl", do_ioctl},
    {"abi", do_abi},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof(acts) / sizeof(acts[0]); i++)
        if (strcmp(acts[i].name, argv[1]) == 0) {
            int result = acts[i].act(argc > 2 ? argv[2] : "", argc > 3 ? argv[3] : "");

            printf("%d\n", result < 0 ? errno : 0);
            return 0;
        }
    fprintf(stderr, "act: no such act\n");
    return 99;
}
