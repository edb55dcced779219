/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_text.c: what json-c forgives is found by a scan of the text before it; the structure is
 * json-c's to judge.
 *
 * Keys that stand twice: json-c keeps the last one and says nothing. Text that has passed holds one
 * colon outside of strings for each key, so the text has more colons than the value has members
 * exactly when some key is doubled; only then is it looked for by name.
 */
#include "json_text.h"
#include "text.h"
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 32

static int32_t refuse_at(const char *text, const char *at, const char *reason,
                         code_executor_error *error)
{
    size_t line = 1;
    size_t column = 1;
    for (const char *c = text; c < at; c++) {
        if (*c == '\n') {
            line++;
            column = 1;
        } else if (((unsigned char)*c & 0xc0) != 0x80) {
            column++;
        }
    }
    return error_set(error, CODE_EXECUTOR_INVALID, "not JSON: line %zu, column %zu: %s", line,
                     column, reason);
}

static const char *skip_digits(const char *at)
{
    while (*at >= '0' && *at <= '9')
        at++;
    return at;
}

/* Behind the number at AT, or NULL. */
static const char *skip_number(const char *at)
{
    if (*at == '-')
        at++;
    const char *digits = at;
    at = skip_digits(at);
    if (at == digits || (*digits == '0' && at > digits + 1))
        return NULL;
    if (*at == '.') {
        digits = at + 1;
        at = skip_digits(digits);
        if (at == digits)
            return NULL;
    }
    if (*at == 'e' || *at == 'E') {
        digits = at[1] == '+' || at[1] == '-' ? at + 2 : at + 1;
        at = skip_digits(digits);
        if (at == digits)
            return NULL;
    }
    return at;
}

/* Behind the string that begins at AT, or NULL, with the REASON, at *AT. */
static const char *skip_string(const char **at, const char **reason)
{
    for (const char *c = *at + 1;; c++) {
        if (*c == '"')
            return c + 1;
        bool nul = strncmp(c, "\\u0000", 6) == 0;
        if (nul || (unsigned char)*c < 0x20) {
            *reason = nul  ? "a string must not hold a NUL character"
                      : *c ? "a control character in a string (write \\n for a line break)"
                           : "the string is not closed";
            *at = c;
            return NULL;
        }
        if (*c == '\\' && c[1])
            c++;
    }
}

/* Counts the keys of TEXT, as far as it is JSON. */
static int32_t scan(const char *text, size_t *keys, code_executor_error *error)
{
    *keys = 0;
    for (const char *at = text; *at;) {
        const char *reason = "this is no number of JSON";
        const char *behind = at + 1;
        if (*at == '"')
            behind = skip_string(&at, &reason);
        else if (*at == '-' || (*at >= '0' && *at <= '9'))
            behind = skip_number(at);
        else if (*at == '\'' || *at == 'N' || *at == 'I')
            return refuse_at(text, at,
                             *at == '\'' ? "strings stand between double quotes"
                                         : "NaN and Infinity are no values of JSON",
                             error);
        else if (*at == ':')
            ++*keys;
        if (!behind)
            return refuse_at(text, at, reason, error);
        at = behind;
    }
    return CODE_EXECUTOR_OK;
}

static size_t count_members(json_object *value)
{
    size_t count = 0;
    if (json_object_is_type(value, json_type_object)) {
        json_object_object_foreach(value, key, member)
        {
            (void)key;
            count += 1 + count_members(member);
        }
    } else if (json_object_is_type(value, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(value); i++)
            count += count_members(json_object_array_get_idx(value, i));
    }
    return count;
}

/* The first key that stands twice in one object of TEXT, which is JSON. Keys are compared as they
 * are written, so "a" and "\u0061" are not found to be one. */
static bool find_doubled(const char *text, char *key, size_t size)
{
    json_object *seen[DEPTH_MAX + 2] = {NULL};
    size_t depth = 0;
    bool found = false;
    for (const char *at = text; *at && !found;) {
        const char *begin = at;
        const char *unused;
        if (*begin == '{' || *begin == '[')
            seen[++depth] = *begin == '{' ? json_object_new_object() : NULL;
        else if (*begin == '}' || *begin == ']')
            json_object_put(seen[depth--]);
        if (*begin != '"') {
            at++;
            continue;
        }
        const char *behind = skip_string(&begin, &unused);
        at = behind + strspn(behind, " \t\r\n");
        if (*at != ':')
            continue; /* a value */
        char *name = strndup(begin + 1, (size_t)(behind - begin) - 2);
        found = name && json_object_object_get_ex(seen[depth], name, NULL);
        if (found)
            text_shorten(name, key, size);
        else if (name)
            json_object_object_add(seen[depth], name, NULL);
        free(name);
    }
    while (depth)
        json_object_put(seen[depth--]);
    return found;
}

static int32_t refuse_doubled(const char *text, code_executor_error *error)
{
    char key[64];
    if (find_doubled(text, key, sizeof key))
        return error_set(error, CODE_EXECUTOR_INVALID, "the key \"%s\" stands twice", key);
    return error_set(error, CODE_EXECUTOR_INVALID, "a key stands twice in one object");
}

static int32_t parse(json_tokener *tokener, const char *text, json_object **value,
                     code_executor_error *error)
{
    size_t length = strlen(text);
    if (length >= INT_MAX)
        return error_set(error, CODE_EXECUTOR_INVALID, "longer than 2 GiB");
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    *value = json_tokener_parse_ex(tokener, text, (int)length + 1);
    enum json_tokener_error status = json_tokener_get_error(tokener);
    const char *end = text + json_tokener_get_parse_end(tokener);
    if (status == json_tokener_continue)
        status = json_tokener_error_parse_eof;
    if (status != json_tokener_success)
        return refuse_at(text, end, json_tokener_error_desc(status), error);
    end += strspn(end, " \t\r\n");
    if (*end)
        return refuse_at(text, end, "something stands behind the value", error);
    return CODE_EXECUTOR_OK;
}

int32_t json_text_parse(const char *text, json_object **value, code_executor_error *error)
{
    *value = NULL;
    size_t keys;
    int32_t status = scan(text, &keys, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    json_tokener *tokener = json_tokener_new_ex(DEPTH_MAX);
    if (!tokener)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory to read JSON");
    status = parse(tokener, text, value, error);
    json_tokener_free(tokener);
    if (status == CODE_EXECUTOR_OK && count_members(*value) != keys)
        status = refuse_doubled(text, error);
    if (status != CODE_EXECUTOR_OK) {
        json_object_put(*value);
        *value = NULL;
    }
    return status;
}
