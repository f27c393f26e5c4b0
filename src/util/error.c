/*
 * error.c - fill the caller's error object, without allocation.
 *
 * Should:  work when nothing else does (no memory, no descriptors).
 * Mustn't: cut a text in the middle of a character; lose the errno that it reports.
 */
#include "util/error.h"

#include "util/util.h"

#include <errno.h>

static const char *const error_names[ERROR_COUNT] = {
    [ERROR_NONE] = "NONE",
    [ERROR_SANDBOX_UNAVAILABLE] = "SANDBOX_UNAVAILABLE",
    [ERROR_ATTESTATION_FAILED] = "ATTESTATION_FAILED",
    [ERROR_POLICY_INVALID] = "POLICY_INVALID",
    [ERROR_COMMAND_NOT_FOUND] = "COMMAND_NOT_FOUND",
    [ERROR_COMMAND_NOT_EXECUTABLE] = "COMMAND_NOT_EXECUTABLE",
    [ERROR_USAGE] = "USAGE",
    [ERROR_INTERNAL] = "INTERNAL",
    [ERROR_FS_SANDBOX_DENIED] = "FS_SANDBOX_DENIED",
};

const char *error_name(enum error_code code)
{
    return (size_t)code < ARRAY_SIZE(error_names) ? error_names[code] : "INTERNAL";
}

static int error_return(const struct error *error)
{
    return error->errnum ? -error->errnum : -EINVAL;
}

/* Formats into BUFFER; what does not fit ends in `…` after a whole character. */
__attribute__((format(printf, 3, 0))) static void format_text(char *buffer, size_t size, const char *format,
                                                              va_list list)
{
    static const char more[] = "…";
    int length = vsnprintf(buffer, size, format, list);
    size_t end;

    if (length < 0) {
        snprintf(buffer, size, "(the text could not be made)");
        return;
    }
    if ((size_t)length < size)
        return;
    end = size - sizeof(more);
    while (end > 0 && ((unsigned char)buffer[end] & 0xc0) == 0x80)
        end--;
    memcpy(buffer + end, more, sizeof(more));
}

int error_set(struct error *error, enum error_code code, int errnum, const char *reason, const char *format,
              ...)
{
    int kept = errno;
    va_list list;

    error->code = code;
    error->errnum = errnum;
    snprintf(error->reason, sizeof(error->reason), "%s", reason);
    error->surface[0] = '\0';
    error->hint[0] = '\0';
    error->structural = false;
    va_start(list, format);
    format_text(error->message, sizeof(error->message), format, list);
    va_end(list);
    errno = kept;
    return error_return(error);
}

int error_hint(struct error *error, const char *format, ...)
{
    int kept = errno;
    va_list list;

    va_start(list, format);
    format_text(error->hint, sizeof(error->hint), format, list);
    va_end(list);
    errno = kept;
    return error_return(error);
}

int error_surface(struct error *error, const char *surface)
{
    int kept = errno;

    snprintf(error->surface, sizeof(error->surface), "%s", surface);
    errno = kept;
    return error_return(error);
}

const char *error_spent(int errnum)
{
    static const struct {
        int errnum;
        const char *way;
    } rows[] = {
        {EAGAIN, "allow more processes (ulimit -u, or pids.max of the cgroup), or end some"},
        {EMFILE, "allow more open files (ulimit -n)"},
        {ENFILE, "allow more open files in all (sysctl fs.file-max), or end some processes"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (rows[i].errnum == errnum)
            return rows[i].way;
    return NULL;
}

int error_no_memory(struct error *error)
{
    return error_set(error, ERROR_INTERNAL, ENOMEM, "no-memory", "out of memory");
}
