/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extract_cases.c: every message of tests/cases/extract through `host_demo extract --json`, held
 * against expected.json. One test a message, named after it.
 */
#include "demo_process.h"
#include <json-c/json.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

struct extract_case {
    const char *name;
    json_object *expected;
};

static void gives_the_expected_blocks(void **state)
{
    const struct extract_case *one = *state;
    char path[4096];
    snprintf(path, sizeof path, "%s/extract/%s.md", TEST_CASES_FOLDER, one->name);
    struct demo_result result;
    demo_run(&(struct demo_call){.arguments = {"extract", path, "--json"}}, &result);
    assert_int_equal(result.status, 0);
    assert_string_equal(result.words, "");
    json_object *blocks = json_tokener_parse(result.output);
    assert_non_null(blocks);
    if (!json_object_equal(blocks, one->expected)) {
        print_error("expected %s\ngot      %s\n", json_object_to_json_string(one->expected),
                    json_object_to_json_string(blocks));
        fail();
    }
    json_object_put(blocks);
    demo_result_free(&result);
}

int main(void)
{
    json_object *expected = json_object_from_file(TEST_CASES_FOLDER "/extract/expected.json");
    if (expected == NULL) {
        fprintf(stderr, "%s\n", json_util_get_last_err());
        return 1;
    }
    size_t count = (size_t)json_object_object_length(expected);
    struct extract_case *cases = calloc(count, sizeof *cases);
    struct CMUnitTest *tests = calloc(count, sizeof *tests);
    if (cases == NULL || tests == NULL)
        return 1;
    size_t i = 0;
    json_object_object_foreach(expected, name, blocks)
    {
        cases[i] = (struct extract_case){name, blocks};
        tests[i] = (struct CMUnitTest){
            .name = name, .test_func = gives_the_expected_blocks, .initial_state = &cases[i]};
        i++;
    }
    int failed = _cmocka_run_group_tests("extract", tests, count, NULL, NULL);
    free(tests);
    free(cases);
    json_object_put(expected);
    return failed;
}
