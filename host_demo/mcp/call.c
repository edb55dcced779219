/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.c: calls of tools that run, each on a thread of its own, and what they answer.
 *
 * A call is in the list from before its thread begins until behind its answer. `cancelled` is read by its
 * callbacks too: a cancel that comes before the executor knows the execution is seen when its first block
 * begins.
 */
#include "mcp.h"
#include "terminal.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TEXT = 64 << 10, MOST_CALLS = 64 };

struct call {
    struct call *next;
    struct calls *calls;
    json_object *id;
    json_object *progress_token; /* or NULL */
    uint64_t execution_id;
    struct job job;
    bool modern;
    atomic_bool cancelled;
};

struct calls {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    struct call *first;
    size_t count;
    uint64_t next_id;
    struct executors *executors;
    double timeout; /* for jobs that have none */
};

struct calls *calls_open(struct executors *executors, double timeout)
{
    struct calls *calls = calloc(1, sizeof *calls);
    if (calls == NULL)
        return NULL;
    pthread_mutex_init(&calls->lock, NULL);
    pthread_cond_init(&calls->ended, NULL);
    calls->next_id = 1;
    calls->executors = executors;
    calls->timeout = timeout;
    return calls;
}

void calls_close(struct calls *calls)
{
    if (calls == NULL)
        return;
    pthread_mutex_lock(&calls->lock);
    while (calls->first != NULL)
        pthread_cond_wait(&calls->ended, &calls->lock);
    pthread_mutex_unlock(&calls->lock);
    pthread_cond_destroy(&calls->ended);
    pthread_mutex_destroy(&calls->lock);
    free(calls);
}

/* ------------------------------------------------------------------------------------------------
 * Answers
 * --------------------------------------------------------------------------------------------- */

json_object *finished_result(json_object *result, bool modern)
{
    if (!modern)
        return result;
    json_object *meta = json_object_new_object(), *server = json_object_new_object();
    wire_add(server, "name", json_object_new_string("host_demo"));
    wire_add(server, "version", json_object_new_string(CODE_EXECUTOR_PROJECT_VERSION));
    wire_add(meta, "io.modelcontextprotocol/serverInfo", server);
    wire_add(result, "resultType", json_object_new_string("complete"));
    wire_add(result, "_meta", meta);
    return result;
}

json_object *tool_result(const char *text, size_t length, bool is_error)
{
    json_object *result = json_object_new_object(), *content = json_object_new_array();
    json_object *item = json_object_new_object();
    wire_add(item, "type", json_object_new_string("text"));
    wire_add(item, "text", wire_text(text, length));
    if (content == NULL || json_object_array_add(content, item) != 0)
        json_object_put(item);
    wire_add(result, "content", content);
    wire_add(result, "isError", json_object_new_boolean(is_error));
    return result;
}

static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* What was printed, its first and last parts where it is more than a model should read. */
static bool append_output(struct bytes *text, const char *output, size_t length)
{
    size_t head = MOST_TEXT / 2, tail = length - MOST_TEXT / 2;
    if (length <= MOST_TEXT)
        return bytes_append(text, output, length);
    while (head > 0 && is_continuation(output[head]))
        head--;
    while (tail < length && is_continuation(output[tail]))
        tail++;
    return bytes_append(text, output, head) &&
           bytes_format(text, "\n[... %zu bytes left out ...]\n", tail - head) &&
           bytes_append(text, output + tail, length - tail);
}

static bool end_line(struct bytes *text)
{
    return text->length == 0 || text->data[text->length - 1] == '\n' ||
           bytes_append_text(text, "\n");
}

static bool append_end(struct bytes *text, const code_executor_result *result)
{
    if (result->outcome == CODE_EXECUTOR_OUTCOME_COMPLETED && result->exit_code == 0)
        return text->length > 0 || bytes_append_text(text, "(no output)\n");
    if (result->outcome == CODE_EXECUTOR_OUTCOME_SAVED) /* the executor says where */
        return end_line(text) && bytes_append_text(text, "[saved, not run]\n");
    bool completed = result->outcome == CODE_EXECUTOR_OUTCOME_COMPLETED;
    return end_line(text) &&
           bytes_format(text, "[%s%sexit code %d]\n",
                        completed ? "" : code_executor_outcome_name(result->outcome),
                        completed ? "" : ", ", (int)result->exit_code);
}

/* ERROR: the executor's own, if its status is not OK. Returns whether all went well. */
static bool describe_end(const struct job *job, const code_executor_routed_result *routed,
                         const code_executor_error *error, struct bytes *text)
{
    const code_executor_result *result = routed == NULL ? NULL : routed->result;
    bool well = error->status == CODE_EXECUTOR_OK && (result == NULL || result->exit_code == 0);
    if (result != NULL && append_output(text, result->output, result->output_length) &&
        error->status == CODE_EXECUTOR_OK)
        append_end(text, result);
    if (error->status != CODE_EXECUTOR_OK && end_line(text))
        bytes_format(text, "The executor failed (%s): %s\n",
                     code_executor_status_name(error->status), error->message);
    if (job->plan.cut != NULL && well && end_line(text))
        plan_append_refusal(&job->plan, text);
    return well && job->plan.cut == NULL;
}

/* ------------------------------------------------------------------------------------------------
 * A call
 * --------------------------------------------------------------------------------------------- */

