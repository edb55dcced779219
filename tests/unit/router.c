/* SPDX-License-Identifier: Apache-2.0 */
/*
 * router.c: a request whose blocks go to several executors behaves as if there were one. Cancelling is
 * in router_cancel.c.
 */
#include "router_executor.h"
#include <code_executor_host.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Python goes to a, shells to b, and with a third route everything else to c. */
typedef struct fixture {
    code_executor_instance a, b, c;
    code_executor_router *router;
} fixture;

static int set_up(void **state)
{
    fixture *made = calloc(1, sizeof(*made));
    made->a.name = "a";
    made->b.name = "b";
    made->c.name = "c";
    *state = made;
    return code_executor_router_create(&made->router, NULL) != CODE_EXECUTOR_OK ||
           code_executor_router_add(made->router, "python", "A", &router_executor, &made->a,
                                    NULL) ||
           code_executor_router_add(made->router, "sh", "B", &router_executor, &made->b, NULL) ||
           code_executor_router_add(made->router, "bash", "B2", &router_executor, &made->b, NULL);
}

static int tear_down(void **state)
{
    fixture *made = *state;
    code_executor_router_free(made->router);
    size_t live = made->a.live + made->b.live + made->c.live;
    free(made);
    return live != 0;
}

typedef struct listing {
    code_executor_block blocks[8];
    const code_executor_block *pointers[8];
    code_executor_request request;
} listing;

/* A request with the blocks in WORDS: language, code, language, code …, NULL. */
static void list(listing *made, const char *const words[])
{
    memset(made, 0, sizeof(*made));
    size_t count = 0;
    for (; words[2 * count] != NULL; count++) {
        made->blocks[count] = (code_executor_block){
            .struct_size = sizeof(code_executor_block),
            .language = words[2 * count],
            .code = words[2 * count + 1],
            .code_length = strlen(words[2 * count + 1]),
        };
        made->pointers[count] = &made->blocks[count];
    }
    made->request = (code_executor_request){
        .struct_size = sizeof(made->request),
        .blocks = made->pointers,
        .block_count = count,
        .execution_id = 7,
    };
}
#define BLOCKS(...) ((const char *const[]){__VA_ARGS__, NULL})

static code_executor_routed_result *run(fixture *with, const char *const words[], int32_t status)
{
    listing made;
    list(&made, words);
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_routed_result *result = NULL;
    assert_int_equal(code_executor_router_execute(with->router, &made.request, &result, &error),
                     status);
    assert_int_equal(error.status, status);
    return result;
}

static void check_end(const code_executor_routed_result *routed, int32_t outcome, int32_t exit_code,
                      const char *output, size_t block_count)
{
    const code_executor_result *result = routed->result;
    assert_int_equal(result->outcome, outcome);
    assert_int_equal(result->exit_code, exit_code);
    assert_string_equal(result->output, output);
    assert_int_equal(result->output_length, strlen(output));
    assert_int_equal(result->block_count, block_count);
}

static int32_t refuse_to_execute(fixture *with, const code_executor_request *request)
{
    code_executor_routed_result *result = (code_executor_routed_result *)with;
    int32_t status = code_executor_router_execute(with->router, request, &result, NULL);
    assert_null(result);
    return status;
}

/* ------------------------------------------------------------------------------------------------ */

static void test_one_executor_gets_all_its_blocks_at_once(void **state)
{
    fixture *with = *state;
    code_executor_routed_result *result =
        run(with, BLOCKS("python", "1", "py", "2", "Python3", "3"), CODE_EXECUTOR_OK);
    check_end(result, CODE_EXECUTOR_OUTCOME_COMPLETED, 0, "a:python:1\na:py:2\na:Python3:3\n", 3);
    assert_int_equal(with->a.calls, 1);
    assert_int_equal(with->a.block_count, 3);
    code_executor_routed_result_free(result);
}

