/*
 * call.c - one call of a tool: a `confine run` of its own, with pipes on all that it has.
 *
 * Should:  read as long as somebody writes, and keep only as much as an answer has.
 * Mustn't: leave a run behind that nobody waits for: its control channel is ours, and closes with us.
 */
#include "mcp/mcp.h"

#include "kernel/program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CALL_IN, CALL_OUT, CALL_ERR, CALL_REPORT, CALL_CONTROL, CALL_PIPES };

struct stream {
    struct text text;
    size_t most;
    bool cut;
};

struct mcp_call {
    uv_process_t process;
    uv_pipe_t pipes[CALL_PIPES];
    struct stream streams[CALL_PIPES];
    uv_write_t write;
    char *input;
    char *did, *failed; /* for the answer, as in struct mcp_command */
    int status;
    int open;       /* handles that are not closed yet */
    mcp_done *done; /* NULL: nobody is to be told, the start failed */
    void *data;
    char room[65536]; /* what is read goes through here: one read at a time */
};

static void free_call(struct mcp_call *call)
{
    if (!call)
        return;
    free(call->input);
    free(call->did);
    free(call->failed);
    free(call);
}

static bool copy_command(struct mcp_call *call, const struct mcp_command *command)
{
    if (command->input && !(call->input = malloc(command->input_length + 1)))
        return false;
    if (call->input)
        memcpy(call->input, command->input, command->input_length + 1);
    call->did = command->done ? strdup(command->done) : NULL;
    call->failed = command->failed ? strdup(command->failed) : NULL;
    return (call->did || !command->done) && (call->failed || !command->failed);
}

static void finish(struct mcp_call *call)
{
    const struct text *report = &call->streams[CALL_REPORT].text;
    struct mcp_outcome outcome = {
        .status = call->status,
        .out = &call->streams[CALL_OUT].text,
        .err = &call->streams[CALL_ERR].text,
        .out_cut = call->streams[CALL_OUT].cut,
        .err_cut = call->streams[CALL_ERR].cut,
        .report = report->length > 0 && !call->streams[CALL_REPORT].cut
                      ? json_loadb(report->data, report->length, JSON_REJECT_DUPLICATES, NULL)
                      : NULL,
        .done = call->did,
        .failed = call->failed,
    };

    if (call->done)
        call->done(call->data, mcp_answer(&outcome));
    json_decref(outcome.report);
    for (size_t i = 0; i < CALL_PIPES; i++)
        text_free(&call->streams[i].text);
    free_call(call);
}

static void on_close(uv_handle_t *handle)
{
    struct mcp_call *call = handle->data;

    if (--call->open == 0)
        finish(call);
}

static void close_pipe(struct mcp_call *call, int which)
{
    uv_handle_t *handle = (uv_handle_t *)&call->pipes[which];

    if (!uv_is_closing(handle))
        uv_close(handle, on_close);
}

static void on_exit_of_run(uv_process_t *process, int64_t status, int signal)
{
    struct mcp_call *call = process->data;

    call->status = signal ? 128 + signal : (int)status;
    close_pipe(call, CALL_IN);
    close_pipe(call, CALL_CONTROL);
    uv_close((uv_handle_t *)process, on_close);
}

static void give_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct mcp_call *call = handle->data;

    (void)suggested;
    *buffer = uv_buf_init(call->room, sizeof(call->room));
}

static void on_read(uv_stream_t *pipe, ssize_t length, const uv_buf_t *buffer)
{
    struct mcp_call *call = pipe->data;
    int which = (int)((uv_pipe_t *)pipe - call->pipes);
    struct stream *stream = &call->streams[which];

    if (length < 0) {
        close_pipe(call, which);
        return;
    }
    if ((size_t)length > stream->most - stream->text.length) {
        length = (ssize_t)(stream->most - stream->text.length);
        stream->cut = stream->most > 0;
    }
    text_add_bytes(&stream->text, buffer->base, (size_t)length);
    stream->cut |= stream->text.failed;
}

static void on_written(uv_write_t *write, int status)
{
    (void)status; /* a command that does not read all of it may have its reasons */
    close_pipe(write->handle->data, CALL_IN);
}

