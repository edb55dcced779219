/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result.c: what a host is handed, and that one call frees all of it.
 */
#include "result.h"
#include "commandline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static code_executor_block_result *add(result_builder *builder, const char *out, const char *err,
                                       const char *combined)
{
    const char *const texts[] = {out, err, combined};
    output outputs[3];
    for (int i = 0; i < 3; i++) {
        output_begin(&outputs[i], 1000);
        if (texts[i])
            output_add(&outputs[i], texts[i], strlen(texts[i]));
    }
    code_executor_block_result *block = result_add_block(builder, "python");
    assert_true(result_set_outputs(builder, block, &outputs[0], &outputs[1],
                                   combined ? &outputs[2] : NULL));
    for (int i = 0; i < 3; i++)
        output_end(&outputs[i]);
    return block;
}

static void outputs_are_joined_in_order(void **state)
{
    (void)state;
    result_builder *builder = result_begin();
    add(builder, "one\n", "", NULL);
    add(builder, "", "", NULL);
    add(builder, "two\n", "err\n", "err\ntwo\n");
    code_executor_result *result = result_end(builder);
    assert_int_equal(result->struct_size, sizeof *result);
    assert_int_equal(result->block_count, 3);
    assert_string_equal(result->output, "one\nerr\ntwo\n");
    assert_int_equal(result->output_length, 12);
    assert_string_equal(result->blocks[2]->stdout_bytes, "two\n");
    assert_string_equal(result->blocks[2]->stderr_bytes, "err\n");
    assert_string_equal(result->blocks[2]->output, "err\ntwo\n");
    assert_int_equal(result->blocks[2]->struct_size, sizeof *result->blocks[2]);
    commandline_result_free(result);
}

static void the_only_output_is_not_copied(void **state)
{
    (void)state;
    result_builder *builder = result_begin();
    add(builder, "", "", NULL);
    add(builder, "text", "", NULL);
    add(builder, "", "", NULL);
    code_executor_result *result = result_end(builder);
    assert_string_equal(result->output, "text");
    assert_ptr_equal(result->output, result->blocks[1]->stdout_bytes);
    assert_ptr_equal(result->output, result->blocks[1]->output);
    commandline_result_free(result);
}

static void the_last_block_decides(void **state)
{
    (void)state;
    result_builder *builder = result_begin();
    add(builder, "", "", NULL)->code_file = result_path(builder, "/w", "a.py");
    code_executor_block_result *last = add(builder, "", "", NULL);
    last->exit_code = 124;
    last->outcome = CODE_EXECUTOR_OUTCOME_TIMED_OUT;
    last->code_file = result_path(builder, "/", "b.py");
    code_executor_result *result = result_end(builder);
    assert_int_equal(result->exit_code, 124);
    assert_int_equal(result->outcome, CODE_EXECUTOR_OUTCOME_TIMED_OUT);
    assert_string_equal(result->code_file, "/w/a.py");
    assert_string_equal(result->blocks[1]->code_file, "/b.py");
    commandline_result_free(result);
}

static void a_nul_follows_every_field(void **state)
{
    (void)state;
    result_builder *builder = result_begin();
    add(builder, "", "", NULL);
    add(builder, "ab", "c", "abc");
    code_executor_result *result = result_end(builder);
    const code_executor_block_result *block = result->blocks[1];
    assert_int_equal(block->stdout_bytes[block->stdout_length], 0);
    assert_int_equal(block->stderr_bytes[block->stderr_length], 0);
    assert_int_equal(block->output[block->output_length], 0);
    assert_int_equal(result->output[result->output_length], 0);
    assert_string_equal(result->blocks[0]->stdout_bytes, "");
    assert_string_equal(result->blocks[0]->stderr_bytes, "");
    assert_string_equal(result->blocks[0]->output, "");
    commandline_result_free(result);
}

static void dropped_bytes_are_counted(void **state)
{
    (void)state;
    result_builder *builder = result_begin();
    output out;
    output none;
    output_begin(&out, 4);
    output_begin(&none, 4);
    output_add(&out, "0123456789", 10);
    code_executor_block_result *block = result_add_block(builder, "sh");
    assert_true(result_set_outputs(builder, block, &out, &none, NULL));
    assert_int_equal(block->dropped_bytes, 6);
    assert_string_equal(block->output, "01\n[... 6 bytes dropped ...]\n89");
    output_end(&out);
    commandline_result_free(result_end(builder));
}

static void no_block_gives_no_result(void **state)
{
    (void)state;
    assert_null(result_end(result_begin()));
    commandline_result_free(NULL);
}

static void there_may_be_very_many_blocks(void **state)
{
    (void)state;
    result_builder *builder = result_begin();
    for (int i = 0; i < 100000; i++)
        add(builder, "x", "", NULL);
    code_executor_result *result = result_end(builder);
    assert_int_equal(result->block_count, 100000);
    assert_int_equal(result->output_length, 100000);
    commandline_result_free(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_are_joined_in_order),
        cmocka_unit_test(the_only_output_is_not_copied),
        cmocka_unit_test(the_last_block_decides),
        cmocka_unit_test(a_nul_follows_every_field),
        cmocka_unit_test(dropped_bytes_are_counted),
        cmocka_unit_test(no_block_gives_no_result),
        cmocka_unit_test(there_may_be_very_many_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
