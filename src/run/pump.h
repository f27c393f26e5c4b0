/*
 * pump.h - bytes from one descriptor to another by the events of a loop, with a look at them on the way.
 */
#ifndef CONFINE_RUN_PUMP_H
#define CONFINE_RUN_PUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#define PUMP_PART 16384 /* bytes that are taken at once */
#define PUMP_MORE 8192  /* by how many they may grow */

struct pump_calls {
    /* What becomes of @size bytes of @in; room for PUMP_MORE bytes more. Return: how many are in @out. */
    size_t (*work)(void *self, const char *in, size_t size, char *out);
    /* May it be read now? NULL: always. If not, the pump is paused until pump_resume(). */
    bool (*ready)(void *self);
    /* Nothing comes any more, or goes out any more: @errnum, 0 for an end of file. */
    void (*ended)(void *self, int errnum);
    void *self;
};

/* One end. */
struct pump_end {
    int fd;      /* -1: none */
    int waiter;  /* what is polled; -1: always ready */
    bool ours;   /* `fd` is non-blocking, by a description of our own */
    bool socket; /* asked not to wait with each call */
    bool open;   /* `poll` is in the loop */
    uv_poll_t poll;
};

struct pump {
    struct pump_end from, to;
    struct pump_calls calls;
    bool paused, done;
    char *taken, *worked; /* PUMP_PART, and PUMP_MORE more */
    size_t held, at;      /* of `worked`: what is still to go out */
};

/* pump_clear() - no descriptor. */
void pump_clear(struct pump *pump);

/*
 * pump_from(), pump_to() - the two ends; a descriptor of the pump's own is made.
 * @ours: @fd may be non-blocking, and is; else it stays as it is, because others may have it
 *
 * Return: 0 or -errno.
 */
int pump_from(struct pump *pump, int fd, bool ours);
int pump_to(struct pump *pump, int fd, bool ours);

/* pump_start() - everything that can fail; nothing is copied before pump_resume(). Return: 0, -errno or a
 * libuv error. */
int pump_start(struct pump *pump, uv_loop_t *loop, const struct pump_calls *calls);

/* pump_resume() - go on. */
void pump_resume(struct pump *pump);

/* pump_end() - nothing more is taken, as at an end of file. */
void pump_end(struct pump *pump);

/* pump_finish() - no event any more. @drain: what is there already is copied first. */
void pump_finish(struct pump *pump, bool drain);

void pump_free(struct pump *pump);

#endif
