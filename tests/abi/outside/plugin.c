/* SPDX-License-Identifier: Apache-2.0 */
/* upper: a whole executor. Instead of running a block it prints it in capitals. */
#include <code_executor.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int32_t end(code_executor_error *error, int32_t status, const char *message)
{
    if (error != NULL) {
        error->status = status;
        strcpy(error->message, message);
    }
    return status;
}

static int32_t create(const code_executor_host *host, const char *config_json,
                      code_executor_instance **instance, code_executor_error *error)
{
    if (config_json != NULL && config_json[strspn(config_json, "{ \n}")] != '\0')
        return end(error, CODE_EXECUTOR_INVALID, "upper has nothing to configure");
    *instance = malloc(1); /* and nothing to keep */
    return *instance != NULL ? CODE_EXECUTOR_OK : end(error, CODE_EXECUTOR_NO_MEMORY, "no memory");
}

static int32_t start_stop_restart(code_executor_instance *instance, code_executor_error *error)
{
    return end(error, CODE_EXECUTOR_OK, ""); /* and nothing to bring up */
}

/* "Runs" block I: its output and its language go to TEXT, which has room for both. */
static void run(const code_executor_request *request, size_t i, char *text,
                code_executor_block_result *result)
{
    const code_executor_block *block = request->blocks[i];
    size_t length = block->code_length;
    bool cancelled = request->on_begin != NULL && request->on_begin(request->user_data, i) != 0;
    size_t printed = cancelled ? 0 : length;
    for (size_t at = 0; at < printed; at++)
        text[at] = (char)toupper((unsigned char)block->code[at]);
    if (printed > 0 && request->on_output != NULL)
        cancelled = request->on_output(request->user_data, i, CODE_EXECUTOR_STREAM_STDOUT, text,
                                       printed) != 0;
    *result = (code_executor_block_result){
        .struct_size = sizeof(*result),
        .language = strcpy(text + length + 1, block->language),
        .outcome = cancelled ? CODE_EXECUTOR_INTERRUPTED : CODE_EXECUTOR_COMPLETED,
        .exit_code = cancelled ? 130 : 0,
        .stdout_bytes = text,
        .stdout_length = printed,
        .stderr_bytes = "",
        .output = text,
        .output_length = printed,
    };
}

/* A result is one allocation: itself, its blocks, pointers to them, the joined output, the texts. */
static int32_t execute(code_executor_instance *instance, const code_executor_request *request,
                       code_executor_result **result, code_executor_error *error)
{
    size_t count = request->block_count, code = 0, languages = 0;
    for (size_t i = 0; i < count; i++) {
        code += request->blocks[i]->code_length;
        languages += strlen(request->blocks[i]->language);
    }
    size_t each = sizeof(code_executor_block_result) + sizeof(void *) + 2; /* 2 NULs */
    code_executor_result *made = calloc(1, sizeof(*made) + count * each + 2 * code + 1 + languages);
    *result = count > 0 ? made : NULL;
    if (*result == NULL) {
        free(made);
        return count > 0 ? end(error, CODE_EXECUTOR_NO_MEMORY, "no memory")
                         : end(error, CODE_EXECUTOR_INVALID, "No code blocks to execute.");
    }
    code_executor_block_result *blocks = (void *)(made + 1);
    const code_executor_block_result **pointers = (void *)(blocks + count);
    char *output = (char *)(pointers + count), *text = output + code + 1;
    *made = (code_executor_result){sizeof(*made), .output = output, .blocks = pointers};
    while (made->block_count < count && made->exit_code == 0) {
        code_executor_block_result *block = &blocks[made->block_count];
        run(request, made->block_count, text, block);
        memcpy(output + made->output_length, block->output, block->output_length);
        text += request->blocks[made->block_count]->code_length + strlen(block->language) + 2;
        made->output_length += block->output_length;
        made->exit_code = block->exit_code;
        made->outcome = block->outcome;
        pointers[made->block_count++] = block;
    }
    return end(error, CODE_EXECUTOR_OK, "");
}

static int32_t cancel(code_executor_instance *instance, uint64_t id, code_executor_error *error)
{
    if (id == 0)
        return end(error, CODE_EXECUTOR_OK,
                   ""); /* a block takes no time: there is nothing to end */
    return end(error, CODE_EXECUTOR_NOT_FOUND, "no such execution is in flight");
}

static int32_t describe(code_executor_instance *instance, char **json, code_executor_error *error)
{
    *json = strdup(
        "{\"name\": \"upper\", \"state\": \"started\", \"timeout\": 60, \"work_dir\": null, "
        "\"bind_dir\": null, \"isolation\": \"runs nothing\", \"engine\": null, \"limits\": {}}");
    return *json != NULL ? end(error, CODE_EXECUTOR_OK, "")
                         : end(error, CODE_EXECUTOR_NO_MEMORY, "no memory");
}

static void result_free(code_executor_result *result)
{
    free(result);
}

static void string_free(char *string)
{
    free(string);
}

static void destroy(code_executor_instance *instance)
{
    free(instance);
}

static const void *get_extension(code_executor_instance *instance, const char *id)
{
    return NULL;
}

CODE_EXECUTOR_EXPORT const code_executor_v1 *code_executor_plugin_v1(void)
{
    static const code_executor_v1 table = {
        .struct_size = sizeof(table),
        .abi_version = CODE_EXECUTOR_ABI_VERSION,
        .name = "upper",
        .version = "1.0.0",
        .description = "Prints blocks in capitals instead of running them",
        .config_schema = "{\"type\": \"object\", \"additionalProperties\": false}",
        .create = create,
        .start = start_stop_restart,
        .stop = start_stop_restart,
        .restart = start_stop_restart,
        .execute = execute,
        .cancel = cancel,
        .describe = describe,
        .result_free = result_free,
        .string_free = string_free,
        .destroy = destroy,
        .get_extension = get_extension,
    };
    return &table;
}
