/* SPDX-License-Identifier: Apache-2.0 */
/*
 * execute_cases.c: every case of tests/cases/execute/cases.json through the ABI, on any executor. See
 * executor_client.h for the command line; a case's `config` is laid over its configuration.
 */
#include "executor_client.h"

#include <json-c/json.h>
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static const char *text_of(json_object *test, const char *key)
{
    json_object *value = json_object_object_get(test, key);
    return value ? json_object_get_string(value) : NULL;
}

static bool matches(const char *text, const char *pattern)
{
    regex_t expression;
    assert_int_equal(regcomp(&expression, pattern, REG_EXTENDED | REG_NOSUB), 0);
    bool found = regexec(&expression, text, 0, NULL, 0) == 0;
    regfree(&expression);
    return found;
}

/* Bytes that are not UTF-8 (in these cases: above ASCII and alone) as U+FFFD, as JSON has them. */
static char *printable(const char *bytes, size_t length)
{
    char *text = malloc(3 * length + 1);
    size_t used = 0;
    assert_non_null(text);
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        unsigned char next = i + 1 < length ? (unsigned char)bytes[i + 1] : 0;
        bool alone = byte >= 0xc0 && (next & 0xc0) != 0x80;
        memcpy(text + used, alone ? "\xef\xbf\xbd" : &bytes[i], alone ? 3 : 1);
        used += alone ? 3 : 1;
    }
    text[used] = '\0';
    return text;
}

static code_executor_instance *create_for(json_object *test)
{
    json_object *config = json_tokener_parse(host.configuration);
    json_object *own = json_object_object_get(test, "config");
    if (own) {
        json_object_object_foreach(own, key, value)
        {
            json_object_object_add(config, key, json_object_get(value));
        }
    }
    code_executor_instance *instance = NULL;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    int32_t status =
        host.table->create(NULL, json_object_to_json_string(config), &instance, &error);
    client_expect_ok(status, &error);
    client_expect_ok(host.table->start(instance, &error), &error);
    json_object_put(config);
    return instance;
}

enum { BLOCKS_MAX = 8 };

static reply execute_case(code_executor_instance *instance, json_object *test)
{
    json_object *list = json_object_object_get(test, "blocks");
    code_executor_block blocks[BLOCKS_MAX];
    const code_executor_block *pointers[BLOCKS_MAX];
    question asked;
    question_set(&asked, "", "");
    asked.request.blocks = pointers;
    asked.request.block_count = json_object_array_length(list);
    assert_true(asked.request.block_count <= BLOCKS_MAX);
    for (size_t i = 0; i < asked.request.block_count; i++) {
        json_object *block = json_object_array_get_idx(list, i);
        json_object *code = json_object_array_get_idx(block, 1);
        blocks[i] = (code_executor_block){
            .struct_size = sizeof blocks[i],
            .language = json_object_get_string(json_object_array_get_idx(block, 0)),
            .code = json_object_get_string(code),
            .code_length = (size_t)json_object_get_string_len(code)};
        pointers[i] = &blocks[i];
    }
    asked.request.timeout = json_object_get_double(json_object_object_get(test, "timeout"));
    return client_execute(instance, &asked.request);
}

static bool is_left(json_object *test)
{
    const char *words = text_of(test, "no_process_left");
    return words && process_exists(words);
}

/* What is wrong with the answer, in words, or NULL. */
static const char *judge(json_object *test, const code_executor_result *result, double seconds)
{
    char *output = printable(result->output, result->output_length);
    json_object *at_most = json_object_object_get(test, "output_at_most");
    json_object *limit = json_object_object_get(test, "max_seconds");
    const char *file = result->code_file ? result->code_file : "";
    const char *wrong = NULL;
    if (result->exit_code != json_object_get_int(json_object_object_get(test, "exit_code")))
        wrong = "exit_code";
    else if (text_of(test, "output") && strcmp(output, text_of(test, "output")) != 0)
        wrong = "output";
    else if (text_of(test, "output_matches") && !matches(output, text_of(test, "output_matches")))
        wrong = "output_matches";
    else if (text_of(test, "not_in_output") && strncmp(output, text_of(test, "not_in_output"),
                                                       strlen(text_of(test, "not_in_output"))) == 0)
        wrong = "not_in_output";
    else if (at_most && result->output_length > json_object_get_uint64(at_most))
        wrong = "output_at_most";
    else if (text_of(test, "code_file_matches") &&
             !matches(file, text_of(test, "code_file_matches")))
        wrong = "code_file_matches";
    else if (limit && seconds > json_object_get_double(limit) * (is_instrumented() ? 10 : 1))
        wrong = "max_seconds";
    else if (result->exit_code == 124 && is_left(test))
        wrong = "no_process_left";
    if (wrong) {
        print_message("%s: exit code %d, %.1f s, file %s, output:\n%.500s\n", wrong,
                      (int)result->exit_code, seconds, file, output);
    }
    free(output);
    return wrong;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Each has a workspace of its own. */
static void enter_folder(void)
{
    static int number = 0;
    char name[64];
    snprintf(name, sizeof name, "%.40s/%d", host.folder, number++);
    assert_int_equal(mkdir(name, 0755) | chdir(name), 0);
}

static void run_case(void **state)
{
    json_object *test = *state;
    enter_folder();
    code_executor_instance *instance = create_for(test);
    double begun = now();
    reply answer = execute_case(instance, test);
    double seconds = now() - begun;
    client_expect_ok(answer.status, &answer.error);
    const char *wrong = judge(test, answer.result, seconds);
    reply_release(&answer);
    host.table->destroy(instance);
    assert_false(is_left(test));
    assert_null(wrong);
}

int main(int argc, char **argv)
{
    client_begin(argc, argv);
    json_object *cases = json_object_from_file(CODE_EXECUTOR_TEST_CASES);
    size_t count = cases ? json_object_array_length(cases) : 0;
    struct CMUnitTest *tests = calloc(count + 1, sizeof *tests);
    for (size_t i = 0; tests && i < count; i++) {
        json_object *test = json_object_array_get_idx(cases, i);
        tests[i] = (struct CMUnitTest){
            .name = text_of(test, "name"), .test_func = run_case, .initial_state = test};
    }
    int failed =
        count > 0 && tests ? _cmocka_run_group_tests("cases", tests, count, NULL, NULL) : 1;
    free(tests);
    json_object_put(cases);
    return client_end(failed);
}
