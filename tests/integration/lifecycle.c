/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lifecycle.c: start, stop, restart, cancel and destroy of any executor, and what each does to code that
 * runs meanwhile. See executor_client.h for the command line.
 */
#include "executor_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static code_executor_instance *instance;
static char marker[64]; /* an argument of sleep that no other process has */

static int set_up(void **state)
{
    (void)state;
    static int number = 0;
    snprintf(marker, sizeof marker, "%d.%d%06d", 9000 + number, number, (int)getpid());
    number++;
    instance = client_create();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    host.table->destroy(instance);
    return 0;
}

static const char *state_of(char *word)
{
    char *json = NULL;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    client_expect_ok(host.table->describe(instance, &json, &error), &error);
    const char *at = strstr(json, "\"state\":\"");
    assert_non_null(at);
    sscanf(at, "\"state\":\"%31[^\"]", word);
    host.table->string_free(json);
    return word;
}

static void start(void)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    client_expect_ok(host.table->start(instance, &error), &error);
}

static void stop(void)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    client_expect_ok(host.table->stop(instance, &error), &error);
}

static void restart(void)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    client_expect_ok(host.table->restart(instance, &error), &error);
}

static void expect_cancelled(const background *run)
{
    client_expect_ok(run->answer.status, &run->answer.error);
    assert_non_null(run->answer.result);
    assert_int_equal(run->answer.result->outcome, CODE_EXECUTOR_OUTCOME_CANCELLED);
    assert_int_equal(run->answer.result->exit_code, 130);
}

static atomic_size_t heard;

static int32_t hear_output(void *user_data, size_t block, int32_t stream, const char *bytes,
                           size_t length)
{
    (void)user_data;
    (void)block;
    (void)stream;
    (void)bytes;
    heard += length;
    return 0;
}

static bool has_heard_more(const void *before)
{
    return heard > *(const size_t *)before;
}

/* A block that says that it runs, by what it prints and a file, and then sleeps for long. */
static void begin_sleeping(background *run, const char *file)
{
    static char scripts[64][128];
    static size_t next;
    char *script = scripts[next++ % 64];
    snprintf(script, sizeof scripts[0], "echo begun; touch %s; sleep %s", file, marker);
    background_prepare(run, instance, script);
    run->asked.request.on_output = hear_output;
    size_t before = heard;
    background_begin(run);
    assert_true(eventually(has_heard_more, &before));
    assert_true(eventually(file_exists, file));
    assert_true(eventually(process_exists, marker));
}

/* ------------------------------------------------------------------------------------------------
 * Up and down
 * --------------------------------------------------------------------------------------------- */

static void start_and_stop_may_be_repeated(void **state)
{
    (void)state;
    char word[32];
    assert_string_equal(state_of(word), "stopped");
    stop();
    assert_string_equal(state_of(word), "stopped");
    start();
    start();
    assert_string_equal(state_of(word), "started");
    stop();
    stop();
    assert_string_equal(state_of(word), "stopped");
    start();
    client_expect_output(instance, "echo again", "again\n");
}

static void execute_starts_on_demand(void **state)
{
    (void)state;
    char word[32];
    client_expect_output(instance, "echo up", "up\n");
    assert_string_equal(state_of(word), "started");
    stop();
    client_expect_output(instance, "echo up again", "up again\n");
}

static void restart_starts_what_is_down(void **state)
{
    (void)state;
    char word[32];
    restart();
    assert_string_equal(state_of(word), "started");
    client_expect_output(instance, "echo up", "up\n");
}

static void the_workspace_outlives_stop_and_restart(void **state)
{
    (void)state;
    client_expect_output(instance, "echo kept > kept", "");
    restart();
    client_expect_output(instance, "cat kept", "kept\n");
    stop();
    client_expect_output(instance, "cat kept", "kept\n");
}

static void background_processes_end_with_stop(void **state)
{
    (void)state;
    char script[256];
    snprintf(script, sizeof script, "sleep %s & (setsid sleep %s &) ; echo left", marker, marker);
    client_expect_output(instance, script, "left\n");
    assert_true(eventually(process_exists, marker));
    client_expect_output(instance, "echo they live on", "they live on\n");
    assert_true(process_exists(marker));
    stop();
    assert_false(process_exists(marker));
}

static void background_processes_end_with_restart(void **state)
{
    (void)state;
    char script[256];
    snprintf(script, sizeof script, "sleep %s & (setsid sleep %s &) ; echo left", marker, marker);
    client_expect_output(instance, script, "left\n");
    assert_true(eventually(process_exists, marker));
    restart();
    assert_false(process_exists(marker));
    client_expect_output(instance, "echo fresh", "fresh\n");
}

