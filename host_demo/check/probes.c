/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probes.c: see probes.h. What is built in is as plain as it can be: any shell, any Python, and in a
 * container of a few tools.
 */
#include "probes.h"
#include "json_text.h"
#include "schema.h"
#include <code_executor_host.h>
#include <stdlib.h>
#include <string.h>

#define FLOOD_BYTES                                                                                \
    25000000 /* more than the 10 MiB that a result keeps where nobody says how much */

static const char *const names[PROBE_COUNT] = {
    [PROBE_PRINT] = "print", [PROBE_ERROR] = "error",
    [PROBE_EXIT] = "exit",   [PROBE_WAIT] = "wait",
    [PROBE_FLOOD] = "flood", [PROBE_BYTES] = "bytes",
    [PROBE_STDIN] = "stdin", [PROBE_ENVIRONMENT] = "environment",
};

const char *probe_name(enum probe_kind kind)
{
    return names[kind];
}

/* ------------------------------------------------------------------------------------------------
 * Built in
 * --------------------------------------------------------------------------------------------- */

#define PRINTED   .stdout_bytes = "hello\n", .stdout_length = 6
#define COMPLAINT .stderr_bytes = "oops\n", .stderr_length = 5
#define RAW       .stdout_bytes = "a\0b\xff", .stdout_length = 4

static const struct probe shell_probes[PROBE_COUNT] = {
    [PROBE_PRINT] = {.code = "echo hello", PRINTED},
    [PROBE_ERROR] = {.code = "echo oops >&2", COMPLAINT},
    [PROBE_EXIT] = {.code = "exit 7", .exit_code = 7},
    [PROBE_WAIT] = {.code = "sleep 1000"},
    [PROBE_FLOOD] = {.code = "yes | head -c 25000000", .bytes = FLOOD_BYTES},
    [PROBE_BYTES] = {.code = "printf 'a\\000b\\377'", RAW},
    [PROBE_STDIN] = {.code = "cat"},
    [PROBE_ENVIRONMENT] = {.code = "printf %s \"$CODE_EXECUTOR_CHECK\""},
};

static const struct probe python_probes[PROBE_COUNT] = {
    [PROBE_PRINT] = {.code = "print('hello')", PRINTED},
    [PROBE_ERROR] = {.code = "import sys\nprint('oops', file=sys.stderr)", COMPLAINT},
    [PROBE_EXIT] = {.code = "raise SystemExit(7)", .exit_code = 7},
    [PROBE_WAIT] = {.code = "import time\ntime.sleep(1000)"},
    [PROBE_FLOOD] = {.code = "import sys\nfor _ in range(250):\n    sys.stdout.write('y' * 100000)",
                     .bytes = FLOOD_BYTES},
    [PROBE_BYTES] = {.code = "import sys\nsys.stdout.buffer.write(b'a\\0b\\xff')", RAW},
    [PROBE_STDIN] = {.code = "import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read())"},
    [PROBE_ENVIRONMENT] =
        {.code = "import os, sys\nsys.stdout.write(os.environ['CODE_EXECUTOR_CHECK'])"},
};

/* The one whose interpreter starts fastest comes first. */
static const struct {
    const char *language;
    const struct probe *items;
} built_in[] = {
    {"sh", shell_probes},
    {"bash", shell_probes},
    {"python", python_probes},
};

static bool runs(const code_executor_language *const *languages, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (languages[i]->runs && code_executor_language_equal(languages[i]->name, name))
            return true;
    return false;
}

void probes_choose(const code_executor_language *const *languages, size_t count,
                   struct probes *probes)
{
    for (size_t i = 0; i < sizeof built_in / sizeof *built_in && probes->language == NULL; i++) {
        if (runs(languages, count, built_in[i].language)) {
            probes->language = built_in[i].language;
            memcpy(probes->items, built_in[i].items, sizeof probes->items);
        }
    }
}

/* ------------------------------------------------------------------------------------------------
 * Given
 * --------------------------------------------------------------------------------------------- */

#define PROBE_SCHEMA                                                                               \
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"code\"],"            \
    " \"properties\": {\"code\": {\"type\": \"string\"}, \"stdout\": {\"type\": \"string\"},"      \
    " \"stdout_hex\": {\"type\": \"string\", \"pattern\": \"^([0-9a-fA-F][0-9a-fA-F])*$\"},"       \
    " \"stderr\": {\"type\": \"string\"}, \"exit_code\": {\"type\": \"integer\", \"minimum\": 0,"  \
    " \"maximum\": 255}, \"bytes\": {\"type\": \"integer\", \"minimum\": 1}}}"

