/*
 * test-policy.h - a policy, and files in the private directory of a test.
 */
#ifndef CONFINE_POLICY_TEST_POLICY_H
#define CONFINE_POLICY_TEST_POLICY_H

#include "harness.h"

#include "policy/policy_files.h"
#include "policy/policy_keys.h"

static struct policy policy;
static struct error error;
static char user_directory[PATH_MAX + 16], system_directory[PATH_MAX + 16];
__attribute__((unused)) static struct policy_places places = {.system = system_directory,
                                                              .user = user_directory};

__attribute__((unused)) static const char *in_dir(const char *name)
{
    static char path[2 * PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s", test_dir, name);
    return path;
}

__attribute__((unused)) static void put_bytes(const char *name, const char *text, size_t length, mode_t mode)
{
    int fd = open(in_dir(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    need(fd >= 0);
    need(write(fd, text, length) == (ssize_t)length);
    need(fchmod(fd, mode) == 0);
    close(fd);
}

__attribute__((unused)) static void put(const char *name, const char *text)
{
    put_bytes(name, text, strlen(text), 0644);
}

__attribute__((unused)) static void start(void)
{
    snprintf(user_directory, sizeof(user_directory), "%s/user", test_dir);
    snprintf(system_directory, sizeof(system_directory), "%s/system", test_dir);
    need(mkdir(user_directory, 0755) == 0 && mkdir(system_directory, 0755) == 0);
    need(policy_init(&policy, &error) == 0);
}

#endif
