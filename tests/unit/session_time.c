/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_time.c: the session with a runner that stops answering, as that of a paused container does.
 * Compiled with limits of its own (session.cmake), that a test can wait for.
 */
#include "fake_runner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static fake_runner runner;

static void a_command_that_the_runner_does_not_end_is_given_up(void **state)
{
    (void)state;
    session *opened = fake_runner_open(&runner, fake_drain, NULL);
    session_command command = fake_command(NULL);
    command.timeout_ms = 1;
    command.grace_ms = 1;
    session_exit exited;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(session_run(opened, &command, NULL, &exited, &error), CODE_EXECUTOR_TIMED_OUT);
    assert_non_null(strstr(error.message, "paused"));
    assert_false(session_alive(opened));
    fake_runner_close(&runner, opened);
}

static void *cancel_soon(void *canceller)
{
    usleep(50000);
    session_cancel(canceller);
    return NULL;
}

static void cancelling_what_does_not_end_is_given_up(void **state)
{
    (void)state;
    session *opened = fake_runner_open(&runner, fake_drain, NULL);
    session_canceller *canceller = session_canceller_new();
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, canceller), 0);
    session_command command = fake_command(NULL);
    command.timeout_ms = 0; /* for ever, were it not cancelled */
    session_exit exited;
    assert_int_equal(session_run(opened, &command, canceller, &exited, NULL),
                     CODE_EXECUTOR_TIMED_OUT);
    pthread_join(thread, NULL);
    session_canceller_free(canceller);
    fake_runner_close(&runner, opened);
}

/* Ends the command long after its time was up, but only because its output was not taken. */
static void answer_when_read(fake_runner *self)
{
    struct frame_header header;
    if (fake_read_type(self, FRAME_SPAWN, &header)) {
        static const char block[OUTPUT_PAYLOAD_MAX];
        uint32_t execution = header.execution;
        for (int i = 0; i < 16; i++)
            fake_write(self, FRAME_OUTPUT, 1, execution, block, sizeof block);
        if (fake_read_type(self, FRAME_CREDIT, &header))
            fake_exit(self, execution, EXIT_TIMED_OUT, 0);
    }
    fake_drain(self);
}

static bool be_slow(void *user_data, int32_t stream, const char *bytes, size_t length)
{
    (void)stream;
    (void)bytes;
    (void)length;
    bool *slept = user_data;
    if (!*slept) {
        usleep((SESSION_BACKSTOP_MS + 200) * 1000);
        *slept = true;
    }
    return true;
}

static void the_time_of_a_slow_callback_does_not_count(void **state)
{
    (void)state;
    session *opened = fake_runner_open(&runner, answer_when_read, NULL);
    bool slept = false;
    session_command command = fake_command(NULL);
    command.timeout_ms = 1;
    command.grace_ms = 1;
    command.on_output = be_slow;
    command.user_data = &slept;
    session_exit exited;
    assert_int_equal(session_run(opened, &command, NULL, &exited, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(exited.how, EXIT_TIMED_OUT);
    fake_runner_close(&runner, opened);
}

/* A little now and then, for longer than a silence may be; then nothing. */
static void speak_and_fall_silent(fake_runner *self)
{
    struct frame_header header;
    if (fake_read_type(self, FRAME_SPAWN, &header))
        for (int i = 0; i < 6; i++) {
            usleep(300000);
            fake_output(self, header.execution, 1, "x");
        }
    fake_drain(self);
}

static void a_command_of_which_nothing_comes_is_given_up(void **state)
{
    (void)state;
    session *opened = fake_runner_open(&runner, speak_and_fall_silent, NULL);
    collected output = {.length = 0};
    session_command command = fake_command(&output);
    command.timeout_ms = 3600 * 1000;
    command.silence_ms = 1500;
    session_exit exited;
    assert_int_equal(session_run(opened, &command, NULL, &exited, NULL), CODE_EXECUTOR_TIMED_OUT);
    assert_int_equal(output.total, 6);
    fake_runner_close(&runner, opened);
}

static void *run_for_ever(void *opened)
{
    session_command command = fake_command(NULL);
    command.timeout_ms = 0;
    session_exit exited;
    return (void *)(intptr_t)session_run(opened, &command, NULL, &exited, NULL);
}

/* The one that gives up is not the one that reads. */
static void one_that_gives_up_ends_all(void **state)
{
    (void)state;
    session *opened = fake_runner_open(&runner, fake_drain, NULL);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_for_ever, opened), 0);
    usleep(50000);
    session_command command = fake_command(NULL);
    command.timeout_ms = 1;
    session_exit exited;
    assert_int_equal(session_run(opened, &command, NULL, &exited, NULL), CODE_EXECUTOR_TIMED_OUT);
    for (int i = 0; i < 4; i++) {
        void *status;
        pthread_join(threads[i], &status);
        assert_int_equal((intptr_t)status, CODE_EXECUTOR_TIMED_OUT);
    }
    fake_runner_close(&runner, opened);
}

static void wait_to_be_released(fake_runner *self)
{
    char byte;
    (void)!read(*(int *)self->context, &byte, 1);
}

/* A runner that reads nothing, whatever is asked of it. */
static void a_runner_that_does_not_read_is_given_up(void **state)
{
    (void)state;
    char *bytes = calloc(1, 10000000);
    assert_non_null(bytes);
    for (int kind = 0; kind < 2; kind++) {
        int release[2];
        assert_int_equal(pipe(release), 0);
        session *opened = fake_runner_open(&runner, wait_to_be_released, &release[0]);
        session_command command = fake_command(NULL);
        command.timeout_ms = 0;
        command.stdin_bytes = bytes;
        command.stdin_length = 10000000;
        session_exit exited;
        assert_int_equal(kind == 0 ? session_run(opened, &command, NULL, &exited, NULL)
                                   : session_write_file(opened, "f", 0600, bytes, 10000000, NULL),
                         CODE_EXECUTOR_TIMED_OUT);
        session_release(opened);
        assert_int_equal(write(release[1], "", 1), 1);
        fake_runner_join(&runner);
        close(release[0]);
        close(release[1]);
    }
    free(bytes);
}

static void a_question_without_an_answer_is_given_up(void **state)
{
    (void)state;
    static const char *const programs[] = {"sh"};
    char *paths[1];
    session *opened = fake_runner_open(&runner, fake_drain, NULL);
    assert_int_equal(session_lookup(opened, programs, 1, paths, NULL), CODE_EXECUTOR_TIMED_OUT);
    assert_null(paths[0]);
    fake_runner_close(&runner, opened);
    opened = fake_runner_open(&runner, fake_drain, NULL);
    assert_int_equal(session_reset(opened, NULL), CODE_EXECUTOR_TIMED_OUT);
    fake_runner_close(&runner, opened);
    opened = fake_runner_open(&runner, fake_drain, NULL);
    assert_int_equal(session_write_file(opened, "f", 0600, "x", 1, NULL), CODE_EXECUTOR_TIMED_OUT);
    fake_runner_close(&runner, opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_that_the_runner_does_not_end_is_given_up),
        cmocka_unit_test(cancelling_what_does_not_end_is_given_up),
        cmocka_unit_test(the_time_of_a_slow_callback_does_not_count),
        cmocka_unit_test(one_that_gives_up_ends_all),
        cmocka_unit_test(a_runner_that_does_not_read_is_given_up),
        cmocka_unit_test(a_question_without_an_answer_is_given_up),
        cmocka_unit_test(a_command_of_which_nothing_comes_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
