/*
 * server.c - one policy as tools of an MCP server on stdin and stdout.
 *
 * Messages are JSON-RPC 2.0, one a line. Each call of a tool is a run of its own with the options of the
 * server; calls are answered as they end. The end of the input ends what is at work, and the server.
 *
 * Should:  answer every request that is not cancelled, once. Begin nothing while answers are not taken: then
 *          there are at most those of the calls at work.
 * Mustn't: write anything but messages to stdout, or believe that a message is well made.
 */
#include "mcp/mcp.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CALLS_MOST   16          /* at once */
#define LINE_MOST    (8 << 20)   /* bytes of a message */
#define WAITING_FULL (16 << 20)  /* bytes of answers that nobody has taken yet: nothing is run before */
#define WAITING_MOST (512 << 20) /* more than the answers of all calls at work can be */

/* What JSON-RPC calls errors. */
enum {
    RPC_PARSE = -32700,
    RPC_REQUEST = -32600,
    RPC_METHOD = -32601,
    RPC_PARAMS = -32602,
    RPC_INTERNAL = -32603
};

/* Newest first; what a client asks for and we do not know is answered with the newest. */
static const char *const versions[] = {"2025-06-18", "2025-03-26", "2024-11-05"};

struct server;

struct request {
    struct server *server;
    json_t *id;
    struct mcp_call *call; /* NULL: free */
    bool cancelled;        /* no answer is wanted */
};

struct server {
    uv_loop_t loop;
    uv_pipe_t input, output;
    struct text line; /* what has come of the next message */
    bool too_long;    /* the rest of it is passed over */
    bool ended;       /* nothing more comes */
    int failed;       /* uv's code for why an answer could not be given; 0: none */
    char *const *options;
    bool session;        /* by which all runs share one */
    bool looks;          /* the options leave it open what is told of reading */
    const char *version; /* of the program */
    struct request requests[CALLS_MOST];
    char room[65536];
};

/* --- out
 * ---------------------------------------------------------------------------------------------------- */

struct writing {
    uv_write_t write;
    char *text;
};

static size_t waiting(const struct server *server)
{
    return uv_stream_get_write_queue_size((const uv_stream_t *)&server->output);
}

static void on_written(uv_write_t *write, int status)
{
    struct writing *writing = (struct writing *)write;
    struct server *server = write->handle->data;

    free(writing->text);
    free(writing);
    if (status < 0 && !server->ended) { /* nobody hears us any more */
        server->ended = true;
        uv_stop(&server->loop);
    }
}

/* Takes @message. Without memory, or where a client asks on and on and reads nothing, the server ends: an
 * answer that is missing would be waited for. */
static void say(struct server *server, json_t *message)
{
    struct writing *writing = message ? malloc(sizeof(*writing)) : NULL;
    char *text = writing ? json_dumps(message, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
    size_t length = text ? strlen(text) : 0;
    uv_buf_t buffer;
    int r = UV_ENOMEM;

    json_decref(message);
    if (text && waiting(server) > WAITING_MOST) {
        r = UV_ENOBUFS;
    } else if (text) {
        text[length] = '\n'; /* in the place of the NUL */
        writing->text = text;
        buffer = uv_buf_init(text, (unsigned)length + 1);
        r = uv_write(&writing->write, (uv_stream_t *)&server->output, &buffer, 1, on_written);
    }
    if (r < 0) {
        free(text);
        free(writing);
        server->ended = true;
        server->failed = r;
        uv_stop(&server->loop);
    }
}

static void answer(struct server *server, json_t *id, json_t *result)
{
    say(server, result ? json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result) : NULL);
}

static void refuse(struct server *server, json_t *id, int code, const char *message)
{
    say(server, json_pack("{s:s, s:O, s:{s:i, s:s}}", "jsonrpc", "2.0", "id", id ? id : json_null(), "error",
                          "code", code, "message", message));
}

/* --- methods
 * ------------------------------------------------------------------------------------------------ */

static void initialize(struct server *server, json_t *id, const json_t *params)
{
    const char *asked = json_string_value(json_object_get(params, "protocolVersion")), *version = versions[0];

    for (size_t i = 0; asked && i < ARRAY_SIZE(versions); i++)
        if (strcmp(versions[i], asked) == 0)
            version = versions[i];
    answer(server, id,
           json_pack(
               "{s:s, s:{s:{}}, s:{s:s, s:s}, s:s}", "protocolVersion", version, "capabilities", "tools",
               "serverInfo", "name", "confine", "version", server->version, "instructions",
               "Every tool works inside one sandbox. What it refuses is named in the answer, with the option "
               "that would allow it: only the person who started this server can give it."));
}

