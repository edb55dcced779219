/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.c: values against a schema. Each keyword is a row of a table: what it is given, where
 * schemas are within it, and the function that checks a value by it.
 */
#include "schema.h"
#include "nearest.h"
#include "schema_report.h"
#include "text.h"
#include <inttypes.h>
#include <math.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int32_t check(struct place *place, json_object *schema, json_object *value);

/* ------------------------------------------------------------------------------------------------
 * Keywords
 * --------------------------------------------------------------------------------------------- */

/* The types that SCHEMA's own keywords allow, or 0 where a name of a type is none. */
static unsigned types_named(json_object *names)
{
    unsigned types = 0;
    bool several = json_object_is_type(names, json_type_array);
    size_t count = several ? json_object_array_length(names) : 1;
    for (size_t i = 0; i < count; i++) {
        json_object *name = several ? json_object_array_get_idx(names, i) : names;
        unsigned bit = json_object_is_type(name, json_type_string)
                           ? schema_type_named(json_object_get_string(name))
                           : 0;
        if (!bit)
            return 0;
        types |= bit;
    }
    return types;
}

static unsigned types_of_all(json_object *values)
{
    unsigned types = 0;
    for (size_t i = 0; i < json_object_array_length(values); i++)
        types |= schema_type_of(json_object_array_get_idx(values, i));
    return types;
}

/* The types that SCHEMA allows, those of its alternatives included. */
static unsigned types_allowed(json_object *schema)
{
    unsigned types = TYPE_ANY;
    json_object *names;
    json_object *alternatives;
    if (json_object_object_get_ex(schema, "type", &names))
        types = types_named(names);
    else if (json_object_object_get_ex(schema, "enum", &names))
        types = types_of_all(names);
    if (json_object_object_get_ex(schema, "anyOf", &alternatives)) {
        unsigned any = 0;
        for (size_t i = 0; i < json_object_array_length(alternatives); i++)
            any |= types_allowed(json_object_array_get_idx(alternatives, i));
        types &= any;
    }
    return types;
}

static int32_t check_type(struct place *place, json_object *schema, json_object *value)
{
    unsigned types = types_allowed(schema);
    if (types & schema_type_of(value))
        return CODE_EXECUTOR_OK;
    char words[128];
    schema_type_words(types, words, sizeof words);
    return place_refuse(place, schema, "type", value, words);
}

static int32_t check_enum(struct place *place, json_object *schema, json_object *argument,
                          json_object *value)
{
    char demand[512] = "one of ";
    size_t length = strlen(demand);
    for (size_t i = 0; i < json_object_array_length(argument); i++) {
        json_object *allowed = json_object_array_get_idx(argument, i);
        if (json_object_equal(allowed, value))
            return CODE_EXECUTOR_OK;
        const char *text = json_object_to_json_string(allowed);
        int more = snprintf(demand + length, sizeof demand - length, "%s%s", i ? ", " : "",
                            text ? text : "?");
        if (more > 0 && length + (size_t)more < sizeof demand)
            length += (size_t)more;
    }
    return place_refuse(place, schema, "enum", value, demand);
}

static int32_t check_const(struct place *place, json_object *schema, json_object *argument,
                           json_object *value)
{
    if (json_object_equal(argument, value))
        return CODE_EXECUTOR_OK;
    const char *text = json_object_to_json_string(argument);
    return place_refuse(place, schema, "const", value, text ? text : "?");
}

static int32_t refuse_limit(struct place *place, json_object *schema, const char *keyword,
                            json_object *argument, json_object *value, const char *relation)
{
    char demand[96];
    const char *limit = json_object_to_json_string(argument);
    snprintf(demand, sizeof demand, "%s %s", relation, limit ? limit : "?");
    return place_refuse(place, schema, keyword, value, demand);
}

static int32_t check_minimum(struct place *place, json_object *schema, json_object *argument,
                             json_object *value)
{
    if (!(schema_type_of(value) & TYPE_NUMBER) ||
        json_object_get_double(value) >= json_object_get_double(argument))
        return CODE_EXECUTOR_OK;
    return refuse_limit(place, schema, "minimum", argument, value, "at least");
}

