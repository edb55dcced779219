/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_schemas.c PLUGIN...: each plugin's configuration schema is one that config.c understands,
 * and explains every key: a description, and a default that is right by the schema itself.
 */
#include "config.h"
#include "json_text.h"
#include "schema.h"

#include <code_executor.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int plugin_count;
static char **plugins;

typedef void (*visitor)(const char *path, json_object *schema, bool required);

static bool is_required(json_object *schema, const char *key)
{
    json_object *required = config_value(schema, "required");
    size_t count = required ? json_object_array_length(required) : 0;
    for (size_t i = 0; i < count; i++)
        if (strcmp(json_object_get_string(json_object_array_get_idx(required, i)), key) == 0)
            return true;
    return false;
}

static void for_each_key(const char *path, json_object *schema, visitor visit)
{
    static const char *const inner[] = {"items", "additionalProperties"};
    if (!json_object_is_type(schema, json_type_object))
        return;
    char longer[512];
    json_object *properties = config_value(schema, "properties");
    if (properties) {
        json_object_object_foreach(properties, key, property)
        {
            snprintf(longer, sizeof longer, "%s.%s", path, key);
            visit(longer, property, is_required(schema, key));
            for_each_key(longer, property, visit);
        }
    }
    for (size_t i = 0; i < 2; i++)
        for_each_key(path, config_value(schema, inner[i]), visit);
    json_object *alternatives = config_value(schema, "anyOf");
    for (size_t i = 0; alternatives && i < json_object_array_length(alternatives); i++)
        for_each_key(path, json_object_array_get_idx(alternatives, i), visit);
}

static void for_each_plugin(visitor visit)
{
    for (int i = 0; i < plugin_count; i++) {
        void *library = dlopen(plugins[i], RTLD_NOW | RTLD_LOCAL);
        if (!library)
            fail_msg("%s", dlerror());
        code_executor_entry_v1 entry;
        *(void **)&entry = dlsym(library, CODE_EXECUTOR_ENTRY_SYMBOL);
        assert_non_null(entry);
        const code_executor_v1 *table = entry();
        json_object *schema;
        code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
        if (json_text_parse(table->config_schema, &schema, &error) != CODE_EXECUTOR_OK ||
            schema_check_itself(schema, &error) != CODE_EXECUTOR_OK)
            fail_msg("%s: %s", plugins[i], error.message);
        for_each_key(table->name, schema, visit);
        json_object_put(schema);
        dlclose(library);
    }
}

static void look_for_description(const char *path, json_object *schema, bool required)
{
    (void)required;
    const char *description = config_string(schema, "description");
    if (!description || strlen(description) < 10)
        fail_msg("%s has no description", path);
}

static void every_key_has_a_description(void **state)
{
    (void)state;
    for_each_plugin(look_for_description);
}

static void look_for_default(const char *path, json_object *schema, bool required)
{
    json_object *standard;
    if (!json_object_object_get_ex(schema, "default", &standard)) {
        if (!required)
            fail_msg("%s has no default", path);
        return;
    }
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    if (schema_check(schema, standard, &error) != CODE_EXECUTOR_OK)
        fail_msg("the default of %s: %s", path, error.message);
}

static void every_key_has_a_default_that_is_right(void **state)
{
    (void)state;
    for_each_plugin(look_for_default);
}

int main(int argument_count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_has_a_description),
        cmocka_unit_test(every_key_has_a_default_that_is_right),
    };
    plugin_count = argument_count - 1;
    plugins = arguments + 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
