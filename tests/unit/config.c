/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.c: what a configuration may be, and what somebody hears who got it wrong.
 */
#include "config.h"
#include "failing_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* clang-format off */
static const char schema[] = COMMANDLINE_SCHEMA_BEGIN COMMANDLINE_SCHEMA_PROPERTIES JSON_TEXT(
    "image": {"type": "string", "minLength": 1, "default": "python:3-slim", "description": "x"},
    "pull": {"enum": ["missing", "always", "never"], "default": "missing", "description": "x"},
    "tls": {
        "type": ["object", "null"], "default": null, "additionalProperties": false,
        "properties": {
            "ca": {"type": ["string", "null"], "default": null},
            "verify": {"type": "boolean", "default": true}
        }
    },
    "nested": {
        "type": "object", "default": {}, "additionalProperties": false,
        "properties": {"inner": {"type": "object", "default": {},
            "properties": {"depth": {"type": "integer", "default": 2}}}}
    },
    "dns": {"type": "array", "items": {"type": "string"}, "default": [], "minItems": 0},
    "ratio": {"type": "number", "exclusiveMinimum": 0, "maximum": 1, "default": 0.5},
    "gpus": {
        "anyOf": [
            {"type": "integer", "minimum": 1},
            {"enum": ["all"]},
            {"type": "object", "required": ["ids"], "additionalProperties": false,
             "properties": {"ids": {"type": "array", "minItems": 1}, "driver": {"default": "any"}}},
            {"type": "null"}
        ],
        "default": null
    }
) COMMANDLINE_SCHEMA_END;
/* clang-format on */

static void expect_status(const char *json, int32_t status, const char *message)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    json_object *config = (json_object *)&error;
    int32_t got = config_read(schema, json, &config, &error);
    if (got != status || strcmp(error.message, message) != 0)
        fail_msg("%.200s\n  gave   %d %s\n  wanted %d %s", json, (int)got, error.message,
                 (int)status, message);
    assert_null(config);
    assert_int_equal(config_read(schema, json, &config, NULL), status);
}

static void expect_refusal(const char *json, const char *message)
{
    expect_status(json, CODE_EXECUTOR_INVALID, message);
}

static json_object *read_config(const char *json)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    json_object *config = NULL;
    if (config_read(schema, json, &config, &error) != CODE_EXECUTOR_OK)
        fail_msg("%s: %s", json, error.message);
    return config;
}

static void nothing_given_gives_every_default(void **state)
{
    (void)state;
    const char *const nothing[] = {NULL, "", "{}", " \r\n\t{ }\n"};
    for (size_t i = 0; i < 4; i++) {
        json_object *config = read_config(nothing[i]);
        assert_true(config_number(config, "timeout") == 60);
        assert_string_equal(config_string(config, "work_dir"), ".");
        assert_int_equal(config_integer(config, "max_output_bytes"), 10485760);
        assert_false(config_boolean(config, "delete_tmp_files"));
        assert_null(config_value(config, "tls"));
        json_object_put(config);
    }
}

static void what_is_given_stays(void **state)
{
    (void)state;
    json_object *config = read_config("{\"timeout\": 1.5, \"work_dir\": null, \"gpus\": \"all\","
                                      "\"max_output_bytes\": 4.0, \"delete_tmp_files\": true}");
    assert_true(config_number(config, "timeout") == 1.5);
    assert_null(config_string(config, "work_dir"));
    assert_string_equal(config_string(config, "gpus"), "all");
    assert_int_equal(config_integer(config, "max_output_bytes"), 4);
    assert_true(config_boolean(config, "delete_tmp_files"));
    json_object_put(config);
}

static void defaults_are_filled_in_at_every_depth(void **state)
{
    (void)state;
    json_object *config = read_config("{\"tls\": {\"ca\": \"x\"}, \"gpus\": {\"ids\": [1]},"
                                      "\"languages\": {\"lua\": {}}}");
    assert_true(config_boolean(config_value(config, "tls"), "verify"));
    json_object *inner = config_value(config_value(config, "nested"), "inner");
    assert_int_equal(config_integer(inner, "depth"), 2);
    assert_string_equal(config_string(config_value(config, "gpus"), "driver"), "any");
    json_object *lua = config_value(config_value(config, "languages"), "lua");
    assert_int_equal(json_object_array_length(config_value(lua, "aliases")), 0);
    json_object_put(config);
}