static void test_blocks_go_to_the_executors_of_their_languages(void **state)
{
    fixture *with = *state;
    code_executor_routed_result *result =
        run(with, BLOCKS("python", "1", "sh", "2", "bash", "3", "python", "4"), CODE_EXECUTOR_OK);
    check_end(result, CODE_EXECUTOR_OUTCOME_COMPLETED, 0,
              "a:python:1\nb:sh:2\nb:bash:3\na:python:4\n", 4);
    assert_int_equal(with->a.calls, 2);
    assert_int_equal(with->b.calls, 1); /* two routes, one executor */
    static const char *const labels[] = {"A", "B", "B2", "A"};
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(result->labels[i], labels[i]);
        assert_non_null(strchr(result->result->blocks[i]->output, (int)('1' + i)));
    }
    code_executor_routed_result_free(result);
}

static void test_all_executors_get_the_id_and_the_timeout(void **state)
{
    fixture *with = *state;
    listing made;
    list(&made, BLOCKS("python", "1", "sh", "2"));
    made.request.execution_id = 99;
    made.request.timeout = 2.5;
    code_executor_routed_result *result = NULL;
    assert_int_equal(code_executor_router_execute(with->router, &made.request, &result, NULL), 0);
    assert_int_equal(with->a.execution_id, 99);
    assert_int_equal(with->b.execution_id, 99);
    assert_true(with->a.timeout == 2.5 && with->b.timeout == 2.5);
    code_executor_routed_result_free(result);
}

static void test_the_first_failure_ends_the_run(void **state)
{
    fixture *with = *state;
    code_executor_routed_result *result =
        run(with, BLOCKS("python", "1", "sh", "exit 3", "python", "4"), CODE_EXECUTOR_OK);
    check_end(result, CODE_EXECUTOR_OUTCOME_COMPLETED, 3, "a:python:1\n", 2);
    assert_int_equal(with->a.calls, 1);
    code_executor_routed_result_free(result);
}

static void test_saved_blocks_do_not_end_the_run(void **state)
{
    fixture *with = *state;
    code_executor_routed_result *result = run(
        with, BLOCKS("python", "1", "sh", "save", "python", "save", "sh", "2"), CODE_EXECUTOR_OK);
    check_end(result, CODE_EXECUTOR_OUTCOME_COMPLETED, 0, "a:python:1\nb:sh:2\n", 4);
    assert_string_equal(result->result->code_file, "/b/0"); /* the first that was saved */
    assert_int_equal(result->result->blocks[2]->outcome, CODE_EXECUTOR_OUTCOME_SAVED);
    code_executor_routed_result_free(result);
}

static void test_a_language_without_a_route_is_refused(void **state)
{
    fixture *with = *state;
    code_executor_routed_result *result =
        run(with, BLOCKS("python", "1", "cobol", "2", "python", "3"), CODE_EXECUTOR_OK);
    check_end(result, CODE_EXECUTOR_OUTCOME_REFUSED, 1, "a:python:1\nUnsupported language cobol\n",
              2);
    const code_executor_block_result *block = result->result->blocks[1];
    assert_int_equal(block->outcome, CODE_EXECUTOR_OUTCOME_REFUSED);
    assert_int_equal(block->exit_code, 1);
    assert_string_equal(block->language, "cobol");
    assert_string_equal(block->output, "Unsupported language cobol\n");
    assert_string_equal(block->stdout_bytes, "");
    assert_string_equal(block->stderr_bytes, "");
    assert_string_equal(result->labels[1], "");
    code_executor_routed_result_free(result);
}

static void test_a_route_without_a_language_takes_the_rest(void **state)
{
    fixture *with = *state;
    code_executor_router_add(with->router, NULL, "rest", &router_executor, &with->c, NULL);
    code_executor_routed_result *result =
        run(with, BLOCKS("cobol", "1", "", "2", "python", "3"), CODE_EXECUTOR_OK);
    check_end(result, CODE_EXECUTOR_OUTCOME_COMPLETED, 0, "c:cobol:1\nc::2\na:python:3\n", 3);
    assert_string_equal(result->labels[0], "rest");
    code_executor_routed_result_free(result);
}

