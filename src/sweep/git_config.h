/*
 * git_config.h - read the configuration of a repository as git does, and know which of its keys run
 * something.
 */
#ifndef CONFINE_SWEEP_GIT_CONFIG_H
#define CONFINE_SWEEP_GIT_CONFIG_H

#include "util/util.h"

#include <stdbool.h>
#include <stddef.h>

#define GIT_CONFIG_BYTES (1 << 20) /* of one file */

/* One line of a configuration. All texts are owned. */
struct git_setting {
    char *key; /* `section.subsection.name`: section and name in lower case */
    char *value;
    bool implicit;        /* a name without `=`: true */
    size_t section, name; /* length of the section; where the name begins */
    size_t begin, end;    /* in the text that it was read from: of the name; of the end of its line */
};

struct git_config {
    struct git_setting *settings;
    size_t count;
};

/*
 * git_config_parse() - read @text, which may be anything.
 *
 * What git would not take is passed over: it would end there, but the line may be mended later.
 * Return: 0 or -ENOMEM.
 */
int git_config_parse(struct git_config *config, const char *text, size_t length);
void git_config_free(struct git_config *config);

/* git_config_value() - the last value of @key, which is written as in struct git_setting; NULL: not set. */
const char *git_config_value(const struct git_config *config, const char *key);

/*
 * git_setting_runs() - would git run something because of this setting?
 *
 * Return: a sentence that says what (static), or NULL.
 */
const char *git_setting_runs(const struct git_setting *setting);

/* git_hook_name() - is this the name of a hook? */
bool git_hook_name(const char *name);

#endif