static void a_default_is_a_copy(void **state)
{
    (void)state;
    json_object *first = read_config("{}");
    json_object_array_add(config_value(first, "dns"), json_object_new_string("x"));
    json_object *second = read_config("{}");
    assert_int_equal(json_object_array_length(config_value(second, "dns")), 0);
    json_object_put(first);
    json_object_put(second);
}

static void a_time_below_one_second_is_refused_in_the_words_of_old(void **state)
{
    (void)state;
    const char *message = "Timeout must be greater than or equal to 1.";
    expect_refusal("{\"timeout\": 0.5}", message);
    expect_refusal("{\"timeout\": 0}", message);
    expect_refusal("{\"timeout\": -1}", message);
    expect_refusal("{\"timeout\": 0.9999999}", message);
}

static void a_wrong_type_is_named(void **state)
{
    (void)state;
    expect_refusal("{\"timeout\": \"abc\"}",
                   "\"timeout\" must be a number, not the string \"abc\"");
    expect_refusal("{\"timeout\": null}", "\"timeout\" must be a number, not null");
    expect_refusal("{\"timeout\": true}", "\"timeout\" must be a number, not true");
    expect_refusal("{\"timeout\": []}", "\"timeout\" must be a number, not an array");
    expect_refusal("{\"work_dir\": {}}", "\"work_dir\" must be a string or null, not an object");
    expect_refusal("{\"max_output_bytes\": 1.5}",
                   "\"max_output_bytes\" must be a whole number, not the number 1.5");
    expect_refusal("{\"tls\": {\"verify\": 1}}",
                   "\"tls.verify\" must be true or false, not the number 1");
    expect_refusal("{\"dns\": [\"a\", 2]}", "\"dns[1]\" must be a string, not the number 2");
    expect_refusal("{\"env\": {\"A\": 1}}", "\"env.A\" must be a string, not the number 1");
    expect_refusal("[]", "the configuration must be an object, not an array");
    expect_refusal("null", "the configuration must be an object, not null");
    expect_refusal("\"timeout\"",
                   "the configuration must be an object, not the string \"timeout\"");
}

static void a_value_out_of_its_limits_is_named(void **state)
{
    (void)state;
    expect_refusal("{\"pull\": \"sometimes\"}",
                   "\"pull\" must be one of \"missing\", \"always\", \"never\", not the string "
                   "\"sometimes\"");
    expect_refusal("{\"image\": \"\"}",
                   "\"image\" must be a string that is not empty, not the string \"\"");
    expect_refusal("{\"ratio\": 0}", "\"ratio\" must be more than 0, not the number 0");
    expect_refusal("{\"ratio\": 2}", "\"ratio\" must be at most 1, not the number 2");
    expect_refusal("{\"timeout\": 1e999}",
                   "\"timeout\" must be a number of usual size, not the number 1e999");
    expect_refusal("{\"languages\": {\"x\": {\"commands\": []}}}",
                   "\"languages.x.commands\" must have at least 1 element");
}

static void an_alternative_that_nearly_fits_explains_itself(void **state)
{
    (void)state;
    expect_refusal("{\"gpus\": 0}", "\"gpus\" must be at least 1, not the number 0");
    expect_refusal("{\"gpus\": {}}", "\"gpus\" lacks the key \"ids\"");
    expect_refusal("{\"gpus\": {\"ids\": [1], \"drivr\": 1}}",
                   "unknown key \"gpus.drivr\"; did you mean \"gpus.driver\"?");
}

static void an_unknown_key_is_named_with_the_nearest(void **state)
{
    (void)state;
    expect_refusal("{\"timout\": 1}", "unknown key \"timout\"; did you mean \"timeout\"?");
    expect_refusal("{\"workDir\": \".\"}", "unknown key \"workDir\"; did you mean \"work_dir\"?");
    expect_refusal("{\"work-dir\": \".\"}", "unknown key \"work-dir\"; did you mean \"work_dir\"?");
    expect_refusal("{\"iamge\": \"x\"}", "unknown key \"iamge\"; did you mean \"image\"?");
    expect_refusal("{\"tls\": {\"caa\": \"x\"}}",
                   "unknown key \"tls.caa\"; did you mean \"tls.ca\"?");
    expect_refusal("{\"languages\": {\"lua\": {\"alias\": []}}}",
                   "unknown key \"languages.lua.alias\"; did you mean \"languages.lua.aliases\"?");
}

