/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_executor_plugin_calls.h: the ABI's calls as code_executor_plugin.h defines them for an executor;
 * to be included by that header alone.
 *
 * Invariants. A flight is in the instance's list from before on_begin of its first block until behind its
 * last callback, so that who finds the list empty (stop) knows that nothing runs. No lock is held while
 * a callback, run or interrupt is called.
 */
#ifndef CODE_EXECUTOR_PLUGIN_CALLS_H
#define CODE_EXECUTOR_PLUGIN_CALLS_H

#include "code_executor_plugin.h"

/* ------------------------------------------------------------------------------------------------
 * The ABI: requests and results
 * --------------------------------------------------------------------------------------------- */

/* STRUCTURE of the type called NAME, which is KNOWN bytes large here: neither smaller nor, where it is
 * larger, with anything set that this header does not know. */
static inline int32_t code_executor_check(const void *structure, size_t known, const char *name,
                                          code_executor_error *error)
{
    size_t size = 0;
    if (structure != NULL)
        memcpy(&size, structure, sizeof size);
    if (size < known || size > 64 * 1024)
        return code_executor_set_error(error, CODE_EXECUTOR_INVALID,
                                       "%s: struct_size is %zu instead of %zu", name, size, known);
    for (size_t at = known; at < size; at++)
        if (CODE_EXECUTOR_CAST(const char *, structure)[at] != 0)
            return code_executor_set_error(error, CODE_EXECUTOR_UNSUPPORTED,
                                           "%s: a field at byte %zu is set, which is not known",
                                           name, at);
    return CODE_EXECUTOR_OK;
}

