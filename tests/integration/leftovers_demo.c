/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leftovers_demo.c: `host_demo ps` and `host_demo prune`, with an executor that makes up what there is.
 */
#include "demo_words.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void expect_line(const struct demo_result *result, const char *first, const char *second)
{
    const char *line = strstr(result->output, first);
    const char *end = line == NULL ? NULL : strchr(line, '\n');
    const char *found = line == NULL ? NULL : strstr(line, second);
    if (found == NULL || found > end)
        fail_msg("no line with %s and %s: %s%s", first, second, result->output, result->words);
}

static void ps_shows_what_is_there_and_whose_it_is(void **state)
{
    (void)state;
    struct demo_result result = CALL("ps", "echo");
    assert_int_equal(result.status, 0);
    expect_line(&result, "KIND", "OWNER");
    expect_line(&result, "of-one-that-ended", "0123456789ab ");
    expect_line(&result, "of-one-that-ended", "17, ended, to be kept");
    expect_line(&result, "of-one-that-ended", "an:image");
    expect_line(&result, "of-one-that-ended", " d ");
    expect_line(&result, "name", "18, running");
    expect_line(&result, "foreign", "19, from elsewhere");
    expect_line(&result, "shared", "unused");
    demo_result_free(&result);
}

static void names_cannot_play_with_the_terminal(void **state)
{
    (void)state;
    struct demo_result result = CALL("ps", "echo");
    assert_null(strchr(result.output, '\x1b'));
    assert_non_null(strstr(result.output, "^[[31mname"));
    demo_result_free(&result);
}

static void ps_as_json_is_one_document(void **state)
{
    (void)state;
    struct demo_result result = CALL("ps", "echo", "--json");
    json_object *document = json_tokener_parse(result.output);
    assert_int_equal(result.status, 0);
    assert_true(json_object_is_type(document, json_type_array));
    assert_int_equal(json_object_array_length(document), 4);
    json_object *executor = NULL;
    assert_true(
        json_object_object_get_ex(json_object_array_get_idx(document, 0), "executor", &executor));
    assert_string_equal(json_object_get_string(executor), "echo");
    json_object_put(document);
    demo_result_free(&result);
}

static void prune_leaves_what_may_be_in_use(void **state)
{
    (void)state;
    struct demo_result result = CALL("prune", "echo");
    assert_int_equal(result.status, 0);
    expect_line(&result, "of-one-that-ended", "ended");
    assert_null(strstr(result.output, "running"));
    assert_non_null(strstr(result.words, "Removed 2."));
    demo_result_free(&result);
    result = CALL("prune", "echo", "--all");
    expect_line(&result, "name", "running");
    assert_non_null(strstr(result.words, "Removed 4."));
    demo_result_free(&result);
}

static void nothing_is_said_to_be_nothing(void **state)
{
    (void)state;
    struct demo_result result = CALL("ps", "echo", "-c", "{\"left\": \"nothing\"}");
    assert_int_equal(result.status, 0);
    assert_string_equal(result.output, "");
    assert_non_null(strstr(result.words, "Nothing is there."));
    demo_result_free(&result);
    result = CALL("ps", "echo", "-c", "{\"left\": \"nothing\"}", "--json");
    json_object *document = json_tokener_parse(result.output);
    assert_true(json_object_is_type(document, json_type_array));
    assert_int_equal(json_object_array_length(document), 0);
    json_object_put(document);
    demo_result_free(&result);
}

static void trouble_is_told_beside_what_was_done(void **state)
{
    (void)state;
    struct demo_result result = CALL("prune", "echo", "-c", "{\"left\": \"trouble\"}");
    assert_int_equal(result.status, 125);
    assert_non_null(strstr(result.words, "echo: there is trouble"));
    expect_line(&result, "of-one-that-ended", "ended");
    demo_result_free(&result);
    result = CALL("ps", "echo", "-c", "{\"left\": \"nonsense\"}");
    assert_int_equal(result.status, 125);
    assert_non_null(strstr(result.words, "not what it should be"));
    demo_result_free(&result);
}

static void executor_without_a_list_says_so(void **state)
{
    (void)state;
    struct demo_result result = CALL("ps", "local");
    assert_int_equal(result.status, 125);
    assert_non_null(strstr(result.words, "local keeps no list"));
    demo_result_free(&result);
    result = CALL("prune", "nowhere");
    assert_int_equal(result.status, 125);
    demo_result_free(&result);
}

static void wrong_usage_is_refused(void **state)
{
    (void)state;
    static const char *const calls[][5] = {
        {"ps", "echo", "--all", NULL},
        {"ps", "-c", "{}", NULL},
        {"prune", "echo", "docker", NULL},
        {"prune", "echo", "--timeout", "5", NULL},
        {"run", "--all", NULL},
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        struct demo_result result = demo_call_with(calls[i]);
        assert_int_equal(result.status, 2);
        assert_string_equal(result.output, "");
        demo_result_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ps_shows_what_is_there_and_whose_it_is),
        cmocka_unit_test(names_cannot_play_with_the_terminal),
        cmocka_unit_test(ps_as_json_is_one_document),
        cmocka_unit_test(prune_leaves_what_may_be_in_use),
        cmocka_unit_test(nothing_is_said_to_be_nothing),
        cmocka_unit_test(trouble_is_told_beside_what_was_done),
        cmocka_unit_test(executor_without_a_list_says_so),
        cmocka_unit_test(wrong_usage_is_refused),
    };
    return cmocka_run_group_tests_name("leftovers_demo", tests, NULL, NULL);
}
