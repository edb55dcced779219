/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_profile.c: what a profile adds to a configuration, and what it leaves as it was given.
 */
#include "config.h"
#include "profile.h"
#include "schema.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static json_object *config_of(const char *json)
{
    json_object *config = NULL;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    if (config_read_adjusted(DOCKER_SCHEMA, json, profile_apply, &config, &error) !=
        CODE_EXECUTOR_OK)
        fail_msg("%s: %s", json, error.message);
    return config;
}

static void expect(const char *json, const char *key, const char *value)
{
    json_object *config = config_of(json);
    const char *text =
        json_object_to_json_string_ext(config_value(config, key), JSON_C_TO_STRING_PLAIN);
    if (strcmp(text, value) != 0)
        fail_msg("%s: %s is %s", json, key, text);
    json_object_put(config);
}

static void strict_says_what_it_is_documented_to_say(void **state)
{
    (void)state;
    static const char *const table[][2] = {
        {"network", "\"none\""},
        {"read_only", "true"},
        {"tmpfs", "{\"\\/tmp\":\"rw,exec,nosuid,nodev,mode=1777,size=64m\"}"},
        {"cap_drop", "[\"ALL\"]"},
        {"cap_add", "[]"},
        {"user", "\"unprivileged\""},
        {"memory", "\"512m\""},
        {"cpus", "1"},
        {"pids_limit", "256"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        expect("{\"profile\":\"strict\"}", table[i][0], table[i][1]);
}

static void options_that_are_given_count(void **state)
{
    (void)state;
    expect("{\"profile\":\"strict\",\"network\":\"bridge\"}", "network", "\"bridge\"");
    expect("{\"read_only\":false,\"profile\":\"strict\"}", "read_only", "false");
    expect("{\"profile\":\"strict\",\"user\":null}", "user", "null");
    expect("{\"profile\":\"strict\",\"memory\":\"2g\"}", "memory", "\"2g\"");
    expect("{\"profile\":\"strict\",\"memory\":\"2g\"}", "network", "\"none\"");
    expect("{\"profile\":\"strict\",\"pids_limit\":4096}", "pids_limit", "4096");
}

static void standard_changes_nothing(void **state)
{
    (void)state;
    json_object *config = config_of("{}"), *standard = config_of("{\"profile\":\"standard\"}");
    assert_true(json_object_equal(config, standard));
    assert_null(config_value(config, "network"));
    json_object_put(config);
    json_object_put(standard);
}

static void unknown_profile_is_refused(void **state)
{
    (void)state;
    static const char *const table[] = {"{\"profile\":\"strickt\"}", "{\"profile\":\"\"}",
                                        "{\"profile\":null}", "{\"profile\":true}"};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        json_object *config = NULL;
        code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
        assert_int_equal(
            config_read_adjusted(DOCKER_SCHEMA, table[i], profile_apply, &config, &error),
            CODE_EXECUTOR_INVALID);
        assert_non_null(strstr(error.message, "profile"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strict_says_what_it_is_documented_to_say),
        cmocka_unit_test(options_that_are_given_count),
        cmocka_unit_test(standard_changes_nothing),
        cmocka_unit_test(unknown_profile_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
