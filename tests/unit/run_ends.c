/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_ends.c: what keeps a block from running, or a run from its end: refusals, callbacks, lost sessions.
 */
#include "run_support.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ------------------------------------------------------------------------------------------------
 * Blocks that do not run
 * --------------------------------------------------------------------------------------------- */

static void an_unknown_language_is_refused(void **state)
{
    (void)state;
    assert_int_equal(RUN("COBOL", "x", "sh", "a"), CODE_EXECUTOR_OK);
    expect_result(CODE_EXECUTOR_OUTCOME_REFUSED, 1, "Unsupported language cobol\n");
    assert_int_equal(result->block_count, 1);
    assert_int_equal(answered, 0);
    assert_null(result->code_file);
}

static void a_language_of_10_kb_is_refused_in_few_words(void **state)
{
    (void)state;
    char word[10001];
    memset(word, 'X', 10000);
    word[10000] = '\0';
    RUN(word, "x");
    assert_true(result->output_length < 200);
    assert_string_equal(result->blocks[0]->language, word);
}

static void a_saved_language_is_not_run_and_the_run_goes_on(void **state)
{
    (void)state;
    answers[0].out = "ran\n";
    RUN("js", "// app.js\nx", "sh", "a");
    char wanted[256];
    snprintf(wanted, sizeof wanted, "Code saved to %s/app.js\nran\n", work);
    expect_result(CODE_EXECUTOR_OUTCOME_COMPLETED, 0, wanted);
    assert_int_equal(result->blocks[0]->outcome, CODE_EXECUTOR_OUTCOME_SAVED);
    assert_string_equal(contents("app.js"), "// app.js\nx");
    assert_string_equal(commands, "sh tmp_code_0cc175b9c0f1b6a831c399e269772661.sh\n");
}

static void how_to_run_a_saved_language_goes_to_the_log(void **state)
{
    (void)state;
    RUN("js", "x", "css", "y");
    assert_non_null(strstr(heard, "log 2 javascript is saved and not run"));
    assert_non_null(strstr(heard, "log 2 css is saved and not run: there is no command"));
    assert_null(strstr(result->output, "execution_policies"));
}

static void a_name_outside_is_refused(void **state)
{
    (void)state;
    RUN("py", "# filename: ../x.py\n", "sh", "a");
    expect_result(CODE_EXECUTOR_OUTCOME_REFUSED, 1, "Filename is not in the workspace");
    assert_int_equal(result->block_count, 1);
    assert_null(result->code_file);
}

static void a_name_that_leads_outside_through_a_link_is_refused(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/x.py", work);
    assert_int_equal(symlink("/tmp/nowhere", path), 0);
    RUN("py", "# filename: x.py\n");
    expect_result(CODE_EXECUTOR_OUTCOME_REFUSED, 1, "Filename is not in the workspace");
    assert_null(result->code_file);
}

static char *object_to_rm(void *state, const char *word, const char *code, size_t length)
{
    (void)state;
    return strcmp(word, "sh") == 0 && memmem(code, length, "rm", 2) ? strdup("No rm.\n") : NULL;
}

static void an_objection_of_the_launcher_refuses(void **state)
{
    (void)state;
    settings.object = object_to_rm;
    RUN("sh", "ls", "sh", "rm x", "sh", "ls");
    expect_result(CODE_EXECUTOR_OUTCOME_REFUSED, 1, "No rm.\n");
    assert_int_equal(result->block_count, 2);
    assert_int_equal(answered, 1);
}

static void a_workspace_that_cannot_be_had_is_an_error(void **state)
{
    (void)state;
    run_place place = {NULL, "/proc/no/such", "/", NULL};
    code_executor_block block = {sizeof block, "sh", "a", 1};
    const code_executor_block *blocks[] = {&block};
    request.blocks = blocks;
    request.block_count = 1;
    assert_int_equal(run_blocks(&settings, &place, &request, &canceller, &result, &error),
                     CODE_EXECUTOR_NOT_FOUND);
    assert_int_equal(error.status, CODE_EXECUTOR_NOT_FOUND);
    assert_int_equal(result->outcome, CODE_EXECUTOR_OUTCOME_FAILED);
    assert_null(result->code_file);
}

/* ------------------------------------------------------------------------------------------------
 * Callbacks and the end before the end
 * --------------------------------------------------------------------------------------------- */

