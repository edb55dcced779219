/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema_report.h: how schema.c says where a value is wrong and how: types and values in words, and
 * the place within the value.
 */
#ifndef CODE_EXECUTOR_SCHEMA_REPORT_H
#define CODE_EXECUTOR_SCHEMA_REPORT_H

#include "error.h"
#include <json-c/json.h>
#include <stddef.h>

enum type_bit {
    TYPE_NULL = 1,
    TYPE_BOOLEAN = 2,
    TYPE_INTEGER = 4,
    TYPE_NUMBER = 8,
    TYPE_STRING = 16,
    TYPE_ARRAY = 32,
    TYPE_OBJECT = 64,
    TYPE_ANY = 127
};

/* The bit of a type's name, or 0. */
unsigned schema_type_named(const char *name);

/* The bits of VALUE's type; a whole number is both an integer and a number. */
unsigned schema_type_of(json_object *value);

/* "a string, an array or null" */
void schema_type_words(unsigned types, char *buffer, size_t size);

/* Where in the value a check is. */
struct place {
    code_executor_error *error;
    char text[256]; /* "tls.ca", "dns[1]"; empty: the whole value. Cut when it is long */
    size_t length;
};

/* Go to a key or an element; what they return takes back to where the place was. */
size_t place_enter_key(struct place *place, const char *key);
size_t place_enter_element(struct place *place, size_t index);
void place_leave(struct place *place, size_t before);

/* The place in quotes, or "the configuration". Returns BUFFER. */
#define PLACE_NAME_SIZE 260
const char *place_name(const struct place *place, char buffer[PLACE_NAME_SIZE]);

/* VALUE breaks KEYWORD of SCHEMA: "timeout" must be DEMAND, not the number 0. Or the schema's own
 * message for that. Returns INVALID. */
int32_t place_refuse(struct place *place, json_object *schema, const char *keyword,
                     json_object *value, const char *demand);

#endif /* CODE_EXECUTOR_SCHEMA_REPORT_H */
