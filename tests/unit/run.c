/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c: what becomes of blocks that run, by the rules of a run.
 */
#include "failing_memory.h"
#include "run_support.h"
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

/* ------------------------------------------------------------------------------------------------
 * Blocks that run
 * --------------------------------------------------------------------------------------------- */

static void a_block_is_saved_and_run(void **state)
{
    (void)state;
    answers[0].out = "hi\n";
    assert_int_equal(RUN("Python", "print('hi')"), CODE_EXECUTOR_OK);
    expect_result(CODE_EXECUTOR_OUTCOME_COMPLETED, 0, "hi\n");
    assert_string_equal(commands, "python tmp_code_701bf4a4743e5e0361e26999881a5ce9.python\n");
    assert_true(last_file_was_there);
    assert_string_equal(last_programs, "python python3 ");
    assert_string_equal(last.folder, "/inside");
    assert_string_equal(result->blocks[0]->language, "Python");
    assert_string_equal(result->code_file, result->blocks[0]->code_file);
    assert_memory_equal(result->code_file, work, strlen(work));
}

static void the_name_is_the_digest_of_what_is_saved(void **state)
{
    (void)state;
    assert_int_equal(RUN("sh", "pip install x\r\n"), CODE_EXECUTOR_OK);
    /* md5 of "pip install -qqq x\n" */
    assert_string_equal(commands, "sh tmp_code_4000178f88bfaed887d19646d8103f98.sh\n");
}

static void the_first_failure_stops_the_run(void **state)
{
    (void)state;
    answers[0].out = "one\n";
    answers[1].out = "two\n";
    answers[1].exit.exit_code = 3;
    RUN("sh", "a", "sh", "b", "sh", "c");
    expect_result(CODE_EXECUTOR_OUTCOME_COMPLETED, 3, "one\ntwo\n");
    assert_int_equal(result->block_count, 2);
    assert_int_equal(answered, 2);
}

static void output_is_in_order_of_arrival_and_apart(void **state)
{
    (void)state;
    answers[0] = (struct answer){.out = "out\n", .err = "err\n"};
    RUN("sh", "a");
    expect_result(CODE_EXECUTOR_OUTCOME_COMPLETED, 0, "out\nerr\n");
    assert_string_equal(result->blocks[0]->stdout_bytes, "out\n");
    assert_string_equal(result->blocks[0]->stderr_bytes, "err\n");
}

static void costs_are_reported(void **state)
{
    (void)state;
    answers[0].exit = (session_exit){.wall_ns = 5, .cpu_ns = 4, .peak_memory_bytes = 3};
    RUN("sh", "a");
    assert_int_equal(result->blocks[0]->wall_ns, 5);
    assert_int_equal(result->blocks[0]->cpu_ns, 4);
    assert_int_equal(result->blocks[0]->peak_memory_bytes, 3);
}

static void ends_have_their_codes_and_words(void **state)
{
    (void)state;
    static const struct {
        session_exit exit;
        int32_t outcome, exit_code, signal;
        const char *words;
    } ends[] = {
        {{.how = EXIT_EXITED, .exit_code = 255}, CODE_EXECUTOR_OUTCOME_COMPLETED, 255, 0, ""},
        {{.how = EXIT_SIGNALLED, .signal = 11}, CODE_EXECUTOR_OUTCOME_COMPLETED, 139, 11, ""},
        {{.how = EXIT_TIMED_OUT}, CODE_EXECUTOR_OUTCOME_TIMED_OUT, 124, 0, "\nTimeout"},
        {{.how = EXIT_CANCELLED}, CODE_EXECUTOR_OUTCOME_CANCELLED, 130, 0, ""},
        {{.how = EXIT_OUT_OF_MEMORY},
         CODE_EXECUTOR_OUTCOME_OUT_OF_MEMORY,
         137,
         9,
         "\nKilled: the memory limit was reached\n"},
        {{.how = EXIT_NOT_STARTED, .errnum = ENOENT, .detail = "not found: sh"},
         CODE_EXECUTOR_OUTCOME_COMPLETED,
         127,
         0,
         "Cannot run sh: not found: sh\n"},
        {{.how = EXIT_NOT_STARTED, .errnum = EACCES, .detail = "sh: Permission denied"},
         CODE_EXECUTOR_OUTCOME_COMPLETED,
         126,
         0,
         "Cannot run sh: sh: Permission denied\n"},
        {{.how = EXIT_NOT_STARTED,
          .errnum = ENOENT,
          .candidate = CANDIDATE_NONE,
          .detail = "cannot enter the folder"},
         CODE_EXECUTOR_OUTCOME_COMPLETED,
         126,
         0,
         "Cannot run sh: cannot enter the folder\n"},
        {{.how = EXIT_LOST, .detail = "its supervisor was killed"},
         CODE_EXECUTOR_OUTCOME_COMPLETED,
         137,
         9,
         "\nKilled: its supervisor was killed\n"},
    };
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        answered = 0;
        answers[0].exit = ends[i].exit;
        assert_int_equal(RUN("sh", "a", "sh", "b"), CODE_EXECUTOR_OK);
        if (ends[i].exit_code)
            assert_int_equal(result->block_count, 1);
        expect_result(ends[i].outcome, ends[i].exit_code, ends[i].words);
        assert_int_equal(result->blocks[0]->signal, ends[i].signal);
    }
}

