/*
 * wire.c - a check as attest-run gets it: the act, and where its canary is.
 *
 * A canary is reached by a descriptor, which passes a view of its own by, or
 * by the name that the command would use: what holds names is shown by those.
 */
#include "run/wire.h"

#include "run/canary.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/resource.h>

/* Puts FD among the descriptors of the message. Return: its index, -1 if there is no room or no descriptor.
 */
static int32_t send_descriptor(struct attestation *attestation, int fd)
{
    if (fd < 0)
        return -1;
    for (size_t i = 0; i < attestation->descriptor_count; i++)
        if (attestation->descriptors[i] == fd)
            return (int32_t)i;
    if (attestation->descriptor_count == CHANNEL_DESCRIPTORS)
        return -1;
    attestation->descriptors[attestation->descriptor_count] = fd;
    return (int32_t)attestation->descriptor_count++;
}

static int make_socket(struct attestation *attestation, int family, int type)
{
    int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd >= 0 && attestation->owned_count == ARRAY_SIZE(attestation->owned))
        return fd_close(fd);
    if (fd >= 0)
        attestation->owned[attestation->owned_count++] = fd;
    return fd;
}

void wire_name(struct channel_check *wire, const char *name)
{
    size_t length = name ? strnlen(name, sizeof(wire->name) - 1) : 0;

    if (length > 0) /* the rest is zero */
        memcpy(wire->name, name, length);
}

/* DIRECTORY/NAME, or the directory alone. Return: does it fit? A name that is cut would be another one. */
static bool set_path(struct channel_check *wire, const char *directory, const char *name)
{
    int length = name ? snprintf(wire->name, sizeof(wire->name), "%s/%s", directory[1] ? directory : "", name)
                      : snprintf(wire->name, sizeof(wire->name), "%s", directory);

    return length > 0 && (size_t)length < sizeof(wire->name);
}

/* --- what each canary gives to the wire ----------------------------------------------------------------- */

static bool wire_edge(struct attestation *attestation, struct attempt *attempt,
                      const struct resolved *resolved)
{
    const struct edge *edge = &resolved->edges[attempt->check->index];

    if (edge->name && strlen(edge->name) >= CHANNEL_NAME)
        return false;
    if (attempt->check->act == ACT_REMOVE_ATTRIBUTE) /* of the directory: the name may be that of the grant */
        return set_path(&attempt->wire, edge->parent, NULL);
    attempt->wire.act = edge->name ? ACT_RENAME_SELF : ACT_TMPFILE;
    if (attempt->check->by_name)
        return set_path(&attempt->wire, edge->parent, edge->name);
    wire_name(&attempt->wire, edge->name);
    attempt->wire.fd = send_descriptor(attestation, edge->parent_fd);
    return attempt->wire.fd >= 0;
}

static bool wire_hidden(struct attestation *attestation, struct attempt *attempt,
                        const struct resolved *resolved)
{
    const struct hidden *hidden = &resolved->hidden[attempt->check->index];

    if (attempt->check->itself)
        return set_path(&attempt->wire, hidden->path, NULL);
    if (!hidden->sample || strlen(hidden->sample) >= CHANNEL_NAME)
        return false;
    if (attempt->check->by_name) {
        size_t parent = strlen(hidden->path) - strlen(hidden->name);
        int length =
            snprintf(attempt->wire.name, CHANNEL_NAME, "%.*s%s", (int)parent, hidden->path, hidden->sample);

        return length > 0 && length < CHANNEL_NAME;
    }
    wire_name(&attempt->wire, hidden->sample);
    attempt->wire.fd = send_descriptor(attestation, hidden->parent_fd);
    return attempt->wire.fd >= 0;
}

static bool wire_secret(struct attempt *attempt, const struct resolved *resolved)
{
    const char *name = resolved->env_secrets.items[attempt->check->index];

    if (strlen(name) >= CHANNEL_NAME)
        return false;
    wire_name(&attempt->wire, name);
    return true;
}

/* Some name in the directory PATH, or NULL; it may be gone by the time that it is tried, which shows nothing.
 */
static char *first_entry(const char *path)
{
    DIR *directory = opendir(path);
    const struct dirent *entry = NULL;
    char *name = NULL;

    while (directory && (entry = readdir(directory)) && entry->d_name[0] == '.' &&
           (!entry->d_name[1] || strcmp(entry->d_name, "..") == 0))
        ;
    if (entry)
        name = strdup(entry->d_name);
    if (directory)
        closedir(directory);
    return name;
}

/* What would change a protected object and changes nothing: opening a file for writing, renaming an entry of
 * a directory onto itself, or an unnamed file in one that is empty. */
static bool wire_protected(struct attempt *attempt, const struct resolved *resolved)
{
    const char *path = resolved->protected_paths.items[attempt->check->index];
    _cleanup_free_ char *entry = NULL;
    struct stat object;

    if (attempt->check->act != ACT_NONE)
        return set_path(&attempt->wire, path, NULL);
    if (lstat(path, &object) != 0 || (!S_ISREG(object.st_mode) && !S_ISDIR(object.st_mode)))
        return false;
    if (S_ISREG(object.st_mode)) {
        attempt->wire.act = ACT_OPEN;
        attempt->wire.a = O_WRONLY;
        return set_path(&attempt->wire, path, NULL);
    }
    entry = first_entry(path);
    attempt->wire.act = entry ? ACT_RENAME_SELF : ACT_TMPFILE;
    return set_path(&attempt->wire, path, entry);
}

