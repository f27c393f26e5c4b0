/*
 * namespace.h - what the files of namespace-run share.
 *
 * One file per subject: namespace_items.c (what was asked for, and its names),
 * namespace_store.c (memory), namespace_maps.c (the namespaces, id maps),
 * namespace_ahead.c (the same before the chain started), namespace_net.c (loopback,
 * listeners), namespace_view.c (what there is to see), namespace_dev.c (/dev), namespace_hide.c (masks,
 * overlays, copies), namespace_protect.c (held places and their ancestors), namespace_init.c (pid 1),
 * namespace_command.c (the command), namespace_outer.c (the process that waits for it), namespace_terminal.c
 * (whose terminal it is), namespace_hold.c, namespace_join.c and namespace_watch.c (a session: its namespaces
 * made, entered, and left).
 */
#ifndef CONFINE_LINKS_NAMESPACE_H
#define CONFINE_LINKS_NAMESPACE_H

#include "chain.h"
#include "channel.h"
#include "kernel_abi.h"

#include <signal.h>
#include <sys/types.h>

#define NAMESPACE_READY   'r' /* what pid 1 says when it has given up all that it must not have */
#define NAMESPACE_DEVICES 6   /* nodes that are always in /dev */
#define NAMESPACE_TRIES   100 /* to open what comes and goes */
#define NAMESPACE_PART    32  /* bytes of the name of a part of the pool, NUL included */

/* What an item is. Of items with one name a later kind is laid over an earlier one, so that what restricts
 * wins. */
enum namespace_kind {
    KIND_NOTHING = 0,
    KIND_PLACE,   /* replaced by an empty private directory; made by us, not asked for */
    KIND_RW,      /* --rw */
    KIND_RO,      /* --ro */
    KIND_OVERLAY, /* --overlay */
    KIND_COVER,   /* --cover */
    KIND_SOCKET,  /* --socket */
    KIND_DEVICE,  /* --device */
    KIND_COPY,    /* --copy */
    KIND_PROTECT, /* --protect */
    KIND_HIDE,    /* --hide */
    KIND_UPPER,   /* --upper; belongs to the overlay before it */
    KIND_COUNT
};

struct namespace_item {
    const char *word; /* as it was given, for messages */
    const char *name; /* canonical and absolute */
    size_t length;    /* of `name` */
    dev_t device;     /* of the object that was named */
    ino_t inode;
    mode_t mode;
    struct namespace_item *above; /* the nearest item whose tree the name lies in; NULL: the read-only root */
    struct namespace_item *upper; /* overlay: where what is written goes */
    char **names;                 /* cover: the word after which its `--name NAME` pairs begin */
    size_t name_count;
    int clone;  /* detached mount, -1: none */
    int lower;  /* cover, overlay: what it shows, where a cover lies on the name of that; -1: what is seen */
    int at;     /* root: the object that it will be attached to, -1: to be opened then */
    int shadow; /* root: a second clone, where ancestors of protected places are held; -1: none */
    int part;   /* place, and kept hide: its directory in the pool, for making mount points; -1: none */
    uint8_t kind; /* enum namespace_kind */
    bool keeps;   /* hide: something below it stays visible */
    bool shown;   /* this item has been put into the view */
    bool comes;   /* hide: given by its name alone, as sockets of others are, which come and go */
    bool shared;  /* place: the session's, with what other commands have put there */
};

struct namespace
{
    struct chain *chain;
    struct namespace_item **items; /* sorted: what lies in a tree comes behind it */
    size_t count;
    char **command;
    bool map_all;
    bool net;
    size_t net_words, net_end; /* the words of --address, --local and --listen; 0: none */
    bool listens;              /* one of them is --listen */
    int nameless;              /* where process 1 says that there are no names; -1: nowhere */
    bool entrance;             /* hand out the way into the network */
    bool serve;                /* do what is asked for in a network that is there, and no command */
    bool terminal;
    bool masks;               /* the two objects of masks have been made */
    bool nest;                /* /proc is writable, so that a user namespace inside can have its id maps */
    bool wait_all;            /* the namespace ends with its last process, not with the command */
    uint64_t tmp_size;        /* bytes, 0: the kernel's default */
    unsigned process_numbers; /* 0: the kernel's default */
    bool hold;                /* make the namespaces of a session, and no command */
    bool joined;              /* the command goes into the namespaces of a session */
    bool cancelled;           /* joined: what is left when the command ends is to be killed */
    bool over;                /* joined: the supervisor has said its last word */
    int join[JOIN_COUNT];     /* joined: descriptors of the session's namespaces, -1: not given */
    int shared[2];            /* joined: the session's /tmp and /dev/shm, detached mounts, -1: private ones */
    int ahead;                /* pidfd of a process that has made namespaces; -1: none */
    int ahead_ready;          /* an event, on which it says so */
    int events;               /* joined: readable when a signal is pending, -1: not there */
    int init;                 /* our end of the socket to pid 1, -1: none */
    pid_t init_pid;           /* pid 1 as seen out here, 0: it is not ours */
    pid_t inner;              /* the command's pid as it sees it itself */
    bool proc;                /* /proc is this namespace's: its processes can be counted */
    int liveness;             /* -1: none */
    int channel;              /* -1: none */
    int descriptors;          /* /proc/self/fd, while names are read; -1: not needed so far */
    int tty;                  /* --terminal: the controlling terminal, -1: none */
    bool foreground; /* the caller's process group had its foreground, and the command's has it now */