static void background_processes_end_with_destroy(void **state)
{
    (void)state;
    char script[256];
    snprintf(script, sizeof script, "sleep %s & echo left", marker);
    client_expect_output(instance, script, "left\n");
    host.table->destroy(instance);
    instance = NULL;
    assert_false(process_exists(marker));
}

static void stop_ends_what_runs_as_cancelled(void **state)
{
    (void)state;
    background runs[2];
    begin_sleeping(&runs[0], "stop-1");
    begin_sleeping(&runs[1], "stop-2");
    stop();
    assert_false(process_exists(marker));
    for (int i = 0; i < 2; i++) {
        background_join(&runs[i]);
        expect_cancelled(&runs[i]);
        assert_string_equal(runs[i].answer.result->output, "begun\n");
        reply_release(&runs[i].answer);
    }
    client_expect_output(instance, "echo works", "works\n");
}

static void restart_ends_what_runs_as_cancelled(void **state)
{
    (void)state;
    background run;
    begin_sleeping(&run, "restart-1");
    restart();
    assert_false(process_exists(marker));
    background_join(&run);
    expect_cancelled(&run);
    reply_release(&run.answer);
    client_expect_output(instance, "echo works", "works\n");
}

static void a_result_outlives_its_instance(void **state)
{
    (void)state;
    reply answer = client_run(instance, "echo kept");
    client_expect_ok(answer.status, &answer.error);
    host.table->destroy(instance);
    instance = NULL;
    assert_string_equal(answer.result->output, "kept\n");
    assert_non_null(answer.result->code_file);
    reply_release(&answer);
}

/* ------------------------------------------------------------------------------------------------
 * Overlap
 * --------------------------------------------------------------------------------------------- */

enum { MANY = 32 };

/* Each waits until all are there: they end only if they truly overlap. */
static void many_executions_overlap(void **state)
{
    (void)state;
    static background runs[MANY];
    static char scripts[MANY][256];
    start();
    for (int i = 0; i < MANY; i++) {
        snprintf(scripts[i], sizeof scripts[i],
                 "touch here-%d; n=0; while [ $(ls here-* | wc -l) -lt %d ]; do sleep 0.05; "
                 "n=$((n+1)); [ $n -lt 1000 ] || exit 9; done; echo %d",
                 i, MANY, i);
        background_prepare(&runs[i], instance, scripts[i]);
    }
    for (int i = 0; i < MANY; i++)
        background_begin(&runs[i]);
    for (int i = 0; i < MANY; i++) {
        char expected[16];
        snprintf(expected, sizeof expected, "%d\n", i);
        background_join(&runs[i]);
        client_expect_ok(runs[i].answer.status, &runs[i].answer.error);
        assert_string_equal(runs[i].answer.result->output, expected);
        reply_release(&runs[i].answer);
    }
}

static int gate[2]; /* readable when a callback may return */

static int32_t block_in_output(void *user_data, size_t block, int32_t stream, const char *bytes,
                               size_t length)
{
    (void)block;
    (void)stream;
    (void)bytes;
    (void)length;
    atomic_store((atomic_bool *)user_data, true);
    char byte;
    return read(gate[0], &byte, 1) == 1 ? 0 : 1;
}

static bool is_set(const void *flag)
{
    return atomic_load((const atomic_bool *)flag);
}

static void a_callback_that_blocks_delays_neither_others_nor_cancel(void **state)
{
    (void)state;
    assert_int_equal(pipe(gate), 0);
    atomic_bool blocked = false;
    background blocking;
    background_prepare(&blocking, instance, "yes | head -c 5000000; sleep 1000");
    blocking.asked.request.user_data = &blocked;
    blocking.asked.request.on_output = block_in_output;
    background_begin(&blocking);
    assert_true(eventually(is_set, &blocked));
    client_expect_output(instance, "echo passes", "passes\n");
    background other;
    begin_sleeping(&other, "other");
    assert_int_equal(host.table->cancel(instance, other.asked.request.execution_id, NULL),
                     CODE_EXECUTOR_OK);
    background_join(&other);
    expect_cancelled(&other);
    reply_release(&other.answer);
    assert_int_equal(host.table->cancel(instance, blocking.asked.request.execution_id, NULL),
                     CODE_EXECUTOR_OK);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(write(gate[1], "x", 1), 1);
    background_join(&blocking);
    expect_cancelled(&blocking);
    reply_release(&blocking.answer);
    close(gate[0]);
    close(gate[1]);
}