static void list_tools(struct server *server, json_t *id, const json_t *params)
{
    (void)params;
    answer(server, id, mcp_tools_list(server->session));
}

static void ping(struct server *server, json_t *id, const json_t *params)
{
    (void)params;
    answer(server, id, json_object());
}

/* Ends the loop where nothing is left to do. */
static void look_for_end(struct server *server)
{
    for (size_t i = 0; i < CALLS_MOST; i++)
        if (server->requests[i].call)
            return;
    if (server->ended && !uv_is_closing((uv_handle_t *)&server->output))
        uv_close((uv_handle_t *)&server->output, NULL);
}

static void on_done(void *data, json_t *result)
{
    struct request *request = data;
    struct server *server = request->server;

    request->call = NULL;
    if (request->cancelled || server->ended)
        json_decref(result);
    else
        answer(server, request->id, result);
    json_decref(request->id);
    request->id = NULL;
    look_for_end(server);
}

static const struct mcp_tool *find_tool(const char *name)
{
    for (const struct mcp_tool *tool = mcp_tools; name && tool->name; tool++)
        if (strcmp(tool->name, name) == 0)
            return tool;
    return NULL;
}

static struct request *find_free(struct server *server)
{
    for (size_t i = 0; i < CALLS_MOST; i++)
        if (!server->requests[i].call)
            return &server->requests[i];
    return NULL;
}

static void call_tool(struct server *server, json_t *id, const json_t *params)
{
    const struct mcp_tool *tool = find_tool(json_string_value(json_object_get(params, "name")));
    const json_t *arguments = json_object_get(params, "arguments");
    struct request *request = find_free(server);
    struct mcp_command command = {0};
    struct error error = {0};
    int r;

    if (!tool) {
        refuse(server, id, RPC_PARAMS, "there is no such tool");
        return;
    }
    if (waiting(server) > WAITING_FULL) {
        answer(server, id,
               mcp_answer_text("Nothing was run: the answers before this one have to be read first."));
        return;
    }
    if (!request) {
        answer(
            server, id,
            mcp_answer_text("Nothing was run: too many commands are running at once. Wait for one to end."));
        return;
    }
    r = tool->command(arguments, &command, &error);
    if (r == 0 && command.done && server->looks) /* few opens, and whoever asked for a file is told why not */
        r = strings_add(&command.options, "--denials=reads");
    if (r == 0) {
        *request = (struct request){.server = server, .id = json_incref(id)};
        request->call = mcp_call_start(&server->loop, &command, server->options, on_done, request, &error);
        if (!request->call)
            json_decref(request->id);
    }
    mcp_command_free(&command);
    if (r == -EINVAL)
        refuse(server, id, RPC_PARAMS, error.message);
    else if (r < 0 || !request->call)
        refuse(server, id, RPC_INTERNAL, r < 0 ? "out of memory" : error.message);
}

static void cancel(struct server *server, const json_t *params)
{
    const json_t *id = json_object_get(params, "requestId");

    for (size_t i = 0; id && i < CALLS_MOST; i++) {
        struct request *request = &server->requests[i];

        if (!request->call || request->cancelled || !json_equal(request->id, id))
            continue;
        request->cancelled = true;
        mcp_call_cancel(request->call);
    }
}

static const struct {
    const char *name;
    void (*call)(struct server *server, json_t *id, const json_t *params);
} methods[] = {
    {"initialize", initialize}, {"ping", ping}, {"tools/list", list_tools}, {"tools/call", call_tool}};

/* --- in
 * ----------------------------------------------------------------------------------------------------- */

