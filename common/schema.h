/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.h: the part of JSON Schema (2020-12) that configurations need.
 *
 * Understood: type (one or several), enum, const, minimum, exclusiveMinimum, maximum, minLength,
 * pattern (POSIX extended), minItems, items, properties, required, additionalProperties (a boolean
 * or a schema), propertyNames, anyOf; and the annotations default, description, title, examples and
 * $comment. Beside these errorMessage, an object from one of the keywords above to the exact
 * message for values that break it. Any other keyword is a fault of the schema (INTERNAL), so that
 * a misspelt limit cannot pass for one.
 *
 * A type that is not one of those listed is reported first, and alone.
 */
#ifndef CODE_EXECUTOR_SCHEMA_H
#define CODE_EXECUTOR_SCHEMA_H

#include "error.h"
#include <json-c/json.h>
#include <stdbool.h>

/* INTERNAL: SCHEMA is none, or has a keyword that is not understood. To be called once, before it
 * is used; the functions below take a schema to be right. */
int32_t schema_check_itself(json_object *schema, code_executor_error *error);

/* Whether a keyword is one of those above. */
bool schema_knows(const char *keyword);

/* Whether VALUE (NULL is null) follows SCHEMA. The message of INVALID names the place in VALUE. */
int32_t schema_check(json_object *schema, json_object *value, code_executor_error *error);

/* Adds, at every depth, the default of each key that VALUE, which follows SCHEMA, does not have. */
int32_t schema_fill(json_object *schema, json_object *value, code_executor_error *error);

#endif /* CODE_EXECUTOR_SCHEMA_H */
