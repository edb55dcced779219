/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests.c: what an execution is asked for and what comes of it, on any executor: bad requests,
 * standard input, environment, floods, callbacks, a workspace that vanishes. See executor_client.h for
 * the command line.
 */
#include "executor_client.h"

#include <ftw.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static code_executor_instance *instance;

static int set_up(void **state)
{
    (void)state;
    instance = client_create();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    host.table->destroy(instance);
    return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Bad requests
 * --------------------------------------------------------------------------------------------- */

static void expect_refused(const code_executor_request *request, int32_t status, const char *words)
{
    reply answer = client_execute(instance, request);
    assert_int_equal(answer.status, status);
    assert_int_equal(answer.error.status, status);
    assert_null(answer.result);
    if (!strstr(answer.error.message, words))
        fail_msg("\"%s\" is not in \"%s\"", words, answer.error.message);
}

static void no_blocks_are_invalid(void **state)
{
    (void)state;
    question asked;
    question_set(&asked, "sh", "echo");
    asked.request.block_count = 0;
    expect_refused(&asked.request, CODE_EXECUTOR_INVALID, "No code blocks to execute.");
    expect_refused(NULL, CODE_EXECUTOR_INVALID, "request");
}

static void a_timeout_below_one_is_invalid(void **state)
{
    (void)state;
    static const double wrong[] = {0.5, -1, 0.999, (double)NAN, (double)-INFINITY};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        question asked;
        question_set(&asked, "sh", "echo");
        asked.request.timeout = wrong[i];
        expect_refused(&asked.request, CODE_EXECUTOR_INVALID,
                       "Timeout must be greater than or equal to 1.");
    }
}

static void a_timeout_may_be_infinite(void **state)
{
    (void)state;
    question asked;
    question_set(&asked, "sh", "echo fine");
    asked.request.timeout = (double)INFINITY;
    reply answer = client_execute(instance, &asked.request);
    client_expect_ok(answer.status, &answer.error);
    assert_string_equal(answer.result->output, "fine\n");
    reply_release(&answer);
}

static void pointers_that_are_missing_are_invalid(void **state)
{
    (void)state;
    question asked;
    question_set(&asked, "sh", "echo");
    asked.request.execution_id = 0;
    expect_refused(&asked.request, CODE_EXECUTOR_INVALID, "execution_id");
    question_set(&asked, NULL, "echo");
    expect_refused(&asked.request, CODE_EXECUTOR_INVALID, "language");
    question_set(&asked, "sh", "echo");
    asked.block.code = NULL;
    expect_refused(&asked.request, CODE_EXECUTOR_INVALID, "code");
    question_set(&asked, "sh", "echo");
    asked.blocks[0] = NULL;
    expect_refused(&asked.request, CODE_EXECUTOR_INVALID, "block 0");
    question_set(&asked, "sh", "echo");
    asked.request.blocks = NULL;
    expect_refused(&asked.request, CODE_EXECUTOR_INVALID, "blocks");
    question_set(&asked, "sh", "echo");
    asked.request.stdin_length = 1;
    expect_refused(&asked.request, CODE_EXECUTOR_INVALID, "stdin");
    static const char *const environment[] = {"NOVALUE"};
    question_set(&asked, "sh", "echo");
    asked.request.environment = environment;
    asked.request.environment_count = 1;
    expect_refused(&asked.request, CODE_EXECUTOR_INVALID, "environment");
}

static void an_empty_block_runs(void **state)
{
    (void)state;
    question asked;
    question_set(&asked, "sh", "");
    asked.block.code = NULL;
    reply answer = client_execute(instance, &asked.request);
    client_expect_ok(answer.status, &answer.error);
    assert_int_equal(answer.result->exit_code, 0);
    assert_string_equal(answer.result->output, "");
    reply_release(&answer);
}

/* A structure with a field more than this version has. */
struct larger_request {
    code_executor_request request;
    uint64_t unknown;
};

struct larger_block {
    code_executor_block block;
    uint64_t unknown;
};

static void an_unknown_field_that_is_set_is_unsupported(void **state)
{
    (void)state;
    question asked;
    question_set(&asked, "sh", "echo fine");
    struct larger_request larger = {.request = asked.request};
    larger.request.struct_size = sizeof larger;
    reply answer = client_execute(instance, &larger.request);
    client_expect_ok(answer.status, &answer.error);
    reply_release(&answer);
    larger.unknown = 1;
    expect_refused(&larger.request, CODE_EXECUTOR_UNSUPPORTED, "code_executor_request");
    struct larger_block block = {.block = asked.block, .unknown = 1};
    block.block.struct_size = sizeof block;
    asked.blocks[0] = &block.block;
    expect_refused(&asked.request, CODE_EXECUTOR_UNSUPPORTED, "code_executor_block");
}

