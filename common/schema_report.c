/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema_report.c: types, values and places in words; see schema_report.h.
 */
#include "schema_report.h"
#include "text.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const struct type_word {
    unsigned bit;
    const char *name;
    const char *words;
} type_words[] = {
    {TYPE_STRING, "string", "a string"}, {TYPE_INTEGER, "integer", "a whole number"},
    {TYPE_NUMBER, "number", "a number"}, {TYPE_BOOLEAN, "boolean", "true or false"},
    {TYPE_ARRAY, "array", "an array"},   {TYPE_OBJECT, "object", "an object"},
    {TYPE_NULL, "null", "null"},
};
#define TYPE_WORD_COUNT (sizeof type_words / sizeof type_words[0])

unsigned schema_type_named(const char *name)
{
    for (size_t i = 0; i < TYPE_WORD_COUNT; i++)
        if (strcmp(name, type_words[i].name) == 0)
            return type_words[i].bit;
    return 0;
}

static bool is_whole(double number)
{
    return number > -9e18 && number < 9e18 && (double)(int64_t)number == number;
}

unsigned schema_type_of(json_object *value)
{
    switch (json_object_get_type(value)) {
    case json_type_null:
        return TYPE_NULL;
    case json_type_boolean:
        return TYPE_BOOLEAN;
    case json_type_int:
        return TYPE_INTEGER | TYPE_NUMBER;
    case json_type_double:
        return is_whole(json_object_get_double(value)) ? TYPE_INTEGER | TYPE_NUMBER : TYPE_NUMBER;
    case json_type_string:
        return TYPE_STRING;
    case json_type_array:
        return TYPE_ARRAY;
    case json_type_object:
        return TYPE_OBJECT;
    }
    return 0;
}

void schema_type_words(unsigned types, char *buffer, size_t size)
{
    size_t length = 0;
    buffer[0] = '\0';
    for (size_t i = 0; i < TYPE_WORD_COUNT && length < size; i++) {
        if (!(types & type_words[i].bit))
            continue;
        types &= ~type_words[i].bit;
        const char *joint = length == 0 ? "" : types ? ", " : " or ";
        int more = snprintf(buffer + length, size - length, "%s%s", joint, type_words[i].words);
        length += more > 0 ? (size_t)more : 0;
    }
}

/* "the string "abc"", "the number 3", "an array" */
static void name_value(json_object *value, char *buffer, size_t size)
{
    char brief[64];
    switch (json_object_get_type(value)) {
    case json_type_null:
        snprintf(buffer, size, "null");
        break;
    case json_type_array:
        snprintf(buffer, size, "an array");
        break;
    case json_type_object:
        snprintf(buffer, size, "an object");
        break;
    case json_type_string:
        snprintf(buffer, size, "the string \"%s\"",
                 text_shorten(json_object_get_string(value), brief, sizeof brief));
        break;
    default: {
        const char *number = json_object_to_json_string(value);
        bool boolean = json_object_is_type(value, json_type_boolean);
        snprintf(buffer, size, "%s%s", boolean ? "" : "the number ",
                 number ? text_shorten(number, brief, sizeof brief) : "?");
    }
    }
}

const char *place_name(const struct place *place, char buffer[PLACE_NAME_SIZE])
{
    if (place->length == 0)
        snprintf(buffer, PLACE_NAME_SIZE, "the configuration");
    else
        snprintf(buffer, PLACE_NAME_SIZE, "\"%s\"", place->text);
    return buffer;
}

size_t place_enter_key(struct place *place, const char *key)
{
    size_t before = place->length;
    char brief[64];
    int more = snprintf(place->text + before, sizeof place->text - before, "%s%s",
                        before ? "." : "", text_shorten(key, brief, sizeof brief));
    place->length = before + (more > 0 ? (size_t)more : 0);
    if (place->length >= sizeof place->text)
        place->length = sizeof place->text - 1;
    return before;
}

size_t place_enter_element(struct place *place, size_t index)
{
    size_t before = place->length;
    int more = snprintf(place->text + before, sizeof place->text - before, "[%zu]", index);
    place->length = before + (more > 0 ? (size_t)more : 0);
    if (place->length >= sizeof place->text)
        place->length = sizeof place->text - 1;
    return before;
}

void place_leave(struct place *place, size_t before)
{
    place->length = before;
    place->text[before] = '\0';
}

int32_t place_refuse(struct place *place, json_object *schema, const char *keyword,
                     json_object *value, const char *demand)
{
    json_object *messages;
    json_object *message;
    if (json_object_object_get_ex(schema, "errorMessage", &messages) &&
        json_object_object_get_ex(messages, keyword, &message))
        return error_set(place->error, CODE_EXECUTOR_INVALID, "%s",
                         json_object_get_string(message));
    char at[PLACE_NAME_SIZE];
    char given[96];
    name_value(value, given, sizeof given);
    return error_set(place->error, CODE_EXECUTOR_INVALID, "%s must be %s, not %s",
                     place_name(place, at), demand, given);
}
