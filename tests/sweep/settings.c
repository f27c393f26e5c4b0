/*
 * settings.c - print a file of git's settings as `git config --list -z` does, by our reader.
 *
 *     settings FILE...
 */
#include "sweep/git_config.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        _cleanup_fd_ int fd = open(argv[i], O_RDONLY | O_CLOEXEC);
        _cleanup_free_ char *text = NULL;
        struct git_config config;
        size_t length;

        if (fd < 0 || fd_read_all(fd, GIT_CONFIG_BYTES, &text, &length) < 0 ||
            git_config_parse(&config, text, length) < 0)
            return 1;
        for (size_t j = 0; j < config.count; j++) {
            printf("%s", config.settings[j].key);
            if (!config.settings[j].implicit)
                printf("\n%s", config.settings[j].value);
            putchar('\0');
        }
        git_config_free(&config);
    }
    return 0;
}
