/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h: an instance's configuration, read by the plugin's own JSON Schema.
 *
 *     schema text ─┐
 *                  ├─ config_read ─▶ configuration: every key there, every value of its type
 *     JSON text ───┘
 *
 * The schema is the one place where a key is declared: name, type, limits, default, description.
 * Code behind config_read asks for values with the getters below and checks no types. The same text
 * is what the plugin publishes as config_schema, so what is documented is what is enforced.
 *
 * A schema is written as JSON between parentheses; the first part of its properties is common to
 * all command-line executors:
 *
 *     // clang-format off
 *     #define LOCAL_SCHEMA                                                                        \
 *         COMMANDLINE_SCHEMA_BEGIN                                                                \
 *         COMMANDLINE_SCHEMA_PROPERTIES                                                           \
 *         JSON_TEXT(                                                                              \
 *             "virtual_env": {                                                                    \
 *                 "type": ["string", "null"], "default": null,                                    \
 *                 "description": "A virtual environment whose bin comes first in PATH."           \
 *             }                                                                                   \
 *         )                                                                                       \
 *         COMMANDLINE_SCHEMA_END
 *     // clang-format on
 *
 * schema.h says which part of JSON Schema is understood.
 */
#ifndef CODE_EXECUTOR_CONFIG_H
#define CODE_EXECUTOR_CONFIG_H

#include "error.h"
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads JSON (NULL or "": "{}") by SCHEMA. *CONFIG is the caller's (json_object_put), with the
 * default of every key that was not given, at every depth.
 * INVALID, with the place in words: text that is not strictly JSON (line and column), a key that
 * stands twice, an unknown key (with the nearest known one), a value of the wrong type or out of
 * its limits; a key within a key is written "tls.ca", an element "dns[1]". INTERNAL: the schema is
 * wrong.
 */
int32_t config_read(const char *schema, const char *json, json_object **config,
                    code_executor_error *error);

/* The same, but ADJUST (which may be NULL) sees what was GIVEN before defaults are filled in, and may refuse
 * it, or add keys with right values: such as follow from other keys, and hold where nothing was given. */
typedef int32_t (*config_adjuster)(json_object *given, code_executor_error *error);
int32_t config_read_adjusted(const char *schema, const char *json, config_adjuster adjust,
                             json_object **config, code_executor_error *error);

/*
 * Getters. KEY is one that the schema declares with the getter's type, perhaps beside null. What
 * they return lives as long as CONFIG.
 */

/* NULL where the value is null. */
const char *config_string(json_object *config, const char *key);
bool config_boolean(json_object *config, const char *key);
double config_number(json_object *config, const char *key);
int64_t config_integer(json_object *config, const char *key);
/* Any value as it is, objects and arrays in particular; NULL where it is null. */
json_object *config_value(json_object *config, const char *key);

/*
 * The elements of an array of strings, as *COUNT pointers and a NULL behind them. One block, to be
 * given to free(); the strings live as long as CONFIG. A null value gives an empty array.
 */
int32_t config_strings(json_object *config, const char *key, const char *const **strings,
                       size_t *count, code_executor_error *error);

/* An object of strings as "NAME=value", *COUNT of them and a NULL behind them, strings included in
 * the one block, to be given to free(). A null value gives an empty array. */
int32_t config_assignments(json_object *config, const char *key, const char *const **assignments,
                           size_t *count, code_executor_error *error);

/* ------------------------------------------------------------------------------------------------
 * Schemas
 * --------------------------------------------------------------------------------------------- */

/* JSON written as it is, as a string literal. Parentheses in it must be balanced. */
#define JSON_TEXT(...) #__VA_ARGS__

/* clang-format off */
#define COMMANDLINE_SCHEMA_BEGIN                                                                   \
    "{" JSON_TEXT("type": "object", "additionalProperties": false, "properties":) "{"
#define COMMANDLINE_SCHEMA_END "}}"

/* "work_dir" with DEFAULT, a literal of JSON, for executors that have another than ".". */
#define COMMANDLINE_SCHEMA_WORK_DIR(default_)                                                      \
    "\"work_dir\": {\"type\": [\"string\", \"null\"], \"minLength\": 1, \"default\": " default_    \
    ", \"description\": \"The workspace: the folder where code is saved and runs. A relative path "\
    "counts from the folder that is current in create. Its last folder is made when it is not "    \
    "there. null: a private temporary folder, removed by stop.\"},"

