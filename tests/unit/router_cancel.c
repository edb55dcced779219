/* SPDX-License-Identifier: Apache-2.0 */
/*
 * router_cancel.c: cancelling reaches an execution wherever it is: while its executor starts, while it
 * runs, and between two executors; and executions on one router do not disturb each other.
 */
#include "router_executor.h"
#include <code_executor_host.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* One execute on a thread of its own: a Python block for a, a shell block for b. */
typedef struct flight {
    code_executor_router *router;
    uint64_t id;
    const char *python, *shell;
    pthread_t thread;
    int32_t status;
    code_executor_routed_result *result;
} flight;

typedef struct fixture {
    code_executor_instance a, b;
    code_executor_router *router;
} fixture;

static int set_up(void **state)
{
    fixture *made = calloc(1, sizeof(*made));
    made->a.name = "a";
    made->b.name = "b";
    *state = made;
    return code_executor_router_create(&made->router, NULL) ||
           code_executor_router_add(made->router, "python", "A", &router_executor, &made->a,
                                    NULL) ||
           code_executor_router_add(made->router, "sh", "B", &router_executor, &made->b, NULL);
}

static int tear_down(void **state)
{
    fixture *made = *state;
    code_executor_router_free(made->router);
    size_t live = made->a.live + made->b.live;
    free(made);
    return live != 0;
}

static void sleep_ms(long milliseconds)
{
    struct timespec pause = {.tv_nsec = milliseconds * 1000000L};
    nanosleep(&pause, NULL);
}

static void *fly(void *argument)
{
    flight *now = argument;
    const code_executor_block blocks[] = {
        {sizeof(code_executor_block), "python", now->python, strlen(now->python)},
        {sizeof(code_executor_block), "sh", now->shell, strlen(now->shell)},
    };
    const code_executor_block *const pointers[] = {&blocks[0], &blocks[1]};
    const code_executor_request request = {
        .struct_size = sizeof(request),
        .blocks = pointers,
        .block_count = 2,
        .execution_id = now->id,
    };
    now->status = code_executor_router_execute(now->router, &request, &now->result, NULL);
    return NULL;
}

static void take_off(flight *now)
{
    assert_int_equal(pthread_create(&now->thread, NULL, fly, now), 0);
}

static void wait_until_called(const code_executor_instance *instance)
{
    while (atomic_load(&instance->calls) == 0)
        sleep_ms(1);
}

static void check_cancelled(flight *now, size_t block_count)
{
    assert_int_equal(pthread_join(now->thread, NULL), 0);
    assert_int_equal(now->status, CODE_EXECUTOR_OK);
    assert_int_equal(now->result->result->outcome, CODE_EXECUTOR_OUTCOME_CANCELLED);
    assert_int_equal(now->result->result->exit_code, 130);
    assert_int_equal(now->result->result->block_count, block_count);
    code_executor_routed_result_free(now->result);
}

static void test_the_executor_at_work_is_told(void **state)
{
    fixture *with = *state;
    flight now = {.router = with->router, .id = 5, .python = "1", .shell = "wait"};
    take_off(&now);
    wait_until_called(&with->b);
    assert_int_equal(code_executor_router_cancel(with->router, 5, NULL), CODE_EXECUTOR_OK);
    check_cancelled(&now, 2);
}

static void test_a_cancelled_execution_starts_no_further_executor(void **state)
{
    fixture *with = *state;
    flight now = {.router = with->router, .id = 5, .python = "wait", .shell = "1"};
    take_off(&now);
    wait_until_called(&with->a);
    assert_int_equal(code_executor_router_cancel(with->router, 5, NULL), CODE_EXECUTOR_OK);
    check_cancelled(&now, 1);
    assert_int_equal(with->b.calls, 0);
}

