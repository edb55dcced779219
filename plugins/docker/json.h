/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h: short forms for what json-c takes three lines for. Those that add return whether memory
 * sufficed; those that look take any value, and find nothing in what is no object.
 */
#ifndef CODE_EXECUTOR_DOCKER_JSON_H
#define CODE_EXECUTOR_DOCKER_JSON_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

static inline bool json_put(json_object *object, const char *key, json_object *value)
{
    if (value && json_object_object_add(object, key, value) == 0)
        return true;
    json_object_put(value);
    return false;
}

static inline bool json_put_string(json_object *object, const char *key, const char *value)
{
    return json_put(object, key, json_object_new_string(value));
}

static inline bool json_put_integer(json_object *object, const char *key, int64_t value)
{
    return json_put(object, key, json_object_new_int64(value));
}

static inline bool json_put_boolean(json_object *object, const char *key, bool value)
{
    return json_put(object, key, json_object_new_boolean(value));
}

/* A new member that is an empty array (object); NULL: no memory. */
static inline json_object *json_put_array(json_object *object, const char *key)
{
    json_object *array = json_object_new_array();
    return json_put(object, key, array) ? array : NULL;
}

static inline json_object *json_put_object(json_object *object, const char *key)
{
    json_object *member = json_object_new_object();
    return json_put(object, key, member) ? member : NULL;
}

static inline bool json_append(json_object *array, json_object *value)
{
    if (value && json_object_array_add(array, value) == 0)
        return true;
    json_object_put(value);
    return false;
}

static inline bool json_append_string(json_object *array, const char *value)
{
    return json_append(array, json_object_new_string(value));
}

static inline json_object *json_member(json_object *object, const char *key)
{
    json_object *member = NULL;
    if (json_object_is_type(object, json_type_object))
        json_object_object_get_ex(object, key, &member);
    return member;
}

/* NULL where it is no string. */
static inline const char *json_string(json_object *object, const char *key)
{
    json_object *member = json_member(object, key);
    return json_object_is_type(member, json_type_string) ? json_object_get_string(member) : NULL;
}

/* 0 where it is no number. */
static inline int64_t json_integer(json_object *object, const char *key)
{
    return json_object_get_int64(json_member(object, key));
}

static inline void json_release(json_object **object)
{
    json_object_put(*object);
}

#define CLEANUP_JSON __attribute__((cleanup(json_release)))

#endif /* CODE_EXECUTOR_DOCKER_JSON_H */
