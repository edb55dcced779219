/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp.h: host_demo mcp: a server of the Model Context Protocol over stdin and stdout, whose tools run code
 * on the executors that the command line names.
 *
 *     stdin ──▶ wire.c (lines, JSON-RPC) ──▶ mcp.c (methods, versions) ──▶ tools.c (what a call asks for)
 *                                                                              │
 *     stdout ◀── wire.c ◀──────────────────────────────── call.c (a thread a call, its executor, its result)
 *
 * Two eras of the protocol are spoken: with a handshake (`initialize`, up to 2025-11-25), and without, where
 * each request says its version itself (2026-07-28). Invariants: a request is answered once, a cancelled
 * one not at all; executors are loaded before the first request is read, and calls only execute; when stdin
 * ends, what runs is cancelled, and the program ends when all of it has.
 */
#ifndef HOST_DEMO_MCP_MCP_H
#define HOST_DEMO_MCP_MCP_H

#include "executors.h"
#include "plan.h"
#include "wire.h"

/* What a call asks for: blocks, by way of a plan or one alone. */
struct job {
    struct plan plan; /* without extraction: one block alone */
    code_executor_block block;
    json_object *arguments; /* what the strings above are of */
    const char *stdin_bytes;
    size_t stdin_length;
    double timeout;
};

void job_free(struct job *job);

/* tools.c: the list of tools; EXECUTORS are what they run on. NULL: no memory. */
json_object *tools_list(const struct executors *executors);

enum tool_answer { TOOL_READY, TOOL_UNKNOWN, TOOL_REFUSED };

/* Makes the job of a call of the tool NAME. REFUSED: PROBLEM says to a model what is wrong with the
 * arguments. */
enum tool_answer tool_prepare(const char *name, json_object *arguments, struct job *job,
                              code_executor_error *problem);

/* What all calls have in common. */
struct calls;

struct calls *calls_open(struct executors *executors, double timeout);

/* Waits until none is left. NULL is allowed. */
void calls_close(struct calls *calls);

/* Begins a call, which owns JOB from here on and answers ID when it has ended. MODERN: as answers are
 * without a handshake. PROGRESS_TOKEN may be NULL. False: it cannot be begun, and was answered. */
bool calls_begin(struct calls *calls, json_object *id, struct job *job, bool modern,
                 json_object *progress_token);

/* Whether a call with this id runs; what cancels it, without an answer. */
bool calls_has(struct calls *calls, json_object *id);
void calls_cancel(struct calls *calls, json_object *id);
void calls_cancel_all(struct calls *calls);

/* A result that a tool has: TEXT for a model to read. What every result has in its era is added. */
json_object *tool_result(const char *text, size_t length, bool is_error);
json_object *finished_result(json_object *result, bool modern);

#endif /* HOST_DEMO_MCP_MCP_H */
