/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_demo.c: what `host_demo run` does with a message, from the outside, on the executor of plugin_echo.c. One
 * behaviour a test.
 */
#include "demo_words.h"
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void output_goes_to_the_stream_it_was_written_to(void **state)
{
    (void)state;
    struct demo_result result = RUN(BLOCK("echo", "print out\nerror err\nsay words"));
    assert_int_equal(result.status, 0);
    assert_string_equal(result.output, "out\n");
    assert_string_equal(result.words, "err\nwords\n");
    demo_result_free(&result);
}

static void the_exit_status_is_that_of_the_code(void **state)
{
    (void)state;
    struct demo_result result = RUN(BLOCK("echo", "exit 42") BLOCK("echo", "print never"));
    assert_int_equal(result.status, 42);
    assert_string_equal(result.output, "");
    assert_says(&result, "Block 1 (echo): exit code 42; 1 more block was not run.");
    demo_result_free(&result);
}

static void words_begin_on_a_line_of_their_own(void **state)
{
    (void)state;
    struct demo_result result = RUN(BLOCK("echo", "print a\nsay b\nexit 3"));
    assert_string_equal(result.words, "b\nhost_demo: Block 1 (echo): exit code 3.\n");
    demo_result_free(&result);
}

static void quiet_says_nothing(void **state)
{
    (void)state;
    struct demo_result result = RUN(BLOCK("", "???") BLOCK("echo", "exit 3"), "--quiet");
    assert_int_equal(result.status, 3);
    assert_string_equal(result.words, "");
    demo_result_free(&result);
}

static void a_block_without_a_language_is_skipped_and_named(void **state)
{
    (void)state;
    struct demo_result result = RUN(BLOCK("", "???") BLOCK("echo", "print ran"));
    assert_int_equal(result.status, 0);
    assert_string_equal(result.output, "ran\n");
    assert_says(&result, "Block 1 (lines 1 to 3) has no language and is skipped.");
    demo_result_free(&result);
}

static void a_block_that_was_cut_off_never_runs(void **state)
{
    (void)state;
    struct demo_result result = RUN(BLOCK("echo", "print first") "```echo\nprint second");
    assert_int_equal(result.status, 1);
    assert_string_equal(result.output, "first\n");
    assert_says(&result, "is not complete");
    demo_result_free(&result);
}

static void a_block_that_was_cut_off_is_refused_in_json(void **state)
{
    (void)state;
    struct demo_result result = RUN(BLOCK("echo", "print first") "```echo\nprint second", "--json");
    assert_int_equal(result.status, 1);
    json_object *document = document_of(&result);
    assert_text_at(document, "/outcome", "refused");
    assert_text_at(document, "/blocks/0/outcome", "completed");
    assert_text_at(document, "/blocks/1/outcome", "refused");
    assert_text_at(document, "/blocks/1/executor", "echo");
    assert_text_at(document, "/blocks/1/stdout", "");
    json_object_put(document);
    demo_result_free(&result);
}

static void a_failure_before_it_keeps_the_cut_block_out(void **state)
{
    (void)state;
    struct demo_result result = RUN(BLOCK("echo", "exit 5") "```echo\nprint second", "--json");
    assert_int_equal(result.status, 5);
    json_object *document = document_of(&result);
    assert_int_equal(json_object_array_length(at(document, "/blocks")), 1);
    json_object_put(document);
    demo_result_free(&result);
}

static void nothing_to_run_is_a_failure(void **state)
{
    (void)state;
    struct demo_result result = RUN("Only words.\n");
    assert_int_equal(result.status, 125);
    assert_says(&result, "No code blocks to execute.");
    demo_result_free(&result);
}

static void json_is_alone_on_stdout_and_has_every_member(void **state)
{
    (void)state;
    static const char *const members[] = {
        "/exit_code",
        "/outcome",
        "/output",
        "/code_file",
        "/blocks/0/language",
        "/blocks/0/executor",
        "/blocks/0/outcome",
        "/blocks/0/exit_code",
        "/blocks/0/signal",
        "/blocks/0/stdout",
        "/blocks/0/stderr",
        "/blocks/0/output",
        "/blocks/0/dropped_bytes",
        "/blocks/0/code_file",
        "/blocks/0/wall_ms",
        "/blocks/0/cpu_ms",
        "/blocks/0/peak_memory_bytes",
    };
    struct demo_result result = RUN(BLOCK("echo", "print out\nerror err"), "--json");
    assert_string_equal(result.words, "");
    json_object *document = document_of(&result);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        json_object *found = NULL;
        assert_int_equal(json_pointer_get(document, members[i], &found), 0);
    }
    assert_text_at(document, "/output", "out\nerr\n");
    assert_text_at(document, "/blocks/0/stdout", "out\n");
    assert_text_at(document, "/blocks/0/stderr", "err\n");
    json_object_put(document);
    demo_result_free(&result);
}

