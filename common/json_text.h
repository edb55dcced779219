/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_text.h: JSON text, read strictly.
 *
 * json-c forgives much that a person who wrote a configuration should hear of: NaN, single quotes,
 * raw line breaks in strings, keys that stand twice. Those are refused here, with line and column.
 */
#ifndef CODE_EXECUTOR_JSON_TEXT_H
#define CODE_EXECUTOR_JSON_TEXT_H

#include "error.h"
#include <json-c/json.h>

/* *VALUE is the caller's (json_object_put); NULL is null. INVALID: not JSON, or a key stands twice
 * in one object, or a string holds a NUL, or nested deeper than 32. */
int32_t json_text_parse(const char *text, json_object **value, code_executor_error *error);

#endif /* CODE_EXECUTOR_JSON_TEXT_H */