static void test_a_later_route_replaces_an_earlier_one(void **state)
{
    fixture *with = *state;
    code_executor_router_add(with->router, "PY", "new", &router_executor, &with->c, NULL);
    assert_string_equal(code_executor_router_find(with->router, "python3"), "new");
    code_executor_routed_result *result = run(with, BLOCKS("python", "1"), CODE_EXECUTOR_OK);
    check_end(result, CODE_EXECUTOR_OUTCOME_COMPLETED, 0, "c:python:1\n", 1);
    code_executor_routed_result_free(result);
}

static void test_find_gives_the_label(void **state)
{
    fixture *with = *state;
    assert_string_equal(code_executor_router_find(with->router, "SHELL"), "B");
    assert_null(code_executor_router_find(with->router, "cobol"));
    assert_null(code_executor_router_find(with->router, NULL));
    code_executor_router_add(with->router, NULL, "rest", &router_executor, &with->c, NULL);
    assert_string_equal(code_executor_router_find(with->router, "cobol"), "rest");
    assert_string_equal(code_executor_router_find(with->router, NULL), "rest");
}

static void test_a_result_outlives_its_router(void **state)
{
    fixture *with = *state;
    code_executor_routed_result *result =
        run(with, BLOCKS("python", "1", "cobol", "2"), CODE_EXECUTOR_OK);
    code_executor_router_free(with->router);
    with->router = NULL;
    assert_string_equal(result->labels[0], "A");
    check_end(result, CODE_EXECUTOR_OUTCOME_REFUSED, 1, "a:python:1\nUnsupported language cobol\n",
              2);
    code_executor_routed_result_free(result);
}

/* ------------------------------------------------------------------------------------------------
 * Failures of executors
 * --------------------------------------------------------------------------------------------- */

static void test_what_ran_before_a_failure_is_there(void **state)
{
    fixture *with = *state;
    code_executor_routed_result *result =
        run(with, BLOCKS("python", "1", "sh", "2", "sh", "die", "sh", "3"), CODE_EXECUTOR_LOST);
    check_end(result, CODE_EXECUTOR_OUTCOME_FAILED, 1, "a:python:1\nb:sh:2\n", 3);
    assert_int_equal(result->result->blocks[2]->outcome, CODE_EXECUTOR_OUTCOME_FAILED);
    code_executor_routed_result_free(result);
}

static void test_a_failure_before_the_second_executor_begins_counts(void **state)
{
    fixture *with = *state;
    code_executor_routed_result *result =
        run(with, BLOCKS("python", "1", "sh", "unavailable"), CODE_EXECUTOR_UNAVAILABLE);
    check_end(result, CODE_EXECUTOR_OUTCOME_FAILED, 1, "a:python:1\n", 1);
    code_executor_routed_result_free(result);
}

static void test_a_failure_before_anything_ran_has_no_result(void **state)
{
    fixture *with = *state;
    assert_null(run(with, BLOCKS("python", "unavailable", "sh", "1"), CODE_EXECUTOR_UNAVAILABLE));
}

static void test_an_executor_that_gives_nothing_is_at_fault(void **state)
{
    fixture *with = *state;
    assert_null(run(with, BLOCKS("python", "silent", "sh", "1"), CODE_EXECUTOR_INTERNAL));
    assert_int_equal(with->b.calls, 0);
}

/* ------------------------------------------------------------------------------------------------
 * Callbacks
 * --------------------------------------------------------------------------------------------- */

typedef struct heard {
    char text[512];
    size_t stop_at; /* answer not 0 to this block's on_output */
} heard;