static void bytes_that_are_not_utf8_are_replaced_in_json(void **state)
{
    (void)state;
    struct demo_result result = RUN(BLOCK("echo", "raw 61ff62c3a9e28200"), "--json");
    json_object *document = document_of(&result);
    json_object *output = at(document, "/output");
    static const char expected[] = "a\xef\xbf\xbd"
                                   "b\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd";
    assert_int_equal(json_object_get_string_len(output), (int)sizeof expected);
    assert_memory_equal(json_object_get_string(output), expected, sizeof expected);
    json_object_put(document);
    demo_result_free(&result);
}

static void bytes_that_are_not_utf8_pass_as_they_are(void **state)
{
    (void)state;
    struct demo_result result = RUN(BLOCK("echo", "raw 61ff1b5b3200"));
    assert_int_equal(result.output_length, 6);
    assert_memory_equal(result.output, "a\xff\033[2\0", 6);
    demo_result_free(&result);
}

static void an_executor_that_fails_leaves_what_ran(void **state)
{
    (void)state;
    struct demo_result result =
        RUN(BLOCK("echo", "print first") BLOCK("echo", "print half\nfail it broke"), "--json");
    assert_int_equal(result.status, 125);
    json_object *document = document_of(&result);
    assert_text_at(document, "/error/status", "unavailable");
    assert_non_null(strstr(json_object_get_string(at(document, "/error/message")), "it broke"));
    assert_text_at(document, "/blocks/0/stdout", "first\n");
    assert_text_at(document, "/blocks/1/outcome", "failed");
    assert_text_at(document, "/blocks/1/stdout", "half\n");
    json_object_put(document);
    demo_result_free(&result);
}

static void an_executor_that_is_not_there_is_an_error_in_json(void **state)
{
    (void)state;
    struct demo_result result;
    demo_run(&(struct demo_call){.arguments = {"run", "-e", "nowhere", "--json"},
                                 .input = BLOCK("echo", "print x")},
             &result);
    assert_int_equal(result.status, 125);
    json_object *document = document_of(&result);
    assert_text_at(document, "/error/status", "not_found");
    assert_text_at(document, "/outcome", "failed");
    assert_int_equal(json_object_array_length(at(document, "/blocks")), 0);
    json_object_put(document);
    demo_result_free(&result);
}

static void a_file_that_is_not_there_is_named(void **state)
{
    (void)state;
    struct demo_result result = CALL("run", "/nonexistent/message.md");
    assert_int_equal(result.status, 125);
    assert_says(&result, "/nonexistent/message.md");
    demo_result_free(&result);
}

static void a_message_may_come_from_a_file_or_from_stdin(void **state)
{
    (void)state;
    static const char text[] = BLOCK("echo", "print here");
    const char *file = demo_file("message.md", text, strlen(text));
    struct demo_result result = CALL("run", "-e", "echo", file);
    assert_string_equal(result.output, "here\n");
    demo_result_free(&result);
    result = RUN(text, "-");
    assert_string_equal(result.output, "here\n");
    demo_result_free(&result);
}

static void aliases_take_the_same_route(void **state)
{
    (void)state;
    struct demo_result result = RUN(BLOCK("echo", "print a") BLOCK("JavaScript", "x"), "--json",
                                    "--route", "js=echo:{\"greeting\":\"x\"}");
    json_object *document = document_of(&result);
    assert_text_at(document, "/blocks/0/executor", "echo");
    assert_text_at(document, "/blocks/1/executor", "echo#2");
    assert_text_at(document, "/blocks/1/outcome", "refused");
    json_object_put(document);
    demo_result_free(&result);
}

static void a_route_by_name_uses_the_executor_that_is_loaded(void **state)
{
    (void)state;
    struct demo_result result = RUN(BLOCK("repeat", "config"), "-c", "{\"greeting\":\"shared\"}",
                                    "--route", "repeat=echo", "--json");
    json_object *document = document_of(&result);
    assert_text_at(document, "/blocks/0/executor", "echo");
    assert_non_null(strstr(json_object_get_string(at(document, "/output")), "\"shared\""));
    json_object_put(document);
    demo_result_free(&result);
}

