/*
 * util.h - cleanup attributes, strings, descriptors. Knows nothing of sandboxes.
 */
#ifndef CONFINE_UTIL_UTIL_H
#define CONFINE_UTIL_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

void cleanup_fd(int *fd);
void cleanup_free(void *pointer); /* takes the address of the pointer */
#define _cleanup_fd_   __attribute__((cleanup(cleanup_fd)))
#define _cleanup_free_ __attribute__((cleanup(cleanup_free)))

/* steal_fd(), steal_pointer() - hand a resource on; the variable is emptied, so that its cleanup does
 * nothing. */
int steal_fd(int *fd);
void *steal_pointer(void *pointer_address);

/* fd_copy() - @fd once more, as the lowest number from @least on, to be closed by an exec. Return: it, or -1
 * with errno. (The libc's fcntl sets that flag by a second call, for kernels before 2.6.24.) */
int fd_copy(int fd, int least);

/* fd_close() - close @fd unless it is negative, errno kept. Return: -1, for `fd = fd_close(fd)`. */
int fd_close(int fd);

/* number_join() - FRONT, a number in decimal, BACK: without a printf, which takes as long as a call. Return:
 * @room. */
char *number_join(char *room, const char *front, unsigned number, const char *back);

/* stat_same() - one object? fd_same() - are both open, on one object? */
bool stat_same(const struct stat *one, const struct stat *other);
bool fd_same(int one, int other);

/* clock_ms() - what it shows, in milliseconds. */
int64_t clock_ms(clockid_t clock);

/* FD_NAME() - a name of what the descriptor is open on, which lasts as long as the block. */
#define FD_NAME(fd) number_join((char[32]){0}, "/proc/self/fd/", (unsigned)(fd), "")

/* array_more() - room for one more item of @size bytes behind @count in the growing array whose address is at
 * @array. The array starts as NULL and grows by this alone. Return: false without memory; nothing changed. */
bool array_more(void *array, size_t count, size_t size);

/* array_expect() - room for @count items in the array at @array, which is NULL: array_more() copies less
 * often then. Return: false without memory; nothing has changed. */
bool array_expect(void *array, size_t count, size_t size);

/*
 * fd_read_all() - everything that can be read from @fd, NUL-terminated, owned by the caller.
 * @most: bytes; more than that is -EFBIG
 *
 * Return: 0, or -errno; then nothing is stored.
 */
int fd_read_all(int fd, size_t most, char **ret_data, size_t *ret_length);

/*
 * file_read() - a small file, as far as there is room, NUL-terminated also where it cannot be read.
 * @directory, @name: as for openat()
 *
 * Return: bytes, or -errno.
 */
ssize_t file_read(int directory, const char *name, char *text, size_t size);

/* text_same() - have both the same text, or neither any? */
bool text_same(const char *one, const char *other);

/* path_contains() - is the canonical @path equal to or below the canonical @above? */
bool path_contains(const char *above, const char *path);

/* A growing list of strings, NULL-terminated, owning its items. Zero-initialised is empty. */
struct strings {
    char **items;
    size_t count;
};
int strings_add(struct strings *strings, const char *text); /* copies; 0 or -ENOMEM */

/* text_join() - the pieces behind one another, up to a NULL: where every start does it, a printf takes too
 * long. Return: a string of the caller's, NULL without memory. strings_join() - adds it. Return: 0 or
 * -ENOMEM. */
char *text_join(const char *first, ...) __attribute__((sentinel));
int strings_join(struct strings *strings, const char *first, ...) __attribute__((sentinel));
__attribute__((format(printf, 2, 3))) int strings_addf(struct strings *strings, const char *format, ...);
bool strings_have(const struct strings *strings, const char *text);
void strings_free(struct strings *strings);

/* A growing text. Zero-initialised is empty; `data` is NULL until something is added, then NUL-terminated.
 * After a failed allocation `failed` is set and everything else is ignored: test it once, at the end. */
struct text {
    char *data;
    size_t length;
    size_t size; /* allocated */
    bool failed;
};
__attribute__((format(printf, 2, 3))) void text_addf(struct text *text, const char *format, ...);
void text_reserve(struct text *text, size_t size); /* room for @size bytes, where that is known beforehand */
void text_add(struct text *text, const char *piece);
void text_add_number(struct text *text, int64_t number); /* decimal; where printf's time counts */
void text_add_bytes(struct text *text, const char *bytes, size_t length);
void text_add_base64(struct text *text, const char *bytes, size_t length);
/* text_take() - @length more bytes, which the caller writes. Return: where, NULL without memory. */
char *text_take(struct text *text, size_t length);
void text_free(struct text *text);

/*
 * text_quote() - a name from outside, safe on a terminal, in a log and in a prompt.
 *
 * In double quotes when anything but letters, digits and `/._-+=:,@%~` is in it; controls, escapes, quotes,
 * backslashes, bidi marks and bytes that are no UTF-8 as \xNN, \uNNNN or \UNNNNNNNN; cut at @most bytes with
 * `…`. Writes into @buffer (NUL-terminated). Return: @buffer.
 */
const char *text_quote(char *buffer, size_t size, const char *name, size_t most);
#define QUOTE(name) text_quote((char[512]){0}, 512, (name), 300)

/* The word of a table that a person probably meant, by a few wrong letters or by its beginning. Start with
 * {.word = …}, try every candidate, read `best`.
 */
struct nearest {
    const char *word;
    const char *best; /* NULL: nothing is near enough to be named */
    size_t distance;
};
void nearest_try(struct nearest *nearest, const char *candidate);

/* utf8_decode() - the first character of @text. Return: its bytes, 0 if @text begins with no valid one. */
size_t utf8_decode(const char *text, size_t length, uint32_t *ret_character);

/* utf8_valid() - is all of @text UTF-8? */
bool utf8_valid(const char *text);

#include "util/banned.h" /* last: it turns calls that have no safe use into compile errors */

#endif
