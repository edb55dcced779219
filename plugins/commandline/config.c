/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.c: text to a configuration that is right and whole, and the getters; see config.h.
 */
#include "config.h"
#include "json_text.h"
#include "schema.h"
#include <stdlib.h>
#include <string.h>

static int32_t parse_schema(const char *text, json_object **schema, code_executor_error *error)
{
    int32_t status = json_text_parse(text, schema, error);
    if (status == CODE_EXECUTOR_INVALID)
        status = CODE_EXECUTOR_INTERNAL;
    if (status == CODE_EXECUTOR_OK)
        status = schema_check_itself(*schema, error);
    if (status == CODE_EXECUTOR_INTERNAL)
        error_prefix(error, status, "the plugin's own configuration schema: ");
    return status;
}

static int32_t read_by(json_object *schema, config_adjuster adjust, json_object *config,
                       code_executor_error *error)
{
    int32_t status = schema_check(schema, config, error);
    if (status == CODE_EXECUTOR_OK && adjust)
        status = adjust(config, error);
    return status == CODE_EXECUTOR_OK ? schema_fill(schema, config, error) : status;
}

int32_t config_read(const char *schema, const char *json, json_object **config,
                    code_executor_error *error)
{
    return config_read_adjusted(schema, json, NULL, config, error);
}

int32_t config_read_adjusted(const char *schema, const char *json, config_adjuster adjust,
                             json_object **config, code_executor_error *error)
{
    *config = NULL;
    json_object *parsed_schema;
    int32_t status = parse_schema(schema, &parsed_schema, error);
    if (status == CODE_EXECUTOR_OK) {
        status = json_text_parse(json && *json ? json : "{}", config, error);
        if (status == CODE_EXECUTOR_INVALID)
            error_prefix(error, status, "configuration: ");
    }
    if (status == CODE_EXECUTOR_OK)
        status = read_by(parsed_schema, adjust, *config, error);
    json_object_put(parsed_schema);
    if (status != CODE_EXECUTOR_OK) {
        json_object_put(*config);
        *config = NULL;
    }
    return status;
}

json_object *config_value(json_object *config, const char *key)
{
    json_object *value = NULL;
    json_object_object_get_ex(config, key, &value);
    return value;
}

const char *config_string(json_object *config, const char *key)
{
    json_object *value = config_value(config, key);
    return value ? json_object_get_string(value) : NULL;
}

bool config_boolean(json_object *config, const char *key)
{
    return json_object_get_boolean(config_value(config, key));
}

double config_number(json_object *config, const char *key)
{
    return json_object_get_double(config_value(config, key));
}

int64_t config_integer(json_object *config, const char *key)
{
    return json_object_get_int64(config_value(config, key));
}

int32_t config_strings(json_object *config, const char *key, const char *const **strings,
                       size_t *count, code_executor_error *error)
{
    json_object *array = config_value(config, key);
    size_t length = array ? json_object_array_length(array) : 0;
    const char **made = calloc(length + 1, sizeof *made);
    *strings = made;
    *count = made ? length : 0;
    if (!made)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for \"%s\"", key);
    for (size_t i = 0; i < length; i++)
        made[i] = json_object_get_string(json_object_array_get_idx(array, i));
    return CODE_EXECUTOR_OK;
}

/* The bytes that the members of OBJECT take as NUL-terminated "NAME=value". */
static size_t assignments_size(json_object *object)
{
    size_t size = 0;
    json_object_object_foreach(object, name, value) size +=
        strlen(name) + 1 + strlen(json_object_get_string(value)) + 1;
    return size;
}

int32_t config_assignments(json_object *config, const char *key, const char *const **assignments,
                           size_t *count, code_executor_error *error)
{
    json_object *object = config_value(config, key);
    size_t length = object ? (size_t)json_object_object_length(object) : 0;
    size_t pointers = (length + 1) * sizeof(char *);
    const char **made = calloc(1, pointers + (object ? assignments_size(object) : 0));
    *assignments = made;
    *count = made ? length : 0;
    if (!made)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for \"%s\"", key);
    if (!object)
        return CODE_EXECUTOR_OK;
    char *at = (char *)made + pointers;
    size_t i = 0;
    json_object_object_foreach(object, name, value)
    {
        made[i++] = at;
        at = stpcpy(at, name);
        *at++ = '=';
        at = stpcpy(at, json_object_get_string(value)) + 1;
    }
    return CODE_EXECUTOR_OK;
}