static void an_unknown_key_near_nothing_is_told_what_there_is(void **state)
{
    (void)state;
    expect_refusal("{\"tls\": {\"zzz\": 1}}",
                   "unknown key \"tls.zzz\"; the keys there are: ca, verify");
}

static void names_of_variables_and_languages_are_checked(void **state)
{
    (void)state;
    expect_refusal("{\"env\": {\"A=B\": \"x\"}}",
                   "\"env\" has the key \"A=B\": The name of an environment variable is neither "
                   "empty nor has a = in it.");
    expect_refusal("{\"env\": {\"\": \"x\"}}",
                   "\"env\" has the key \"\": The name of an environment variable is neither "
                   "empty nor has a = in it.");
    expect_refusal("{\"languages\": {\"a/b\": {}}}",
                   "\"languages\" has the key \"a/b\": The name of a language is made of letters, "
                   "digits and + # . _ -");
}

static void text_that_is_no_json_is_refused_with_its_place(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{\"timeout\": }", "line 1, column 13: unexpected character"},
        {"{\n  \"timeout\": 1,\n}", "line 3, column 1: unexpected character"},
        {"{\"timeout\": 1", "line 1, column 14: unexpected end of data"},
        {"{\"timeout\": 1} x", "line 1, column 16: unexpected character"},
        {"{\"timeout\": 1}{}", "line 1, column 15: unexpected character"},
        {"{'timeout': 1}", "line 1, column 2: strings stand between double quotes"},
        {"{\"timeout\": NaN}", "line 1, column 13: NaN and Infinity are no values of JSON"},
        {"{\"timeout\": -Infinity}", "line 1, column 13: this is no number of JSON"},
        {"{\"timeout\": 01}", "line 1, column 13: this is no number of JSON"},
        {"{\"timeout\": 1.}", "line 1, column 13: this is no number of JSON"},
        {"{\"timeout\": -.5}", "line 1, column 13: this is no number of JSON"},
        {"{\"timeout\": 1e}", "line 1, column 13: this is no number of JSON"},
        {"{/* */}", "line 1, column 2: quoted object property name expected"},
        {"{\"image\": \"a\nb\"}", "line 1, column 13: a control character in a string (write \\n "
                                  "for a line break)"},
        {"{\"image\": \"a", "line 1, column 13: the string is not closed"},
        {"{\"image\": \"a\\", "line 1, column 14: the string is not closed"},
        {"{\"image\": \"a\\u0000b\"}", "line 1, column 13: a string must not hold a NUL character"},
        {"{\"im\\u0000age\": \"a\"}", "line 1, column 5: a string must not hold a NUL character"},
        {"timeout=1", "line 1, column 2: boolean expected"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char message[256];
        snprintf(message, sizeof message, "configuration: not JSON: %s", cases[i][1]);
        expect_refusal(cases[i][0], message);
    }
}

static void bytes_that_are_no_utf8_are_refused(void **state)
{
    (void)state;
    json_object *config;
    assert_int_equal(config_read(schema, "{\"image\": \"\xff\"}", &config, NULL),
                     CODE_EXECUTOR_INVALID);
}

static void a_backslash_before_a_backslash_hides_no_nul(void **state)
{
    (void)state;
    json_object *config = read_config("{\"image\": \"a\\\\u0000\"}");
    assert_string_equal(config_string(config, "image"), "a\\u0000");
    json_object_put(config);
}

static void a_key_that_stands_twice_is_refused(void **state)
{
    (void)state;
    expect_refusal("{\"timeout\": 1, \"timeout\": 2}",
                   "configuration: the key \"timeout\" stands twice");
    expect_refusal("{\"env\": {\"a\": \"}{:\", \"b\": \"\", \"a\": \"\"}}",
                   "configuration: the key \"a\" stands twice");
    expect_refusal("{\"timeout\": 1, \"\\u0074imeout\": 2}",
                   "configuration: a key stands twice in one object");
}

static void equal_keys_of_different_objects_are_no_doubles(void **state)
{
    (void)state;
    json_object *config = read_config("{\"env\": {\"image\": \"a:b\"}, \"image\": \"image\"}");
    json_object_put(config);
}

static void deep_nesting_is_refused(void **state)
{
    (void)state;
    size_t depth = 100000;
    char *text = malloc(2 * depth + 1);
    memset(text, '[', depth);
    memset(text + depth, ']', depth);
    text[2 * depth] = '\0';
    expect_refusal(text, "configuration: not JSON: line 1, column 33: nesting too deep");
    free(text);
}

