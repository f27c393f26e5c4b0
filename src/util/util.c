/*
 * util.c - descriptors, lists of strings, growing texts, quoting.
 *
 * Should:  keep errno in everything that runs on the way out of a function.
 * Mustn't: know anything of sandboxes.
 */
#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

void cleanup_fd(int *fd)
{
    fd_close(*fd);
}

void cleanup_free(void *pointer)
{
    int kept = errno;

    free(*(void **)pointer);
    errno = kept;
}

int steal_fd(int *fd)
{
    int stolen = *fd;

    *fd = -1;
    return stolen;
}

void *steal_pointer(void *pointer_address)
{
    void *stolen = *(void **)pointer_address;

    *(void **)pointer_address = NULL;
    return stolen;
}

int fd_copy(int fd, int least)
{
    return (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, least);
}

int fd_close(int fd)
{
    int kept = errno;

    if (fd >= 0)
        close(fd); /* never repeated on EINTR: Linux has closed it, the number may be somebody else's */
    errno = kept;
    return -1;
}

bool stat_same(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

bool fd_same(int one, int other)
{
    struct stat first, second;

    return one >= 0 && other >= 0 && fstat(one, &first) == 0 && fstat(other, &second) == 0 &&
           stat_same(&first, &second);
}

int64_t clock_ms(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

char *number_join(char *room, const char *front, unsigned number, const char *back)
{
    char digits[12], *at = digits + sizeof(digits);
    size_t length = strlen(front), count;

    *--at = '\0';
    do
        *--at = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    count = strlen(at);
    memcpy(room, front, length + 1);
    memcpy(room + length, at, count + 1);
    memcpy(room + length + count, back, strlen(back) + 1);
    return room;
}

int fd_read_all(int fd, size_t most, char **ret_data, size_t *ret_length)
{
    size_t size = 4000, length = 0; /* with what the allocator adds, a page */
    _cleanup_free_ char *data = NULL;
    struct stat st;

    /* What says its size is mostly small; files of the kernel say 0. One byte more, to see its end. */
    if (fstat(fd, &st) == 0 && st.st_size > 0 && (size_t)st.st_size < size)
        size = (size_t)st.st_size + 1;
    data = malloc(size + 1);
    if (!data)
        return -ENOMEM;
    for (;;) {
        ssize_t got;

        if (length == size) {
            char *larger = realloc(data, size * 2 + 1);

            if (!larger)
                return -ENOMEM;
            data = larger;
            size *= 2;
        }
        got = read(fd, data + length, size - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            break;
        length += (size_t)got;
        if (length > most)
            return -EFBIG;
    }
    data[length] = '\0';
    *ret_length = length;
    *ret_data = steal_pointer(&data);
    return 0;
}

ssize_t file_read(int directory, const char *name, char *text, size_t size)
{
    _cleanup_fd_ int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    ssize_t got = fd < 0 ? -errno : 1;

    while (fd >= 0 && got > 0 && length < size - 1) { /* the kernel gives a page at a time */
        got = read(fd, text + length, size - 1 - length);
        if (got < 0 && errno == EINTR)
            got = 1;
        else if (got < 0)
            got = -errno;
        else
            length += (size_t)got;
    }
    text[length] = '\0';
    return got < 0 ? got : (ssize_t)length;
}

bool array_more(void *array, size_t count, size_t size)
{
    void *items, *larger;

    /* Room is 0, 8, 16, 32, …: an item more each time would copy, and leave behind, the square of it. */
    if (count != 0 && (count < 8 || (count & (count - 1))))
        return true;
    memcpy(&items, array, sizeof(items));
    larger = realloc(items, (count ? 2 * count : 8) * size);
    if (!larger)
        return false;
    memcpy(array, &larger, sizeof(larger));
    return true;
}

bool array_expect(void *array, size_t count, size_t size)
{
    void *items = malloc(count * size);

    if (items)
        memcpy(array, &items, sizeof(items));
    return items;
}

/* Takes TEXT over, also on failure. */
static int take_string(struct strings *strings, char *text)
{
    size_t used = strings->count ? strings->count + 1 : 0; /* with the NULL at the end */

    if (!text)
        return -ENOMEM;
    if (!array_more(&strings->items, used, sizeof(*strings->items))) {
        free(text);
        return -ENOMEM;
    }
    strings->items[strings->count++] = text;
    strings->items[strings->count] = NULL;
    return 0;
}

bool text_same(const char *one, const char *other)
{
    return one && other ? strcmp(one, other) == 0 : one == other;
}

bool path_contains(const char *above, const char *path)
{
    if (above[0] && !above[1])
        return true;                  /* "/" */
    while (*above && *above == *path) /* asked some seventy times for each grant: no two passes over it */
        above++, path++;
    return *above == '\0' && (*path == '/' || *path == '\0');
}

int strings_add(struct strings *strings, const char *text)
{
    return take_string(strings, strdup(text));
}

static char *join(const char *first, va_list list)
{
    size_t length = 0;
    va_list again;
    char *text, *to;

    va_copy(again, list);
    for (const char *piece = first; piece; piece = va_arg(again, const char *))
        length += strlen(piece);
    va_end(again);
    text = to = malloc(length + 1);
    for (const char *piece = text ? first : NULL; piece; piece = va_arg(list, const char *)) {
        length = strlen(piece);
        memcpy(to, piece, length);
        to += length;
    }
    if (text)
        *to = '\0';
    return text;
}

char *text_join(const char *first, ...)
{
    va_list list;
    char *text;

    va_start(list, first);
    text = join(first, list);
    va_end(list);
    return text;
}

int strings_join(struct strings *strings, const char *first, ...)
{
    va_list list;
    char *text;

    va_start(list, first);
    text = join(first, list);
    va_end(list);
    return take_string(strings, text);
}

int strings_addf(struct strings *strings, const char *format, ...)
{
    char shown[256], *text = NULL;
    va_list list;
    int length;

    va_start(list, format);
    length = vsnprintf(shown, sizeof(shown), format, list);
    va_end(list);
    if (length >= 0 && (size_t)length < sizeof(shown)) /* nearly always; vasprintf() formats twice */
        return take_string(strings, strdup(shown));
    va_start(list, format);
    length = vasprintf(&text, format, list);
    va_end(list);
    return take_string(strings, length < 0 ? NULL : text);
}

bool strings_have(const struct strings *strings, const char *text)
{
    for (size_t i = 0; i < strings->count; i++)
        if (strcmp(strings->items[i], text) == 0)
            return true;
    return false;
}

void strings_free(struct strings *strings)
{
    int kept = errno;

    for (size_t i = 0; i < strings->count; i++)
        free(strings->items[i]);
    free(strings->items);
    *strings = (struct strings){0};
    errno = kept;
}

void text_reserve(struct text *text, size_t size)
{
    char *larger;

    if (text->failed || size <= text->size)
        return;
    larger = realloc(text->data, size);
    text->failed = !larger;
    if (!larger)
        return;
    text->data = larger;
    text->size = size;
}

char *text_take(struct text *text, size_t length)
{
    size_t size = text->size ? text->size : 64;
    char *room;

    if (text->size <= text->length + length || text->failed) {
        while (size < text->length + length + 1)
            size *= 2;
        text_reserve(text, size);
        if (text->failed)
            return NULL;
    }
    room = text->data + text->length;
    text->length += length;
    room[length] = '\0';
    return room;
}

void text_add_bytes(struct text *text, const char *bytes, size_t length)
{
    char *room = text_take(text, length);

    if (room)
        memcpy(room, bytes, length);
}

void text_add(struct text *text, const char *piece)
{
    text_add_bytes(text, piece, strlen(piece));
}

void text_add_number(struct text *text, int64_t number)
{
    char digits[24], *at = digits + sizeof(digits);
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;

    do
        *--at = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    if (number < 0)
        *--at = '-';
    text_add_bytes(text, at, (size_t)(digits + sizeof(digits) - at));
}

void text_add_base64(struct text *text, const char *bytes, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < length; i += 3) {
        uint32_t group = 0;
        char piece[] = "====";

        for (size_t j = 0; j < 3; j++)
            group = group << 8 | (i + j < length ? (unsigned char)bytes[i + j] : 0U);
        for (size_t j = 0; j < 4 && i + j < length + 1; j++)
            piece[j] = digits[group >> (18 - 6 * j) & 63];
        text_add_bytes(text, piece, 4);
    }
}

void text_addf(struct text *text, const char *format, ...)
{
    char shown[256], *piece;
    va_list list;
    int length;

    va_start(list, format);
    length = vsnprintf(shown, sizeof(shown), format, list);
    va_end(list);
    if (length >= 0 && (size_t)length < sizeof(shown)) { /* nearly always; vasprintf() formats twice */
        text_add_bytes(text, shown, (size_t)length);
        return;
    }
    va_start(list, format);
    length = vasprintf(&piece, format, list);
    va_end(list);
    if (length < 0) {
        text->failed = true;
        return;
    }
    text_add_bytes(text, piece, (size_t)length);
    free(piece);
}

void text_free(struct text *text)
{
    int kept = errno;

    free(text->data);
    *text = (struct text){0};
    errno = kept;
}

size_t utf8_decode(const char *text, size_t length, uint32_t *ret_character)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *byte = (const unsigned char *)text;
    size_t size = byte[0] < 0x80   ? 1
                  : byte[0] < 0xc2 ? 0
                  : byte[0] < 0xe0 ? 2
                  : byte[0] < 0xf0 ? 3
                  : byte[0] < 0xf5 ? 4
                                   : 0;
    uint32_t character = byte[0];

    if (size == 0 || size > length)
        return 0;
    if (size > 1)
        character &= 0x7fU >> size;
    for (size_t i = 1; i < size; i++) {
        if ((byte[i] & 0xc0) != 0x80)
            return 0;
        character = character << 6 | (byte[i] & 0x3f);
    }
    if (character < least[size] || character > 0x10ffff || (character >= 0xd800 && character <= 0xdfff))
        return 0;
    *ret_character = character;
    return size;
}

bool utf8_valid(const char *text)
{
    size_t length = strlen(text), size;
    uint32_t character;

    for (size_t at = 0; at < length; at += size) {
        size = utf8_decode(text + at, length - at, &character);
        if (size == 0)
            return false;
    }
    return true;
}

/* Characters that cannot be seen, look like a space or turn the text around them: sorted, first to last. */
static const uint32_t unseen[][2] = {
    {0x00, 0x1f},     {0x7f, 0xa0},        {0xad, 0xad},     {0x34f, 0x34f},   {0x61c, 0x61c},
    {0x115f, 0x1160}, {0x1680, 0x1680},    {0x17b4, 0x17b5}, {0x180b, 0x180f}, {0x2000, 0x200f},
    {0x2028, 0x202f}, {0x205f, 0x206f},    {0x2800, 0x2800}, {0x3000, 0x3000}, {0x3164, 0x3164},
    {0xe000, 0xf8ff}, {0xfe00, 0xfe0f},    {0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff0, 0xfffb},
    {0xfffe, 0xffff}, {0xe0000, 0x10ffff},
};

static bool is_unseen(uint32_t character)
{
    for (size_t i = 0; i < ARRAY_SIZE(unseen); i++)
        if (character >= unseen[i][0] && character <= unseen[i][1])
            return true;
    return false;
}

/* One character of a quoted name as it may be shown. Return: the bytes of NAME that it stands for. */
static size_t escape_one(const char *name, size_t length, char piece[static 16], bool *ret_plain)
{
    uint32_t character = 0;
    size_t size = utf8_decode(name, length, &character);

    *ret_plain = size == 1 &&
                 strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+=:,@%~", name[0]);
    if (size == 0 || name[0] == '"' || name[0] == '\\' || (size == 1 && is_unseen(character))) {
        snprintf(piece, 16, "\\x%02x", (unsigned char)name[0]);
        return 1;
    }
    if (*ret_plain || !is_unseen(character)) {
        memcpy(piece, name, size);
        piece[size] = '\0';
    } else if (character > 0xffff) {
        snprintf(piece, 16, "\\U%08x", (unsigned)character);
    } else {
        snprintf(piece, 16, "\\u%04x", (unsigned)character);
    }
    return size;
}

const char *text_quote(char *buffer, size_t size, const char *name, size_t most)
{
    static const char more[] = "…";
    const size_t around = sizeof(more) + 2; /* two quotes, the mark of a cut, NUL */
    size_t length = name ? strlen(name) : 0, used = 0, at = 0;
    bool plain = length > 0, cut = false;

    if (size <= around) { /* no room for anything: say nothing rather than half of it */
        if (size > 0)
            buffer[0] = '\0';
        return buffer;
    }
    if (most > size - around)
        most = size - around;
    while (at < length) {
        char piece[16];
        bool is_plain;
        size_t taken = escape_one(name + at, length - at, piece, &is_plain), wide = strlen(piece);

        plain = plain && is_plain;
        if (used + wide > most) {
            cut = true;
            break;
        }
        memcpy(buffer + 1 + used, piece, wide);
        used += wide;
        at += taken;
    }
    if (plain && !cut) {
        memmove(buffer, buffer + 1, used);
        buffer[used] = '\0';
        return buffer;
    }
    buffer[0] = '"';
    snprintf(buffer + 1 + used, size - 1 - used, "%s\"", cut ? more : "");
    return buffer;
}

/* Letters to add, drop, change or swap with the next one to make A into B; words of tables are short. */
static size_t count_edits(const char *a, const char *b)
{
    enum { MOST = 40 };
    size_t rows[3][MOST + 1], a_length = strlen(a), b_length = strlen(b);

    if (a_length > MOST || b_length > MOST)
        return MOST;
    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *now = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];

        now[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);

            if (last[j] + 1 < best)
                best = last[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
    }
    return rows[a_length % 3][b_length];
}

void nearest_try(struct nearest *nearest, const char *candidate)
{
    size_t length = strlen(candidate), most = length < 4 ? 1 : length < 8 ? 2 : 3;
    size_t edits = count_edits(nearest->word, candidate), typed = strlen(nearest->word);

    /* A beginning is what people type who are used to abbreviations; fewer edits are nearer. */
    if (!nearest->best && typed >= 3 && typed < length && strncmp(nearest->word, candidate, typed) == 0) {
        nearest->best = candidate;
        nearest->distance = length;
    }
    if (edits > most || edits >= length || edits >= typed || (nearest->best && edits >= nearest->distance))
        return;
    nearest->best = candidate;
    nearest->distance = edits;
}
