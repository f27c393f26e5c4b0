/*
 * ipc.c - System V and POSIX objects, and keys, of the user.
 */
#include "place.h"

#include "links/kernel_abi.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <unistd.h>

union semaphore_argument {
    int value;
};

static int prepare_memory(struct trial *trial)
{
    int id = shmget(IPC_PRIVATE, 4096, 0600);

    if (id < 0)
        return -errno;
    janitor_note(LEFT_MEMORY, id, NULL);
    trial->id = trial->order.number[0] = id;
    return 0;
}

static int act_memory(const struct order *order, struct answer *answer)
{
    char *memory = shmat((int)order->number[0], NULL, 0);

    (void)answer;
    if (memory == (void *)-1)
        return errno;
    memcpy(memory, order->mark, MARK_SIZE);
    return 0;
}

static int look_memory(struct trial *trial)
{
    char *memory = shmat((int)trial->id, NULL, SHM_RDONLY);
    int result;

    if (memory == (void *)-1)
        return -errno;
    result = memcmp(memory, trial->order.mark, MARK_SIZE - 1) == 0;
    shmdt(memory);
    return result;
}

static void finish_memory(struct trial *trial)
{
    shmctl((int)trial->id, IPC_RMID, NULL);
    janitor_forget(LEFT_MEMORY, trial->id, NULL);
}

static int prepare_semaphore(struct trial *trial)
{
    int id = semget(IPC_PRIVATE, 1, 0600);

    if (id < 0)
        return -errno;
    janitor_note(LEFT_SEMAPHORE, id, NULL);
    trial->id = trial->order.number[0] = id;
    return 0;
}

static int act_semaphore(const struct order *order, struct answer *answer)
{
    union semaphore_argument argument = {.value = 77};

    (void)answer;
    return semctl((int)order->number[0], 0, SETVAL, argument) < 0 ? errno : 0;
}

static int look_semaphore(struct trial *trial)
{
    int value = semctl((int)trial->id, 0, GETVAL);

    return value < 0 ? -errno : value == 77;
}

static void finish_semaphore(struct trial *trial)
{
    semctl((int)trial->id, 0, IPC_RMID);
    janitor_forget(LEFT_SEMAPHORE, trial->id, NULL);
}

struct letter {
    long type;
    char text[MARK_SIZE];
};

static int prepare_queue(struct trial *trial)
{
    int id = msgget(IPC_PRIVATE, 0600);

    if (id < 0)
        return -errno;
    janitor_note(LEFT_QUEUE, id, NULL);
    trial->id = trial->order.number[0] = id;
    return 0;
}

static int act_queue(const struct order *order, struct answer *answer)
{
    struct letter letter = {.type = 1};

    (void)answer;
    memcpy(letter.text, order->mark, MARK_SIZE);
    return msgsnd((int)order->number[0], &letter, sizeof(letter.text), IPC_NOWAIT) < 0 ? errno : 0;
}

static int look_queue(struct trial *trial)
{
    struct letter letter = {0};

    if (msgrcv((int)trial->id, &letter, sizeof(letter.text), 0, IPC_NOWAIT) < 0)
        return errno == ENOMSG ? 0 : -errno;
    return memcmp(letter.text, trial->order.mark, MARK_SIZE - 1) == 0;
}

static void finish_queue(struct trial *trial)
{
    msgctl((int)trial->id, IPC_RMID, NULL);
    janitor_forget(LEFT_QUEUE, trial->id, NULL);
}

static int prepare_mqueue(struct trial *trial)
{
    struct {
        long flags, most, size, current, rest[4];
    } attributes = {0, 2, 64, 0, {0}};
    int result;

    snprintf(trial->order.path[0], PLACE_SIZE, "confine-check-%s", trial->secret);
    result = place_keep(trial, 0,
                        (int)syscall(SYS_mq_open, trial->order.path[0],
                                     O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK | O_CLOEXEC, 0600, &attributes));
    if (result == -ENOSYS)
        return place_skip(trial, "this kernel has no POSIX message queues");
    if (result == 0)
        janitor_note(LEFT_MQUEUE, 0, trial->order.path[0]);
    return result;
}

