/*
 * fuzz-codex.c - fuzz what makes a policy of the settings of codex: the input is its file.
 *
 * Read twice, it says the same twice; what is refused has an error with a reason and a message of one line;
 * what is accepted is JSON, or became a policy that can be read.
 */
#include "policy/convert.h"
#include "policy/policy.h"
#include "util/toml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void must(bool held, const char *what)
{
    if (!held) {
        fprintf(stderr, "codex: %s\n", what);
        abort();
    }
}

static void must_explain(const struct error *error)
{
    must(error->code != ERROR_NONE && error->message[0] && error->reason[0], "refused without saying why");
    must(!strchr(error->message, '\n') && !strchr(error->message, '\033'), "a message of more than one line");
}

/* The policy that came of it, read as a file. */
static void must_read(const json_t *made)
{
    struct policy policy = {0};
    struct error error = {0};
    int fd = memfd_create("policy", MFD_CLOEXEC);

    must(fd >= 0 && json_dumpfd(made, fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0, "no memory file");
    must(policy_init(&policy, &error) == 0, "no policy");
    if (policy_read_file(&policy, fd, "/nowhere/fuzz.json", LAYER_FILE, &error) < 0) {
        fprintf(stderr, "codex: %s\n", error.message);
        abort();
    }
    close(fd);
    policy_free(&policy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *first = NULL, *second = NULL, *made = NULL;
    struct error error = {0}, again = {0};
    struct strings notes = {0};
    int result = toml_parse("fuzz.toml", (const char *)data, size, &first, &error);

    must(toml_parse("fuzz.toml", (const char *)data, size, &second, &again) == result,
         "read twice, judged differently");
    must(strcmp(error.message, again.message) == 0, "read twice, explained differently");
    if (result < 0) {
        must_explain(&error);
        return 0;
    }
    must(json_equal(first, second), "read twice, another meaning");
    result = convert_codex("fuzz.toml", first, "/home/me/app", &made, &notes, &error);
    must(json_equal(first, second), "converting changed what was read");
    if (result < 0)
        must_explain(&error);
    else
        must_read(made);
    json_decref(first);
    json_decref(second);
    if (result == 0)
        json_decref(made);
    strings_free(&notes);
    return 0;
}
