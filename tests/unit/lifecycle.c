/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lifecycle.c: starts, stops and what comes between them, with a launcher that counts and fails as it is
 * told. It is called through the table of a plugin that is made of it.
 */
#include "lifecycle_support.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

/* ------------------------------------------------------------------------------------------------
 * Starting
 * --------------------------------------------------------------------------------------------- */

static void concurrent_starts_share_one_launch(void **state)
{
    (void)state;
    struct call calls[8];
    atomic_store(&fake.behaviour, WAITS);
    for (uint64_t i = 0; i < 8; i++)
        call_begin(&calls[i], i / 2);
    let_them_wait();
    atomic_store(&fake.behaviour, SUCCEEDS);
    int refused = 0;
    for (int i = 0; i < 8; i++) {
        call_join(&calls[i]);
        /* Two of each id: one of them is refused unless the other was through already. */
        refused += calls[i].status == CODE_EXECUTOR_INVALID;
        assert_true(calls[i].status == CODE_EXECUTOR_OK || calls[i].id != 0);
    }
    assert_true(refused <= 3);
    assert_int_equal(atomic_load(&fake.launches), 1);
    assert_int_equal(atomic_load(&progressed), 1);
}

static void those_that_wait_share_a_failure(void **state)
{
    (void)state;
    struct call calls[4];
    atomic_store(&fake.behaviour, WAITS);
    for (uint64_t i = 0; i < 4; i++)
        call_begin(&calls[i], i);
    let_them_wait();
    atomic_store(&fake.behaviour, FAILS);
    for (int i = 0; i < 4; i++) {
        call_join(&calls[i]);
        assert_int_equal(calls[i].status, CODE_EXECUTOR_UNAVAILABLE);
        assert_int_equal(calls[i].outcome, -1);
    }
    assert_int_equal(atomic_load(&fake.shut_downs), 0);
    /* The next one tries again. */
    int before = atomic_load(&fake.launches);
    atomic_store(&fake.behaviour, SUCCEEDS);
    assert_int_equal(table->start(instance, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(atomic_load(&fake.launches), before + 1);
}

static void a_runner_that_does_not_answer_is_shut_down(void **state)
{
    (void)state;
    struct call call;
    atomic_store(&fake.behaviour, DEAF);
    call_begin(&call, 0);
    await_value(&fake.launches, 1);
    let_them_wait();
    assert_int_equal(table->cancel(instance, 0, NULL), CODE_EXECUTOR_OK);
    call_join(&call);
    assert_int_equal(call.status, CODE_EXECUTOR_CANCELLED);
    assert_int_equal(atomic_load(&fake.shut_downs), 1);
}

/* ------------------------------------------------------------------------------------------------
 * Cancelling a launch
 * --------------------------------------------------------------------------------------------- */

static void cancel_of_all_ends_a_launch_and_those_that_wait_for_it(void **state)
{
    (void)state;
    struct call calls[4];
    atomic_store(&fake.behaviour, WAITS);
    for (uint64_t i = 0; i < 4; i++)
        call_begin(&calls[i], i);
    await_value(&fake.launches, 1);
    let_them_wait();
    assert_int_equal(table->cancel(instance, 0, NULL), CODE_EXECUTOR_OK);
    for (int i = 0; i < 4; i++) {
        call_join(&calls[i]);
        assert_int_equal(calls[i].status, CODE_EXECUTOR_CANCELLED);
        assert_int_equal(calls[i].outcome, -1);
    }
    assert_int_equal(atomic_load(&fake.launches), 1);
}

static void another_goes_on_where_the_one_that_launches_is_cancelled(void **state)
{
    (void)state;
    struct call first;
    struct call second;
    atomic_store(&fake.behaviour, WAITS);
    call_begin(&first, 1);
    await_value(&fake.launches, 1);
    call_begin(&second, 2);
    let_them_wait();
    assert_int_equal(table->cancel(instance, 1, NULL), CODE_EXECUTOR_OK);
    call_join(&first);
    assert_int_equal(first.status, CODE_EXECUTOR_CANCELLED);
    await_value(&fake.launches, 2);
    atomic_store(&fake.behaviour, SUCCEEDS);
    call_join(&second);
    assert_int_equal(second.status, CODE_EXECUTOR_OK);
    assert_int_equal(second.outcome, CODE_EXECUTOR_OUTCOME_COMPLETED);
}

static void one_that_waits_is_cancelled_alone(void **state)
{
    (void)state;
    struct call first;
    struct call second;
    atomic_store(&fake.behaviour, WAITS);
    call_begin(&first, 1);
    await_value(&fake.launches, 1);
    call_begin(&second, 2);
    let_them_wait();
    assert_int_equal(table->cancel(instance, 2, NULL), CODE_EXECUTOR_OK);
    call_join(&second);
    assert_int_equal(second.status, CODE_EXECUTOR_CANCELLED);
    atomic_store(&fake.behaviour, SUCCEEDS);
    call_join(&first);
    assert_int_equal(first.outcome, CODE_EXECUTOR_OUTCOME_COMPLETED);
    assert_int_equal(atomic_load(&fake.launches), 1);
}

static void stop_ends_a_launch_and_nobody_starts_again(void **state)
{
    (void)state;
    struct call calls[4];
    atomic_store(&fake.behaviour, WAITS);
    for (uint64_t i = 0; i < 4; i++)
        call_begin(&calls[i], i);
    await_value(&fake.launches, 1);
    let_them_wait();
    assert_int_equal(table->stop(instance, NULL), CODE_EXECUTOR_OK);
    for (int i = 0; i < 4; i++) {
        call_join(&calls[i]);
        assert_int_equal(calls[i].status, CODE_EXECUTOR_CANCELLED);
    }
    assert_int_equal(atomic_load(&fake.launches), 1);
    assert_int_equal(atomic_load(&fake.shut_downs), 0);
}

static void *restart_on_thread(void *status)
{
    *(int32_t *)status = table->restart(instance, NULL);
    return NULL;
}

static void restart_ends_executions_that_wait_but_no_start(void **state)
{
    (void)state;
    struct call executing;
    struct call starting;
    atomic_store(&fake.behaviour, WAITS);
    call_begin(&executing, 1); /* launches */
    await_value(&fake.launches, 1);
    call_begin(&starting, 0);
    let_them_wait();
    pthread_t thread;
    int32_t status = -1;
    assert_int_equal(pthread_create(&thread, NULL, restart_on_thread, &status), 0);
    call_join(&executing);
    assert_int_equal(executing.status, CODE_EXECUTOR_CANCELLED);
    await_value(&fake.launches, 2); /* the start's or the restart's */
    atomic_store(&fake.behaviour, SUCCEEDS);
    pthread_join(thread, NULL);
    call_join(&starting);
    assert_int_equal(status, CODE_EXECUTOR_OK);
    assert_int_equal(starting.status, CODE_EXECUTOR_OK);
    assert_int_equal(atomic_load(&fake.launches), 2);
}

/* ------------------------------------------------------------------------------------------------
 * Stopping, restarting, losing
 * --------------------------------------------------------------------------------------------- */

static void stop_tells_what_could_not_be_removed(void **state)
{
    (void)state;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(table->start(instance, NULL), CODE_EXECUTOR_OK);
    atomic_store(&fake.fails_to_shut_down, true);
    assert_int_equal(table->stop(instance, &error), CODE_EXECUTOR_IO);
    assert_string_equal(error.message, "something is left");
    assert_int_equal(table->stop(instance, &error), CODE_EXECUTOR_OK);
    assert_int_equal(atomic_load(&fake.lost), 0);
}

static void restart_keeps_an_environment_that_can_be_reset(void **state)
{
    (void)state;
    assert_int_equal(table->start(instance, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(table->restart(instance, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(atomic_load(&fake.launches), 1);
}

static void restart_launches_anew_where_the_launcher_wants_it(void **state)
{
    (void)state;
    atomic_store(&fake.relaunches, true);
    assert_int_equal(table->start(instance, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(table->restart(instance, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(atomic_load(&fake.launches), 2);
    assert_int_equal(atomic_load(&fake.shut_downs), 1);
    assert_int_equal(atomic_load(&fake.lost), 0);
}

static void a_reset_without_an_answer_can_be_cancelled(void **state)
{
    (void)state;
    assert_int_equal(table->start(instance, NULL), CODE_EXECUTOR_OK);
    atomic_store(&fake.answers_reset, false);
    pthread_t thread;
    int32_t status = -1;
    assert_int_equal(pthread_create(&thread, NULL, restart_on_thread, &status), 0);
    let_them_wait();
    assert_int_equal(table->cancel(instance, 0, NULL), CODE_EXECUTOR_OK);
    pthread_join(thread, NULL);
    assert_int_equal(status, CODE_EXECUTOR_CANCELLED);
    assert_int_equal(atomic_load(&fake.shut_downs), 1);
    assert_int_equal(table->start(instance, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(atomic_load(&fake.launches), 2);
}

static void a_lost_environment_is_launched_anew(void **state)
{
    (void)state;
    struct call call = {.id = 5};
    call_now(&call);
    assert_int_equal(call.outcome, CODE_EXECUTOR_OUTCOME_COMPLETED);
    shutdown(fake.runner->fd, SHUT_RDWR);
    char *json;
    assert_int_equal(table->describe(instance, &json, NULL), CODE_EXECUTOR_OK);
    assert_non_null(strstr(json, "\"state\":\"lost\""));
    table->string_free(json);
    call_now(&call);
    assert_int_equal(call.outcome, CODE_EXECUTOR_OUTCOME_COMPLETED);
    assert_int_equal(atomic_load(&fake.launches), 2);
    assert_int_equal(atomic_load(&fake.shut_downs), 1);
    assert_int_equal(atomic_load(&fake.lost), 1);
    assert_non_null(strstr(logged, "lost"));
}

static void a_bound_work_dir_that_was_replaced_is_bound_anew(void **state)
{
    (void)state;
    table->destroy(instance);
    atomic_store(&fake.binds, true);
    create("{\"work_dir\": \"bound\"}");
    struct call call = {.id = 5};
    call_now(&call);
    call_now(&call);
    assert_int_equal(atomic_load(&fake.launches), 1);
    assert_int_equal(rename("bound", "moved"), 0);
    call_now(&call);
    assert_int_equal(call.outcome, CODE_EXECUTOR_OUTCOME_COMPLETED);
    assert_int_equal(atomic_load(&fake.launches), 2);
    assert_int_equal(atomic_load(&fake.lost), 0);
    assert_non_null(strstr(logged, "replaced"));
    assert_int_equal(access("bound", F_OK), 0);
}

static void stop_and_restart_end_what_runs(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++) {
        struct call call = {.id = 5, .stays = true};
        int before = atomic_load(&fake.launches);
        assert_int_equal(pthread_create(&call.thread, NULL, call_on_thread, &call), 0);
        if (round == 0)
            await_value(&fake.launches, before + 1);
        let_them_wait();
        assert_int_equal(round == 0 ? table->restart(instance, NULL) : table->stop(instance, NULL),
                         CODE_EXECUTOR_OK);
        call_join(&call);
        assert_true(call.outcome == CODE_EXECUTOR_OUTCOME_CANCELLED ||
                    call.status == CODE_EXECUTOR_CANCELLED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(concurrent_starts_share_one_launch),
        TEST(those_that_wait_share_a_failure),
        TEST(a_runner_that_does_not_answer_is_shut_down),
        TEST(cancel_of_all_ends_a_launch_and_those_that_wait_for_it),
        TEST(another_goes_on_where_the_one_that_launches_is_cancelled),
        TEST(one_that_waits_is_cancelled_alone),
        TEST(stop_ends_a_launch_and_nobody_starts_again),
        TEST(restart_ends_executions_that_wait_but_no_start),
        TEST(stop_tells_what_could_not_be_removed),
        TEST(restart_keeps_an_environment_that_can_be_reset),
        TEST(restart_launches_anew_where_the_launcher_wants_it),
        TEST(a_reset_without_an_answer_can_be_cancelled),
        TEST(a_lost_environment_is_launched_anew),
        TEST(a_bound_work_dir_that_was_replaced_is_bound_anew),
        TEST(stop_and_restart_end_what_runs),
    };
    return cmocka_run_group_tests_name("lifecycle", tests, enter_folder, leave_folder);
}