static void a_structure_of_no_size_is_invalid(void **state)
{
    (void)state;
    question asked;
    question_set(&asked, "sh", "echo");
    asked.request.struct_size = 0;
    expect_refused(&asked.request, CODE_EXECUTOR_INVALID, "code_executor_request");
    question_set(&asked, "sh", "echo");
    asked.block.struct_size = sizeof(size_t);
    expect_refused(&asked.request, CODE_EXECUTOR_INVALID, "code_executor_block");
    question_set(&asked, "sh", "echo");
    asked.request.struct_size = (size_t)-1;
    expect_refused(&asked.request, CODE_EXECUTOR_INVALID, "code_executor_request");
}

static void an_error_may_be_null(void **state)
{
    (void)state;
    code_executor_result *result;
    assert_int_equal(host.table->execute(instance, NULL, &result, NULL), CODE_EXECUTOR_INVALID);
    assert_int_equal(host.table->create(NULL, "nonsense", &(code_executor_instance *){NULL}, NULL),
                     CODE_EXECUTOR_INVALID);
}

/* ------------------------------------------------------------------------------------------------
 * Input and environment
 * --------------------------------------------------------------------------------------------- */

static void standard_input_may_be_large(void **state)
{
    (void)state;
    size_t length = 100 * 1000 * 1000;
    char *bytes = malloc(length);
    assert_non_null(bytes);
    memset(bytes, 'x', length);
    question asked;
    question_set(&asked, "sh", "wc -c");
    asked.request.stdin_bytes = bytes;
    asked.request.stdin_length = length;
    reply answer = client_execute(instance, &asked.request);
    free(bytes);
    client_expect_ok(answer.status, &answer.error);
    assert_int_equal(atol(answer.result->output), length);
    reply_release(&answer);
}

static void standard_input_that_nobody_reads_is_no_fault(void **state)
{
    (void)state;
    size_t length = 20 * 1000 * 1000;
    char *bytes = calloc(1, length);
    assert_non_null(bytes);
    question asked;
    question_set(&asked, "sh", "echo done");
    asked.request.stdin_bytes = bytes;
    asked.request.stdin_length = length;
    reply answer = client_execute(instance, &asked.request);
    free(bytes);
    client_expect_ok(answer.status, &answer.error);
    assert_string_equal(answer.result->output, "done\n");
    reply_release(&answer);
}

static void each_block_finds_the_input_again(void **state)
{
    (void)state;
    question asked;
    question_set(&asked, "sh", "cat");
    const code_executor_block *blocks[] = {&asked.block, &asked.block};
    asked.request.blocks = blocks;
    asked.request.block_count = 2;
    asked.request.stdin_bytes = "in\n";
    asked.request.stdin_length = 3;
    reply answer = client_execute(instance, &asked.request);
    client_expect_ok(answer.status, &answer.error);
    assert_string_equal(answer.result->output, "in\nin\n");
    assert_int_equal(answer.result->block_count, 2);
    reply_release(&answer);
}

static void environment_additions_reach_the_code(void **state)
{
    (void)state;
    static const char *const environment[] = {"ADDED=a b=c", "LANG=xx", "EMPTY="};
    question asked;
    question_set(&asked, "sh", "echo \"$ADDED|$LANG|${EMPTY-unset}\"");
    asked.request.environment = environment;
    asked.request.environment_count = 3;
    reply answer = client_execute(instance, &asked.request);
    client_expect_ok(answer.status, &answer.error);
    assert_string_equal(answer.result->output, "a b=c|xx|\n");
    reply_release(&answer);
    client_expect_output(instance, "echo \"${ADDED-gone}\"", "gone\n");
}

static void code_with_nul_bytes_is_run_as_it_is(void **state)
{
    (void)state;
    static const char code[] = "print('a\0b')";
    question asked;
    question_set(&asked, "python", "");
    asked.block.code = code;
    asked.block.code_length = sizeof code - 1;
    reply answer = client_execute(instance, &asked.request);
    client_expect_ok(answer.status, &answer.error);
    assert_true(answer.result->block_count == 1);
    reply_release(&answer);
    client_expect_output(instance, "echo works", "works\n");
}

/* ------------------------------------------------------------------------------------------------
 * Output
 * --------------------------------------------------------------------------------------------- */

