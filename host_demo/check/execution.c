/* SPDX-License-Identifier: Apache-2.0 */
/*
 * execution.c: see execution.h. The callbacks keep what they see and who called them; what is wrong with
 * a call is kept too and told when execute has returned, since a callback must return.
 */
#include "execution.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------------
 * Callbacks
 * --------------------------------------------------------------------------------------------- */

static void note_wrong(struct execution *execution, const char *what)
{
    if (execution->wrong[0] == '\0')
        snprintf(execution->wrong, sizeof execution->wrong, "%s", what);
}

static void check_call(struct execution *execution, const char *callback, size_t block)
{
    char what[160];
    if (!pthread_equal(pthread_self(), execution->caller)) {
        snprintf(what, sizeof what, "%s came on another thread than the one that called execute",
                 callback);
        note_wrong(execution, what);
    }
    if (execution->has_ended) {
        snprintf(what, sizeof what, "%s came after execute had returned", callback);
        note_wrong(execution, what);
    }
    if (block >= execution->request.block_count) {
        snprintf(what, sizeof what, "%s came with block %zu of %zu", callback, block,
                 execution->request.block_count);
        note_wrong(execution, what);
    }
}

static int32_t take_begin(void *user_data, size_t block)
{
    struct execution *execution = user_data;
    pthread_mutex_lock(&execution->lock);
    check_call(execution, "on_begin", block);
    if (execution->begun_count < BLOCKS_MAX)
        execution->begun[execution->begun_count] = block;
    execution->begun_count++;
    execution->last_begun = block;
    execution->has_begun = true;
    pthread_cond_broadcast(&execution->changed);
    pthread_mutex_unlock(&execution->lock);
    return execution->begin_answer;
}

static void keep(struct execution *execution, size_t block, int32_t stream, const char *bytes,
                 size_t length)
{
    struct bytes *kept = &execution->streams[block][stream];
    size_t room = execution->keeps > kept->length ? execution->keeps - kept->length : 0;
    bytes_append(kept, bytes, length < room ? length : room);
    execution->counts[block][stream] += length;
}

static int32_t take_output(void *user_data, size_t block, int32_t stream, const char *bytes,
                           size_t length)
{
    struct execution *execution = user_data;
    pthread_mutex_lock(&execution->lock);
    check_call(execution, "on_output", block);
    if (length == 0)
        note_wrong(execution, "on_output came without bytes");
    if (stream < 1 || stream >= STREAMS)
        note_wrong(execution, "on_output came with a stream that there is not");
    /* A block that is refused has not begun; the executor says so all the same. */
    if (stream != CODE_EXECUTOR_STREAM_EXECUTOR &&
        (execution->begun_count == 0 || execution->last_begun != block))
        note_wrong(execution, "on_output came for a block for which on_begin had not come");
    if (block < BLOCKS_MAX && stream >= 1 && stream < STREAMS) {
        keep(execution, block, stream, bytes, length);
        keep(execution, block, 0, bytes, length);
    }
    pthread_mutex_unlock(&execution->lock);
    return execution->output_answer;
}

/* ------------------------------------------------------------------------------------------------
 * Preparing
 * --------------------------------------------------------------------------------------------- */

void execution_prepare(struct execution *execution, struct subject *subject,
                       code_executor_instance *instance, uint64_t id)
{
    memset(execution, 0, sizeof *execution);
    execution->subject = subject;
    execution->instance = instance;
    execution->error = (code_executor_error)CODE_EXECUTOR_ERROR_INIT;
    execution->keeps = 1 << 20;
    execution->request = (code_executor_request){
        .struct_size = sizeof execution->request,
        .blocks = execution->pointers,
        .execution_id = id,
        .user_data = execution,
        .on_begin = take_begin,
        .on_output = take_output,
    };
    pthread_mutex_init(&execution->lock, NULL);
    pthread_cond_init(&execution->changed, NULL);
}

void execution_add_code(struct execution *execution, const char *language, const char *code)
{
    size_t at = execution->request.block_count++;
    execution->blocks[at] = (code_executor_block){
        .struct_size = sizeof execution->blocks[at],
        .language = language,
        .code = code,
        .code_length = strlen(code),
    };
    execution->pointers[at] = &execution->blocks[at];
}

