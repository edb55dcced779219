/* SPDX-License-Identifier: Apache-2.0 */
/*
 * router_executor.c: see router_executor.h.
 */
#include "router_executor.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_IN_FLIGHT = 8, MOST_TEXT = 256 };

typedef struct one_block {
    code_executor_block_result result;
    char language[MOST_TEXT];
    char output[MOST_TEXT];
    char code_file[MOST_TEXT];
} one_block;

/* The result with all that it points to. */
typedef struct whole_result {
    code_executor_result result; /* first: what is freed */
    code_executor_instance *owner;
    one_block **blocks;
    char *output;
} whole_result;

/* What one call of execute works on. */
typedef struct call {
    code_executor_instance *instance;
    const code_executor_request *request;
    size_t place; /* in in_flight */
    whole_result *result;
} call;

static void sleep_ms(unsigned milliseconds)
{
    struct timespec pause = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000L};
    nanosleep(&pause, NULL);
}

static void set_error(code_executor_error *error, int32_t status, const char *words)
{
    if (error != NULL) {
        error->status = status;
        snprintf(error->message, sizeof(error->message), "%s", words);
    }
}

static void result_free(code_executor_result *result)
{
    whole_result *whole = (whole_result *)result;
    if (whole == NULL)
        return;
    for (size_t i = 0; i < whole->result.block_count; i++)
        free(whole->blocks[i]);
    atomic_fetch_sub(&whole->owner->live, 1);
    free(whole->blocks);
    free(whole->output);
    free(whole);
}

static void append(whole_result *whole, const char *text)
{
    size_t length = strlen(text);
    whole->output = realloc(whole->output, whole->result.output_length + length + 1);
    memcpy(whole->output + whole->result.output_length, text, length + 1);
    whole->result.output_length += length;
    whole->result.output = whole->output;
}

static one_block *add_block(whole_result *whole, const char *language)
{
    one_block *block = calloc(1, sizeof(*block));
    snprintf(block->language, sizeof(block->language), "%s", language);
    block->result.struct_size = sizeof(block->result);
    block->result.language = block->language;
    block->result.output = block->output;
    whole->blocks = realloc(whole->blocks, (whole->result.block_count + 1) * sizeof(one_block *));
    whole->blocks[whole->result.block_count++] = block;
    whole->result.blocks = (const code_executor_block_result *const *)(void *)whole->blocks;
    return block;
}

static void end_block(call *now, one_block *block, int32_t outcome, int32_t exit_code)
{
    block->result.outcome = outcome;
    block->result.exit_code = exit_code;
    block->result.output_length = strlen(block->output);
    append(now->result, block->output);
    now->result->result.outcome = outcome;
    now->result->result.exit_code = exit_code;
    if (now->result->result.code_file == NULL)
        now->result->result.code_file = block->result.code_file;
}

static bool is_cancelled(const call *now)
{
    return atomic_load(&now->instance->cancelled[now->place]);
}

/* Obeys the code of block INDEX. Returns the status of the whole. */
static int32_t run_block(call *now, size_t index, code_executor_error *error)
{
    const code_executor_block *given = now->request->blocks[index];
    const code_executor_request *request = now->request;
    one_block *block = add_block(now->result, given->language);
    if (request->on_begin != NULL && request->on_begin(request->user_data, index) != 0)
        atomic_store(&now->instance->cancelled[now->place], true);
    while (!is_cancelled(now) && strcmp(given->code, "wait") == 0)
        sleep_ms(1);
    if (is_cancelled(now)) {
        end_block(now, block, CODE_EXECUTOR_OUTCOME_CANCELLED, 130);
    } else if (strncmp(given->code, "exit ", 5) == 0) {
        end_block(now, block, CODE_EXECUTOR_OUTCOME_COMPLETED, atoi(given->code + 5));
    } else if (strcmp(given->code, "save") == 0) {
        snprintf(block->code_file, sizeof(block->code_file), "/%s/%zu", now->instance->name, index);
        block->result.code_file = block->code_file;
        end_block(now, block, CODE_EXECUTOR_OUTCOME_SAVED, 0);
    } else if (strcmp(given->code, "die") == 0) {
        end_block(now, block, CODE_EXECUTOR_OUTCOME_FAILED, 1);
        set_error(error, CODE_EXECUTOR_LOST, "died");
        return CODE_EXECUTOR_LOST;
    } else {
        snprintf(block->output, sizeof(block->output), "%s:%s:%s\n", now->instance->name,
                 given->language, given->code);
        if (request->on_output != NULL &&
            request->on_output(request->user_data, index, CODE_EXECUTOR_STREAM_STDOUT,
                               block->output, strlen(block->output)) != 0)
            end_block(now, block, CODE_EXECUTOR_OUTCOME_CANCELLED, 130);
        else
            end_block(now, block, CODE_EXECUTOR_OUTCOME_COMPLETED, 0);
    }
    return CODE_EXECUTOR_OK;
}