static void an_end_that_is_none_is_an_error(void **state)
{
    (void)state;
    answers[0].exit.how = 99;
    assert_int_equal(RUN("sh", "a"), CODE_EXECUTOR_PROTOCOL);
    assert_int_equal(result->outcome, CODE_EXECUTOR_OUTCOME_FAILED);
}

static void a_name_that_looks_like_an_option_is_none(void **state)
{
    (void)state;
    RUN("sh", "# filename: -c\necho", "sh", "# filename: +x", "sh", "# filename: @args", "sh",
        "# filename: -a/b", "sh", "# filename: .x");
    assert_string_equal(commands, "sh ./-c\nsh ./+x\nsh ./@args\nsh ./-a/b\nsh .x\n");
}

static void a_name_that_looks_like_a_mark_is_none(void **state)
{
    (void)state;
    RUN("sh", "# filename: {output}\necho", "sh", "# filename: {file}\necho");
    assert_string_equal(commands, "sh ./{output}\nsh ./{file}\n");
}

static void code_without_bytes_runs(void **state)
{
    (void)state;
    RUN("sh", "");
    assert_string_equal(commands, "sh tmp_code_d41d8cd98f00b204e9800998ecf8427e.sh\n");
}

static void code_is_bytes(void **state)
{
    (void)state;
    static const char code[] = "# a.py\n\0\xff";
    code_executor_block block = {sizeof block, "py", code, sizeof code};
    const code_executor_block *blocks[] = {&block};
    request.blocks = blocks;
    request.block_count = 1;
    run_place place = {NULL, work, "/", NULL};
    assert_int_equal(run_blocks(&settings, &place, &request, &canceller, &result, &error),
                     CODE_EXECUTOR_OK);
    struct stat status;
    char path[128];
    snprintf(path, sizeof path, "%s/a.py", work);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, sizeof code);
}

static void line_ends_change_in_shells_alone(void **state)
{
    (void)state;
    RUN("sh", "# a.sh\r\necho 'a\rb'\r\r\n", "py", "# a.py\r\nx\r\n");
    assert_string_equal(contents("a.sh"), "# a.sh\necho 'a\rb'\r\n");
    assert_string_equal(contents("a.py"), "# a.py\r\nx\r\n");
}

/* ------------------------------------------------------------------------------------------------
 * Time, input, environment
 * --------------------------------------------------------------------------------------------- */

static void the_time_is_the_requests_or_the_settings(void **state)
{
    (void)state;
    RUN("sh", "a");
    assert_in_range(last.timeout_ms, 59000, 60000);
    request.timeout = 2.5;
    RUN("sh", "a");
    assert_in_range(last.timeout_ms, 2000, 2500);
    request.timeout = 1e300;
    RUN("sh", "a");
    assert_int_equal(last.timeout_ms, UINT32_MAX);
}

static void what_is_on_standard_input_is_handed_on(void **state)
{
    (void)state;
    request.stdin_bytes = "in";
    request.stdin_length = 2;
    RUN("sh", "a");
    assert_int_equal(last.stdin_length, 2);
    assert_ptr_equal(last.stdin_bytes, request.stdin_bytes);
}

static void the_requests_environment_overrides_the_configurations(void **state)
{
    (void)state;
    static const char *const configured[] = {"A=1", "AB=2", "C=3"};
    static const char *const requested[] = {"A=first", "D=", "A=last"};
    settings.environment = configured;
    settings.environment_count = 3;
    request.environment = requested;
    request.environment_count = 3;
    RUN("sh", "a");
    assert_string_equal(last_environment, "AB=2\nC=3\nD=\nA=last\n");
    assert_int_equal(last.environment_default_count, 2);
    assert_string_equal(last.environment_defaults[0], "LANG=C.UTF-8");
    assert_string_equal(last.environment_defaults[1], "PYTHONUNBUFFERED=1");
}

/* ------------------------------------------------------------------------------------------------
 * Steps, caps, temporary files
 * --------------------------------------------------------------------------------------------- */

#define C_LANGUAGE                                                                                 \
    "\"languages\": {\"c\": {\"steps\": [[[\"cc\", \"-o\", \"{output}\", \"{file}\"]], "           \
    "[[\"{output}\"]]]}}"

static void steps_run_in_order_and_share_name_and_time(void **state)
{
    (void)state;
    configure("{" C_LANGUAGE "}");
    request.stdin_bytes = "in";
    request.stdin_length = 2;
    answers[0] = (struct answer){.err = "warning\n", .exit = {.cpu_ns = 3, .peak_memory_bytes = 9}};
    answers[1] = (struct answer){.out = "hi\n", .exit = {.cpu_ns = 4, .peak_memory_bytes = 5}};
    RUN("c", "// a.c\n");
    char first[64];
    char second[64];
    assert_int_equal(sscanf(commands, "cc -o %63s a.c\n%63s", first, second), 2);
    assert_string_equal(first, second);
    assert_memory_equal(first, "./tmp_build_", 12);
    expect_result(CODE_EXECUTOR_OUTCOME_COMPLETED, 0, "warning\nhi\n");
    assert_int_equal(result->blocks[0]->cpu_ns, 7);
    assert_int_equal(result->blocks[0]->peak_memory_bytes, 9);
    assert_int_equal(last.stdin_length, 2);
}

