/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_overlap.c: the session with a runner that behaves: many commands at once, and those that are cancelled.
 */
#include "fake_runner.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static fake_runner runner;

/* ------------------------------------------------------------------------------------------------
 * Many at once
 * --------------------------------------------------------------------------------------------- */

enum { MANY = 32 };

/* Answers in the opposite order, when all have come: none of them can have waited for another. */
static void answer_backwards(fake_runner *self)
{
    uint32_t executions[MANY];
    struct frame_header header;
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < MANY; i++) {
            if (!fake_read_type(self, FRAME_SPAWN, &header))
                return;
            executions[i] = header.execution;
        }
        for (int i = MANY - 1; i >= 0; i--) {
            fake_output(self, executions[i], 1, "x");
            fake_exit(self, executions[i], EXIT_EXITED, (uint32_t)round);
        }
    }
    fake_drain(self);
}

static void *run_rounds(void *argument)
{
    session *opened = argument;
    for (uint32_t round = 0; round < 10; round++) {
        collected output = {.length = 0};
        session_command command = fake_command(&output);
        session_exit exited;
        if (session_run(opened, &command, NULL, &exited, NULL) != CODE_EXECUTOR_OK ||
            strcmp(output.bytes, "x") != 0 || exited.exit_code != round)
            return (void *)1;
    }
    return NULL;
}

static void many_commands_overlap(void **state)
{
    (void)state;
    session *opened = fake_runner_open(&runner, answer_backwards, NULL);
    pthread_t threads[MANY];
    for (int i = 0; i < MANY; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_rounds, opened), 0);
    for (int i = 0; i < MANY; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    fake_runner_close(&runner, opened);
}

/* The first command prints and is over only after the second one is. */
static void serve_two(fake_runner *self)
{
    struct frame_header first;
    struct frame_header second;
    if (fake_read_type(self, FRAME_SPAWN, &first)) {
        fake_output(self, first.execution, 1, "blocks");
        if (fake_read_type(self, FRAME_SPAWN, &second)) {
            fake_output(self, second.execution, 1, "passes");
            fake_exit(self, second.execution, EXIT_EXITED, 0);
        }
        fake_exit(self, first.execution, EXIT_EXITED, 0);
    }
    fake_drain(self);
}

static int blocked[2];  /* readable when the callback has been entered */
static int released[2]; /* readable when it may return */

static bool block_in_callback(void *user_data, int32_t stream, const char *bytes, size_t length)
{
    (void)user_data;
    (void)stream;
    (void)bytes;
    (void)length;
    char byte = 0;
    return write(blocked[1], &byte, 1) == 1 && read(released[0], &byte, 1) == 1;
}

static void *run_blocking(void *argument)
{
    session_command command = fake_command(NULL);
    command.on_output = block_in_callback;
    session_exit exited;
    return (void *)(intptr_t)session_run(argument, &command, NULL, &exited, NULL);
}

static void a_callback_that_blocks_delays_no_other_run(void **state)
{
    (void)state;
    session *opened = fake_runner_open(&runner, serve_two, NULL);
    pthread_t thread;
    char byte;
    assert_int_equal(pipe(blocked) | pipe(released), 0);
    assert_int_equal(pthread_create(&thread, NULL, run_blocking, opened), 0);
    assert_int_equal(read(blocked[0], &byte, 1), 1);
    collected output = {.length = 0};
    session_command command = fake_command(&output);
    session_exit exited;
    assert_int_equal(fake_run(opened, &command, &exited), CODE_EXECUTOR_OK);
    assert_string_equal(output.bytes, "passes");
    assert_int_equal(write(released[1], &byte, 1), 1);
    void *status;
    pthread_join(thread, &status);
    assert_ptr_equal(status, NULL);
    fake_runner_close(&runner, opened);
}

/* ------------------------------------------------------------------------------------------------
 * Cancelling
 * --------------------------------------------------------------------------------------------- */

/* Ends a command when it is told to; but says that it ended by itself, as where EXIT and KILL cross. */
static void exit_on_kill(fake_runner *self)
{
    struct frame_header header;
    while (fake_read(self, &header)) {
        if (header.type == FRAME_SPAWN) {
            fake_output(self, header.execution, 1, "running");
        } else if (header.type == FRAME_KILL) {
            uint32_t *signal_seen = self->context;
            *signal_seen = get_u32(self->payload);
            fake_exit(self, header.execution, EXIT_EXITED, 0);
        }
    }
}

