/*
 * banned.h - calls that have no safe use here are compile errors.
 *
 * Should:  name the replacement in the compiler's message.
 * Mustn't: break a system header that is included later: the headers that declare these functions come first.
 *
 * The environment is input from outside. Only cli/ may ask for it (it defines CONFINE_MAY_READ_ENVIRONMENT
 * before the first include); everything else is handed what it needs.
 */
#ifndef CONFINE_UTIL_BANNED_H
#define CONFINE_UTIL_BANNED_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#undef strcpy
#undef stpcpy
#undef strcat
#undef strncpy
#undef strncat
#undef strtok
#undef sprintf
#undef vsprintf
#undef system
#undef popen
#undef mktemp
#undef tmpnam
#undef tempnam
#define strcpy(...)   banned_strcpy_has_no_bound_use_snprintf_or_strdup
#define stpcpy(...)   banned_stpcpy_has_no_bound_use_snprintf
#define strcat(...)   banned_strcat_has_no_bound_use_text_add
#define strncpy(...)  banned_strncpy_may_leave_no_NUL_use_snprintf
#define strncat(...)  banned_strncat_counts_what_is_added_use_text_add
#define strtok(...)   banned_strtok_has_hidden_state_use_strcspn
#define sprintf(...)  banned_sprintf_has_no_bound_use_snprintf
#define vsprintf(...) banned_vsprintf_has_no_bound_use_vsnprintf
#define system(...)   banned_system_starts_a_shell_use_the_run_module
#define popen(...)    banned_popen_starts_a_shell_use_the_run_module
#define mktemp(...)   banned_mktemp_can_be_raced_use_mkdtemp_or_O_TMPFILE
#define tmpnam(...)   banned_tmpnam_can_be_raced_use_mkdtemp_or_O_TMPFILE
#define tempnam(...)  banned_tempnam_can_be_raced_use_mkdtemp_or_O_TMPFILE

#ifndef CONFINE_MAY_READ_ENVIRONMENT
#undef getenv
#undef secure_getenv
#define getenv(...)        banned_getenv_outside_cli_take_it_as_an_argument
#define secure_getenv(...) banned_secure_getenv_outside_cli_take_it_as_an_argument
#endif

#endif
