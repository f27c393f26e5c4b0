/*
 * load.c - connections and bytes per second over TCP, whatever stands in between.
 *
 *     load serve ADDRESS PORT
 *     load ask ADDRESS PORT CLIENTS SECONDS BYTES [NAME:PORT]
 *
 * The server sends as many bytes as the client's first line says, and ends the connection. Each client is a
 * process that makes one connection after the other; with NAME:PORT it asks a proxy for that first.
 * Prints: connections per second, MB per second, and the milliseconds that the median and all but one in a
 * hundred took, separated by tabs. Ends with 1 if any connection failed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS 64
#define TIMES   65536 /* of one client */

struct client {
    uint64_t connections, bytes, failures;
    uint32_t us[TIMES];
};

static char chunk[65536];

static uint64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static socklen_t read_address(char **argv, struct sockaddr_storage *ret_name)
{
    struct sockaddr_in *four = (struct sockaddr_in *)ret_name;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)ret_name;
    uint16_t port = htons((uint16_t)atoi(argv[1]));

    memset(ret_name, 0, sizeof(*ret_name));
    if (inet_pton(AF_INET, argv[0], &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = port;
        return sizeof(*four);
    }
    if (inet_pton(AF_INET6, argv[0], &six->sin6_addr) != 1)
        exit(2);
    six->sin6_family = AF_INET6;
    six->sin6_port = port;
    return sizeof(*six);
}

/* A line that ends with END. Return: 0 or -1. */
static int read_until(int fd, const char *end, char *line, size_t size)
{
    size_t length = 0;

    do {
        ssize_t got = read(fd, line + length, size - length - 1);

        if (got <= 0)
            return -1;
        length += (size_t)got;
        line[length] = '\0';
    } while (!strstr(line, end) && length + 1 < size);
    return strstr(line, end) ? 0 : -1;
}

static void answer(int fd)
{
    char line[64];
    uint64_t left = read_until(fd, "\n", line, sizeof(line)) == 0 ? strtoull(line, NULL, 10) : 0;

    while (left > 0) {
        ssize_t sent = send(fd, chunk, left < sizeof(chunk) ? left : sizeof(chunk), MSG_NOSIGNAL);

        if (sent <= 0)
            return;
        left -= (uint64_t)sent;
    }
}

static int serve(char **argv)
{
    struct sockaddr_storage name;
    socklen_t length = read_address(argv, &name);
    int listener = socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(listener, (struct sockaddr *)&name, length) != 0 || listen(listener, 4096) != 0) {
        perror("load");
        return 1;
    }
    puts("ready");
    fflush(stdout);
    for (int i = 1; i < 16; i++) /* a process each: answers of many bytes take their time */
        if (fork() == 0)
            break;
    for (;;) {
        int fd = accept(listener, NULL, NULL);

        if (fd >= 0) {
            answer(fd);
            close(fd);
        }
    }
}

/* One connection. Return: 0 or -1. */
static int ask(const struct sockaddr_storage *name, socklen_t length, const char *bytes, const char *by,
               struct client *client)
{
    int fd = socket(name->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1, result = -1;
    uint64_t expected = strtoull(bytes, NULL, 10), seen = 0;
    char line[512];
    ssize_t got = -1;

    if (fd < 0 || connect(fd, (const struct sockaddr *)name, length) != 0)
        goto out;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (by) {
        int size = snprintf(line, sizeof(line), "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", by, by);

        if (send(fd, line, (size_t)size, MSG_NOSIGNAL) != size ||
            read_until(fd, "\r\n\r\n", line, sizeof(line)) != 0 || strncmp(line + 8, " 200", 4) != 0)
            goto out;
    }
    if (send(fd, bytes, strlen(bytes), MSG_NOSIGNAL) < 0 || send(fd, "\n", 1, MSG_NOSIGNAL) != 1)
        goto out;
    while ((got = read(fd, chunk, sizeof(chunk))) > 0)
        seen += (uint64_t)got;
    result = got == 0 && seen == expected ? 0 : -1;
out:
    if (fd >= 0)
        close(fd);
    client->bytes += seen;
    return result;
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static int report(const struct client *clients, int count, double seconds)
{
    uint64_t connections = 0, bytes = 0, failures = 0, times = 0;
    uint32_t *all = malloc(sizeof(*all) * TIMES * CLIENTS);

    if (!all)
        return 1;
    for (int i = 0; i < count; i++) {
        uint64_t own = clients[i].connections < TIMES ? clients[i].connections : TIMES;

        memcpy(all + times, clients[i].us, own * sizeof(*all));
        times += own;
        connections += clients[i].connections;
        bytes += clients[i].bytes;
        failures += clients[i].failures;
    }
    qsort(all, times, sizeof(*all), compare);
    printf("%.0f\t%.1f\t%.2f\t%.2f\n", (double)connections / seconds, (double)bytes / seconds / 1e6,
           times ? all[times / 2] / 1000.0 : 0, times ? all[times * 99 / 100] / 1000.0 : 0);
    if (failures)
        fprintf(stderr, "load: %llu connections failed\n", (unsigned long long)failures);
    free(all);
    return failures || connections == 0;
}

static int ask_all(int argc, char **argv)
{
    struct sockaddr_storage name;
    socklen_t length = read_address(argv, &name);
    int count = atoi(argv[2]);
    uint64_t begin = now_us(), end = begin + (uint64_t)(atof(argv[3]) * 1e6);
    struct client *clients =
        mmap(NULL, sizeof(*clients) * CLIENTS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (count < 1 || count > CLIENTS || clients == MAP_FAILED)
        return 2;
    for (int i = 0; i < count; i++) {
        struct client *client = &clients[i];

        if (fork() != 0)
            continue;
        for (uint64_t start = now_us(); start < end; start = now_us()) {
            if (ask(&name, length, argv[4], argc > 5 ? argv[5] : NULL, client) != 0) {
                client->failures++;
                continue;
            }
            if (client->connections < TIMES)
                client->us[client->connections] = (uint32_t)(now_us() - start);
            client->connections++;
        }
        _exit(0);
    }
    while (wait(NULL) > 0)
        continue;
    return report(clients, count, (double)(now_us() - begin) / 1e6);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "serve") == 0)
        return serve(argv + 2);
    if ((argc == 7 || argc == 8) && strcmp(argv[1], "ask") == 0)
        return ask_all(argc - 2, argv + 2);
    fprintf(stderr, "usage: load serve ADDRESS PORT | ask ADDRESS PORT CLIENTS SECONDS BYTES [NAME:PORT]\n");
    return 2;
}
