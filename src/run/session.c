/*
 * session.c - whoever asks a keeper: to start, to join, to list, to end.
 *
 * Should:  show the keeper that it may be asked, by the lock file opened for writing.
 * Mustn't: wait for a keeper for ever, or believe what a descriptor is without looking.
 */
#include "run/session_wire.h"

#include "links/kernel_abi.h"
#include "links/pass.h"
#include "network/protocol.h"
#include "policy/policy_rules.h"
#include "run/channel.h"
#include "run/session_hearers.h"
#include "run/session_making.h"
#include "run/supervise.h"
#include "util/json.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_SECONDS 10
#define END_SECONDS    60
#define START_SECONDS  60
#define NAME_TRIES     200 /* every 10 ms */

/* --- packets -------------------------------------------------------------------------------------------- */

int session_receive(int fd, void *data, size_t size, int fds[JOIN_COUNT], size_t *ret_count)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(JOIN_COUNT * sizeof(int))];
    } control;
    struct iovec part = {.iov_base = data, .iov_len = size};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    bool whole = true;
    ssize_t got;

    *ret_count = 0;
    for (size_t i = 0; i < JOIN_COUNT; i++)
        fds[i] = -1;
    do
        got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return -errno;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); got > 0 && c; c = CMSG_NXTHDR(&message, c))
        whole = channel_descriptors(c, fds, JOIN_COUNT, ret_count) && whole;
    if (whole && got == (ssize_t)size && !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
        return 0;
    for (size_t i = 0; i < *ret_count; i++)
        fds[i] = fd_close(fds[i]);
    *ret_count = 0;
    return got == 0 ? -ECONNRESET : -EPROTO;
}

/* --- asking --------------------------------------------------------------------------------------------- */

static int fail_none(struct error *error, const char *name)
{
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, ENOENT, "no-session",
              "session %s: there is none of this name", QUOTE(name));
    return error_hint(error,
                      "it may have ended with its owner, see --owner; what there is: confine session list; "
                      "a new one: confine session start %s",
                      name);
}

/* Is this what is answered for a session that there is not, or that ends just now? */
static bool is_gone(int errnum)
{
    return errnum == ENOENT || errnum == ECONNREFUSED || errnum == ECONNRESET || errnum == EPIPE;
}

/* Who keeps the session at the other end, as seen from here. Return: 0: that is not known. */
static pid_t find_keeper(int connection)
{
    struct ucred who = {0};
    socklen_t size = sizeof(who);

    return connection >= 0 && getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 ? who.pid : 0;
}

/* @keeper: its pid, 0: not known */
static int fail_talk(struct error *error, const char *name, int errnum, pid_t keeper)
{
    if (is_gone(errnum))
        return fail_none(error, name);
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, errnum, "session-silent",
              "session %s: its keeper does not answer: %s", QUOTE(name), pass_strerror(errnum));
    if (errnum == ETOOMANYREFS) /* that is not the keeper's doing */
        return -errnum;
    if (keeper == 0)
        return error_hint(error, "end the process that keeps it: pgrep -f 'session start %s' finds it", name);
    return error_hint(error,
                      "process %d keeps it: kill -CONT %d if it was stopped, else kill -KILL %d ends it all",
                      (int)keeper, (int)keeper, (int)keeper);
}

/* Return: a connection to the keeper, or -errno. The directory is the caller's alone, so whoever listens
 * there is too. One that is stopped takes nobody out of its queue, and a full one is waited for as well. */
static int connect_keeper(const struct session_place *place, const char *name, int seconds)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), errnum = 0;
    struct timeval limit = {.tv_sec = seconds};
    struct sockaddr_un address;

    if (fd < 0)
        return -errno;
    session_address(place, name, &address);
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) != 0 ||
        connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
        errnum = errno == EAGAIN ? ETIMEDOUT : errno;
    if (errnum == 0)
        return fd;
    fd_close(fd);
    return -errnum;
}

