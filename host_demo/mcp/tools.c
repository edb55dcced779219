/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tools.c: the tools, as a table: what they are called, what they take, and how that becomes a job.
 */
#include "json_text.h"
#include "mcp.h"
#include "schema.h"
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_SCHEMA                                                                             \
    "\"timeout\":{\"type\":\"number\",\"minimum\":1,\"description\":\"Seconds that a block may "   \
    "take; then it is killed.\"}"

static int32_t prepare_code(struct job *job, code_executor_error *problem);
static int32_t prepare_message(struct job *job, code_executor_error *problem);

static const struct tool {
    const char *name, *title, *description;
    const char *schema;
    int32_t (*prepare)(struct job *job, code_executor_error *problem);
} tools[] = {
    {"run_code", "Run code",
     "Runs code and returns what it printed, and its exit code where that is not 0. Files that it "
     "writes to the current folder are there for later calls.",
     "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"language\",\"code\"],"
     "\"properties\":{"
     "\"language\":{\"type\":\"string\",\"minLength\":1,\"description\":\"The language of the "
     "code, "
     "such as python or sh.\"},"
     "\"code\":{\"type\":\"string\",\"description\":\"The code: a whole program or script.\"},"
     "\"stdin\":{\"type\":\"string\",\"description\":\"What the code finds on its standard "
     "input.\"}," TIMEOUT_SCHEMA "}}",
     prepare_code},
    {"run_message", "Run the code of a message",
     "Runs the fenced code blocks of a Markdown message in order, up to the first that fails, and "
     "returns what they printed.",
     "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"message\"],"
     "\"properties\":{"
     "\"message\":{\"type\":\"string\",\"description\":\"Markdown with fenced code blocks, each "
     "with "
     "its language.\"}," TIMEOUT_SCHEMA "}}",
     prepare_message},
};
enum { TOOL_COUNT = sizeof tools / sizeof *tools };

void job_free(struct job *job)
{
    plan_free(&job->plan);
    json_object_put(job->arguments);
}

/* ------------------------------------------------------------------------------------------------
 * The list
 * --------------------------------------------------------------------------------------------- */

/* The languages that run, of all executors. */
static bool append_languages(struct bytes *text, const struct executors *executors)
{
    bool whole = true;
    for (size_t i = 0; i < executors_count(executors); i++) {
        const struct executor *executor = executors_at(executors, i);
        const code_executor_language *const *languages = NULL;
        const char *separator = "";
        size_t count = 0;
        const code_executor_languages_v1 *extension =
            executor->table->get_extension(executor->instance, CODE_EXECUTOR_EXTENSION_LANGUAGES);
        if (extension == NULL || extension->list(executor->instance, &languages, &count, NULL) != 0)
            continue;
        whole = whole && bytes_format(text, " On %s these languages run: ", executor->label);
        for (size_t k = 0; k < count; k++) {
            if (!languages[k]->runs)
                continue;
            whole = whole && bytes_format(text, "%s%s", separator, languages[k]->name);
            separator = ", ";
        }
        whole = whole && bytes_append_text(text, ".");
    }
    return whole;
}

static json_object *tool_json(const struct tool *tool, const struct executors *executors)
{
    CLEANUP(bytes_free) struct bytes description = {0};
    json_object *object = json_object_new_object();
    json_object *hints = json_object_new_object();
    bool whole = bytes_append_text(&description, tool->description) &&
                 append_languages(&description, executors) &&
                 wire_add(object, "name", json_object_new_string(tool->name)) &&
                 wire_add(object, "title", json_object_new_string(tool->title)) &&
                 wire_add(object, "description", wire_text(description.data, description.length)) &&
                 wire_add(object, "inputSchema", json_tokener_parse(tool->schema)) &&
                 wire_add(hints, "readOnlyHint", json_object_new_boolean(false)) &&
                 wire_add(hints, "destructiveHint", json_object_new_boolean(true));
    if (whole && wire_add(object, "annotations", json_object_get(hints))) {
        json_object_put(hints);
        return object;
    }
    json_object_put(hints);
    json_object_put(object);
    return NULL;
}