void execution_add(struct execution *execution, enum probe_kind kind)
{
    const struct probe *probe = need_probe(execution->subject, kind);
    execution->probes[execution->request.block_count] = probe;
    execution_add_code(execution, execution->subject->probes.language, probe->code);
}

/* ------------------------------------------------------------------------------------------------
 * The shape of a result
 * --------------------------------------------------------------------------------------------- */

static void check_text(struct subject *subject, const char *what, const char *bytes, size_t length)
{
    expect(subject, "%s is bytes with a NUL behind them", what);
    if (bytes == NULL)
        saw(subject, "it is NULL");
    if (bytes[length] != '\0')
        saw(subject, "another byte follows the %zu that there are", length);
}

static void check_block_result(struct execution *execution, const code_executor_block_result *block,
                               size_t index)
{
    struct subject *subject = execution->subject;
    expect(subject, "a result of every block that was begun");
    if (block == NULL)
        saw(subject, "blocks[%zu] is NULL", index);
    expect(subject, "struct_size of a block's result is its size");
    if (block->struct_size < sizeof *block)
        saw(subject, "it is %zu, less than %zu", block->struct_size, sizeof *block);
    check_text(subject, "stdout_bytes", block->stdout_bytes, block->stdout_length);
    check_text(subject, "stderr_bytes", block->stderr_bytes, block->stderr_length);
    check_text(subject, "output", block->output, block->output_length);
    const char *asked = execution->blocks[index].language;
    expect(subject, "a block's language is as the request gave it: %s", asked);
    if (block->language == NULL || strcmp(block->language, asked) != 0)
        saw(subject, "%.200s", block->language == NULL ? "NULL" : block->language);
    expect(subject, "code_file is an absolute path or NULL");
    if (block->code_file != NULL && block->code_file[0] != '/')
        saw(subject, "%.200s", block->code_file);
}

static void check_joined(struct execution *execution)
{
    const code_executor_result *result = execution->result;
    struct subject *subject = execution->subject;
    size_t at = 0;
    expect(subject, "output of the result is the blocks' outputs joined");
    for (size_t i = 0; i < result->block_count; i++) {
        const code_executor_block_result *block = result->blocks[i];
        if (at + block->output_length > result->output_length ||
            memcmp(result->output + at, block->output, block->output_length) != 0)
            saw(subject, "it differs within block %zu", i);
        at += block->output_length;
    }
    if (at != result->output_length)
        saw(subject, "it has %zu bytes, the blocks %zu", result->output_length, at);
}

static void check_result(struct execution *execution)
{
    const code_executor_result *result = execution->result;
    struct subject *subject = execution->subject;
    expect(subject, "struct_size of a result is its size");
    if (result->struct_size < sizeof *result)
        saw(subject, "it is %zu, less than %zu", result->struct_size, sizeof *result);
    expect(subject, "at most as many results of blocks as there are blocks");
    if (result->block_count > execution->request.block_count)
        saw(subject, "%zu of %zu", result->block_count, execution->request.block_count);
    check_text(subject, "output of the result", result->output, result->output_length);
    for (size_t i = 0; i < result->block_count; i++)
        check_block_result(execution, result->blocks[i], i);
    check_joined(execution);
    if (result->block_count == 0)
        return;
    const code_executor_block_result *last = result->blocks[result->block_count - 1];
    expect(subject, "exit_code and outcome of the result are those of its last block");
    if (execution->status == CODE_EXECUTOR_OK &&
        (last->exit_code != result->exit_code || last->outcome != result->outcome)) {
        saw(subject, "exit code %d and %s, of the block %d and %s", (int)result->exit_code,
            code_executor_outcome_name(result->outcome), (int)last->exit_code,
            code_executor_outcome_name(last->outcome));
    }
}

/* ------------------------------------------------------------------------------------------------
 * Running
 * --------------------------------------------------------------------------------------------- */

