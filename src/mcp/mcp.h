/*
 * mcp.h - what the parts of `confine mcp` share.
 */
#ifndef CONFINE_MCP_MCP_H
#define CONFINE_MCP_MCP_H

#include "util/json.h"

#include <stdbool.h>
#include <uv.h>

#define MCP_OUTPUT (1 << 20) /* bytes of each stream that an answer has */
#define MCP_REPORT (4 << 20) /* bytes of a report */

/* What a tool makes of its arguments: a run. All owned. */
struct mcp_command {
    struct strings words;   /* the command's */
    struct strings options; /* of `confine run`, besides those of the server */
    char *input;            /* what it reads; NULL: nothing */
    size_t input_length;
    char *done, *failed; /* of a tool for files: what a model is told then; NULL: the summary of the run */
};

/* What came out of a run. Borrowed by whoever makes an answer of it. */
struct mcp_outcome {
    int status; /* of confine */
    const struct text *out, *err;
    bool out_cut, err_cut;     /* there was more */
    json_t *report;            /* NULL: there is none */
    const char *done, *failed; /* as in struct mcp_command */
};

struct mcp_tool {
    const char *name;
    const char *description;
    const char *in_session; /* the description where runs share a session; NULL: the same */
    const char *schema;     /* of the arguments, JSON */
    /* Return: 0, -ENOMEM, or -EINVAL with @error: what is wrong with the arguments. */
    int (*command)(const json_t *arguments, struct mcp_command *command, struct error *error);
};

extern const struct mcp_tool mcp_tools[]; /* ends with a NULL name */

/* mcp_tools_list() - the answer to tools/list. @session: the runs share one. Return: owned by the caller;
 * NULL without memory. */
json_t *mcp_tools_list(bool session);

/* mcp_answer() - the answer to tools/call. Return: owned by the caller; NULL without memory. */
json_t *mcp_answer(const struct mcp_outcome *outcome);

/* mcp_answer_text() - the same where nothing was run, with one sentence. */
json_t *mcp_answer_text(const char *text);

void mcp_command_free(struct mcp_command *command);

/* A run at work. */
struct mcp_call;

/* How a run ended. @answer is handed over, NULL without memory; @data is what mcp_call_start() got. */
typedef void mcp_done(void *data, json_t *answer);

/*
 * mcp_call_start() - begin a run of @command.
 * @options: the server's own, NULL-terminated
 *
 * Everything is copied. Return: a handle for mcp_call_cancel() until @done is called; or NULL with @error,
 * and @done is not called.
 */
struct mcp_call *mcp_call_start(uv_loop_t *loop, const struct mcp_command *command, char *const *options,
                                mcp_done *done, void *data, struct error *error);

/* mcp_call_cancel() - end it: everything of it is killed, and its `done` is called afterwards. */
void mcp_call_cancel(struct mcp_call *call);

/*
 * mcp_serve() - serve until the input ends.
 * @options: of `confine run`, NULL-terminated, kept alive; nothing in them is looked at
 * @session: by these, all runs share a session
 * @looks: nobody has said which refusals are told of: those of reading are, where a tool reads
 * @version: of the program, for clients
 *
 * Return: 0, or -errno with @error where it could not begin.
 */
int mcp_serve(char *const *options, bool session, bool looks, const char *version, struct error *error);

#endif