json_object *tools_list(const struct executors *executors)
{
    json_object *list = json_object_new_array();
    for (size_t i = 0; i < TOOL_COUNT && list != NULL; i++) {
        json_object *tool = tool_json(&tools[i], executors);
        if (tool == NULL || json_object_array_add(list, tool) != 0) {
            json_object_put(tool);
            json_object_put(list);
            return NULL;
        }
    }
    return list;
}

/* ------------------------------------------------------------------------------------------------
 * Jobs
 * --------------------------------------------------------------------------------------------- */

/* Of an argument that the schema has found to be text; NULL where it is not there. */
static const char *text_of(json_object *arguments, const char *key, size_t *length)
{
    json_object *value = NULL;
    if (!json_object_object_get_ex(arguments, key, &value))
        return NULL;
    *length = (size_t)json_object_get_string_len(value);
    return json_object_get_string(value);
}

static int32_t prepare_code(struct job *job, code_executor_error *problem)
{
    size_t name_length = 0;
    job->block.struct_size = sizeof job->block;
    job->block.language = text_of(job->arguments, "language", &name_length);
    job->block.code = text_of(job->arguments, "code", &job->block.code_length);
    job->stdin_bytes = text_of(job->arguments, "stdin", &job->stdin_length);
    if (strlen(job->block.language) != name_length)
        return fail(problem, CODE_EXECUTOR_INVALID, "The language holds a NUL.");
    job->plan.blocks = calloc(1, sizeof *job->plan.blocks);
    if (job->plan.blocks == NULL)
        return fail_no_memory(problem);
    job->plan.blocks[0] = &job->block;
    job->plan.count = 1;
    return CODE_EXECUTOR_OK;
}

static int32_t prepare_message(struct job *job, code_executor_error *problem)
{
    size_t length = 0;
    const char *message = text_of(job->arguments, "message", &length);
    CLEANUP(bytes_free) struct bytes copy = {0};
    if (!bytes_append(&copy, message, length))
        return fail_no_memory(problem);
    int32_t status = plan_make(&copy, &job->plan, problem);
    return status == CODE_EXECUTOR_OK ? plan_check(&job->plan, problem) : status;
}

static int32_t check_arguments(const struct tool *tool, json_object *arguments,
                               code_executor_error *problem)
{
    json_object *schema = NULL;
    int32_t status = json_text_parse(tool->schema, &schema, problem);
    if (status == CODE_EXECUTOR_OK)
        status = schema_check(schema, arguments, problem);
    json_object_put(schema);
    return status;
}

enum tool_answer tool_prepare(const char *name, json_object *arguments, struct job *job,
                              code_executor_error *problem)
{
    const struct tool *tool = NULL;
    json_object *timeout = NULL;
    *job = (struct job){0};
    for (size_t i = 0; i < TOOL_COUNT && tool == NULL; i++)
        if (strcmp(tools[i].name, name) == 0)
            tool = &tools[i];
    if (tool == NULL)
        return TOOL_UNKNOWN;
    if (check_arguments(tool, arguments, problem) != CODE_EXECUTOR_OK)
        return TOOL_REFUSED;
    /* A copy, as json-c counts references without a lock, and the call ends on another thread. */
    if (json_object_deep_copy(arguments, &job->arguments, NULL) != 0) {
        fail_no_memory(problem);
        return TOOL_REFUSED;
    }
    if (json_object_object_get_ex(arguments, "timeout", &timeout))
        job->timeout = json_object_get_double(timeout);
    if (tool->prepare(job, problem) == CODE_EXECUTOR_OK)
        return TOOL_READY;
    job_free(job);
    return TOOL_REFUSED;
}
