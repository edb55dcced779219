/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extract_cases.c: every message of tests/cases/extract gives the blocks of expected.json.
 */
#include <code_executor_host.h>
#include <json-c/json.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct extract_case {
    const char *name;
    json_object *blocks;
} extract_case;

static char *read_file(const char *name, size_t *length)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s.md", EXTRACT_CASES, name);
    FILE *file = fopen(path, "rbe");
    assert_non_null(file);
    static char bytes[1 << 16];
    *length = fread(bytes, 1, sizeof(bytes), file);
    assert_true(*length < sizeof(bytes));
    fclose(file);
    return bytes;
}

static json_object *member(json_object *of, const char *name)
{
    json_object *found = NULL;
    assert_true(json_object_object_get_ex(of, name, &found));
    return found;
}

static void check_block(const code_executor_extracted_block *block, json_object *expected)
{
    json_object *code = member(expected, "code");
    assert_string_equal(block->block.language,
                        json_object_get_string(member(expected, "language")));
    assert_string_equal(block->block.code, json_object_get_string(code));
    assert_int_equal(block->block.code_length, json_object_get_string_len(code));
    assert_int_equal(block->complete, json_object_get_boolean(member(expected, "complete")));
    assert_true(block->first_line >= 1);
    assert_true(block->last_line >= block->first_line);
}

static void test_case(void **state)
{
    const extract_case *tested = *state;
    size_t length = 0;
    const char *message = read_file(tested->name, &length);
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_extraction *extraction = NULL;
    assert_int_equal(code_executor_extract(message, length, &extraction, &error), CODE_EXECUTOR_OK);
    assert_int_equal(extraction->block_count, json_object_array_length(tested->blocks));
    for (size_t i = 0; i < extraction->block_count; i++)
        check_block(extraction->blocks[i], json_object_array_get_idx(tested->blocks, i));
    code_executor_extraction_free(extraction);
}

int main(void)
{
    enum { MOST_CASES = 500 };
    static extract_case cases[MOST_CASES];
    static struct CMUnitTest tests[MOST_CASES];
    size_t count = 0;
    json_object *expected = json_object_from_file(EXTRACT_CASES "/expected.json");
    if (expected == NULL) {
        fprintf(stderr, "cannot read %s/expected.json: %s\n", EXTRACT_CASES,
                json_util_get_last_err());
        return EXIT_FAILURE;
    }
    json_object_object_foreach(expected, name, blocks)
    {
        cases[count] = (extract_case){name, blocks};
        tests[count] = (struct CMUnitTest){name, test_case, NULL, NULL, &cases[count]};
        count++;
    }
    /* cmocka_run_group_tests counts an array. */
    int failed = _cmocka_run_group_tests("extract_cases", tests, count, NULL, NULL);
    json_object_put(expected);
    return failed;
}
