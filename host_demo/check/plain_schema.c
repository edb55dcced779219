/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plain_schema.c: see plain_schema.h.
 */
#include "plain_schema.h"
#include "schema.h"
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 32 };

static void forget(json_object *schema, int depth);

/* Where a schema is expected at KEY of HOLDER: one that is only true or false says nothing here. */
static void forget_at(json_object *holder, const char *key, int depth)
{
    json_object *schema = NULL;
    if (!json_object_object_get_ex(holder, key, &schema))
        return;
    if (json_object_is_type(schema, json_type_boolean))
        json_object_object_add(holder, key, json_object_new_object());
    else
        forget(schema, depth);
}

static void forget_in_members(json_object *schema, const char *key, int depth)
{
    json_object *members = NULL;
    if (!json_object_object_get_ex(schema, key, &members))
        return;
    if (json_object_is_type(members, json_type_object)) {
        json_object_object_foreach(members, name, member)
        {
            (void)member;
            forget_at(members, name, depth + 1);
        }
    }
    for (size_t i = 0;
         json_object_is_type(members, json_type_array) && i < json_object_array_length(members);
         i++)
        forget(json_object_array_get_idx(members, i), depth + 1);
}

static void forget(json_object *schema, int depth)
{
    static const char *const holders[] = {"properties", "anyOf"};
    if (!json_object_is_type(schema, json_type_object) || depth > DEPTH_MAX)
        return;
    struct json_object_iterator at = json_object_iter_begin(schema);
    struct json_object_iterator end = json_object_iter_end(schema);
    while (!json_object_iter_equal(&at, &end)) {
        const char *key = json_object_iter_peek_name(&at);
        char *unknown = !schema_knows(key) || strcmp(key, "pattern") == 0 ? strdup(key) : NULL;
        json_object_iter_next(&at);
        if (unknown != NULL)
            json_object_object_del(schema, unknown);
        free(unknown);
    }
    for (size_t i = 0; i < sizeof holders / sizeof *holders; i++)
        forget_in_members(schema, holders[i], depth);
    forget_at(schema, "items", depth + 1);
    forget_at(schema, "propertyNames", depth + 1);
    json_object *others = NULL;
    if (json_object_object_get_ex(schema, "additionalProperties", &others))
        forget(others, depth + 1); /* false is understood there */
}

int32_t plain_schema(json_object *schema, code_executor_error *error)
{
    json_object *type = NULL;
    forget(schema, 0);
    if (!json_object_is_type(schema, json_type_object))
        return error_set(error, CODE_EXECUTOR_INVALID, "it is no object");
    if (!json_object_object_get_ex(schema, "type", &type) ||
        !json_object_is_type(type, json_type_string) ||
        strcmp(json_object_get_string(type), "object") != 0)
        return error_set(error, CODE_EXECUTOR_INVALID, "its \"type\" is not \"object\"");
    return schema_check_itself(schema, error);
}
