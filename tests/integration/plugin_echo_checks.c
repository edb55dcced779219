/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_echo_checks.c: see plugin_echo_checks.h.
 */
#include "plugin_echo_checks.h"
#include "json_text.h"
#include "schema.h"
#include <stdio.h>
#include <string.h>

int32_t set(code_executor_error *error, int32_t status, const char *message)
{
    if (error != NULL) {
        error->status = status;
        snprintf(error->message, sizeof error->message, "%s", message);
    }
    return status;
}

int32_t check_size(const void *structure, size_t known, code_executor_error *error)
{
    const char *bytes = structure;
    size_t size = 0;
    memcpy(&size, structure, sizeof size);
    for (size_t i = known; i < size; i++)
        if (bytes[i] != 0)
            return set(error, CODE_EXECUTOR_UNSUPPORTED, "A field is set that is not known.");
    return size < known ? set(error, CODE_EXECUTOR_INVALID, "A structure is too small.")
                        : CODE_EXECUTOR_OK;
}

const char echo_schema[] =
    "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
    "\"greeting\":{\"type\":\"string\",\"description\":\"Said by nobody.\",\"default\":\"hello\"},"
    "\"work_dir\":{\"type\":\"string\",\"description\":\"Where touch makes files.\","
    "\"default\":\".\"},"
    "\"left\":{\"type\":\"string\",\"description\":\"What it claims to have left.\","
    "\"default\":\"\"}}}";

int32_t check_config(const char *config, code_executor_error *error)
{
    json_object *schema = NULL, *given = NULL;
    int32_t status = json_text_parse(echo_schema, &schema, error);
    if (status == CODE_EXECUTOR_OK)
        status = json_text_parse(config, &given, error);
    if (status == CODE_EXECUTOR_OK)
        status = schema_check(schema, given, error);
    json_object_put(schema);
    json_object_put(given);
    return status;
}

int32_t check_request(const code_executor_request *request, code_executor_error *error)
{
    int32_t status = check_size(request, sizeof *request, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    if (request->block_count == 0)
        return set(error, CODE_EXECUTOR_INVALID, "No code blocks to execute.");
    if (request->execution_id == 0)
        return set(error, CODE_EXECUTOR_INVALID, "An execution id is not 0.");
    if (request->timeout != 0 && !(request->timeout >= 1))
        return set(error, CODE_EXECUTOR_INVALID, "Timeout must be greater than or equal to 1.");
    return CODE_EXECUTOR_OK;
}