static void stop_does_not_wait_for_a_callback(void **state)
{
    (void)state;
    assert_int_equal(pipe(gate), 0);
    atomic_bool blocked = false;
    background blocking;
    background_prepare(&blocking, instance, "echo x; sleep 1000");
    blocking.asked.request.user_data = &blocked;
    blocking.asked.request.on_output = block_in_output;
    background_begin(&blocking);
    assert_true(eventually(is_set, &blocked));
    stop();
    client_expect_output(instance, "echo works", "works\n");
    restart();
    assert_int_equal(write(gate[1], "x", 1), 1);
    background_join(&blocking);
    expect_cancelled(&blocking);
    reply_release(&blocking.answer);
    close(gate[0]);
    close(gate[1]);
}

static void an_id_in_flight_is_refused(void **state)
{
    (void)state;
    background run;
    begin_sleeping(&run, "in-flight");
    question asked;
    question_set(&asked, "sh", "echo");
    asked.request.execution_id = run.asked.request.execution_id;
    reply answer = client_execute(instance, &asked.request);
    assert_int_equal(answer.status, CODE_EXECUTOR_INVALID);
    assert_null(answer.result);
    host.table->cancel(instance, 0, NULL);
    background_join(&run);
    reply_release(&run.answer);
    answer = client_execute(instance, &asked.request);
    client_expect_ok(answer.status, &answer.error);
    reply_release(&answer);
}

/* ------------------------------------------------------------------------------------------------
 * Cancel
 * --------------------------------------------------------------------------------------------- */

static void cancel_ends_one_execution(void **state)
{
    (void)state;
    background cancelled;
    background staying;
    begin_sleeping(&cancelled, "cancelled");
    background_prepare(&staying, instance, "while [ ! -e go ]; do sleep 0.05; done; echo stayed");
    background_begin(&staying);
    client_expect_ok(host.table->cancel(instance, cancelled.asked.request.execution_id, NULL),
                     NULL);
    background_join(&cancelled);
    expect_cancelled(&cancelled);
    assert_false(process_exists(marker));
    assert_string_equal(cancelled.answer.result->output, "begun\n");
    reply_release(&cancelled.answer);
    client_expect_output(instance, "touch go", "");
    background_join(&staying);
    client_expect_ok(staying.answer.status, &staying.answer.error);
    assert_string_equal(staying.answer.result->output, "stayed\n");
    reply_release(&staying.answer);
}

static void cancel_of_nothing_is_not_found(void **state)
{
    (void)state;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(host.table->cancel(instance, 77, &error), CODE_EXECUTOR_NOT_FOUND);
    assert_non_null(strstr(error.message, "77"));
    assert_int_equal(host.table->cancel(instance, 0, &error), CODE_EXECUTOR_OK);
}

static void cancel_with_id_0_ends_all(void **state)
{
    (void)state;
    background runs[4];
    char file[16];
    for (int i = 0; i < 4; i++) {
        snprintf(file, sizeof file, "all-%d", i);
        begin_sleeping(&runs[i], file);
    }
    assert_int_equal(host.table->cancel(instance, 0, NULL), CODE_EXECUTOR_OK);
    for (int i = 0; i < 4; i++) {
        background_join(&runs[i]);
        expect_cancelled(&runs[i]);
        reply_release(&runs[i].answer);
    }
    assert_false(process_exists(marker));
    client_expect_output(instance, "echo works", "works\n");
}

static int32_t cancel_in_begin(void *user_data, size_t block)
{
    const question *asked = user_data;
    if (block == 0)
        return host.table->cancel(instance, asked->request.execution_id, NULL);
    return 0;
}

static void cancel_has_effect_within_on_begin(void **state)
{
    (void)state;
    question asked;
    question_set(&asked, "sh", "sleep 1000");
    asked.request.on_begin = cancel_in_begin;
    asked.request.user_data = &asked;
    reply answer = client_execute(instance, &asked.request);
    client_expect_ok(answer.status, &answer.error);
    assert_int_equal(answer.result->outcome, CODE_EXECUTOR_OUTCOME_CANCELLED);
    reply_release(&answer);
}

static int32_t refuse_output(void *user_data, size_t block, int32_t stream, const char *bytes,
                             size_t length)
{
    (void)user_data;
    (void)block;
    (void)stream;
    (void)bytes;
    (void)length;
    return 1;
}

static void a_callback_cancels_by_what_it_returns(void **state)
{
    (void)state;
    question asked;
    question_set(&asked, "sh", "echo one; sleep 1000");
    asked.request.on_output = refuse_output;
    reply answer = client_execute(instance, &asked.request);
    client_expect_ok(answer.status, &answer.error);
    assert_int_equal(answer.result->outcome, CODE_EXECUTOR_OUTCOME_CANCELLED);
    assert_string_equal(answer.result->output, "one\n");
    reply_release(&answer);
}

static void *cancel_all_for_a_while(void *flag)
{
    while (!atomic_load((atomic_bool *)flag)) {
        host.table->cancel(instance, 0, NULL);
        usleep(1000);
    }
    return NULL;
}