static int32_t run_blocks(call *now, code_executor_error *error)
{
    int32_t status = CODE_EXECUTOR_OK;
    for (size_t i = 0; i < now->request->block_count && status == CODE_EXECUTOR_OK; i++) {
        status = run_block(now, i, error);
        if (now->result->result.exit_code != 0)
            break;
    }
    return status;
}

static void take_place(call *now)
{
    uint_least64_t free_place = 0;
    while (!atomic_compare_exchange_strong(&now->instance->in_flight[now->place], &free_place,
                                           now->request->execution_id)) {
        free_place = 0;
        now->place = (now->place + 1) % MOST_IN_FLIGHT;
    }
}

/* Or who cancels what has just ended would mark the place, and with it the next one that takes it. */
static pthread_mutex_t leaving = PTHREAD_MUTEX_INITIALIZER;

static void leave_place(call *now)
{
    pthread_mutex_lock(&leaving);
    atomic_store(&now->instance->in_flight[now->place], 0);
    atomic_store(&now->instance->cancelled[now->place], false);
    pthread_mutex_unlock(&leaving);
}

static int32_t execute(code_executor_instance *instance, const code_executor_request *request,
                       code_executor_result **result, code_executor_error *error)
{
    call now = {.instance = instance, .request = request};
    *result = NULL;
    atomic_fetch_add(&instance->calls, 1);
    instance->execution_id = request->execution_id;
    instance->timeout = request->timeout;
    instance->block_count = request->block_count;
    if (strcmp(request->blocks[0]->code, "unavailable") == 0) {
        set_error(error, CODE_EXECUTOR_UNAVAILABLE, "not there");
        return CODE_EXECUTOR_UNAVAILABLE;
    }
    if (strcmp(request->blocks[0]->code, "silent") == 0)
        return CODE_EXECUTOR_OK;
    sleep_ms(instance->deaf_for);
    take_place(&now);
    for (unsigned i = 0; i < instance->starts_for && !is_cancelled(&now); i++)
        sleep_ms(1);
    int32_t status = CODE_EXECUTOR_CANCELLED;
    if (is_cancelled(&now)) {
        set_error(error, status, "cancelled while starting");
    } else {
        now.result = calloc(1, sizeof(*now.result));
        now.result->owner = instance;
        now.result->result.struct_size = sizeof(now.result->result);
        atomic_fetch_add(&instance->live, 1);
        append(now.result, "");
        status = run_blocks(&now, error);
        *result = &now.result->result;
    }
    leave_place(&now);
    return status;
}

static int32_t cancel(code_executor_instance *instance, uint64_t execution_id,
                      code_executor_error *error)
{
    bool found = execution_id == 0;
    pthread_mutex_lock(&leaving);
    for (size_t i = 0; i < MOST_IN_FLIGHT; i++) {
        uint64_t id = atomic_load(&instance->in_flight[i]);
        if (id != 0 && (execution_id == 0 || id == execution_id)) {
            atomic_store(&instance->cancelled[i], true);
            found = true;
        }
    }
    pthread_mutex_unlock(&leaving);
    atomic_fetch_add(found ? &instance->cancels : &instance->refused_cancels, 1);
    if (!found)
        set_error(error, CODE_EXECUTOR_NOT_FOUND, "not in flight");
    return found ? CODE_EXECUTOR_OK : CODE_EXECUTOR_NOT_FOUND;
}

const code_executor_v1 router_executor = {
    .struct_size = sizeof(code_executor_v1),
    .abi_version = CODE_EXECUTOR_ABI_VERSION,
    .name = "router_executor",
    .execute = execute,
    .cancel = cancel,
    .result_free = result_free,
};