static void a_long_value_is_shortened_in_the_message(void **state)
{
    (void)state;
    char text[20000] = "{\"timeout\": \"";
    size_t length = strlen(text);
    memset(text + length, 'x', 15000);
    strcpy(text + length + 15000, "\"}");
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    json_object *config;
    config_read(schema, text, &config, &error);
    assert_true(strlen(error.message) < 150);
    assert_non_null(strstr(error.message, "xxx\xe2\x80\xa6\""));
}

static void a_schema_that_is_wrong_is_an_internal_error(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "{",
        "[]",
        "{\"type\": \"strnig\"}",
        "{\"minimim\": 1}",
        "{\"minimum\": \"1\"}",
        "{\"properties\": {\"a\": {\"tpye\": \"string\"}}}",
        "{\"items\": []}",
        "{\"anyOf\": [{\"type\": 1}]}",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        json_object *config;
        if (config_read(wrong[i], "{}", &config, NULL) != CODE_EXECUTOR_INTERNAL)
            fail_msg("%s", wrong[i]);
        assert_null(config);
    }
}

static void strings_come_as_an_array(void **state)
{
    (void)state;
    json_object *config = read_config("{\"dns\": [\"a\", \"\"]}");
    const char *const *strings;
    size_t count;
    assert_int_equal(config_strings(config, "dns", &strings, &count, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(count, 2);
    assert_string_equal(strings[0], "a");
    assert_string_equal(strings[1], "");
    assert_null(strings[2]);
    free((void *)strings);
    assert_int_equal(config_strings(config, "tls", &strings, &count, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(count, 0);
    assert_null(strings[0]);
    free((void *)strings);
    json_object_put(config);
}

static void an_environment_comes_as_assignments(void **state)
{
    (void)state;
    json_object *config = read_config("{\"env\": {\"A\": \"1\", \"EMPTY\": \"\", \"E\": \"a=b\"}}");
    const char *const *strings;
    size_t count;
    assert_int_equal(config_assignments(config, "env", &strings, &count, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(count, 3);
    assert_string_equal(strings[0], "A=1");
    assert_string_equal(strings[1], "EMPTY=");
    assert_string_equal(strings[2], "E=a=b");
    assert_null(strings[3]);
    json_object_put(config);
    assert_string_equal(strings[2], "E=a=b");
    free((void *)strings);
}

static void getters_without_memory_say_so(void **state)
{
    (void)state;
    json_object *config = read_config("{\"dns\": [\"a\"], \"env\": {\"A\": \"1\"}}");
    const char *const *strings;
    size_t count;
    failing_memory_start(0, false);
    int32_t first = config_strings(config, "dns", &strings, &count, NULL);
    int32_t second = config_assignments(config, "env", &strings, &count, NULL);
    failing_memory_stop();
    assert_int_equal(first, CODE_EXECUTOR_NO_MEMORY);
    assert_int_equal(second, CODE_EXECUTOR_NO_MEMORY);
    assert_null(strings);
    assert_int_equal(count, 0);
    json_object_put(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_given_gives_every_default),
        cmocka_unit_test(what_is_given_stays),
        cmocka_unit_test(defaults_are_filled_in_at_every_depth),
        cmocka_unit_test(a_default_is_a_copy),
        cmocka_unit_test(a_time_below_one_second_is_refused_in_the_words_of_old),
        cmocka_unit_test(a_wrong_type_is_named),
        cmocka_unit_test(a_value_out_of_its_limits_is_named),
        cmocka_unit_test(an_alternative_that_nearly_fits_explains_itself),
        cmocka_unit_test(an_unknown_key_is_named_with_the_nearest),
        cmocka_unit_test(an_unknown_key_near_nothing_is_told_what_there_is),
        cmocka_unit_test(names_of_variables_and_languages_are_checked),
        cmocka_unit_test(text_that_is_no_json_is_refused_with_its_place),
        cmocka_unit_test(bytes_that_are_no_utf8_are_refused),
        cmocka_unit_test(a_backslash_before_a_backslash_hides_no_nul),
        cmocka_unit_test(a_key_that_stands_twice_is_refused),
        cmocka_unit_test(equal_keys_of_different_objects_are_no_doubles),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(a_long_value_is_shortened_in_the_message),
        cmocka_unit_test(a_schema_that_is_wrong_is_an_internal_error),
        cmocka_unit_test(strings_come_as_an_array),
        cmocka_unit_test(an_environment_comes_as_assignments),
        cmocka_unit_test(getters_without_memory_say_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
