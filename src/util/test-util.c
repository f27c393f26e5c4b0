/*
 * test-util.c - errors, lists, texts, quoting, descriptors.
 */
#include "harness.h"

#include "util/error.h"
#include "util/util.h"

TEST(error_keeps_what_it_is_told)
{
    struct error error = {0};

    errno = EIO;
    check_int(error_set(&error, ERROR_SANDBOX_UNAVAILABLE, ENOSYS, "no-landlock", "%s is missing", "it"),
              -ENOSYS);
    check_int(errno, EIO);
    check_int(error_hint(&error, "use %d", 5), -ENOSYS);
    check_int(error_surface(&error, "fs.write"), -ENOSYS);
    check_str(error.message, "it is missing");
    check_str(error.hint, "use 5");
    check_str(error.surface, "fs.write");
    check_str(error.reason, "no-landlock");
    check_int(error_set(&error, ERROR_USAGE, 0, "other", "x"), -EINVAL);
    check_str(error.hint, "");
    check_str(error.surface, "");
    check_int(error_no_memory(&error), -ENOMEM);
}

TEST(error_names_are_all_there)
{
    for (int code = 0; code < ERROR_COUNT; code++) {
        const char *name = error_name((enum error_code)code);

        need(name != NULL);
        for (int other = 0; other < code; other++)
            check(strcmp(name, error_name((enum error_code)other)) != 0);
    }
    check_str(error_name(ERROR_POLICY_INVALID), "POLICY_INVALID");
    check_str(error_name((enum error_code)99), "INTERNAL");
}

TEST(error_is_cut_between_characters)
{
    struct error error = {0};
    char text[2048] = "";

    for (size_t i = 0; i + 2 < sizeof(text); i += 2)
        memcpy(text + i, "ä", 3);
    for (int shift = 0; shift < 2; shift++) {
        uint32_t character;
        size_t size, length;

        error_set(&error, ERROR_INTERNAL, 0, "x", "%s%s", shift ? "a" : "", text);
        length = strlen(error.message);
        check(length < sizeof(error.message));
        check(length > sizeof(error.message) - 8);
        check_str(error.message + length - 3, "…");
        for (size_t at = 0; at < length; at += size) {
            size = utf8_decode(error.message + at, length - at, &character);
            need(size > 0);
        }
    }
}

TEST(strings_own_copies)
{
    struct strings strings = {0};
    char text[] = "one";

    check_int(strings_add(&strings, text), 0);
    text[0] = 'x';
    check_int(strings_addf(&strings, "%d-%s", 2, "two"), 0);
    check_int(strings.count, 2);
    check_str(strings.items[0], "one");
    check_str(strings.items[1], "2-two");
    check(strings.items[2] == NULL);
    check(strings_have(&strings, "one"));
    check(!strings_have(&strings, "on"));
    strings_free(&strings);
    check_int(strings.count, 0);
    check(strings.items == NULL);
}

TEST(text_grows)
{
    struct text text = {0};

    for (int i = 0; i < 1000; i++)
        text_addf(&text, "%03d", i);
    text_add(&text, "end");
    text_add_bytes(&text, "\0x", 2);
    check(!text.failed);
    check_int(text.length, 3005);
    check(memcmp(text.data + 2997, "999end\0x", 9) == 0);
    text_free(&text);
    check(text.data == NULL);
}

TEST(numbers_are_decimal)
{
    const int64_t numbers[] = {0, 9, 10, -1, 640, INT64_MAX, INT64_MIN};
    struct text text = {0};
    char expected[32];

    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        text.length = 0;
        text_add_number(&text, numbers[i]);
        snprintf(expected, sizeof(expected), "%lld", (long long)numbers[i]);
        check_str(text.data, expected);
    }
    text_free(&text);
}

TEST(lists_grow_in_steps)
{
    struct strings strings = {0};
    char expected[512];

    for (size_t i = 0; i < 300;
         i++) { /* the last ones no longer fit into what strings_addf() formats first */
        need(strings_addf(&strings, "%0*zu", (int)i + 1, i) == 0);
        check_int(strings.count, i + 1);
        check(strings.items[i + 1] == NULL);
    }
    for (size_t i = 0; i < 300; i++) {
        snprintf(expected, sizeof(expected), "%0*zu", (int)i + 1, i);
        check_str(strings.items[i], expected);
    }
    strings_free(&strings);
}

TEST(descriptors_are_closed_once)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), kept;

    need(fd >= 0);
    kept = fd;
    {
        _cleanup_fd_ int owner = fd;

        check_int(steal_fd(&owner), fd);
        check_int(owner, -1);
    }
    check(fcntl(kept, F_GETFD) >= 0);
    {
        _cleanup_fd_ int owner = fd;

        errno = EIO;
        (void)owner;
    }
    check_int(fcntl(kept, F_GETFD), -1);
    check_int(errno, EBADF);
    errno = EIO;
    check_int(fd_close(kept), -1);
    check_int(errno, EIO);
    check_int(fd_close(-1), -1);
}

TEST(pointers_are_stolen)
{
    char *one = strdup("x"), *two = steal_pointer(&one);

    check(one == NULL);
    check_str(two, "x");
    free(two);
}