struct seen {
    pthread_t thread;
    uint64_t bytes;
    size_t begun;
    bool elsewhere;
};

static int32_t see_begin(void *user_data, size_t block)
{
    struct seen *seen = user_data;
    seen->elsewhere = seen->elsewhere || !pthread_equal(pthread_self(), seen->thread);
    assert_int_equal(block, seen->begun);
    seen->begun++;
    return 0;
}

static int32_t see_output(void *user_data, size_t block, int32_t stream, const char *bytes,
                          size_t length)
{
    (void)block;
    (void)stream;
    (void)bytes;
    struct seen *seen = user_data;
    seen->elsewhere = seen->elsewhere || !pthread_equal(pthread_self(), seen->thread);
    seen->bytes += length;
    return 0;
}

static void a_flood_under_a_time_out_is_bounded(void **state)
{
    (void)state;
    struct seen seen = {.thread = pthread_self()};
    question asked;
    client_expect_output(instance, "echo up", "up\n");
    question_set(&asked, "sh", "head -c 10000000000 /dev/zero | tr '\\0' x");
    asked.request.timeout = 3;
    asked.request.on_begin = see_begin;
    asked.request.on_output = see_output;
    asked.request.user_data = &seen;
    size_t before = memory_kb("VmHWM");
    reply answer = client_execute(instance, &asked.request);
    client_expect_ok(answer.status, &answer.error);
    assert_int_equal(answer.result->outcome, CODE_EXECUTOR_OUTCOME_TIMED_OUT);
    assert_int_equal(answer.result->exit_code, 124);
    assert_true(answer.result->output_length < 11000000);
    assert_true(seen.bytes > answer.result->output_length);
    assert_int_equal(seen.begun, 1);
    assert_false(seen.elsewhere);
    size_t grown = memory_kb("VmHWM") - before;
    if (!is_instrumented() && grown > 100 * 1024)
        fail_msg("the process grew by %zu kB", grown);
    reply_release(&answer);
    client_expect_output(instance, "echo works", "works\n");
}

static int32_t count_streams(void *user_data, size_t block, int32_t stream, const char *bytes,
                             size_t length)
{
    (void)block;
    (void)bytes;
    size_t *lengths = user_data;
    lengths[stream >= 1 && stream <= 3 ? stream : 0] += length;
    return 0;
}

static void streams_are_told_apart(void **state)
{
    (void)state;
    size_t lengths[4] = {0};
    question asked;
    question_set(&asked, "sh", "echo out; echo error >&2; sleep 30");
    asked.request.timeout = 1;
    asked.request.on_output = count_streams;
    asked.request.user_data = lengths;
    reply answer = client_execute(instance, &asked.request);
    client_expect_ok(answer.status, &answer.error);
    assert_int_equal(lengths[0], 0);
    assert_int_equal(lengths[CODE_EXECUTOR_STREAM_STDOUT], 4);
    assert_int_equal(lengths[CODE_EXECUTOR_STREAM_STDERR], 6);
    assert_int_equal(lengths[CODE_EXECUTOR_STREAM_EXECUTOR], strlen("\nTimeout"));
    const code_executor_block_result *block = answer.result->blocks[0];
    assert_string_equal(block->stdout_bytes, "out\n");
    assert_string_equal(block->stderr_bytes, "error\n");
    assert_string_equal(block->output + block->output_length - 8, "\nTimeout");
    assert_true(block->wall_ns >= 900000000);
    reply_release(&answer);
}

static int32_t sleep_in_output(void *user_data, size_t block, int32_t stream, const char *bytes,
                               size_t length)
{
    (void)block;
    (void)stream;
    (void)bytes;
    size_t *calls = user_data;
    usleep(*calls < 20 ? 50000 : 0);
    (*calls)++;
    return length > 0 ? 0 : 1;
}

static void a_slow_callback_gets_every_byte(void **state)
{
    (void)state;
    size_t calls = 0;
    question asked;
    question_set(&asked, "sh", "head -c 5000000 /dev/zero; echo end");
    asked.request.on_output = sleep_in_output;
    asked.request.user_data = &calls;
    reply answer = client_execute(instance, &asked.request);
    client_expect_ok(answer.status, &answer.error);
    assert_int_equal(answer.result->output_length, 5000004);
    assert_int_equal(answer.result->exit_code, 0);
    reply_release(&answer);
}

/* ------------------------------------------------------------------------------------------------
 * The workspace
 * --------------------------------------------------------------------------------------------- */

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