static int32_t hear_begin(void *user_data, size_t block)
{
    heard *ear = user_data;
    sprintf(strchr(ear->text, '\0'), "[%zu]", block);
    return 0;
}

static int32_t hear_output(void *user_data, size_t block, int32_t stream, const char *bytes,
                           size_t length)
{
    heard *ear = user_data;
    sprintf(strchr(ear->text, '\0'), "%zu.%d:%.*s", block, (int)stream, (int)length, bytes);
    return block == ear->stop_at;
}

static void test_callbacks_count_blocks_as_the_request_does(void **state)
{
    fixture *with = *state;
    listing made;
    heard ear = {.stop_at = SIZE_MAX};
    list(&made, BLOCKS("python", "x", "sh", "y", "sh", "z", "cobol", "?"));
    made.request.user_data = &ear;
    made.request.on_begin = hear_begin;
    made.request.on_output = hear_output;
    code_executor_routed_result *result = NULL;
    assert_int_equal(code_executor_router_execute(with->router, &made.request, &result, NULL), 0);
    assert_string_equal(ear.text, "[0]0.1:a:python:x\n[1]1.1:b:sh:y\n[2]2.1:b:sh:z\n"
                                  "3.3:Unsupported language cobol\n");
    code_executor_routed_result_free(result);
}

static void test_a_callback_cancels_what_follows(void **state)
{
    fixture *with = *state;
    listing made;
    heard ear = {.stop_at = 0};
    list(&made, BLOCKS("python", "x", "sh", "y"));
    made.request.user_data = &ear;
    made.request.on_output = hear_output;
    code_executor_routed_result *result = NULL;
    assert_int_equal(code_executor_router_execute(with->router, &made.request, &result, NULL), 0);
    check_end(result, CODE_EXECUTOR_OUTCOME_CANCELLED, 130, "a:python:x\n", 1);
    assert_int_equal(with->b.calls, 0);
    code_executor_routed_result_free(result);
}

/* ------------------------------------------------------------------------------------------------
 * Requests
 * --------------------------------------------------------------------------------------------- */

static void test_no_blocks_are_invalid(void **state)
{
    fixture *with = *state;
    listing made;
    list(&made, BLOCKS("python", "1"));
    made.request.block_count = 0;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_routed_result *result = NULL;
    assert_int_equal(code_executor_router_execute(with->router, &made.request, &result, &error),
                     CODE_EXECUTOR_INVALID);
    assert_string_equal(error.message, "No code blocks to execute.");
}

static void test_requests_that_cannot_be_are_invalid(void **state)
{
    fixture *with = *state;
    listing made;
    static const double timeouts[] = {0.5, -1, NAN, -INFINITY};
    for (size_t i = 0; i < sizeof(timeouts) / sizeof(timeouts[0]); i++) {
        list(&made, BLOCKS("cobol", "1"));
        made.request.timeout = timeouts[i];
        assert_int_equal(refuse_to_execute(with, &made.request), CODE_EXECUTOR_INVALID);
    }
    list(&made, BLOCKS("python", "1"));
    made.request.execution_id = 0;
    assert_int_equal(refuse_to_execute(with, &made.request), CODE_EXECUTOR_INVALID);
    list(&made, BLOCKS("python", "1", "sh", "2"));
    made.pointers[1] = NULL;
    assert_int_equal(refuse_to_execute(with, &made.request), CODE_EXECUTOR_INVALID);
    list(&made, BLOCKS("python", "1"));
    made.blocks[0].language = NULL;
    assert_int_equal(refuse_to_execute(with, &made.request), CODE_EXECUTOR_INVALID);
    assert_int_equal(refuse_to_execute(with, NULL), CODE_EXECUTOR_INVALID);
    assert_int_equal(with->a.calls, 0);
}

