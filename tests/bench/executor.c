/* SPDX-License-Identifier: Apache-2.0 */
/* executor.c: see executor.h. */
#include "executor.h"

#include "parallel.h"
#include "spawn.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static atomic_uint_least64_t next_execution = 1;

static int64_t complain(const char *what, const code_executor_error *error)
{
    fprintf(stderr, "bench: %s: %s: %s\n", what, code_executor_status_name(error->status),
            error->message);
    return -1;
}

bool executor_open(struct executor *executor, const char *name, const char *config)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    memset(executor, 0, sizeof *executor);
    if (code_executor_plugin_load(name, &executor->plugin, &error) != CODE_EXECUTOR_OK) {
        complain("load", &error);
        return false;
    }
    executor->table = code_executor_plugin_table(executor->plugin);
    if (executor->table->create(NULL, config, &executor->instance, &error) != CODE_EXECUTOR_OK) {
        complain("create", &error);
        return false;
    }
    return true;
}

void executor_close(struct executor *executor)
{
    if (executor->table != NULL)
        executor->table->destroy(executor->instance);
    code_executor_plugin_unload(executor->plugin);
}

typedef int32_t (*life_cycle_call)(code_executor_instance *instance, code_executor_error *error);

static int64_t timed(struct executor *executor, life_cycle_call call, const char *what)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    int64_t began = now_ns();
    if (call(executor->instance, &error) != CODE_EXECUTOR_OK)
        return complain(what, &error);
    return now_ns() - began;
}

int64_t executor_start(struct executor *executor)
{
    return timed(executor, executor->table->start, "start");
}

int64_t executor_stop(struct executor *executor)
{
    return timed(executor, executor->table->stop, "stop");
}

int64_t executor_restart(struct executor *executor)
{
    return timed(executor, executor->table->restart, "restart");
}

static int32_t count_bytes(void *user_data, size_t block, int32_t stream, const char *bytes,
                           size_t length)
{
    (void)block;
    (void)stream;
    (void)bytes;
    ((struct executor *)user_data)->bytes_seen += length;
    return 0;
}

static bool run_once(struct executor *executor, const code_executor_block *block, bool count)
{
    const code_executor_block *const blocks[] = {block};
    code_executor_request request = {
        .struct_size = sizeof request,
        .blocks = blocks,
        .block_count = 1,
        .execution_id = atomic_fetch_add(&next_execution, 1),
        .user_data = executor,
        .on_output = count ? count_bytes : NULL,
    };
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_result *result = NULL;
    int32_t status = executor->table->execute(executor->instance, &request, &result, &error);
    bool good = status == CODE_EXECUTOR_OK && result->exit_code == 0;
    if (status != CODE_EXECUTOR_OK)
        complain("execute", &error);
    else if (!good)
        fprintf(stderr, "bench: exit code %d: %.200s\n", (int)result->exit_code, result->output);
    executor->table->result_free(result);
    return good;
}

struct parallel_run {
    struct executor *executor;
    const code_executor_block *block;
};

static bool run_one_of_many(void *context, int index)
{
    const struct parallel_run *run = context;
    (void)index;
    return run_once(run->executor, run->block, false);
}

int64_t executor_run(struct executor *executor, const char *language, const char *code, int count)
{
    const code_executor_block block = {
        .struct_size = sizeof block,
        .language = language,
        .code = code,
        .code_length = strlen(code),
    };
    struct parallel_run run = {executor, &block};
    if (count != 1)
        return parallel_ns(count, run_one_of_many, &run);
    int64_t began = now_ns();
    return run_once(executor, &block, true) ? now_ns() - began : -1;
}

char *executor_interpreter(struct executor *executor, const char *language)
{
    const code_executor_languages_v1 *languages =
        executor->table->get_extension(executor->instance, CODE_EXECUTOR_EXTENSION_LANGUAGES);
    const code_executor_language *const *list = NULL;
    size_t count = 0;
    if (languages != NULL &&
        languages->list(executor->instance, &list, &count, NULL) == CODE_EXECUTOR_OK) {
        for (size_t i = 0; i < count; i++)
            if (strcmp(list[i]->name, language) == 0 && list[i]->interpreter != NULL)
                return strdup(list[i]->interpreter);
    }
    return strdup(strcmp(language, "python") == 0 ? "python3" : language);
}
