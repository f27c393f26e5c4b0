/*
 * fuzz-policy.c - fuzz the policy reader: the input is a policy file.
 *
 * Read twice, it says the same twice; what is refused has an error with a reason
 * and a message; what is accepted holds no value that its own names do not know.
 */
#include "policy/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void must(bool held, const char *what)
{
    if (!held) {
        fprintf(stderr, "policy: %s\n", what);
        abort();
    }
}

static int read_text(struct policy *policy, const uint8_t *data, size_t size, struct error *error)
{
    int fd = memfd_create("policy", MFD_CLOEXEC), result;

    must(fd >= 0 && write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0, "no memory file");
    must(policy_init(policy, error) == 0, "no policy");
    result = policy_read_file(policy, fd, "/nowhere/fuzz.json", LAYER_FILE, error);
    close(fd);
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct policy first = {0}, second = {0};
    struct error error = {0}, again = {0};
    int result = read_text(&first, data, size, &error);

    must(read_text(&second, data, size, &again) == result, "read twice, judged differently");
    must(strcmp(error.message, again.message) == 0, "read twice, explained differently");
    if (result < 0) {
        must(error.code != ERROR_NONE && error.message[0] && error.reason[0], "refused without saying why");
        must(!strchr(error.message, '\n') && !strchr(error.message, '\033'),
             "a message of more than one line");
    } else {
        must(error.code == ERROR_NONE, "accepted with an error");
        must(mode_name(first.mode) && network_name(first.network), "accepted a value without a name");
        for (size_t i = 0; i < LIST_COUNT; i++)
            must(first.list[i].count == second.list[i].count, "read twice, another number of entries");
    }
    policy_free(&first);
    policy_free(&second);
    return 0;
}