static inline int32_t code_executor_check_request(const code_executor_request *request,
                                                  code_executor_error *error)
{
    int32_t status = code_executor_check(request, sizeof *request, "code_executor_request", error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    if (request->block_count == 0 || request->blocks == NULL)
        return code_executor_set_error(error, CODE_EXECUTOR_INVALID, "No code blocks to execute.");
    if (request->timeout != 0 && !(request->timeout >= 1)) /* which NaN is not, either */
        return code_executor_set_error(error, CODE_EXECUTOR_INVALID,
                                       "Timeout must be greater than or equal to 1.");
    if (request->execution_id == 0)
        return code_executor_set_error(error, CODE_EXECUTOR_INVALID, "execution_id is 0");
    for (size_t i = 0; i < request->block_count; i++) {
        const code_executor_block *block = request->blocks[i];
        status = code_executor_check(block, sizeof *block, "code_executor_block", error);
        if (status != CODE_EXECUTOR_OK)
            return status;
        if (block->language == NULL || (block->code == NULL && block->code_length > 0))
            return code_executor_set_error(error, CODE_EXECUTOR_INVALID, "block %zu has no %s", i,
                                           block->language == NULL ? "language" : "code");
    }
    return CODE_EXECUTOR_OK;
}

/* A result, with room for all of its blocks. */
typedef struct code_executor_owned_result {
    code_executor_result result; /* first: it is what result_free is given */
    code_executor_block_result *blocks;
    const code_executor_block_result **pointers;
} code_executor_owned_result;

static inline void code_executor_free_text(const char *text)
{
#ifdef __cplusplus
    free(const_cast<char *>(text));
#else
    free((void *)(uintptr_t)text);
#endif
}

static inline void code_executor_plugin_result_free(code_executor_result *result)
{
    code_executor_owned_result *owned =
        CODE_EXECUTOR_CAST(code_executor_owned_result *, CODE_EXECUTOR_CAST(void *, result));
    if (owned == NULL)
        return;
    for (size_t i = 0; i < result->block_count; i++) {
        code_executor_free_text(owned->blocks[i].language);
        code_executor_free_text(owned->blocks[i].stdout_bytes);
        code_executor_free_text(owned->blocks[i].stderr_bytes);
        code_executor_free_text(owned->blocks[i].output);
    }
    code_executor_free_text(result->output);
    free(owned->blocks);
    free(owned->pointers);
    free(owned);
}

static inline code_executor_owned_result *code_executor_new_result(size_t count)
{
    code_executor_owned_result *made =
        CODE_EXECUTOR_CAST(code_executor_owned_result *, calloc(1, sizeof *made));
    if (made == NULL)
        return NULL;
    made->blocks =
        CODE_EXECUTOR_CAST(code_executor_block_result *, calloc(count, sizeof *made->blocks));
    made->pointers = CODE_EXECUTOR_CAST(const code_executor_block_result **,
                                        calloc(count, sizeof *made->pointers));
    if (made->blocks == NULL || made->pointers == NULL) {
        code_executor_plugin_result_free(&made->result);
        return NULL;
    }
    made->result.struct_size = sizeof made->result;
    made->result.blocks = made->pointers;
    return made;
}

/* Adds what RUN came to; the outputs in it become the result's. False: no memory. */
static inline bool code_executor_add_block(code_executor_owned_result *into, code_executor_run *run)
{
    size_t at = into->result.block_count++, size = strlen(run->block->language) + 1;
    code_executor_block_result *made = &into->blocks[at];
    uint64_t ignored;
    char *language = CODE_EXECUTOR_CAST(char *, malloc(size));
    if (language != NULL)
        memcpy(language, run->block->language, size);
    made->struct_size = sizeof *made;
    made->language = language;
    made->outcome = into->result.outcome = run->outcome;
    made->exit_code = into->result.exit_code = run->exit_code;
    made->stdout_bytes = code_executor_take(&run->kept[1], &made->stdout_length, &ignored);
    made->stderr_bytes = code_executor_take(&run->kept[2], &made->stderr_length, &ignored);
    made->output = code_executor_take(&run->kept[0], &made->output_length, &made->dropped_bytes);
    made->wall_ns = CODE_EXECUTOR_CAST(uint64_t, code_executor_now_ns() - run->began_ns);
    free(run->kept[3].bytes);
    into->pointers[at] = made;
    return language != NULL && made->stdout_bytes != NULL && made->stderr_bytes != NULL &&
           made->output != NULL;
}

/* The blocks' outputs, one behind the other. */
static inline bool code_executor_join(code_executor_result *result)
{
    size_t length = 0;
    for (size_t i = 0; i < result->block_count; i++)
        length += result->blocks[i]->output_length;
    char *joined = CODE_EXECUTOR_CAST(char *, malloc(length + 1));
    if (joined == NULL)
        return false;
    result->output = joined;
    result->output_length = length;
    for (size_t i = 0; i < result->block_count; i++) {
        memcpy(joined, result->blocks[i]->output, result->blocks[i]->output_length);
        joined += result->blocks[i]->output_length;
    }
    *joined = '\0';
    return true;
}

/* ------------------------------------------------------------------------------------------------
 * The ABI: executions
 * --------------------------------------------------------------------------------------------- */

static inline int32_t code_executor_check_owner(const code_executor_instance *instance,
                                                code_executor_error *error)
{
    if (instance->owner != getpid())
        return code_executor_set_error(error, CODE_EXECUTOR_UNSUPPORTED,
                                       "the instance belongs to the process that created it");
    return code_executor_set_error(error, CODE_EXECUTOR_OK, "%s", "");
}

/* Enters FLIGHT; false: its id is in flight. */
static inline bool code_executor_enter(code_executor_instance *instance,
                                       code_executor_flight *flight)
{
    bool known = false;
    pthread_mutex_lock(&instance->lock);
    for (code_executor_flight *one = instance->flights; one != NULL; one = one->next)
        known = known || one->id == flight->id;
    if (!known) {
        flight->next = instance->flights;
        instance->flights = flight;
        instance->started = true;
    }
    pthread_mutex_unlock(&instance->lock);
    return !known;
}

static inline void code_executor_leave(code_executor_instance *instance,
                                       code_executor_flight *flight)
{
    pthread_mutex_lock(&instance->lock);
    code_executor_flight **at = &instance->flights;
    while (*at != flight)
        at = &(*at)->next;
    *at = flight->next;
    pthread_cond_broadcast(&instance->landed);
    pthread_mutex_unlock(&instance->lock);
}

/* Marks the execution ID (0: every one) as cancelled; false: there is none. */
static inline bool code_executor_mark(code_executor_instance *instance, uint64_t id)
{
    bool found = false;
    pthread_mutex_lock(&instance->lock);
    for (code_executor_flight *flight = instance->flights; flight != NULL; flight = flight->next)
        if (id == 0 || flight->id == id)
            found = flight->cancelled = true;
    pthread_mutex_unlock(&instance->lock);
    if (found && instance->work->interrupt != NULL)
        instance->work->interrupt(instance->state, id);
    return found;
}

/* Runs one block; then run->exit_code and run->outcome are what became of it. */
static inline int32_t code_executor_run_block(code_executor_run *run, double timeout,
                                              code_executor_error *error)
{
    code_executor_instance *instance = run->instance;
    int32_t status = CODE_EXECUTOR_OK;
    run->began_ns = code_executor_now_ns();
    run->limit_ns = timeout < 1e9 ? CODE_EXECUTOR_CAST(int64_t, timeout * 1e9) : INT64_MAX;
    if (run->request->on_begin != NULL &&
        run->request->on_begin(run->request->user_data, run->index) != 0)
        code_executor_mark(instance, run->flight->id);
    if (!code_executor_stopped(run))
        status = instance->work->run(instance->state, run, error);
    bool late = run->late, stopped = code_executor_stopped(run);
    if (status != CODE_EXECUTOR_OK) {
        if (error != NULL && error->status != status)
            code_executor_set_error(error, status, "%s failed and did not say why",
                                    instance->table->name);
        run->outcome = CODE_EXECUTOR_OUTCOME_FAILED;
        run->exit_code = 1;
    } else if (run->outcome == CODE_EXECUTOR_OUTCOME_REFUSED && run->exit_code == 0) {
        run->exit_code = 1;
    } else if (late) {
        code_executor_write(run, CODE_EXECUTOR_STREAM_EXECUTOR, "\nTimeout", 8);
        run->outcome = CODE_EXECUTOR_OUTCOME_TIMED_OUT;
        run->exit_code = 124;
    } else if (stopped && !run->late) {
        run->outcome = CODE_EXECUTOR_OUTCOME_CANCELLED;
        run->exit_code = 130;
    }
    return status;
}

static inline int32_t code_executor_run_all(code_executor_instance *instance,
                                            const code_executor_request *request,
                                            code_executor_flight *flight,
                                            code_executor_owned_result *into,
                                            code_executor_error *error)
{
    double standard = instance->work->timeout > 0 ? instance->work->timeout : 60;
    int32_t status = CODE_EXECUTOR_OK;
    bool whole = true;
    for (size_t i = 0; i < request->block_count && status == CODE_EXECUTOR_OK && whole &&
                       into->result.exit_code == 0;
         i++) {
        code_executor_run run;
        memset(&run, 0, sizeof run);
        run.host = &instance->host;
        run.request = request;
        run.block = request->blocks[i];
        run.index = i;
        run.code_length = run.block->code_length;
        run.code = run.code_length > 0 ? run.block->code : "";
        run.instance = instance;
        run.flight = flight;
        status = code_executor_run_block(&run, request->timeout > 0 ? request->timeout : standard,
                                         error);
        whole = code_executor_add_block(into, &run);
    }
    if (whole && code_executor_join(&into->result))
        return status;
    return code_executor_set_error(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
}

static inline int32_t code_executor_plugin_execute(code_executor_instance *instance,
                                                   const code_executor_request *request,
                                                   code_executor_result **result,
                                                   code_executor_error *error)
{
    *result = NULL;
    int32_t status = code_executor_check_owner(instance, error);
    if (status == CODE_EXECUTOR_OK)
        status = code_executor_check_request(request, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    code_executor_flight flight = {NULL, request->execution_id, false};
    code_executor_owned_result *made = code_executor_new_result(request->block_count);
    if (made == NULL)
        return code_executor_set_error(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    if (!code_executor_enter(instance, &flight)) {
        code_executor_plugin_result_free(&made->result);
        return code_executor_set_error(error, CODE_EXECUTOR_INVALID,
                                       "execution_id %llu is in flight",
                                       CODE_EXECUTOR_CAST(unsigned long long, flight.id));
    }
    status = code_executor_run_all(instance, request, &flight, made, error);
    code_executor_leave(instance, &flight);
    if (status == CODE_EXECUTOR_NO_MEMORY)
        code_executor_plugin_result_free(&made->result);
    else
        *result = &made->result;
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * The ABI: life
 * --------------------------------------------------------------------------------------------- */

static inline int32_t code_executor_plugin_start(code_executor_instance *instance,
                                                 code_executor_error *error)
{
    int32_t status = code_executor_check_owner(instance, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    pthread_mutex_lock(&instance->lock);
    instance->started = true;
    pthread_mutex_unlock(&instance->lock);
    return status;
}

static inline int32_t code_executor_plugin_stop(code_executor_instance *instance,
                                                code_executor_error *error)
{
    int32_t status = code_executor_check_owner(instance, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    code_executor_mark(instance, 0);
    pthread_mutex_lock(&instance->lock);
    instance->started = false;
    while (instance->flights != NULL)
        pthread_cond_wait(&instance->landed, &instance->lock);
    pthread_mutex_unlock(&instance->lock);
    return status;
}

static inline int32_t code_executor_plugin_restart(code_executor_instance *instance,
                                                   code_executor_error *error)
{
    int32_t status = code_executor_plugin_stop(instance, error);
    return status == CODE_EXECUTOR_OK ? code_executor_plugin_start(instance, error) : status;
}

static inline int32_t code_executor_plugin_cancel(code_executor_instance *instance, uint64_t id,
                                                  code_executor_error *error)
{
    int32_t status = code_executor_check_owner(instance, error);
    if (status == CODE_EXECUTOR_OK && !code_executor_mark(instance, id) && id != 0)
        status = code_executor_set_error(error, CODE_EXECUTOR_NOT_FOUND,
                                         "no execution %llu is in flight",
                                         CODE_EXECUTOR_CAST(unsigned long long, id));
    return status;
}

/* TEXT as it stands in a string of JSON, into *AT, which has room for six times as much. */
static inline void code_executor_put_json(char **at, const char *text)
{
    for (; *text != '\0'; text++)
        if (*text == '"' || *text == '\\' || (*text >= 0 && *text < ' '))
            *at += sprintf(*at, "\\u%04x", CODE_EXECUTOR_CAST(unsigned, *text));
        else
            *(*at)++ = *text;
}

static inline int32_t code_executor_plugin_describe(code_executor_instance *instance, char **json,
                                                    code_executor_error *error)
{
    const code_executor_work *work = instance->work;
    double timeout = work->timeout > 0 ? work->timeout : 60;
    *json = NULL;
    int32_t status = code_executor_check_owner(instance, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    pthread_mutex_lock(&instance->lock);
    const char *state = instance->started ? "started" : "stopped";
    pthread_mutex_unlock(&instance->lock);
    size_t size = 256 + strlen(instance->table->name) + 6 * strlen(work->isolation);
    char *at = CODE_EXECUTOR_CAST(char *, malloc(size));
    if (at == NULL)
        return code_executor_set_error(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    *json = at;
    at += sprintf(at,
                  "{\"name\": \"%s\", \"state\": \"%s\", \"timeout\": %.17g, \"work_dir\": null, "
                  "\"bind_dir\": null, \"engine\": null, \"limits\": {}, \"isolation\": \"",
                  instance->table->name, state, timeout);
    code_executor_put_json(&at, work->isolation);
    strcpy(at, "\"}");
    return status;
}

static inline void code_executor_plugin_string_free(char *string)
{
    free(string);
}

/* In a forked child the locks may be held by threads that are not there: nothing is touched. */
static inline void code_executor_plugin_destroy(code_executor_instance *instance)
{
    if (instance == NULL || instance->owner != getpid())
        return;
    code_executor_plugin_stop(instance, NULL);
    if (instance->work->close != NULL)
        instance->work->close(instance->state);
    pthread_cond_destroy(&instance->landed);
    pthread_mutex_destroy(&instance->lock);
    free(instance);
}

static inline const void *code_executor_plugin_get_extension(code_executor_instance *instance,
                                                             const code_executor_work *work,
                                                             const char *id)
{
    if (work->get_extension == NULL)
        return NULL;
    return work->get_extension(instance != NULL ? instance->state : NULL, id);
}

/* What stands behind the brace that CONFIG begins with; NULL: it is no object at first sight. */
static inline const char *code_executor_members(const char *config)
{
    size_t length = strlen(config);
    while (length > 0 && strchr(" \t\r\n", config[length - 1]) != NULL)
        length--;
    bool ends = length > 0 && config[length - 1] == '}';
    config += strspn(config, " \t\r\n");
    return ends && *config == '{' ? config + 1 : NULL;
}

static inline int32_t code_executor_open(code_executor_instance *instance, const char *config_json,
                                         code_executor_error *error)
{
    const code_executor_work *work = instance->work;
    const char *config = config_json == NULL || *config_json == '\0' ? "{}" : config_json;
    const char *members = code_executor_members(config);
    if (members == NULL)
        return code_executor_set_error(error, CODE_EXECUTOR_INVALID,
                                       "the configuration of %s is no JSON object",
                                       instance->table->name);
    if (work->open != NULL)
        return work->open(&instance->host, config, &instance->state, error);
    if (members[strspn(members, " \t\r\n")] == '}')
        return CODE_EXECUTOR_OK;
    return code_executor_set_error(error, CODE_EXECUTOR_INVALID,
                                   "%s has nothing to configure: the configuration must be {}",
                                   instance->table->name);
}

static inline int32_t
code_executor_plugin_create(const code_executor_v1 *table, const code_executor_work *work,
                            const code_executor_host *host, const char *config_json,
                            code_executor_instance **instance, code_executor_error *error)
{
    *instance = NULL;
    int32_t status = code_executor_set_error(error, CODE_EXECUTOR_OK, "%s", "");
    if (host != NULL)
        status = code_executor_check(host, sizeof *host, "code_executor_host", error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    code_executor_instance *made =
        CODE_EXECUTOR_CAST(code_executor_instance *, calloc(1, sizeof *made));
    if (made == NULL)
        return code_executor_set_error(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    made->table = table;
    made->work = work;
    made->owner = getpid();
    if (host != NULL)
        made->host = *host;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->landed, NULL);
    status = code_executor_open(made, config_json, error);
    if (status == CODE_EXECUTOR_OK)
        *instance = made;
    else
        code_executor_plugin_destroy(made);
    return status;
}

#endif /* CODE_EXECUTOR_PLUGIN_CALLS_H */