static void call_execute(struct execution *execution)
{
    /* Neither a result nor NULL: whoever does not set it is found out. */
    code_executor_result *unset = (code_executor_result *)(uintptr_t)(void *)execution;
    execution->result = unset;
    execution->caller = pthread_self();
    execution->status = execution->subject->table->execute(execution->instance, &execution->request,
                                                           &execution->result, &execution->error);
    pthread_mutex_lock(&execution->lock);
    execution->has_ended = true;
    pthread_cond_broadcast(&execution->changed);
    pthread_mutex_unlock(&execution->lock);
}

static void check_end(struct execution *execution)
{
    struct subject *subject = execution->subject;
    expect(subject, "callbacks as the header says");
    if (execution->wrong[0] != '\0')
        saw(subject, "%s", execution->wrong);
    expect(subject, "*result is set, to NULL or to a result");
    if ((void *)execution->result == (void *)execution)
        saw(subject, "it is as it was before");
    expect(subject, "the error's status is what execute returned");
    if (execution->error.status != execution->status) {
        saw(subject, "execute returned %s, and the error's status is %s",
            code_executor_status_name(execution->status),
            code_executor_status_name(execution->error.status));
    }
    expect(subject, "a success has a result");
    if (execution->status == CODE_EXECUTOR_OK && execution->result == NULL)
        saw(subject, "it is NULL");
    if (execution->result != NULL)
        check_result(execution);
}

void execution_run(struct execution *execution)
{
    step(execution->subject, "execute");
    expect(execution->subject, "execute returns");
    call_execute(execution);
    check_end(execution);
}

static void *run_on_thread(void *execution)
{
    call_execute(execution);
    return NULL;
}

void execution_begin(struct execution *execution)
{
    step(execution->subject, "execute");
    expect(execution->subject, "on_begin comes");
    if (pthread_create(&execution->thread, NULL, run_on_thread, execution) != 0)
        not_applicable(execution->subject, "the host cannot start a thread");
    pthread_mutex_lock(&execution->lock);
    while (!execution->has_begun && !execution->has_ended)
        pthread_cond_wait(&execution->changed, &execution->lock);
    bool begun = execution->has_begun;
    pthread_mutex_unlock(&execution->lock);
    if (!begun) {
        pthread_join(execution->thread, NULL);
        check_end(execution);
        expect(execution->subject, "on_begin comes");
        if (execution->status != CODE_EXECUTOR_OK)
            saw_status(execution->subject, execution->status, &execution->error);
        saw(execution->subject, "execute returned without it");
    }
}

void execution_end(struct execution *execution)
{
    step(execution->subject, "execute");
    pthread_join(execution->thread, NULL);
    check_end(execution);
}

void execution_free(struct execution *execution)
{
    step(execution->subject, "result_free");
    expect(execution->subject, "result_free returns");
    execution->subject->table->result_free(execution->result);
    for (size_t i = 0; i < BLOCKS_MAX; i++)
        for (size_t k = 0; k < STREAMS; k++)
            bytes_free(&execution->streams[i][k]);
    pthread_cond_destroy(&execution->changed);
    pthread_mutex_destroy(&execution->lock);
}

/* ------------------------------------------------------------------------------------------------
 * What must have come of it
 * --------------------------------------------------------------------------------------------- */

const char *quoted(const char *bytes, size_t length)
{
    enum { SHOWN = 60 };
    static _Thread_local char text[SHOWN * 4 + 40];
    size_t used = (size_t)snprintf(text, sizeof text, "\"");
    for (size_t i = 0; i < length && i < SHOWN; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        if (isprint(byte))
            text[used++] = (char)byte;
        else
            used += (size_t)snprintf(text + used, sizeof text - used,
                                     byte == '\n' ? "\\n" : "\\x%02x", byte);
    }
    snprintf(text + used, sizeof text - used, length > SHOWN ? "\" ... (%zu bytes)" : "\"", length);
    return text;
}

static _Noreturn void saw_end(struct execution *execution, const code_executor_block_result *block)
{
    saw(execution->subject, "%s, exit code %d, output %s",
        code_executor_outcome_name(block->outcome), (int)block->exit_code,
        quoted(block->output, block->output_length));
}