static void a_step_that_fails_is_the_last(void **state)
{
    (void)state;
    configure("{" C_LANGUAGE "}");
    request.stdin_bytes = "in";
    request.stdin_length = 2;
    answers[0].exit.exit_code = 2;
    RUN("c", "x");
    expect_result(CODE_EXECUTOR_OUTCOME_COMPLETED, 2, "");
    assert_int_equal(answered, 1);
    assert_int_equal(last.stdin_length, 0);
}

static void output_is_capped_for_each_stream(void **state)
{
    (void)state;
    configure("{\"max_output_bytes\": 4}");
    answers[0] = (struct answer){.out = "0123456789", .err = "abc"};
    RUN("sh", "a");
    const code_executor_block_result *block = result->blocks[0];
    assert_string_equal(block->stdout_bytes, "01\n[... 6 bytes dropped ...]\n89");
    assert_string_equal(block->stderr_bytes, "abc");
    assert_string_equal(block->output, "01\n[... 9 bytes dropped ...]\nbc");
    assert_int_equal(block->dropped_bytes, 9);
}

static void temporary_files_stay_unless_told_otherwise(void **state)
{
    (void)state;
    RUN("sh", "a");
    assert_string_equal(contents("tmp_code_0cc175b9c0f1b6a831c399e269772661.sh"), "a");
    configure("{\"delete_tmp_files\": true}");
    RUN("sh", "a", "sh", "# keep.sh\n", "css", "b");
    assert_null(contents("tmp_code_0cc175b9c0f1b6a831c399e269772661.sh"));
    assert_string_equal(contents("keep.sh"), "# keep.sh\n");
    assert_non_null(contents("tmp_code_92eb5ffee6ae2fec3ad71c777531578f.css"));
    assert_true(last_file_was_there);
}

/* ------------------------------------------------------------------------------------------------
 * Memory that ends
 * --------------------------------------------------------------------------------------------- */

/* At each allocation in turn. What was begun is told as far as there is memory to tell it. */
static void run_without_memory(bool once)
{
    static const char *const requested[] = {"A=1"};
    configure("{\"delete_tmp_files\": true, " C_LANGUAGE "}");
    request.environment = requested;
    request.environment_count = 1;
    bool failed = true;
    for (size_t count = 0; failed; count++) {
        memset(answers, 0, sizeof answers);
        for (size_t i = 0; i < 4; i++)
            answers[i] = (struct answer){.out = "out\n", .err = "err\n"};
        answered = 0;
        commands[0] = heard[0] = '\0';
        failing_memory_start(count, once);
        int32_t status = RUN("sh", "pip install x\r\n", "c", "// a.c\n", "js", "b", "py", "c");
        failed = failing_memory_stop();
        if (status != CODE_EXECUTOR_OK) {
            assert_true(failed);
            assert_int_equal(status, CODE_EXECUTOR_NO_MEMORY);
            assert_int_equal(error.status, CODE_EXECUTOR_NO_MEMORY);
        } else {
            assert_int_equal(result->block_count, 4);
        }
        for (size_t i = 0; result && i < result->block_count; i++) {
            assert_non_null(result->blocks[i]->language);
            assert_non_null(result->blocks[i]->output);
        }
    }
    assert_int_equal(answered, 4);
}

static void memory_may_be_short_once_anywhere(void **state)
{
    (void)state;
    run_without_memory(true);
}

static void memory_may_end_anywhere(void **state)
{
    (void)state;
    run_without_memory(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_block_is_saved_and_run),
        TEST(the_name_is_the_digest_of_what_is_saved),
        TEST(the_first_failure_stops_the_run),
        TEST(output_is_in_order_of_arrival_and_apart),
        TEST(costs_are_reported),
        TEST(ends_have_their_codes_and_words),
        TEST(an_end_that_is_none_is_an_error),
        TEST(a_name_that_looks_like_an_option_is_none),
        TEST(a_name_that_looks_like_a_mark_is_none),
        TEST(code_without_bytes_runs),
        TEST(code_is_bytes),
        TEST(line_ends_change_in_shells_alone),
        TEST(the_time_is_the_requests_or_the_settings),
        TEST(what_is_on_standard_input_is_handed_on),
        TEST(the_requests_environment_overrides_the_configurations),
        TEST(steps_run_in_order_and_share_name_and_time),
        TEST(a_step_that_fails_is_the_last),
        TEST(output_is_capped_for_each_stream),
        TEST(temporary_files_stay_unless_told_otherwise),
        TEST(memory_may_be_short_once_anywhere),
        TEST(memory_may_end_anywhere),
    };
    return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
