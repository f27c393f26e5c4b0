/*
 * read-toml.c - documents from stdin, each a line with its length and then its bytes; for each, one line:
 * what it says as JSON, or `-` and what is wrong with it.
 */
#include "util/toml.h"

#include <stdlib.h>
#include <string.h>

int main(void)
{
    char line[32];

    while (fgets(line, sizeof(line), stdin)) {
        size_t length = strtoul(line, NULL, 10);
        char *text = malloc(length + 1), *dump;
        struct error error = {0};
        json_t *root = NULL;

        if (!text || fread(text, 1, length, stdin) != length)
            return 1;
        if (toml_parse("x", text, length, &root, &error) < 0) {
            printf("-%s\n", error.message);
        } else {
            dump = json_dumps(root, JSON_ENSURE_ASCII);
            if (!dump)
                return 1;
            printf("%s\n", dump);
            free(dump);
        }
        json_decref(root);
        free(text);
    }
    return 0;
}