#define COMMANDLINE_SCHEMA_PROPERTIES                                                              \
    COMMANDLINE_SCHEMA_WORK_DIR("\".\"") COMMANDLINE_SCHEMA_OTHER_PROPERTIES

#define COMMANDLINE_SCHEMA_OTHER_PROPERTIES JSON_TEXT(                                             \
    "timeout": {                                                                                   \
        "type": "number", "minimum": 1, "maximum": 4000000, "default": 60,                         \
        "errorMessage": {"minimum": "Timeout must be greater than or equal to 1."},                \
        "description": "Seconds that a block may take; then it is killed, with exit code 124."     \
    },                                                                                             \
    "execution_policies": {                                                                        \
        "type": ["object", "null"], "additionalProperties": {"type": "boolean"}, "default": {},    \
        "description": "Languages by name or alias: true runs a block, false only saves it. Added to the defaults: python and shells (sh, bash, console, pwsh) run, the others are only saved." \
    },                                                                                             \
    "env": {                                                                                       \
        "type": ["object", "null"], "additionalProperties": {"type": "string"}, "default": {},     \
        "propertyNames": {                                                                         \
            "pattern": "^[^=]+$",                                                                  \
            "errorMessage": {"pattern": "The name of an environment variable is neither empty nor has a = in it."} \
        },                                                                                         \
        "description": "Environment variables of the code, name to value."                         \
    },                                                                                             \
    "languages": {                                                                                 \
        "type": ["object", "string", "null"], "pattern": "^all$",                                  \
        "errorMessage": {"pattern": "languages is an object of languages, or the word \"all\": every language runs."}, \
        "propertyNames": {                                                                         \
            "pattern": "^[A-Za-z0-9+#._-]+$",                                                      \
            "errorMessage": {"pattern": "The name of a language is made of letters, digits and + # . _ -"} \
        },                                                                                         \
        "additionalProperties": {                                                                  \
            "type": "object", "additionalProperties": false,                                       \
            "properties": {                                                                        \
                "extension": {                                                                     \
                    "type": ["string", "null"], "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]*$", "default": null, \
                    "errorMessage": {"pattern": "An extension is made of letters, digits and . _ - and is given without its dot."}, \
                    "description": "What the name of a saved file ends in, without the dot. null: the name of the language." \
                },                                                                                 \
                "aliases": {                                                                       \
                    "type": "array", "default": [],                                                \
                    "items": {"type": "string", "pattern": "^[A-Za-z0-9+#._-]+$"},                 \
                    "description": "Other names of the language."                                  \
                },                                                                                 \
                "commands": {                                                                      \
                    "type": ["array", "null"], "minItems": 1, "default": null,                     \
                    "items": {"type": "array", "minItems": 1, "items": {"type": "string"}},        \
                    "description": "What runs a file: argument vectors, the first whose program is found is taken. {file} stands for the file, {output} for what an earlier step built." \
                },                                                                                 \
                "steps": {                                                                         \
                    "type": ["array", "null"], "minItems": 1, "default": null,                     \
                    "items": {                                                                     \
                        "type": "array", "minItems": 1,                                            \
                        "items": {"type": "array", "minItems": 1, "items": {"type": "string"}}     \
                    },                                                                             \
                    "description": "Instead of commands, for languages that compile: several of them, one after the other while each ends with 0." \
                },                                                                                 \
                "shell": {                                                                         \
                    "type": ["boolean", "null"], "default": null,                                  \
                    "description": "Whether it is a shell: CRLF becomes LF, and pip install is made quiet. null: as it was, false for a new language." \
                }                                                                                  \
            }                                                                                      \
        },                                                                                         \
        "default": {},                                                                             \
        "description": "Languages to add, or to change, by name; one with commands or steps runs unless execution_policies says otherwise. Or the word all: every language runs for which there is a command." \
    },                                                                                             \
    "max_output_bytes": {                                                                          \
        "type": "integer", "minimum": 0, "default": 10485760,                                      \
        "description": "How much of each of stdout, stderr and output of a block a result keeps: the first and the last half of it." \
    },                                                                                             \
    "delete_tmp_files": {                                                                          \
        "type": "boolean", "default": false,                                                       \
        "description": "Whether files without a name of their own (tmp_code_...) are removed after the block has run." \
    },                                                                                             \
)
/* clang-format on */

#endif /* CODE_EXECUTOR_CONFIG_H */