static const char schema_text[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"language\"],"
    " \"properties\": {\"language\": {\"type\": \"string\", \"minLength\": 1},"
    " \"print\": " PROBE_SCHEMA ", \"error\": " PROBE_SCHEMA ", \"exit\": " PROBE_SCHEMA
    ", \"wait\": " PROBE_SCHEMA ", \"flood\": " PROBE_SCHEMA ", \"bytes\": " PROBE_SCHEMA
    ", \"stdin\": " PROBE_SCHEMA ", \"environment\": " PROBE_SCHEMA "}}";

static const char *member_text(json_object *item, const char *key, size_t *length)
{
    json_object *text = NULL;
    if (!json_object_object_get_ex(item, key, &text))
        return NULL;
    if (length != NULL)
        *length = (size_t)json_object_get_string_len(text);
    return json_object_get_string(text);
}

static char *bytes_of(const char *hex)
{
    size_t length = strlen(hex) / 2;
    char *bytes = malloc(length + 1);
    for (size_t i = 0; bytes != NULL && i < length; i++) {
        const char digits[] = {hex[2 * i], hex[2 * i + 1], '\0'};
        bytes[i] = (char)strtoul(digits, NULL, 16);
    }
    return bytes;
}

static int32_t read_probe(json_object *item, struct probe *probe, code_executor_error *error)
{
    json_object *number = NULL;
    const char *hex = member_text(item, "stdout_hex", NULL);
    *probe = (struct probe){.code = member_text(item, "code", NULL)};
    probe->stdout_bytes = member_text(item, "stdout", &probe->stdout_length);
    probe->stderr_bytes = member_text(item, "stderr", &probe->stderr_length);
    if (json_object_object_get_ex(item, "exit_code", &number))
        probe->exit_code = json_object_get_int(number);
    if (json_object_object_get_ex(item, "bytes", &number))
        probe->bytes = (uint64_t)json_object_get_int64(number);
    if (hex == NULL)
        return CODE_EXECUTOR_OK;
    probe->stdout_bytes = bytes_of(hex);
    probe->stdout_length = strlen(hex) / 2;
    return probe->stdout_bytes != NULL
               ? CODE_EXECUTOR_OK
               : error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for the probes");
}

/* What a rule needs to know of its probe. */
static int32_t check_probe(enum probe_kind kind, const struct probe *probe,
                           code_executor_error *error)
{
    static const char *const needs[PROBE_COUNT] = {
        [PROBE_PRINT] = "\"stdout\"",      [PROBE_ERROR] = "\"stderr\"",
        [PROBE_EXIT] = "an \"exit_code\"", [PROBE_FLOOD] = "\"bytes\"",
        [PROBE_BYTES] = "\"stdout_hex\"",
    };
    const bool is_whole[PROBE_COUNT] = {
        [PROBE_PRINT] = probe->stdout_length > 0, [PROBE_ERROR] = probe->stderr_length > 0,
        [PROBE_EXIT] = probe->exit_code != 0,     [PROBE_FLOOD] = probe->bytes > 0,
        [PROBE_BYTES] = probe->stdout_length > 0,
    };
    if (probe->code == NULL || needs[kind] == NULL || is_whole[kind])
        return CODE_EXECUTOR_OK;
    return error_set(error, CODE_EXECUTOR_INVALID, "\"%s\" needs %s beside its code", names[kind],
                     needs[kind]);
}

static int32_t read_all(json_object *given, struct probes *probes, code_executor_error *error)
{
    json_object *schema = NULL;
    int32_t status = json_text_parse(schema_text, &schema, error);
    if (status == CODE_EXECUTOR_OK)
        status = schema_check(schema, given, error);
    json_object_put(schema);
    if (status == CODE_EXECUTOR_OK)
        probes->language = member_text(given, "language", NULL);
    for (int i = 0; i < PROBE_COUNT && status == CODE_EXECUTOR_OK; i++) {
        json_object *item = NULL;
        if (!json_object_object_get_ex(given, names[i], &item))
            continue;
        status = read_probe(item, &probes->items[i], error);
        if (status == CODE_EXECUTOR_OK)
            status = check_probe((enum probe_kind)i, &probes->items[i], error);
    }
    return status;
}

int32_t probes_read(const char *json, struct probes *probes, code_executor_error *error)
{
    static json_object *given; /* what the probes point into */
    int32_t status = json_text_parse(json, &given, error);
    if (status == CODE_EXECUTOR_OK)
        status = read_all(given, probes, error);
    return status == CODE_EXECUTOR_OK ? status : error_prefix(error, status, "--probes: ");
}