static void take_request(struct server *server, json_t *id, const char *method, const json_t *params)
{
    if (!json_is_string(id) && !json_is_integer(id)) {
        refuse(server, NULL, RPC_REQUEST, "id must be a text or a whole number");
        return;
    }
    if (params && !json_is_object(params)) {
        refuse(server, id, RPC_PARAMS, "params must be an object");
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
        if (strcmp(methods[i].name, method) == 0) {
            methods[i].call(server, id, params);
            return;
        }
    refuse(server, id, RPC_METHOD, "there is no such method");
}

static void take_message(struct server *server, const char *line, size_t length)
{
    json_t *message = json_loadb(line, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    const char *version = json_string_value(json_object_get(message, "jsonrpc"));
    const char *method = json_string_value(json_object_get(message, "method"));
    json_t *id = json_object_get(message, "id"), *params = json_object_get(message, "params");

    if (!message)
        refuse(server, NULL, RPC_PARSE, "this line is no JSON");
    else if (!json_is_object(message) || !version || strcmp(version, "2.0") != 0)
        refuse(server, id, RPC_REQUEST, "this is no JSON-RPC 2.0 message");
    else if (!method) {
        if (!json_object_get(message, "result") &&
            !json_object_get(message, "error")) /* we ask for nothing */
            refuse(server, id, RPC_REQUEST, "method is missing");
    } else if (id)
        take_request(server, id, method, params);
    else if (strcmp(method, "notifications/cancelled") == 0)
        cancel(server, params);
    json_decref(message);
}

static void take_bytes(struct server *server, const char *bytes, size_t length)
{
    while (length > 0) {
        const char *end = memchr(bytes, '\n', length);
        size_t piece = end ? (size_t)(end - bytes) : length;

        if (server->line.length + piece > LINE_MOST || server->line.failed)
            server->too_long = true;
        if (!server->too_long)
            text_add_bytes(&server->line, bytes, piece);
        if (!end)
            return;
        if (server->too_long)
            refuse(server, NULL, RPC_REQUEST, "this line is too long");
        else if (server->line.length > 0 && strspn(server->line.data, " \t\r") < server->line.length)
            take_message(server, server->line.data, server->line.length);
        text_free(&server->line);
        server->line = (struct text){0};
        server->too_long = false;
        bytes += piece + 1;
        length -= piece + 1;
    }
}

static void give_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct server *server = handle->data;

    (void)suggested;
    *buffer = uv_buf_init(server->room, sizeof(server->room));
}

static void on_read(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
    struct server *server = stream->data;

    if (length >= 0) {
        take_bytes(server, buffer->base, (size_t)length);
        return;
    }
    server->ended = true;
    uv_close((uv_handle_t *)stream, NULL);
    for (size_t i = 0; i < CALLS_MOST; i++)
        if (server->requests[i].call)
            mcp_call_cancel(server->requests[i].call);
    look_for_end(server);
}

/* --- the command
 * -------------------------------------------------------------------------------------------- */

/* A loop cannot wait for a file. */
static int refuse_file(int fd, const char *name, struct error *error)
{
    struct stat status;

    if (fstat(fd, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)))
        return 0;
    error_set(error, ERROR_USAGE, EINVAL, "no-channel", "%s is neither a pipe nor a socket", name);
    return error_hint(error, "an MCP client starts this command with pipes on stdin and stdout");
}

static int serve(struct server *server, struct error *error)
{
    int r = refuse_file(STDIN_FILENO, "stdin", error);

    if (r == 0)
        r = refuse_file(STDOUT_FILENO, "stdout", error);
    if (r < 0)
        return r;
    r = uv_loop_init(&server->loop);
    if (r == 0)
        r = uv_pipe_init(&server->loop, &server->input, 0);
    if (r == 0)
        r = uv_pipe_init(&server->loop, &server->output, 0);
    if (r == 0)
        r = uv_pipe_open(&server->input, STDIN_FILENO);
    if (r == 0)
        r = uv_pipe_open(&server->output, STDOUT_FILENO);
    server->input.data = server->output.data = server;
    if (r == 0)
        r = uv_read_start((uv_stream_t *)&server->input, give_room, on_read);
    if (r < 0) {
        return error_set(error, ERROR_INTERNAL, -r, "no-channel", "cannot talk over stdin and stdout: %s",
                         uv_strerror(r));
    }
    uv_run(&server->loop, UV_RUN_DEFAULT);
    if (server->failed)
        return error_set(error, ERROR_INTERNAL, -server->failed, "no-answer",
                         "the server ends, because it cannot give an answer: %s",
                         uv_strerror(server->failed));
    return 0;
}

int mcp_serve(char *const *options, bool session, bool looks, const char *version, struct error *error)
{
    static struct server server;

    signal(SIGPIPE, SIG_IGN);
    server.options = options;
    server.session = session;
    server.looks = looks;
    server.version = version;
    return serve(&server, error);
}