/* Sends a request. Return: the connection, or -errno. */
static int send_request(const struct session_place *place, const char *name, enum session_request_kind kind,
                        int seconds)
{
    const struct session_request request = {.version = SESSION_VERSION, .kind = kind};
    _cleanup_fd_ int fd = -1, lock = -1;
    char file[SESSION_FILE];
    int r;

    if (place->fd < 0)
        return -ENOENT;
    lock = openat(place->fd, session_file(file, name, SESSION_LOCK), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (lock < 0)
        return -errno;
    fd = connect_keeper(place, name, seconds);
    if (fd < 0)
        return fd;
    r = channel_send(fd, &request, sizeof(request), &lock, 1);
    return r < 0 ? r : steal_fd(&fd);
}

static int take_reply(int fd, struct session_reply *reply, int fds[JOIN_COUNT])
{
    size_t count;
    int r = session_receive(fd, reply, sizeof(*reply), fds, &count);

    if (r == -EAGAIN)
        return -ETIMEDOUT;
    if (r == 0 && reply->version != SESSION_VERSION)
        return -EPROTONOSUPPORT;
    return r == 0 && reply->errnum > 0 ? -reply->errnum : r;
}

/* One request and its reply. @ret_keeper: who was asked, 0: not known. Return: 0 or -errno. */
static int ask(const struct session_place *place, const char *name, enum session_request_kind kind,
               int seconds, struct session_reply *reply, int fds[JOIN_COUNT], pid_t *ret_keeper)
{
    _cleanup_fd_ int fd = send_request(place, name, kind, seconds);
    int r = fd < 0 ? fd : take_reply(fd, reply, fds);

    *ret_keeper = find_keeper(fd);
    if (r == 0 && kind == SESSION_END) /* it ends with its last word; then there is nothing of it at all */
        while (take_reply(fd, reply, fds) == 0)
            ;
    return r;
}

int session_ask(const struct session_place *place, const char *name, struct error *error)
{
    int fd = session_check_name(name, error);

    if (fd < 0)
        return fd;
    fd = send_request(place, name, SESSION_JOIN, ANSWER_SECONDS);
    return fd < 0 ? fail_talk(error, name, -fd, 0) : fd;
}

int session_join(int connection, const char *name, struct session *session, struct error *error)
{
    struct session_reply reply;
    int fds[JOIN_COUNT], r = take_reply(connection, &reply, fds);
    const pid_t keeper = find_keeper(connection);

    if (r < 0 || !reply.facts.gateway)
        connection = fd_close(connection);
    if (r < 0)
        return fail_talk(error, name, -r, keeper);
    *session = (struct session){.name = name,
                                .uid = reply.facts.uid,
                                .gid = reply.facts.gid,
                                .network = (enum network)reply.facts.network,
                                .tmp_size = reply.facts.tmp_size,
                                .lost = reply.facts.lost == 1,
                                .told = connection};
    memcpy(session->decided, reply.facts.decided, sizeof(session->decided));
    memcpy(session->fd, fds, sizeof(session->fd));
    memcpy(session->number, reply.facts.number, sizeof(session->number));
    for (size_t i = 0; i < JOIN_COUNT && r == 0; i++)
        if (fds[i] < 0 && (i != JOIN_NET || session->network != NETWORK_HOST))
            r = -EPROTO;
    if (r < 0)
        session_leave(session);
    return r < 0 ? fail_talk(error, name, -r, keeper) : 0;
}

/* FNV-1a: nobody is kept out by it, and two of a thousand are alike once in 10^13 sessions. */
uint64_t session_decision(enum list list, const char *value)
{
    uint64_t number = UINT64_C(0xcbf29ce484222325);
    struct text text = {0};
    struct rule rule;
    char *end;

    if (list == LIST_ALLOW && rule_parse(value, &rule)) {
        rule_text(&rule, &text);
    } else if (list == LIST_FORWARD || list == LIST_PUBLISH) {
        const unsigned long host = strtoul(value, &end, 10);

        text_addf(&text, "%lu:%lu", host, *end == ':' ? strtoul(end + 1, NULL, 10) : host);
    } else {
        text_add(&text, value);
    }
    text_addf(&text, " %d", (int)list);
    for (const char *c = text.data ? text.data : ""; *c; c++)
        number = (number ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    text_free(&text);
    return number ? number : 1;
}

void session_leave(struct session *session)
{
    for (size_t i = 0; i < JOIN_COUNT; i++)
        session->fd[i] = fd_close(session->fd[i]);
    session->told = fd_close(session->told);
}

int session_end(const struct session_place *place, const char *name, struct error *error)
{
    struct session_reply reply;
    int fds[JOIN_COUNT], r = session_check_name(name, error);
    pid_t keeper;

    if (r < 0)
        return r;
    r = ask(place, name, SESSION_END, END_SECONDS, &reply, fds, &keeper);
    return r < 0 ? fail_talk(error, name, -r, keeper) : 0;
}

/* --- a rule more ---------------------------------------------------------------------------------------- */

/* Is this packet the answer to RULE, or does it say that nothing listens for it? Return: 1: the answer, and
 * yes; 0: something else; a negative errno: no, with @error. */
static int take_answer(const char *packet, size_t size, const char *rule, struct error *error)
{
    struct document document;
    struct error ignored = {0};
    const char *type, *of, *why;
    json_int_t port;
    int r = 0;

    if (document_parse(&document, "gateway", packet, size, &ignored) < 0)
        return 0;
    type = json_string_value(json_object_get(document.root, "type"));
    of = json_string_value(json_object_get(document.root, "rule"));
    why = json_string_value(json_object_get(document.root, "reason"));
    port = json_integer_value(json_object_get(document.root, "port"));
    if (type && strcmp(type, "not-listened") == 0 && gateway_is_unheard(rule, port, why ? why : "?", error)) {
        r = -EADDRINUSE;
    } else if (type && of && strcmp(of, rule) == 0) {
        r = strcmp(type, "allowed") == 0;
        if (strcmp(type, "allow-refused") == 0)
            r = error_set(error, ERROR_USAGE, EPERM, "rule-refused", "allow: %s: %s", QUOTE(rule),
                          why ? QUOTE(why) : "refused");
    }
    document_free(&document);
    return r;
}

/* The keeper has closed the connection. */
static int fail_unheard(struct error *error, const char *name)
{
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, EBUSY, "session-silent",
              "session %s: its keeper hears no more than %d runs at a time, or has ended", name, HEARERS);
    return error_hint(error, "try again when one of them has ended");
}

/* What else is said on this connection is about others' connections. */
static int await_answer(int fd, const char *name, const char *rule, struct error *error)
{
    const uint64_t until = supervise_now_ns() + ANSWER_SECONDS * UINT64_C(1000000000);
    static char packet[PROTOCOL_PACKET];
    ssize_t size;
    pid_t writer;
    int r = 0;

    while (r == 0) {
        const uint64_t now = supervise_now_ns();

        size = now < until
                   ? channel_receive(fd, packet, sizeof(packet), (int)((until - now) / 1000000U) + 1, &writer)
                   : -ETIMEDOUT;
        if (size == 0 || size == -ECONNRESET)
            return fail_unheard(error, name);
        if (size < 0)
            return fail_talk(error, name, (int)-size, find_keeper(fd));
        r = take_answer(packet, (size_t)size, rule, error);
    }
    return r < 0 ? r : 0;
}

int session_allow(const struct session_place *place, const char *name, const char *rule, struct error *error)
{
    int r = session_check_name(name, error), fds[JOIN_COUNT];
    struct session_reply reply;
    struct text word = {0};
    _cleanup_fd_ int fd = -1;

    if (r < 0)
        return r;
    fd = send_request(place, name, SESSION_HEAR, ANSWER_SECONDS);
    r = fd < 0 ? fd : take_reply(fd, &reply, fds);
    if (r < 0)
        return fail_talk(error, name, -r, find_keeper(fd));
    if (reply.facts.network != NETWORK_LISTED) {
        error_set(error, ERROR_USAGE, EINVAL, "no-list", "session %s: its network has no list", name);
        return error_hint(error, "a list is begun by confine session start --allow RULE");
    }
    text_addf(&word, "%c%s", SESSION_WORD_ALLOW, rule);
    r = word.failed ? -ENOMEM : channel_send(fd, word.data, word.length, NULL, 0);
    text_free(&word);
    if (r == -EPIPE || r == -ECONNRESET)
        return fail_unheard(error, name);
    return r < 0 ? fail_talk(error, name, -r, find_keeper(fd)) : await_answer(fd, name, rule, error);
}

/* --- starting ------------------------------------------------------------------------------------------- */

/* The lock of a name that nobody has. A name whose keeper does not answer is one that is being made, swept or
 * ended just now. */
static int take_name(const struct session_place *place, const char *name, struct error *error)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    struct session_reply reply;
    int fds[JOIN_COUNT], lock = -EWOULDBLOCK, asked = 0;
    pid_t keeper = 0;

    for (int tries = 0; tries < NAME_TRIES && asked != -ETIMEDOUT; tries++) {
        lock = session_lock(place, name);
        if (lock != -EWOULDBLOCK)
            break;
        asked = ask(place, name, SESSION_INFO, ANSWER_SECONDS, &reply, fds, &keeper);
        if (asked == 0)
            break;
        nanosleep(&pause, NULL);
    }
    if (lock >= 0)
        return lock;
    if (asked == -ETIMEDOUT)
        return fail_talk(error, name, ETIMEDOUT, keeper);
    if (lock != -EWOULDBLOCK) {
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, -lock, "no-session-directory",
                  "session %s: no file for it in %s: %s", QUOTE(name), QUOTE(place->path), strerror(-lock));
        return error_hint(error, "set XDG_RUNTIME_DIR to a directory of your own where files can be made");
    }
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, EEXIST, "session-exists", "session %s: there is one already",
              QUOTE(name));
    return error_hint(error, "use it, choose another name, or: confine session end %s", name);
}