static int32_t check_exclusive_minimum(struct place *place, json_object *schema,
                                       json_object *argument, json_object *value)
{
    if (!(schema_type_of(value) & TYPE_NUMBER) ||
        json_object_get_double(value) > json_object_get_double(argument))
        return CODE_EXECUTOR_OK;
    return refuse_limit(place, schema, "exclusiveMinimum", argument, value, "more than");
}

static int32_t check_maximum(struct place *place, json_object *schema, json_object *argument,
                             json_object *value)
{
    if (!(schema_type_of(value) & TYPE_NUMBER) ||
        json_object_get_double(value) <= json_object_get_double(argument))
        return CODE_EXECUTOR_OK;
    return refuse_limit(place, schema, "maximum", argument, value, "at most");
}

static int32_t check_min_length(struct place *place, json_object *schema, json_object *argument,
                                json_object *value)
{
    if (!json_object_is_type(value, json_type_string))
        return CODE_EXECUTOR_OK;
    int64_t characters = 0;
    for (const char *c = json_object_get_string(value); *c; c++)
        characters += ((unsigned char)*c & 0xc0) != 0x80;
    int64_t least = json_object_get_int64(argument);
    if (characters >= least)
        return CODE_EXECUTOR_OK;
    if (least == 1)
        return place_refuse(place, schema, "minLength", value, "a string that is not empty");
    return refuse_limit(place, schema, "minLength", argument, value,
                        "a string whose length is at least");
}

static int32_t check_pattern(struct place *place, json_object *schema, json_object *argument,
                             json_object *value)
{
    if (!json_object_is_type(value, json_type_string))
        return CODE_EXECUTOR_OK;
    regex_t pattern;
    int failure = regcomp(&pattern, json_object_get_string(argument), REG_EXTENDED | REG_NOSUB);
    if (failure)
        return error_set(place->error,
                         failure == REG_ESPACE ? CODE_EXECUTOR_NO_MEMORY : CODE_EXECUTOR_INTERNAL,
                         "the pattern \"%s\" of the schema cannot be compiled",
                         json_object_get_string(argument));
    bool matches = regexec(&pattern, json_object_get_string(value), 0, NULL, 0) == 0;
    regfree(&pattern);
    if (matches)
        return CODE_EXECUTOR_OK;
    return refuse_limit(place, schema, "pattern", argument, value, "a string that matches");
}

static int32_t check_min_items(struct place *place, json_object *schema, json_object *argument,
                               json_object *value)
{
    (void)schema;
    if (!json_object_is_type(value, json_type_array) ||
        (int64_t)json_object_array_length(value) >= json_object_get_int64(argument))
        return CODE_EXECUTOR_OK;
    char at[PLACE_NAME_SIZE];
    return error_set(place->error, CODE_EXECUTOR_INVALID,
                     "%s must have at least %" PRId64 " element%s", place_name(place, at),
                     json_object_get_int64(argument),
                     json_object_get_int64(argument) == 1 ? "" : "s");
}

static int32_t check_items(struct place *place, json_object *schema, json_object *argument,
                           json_object *value)
{
    (void)schema;
    int32_t status = CODE_EXECUTOR_OK;
    size_t count =
        json_object_is_type(value, json_type_array) ? json_object_array_length(value) : 0;
    for (size_t i = 0; i < count && status == CODE_EXECUTOR_OK; i++) {
        size_t before = place_enter_element(place, i);
        status = check(place, argument, json_object_array_get_idx(value, i));
        place_leave(place, before);
    }
    return status;
}

static int32_t check_properties(struct place *place, json_object *schema, json_object *argument,
                                json_object *value)
{
    (void)schema;
    if (!json_object_is_type(value, json_type_object))
        return CODE_EXECUTOR_OK;
    json_object_object_foreach(value, key, member)
    {
        json_object *property;
        if (!json_object_object_get_ex(argument, key, &property))
            continue;
        size_t before = place_enter_key(place, key);
        int32_t status = check(place, property, member);
        place_leave(place, before);
        if (status != CODE_EXECUTOR_OK)
            return status;
    }
    return CODE_EXECUTOR_OK;
}