static int act_mqueue(const struct order *order, struct answer *answer)
{
    int queue = (int)syscall(SYS_mq_open, order->path[0], O_WRONLY | O_NONBLOCK, 0, NULL);

    (void)answer;
    if (queue < 0)
        return errno;
    return syscall(SYS_mq_timedsend, queue, order->mark, MARK_SIZE - 1, 0, NULL) != 0 ? errno : 0;
}

static int look_mqueue(struct trial *trial)
{
    char text[64] = "";

    if (syscall(SYS_mq_timedreceive, trial->fd[0], text, sizeof(text), NULL, NULL) < 0)
        return errno == EAGAIN ? 0 : -errno;
    return memcmp(text, trial->order.mark, MARK_SIZE - 1) == 0;
}

static int act_remove_mqueue(const struct order *order, struct answer *answer)
{
    (void)answer;
    return syscall(SYS_mq_unlink, order->path[0]) != 0 ? errno : 0;
}

static int look_mqueue_gone(struct trial *trial)
{
    int queue = (int)syscall(SYS_mq_open, trial->order.path[0], O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0, NULL);

    if (queue >= 0) {
        close(queue);
        return 0;
    }
    return errno == ENOENT ? 1 : -errno;
}

static void finish_mqueue(struct trial *trial)
{
    syscall(SYS_mq_unlink, trial->order.path[0]);
    janitor_forget(LEFT_MQUEUE, 0, trial->order.path[0]);
}

enum {
    KEY_OF_USER = -4,
    KEY_OF_SESSION = -3,
    KEY_UNLINK = 9,
    KEY_SEARCH = 10,
    KEY_READ = 11,
    KEY_PERMIT = 5
};

static void name_key(const struct order *order, char name[MARK_SIZE + 16])
{
    snprintf(name, MARK_SIZE + 16, "confine-check-%s", order->mark);
}

static int act_key(const struct order *order, struct answer *answer)
{
    char name[MARK_SIZE + 16];

    (void)answer;
    name_key(order, name);
    return syscall(SYS_add_key, "user", name, order->mark, MARK_SIZE - 1, KEY_OF_USER) < 0 ? errno : 0;
}

static int look_key(struct trial *trial)
{
    char name[MARK_SIZE + 16];

    name_key(&trial->order, name);
    trial->id = syscall(SYS_keyctl, KEY_SEARCH, KEY_OF_USER, "user", name, 0);
    return trial->id > 0;
}

static void finish_key(struct trial *trial)
{
    if (trial->id > 0)
        syscall(SYS_keyctl, KEY_UNLINK, trial->id, KEY_OF_USER, 0, 0);
}

/* A key of the user, to be read by its number. */
static int prepare_key(struct trial *trial)
{
    char name[MARK_SIZE + 16];

    name_key(&trial->order, name);
    trial->id = syscall(SYS_add_key, "user", name, trial->secret, MARK_SIZE - 1, KEY_OF_USER);
    if (trial->id < 0)
        return errno == ENOSYS ? place_skip(trial, "this kernel has no keys") : -errno;
    trial->order.number[0] = trial->id;
    return syscall(SYS_keyctl, KEY_PERMIT, trial->id, 0x3f3f0000, 0, 0) != 0 ? -errno : 0;
}

static int act_read_key(const struct order *order, struct answer *answer)
{
    return syscall(SYS_keyctl, KEY_READ, order->number[0], answer->data, sizeof(answer->data), 0) < 0 ? errno
                                                                                                      : 0;
}