static int fail_fork(const struct session_place *place, const char *name, int errnum, struct error *error)
{
    session_remove(place, name);
    return session_keeper_fail(error, errnum, "start a keeper");
}

int session_start(const struct session_place *place, const char *name, const struct resolved *resolved,
                  int owner, pid_t owner_pid, int *ret_confirm, struct error *error)
{
    struct timeval limit = {.tv_sec = START_SECONDS};
    _cleanup_fd_ int lock = -1, report = -1;
    struct error said;
    int ends[2], none[JOIN_COUNT];
    size_t count;
    pid_t pid;
    int r = session_check_name(name, error);

    if (r == 0)
        r = lock = take_name(place, name, error);
    if (r < 0)
        return r;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return fail_fork(place, name, errno, error);
    report = ends[0];
    pid = fork();
    if (pid == 0) {
        fd_close(report);
        session_keep(place, name, resolved, lock, owner, owner_pid, ends[1]);
    }
    fd_close(ends[1]);
    if (pid < 0)
        return fail_fork(place, name, errno, error);
    setsockopt(report, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)); /* without it, longer at worst */
    r = session_receive(report, &said, sizeof(said), none, &count);
    if (r < 0)
        return error_set(error, ERROR_INTERNAL, -r, "keeper-lost",
                         "session %s: its keeper ended without a word", QUOTE(name));
    if (said.code != ERROR_NONE) {
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
        *error = said;
        return said.errnum ? -said.errnum : -EINVAL;
    }
    *ret_confirm = steal_fd(&report);
    return 0;
}