static int32_t check_required(struct place *place, json_object *schema, json_object *argument,
                              json_object *value)
{
    (void)schema;
    if (!json_object_is_type(value, json_type_object))
        return CODE_EXECUTOR_OK;
    for (size_t i = 0; i < json_object_array_length(argument); i++) {
        const char *key = json_object_get_string(json_object_array_get_idx(argument, i));
        char at[PLACE_NAME_SIZE];
        if (json_object_object_get_ex(value, key, NULL))
            continue;
        if (place->length == 0) /* no name fits: what is checked need not be a configuration */
            return error_set(place->error, CODE_EXECUTOR_INVALID, "the key \"%s\" is missing", key);
        return error_set(place->error, CODE_EXECUTOR_INVALID, "%s lacks the key \"%s\"",
                         place_name(place, at), key);
    }
    return CODE_EXECUTOR_OK;
}

static int32_t refuse_key(struct place *place, json_object *properties, const char *key)
{
    char known[1024];
    size_t length = 0;
    nearest_search search = nearest_begin(key);
    known[0] = '\0';
    if (properties) {
        json_object_object_foreach(properties, name, unused)
        {
            (void)unused;
            nearest_consider(&search, name);
            int more =
                snprintf(known + length, sizeof known - length, "%s%s", length ? ", " : "", name);
            if (more > 0 && length + (size_t)more < sizeof known)
                length += (size_t)more;
        }
    }
    size_t before = place_enter_key(place, key);
    int32_t status = CODE_EXECUTOR_INVALID;
    if (search.nearest)
        error_set(place->error, status, "unknown key \"%s\"; did you mean \"%.*s%s%s\"?",
                  place->text, (int)before, place->text, before ? "." : "", search.nearest);
    else
        error_set(place->error, status, "unknown key \"%s\"; the keys there are: %s", place->text,
                  length ? known : "none");
    place_leave(place, before);
    return status;
}

static int32_t check_additional_properties(struct place *place, json_object *schema,
                                           json_object *argument, json_object *value)
{
    if (!json_object_is_type(value, json_type_object))
        return CODE_EXECUTOR_OK;
    json_object *properties = NULL;
    json_object_object_get_ex(schema, "properties", &properties);
    json_object_object_foreach(value, key, member)
    {
        if (json_object_object_get_ex(properties, key, NULL))
            continue;
        if (json_object_is_type(argument, json_type_boolean)) {
            if (!json_object_get_boolean(argument))
                return refuse_key(place, properties, key);
            continue;
        }
        size_t before = place_enter_key(place, key);
        int32_t status = check(place, argument, member);
        place_leave(place, before);
        if (status != CODE_EXECUTOR_OK)
            return status;
    }
    return CODE_EXECUTOR_OK;
}

static int32_t check_property_names(struct place *place, json_object *schema, json_object *argument,
                                    json_object *value)
{
    (void)schema;
    if (!json_object_is_type(value, json_type_object))
        return CODE_EXECUTOR_OK;
    json_object_object_foreach(value, key, member)
    {
        (void)member;
        json_object *name = json_object_new_string(key);
        if (!name)
            return error_set(place->error, CODE_EXECUTOR_NO_MEMORY,
                             "no memory to check the configuration");
        int32_t status = check(place, argument, name);
        json_object_put(name);
        char at[PLACE_NAME_SIZE];
        char brief[64];
        if (status == CODE_EXECUTOR_INVALID)
            return error_prefix(place->error, status,
                                "%s has the key \"%s\": ", place_name(place, at),
                                text_shorten(key, brief, sizeof brief));
        if (status != CODE_EXECUTOR_OK)
            return status;
    }
    return CODE_EXECUTOR_OK;
}

/* The first alternative that allows VALUE's type speaks for all when none fits. */
static int32_t check_any_of(struct place *place, json_object *schema, json_object *argument,
                            json_object *value)
{
    (void)schema;
    int32_t status = CODE_EXECUTOR_OK;
    json_object *spokesman = NULL;
    code_executor_error *error = place->error;
    place->error = NULL;
    for (size_t i = 0; i < json_object_array_length(argument); i++) {
        json_object *alternative = json_object_array_get_idx(argument, i);
        status = check(place, alternative, value);
        if (status != CODE_EXECUTOR_INVALID)
            break;
        if (!spokesman && types_allowed(alternative) & schema_type_of(value))
            spokesman = alternative;
    }
    place->error = error;
    return status == CODE_EXECUTOR_INVALID && spokesman ? check(place, spokesman, value) : status;
}