struct cancelled_run {
    session *opened;
    session_canceller *canceller;
    session_exit exited;
    int32_t status;
};

static void *run_with_canceller(void *argument)
{
    struct cancelled_run *run = argument;
    session_command command = fake_command(NULL);
    command.on_output = block_in_callback;
    run->status = session_run(run->opened, &command, run->canceller, &run->exited, NULL);
    return NULL;
}

static void a_run_is_cancelled_from_another_thread(void **state)
{
    (void)state;
    uint32_t signal_seen = 0;
    struct cancelled_run run = {.canceller = session_canceller_new()};
    run.opened = fake_runner_open(&runner, exit_on_kill, &signal_seen);
    assert_int_equal(pipe(blocked) | pipe(released), 0);
    pthread_t thread;
    char byte;
    assert_int_equal(pthread_create(&thread, NULL, run_with_canceller, &run), 0);
    assert_int_equal(read(blocked[0], &byte, 1), 1);
    session_cancel(run.canceller);
    session_cancel(run.canceller);
    assert_true(session_cancelled(run.canceller));
    assert_int_equal(write(released[1], &byte, 1), 1);
    pthread_join(thread, NULL);
    assert_int_equal(run.status, CODE_EXECUTOR_OK);
    assert_int_equal(run.exited.how, EXIT_CANCELLED);
    assert_int_equal(signal_seen, SIGTERM);
    /* Later runs with it end at once. */
    session_exit exited;
    session_command command = fake_command(NULL);
    assert_int_equal(session_run(run.opened, &command, run.canceller, &exited, NULL),
                     CODE_EXECUTOR_OK);
    assert_int_equal(exited.how, EXIT_CANCELLED);
    assert_true(session_alive(run.opened));
    session_canceller_free(run.canceller);
    fake_runner_close(&runner, run.opened);
}

static bool want_to_cancel(void *user_data, int32_t stream, const char *bytes, size_t length)
{
    collect_output(user_data, stream, bytes, length);
    return false;
}

static void a_callback_cancels_its_run(void **state)
{
    (void)state;
    uint32_t signal_seen = 0;
    session *opened = fake_runner_open(&runner, exit_on_kill, &signal_seen);
    collected output = {.length = 0};
    session_command command = fake_command(&output);
    command.on_output = want_to_cancel;
    session_exit exited;
    assert_int_equal(fake_run(opened, &command, &exited), CODE_EXECUTOR_OK);
    assert_int_equal(exited.how, EXIT_CANCELLED);
    assert_string_equal(output.bytes, "running");
    assert_int_equal(signal_seen, SIGTERM);
    fake_runner_close(&runner, opened);
}

static void read_nothing(fake_runner *self)
{
    char byte;
    (void)!read(*(int *)self->context, &byte, 1);
}

static void *cancel_soon(void *argument)
{
    usleep(100000);
    session_cancel(argument);
    return NULL;
}