/* Several surfaces are shown by one namespace or object: it is looked at once. Return: whether it was. */
static bool copy_earlier(const struct attestation *attestation, struct attempt *attempt)
{
    for (const struct attempt *earlier = attestation->attempts; earlier < attempt; earlier++) {
        if (earlier->wire.act == ACT_NONE || earlier->check->canary != attempt->check->canary ||
            strcmp(earlier->check->name, attempt->check->name) != 0)
            continue;
        attempt->wire.a = earlier->wire.a;
        attempt->wire.b = earlier->wire.b;
        return true;
    }
    return false;
}

/* The namespace that this process is in: the command's must be another one. */
static bool wire_namespace(const struct attestation *attestation, struct attempt *attempt)
{
    char path[40];
    struct stat object;

    wire_name(&attempt->wire, attempt->check->name);
    if (copy_earlier(attestation, attempt))
        return true;
    snprintf(path, sizeof(path), "/proc/self/ns/%.15s", attempt->check->name);
    if (stat(path, &object) != 0)
        return false;
    attempt->wire.a = (int64_t)object.st_ino;
    return true;
}

static bool wire_object(const struct attestation *attestation, struct attempt *attempt)
{
    struct stat object;

    wire_name(&attempt->wire, attempt->check->name);
    if (copy_earlier(attestation, attempt))
        return true;
    if (stat(attempt->check->name, &object) != 0)
        return false;
    attempt->wire.a = (int64_t)object.st_dev;
    attempt->wire.b = (int64_t)object.st_ino;
    return true;
}

/* The sockets are made fresh for the command's side; the control used one of its own. */
static bool wire_socket(struct attestation *attestation, struct attempt *attempt, int family, int type)
{
    attempt->wire.fd = send_descriptor(attestation, make_socket(attestation, family, type));
    return attempt->wire.fd >= 0;
}

static bool wire_process(struct attestation *attestation, struct attempt *attempt)
{
    struct rlimit limit;
    uint64_t pair[2];

    attempt->wire.a = attestation->process;
    attempt->wire.b = (int64_t)(uintptr_t)attestation->nonce;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return false;
    pair[0] = limit.rlim_cur;
    pair[1] = limit.rlim_max;
    memcpy(attempt->wire.name, pair, sizeof(pair));
    return attestation->process > (attestation->pid_namespace ? CANARY_PIDS_INSIDE : 0);
}

/* One that listens for every address is tried by an address of the pool that no name has. */
static bool wire_listener(struct attempt *attempt, const struct listener *listener)
{
    wire_name(&attempt->wire, strcmp(listener->address, "0.0.0.0") == 0 ? "198.19.255.1" : listener->address);
    attempt->wire.a = listener->port;
    return true;
}

bool wire_canary(struct attestation *attestation, struct attempt *attempt, const struct resolved *resolved)
{
    struct channel_check *wire = &attempt->wire;

    switch (attempt->check->canary) {
    case CANARY_NONE:
        return true;
    case CANARY_FILE:
        wire->fd = send_descriptor(attestation, attestation->file_path);
        return wire->fd >= 0;
    case CANARY_FIFO:
        wire->fd = send_descriptor(attestation, attestation->fifo_path);
        return wire->fd >= 0 && attestation->fifo >= 0;
    case CANARY_EDGE:
        return wire_edge(attestation, attempt, resolved);
    case CANARY_HIDDEN:
        return wire_hidden(attestation, attempt, resolved);
    case CANARY_DEVICE: {
        const char *device = canary_device(attestation, resolved);

        if (attempt->check->by_name) {
            wire_name(wire, device);
            return device != NULL;
        }
        wire->fd = send_descriptor(attestation, canary_open(attestation, device));
        return wire->fd >= 0;
    }
    case CANARY_SOCKET_PATH:
        wire->b = send_descriptor(attestation, attestation->socket_path);
        return wire->b >= 0 && attestation->path_listener >= 0 &&
               wire_socket(attestation, attempt, AF_UNIX, SOCK_STREAM);
    case CANARY_SOCKET_ABSTRACT:
        wire_name(wire, attestation->abstract);
        return attestation->listener >= 0 && wire_socket(attestation, attempt, AF_UNIX, SOCK_STREAM);
    case CANARY_TCP:
        return wire_socket(attestation, attempt, AF_INET, SOCK_STREAM);
    case CANARY_UDP:
        wire->a = attestation->udp_port;
        return attestation->udp_receiver >= 0 && wire_socket(attestation, attempt, AF_INET, SOCK_DGRAM);
    case CANARY_PROCESS:
        return wire_process(attestation, attempt);
    case CANARY_DESCRIPTOR:
        wire->a = attestation->inherited;
        return attestation->inherited >= 0;
    case CANARY_TERMINAL:
        wire_name(wire, attestation->terminal_name);
        return attestation->terminal >= 0;
    case CANARY_SECRET:
        return wire_secret(attempt, resolved);
    case CANARY_NAMESPACE:
        return wire_namespace(attestation, attempt);
    case CANARY_OBJECT:
        return wire_object(attestation, attempt);
    case CANARY_INIT:
        wire->a = 1;
        return true;
    case CANARY_PROTECTED:
        return wire_protected(attempt, resolved);
    case CANARY_LISTENER: /* it comes later: whoever hears the nonce there is asked then */
        return wire_listener(attempt, &resolved->network.listeners[attempt->check->index]);
    case CANARY_ROOT:
        wire->a = (int64_t)resolved->paths[attempt->check->index].device;
        wire->b = (int64_t)resolved->paths[attempt->check->index].inode;
        return set_path(wire, resolved->paths[attempt->check->index].path, NULL);
    case CANARY_COUNT:
        break;
    }
    return false;
}