int session_confirm(int confirm)
{
    int r = channel_send(confirm, "k", 1, NULL, 0);

    fd_close(confirm);
    return r;
}

/* --- looking -------------------------------------------------------------------------------------------- */

static int by_name(const void *left, const void *right)
{
    return strcmp(((const struct session_entry *)left)->name, ((const struct session_entry *)right)->name);
}

/* One name of the directory. Return: 0, with one entry more if it is the socket of one that lives, or that
 * does not say whether it does; -ENOMEM. */
static int list_one(const struct session_place *place, const char *file, struct session_entry **entries,
                    size_t *count)
{
    size_t length = strlen(file), suffix = strlen(SESSION_SOCKET);
    struct session_reply reply;
    struct error ignored = {0};
    struct session_entry *entry;
    int fds[JOIN_COUNT];
    char name[SESSION_NAME];
    pid_t keeper;
    int r;

    if (length <= suffix || length - suffix >= sizeof(name) ||
        strcmp(file + length - suffix, SESSION_SOCKET) != 0)
        return 0;
    snprintf(name, sizeof(name), "%.*s", (int)(length - suffix), file);
    if (session_check_name(name, &ignored) < 0)
        return 0;
    r = ask(place, name, SESSION_INFO, ANSWER_SECONDS, &reply, fds, &keeper);
    if (r < 0 && is_gone(-r))
        return 0;
    if (!array_more(entries, *count, sizeof(**entries)))
        return -ENOMEM;
    entry = &(*entries)[(*count)++];
    *entry = (struct session_entry){0};
    if (r < 0)
        fail_talk(&entry->why, name, -r, keeper);
    else
        entry->facts = reply.facts;
    memcpy(entry->name, name, sizeof(name));
    return 0;
}