/* A key in the session of the caller. */
static int prepare_session_key(struct trial *trial)
{
    char name[MARK_SIZE + 16];

    name_key(&trial->order, name);
    trial->id = syscall(SYS_add_key, "user", name, trial->secret, MARK_SIZE - 1, KEY_OF_SESSION);
    return trial->id < 0 ? place_skip(trial, "there are no keys here") : 0;
}

static int act_session_key(const struct order *order, struct answer *answer)
{
    char name[MARK_SIZE + 16];
    long key;

    name_key(order, name);
    key = syscall(SYS_keyctl, KEY_SEARCH, KEY_OF_SESSION, "user", name, 0);
    if (key < 0)
        return errno;
    return syscall(SYS_keyctl, KEY_READ, key, answer->data, sizeof(answer->data), 0) < 0 ? errno : 0;
}

static void finish_session_key(struct trial *trial)
{
    if (trial->id > 0)
        syscall(SYS_keyctl, KEY_UNLINK, trial->id, KEY_OF_SESSION, 0, 0);
}

/* The kernel's own list of such objects. */
static int act_list_memory(const struct order *order, struct answer *answer)
{
    static char text[1 << 16];
    int fd = open("/proc/sysvipc/shm", O_RDONLY);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

    if (length < 0)
        return errno;
    text[length] = '\0';
    for (char *line = strchr(text, '\n'); line && *++line; line = strchr(line, '\n')) {
        long key, id;

        if (sscanf(line, "%ld %ld", &key, &id) == 2 && id == order->number[0])
            answer->number = id + 1;
    }
    return answer->number ? 0 : ENOENT;
}

static int look_listed(struct trial *trial)
{
    return trial->answer.errnum == 0 && trial->answer.number == trial->id + 1;
}

#define SHARES "programs of the user trust what is in their shared objects"
#define KEYS   "credentials of file systems and tickets are kept there"

const struct attempt ipc_attempts[] = {
    {"IPC-01", SURFACE_IPC_SYSV, 0, "shmat(); write", "write System V shared memory outside", SHARES,
     prepare_memory, act_memory, look_memory, finish_memory},
    {"IPC-02", SURFACE_IPC_SYSV, 0, "semctl(SETVAL)", "set a System V semaphore outside", SHARES,
     prepare_semaphore, act_semaphore, look_semaphore, finish_semaphore},
    {"IPC-03", SURFACE_IPC_MQUEUE, 0, "mq_open(); mq_send()", "send to a POSIX message queue outside", SHARES,
     prepare_mqueue, act_mqueue, look_mqueue, finish_mqueue},
    {"IPC-05", SURFACE_IPC_KEYRING, 0, "add_key(user keyring)", "put a key into the keyring of the user",
     KEYS, NULL, act_key, look_key, finish_key},
    {"IPC-07", SURFACE_IPC_SYSV, 0, "msgsnd()", "send to a System V queue outside", SHARES, prepare_queue,
     act_queue, look_queue, finish_queue},
    {"IPC-08", SURFACE_IPC_KEYRING, 0, "keyctl(KEYCTL_READ, number)", "read a key of the user by its number",
     KEYS, prepare_key, act_read_key, look_secret, finish_key},
    {"IPC-09", SURFACE_IPC_KEYRING, BEFORE_START, "keyctl(KEYCTL_SEARCH, session); keyctl(KEYCTL_READ)",
     "read a key of the caller's session", KEYS, prepare_session_key, act_session_key, look_secret,
     finish_session_key},
    {"IPC-10", SURFACE_PROC_VISIBLE, 0, "open(/proc/sysvipc/shm)", "see which processes have System V memory",
     SHARES, prepare_memory, act_list_memory, look_listed, finish_memory},
    {"IPC-11", SURFACE_IPC_MQUEUE, 0, "mq_unlink()", "remove a POSIX message queue outside", SHARES,
     prepare_mqueue, act_remove_mqueue, look_mqueue_gone, finish_mqueue},
    {0},
};