static void callbacks_hear_everything_in_order(void **state)
{
    (void)state;
    request.on_begin = on_begin;
    request.on_output = on_output;
    answers[0] = (struct answer){.out = "o", .err = "e"};
    answers[1].exit.how = EXIT_TIMED_OUT;
    RUN("sh", "a", "sh", "b");
    assert_string_equal(heard, "begin 0\n0.1 o|\n0.2 e|\nbegin 1\n1.3 \nTimeout|\n");
}

static void callbacks_hear_a_refusal_without_a_begin(void **state)
{
    (void)state;
    request.on_begin = on_begin;
    request.on_output = on_output;
    RUN("cobol", "a");
    assert_string_equal(heard, "0.3 Unsupported language cobol\n|\n");
}

static void a_begin_that_is_answered_with_no_cancels(void **state)
{
    (void)state;
    request.on_begin = on_begin;
    request.on_output = on_output;
    begin_answer = 1;
    assert_int_equal(RUN("sh", "a", "sh", "b"), CODE_EXECUTOR_OK);
    expect_result(CODE_EXECUTOR_OUTCOME_CANCELLED, 130, "");
    assert_int_equal(result->block_count, 1);
    assert_int_equal(answered, 0);
    assert_string_equal(heard, "begin 0\n");
}

static void output_that_is_answered_with_no_cancels_and_is_kept(void **state)
{
    (void)state;
    request.on_output = on_output;
    output_answer = -1;
    answers[0] = (struct answer){.out = "o", .err = "e"};
    RUN("sh", "a", "sh", "b");
    expect_result(CODE_EXECUTOR_OUTCOME_CANCELLED, 130, "oe");
    assert_string_equal(heard, "0.1 o|\n");
}

static void words_about_a_saved_block_may_cancel_what_follows(void **state)
{
    (void)state;
    request.on_output = on_output;
    output_answer = 1;
    RUN("css", "a", "sh", "b");
    assert_int_equal(result->block_count, 2);
    assert_int_equal(result->blocks[0]->outcome, CODE_EXECUTOR_OUTCOME_SAVED);
    assert_int_equal(result->outcome, CODE_EXECUTOR_OUTCOME_CANCELLED);
    assert_int_equal(result->exit_code, 130);
    assert_int_equal(answered, 0);
}

static void cancelled_before_the_first_block_is_an_error(void **state)
{
    (void)state;
    canceller.cancelled = true;
    assert_int_equal(RUN("sh", "a"), CODE_EXECUTOR_CANCELLED);
    assert_null(result);
}

static void a_session_that_fails_leaves_what_there_was(void **state)
{
    (void)state;
    answers[0].out = "whole\n";
    answers[1] = (struct answer){.out = "half", .status = CODE_EXECUTOR_LOST};
    assert_int_equal(RUN("sh", "a", "sh", "b", "sh", "c"), CODE_EXECUTOR_LOST);
    assert_string_equal(error.message, "the runner is gone");
    expect_result(CODE_EXECUTOR_OUTCOME_FAILED, 125, "whole\nhalf");
    assert_int_equal(result->block_count, 2);
    assert_int_equal(result->blocks[0]->outcome, CODE_EXECUTOR_OUTCOME_COMPLETED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_unknown_language_is_refused),
        TEST(a_language_of_10_kb_is_refused_in_few_words),
        TEST(a_saved_language_is_not_run_and_the_run_goes_on),
        TEST(how_to_run_a_saved_language_goes_to_the_log),
        TEST(a_name_outside_is_refused),
        TEST(a_name_that_leads_outside_through_a_link_is_refused),
        TEST(an_objection_of_the_launcher_refuses),
        TEST(a_workspace_that_cannot_be_had_is_an_error),
        TEST(callbacks_hear_everything_in_order),
        TEST(callbacks_hear_a_refusal_without_a_begin),
        TEST(a_begin_that_is_answered_with_no_cancels),
        TEST(output_that_is_answered_with_no_cancels_and_is_kept),
        TEST(words_about_a_saved_block_may_cancel_what_follows),
        TEST(cancelled_before_the_first_block_is_an_error),
        TEST(a_session_that_fails_leaves_what_there_was),
    };
    return cmocka_run_group_tests_name("run_ends", tests, NULL, NULL);
}