/* ------------------------------------------------------------------------------------------------
 * The table
 * --------------------------------------------------------------------------------------------- */

/* What a keyword is given. */
enum argument_kind {
    ANYTHING,
    NUMBER,
    TEXT,
    LIST,
    SCHEMA,
    BOOLEAN_OR_SCHEMA,
    SCHEMA_LIST,
    SCHEMA_MAP,
    TYPES
};

static const struct keyword {
    const char *name;
    enum argument_kind argument;
    /* NULL: says nothing about a value, or is checked elsewhere. */
    int32_t (*check)(struct place *place, json_object *schema, json_object *argument,
                     json_object *value);
} keywords[] = {
    {"type", TYPES, NULL},
    {"enum", LIST, check_enum},
    {"const", ANYTHING, check_const},
    {"minimum", NUMBER, check_minimum},
    {"exclusiveMinimum", NUMBER, check_exclusive_minimum},
    {"maximum", NUMBER, check_maximum},
    {"minLength", NUMBER, check_min_length},
    {"pattern", TEXT, check_pattern},
    {"minItems", NUMBER, check_min_items},
    {"items", SCHEMA, check_items},
    {"propertyNames", SCHEMA, check_property_names},
    {"properties", SCHEMA_MAP, check_properties},
    {"additionalProperties", BOOLEAN_OR_SCHEMA, check_additional_properties},
    {"required", LIST, check_required},
    {"anyOf", SCHEMA_LIST, check_any_of},
    {"default", ANYTHING, NULL},
    {"description", TEXT, NULL},
    {"title", TEXT, NULL},
    {"examples", LIST, NULL},
    {"errorMessage", ANYTHING, NULL},
    {"$comment", TEXT, NULL},
};
#define KEYWORD_COUNT (sizeof keywords / sizeof keywords[0])

static const struct keyword *find_keyword(const char *name)
{
    for (size_t i = 0; i < KEYWORD_COUNT; i++)
        if (strcmp(keywords[i].name, name) == 0)
            return &keywords[i];
    return NULL;
}

bool schema_knows(const char *keyword)
{
    return find_keyword(keyword) != NULL;
}

static int32_t check(struct place *place, json_object *schema, json_object *value)
{
    int32_t status = check_type(place, schema, value);
    if (status != CODE_EXECUTOR_OK)
        return status;
    if (json_object_is_type(value, json_type_double) && !isfinite(json_object_get_double(value)))
        return place_refuse(place, schema, "maximum", value, "a number of usual size");
    for (size_t i = 0; i < KEYWORD_COUNT && status == CODE_EXECUTOR_OK; i++) {
        json_object *argument;
        if (keywords[i].check && json_object_object_get_ex(schema, keywords[i].name, &argument))
            status = keywords[i].check(place, schema, argument, value);
    }
    return status;
}

int32_t schema_check(json_object *schema, json_object *value, code_executor_error *error)
{
    struct place place = {.error = error};
    return check(&place, schema, value);
}

/* ------------------------------------------------------------------------------------------------
 * The schema itself
 * --------------------------------------------------------------------------------------------- */

static bool argument_fits(enum argument_kind kind, json_object *argument);

int32_t schema_check_itself(json_object *schema, code_executor_error *error)
{
    if (!json_object_is_type(schema, json_type_object))
        return error_set(error, CODE_EXECUTOR_INTERNAL, "a schema is no object");
    json_object_object_foreach(schema, name, argument)
    {
        const struct keyword *keyword = find_keyword(name);
        if (!keyword)
            return error_set(error, CODE_EXECUTOR_INTERNAL, "unknown keyword \"%s\" in a schema",
                             name);
        if (!argument_fits(keyword->argument, argument))
            return error_set(error, CODE_EXECUTOR_INTERNAL,
                             "the keyword \"%s\" of a schema has a wrong value", name);
    }
    return CODE_EXECUTOR_OK;
}

static bool is_schema(json_object *schema)
{
    return schema_check_itself(schema, NULL) == CODE_EXECUTOR_OK;
}