    dev_t cwd_device;
    ino_t cwd_inode;
    mode_t umask;
    sigset_t signals; /* blocked when we were started */

    int pool;  /* the root of the one tmpfs that everything private is a part of */
    int draft; /* its directory `still`, for making things in it */
    int still; /* the same through a mount that is read-only */
    dev_t pool_device;
    unsigned parts; /* numbered directories made in the pool so far */

    char cwd[PATH_MAX]; /* last, so that all the rest is on one page */
};

/* --- namespace-run.c --- */
_Noreturn void namespace_cannot(const struct namespace *ns, enum channel_cannot step, const char *what,
                                int errnum);

/* --- namespace_numbers.c --- */
void namespace_number(const struct namespace *ns, unsigned long flags);

/* --- namespace_items.c --- */
struct namespace_item *namespace_add(struct namespace *ns, enum namespace_kind kind, const char *word);
void namespace_add_places(struct namespace *ns);
void namespace_sort(struct namespace *ns);
int namespace_open(const struct namespace *ns, const struct namespace_item *item, int flags);
bool namespace_is_below(const struct namespace_item *item, const struct namespace_item *tree);
bool namespace_is_merged(const struct namespace_item *item);

/* --- namespace_store.c --- */
void *namespace_take(const struct namespace *ns, size_t size);

/* --- namespace_maps.c --- */
void namespace_unshare(struct namespace *ns);
uint64_t namespace_root_mount(const struct namespace *ns);

/* --- namespace_net.c --- */
bool namespace_take_net(struct namespace *ns, size_t *at);
void namespace_check_net(const struct namespace *ns);
void namespace_build_net(struct namespace *ns, bool raise);

/* --- namespace_serve.c --- */
_Noreturn void namespace_serve(struct namespace *ns);
/* --- namespace_ahead.c --- */
int namespace_write_file(const char *name, const char *text);
int namespace_map_own(uid_t uid, gid_t gid);
int namespace_raise_loopback(bool *ret_up);
void namespace_open_ports(void);
bool namespace_enter_ahead(struct namespace *ns);

/* --- namespace_join.c --- */
bool namespace_take_join(struct namespace *ns, size_t *at);
void namespace_check_join(const struct namespace *ns);
void namespace_join(struct namespace *ns);
void namespace_make_shared_point(const struct namespace *ns, int place, char *path, mode_t mode,
                                 const char *whole);

/* --- namespace_watch.c --- */
void namespace_bind_command(const struct namespace *ns);
void namespace_open_events(struct namespace *ns, const sigset_t *taken);
void namespace_watch(struct namespace *ns, pid_t command);
uint32_t namespace_end_joined(struct namespace *ns);

/* --- namespace_hold.c --- */
_Noreturn void namespace_hold(struct namespace *ns);

/* --- namespace_view.c --- */
void namespace_build_view(struct namespace *ns);
int namespace_make_part(struct namespace *ns, bool still, mode_t mode, char name[NAMESPACE_PART]);
int namespace_open_directory(const struct namespace *ns, int directory, const char *name);
void namespace_make_directory(const struct namespace *ns, bool still, const char *name, mode_t mode);
void namespace_attach_part(const struct namespace *ns, int half, const char *name, const char *place);
void namespace_tmpfs_options(const struct namespace *ns, const char *mode, char *options, size_t size);
void namespace_make_point(const struct namespace *ns, const struct namespace_item *item);

/* --- namespace_dev.c --- */
void namespace_clone_devices(const struct namespace *ns, int clones[NAMESPACE_DEVICES]);
void namespace_build_dev(struct namespace *ns, const int clones[NAMESPACE_DEVICES]);

/* --- namespace_hide.c --- */
void namespace_hide(struct namespace *ns, struct namespace_item *item);
void namespace_cover(struct namespace *ns, struct namespace_item *item);
bool namespace_has_lower(const struct namespace_item *item);
void namespace_overlay(struct namespace *ns, struct namespace_item *item);
void namespace_copy(struct namespace *ns, struct namespace_item *item);

/* --- namespace_protect.c --- */
void namespace_protect(struct namespace *ns, struct namespace_item *item);
void namespace_pin(struct namespace *ns);

/* --- namespace_init.c --- */
_Noreturn void namespace_init(const struct namespace *ns, int outer);
bool namespace_keep(int keep[], size_t count);

/* --- namespace_terminal.c --- */
void namespace_take_terminal(struct namespace *ns);
void namespace_enter_group(const struct namespace *ns);
void namespace_return_terminal(struct namespace *ns);
void namespace_stop_group(struct namespace *ns);
void namespace_continue_group(struct namespace *ns, pid_t command);

/* --- namespace_command.c --- */
pid_t namespace_start_command(struct namespace *ns);

/* --- namespace_outer.c --- */
void namespace_start_init(struct namespace *ns);
_Noreturn void namespace_live(struct namespace *ns);

#endif
