/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins_sample.c: a plugin that does nothing, for the tests of loading. Built several times, each with
 * another fault, which SAMPLE_FAULT_... names:
 *
 *     (none)               loads
 *     NO_ENTRY             exports no entry
 *     OTHER_ENTRY          exports only the entry of version 2
 *     NULL_TABLE           its entry returns NULL
 *     OTHER_VERSION        its table says version 7
 *     SMALL_TABLE          its table was made before get_extension
 *     NO_EXECUTE, NO_NAME  its table lacks this
 *     MISSING_SYMBOL       needs a function that is nowhere
 */
#include <code_executor.h>

static int32_t create(const code_executor_host *host, const char *config_json,
                      code_executor_instance **instance, code_executor_error *error)
{
    (void)host;
    (void)config_json;
    (void)error;
    *instance = NULL;
    return CODE_EXECUTOR_OK;
}

#ifdef SAMPLE_FAULT_MISSING_SYMBOL
int32_t a_function_that_is_nowhere(void);
#define END_OF_CHANGE return a_function_that_is_nowhere()
#else
#define END_OF_CHANGE return CODE_EXECUTOR_OK
#endif

static int32_t change(code_executor_instance *instance, code_executor_error *error)
{
    (void)instance;
    (void)error;
    END_OF_CHANGE;
}

static int32_t execute(code_executor_instance *instance, const code_executor_request *request,
                       code_executor_result **result, code_executor_error *error)
{
    (void)instance;
    (void)request;
    (void)error;
    *result = NULL;
    return CODE_EXECUTOR_UNSUPPORTED;
}

static int32_t cancel(code_executor_instance *instance, uint64_t execution_id,
                      code_executor_error *error)
{
    (void)instance;
    (void)execution_id;
    (void)error;
    return CODE_EXECUTOR_OK;
}

static int32_t describe(code_executor_instance *instance, char **json, code_executor_error *error)
{
    (void)instance;
    (void)error;
    *json = NULL;
    return CODE_EXECUTOR_UNSUPPORTED;
}

static void result_free(code_executor_result *result)
{
    (void)result;
}

static void string_free(char *string)
{
    (void)string;
}

static void destroy(code_executor_instance *instance)
{
    (void)instance;
}

static const void *get_extension(code_executor_instance *instance, const char *id)
{
    (void)instance;
    (void)id;
    return NULL;
}

static const code_executor_v1 table = {
#ifdef SAMPLE_FAULT_SMALL_TABLE
    .struct_size = offsetof(code_executor_v1, get_extension),
#else
    .struct_size = sizeof(code_executor_v1),
#endif
#ifdef SAMPLE_FAULT_OTHER_VERSION
    .abi_version = 7,
#else
    .abi_version = CODE_EXECUTOR_ABI_VERSION,
#endif
#ifndef SAMPLE_FAULT_NO_NAME
    .name = "sample",
#endif
    .version = "1.2.3",
    .description = "Does nothing",
    .config_schema = "{}",
    .create = create,
    .start = change,
    .stop = change,
    .restart = change,
#ifdef SAMPLE_FAULT_NO_EXECUTE
    .execute = true ? NULL : execute,
#else
    .execute = execute,
#endif
    .cancel = cancel,
    .describe = describe,
    .result_free = result_free,
    .string_free = string_free,
    .destroy = destroy,
    .get_extension = get_extension,
};

#if defined(SAMPLE_FAULT_NO_ENTRY)
#define ENTRY some_other_function
#elif defined(SAMPLE_FAULT_OTHER_ENTRY)
#define ENTRY code_executor_plugin_v2
#else
#define ENTRY code_executor_plugin_v1
#endif

CODE_EXECUTOR_EXPORT const code_executor_v1 *ENTRY(void);
const code_executor_v1 *ENTRY(void)
{
#ifdef SAMPLE_FAULT_NULL_TABLE
    return table.name == NULL ? &table : NULL;
#else
    return &table;
#endif
}