/* The workspace is the current folder: another takes its place. */
static void replace_workspace(void)
{
    assert_int_equal(nftw(host.folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
    assert_int_equal(mkdir(host.folder, 0700), 0);
    assert_int_equal(chdir(host.folder), 0);
}

static void a_workspace_that_was_replaced_is_used_anew(void **state)
{
    (void)state;
    client_expect_output(instance, "echo before > file; cat file", "before\n");
    replace_workspace();
    client_expect_output(instance, "ls file 2>/dev/null; echo after > file; cat file", "after\n");
    assert_int_equal(access("file", F_OK), 0);
}

static void a_workspace_that_vanishes_while_code_runs_is_no_end(void **state)
{
    (void)state;
    background run;
    background_prepare(&run, instance,
                       "touch begun; while [ -e begun ]; do sleep 0.05; done; echo gone");
    background_begin(&run);
    assert_true(eventually(file_exists, "begun"));
    replace_workspace();
    background_join(&run);
    client_expect_ok(run.answer.status, &run.answer.error);
    assert_string_equal(run.answer.result->output, "gone\n");
    reply_release(&run.answer);
    client_expect_output(instance, "echo works > file; cat file", "works\n");
}

/* ------------------------------------------------------------------------------------------------
 * Description and languages
 * --------------------------------------------------------------------------------------------- */

static void describe_tells_what_the_header_promises(void **state)
{
    (void)state;
    static const char *const members[] = {
        "\"name\":",     "\"state\":",     "\"timeout\":", "\"work_dir\":",
        "\"bind_dir\":", "\"isolation\":", "\"engine\":",  "\"limits\":{"};
    char *json = NULL;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    client_expect_ok(host.table->describe(instance, &json, &error), &error);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        if (!strstr(json, members[i]))
            fail_msg("%s is not in %s", members[i], json);
    host.table->string_free(json);
}

static const code_executor_language *find_language(code_executor_instance *asked, const char *name)
{
    const code_executor_languages_v1 *extension =
        host.table->get_extension(asked, CODE_EXECUTOR_EXTENSION_LANGUAGES);
    const code_executor_language *const *languages;
    size_t count;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_non_null(extension);
    client_expect_ok(extension->list(asked, &languages, &count, &error), &error);
    for (size_t i = 0; i < count; i++)
        if (strcmp(languages[i]->name, name) == 0)
            return languages[i];
    fail_msg("%s is not listed", name);
    return NULL;
}

static void languages_are_listed_with_their_interpreters(void **state)
{
    (void)state;
    assert_null(find_language(instance, "sh")->interpreter);
    client_expect_output(instance, "echo up", "up\n");
    const code_executor_language *sh = find_language(instance, "sh");
    assert_true(sh->runs);
    assert_non_null(sh->interpreter);
    assert_int_equal(sh->interpreter[0], '/');
    assert_string_equal(sh->aliases[0], "shell");
    const code_executor_language *python = find_language(instance, "python");
    assert_string_equal(python->command, "python, python3");
    assert_false(find_language(instance, "css")->runs);
    assert_null(find_language(NULL, "python")->interpreter);
    assert_null(host.table->get_extension(instance, "nothing/1"));
    assert_null(host.table->get_extension(NULL, "nothing/1"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
    client_begin(argc, argv);
    const struct CMUnitTest tests[] = {
        TEST(no_blocks_are_invalid),
        TEST(a_timeout_below_one_is_invalid),
        TEST(a_timeout_may_be_infinite),
        TEST(pointers_that_are_missing_are_invalid),
        TEST(an_empty_block_runs),
        TEST(an_unknown_field_that_is_set_is_unsupported),
        TEST(a_structure_of_no_size_is_invalid),
        TEST(an_error_may_be_null),
        TEST(standard_input_may_be_large),
        TEST(standard_input_that_nobody_reads_is_no_fault),
        TEST(each_block_finds_the_input_again),
        TEST(environment_additions_reach_the_code),
        TEST(code_with_nul_bytes_is_run_as_it_is),
        TEST(a_flood_under_a_time_out_is_bounded),
        TEST(streams_are_told_apart),
        TEST(a_slow_callback_gets_every_byte),
        TEST(a_workspace_that_was_replaced_is_used_anew),
        TEST(a_workspace_that_vanishes_while_code_runs_is_no_end),
        TEST(describe_tells_what_the_header_promises),
        TEST(languages_are_listed_with_their_interpreters),
    };
    return client_end(cmocka_run_group_tests_name("requests", tests, NULL, NULL));
}
