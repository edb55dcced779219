/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox_options.c: the sandbox's own keys, from JSON to what the plugin works with.
 */
#include "options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static int32_t read_options(const char *json, sandbox_options *options, code_executor_error *error)
{
    json_object *config = NULL;
    int32_t status = config_read(SANDBOX_SCHEMA, json, &config, error);
    if (status == CODE_EXECUTOR_OK)
        status = sandbox_options_read(config, options, error);
    json_object_put(config);
    return status;
}

static void the_defaults_isolate(void **state)
{
    (void)state;
    sandbox_options options;
    assert_int_equal(read_options("{}", &options, NULL), CODE_EXECUTOR_OK);
    assert_false(options.host_network);
    assert_true(options.seccomp);
    assert_int_equal(options.bind_count, 0);
    assert_int_equal(options.memory, 0);
    assert_int_equal(options.pids, 512);
    assert_int_equal(options.tmpfs_bytes, 256 << 20);
    assert_null(options.bubblewrap);
    sandbox_options_free(&options);
}

static void sizes_have_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } sizes[] = {
        {"8388608", 8388608},
        {"\"8388608\"", 8388608},
        {"\"9000000b\"", 9000000},
        {"\"8192k\"", 8388608},
        {"\"8192K\"", 8388608},
        {"\"512m\"", 536870912},
        {"\"512MiB\"", 536870912},
        {"\"512mb\"", 536870912},
        {"\"2g\"", 2147483648},
        {"\"1T\"", 1099511627776},
        {"null", 0},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char json[128];
        sandbox_options options;
        snprintf(json, sizeof json, "{\"memory\": %s}", sizes[i].text);
        assert_int_equal(read_options(json, &options, NULL), CODE_EXECUTOR_OK);
        assert_int_equal(options.memory, sizes[i].bytes);
        sandbox_options_free(&options);
    }
}

static void what_is_no_size_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"\"\"",
                                        "\"m\"",
                                        "\"-1m\"",
                                        "\" 512m\"",
                                        "\"512x\"",
                                        "\"5 m\"",
                                        "\"512mm\"",
                                        "\"0x512m\"",
                                        "\"99999999999999999999\"",
                                        "\"18446744073709551615k\"",
                                        "\"9223372036854775808\"",
                                        "1.5",
                                        "true",
                                        "\"7m\"",
                                        "7"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char json[128];
        sandbox_options options;
        code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
        snprintf(json, sizeof json, "{\"memory\": %s}", texts[i]);
        assert_int_equal(read_options(json, &options, &error), CODE_EXECUTOR_INVALID);
        assert_non_null(strstr(error.message, "memory"));
    }
}

static void paths_are_made_absolute_and_plain(void **state)
{
    (void)state;
    sandbox_options options;
    assert_int_equal(read_options("{\"bind_ro\": [\"/a//b/./c/../d/\", \"x:/y/\", \"/p:q:/r\"],"
                                  " \"bind_rw\": [\"/../w\"]}",
                                  &options, NULL),
                     CODE_EXECUTOR_OK);
    char here[4096];
    char expected[4200];
    assert_non_null(getcwd(here, sizeof here));
    snprintf(expected, sizeof expected, "%s/x", here);
    assert_int_equal(options.bind_count, 4);
    assert_string_equal(options.binds[0].source, "/a/b/d");
    assert_string_equal(options.binds[0].destination, "/a/b/d");
    assert_false(options.binds[0].writable);
    assert_string_equal(options.binds[1].source, expected);
    assert_string_equal(options.binds[1].destination, "/y");
    assert_string_equal(options.binds[2].source, "/p:q");
    assert_string_equal(options.binds[2].destination, "/r");
    assert_string_equal(options.binds[3].source, "/w");
    assert_true(options.binds[3].writable);
    sandbox_options_free(&options);
}

static void more_binds_than_make_sense_are_refused(void **state)
{
    (void)state;
    char json[4096] = "{\"bind_ro\": [";
    for (int i = 0; i < 60; i++)
        snprintf(json + strlen(json), sizeof json - strlen(json), "\"/a:/b%d\"%s", i,
                 i < 59 ? "," : "]}");
    sandbox_options options;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(read_options(json, &options, &error), CODE_EXECUTOR_INVALID);
    assert_non_null(strstr(error.message, "60"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_defaults_isolate),
        cmocka_unit_test(sizes_have_units),
        cmocka_unit_test(what_is_no_size_is_refused),
        cmocka_unit_test(paths_are_made_absolute_and_plain),
        cmocka_unit_test(more_binds_than_make_sense_are_refused),
    };
    return cmocka_run_group_tests_name("sandbox_options", tests, NULL, NULL);
}