/* The word comes after execute was called and before the executor knows the id. */
static void test_a_cancel_is_not_lost_before_the_executor_listens(void **state)
{
    fixture *with = *state;
    with->a.deaf_for = 20;
    with->a.starts_for = 60000; /* a pull, which the word has to end */
    flight now = {.router = with->router, .id = 5, .python = "1", .shell = "1"};
    take_off(&now);
    wait_until_called(&with->a);
    assert_int_equal(code_executor_router_cancel(with->router, 5, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(pthread_join(now.thread, NULL), 0);
    assert_int_equal(now.status, CODE_EXECUTOR_CANCELLED);
    assert_null(now.result);
    assert_true(with->a.refused_cancels > 0);
}

/* The same where the executor does not listen for so long that the word is not repeated any more. */
static void test_a_cancel_is_not_lost_on_a_deaf_executor(void **state)
{
    fixture *with = *state;
    with->a.deaf_for = 900;
    flight now = {.router = with->router, .id = 5, .python = "wait", .shell = "1"};
    take_off(&now);
    wait_until_called(&with->a);
    assert_int_equal(code_executor_router_cancel(with->router, 5, NULL), CODE_EXECUTOR_OK);
    check_cancelled(&now, 1);
    assert_int_equal(with->a.cancels, 0); /* the callback on_begin said it */
}

static void test_a_cancelled_start_of_the_second_executor_keeps_the_first_result(void **state)
{
    fixture *with = *state;
    with->b.starts_for = 60000;
    flight now = {.router = with->router, .id = 5, .python = "1", .shell = "1"};
    take_off(&now);
    wait_until_called(&with->b);
    assert_int_equal(code_executor_router_cancel(with->router, 5, NULL), CODE_EXECUTOR_OK);
    check_cancelled(&now, 1);
}

static void test_what_is_not_in_flight_is_not_found(void **state)
{
    fixture *with = *state;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(code_executor_router_cancel(with->router, 5, &error), CODE_EXECUTOR_NOT_FOUND);
    assert_non_null(strstr(error.message, "5"));
    assert_int_equal(code_executor_router_cancel(with->router, 0, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(code_executor_router_cancel(NULL, 0, NULL), CODE_EXECUTOR_INVALID);
}

static void test_an_id_in_flight_is_invalid(void **state)
{
    fixture *with = *state;
    flight now = {.router = with->router, .id = 5, .python = "wait", .shell = "1"};
    flight again = now;
    take_off(&now);
    wait_until_called(&with->a);
    fly(&again);
    assert_int_equal(again.status, CODE_EXECUTOR_INVALID);
    assert_null(again.result);
    assert_int_equal(code_executor_router_cancel(with->router, 5, NULL), CODE_EXECUTOR_OK);
    check_cancelled(&now, 1);
}

static void test_id_0_cancels_everything(void **state)
{
    fixture *with = *state;
    flight flights[6];
    for (size_t i = 0; i < 6; i++) {
        bool first = i % 2 == 0;
        flights[i] = (flight){.router = with->router, .id = 10 + i};
        flights[i].python = first ? "wait" : "1";
        flights[i].shell = first ? "1" : "wait";
        take_off(&flights[i]);
    }
    while (atomic_load(&with->a.calls) < 6 || atomic_load(&with->b.calls) < 3)
        sleep_ms(1);
    assert_int_equal(code_executor_router_cancel(with->router, 0, NULL), CODE_EXECUTOR_OK);
    for (size_t i = 0; i < 6; i++)
        check_cancelled(&flights[i], i % 2 == 0 ? 1 : 2);
    assert_int_equal(code_executor_router_cancel(with->router, 0, NULL), CODE_EXECUTOR_OK);
}

static void test_id_0_is_not_lost_before_an_executor_listens(void **state)
{
    fixture *with = *state;
    with->a.deaf_for = 20;
    with->a.starts_for = 60000;
    flight now = {.router = with->router, .id = 5, .python = "1", .shell = "1"};
    take_off(&now);
    wait_until_called(&with->a);
    assert_int_equal(code_executor_router_cancel(with->router, 0, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(pthread_join(now.thread, NULL), 0);
    assert_int_equal(now.status, CODE_EXECUTOR_CANCELLED);
}

static void test_cancelling_one_leaves_the_others_alone(void **state)
{
    fixture *with = *state;
    flight waiting = {.router = with->router, .id = 1, .python = "wait", .shell = "1"};
    take_off(&waiting);
    wait_until_called(&with->a);
    for (uint64_t i = 2; i < 50; i++) {
        flight other = {.router = with->router, .id = i, .python = "x", .shell = "y"};
        fly(&other);
        assert_int_equal(other.status, CODE_EXECUTOR_OK);
        assert_string_equal(other.result->result->output, "a:python:x\nb:sh:y\n");
        code_executor_routed_result_free(other.result);
    }
    assert_int_equal(code_executor_router_cancel(with->router, 1, NULL), CODE_EXECUTOR_OK);
    check_cancelled(&waiting, 1);
}

/* Whenever the word comes, the execution ends. */
static void test_a_cancel_at_any_moment_ends_the_execution(void **state)
{
    fixture *with = *state;
    for (long i = 0; i < 300; i++) {
        flight now = {.router = with->router, .id = 1, .python = "1", .shell = "wait"};
        take_off(&now);
        struct timespec pause = {.tv_nsec = (i % 100) * 2000};
        nanosleep(&pause, NULL);
        while (code_executor_router_cancel(with->router, 1, NULL) == CODE_EXECUTOR_NOT_FOUND) {
        }
        assert_int_equal(pthread_join(now.thread, NULL), 0);
        assert_true(now.status == CODE_EXECUTOR_OK || now.status == CODE_EXECUTOR_CANCELLED);
        if (now.result != NULL)
            assert_int_equal(now.result->result->outcome, CODE_EXECUTOR_OUTCOME_CANCELLED);
        code_executor_routed_result_free(now.result);
    }
}

#define ROUTER_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROUTER_TEST(test_the_executor_at_work_is_told),
        ROUTER_TEST(test_a_cancelled_execution_starts_no_further_executor),
        ROUTER_TEST(test_a_cancel_is_not_lost_before_the_executor_listens),
        ROUTER_TEST(test_a_cancel_is_not_lost_on_a_deaf_executor),
        ROUTER_TEST(test_a_cancelled_start_of_the_second_executor_keeps_the_first_result),
        ROUTER_TEST(test_what_is_not_in_flight_is_not_found),
        ROUTER_TEST(test_an_id_in_flight_is_invalid),
        ROUTER_TEST(test_id_0_cancels_everything),
        ROUTER_TEST(test_id_0_is_not_lost_before_an_executor_listens),
        ROUTER_TEST(test_cancelling_one_leaves_the_others_alone),
        ROUTER_TEST(test_a_cancel_at_any_moment_ends_the_execution),
    };
    return cmocka_run_group_tests_name("router_cancel", tests, NULL, NULL);
}