static int32_t take_begin(void *user_data, size_t block)
{
    struct call *call = user_data;
    if (call->progress_token != NULL && !atomic_load(&call->cancelled)) {
        char words[128];
        json_object *params = json_object_new_object();
        snprintf(words, sizeof words, "block %zu of %zu: %.60s", block + 1, call->job.plan.count,
                 call->job.plan.blocks[block]->language);
        wire_add(params, "progressToken", json_object_get(call->progress_token));
        wire_add(params, "progress", json_object_new_int64((int64_t)block));
        wire_add(params, "total", json_object_new_int64((int64_t)call->job.plan.count));
        wire_add(params, "message", wire_text(words, strlen(words)));
        wire_notify("notifications/progress", params);
    }
    return atomic_load(&call->cancelled);
}

static int32_t take_output(void *user_data, size_t block, int32_t stream, const char *bytes,
                           size_t length)
{
    const struct call *call = user_data;
    (void)block;
    (void)stream;
    (void)bytes;
    (void)length;
    return atomic_load(&call->cancelled);
}

static void execute(struct call *call, code_executor_routed_result **routed,
                    code_executor_error *error)
{
    double own = call->job.timeout;
    const code_executor_request request = {
        .struct_size = sizeof request,
        .blocks = call->job.plan.blocks,
        .block_count = call->job.plan.count,
        .execution_id = call->execution_id,
        .timeout = own > 0 ? own : call->calls->timeout,
        .stdin_bytes = call->job.stdin_bytes,
        .stdin_length = call->job.stdin_length,
        .user_data = call,
        .on_begin = take_begin,
        .on_output = take_output,
    };
    if (call->job.plan.count > 0 && !atomic_load(&call->cancelled))
        error->status = executors_execute(call->calls->executors, &request, routed, error);
}

static void answer(struct call *call, const code_executor_routed_result *routed,
                   const code_executor_error *error)
{
    CLEANUP(bytes_free) struct bytes text = {0};
    bool well = describe_end(&call->job, routed, error, &text);
    if (atomic_load(&call->cancelled))
        return;
    wire_result(json_object_get(call->id),
                finished_result(tool_result(bytes_text(&text), text.length, !well), call->modern));
}

static void free_call(struct call *call)
{
    json_object_put(call->id);
    json_object_put(call->progress_token);
    job_free(&call->job);
    free(call);
}

static void leave(struct call *call)
{
    struct calls *calls = call->calls;
    pthread_mutex_lock(&calls->lock);
    struct call **at = &calls->first;
    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    calls->count--;
    free_call(call); /* within the lock: json-c counts references without one */
    pthread_cond_broadcast(&calls->ended);
    pthread_mutex_unlock(&calls->lock);
}

static void *run_call(void *argument)
{
    struct call *call = argument;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_routed_result *routed = NULL;
    execute(call, &routed, &error);
    answer(call, routed, &error);
    code_executor_routed_result_free(routed);
    leave(call);
    return NULL;
}

static bool start_thread(struct call *call)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_call, call) != 0)
        return false;
    pthread_detach(thread);
    return true;
}

/* False: there are too many. */
static bool enter(struct calls *calls, struct call *call)
{
    pthread_mutex_lock(&calls->lock);
    bool room = calls->count < MOST_CALLS;
    if (room) {
        call->execution_id = calls->next_id++;
        call->next = calls->first;
        calls->first = call;
        calls->count++;
    }
    pthread_mutex_unlock(&calls->lock);
    return room;
}

/* What belongs to one thread: json-c counts references without a lock. */
static json_object *copy_of(json_object *value)
{
    json_object *copy = NULL;
    return value != NULL && json_object_deep_copy(value, &copy, NULL) == 0 ? copy : NULL;
}

bool calls_begin(struct calls *calls, json_object *id, struct job *job, bool modern,
                 json_object *progress_token)
{
    struct call *call = calloc(1, sizeof *call);
    if (call == NULL) {
        job_free(job);
        wire_error(json_object_get(id), RPC_INTERNAL_ERROR, NULL, "No memory.");
        return false;
    }
    *call = (struct call){.calls = calls, .job = *job, .modern = modern};
    if (job->plan.blocks != NULL && job->plan.count == 1 && job->plan.blocks[0] == &job->block)
        call->job.plan.blocks[0] = &call->job.block;
    call->id = copy_of(id);
    call->progress_token = copy_of(progress_token);
    if (call->id != NULL && enter(calls, call)) {
        if (start_thread(call))
            return true;
        leave(call);
    } else {
        free_call(call);
    }
    wire_error(json_object_get(id), RPC_INTERNAL_ERROR, NULL,
               "No more calls can run now (%d at once at most).", (int)MOST_CALLS);
    return false;
}

static struct call *find(struct calls *calls, json_object *id)
{
    struct call *call = calls->first;
    while (call != NULL && !json_object_equal(call->id, id))
        call = call->next;
    return call;
}

bool calls_has(struct calls *calls, json_object *id)
{
    pthread_mutex_lock(&calls->lock);
    bool has = find(calls, id) != NULL;
    pthread_mutex_unlock(&calls->lock);
    return has;
}

void calls_cancel(struct calls *calls, json_object *id)
{
    pthread_mutex_lock(&calls->lock);
    struct call *call = find(calls, id);
    uint64_t execution_id = call == NULL ? 0 : call->execution_id;
    if (call != NULL)
        atomic_store(&call->cancelled, true);
    pthread_mutex_unlock(&calls->lock);
    if (execution_id != 0)
        executors_cancel_one(calls->executors, execution_id);
}

void calls_cancel_all(struct calls *calls)
{
    pthread_mutex_lock(&calls->lock);
    for (struct call *call = calls->first; call != NULL; call = call->next)
        atomic_store(&call->cancelled, true);
    pthread_mutex_unlock(&calls->lock);
    executors_cancel(calls->executors);
}