/* The words of the program. Return: owned; they themselves are not. */
static char **make_words(const struct mcp_command *command, char *const *options)
{
    static const char *const first[] = {"confine", "run", "--report=fd:3", "--control=fd:4", NULL};
    size_t count = 0, made = 0;
    char **words;

    while (options[count])
        count++;
    words =
        calloc(ARRAY_SIZE(first) + count + command->options.count + command->words.count + 2, sizeof(*words));
    if (!words)
        return NULL;
    for (size_t i = 0; first[i]; i++)
        words[made++] = (char *)(uintptr_t)first[i];
    for (size_t i = 0; i < count; i++)
        words[made++] = options[i];
    for (size_t i = 0; i < command->options.count; i++)
        words[made++] = command->options.items[i];
    words[made++] = (char *)(uintptr_t) "--";
    for (size_t i = 0; i < command->words.count; i++)
        words[made++] = command->words.items[i];
    return words;
}

/* Everything flows from here on. */
static int begin(struct mcp_call *call, size_t input_length)
{
    int r = 0;

    for (int which = CALL_OUT; which < CALL_PIPES && r == 0; which++)
        r = uv_read_start((uv_stream_t *)&call->pipes[which], give_room, on_read);
    if (r == 0 && call->input) {
        uv_buf_t buffer = uv_buf_init(call->input, (unsigned)input_length);

        return uv_write(&call->write, (uv_stream_t *)&call->pipes[CALL_IN], &buffer, 1, on_written);
    }
    if (r == 0)
        close_pipe(call, CALL_IN);
    return r;
}

static int spawn(uv_loop_t *loop, struct mcp_call *call, char **words)
{
    /* The control channel is a socket both ways. */
    static const unsigned flags[CALL_PIPES] = {UV_READABLE_PIPE, UV_WRITABLE_PIPE, UV_WRITABLE_PIPE,
                                               UV_WRITABLE_PIPE, UV_READABLE_PIPE | UV_WRITABLE_PIPE};
    static const size_t most[CALL_PIPES] = {0, MCP_OUTPUT, MCP_OUTPUT, MCP_REPORT, 0};
    uv_stdio_container_t stdio[CALL_PIPES];
    uv_process_options_t options = {.exit_cb = on_exit_of_run,
                                    .file = program_path(),
                                    .args = words,
                                    .stdio = stdio,
                                    .stdio_count = CALL_PIPES};

    for (int i = 0; i < CALL_PIPES; i++) {
        uv_pipe_init(loop, &call->pipes[i], 0);
        call->pipes[i].data = call;
        call->streams[i].most = most[i];
        stdio[i].flags = (uv_stdio_flags)(UV_CREATE_PIPE | flags[i]);
        stdio[i].data.stream = (uv_stream_t *)&call->pipes[i];
    }
    call->process.data = call;
    call->open = CALL_PIPES + 1;
    return options.file ? uv_spawn(loop, &call->process, &options) : UV_ENOENT;
}

struct mcp_call *mcp_call_start(uv_loop_t *loop, const struct mcp_command *command, char *const *options,
                                mcp_done *done, void *data, struct error *error)
{
    struct mcp_call *call = calloc(1, sizeof(*call));
    _cleanup_free_ char **words = make_words(command, options);
    int r;

    if (!call || !words || !copy_command(call, command)) {
        free_call(call);
        error_no_memory(error);
        return NULL;
    }
    call->data = data;
    r = spawn(loop, call, words);
    if (r == 0)
        r = begin(call, command->input_length);
    if (r == 0) {
        call->done = done;
        return call;
    }
    error_set(error, ERROR_INTERNAL, -r, "no-run", "cannot start confine run: %s", uv_strerror(r));
    for (int i = 0; i < CALL_PIPES; i++)
        close_pipe(call, i);
    if (!uv_is_active((uv_handle_t *)&call->process))
        uv_close((uv_handle_t *)&call->process, on_close);
    return NULL;
}

void mcp_call_cancel(struct mcp_call *call)
{
    close_pipe(call, CALL_CONTROL); /* a channel that closes kills */
}