static void sending_to_a_runner_that_does_not_read_can_be_cancelled(void **state)
{
    (void)state;
    int done[2];
    assert_int_equal(pipe(done), 0);
    session *opened = fake_runner_open(&runner, read_nothing, &done[0]);
    session_canceller *canceller = session_canceller_new();
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, canceller), 0);
    char *bytes = calloc(1, 50000000);
    assert_non_null(bytes);
    session_command command = fake_command(NULL);
    command.stdin_bytes = bytes;
    command.stdin_length = 50000000;
    session_exit exited;
    assert_int_equal(session_run(opened, &command, canceller, &exited, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(exited.how, EXIT_CANCELLED);
    pthread_join(thread, NULL);
    free(bytes);
    session_canceller_free(canceller);
    session_release(opened);
    assert_int_equal(write(done[1], "", 1), 1);
    fake_runner_join(&runner);
}

static void *end_soon(void *argument)
{
    usleep(100000);
    session_end(argument);
    return NULL;
}

static void ending_the_session_cancels_what_runs(void **state)
{
    (void)state;
    session *opened = fake_runner_open(&runner, fake_drain, NULL);
    pthread_t threads[4];
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_blocking, opened), 0);
    assert_int_equal(pthread_create(&threads[3], NULL, end_soon, opened), 0);
    session_command command = fake_command(NULL);
    session_exit exited;
    assert_int_equal(session_run(opened, &command, NULL, &exited, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(exited.how, EXIT_CANCELLED);
    for (int i = 0; i < 4; i++) {
        void *status;
        pthread_join(threads[i], &status);
        assert_ptr_equal(status, NULL);
    }
    assert_int_equal(session_run(opened, &command, NULL, &exited, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(exited.how, EXIT_CANCELLED);
    assert_false(session_alive(opened));
    fake_runner_close(&runner, opened);
}

/* Says more once its first words are being looked at. */
static int said[2];
static void say_more_meanwhile(fake_runner *self)
{
    struct frame_header header;
    char byte;
    if (fake_read_type(self, FRAME_SPAWN, &header)) {
        fake_output(self, header.execution, 1, "first");
        if (read(blocked[0], &byte, 1) == 1)
            fake_output(self, header.execution, 1, " and last");
        (void)!write(said[1], "", 1);
    }
    fake_drain(self);
}

static bool block_and_collect(void *user_data, int32_t stream, const char *bytes, size_t length)
{
    collected *output = user_data;
    bool is_first = output->length == 0;
    collect_output(output, stream, bytes, length);
    return !is_first || block_in_callback(NULL, stream, bytes, length);
}

static void *run_and_collect(void *argument)
{
    static collected output;
    session_command command = fake_command(&output);
    command.on_output = block_and_collect;
    session_exit exited;
    output = (collected){.length = 0};
    int32_t status = session_run(argument, &command, NULL, &exited, NULL);
    return status == CODE_EXECUTOR_OK && exited.how == EXIT_CANCELLED ? output.bytes : NULL;
}

static void output_that_had_come_before_the_end_is_kept(void **state)
{
    (void)state;
    char byte;
    void *output;
    pthread_t thread;
    assert_int_equal(pipe(blocked) | pipe(released) | pipe(said), 0);
    session *opened = fake_runner_open(&runner, say_more_meanwhile, NULL);
    assert_int_equal(pthread_create(&thread, NULL, run_and_collect, opened), 0);
    assert_int_equal(read(said[0], &byte, 1), 1);
    session_end(opened);
    assert_int_equal(write(released[1], &byte, 1), 1);
    pthread_join(thread, &output);
    assert_non_null(output);
    assert_string_equal(output, "first and last");
    fake_runner_close(&runner, opened);
}

static void end_all_on_reset(fake_runner *self)
{
    struct frame_header header;
    uint32_t running = 0;
    while (fake_read(self, &header)) {
        if (header.type == FRAME_SPAWN) {
            running = header.execution;
            fake_output(self, running, 1, "x");
        } else if (header.type == FRAME_RESET) {
            fake_exit(self, running, EXIT_CANCELLED, 0);
            fake_write(self, FRAME_RESET_DONE, 0, 0, NULL, 0);
        }
    }
}

static void reset_cancels_what_runs(void **state)
{
    (void)state;
    struct cancelled_run run = {.canceller = NULL};
    run.opened = fake_runner_open(&runner, end_all_on_reset, NULL);
    assert_int_equal(pipe(blocked) | pipe(released), 0);
    pthread_t thread;
    char byte;
    assert_int_equal(pthread_create(&thread, NULL, run_with_canceller, &run), 0);
    assert_int_equal(read(blocked[0], &byte, 1), 1);
    assert_int_equal(session_reset(run.opened, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(write(released[1], &byte, 1), 1);
    pthread_join(thread, NULL);
    assert_int_equal(run.status, CODE_EXECUTOR_OK);
    assert_int_equal(run.exited.how, EXIT_CANCELLED);
    assert_true(session_alive(run.opened));
    fake_runner_close(&runner, run.opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_commands_overlap),
        cmocka_unit_test(a_callback_that_blocks_delays_no_other_run),
        cmocka_unit_test(a_run_is_cancelled_from_another_thread),
        cmocka_unit_test(a_callback_cancels_its_run),
        cmocka_unit_test(sending_to_a_runner_that_does_not_read_can_be_cancelled),
        cmocka_unit_test(ending_the_session_cancels_what_runs),
        cmocka_unit_test(output_that_had_come_before_the_end_is_kept),
        cmocka_unit_test(reset_cancels_what_runs),
    };
    return cmocka_run_group_tests_name("session_overlap", tests, NULL, NULL);
}