int session_list(const struct session_place *place, struct session_entry **ret_entries, size_t *ret_count,
                 struct error *error)
{
    int fd = place->fd < 0 ? -1 : openat(place->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    *ret_entries = NULL;
    *ret_count = 0;
    if (place->fd < 0)
        return 0;
    if (!directory) {
        fd_close(fd);
        return error_set(error, ERROR_SANDBOX_UNAVAILABLE, errno, "no-session-directory",
                         "the directory of sessions %s cannot be read: %s", QUOTE(place->path),
                         strerror(errno));
    }
    while (r == 0 && (entry = readdir(directory)))
        r = list_one(place, entry->d_name, ret_entries, ret_count);
    closedir(directory);
    if (r < 0)
        return error_no_memory(error);
    if (*ret_count > 0)
        qsort(*ret_entries, *ret_count, sizeof(**ret_entries), by_name);
    return 0;
}

/* Name and inner number out of /proc/PID/status. Return: whether they are there. */
static bool read_process(int process, struct session_process *row)
{
    _cleanup_fd_ int fd = openat(process, "status", O_RDONLY | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    const char *inner, *name;
    size_t length;

    if (fd < 0 || fd_read_all(fd, 65536, &text, &length) < 0)
        return false;
    name = strncmp(text, "Name:\t", 6) == 0 ? text + 6 : NULL;
    inner = strstr(text, "\nNSpid:");
    if (!name || !inner)
        return false;
    snprintf(row->name, sizeof(row->name), "%.*s", (int)strcspn(name, "\n"), name);
    inner += strcspn(inner + 1, "\n") + 1;
    while (isdigit((unsigned char)inner[-1])) /* the last number of the line is the innermost one */
        inner--;
    row->inner = (pid_t)strtol(inner, NULL, 10);
    return true;
}

int session_processes(const struct session_facts *facts, struct session_process **ret_processes,
                      size_t *ret_count)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    int r = proc ? 0 : -errno;

    *ret_processes = NULL;
    *ret_count = 0;
    while (r == 0 && (entry = readdir(proc))) {
        struct session_process row = {0};
        _cleanup_fd_ int process = -1;
        struct stat found;

        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        row.pid = (pid_t)strtol(entry->d_name, NULL, 10);
        process = openat(dirfd(proc), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (row.pid == facts->init || process < 0 || fstatat(process, "ns/pid", &found, 0) != 0 ||
            found.st_ino != facts->number[JOIN_PID] || !read_process(process, &row))
            continue; /* not one of them, or gone by now */
        if (array_more(ret_processes, *ret_count, sizeof(row)))
            (*ret_processes)[(*ret_count)++] = row;
        else
            r = -ENOMEM;
    }
    if (proc)
        closedir(proc);
    return r;
}