void must_complete(struct execution *execution)
{
    struct subject *subject = execution->subject;
    const code_executor_result *result = execution->result;
    expect(subject, "execute succeeds");
    if (execution->status != CODE_EXECUTOR_OK)
        saw_status(subject, execution->status, &execution->error);
    for (size_t i = 0; i < result->block_count; i++) {
        const struct probe *probe = execution->probes[i];
        int32_t exit_code = probe == NULL ? 0 : probe->exit_code;
        expect(subject, "block %zu of %zu: completed, exit code %d", i + 1,
               execution->request.block_count, (int)exit_code);
        if (result->blocks[i]->outcome != CODE_EXECUTOR_OUTCOME_COMPLETED ||
            result->blocks[i]->exit_code != exit_code)
            saw_end(execution, result->blocks[i]);
    }
    expect(subject, "a result for each block that was begun");
    if (result->block_count != execution->begun_count || result->block_count == 0) {
        saw(subject, "%zu results, and on_begin came %zu times", result->block_count,
            execution->begun_count);
    }
}

void must_be_cancelled(struct execution *execution)
{
    struct subject *subject = execution->subject;
    expect(subject, "execute succeeds, with outcome cancelled and exit code 130");
    if (execution->status != CODE_EXECUTOR_OK)
        saw_status(subject, execution->status, &execution->error);
    if (execution->result->block_count == 0)
        saw(subject, "no result of the block that had begun");
    const code_executor_block_result *last =
        execution->result->blocks[execution->result->block_count - 1];
    if (last->outcome != CODE_EXECUTOR_OUTCOME_CANCELLED || last->exit_code != 130)
        saw_end(execution, last);
}

void must_be_refused(struct execution *execution, int32_t status, const char *reason,
                     const char *words)
{
    struct subject *subject = execution->subject;
    expect(subject, "status %s%s%s%s for %s", code_executor_status_name(status),
           words == NULL ? "" : " and the message `", words == NULL ? "" : words,
           words == NULL ? "" : "`", reason);
    if (execution->status != status || execution->error.message[0] == '\0' ||
        (words != NULL && strcmp(execution->error.message, words) != 0))
        saw_status(subject, execution->status, &execution->error);
    expect(subject, "no block is begun by a request that is refused");
    if (execution->begun_count > 0)
        saw(subject, "on_begin came");
}

void must_have_written(struct execution *execution, size_t block, int32_t stream, const char *bytes,
                       size_t length)
{
    static const char *const names[STREAMS] = {"output", "stdout", "stderr", "the executor"};
    const code_executor_block_result *result = execution->result->blocks[block];
    const char *kept = stream == 1   ? result->stdout_bytes
                       : stream == 2 ? result->stderr_bytes
                                     : result->output;
    size_t kept_length = stream == 1   ? result->stdout_length
                         : stream == 2 ? result->stderr_length
                                       : result->output_length;
    const struct bytes *streamed = &execution->streams[block][stream];
    char wanted[320];
    snprintf(wanted, sizeof wanted, "%s", quoted(bytes, length));
    expect(execution->subject, "%s of the block is %s", names[stream], wanted);
    if (kept_length != length || memcmp(kept, bytes, length) != 0)
        saw(execution->subject, "in the result it is %s", quoted(kept, kept_length));
    if (streamed->length != length || memcmp(bytes_text(streamed), bytes, length) != 0) {
        saw(execution->subject, "by on_output it was %s",
            quoted(bytes_text(streamed), streamed->length));
    }
}

void must_print(struct subject *subject, code_executor_instance *instance, uint64_t id)
{
    struct execution execution;
    execution_prepare(&execution, subject, instance, id);
    execution_add(&execution, PROBE_PRINT);
    execution_run(&execution);
    must_complete(&execution);
    must_have_written(&execution, 0, CODE_EXECUTOR_STREAM_STDOUT, execution.probes[0]->stdout_bytes,
                      execution.probes[0]->stdout_length);
    execution_free(&execution);
}