static void a_configuration_may_stand_in_a_file(void **state)
{
    (void)state;
    static const char config[] = "{ \"greeting\": \"from a file\" }\n";
    char at_file[300];
    snprintf(at_file, sizeof at_file, "@%s", demo_file("config.json", config, strlen(config)));
    struct demo_result result = RUN(BLOCK("echo", "config"), "-c", at_file);
    assert_non_null(strstr(result.output, "from a file"));
    demo_result_free(&result);
}

static void an_interrupt_cancels_the_running_block(void **state)
{
    (void)state;
    struct demo_result result;
    demo_run(&(struct demo_call){.arguments = {"run", "-e", "echo"},
                                 .input = BLOCK("echo", "print begun\nsleep 90000\nprint no"),
                                 .signal_after_output = SIGINT},
             &result);
    assert_int_equal(result.status, 130);
    assert_string_equal(result.output, "begun\n");
    assert_says(&result, "Block 1 (echo): cancelled.");
    demo_result_free(&result);
}

static void an_interrupted_run_still_gives_its_json(void **state)
{
    (void)state;
    int input[2], output[2];
    assert_int_equal(pipe(input), 0);
    assert_int_equal(pipe(output), 0);
    static const char message[] = BLOCK("echo", "print first") BLOCK("echo", "sleep 90000");
    const char *arguments[] = {"run", "-e", "echo", "--json", NULL};
    assert_true(write(input[1], message, strlen(message)) > 0);
    pid_t process = demo_start(arguments, input[0], output[1], STDERR_FILENO);
    close(input[0]);
    close(input[1]);
    close(output[1]);
    usleep(700000); /* With JSON nothing tells that it runs; too early is no fault either. */
    kill(process, SIGINT);
    char text[8192] = {0};
    size_t length = 0;
    for (ssize_t got = 1; got > 0; length += got > 0 ? (size_t)got : 0)
        got = read(output[0], text + length, sizeof text - 1 - length);
    close(output[0]);
    assert_int_equal(demo_wait(process, 30), 130);
    if (length > 0) {
        json_object *document = json_tokener_parse(text);
        assert_non_null(document);
        assert_text_at(document, "/outcome", "cancelled");
        json_object_put(document);
    }
}

static void sigterm_cleans_up_and_ends(void **state)
{
    (void)state;
    struct demo_result result;
    demo_run(&(struct demo_call){.arguments = {"run", "-e", "echo"},
                                 .input = BLOCK("echo", "print begun\nsleep 90000"),
                                 .signal_after_output = SIGTERM},
             &result);
    assert_int_equal(result.status, 128 + SIGTERM);
    demo_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_goes_to_the_stream_it_was_written_to),
        cmocka_unit_test(the_exit_status_is_that_of_the_code),
        cmocka_unit_test(words_begin_on_a_line_of_their_own),
        cmocka_unit_test(quiet_says_nothing),
        cmocka_unit_test(a_block_without_a_language_is_skipped_and_named),
        cmocka_unit_test(a_block_that_was_cut_off_never_runs),
        cmocka_unit_test(a_block_that_was_cut_off_is_refused_in_json),
        cmocka_unit_test(a_failure_before_it_keeps_the_cut_block_out),
        cmocka_unit_test(nothing_to_run_is_a_failure),
        cmocka_unit_test(json_is_alone_on_stdout_and_has_every_member),
        cmocka_unit_test(bytes_that_are_not_utf8_are_replaced_in_json),
        cmocka_unit_test(bytes_that_are_not_utf8_pass_as_they_are),
        cmocka_unit_test(an_executor_that_fails_leaves_what_ran),
        cmocka_unit_test(an_executor_that_is_not_there_is_an_error_in_json),
        cmocka_unit_test(a_file_that_is_not_there_is_named),
        cmocka_unit_test(a_message_may_come_from_a_file_or_from_stdin),
        cmocka_unit_test(aliases_take_the_same_route),
        cmocka_unit_test(a_route_by_name_uses_the_executor_that_is_loaded),
        cmocka_unit_test(a_configuration_may_stand_in_a_file),
        cmocka_unit_test(an_interrupt_cancels_the_running_block),
        cmocka_unit_test(an_interrupted_run_still_gives_its_json),
        cmocka_unit_test(sigterm_cleans_up_and_ends),
    };
    return cmocka_run_group_tests_name("run_demo", tests, NULL, NULL);
}