/* Wherever it is met, a start ends: as cancelled, or well. */
static void start_can_be_cancelled(void **state)
{
    (void)state;
    pthread_t thread;
    atomic_bool done = false;
    assert_int_equal(pthread_create(&thread, NULL, cancel_all_for_a_while, &done), 0);
    for (int i = 0; i < 5; i++) {
        code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
        int32_t status = host.table->start(instance, &error);
        if (status != CODE_EXECUTOR_OK && status != CODE_EXECUTOR_CANCELLED)
            client_expect_ok(status, &error);
        reply answer = client_run(instance, "sleep 1000");
        if (answer.status != CODE_EXECUTOR_OK) {
            assert_int_equal(answer.status, CODE_EXECUTOR_CANCELLED);
            assert_null(answer.result);
        } else {
            assert_int_equal(answer.result->outcome, CODE_EXECUTOR_OUTCOME_CANCELLED);
        }
        reply_release(&answer);
        stop();
    }
    atomic_store(&done, true);
    pthread_join(thread, NULL);
    client_expect_output(instance, "echo works", "works\n");
}

/* ------------------------------------------------------------------------------------------------
 * Everything at once
 * --------------------------------------------------------------------------------------------- */

enum { WORKERS = 6 };

struct worker {
    pthread_t thread;
    atomic_bool *done;
    atomic_size_t completed;
    size_t cancelled;
    char problem[256];
};

static void *execute_for_a_while(void *argument)
{
    struct worker *worker = argument;
    while (!atomic_load(worker->done) && !worker->problem[0]) {
        reply answer = client_run(instance, "echo x; sleep 0.01");
        bool cancelled = answer.status == CODE_EXECUTOR_CANCELLED ||
                         (answer.status == CODE_EXECUTOR_OK &&
                          answer.result->outcome == CODE_EXECUTOR_OUTCOME_CANCELLED);
        bool completed = answer.status == CODE_EXECUTOR_OK && answer.result->exit_code == 0 &&
                         strcmp(answer.result->output, "x\n") == 0;
        worker->completed += completed;
        worker->cancelled += cancelled;
        if (!completed && !cancelled) {
            snprintf(worker->problem, sizeof worker->problem, "status %d, %.150s, output %.50s",
                     (int)answer.status, answer.error.message,
                     answer.result ? answer.result->output : "none");
        }
        reply_release(&answer);
    }
    return NULL;
}

static bool anything_completed(const void *workers)
{
    size_t completed = 0;
    for (int i = 0; i < WORKERS; i++)
        completed += atomic_load(&((const struct worker *)workers)[i].completed);
    return completed > 0;
}

static void executions_meet_start_stop_restart_and_cancel(void **state)
{
    (void)state;
    struct worker workers[WORKERS] = {{0}};
    atomic_bool done = false;
    for (int i = 0; i < WORKERS; i++) {
        workers[i].done = &done;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, execute_for_a_while, &workers[i]),
                         0);
    }
    for (int i = 0; i < 12; i++) {
        usleep(100000);
        switch (i % 4) {
        case 0:
            restart();
            break;
        case 1:
            stop();
            break;
        case 2:
            host.table->cancel(instance, 0, NULL);
            break;
        default:
            (void)host.table->start(instance, NULL);
        }
    }
    start();
    assert_true(eventually(anything_completed, workers));
    atomic_store(&done, true);
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_string_equal(workers[i].problem, "");
    }
    client_expect_output(instance, "echo works", "works\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
    client_begin(argc, argv);
    const struct CMUnitTest tests[] = {
        TEST(start_and_stop_may_be_repeated),
        TEST(execute_starts_on_demand),
        TEST(restart_starts_what_is_down),
        TEST(the_workspace_outlives_stop_and_restart),
        TEST(background_processes_end_with_stop),
        TEST(background_processes_end_with_restart),
        TEST(background_processes_end_with_destroy),
        TEST(stop_ends_what_runs_as_cancelled),
        TEST(restart_ends_what_runs_as_cancelled),
        TEST(a_result_outlives_its_instance),
        TEST(many_executions_overlap),
        TEST(a_callback_that_blocks_delays_neither_others_nor_cancel),
        TEST(stop_does_not_wait_for_a_callback),
        TEST(an_id_in_flight_is_refused),
        TEST(cancel_ends_one_execution),
        TEST(cancel_of_nothing_is_not_found),
        TEST(cancel_with_id_0_ends_all),
        TEST(cancel_has_effect_within_on_begin),
        TEST(a_callback_cancels_by_what_it_returns),
        TEST(start_can_be_cancelled),
        TEST(executions_meet_start_stop_restart_and_cancel),
    };
    return client_end(cmocka_run_group_tests_name("lifecycle", tests, NULL, NULL));
}