static bool all_schemas(json_object *schemas)
{
    if (json_object_is_type(schemas, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(schemas); i++)
            if (!is_schema(json_object_array_get_idx(schemas, i)))
                return false;
        return true;
    }
    json_object_object_foreach(schemas, name, schema)
    {
        (void)name;
        if (!is_schema(schema))
            return false;
    }
    return true;
}

static bool argument_fits(enum argument_kind kind, json_object *argument)
{
    enum json_type type = json_object_get_type(argument);
    switch (kind) {
    case ANYTHING:
        return true;
    case NUMBER:
        return type == json_type_int || type == json_type_double;
    case TEXT:
        return type == json_type_string;
    case LIST:
        return type == json_type_array;
    case SCHEMA:
        return is_schema(argument);
    case BOOLEAN_OR_SCHEMA:
        return type == json_type_boolean || is_schema(argument);
    case SCHEMA_LIST:
        return type == json_type_array && all_schemas(argument);
    case SCHEMA_MAP:
        return type == json_type_object && all_schemas(argument);
    case TYPES:
        return types_named(argument) != 0;
    }
    return false;
}

/* ------------------------------------------------------------------------------------------------
 * Defaults
 * --------------------------------------------------------------------------------------------- */

static int32_t no_memory(code_executor_error *error)
{
    return error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory to fill in the configuration");
}

/* A copy of SCHEMA's default for KEY, unless VALUE has that key. */
static int32_t add_default(json_object *value, const char *key, json_object *schema,
                           code_executor_error *error)
{
    json_object *standard;
    if (json_object_object_get_ex(value, key, NULL) ||
        !json_object_object_get_ex(schema, "default", &standard))
        return CODE_EXECUTOR_OK;
    json_object *copy = NULL;
    if (standard && json_object_deep_copy(standard, &copy, NULL) != 0)
        return no_memory(error);
    if (json_object_object_add(value, key, copy) != 0) {
        json_object_put(copy);
        return no_memory(error);
    }
    return CODE_EXECUTOR_OK;
}

static int32_t fill_object(json_object *schema, json_object *value, code_executor_error *error)
{
    json_object *properties = NULL;
    json_object *additional = NULL;
    json_object_object_get_ex(schema, "additionalProperties", &additional);
    if (json_object_object_get_ex(schema, "properties", &properties)) {
        json_object_object_foreach(properties, key, property)
        {
            int32_t status = add_default(value, key, property, error);
            if (status != CODE_EXECUTOR_OK)
                return status;
        }
    }
    json_object_object_foreach(value, name, member)
    {
        json_object *property;
        bool known = json_object_object_get_ex(properties, name, &property);
        int32_t status = schema_fill(known ? property : additional, member, error);
        if (status != CODE_EXECUTOR_OK)
            return status;
    }
    return CODE_EXECUTOR_OK;
}

static int32_t fill_alternative(json_object *alternatives, json_object *value,
                                code_executor_error *error)
{
    for (size_t i = 0; i < json_object_array_length(alternatives); i++) {
        json_object *alternative = json_object_array_get_idx(alternatives, i);
        if (schema_check(alternative, value, NULL) == CODE_EXECUTOR_OK)
            return schema_fill(alternative, value, error);
    }
    return CODE_EXECUTOR_OK;
}

int32_t schema_fill(json_object *schema, json_object *value, code_executor_error *error)
{
    if (!json_object_is_type(schema, json_type_object))
        return CODE_EXECUTOR_OK;
    int32_t status = CODE_EXECUTOR_OK;
    json_object *inner;
    if (json_object_object_get_ex(schema, "anyOf", &inner))
        status = fill_alternative(inner, value, error);
    if (status == CODE_EXECUTOR_OK && json_object_is_type(value, json_type_object))
        status = fill_object(schema, value, error);
    if (!json_object_is_type(value, json_type_array) ||
        !json_object_object_get_ex(schema, "items", &inner))
        return status;
    for (size_t i = 0; i < json_object_array_length(value) && status == CODE_EXECUTOR_OK; i++)
        status = schema_fill(inner, json_object_array_get_idx(value, i), error);
    return status;
}