static void test_a_request_of_a_later_version(void **state)
{
    fixture *with = *state;
    listing made;
    struct {
        code_executor_request known;
        uint64_t more;
    } later = {.more = 0};
    list(&made, BLOCKS("python", "1"));
    later.known = made.request;
    later.known.struct_size = sizeof(later);
    code_executor_routed_result *result = NULL;
    assert_int_equal(code_executor_router_execute(with->router, &later.known, &result, NULL), 0);
    code_executor_routed_result_free(result);
    later.more = 1;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(code_executor_router_execute(with->router, &later.known, &result, &error),
                     CODE_EXECUTOR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "code_executor_request"));
}

static void test_routes_that_cannot_be_are_invalid(void **state)
{
    fixture *with = *state;
    code_executor_router *router = with->router;
    assert_int_equal(code_executor_router_add(router, "x", NULL, &router_executor, &with->a, NULL),
                     CODE_EXECUTOR_INVALID);
    assert_int_equal(code_executor_router_add(router, "x", "X", NULL, &with->a, NULL),
                     CODE_EXECUTOR_INVALID);
    assert_int_equal(code_executor_router_add(router, "x", "X", &router_executor, NULL, NULL),
                     CODE_EXECUTOR_INVALID);
    assert_int_equal(code_executor_router_create(NULL, NULL), CODE_EXECUTOR_INVALID);
    code_executor_router_free(NULL);
    code_executor_routed_result_free(NULL);
}

static void test_many_stretches(void **state)
{
    fixture *with = *state;
    enum { COUNT = 20000 };
    const code_executor_block kinds[] = {
        {sizeof(code_executor_block), "python", "p", 1},
        {sizeof(code_executor_block), "sh", "s", 1},
    };
    const code_executor_block **blocks = calloc(COUNT, sizeof(const code_executor_block *));
    for (size_t i = 0; i < COUNT; i++)
        blocks[i] = &kinds[i % 2];
    code_executor_request request = {
        .struct_size = sizeof(request),
        .blocks = blocks,
        .block_count = COUNT,
        .execution_id = 1,
    };
    code_executor_routed_result *result = NULL;
    assert_int_equal(code_executor_router_execute(with->router, &request, &result, NULL), 0);
    assert_int_equal(result->result->block_count, COUNT);
    assert_string_equal(result->labels[COUNT - 1], "B");
    code_executor_routed_result_free(result);
    free(blocks);
}

#define ROUTER_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROUTER_TEST(test_one_executor_gets_all_its_blocks_at_once),
        ROUTER_TEST(test_blocks_go_to_the_executors_of_their_languages),
        ROUTER_TEST(test_all_executors_get_the_id_and_the_timeout),
        ROUTER_TEST(test_the_first_failure_ends_the_run),
        ROUTER_TEST(test_saved_blocks_do_not_end_the_run),
        ROUTER_TEST(test_a_language_without_a_route_is_refused),
        ROUTER_TEST(test_a_route_without_a_language_takes_the_rest),
        ROUTER_TEST(test_a_later_route_replaces_an_earlier_one),
        ROUTER_TEST(test_find_gives_the_label),
        ROUTER_TEST(test_a_result_outlives_its_router),
        ROUTER_TEST(test_what_ran_before_a_failure_is_there),
        ROUTER_TEST(test_a_failure_before_the_second_executor_begins_counts),
        ROUTER_TEST(test_a_failure_before_anything_ran_has_no_result),
        ROUTER_TEST(test_an_executor_that_gives_nothing_is_at_fault),
        ROUTER_TEST(test_callbacks_count_blocks_as_the_request_does),
        ROUTER_TEST(test_a_callback_cancels_what_follows),
        ROUTER_TEST(test_no_blocks_are_invalid),
        ROUTER_TEST(test_requests_that_cannot_be_are_invalid),
        ROUTER_TEST(test_a_request_of_a_later_version),
        ROUTER_TEST(test_routes_that_cannot_be_are_invalid),
        ROUTER_TEST(test_many_stretches),
    };
    return cmocka_run_group_tests_name("router", tests, NULL, NULL);
}