TEST(read_all_has_a_bound)
{
    static const char bytes[10000] = {0};
    char path[PATH_MAX + 8], *data = NULL;
    size_t length = 0;
    int fd;

    snprintf(path, sizeof(path), "%s/file", test_dir);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    need(write(fd, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes));
    need(lseek(fd, 0, SEEK_SET) == 0);
    check_int(fd_read_all(fd, sizeof(bytes) - 1, &data, &length), -EFBIG);
    check(data == NULL);
    need(lseek(fd, 0, SEEK_SET) == 0);
    check_int(fd_read_all(fd, sizeof(bytes), &data, &length), 0);
    check_int(length, sizeof(bytes));
    check(data && data[length] == '\0');
    free(data);
    close(fd);
    check_int(fd_read_all(fd, 10, &data, &length), -EBADF);
}

TEST(small_files_are_read_as_far_as_there_is_room)
{
    char path[PATH_MAX + 8], text[6] = "xxxxx";
    int fd;

    snprintf(path, sizeof(path), "%s/small", test_dir);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    check_int(file_read(AT_FDCWD, path, text, sizeof(text)), 0);
    check_str(text, "");
    need(write(fd, "1234", 4) == 4);
    check_int(file_read(AT_FDCWD, path, text, sizeof(text)), 4);
    check_str(text, "1234");
    need(write(fd, "5678", 4) == 4);
    check_int(file_read(AT_FDCWD, path, text, sizeof(text)), 5);
    check_str(text, "12345");
    close(fd);
    need(unlink(path) == 0);
    check_int(file_read(AT_FDCWD, path, text, sizeof(text)), -ENOENT);
    check_str(text, "");
    check_int(file_read(AT_FDCWD, test_dir, text, sizeof(text)), -EISDIR);
    check_str(text, "");
}

static const struct quote_row {
    const char *name, *expected;
    size_t most;
} quotes[] = {
    {"/usr/bin/x-1.0_a", "/usr/bin/x-1.0_a", 100},
    {"~/a@b,c%d=e:f+g", "~/a@b,c%d=e:f+g", 100},
    {"", "\"\"", 100},
    {"a b", "\"a b\"", 100},
    {"a\nb", "\"a\\x0ab\"", 100},
    {"\033[31mred", "\"\\x1b[31mred\"", 100},
    {"say \"x\"", "\"say \\x22x\\x22\"", 100},
    {"back\\slash", "\"back\\x5cslash\"", 100},
    {"$HOME", "\"$HOME\"", 100},
    {"größe", "\"größe\"", 100},
    {"\xff\xfe", "\"\\xff\\xfe\"", 100},
    {"\xc3", "\"\\xc3\"", 100},
    {"\xc0\xaf", "\"\\xc0\\xaf\"", 100},          /* overlong slash */
    {"\xed\xa0\x80", "\"\\xed\\xa0\\x80\"", 100}, /* lone surrogate */
    {"a\xe2\x80\xae"
     "b",
     "\"a\\u202eb\"", 100},                 /* right-to-left override */
    {"a\xe2\x80\x8b", "\"a\\u200b\"", 100}, /* zero width */
    {"a\xc2\x85", "\"a\\u0085\"", 100},     /* C1: next line */
    {"\xe2\x80\xa8", "\"\\u2028\"", 100},
    {"\xf3\xa0\x81\x81", "\"\\U000e0041\"", 100}, /* tag letter: seen by a model, not by a person */
    {"\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\"", 100},
    {"\x7f", "\"\\x7f\"", 100},
    {"abcdef", "\"abc…\"", 3},
    {"abc", "abc", 3},
    {"ab\n", "\"ab…\"", 3}, /* never half an escape */
    {"aää", "\"aä…\"", 4},
};

TEST_EACH(quotes_names, struct quote_row, quotes)
{
    char buffer[256];

    check_str(text_quote(buffer, sizeof(buffer), row->name, row->most), row->expected);
}

TEST(quote_stays_in_its_buffer)
{
    char buffer[64];
    const char name[] = "a\n\xe2\x80\xae"
                        "bcdefghijklmnopqrstuvwxyz0123456789ä";

    for (size_t size = 0; size < sizeof(buffer); size++) {
        memset(buffer, '#', sizeof(buffer));
        text_quote(buffer, size, name, 1000);
        for (size_t i = size; i < sizeof(buffer); i++)
            need(buffer[i] == '#');
        if (size > 0)
            check(strlen(buffer) < size);
    }
    check_str(text_quote(buffer, sizeof(buffer), NULL, 10), "\"\"");
}

TEST(text_join_takes_all_pieces)
{
    struct strings strings = {0};
    char *text = text_join("a", "", "/", "bc", NULL);

    check_str(text, "a/bc");
    free(text);
    text = text_join("", NULL);
    check_str(text, "");
    free(text);
    check_int(strings_join(&strings, "NAME", "=", "value", NULL), 0);
    check_int((int)strings.count, 1);
    check_str(strings.items[0], "NAME=value");
    strings_free(&strings);
}

static const struct near_row {
    const char *name;
    const char *word;
    const char *nearest;
} near_rows[] = {
    {"swapped", "wrokspace", "workspace"},
    {"one missing", "workspac", "workspace"},
    {"beginning", "appr", "approved-mode"},
    {"an edit is nearer than a beginning", "moda", "mode"},
    {"two letters begin nothing", "wo", NULL},
    {"half of it is another word", "report", NULL},
    {"too far", "xyz", NULL},
    {"nothing left", "od", NULL},
    {"empty", "", NULL},
};

TEST_EACH(nearest_word, struct near_row, near_rows)
{
    static const char *const names[] = {"modality", "mode", "workspace", "approved-mode", "memory"};
    struct nearest nearest = {.word = row->word};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        nearest_try(&nearest, names[i]);
    check(row->nearest ? nearest.best && strcmp(nearest.best, row->nearest) == 0 : !nearest.best);
}
