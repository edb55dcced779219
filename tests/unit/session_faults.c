/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_faults.c: the session with a runner that is broken, or in the hands of somebody. Whatever it
 * sends, the host gets an error, and never waits for ever.
 */
#include "fake_runner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static fake_runner runner;

/* ------------------------------------------------------------------------------------------------
 * Frames that must not be
 * --------------------------------------------------------------------------------------------- */

/* What a runner sends after SPAWN, under the command's number. */
static const struct fault {
    const char *what;
    uint16_t type;
    uint16_t detail;
    uint32_t length;
    uint32_t number_off; /* added to the number */
    uint32_t how;        /* EXIT: the numbers in it */
    uint32_t exit_code;
    uint32_t signal;
    uint32_t candidate;
} faults[] = {
    {.what = "an unknown type", .type = 99},
    {.what = "a frame of the host's", .type = FRAME_SPAWN, .length = 4},
    {.what = "a payload of 4 GB", .type = FRAME_OUTPUT, .detail = 1, .length = 0xffffffff},
    {.what = "output too long", .type = FRAME_OUTPUT, .detail = 1, .length = 65537},
    {.what = "output of length 0", .type = FRAME_OUTPUT, .detail = 1},
    {.what = "output of a stream 0", .type = FRAME_OUTPUT, .length = 1},
    {.what = "output of a stream 3", .type = FRAME_OUTPUT, .detail = 3, .length = 1},
    {.what = "another's output", .type = FRAME_OUTPUT, .detail = 1, .length = 1, .number_off = 1},
    {.what = "nobody's output", .type = FRAME_OUTPUT, .detail = 1, .length = 1, .number_off = ~0u},
    {.what = "another's exit", .type = FRAME_EXIT, .length = 48, .number_off = 5},
    {.what = "an exit that is cut short", .type = FRAME_EXIT, .length = 47},
    {.what = "an exit that is too long", .type = FRAME_EXIT, .length = 49},
    {.what = "an empty exit", .type = FRAME_EXIT},
    {.what = "an unknown end", .type = FRAME_EXIT, .length = 48, .how = 7},
    {.what = "an exit code of 256", .type = FRAME_EXIT, .length = 48, .exit_code = 256},
    {.what = "a signal and an exit code", .type = FRAME_EXIT, .length = 48, .signal = 9},
    {.what = "signal 0", .type = FRAME_EXIT, .length = 48, .how = EXIT_SIGNALLED},
    {.what = "signal 65", .type = FRAME_EXIT, .length = 48, .how = EXIT_SIGNALLED, .signal = 65},
    {.what = "candidate 1 of 1", .type = FRAME_EXIT, .length = 48, .candidate = 1},
    {.what = "no candidate", .type = FRAME_EXIT, .length = 48, .candidate = CANDIDATE_NONE},
    {.what = "a reset that was not asked for", .type = FRAME_RESET_DONE},
    {.what = "a lookup that was not asked for", .type = FRAME_LOOKUP_DONE, .length = 4},
    {.what = "a file that was not written", .type = FRAME_WRITE_DONE, .length = 4},
    {.what = "a second greeting", .type = FRAME_HELLO, .length = 26},
    {.what = "an error", .type = FRAME_ERROR, .length = 3},
};

static void send_fault(fake_runner *self)
{
    const struct fault *fault = self->context;
    struct frame_header header;
    unsigned char payload[70000] = {0};
    if (fake_read_type(self, FRAME_SPAWN, &header)) {
        if (fault->type == FRAME_EXIT) {
            put_u32(payload, fault->how);
            put_u32(payload + 4, fault->exit_code);
            put_u32(payload + 8, fault->signal);
            put_u32(payload + 16, fault->candidate);
        }
        if (fault->length <= sizeof payload) {
            fake_write(self, fault->type, fault->detail, header.execution + fault->number_off,
                       payload, fault->length);
        } else {
            unsigned char bytes[FRAME_HEADER_SIZE];
            put_frame_header(bytes, (struct frame_header){fault->length, fault->type, fault->detail,
                                                          header.execution});
            fake_write_bytes(self, bytes, sizeof bytes);
        }
    }
    fake_drain(self);
}

static void a_frame_that_must_not_be_is_a_protocol_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        struct fault fault = faults[i];
        session *opened = fake_runner_open(&runner, send_fault, &fault);
        collected output = {.length = 0};
        session_command command = fake_command(&output);
        session_exit exited;
        code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
        int32_t status = session_run(opened, &command, NULL, &exited, &error);
        if (status != CODE_EXECUTOR_PROTOCOL || session_alive(opened))
            fail_msg("%s: status %d, %s", fault.what, (int)status, error.message);
        /* The session stays dead, and says the same. */
        assert_int_equal(session_run(opened, &command, NULL, &exited, NULL),
                         CODE_EXECUTOR_PROTOCOL);
        assert_int_equal(session_reset(opened, NULL), CODE_EXECUTOR_PROTOCOL);
        fake_runner_close(&runner, opened);
    }
}

static void send_more_than_credit(fake_runner *self)
{
    static const char block[OUTPUT_PAYLOAD_MAX];
    struct frame_header header;
    if (fake_read_type(self, FRAME_SPAWN, &header))
        for (int i = 0; i < 1000; i++)
            fake_write(self, FRAME_OUTPUT, 1, header.execution, block, sizeof block);
    fake_drain(self);
}

static bool never_return_soon(void *user_data, int32_t stream, const char *bytes, size_t length)
{
    (void)stream;
    (void)bytes;
    (void)length;
    /* Until the session is over nothing is taken. */
    for (int i = 0; i < 10000 && session_alive(*(session **)user_data); i++)
        usleep(1000);
    return true;
}

static void more_output_than_credit_is_a_protocol_error(void **state)
{
    (void)state;
    session *opened = fake_runner_open(&runner, send_more_than_credit, NULL);
    session_command command = fake_command(NULL);
    command.user_data = &opened;
    command.on_output = never_return_soon;
    session_exit exited;
    assert_int_equal(session_run(opened, &command, NULL, &exited, NULL), CODE_EXECUTOR_PROTOCOL);
    fake_runner_close(&runner, opened);
}

static void say_last_words(fake_runner *self)
{
    struct frame_header header;
    if (fake_read_type(self, FRAME_SPAWN, &header)) {
        fake_output(self, header.execution, 1, "before");
        fake_write(self, FRAME_ERROR, 0, 0, "it\nhurts\0", 9);
    }
}

static void the_reason_that_a_runner_gives_is_told(void **state)
{
    (void)state;
    session *opened = fake_runner_open(&runner, say_last_words, NULL);
    collected output = {.length = 0};
    session_command command = fake_command(&output);
    session_exit exited;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(session_run(opened, &command, NULL, &exited, &error), CODE_EXECUTOR_PROTOCOL);
    assert_string_equal(error.message, "the runner ended the connection: it?hurts?");
    assert_string_equal(output.bytes, "before");
    fake_runner_close(&runner, opened);
}

/* ------------------------------------------------------------------------------------------------
 * Greetings
 * --------------------------------------------------------------------------------------------- */

struct greeting {
    const unsigned char *bytes;
    size_t length;
};

static void send_greeting(fake_runner *self)
{
    const struct greeting *greeting = self->context;
    struct frame_header header;
    fake_read(self, &header);
    fake_write_bytes(self, greeting->bytes, greeting->length);
    if (greeting->length > 0)
        fake_drain(self);
}

static int32_t open_with_greeting(const unsigned char *bytes, size_t length,
                                  code_executor_error *error)
{
    const struct greeting greeting = {bytes, length};
    session *opened;
    int32_t status =
        session_open(fake_runner_start(&runner, send_greeting, (void *)(uintptr_t)&greeting), false,
                     -1, &opened, error);
    if (status == CODE_EXECUTOR_OK)
        session_release(opened);
    fake_runner_join(&runner);
    return status;
}

static void a_runner_of_another_version_is_refused(void **state)
{
    (void)state;
    unsigned char hello[64];
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    size_t length = fake_compose_hello(hello, PROTOCOL_MAGIC, PROTOCOL_VERSION + 1);
    assert_int_equal(open_with_greeting(hello, length, &error), CODE_EXECUTOR_PROTOCOL);
    assert_non_null(strstr(error.message, "version 2"));
    length = fake_compose_hello(hello, PROTOCOL_MAGIC, PROTOCOL_VERSION);
    assert_int_equal(open_with_greeting(hello, length, &error), CODE_EXECUTOR_OK);
}

static void something_else_that_answers_is_refused(void **state)
{
    (void)state;
    static const char shell[] = "bash: runner: command not found\r\n";
    unsigned char hello[64];
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(open_with_greeting((const unsigned char *)shell, sizeof shell - 1, &error),
                     CODE_EXECUTOR_PROTOCOL);
    size_t length = fake_compose_hello(hello, 1, PROTOCOL_VERSION);
    assert_int_equal(open_with_greeting(hello, length, &error), CODE_EXECUTOR_PROTOCOL);
    assert_int_equal(open_with_greeting(hello, 0, &error), CODE_EXECUTOR_LOST);
    assert_string_equal(error.message, "the runner closed the connection");
}

/* ------------------------------------------------------------------------------------------------
 * The end, anywhere
 * --------------------------------------------------------------------------------------------- */

struct cut {
    size_t length; /* of what is sent before the end; more than there is: all */
};

static size_t compose_conversation(unsigned char *bytes, uint32_t execution)
{
    put_frame_header(bytes, (struct frame_header){5, FRAME_OUTPUT, 1, execution});
    memcpy(bytes + FRAME_HEADER_SIZE, "hello", 5);
    const session_exit exit = {.how = EXIT_EXITED, .detail = "fine"};
    return FRAME_HEADER_SIZE + 5 +
           fake_compose_exit(bytes + FRAME_HEADER_SIZE + 5, execution, &exit);
}

static void end_early(fake_runner *self)
{
    const struct cut *cut = self->context;
    struct frame_header header;
    unsigned char bytes[256];
    if (fake_read_type(self, FRAME_SPAWN, &header)) {
        size_t length = compose_conversation(bytes, header.execution);
        fake_write_bytes(self, bytes, cut->length < length ? cut->length : length);
    }
}

static void the_end_may_come_at_every_byte(void **state)
{
    (void)state;
    unsigned char bytes[256];
    size_t length = compose_conversation(bytes, 1);
    for (size_t at = 0; at <= length; at++) {
        struct cut cut = {.length = at};
        session *opened = fake_runner_open(&runner, end_early, &cut);
        collected output = {.length = 0};
        session_command command = fake_command(&output);
        session_exit exited;
        code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
        int32_t status = session_run(opened, &command, NULL, &exited, &error);
        assert_int_equal(status, at == length ? CODE_EXECUTOR_OK : CODE_EXECUTOR_LOST);
        assert_string_equal(output.bytes, at >= FRAME_HEADER_SIZE + 5 ? "hello" : "");
        /* Now at the latest it is known to be over. */
        assert_int_equal(session_run(opened, &command, NULL, &exited, NULL), CODE_EXECUTOR_LOST);
        assert_false(session_alive(opened));
        fake_runner_close(&runner, opened);
    }
}

static void close_without_reading(fake_runner *self)
{
    (void)self;
}

static void the_end_may_come_while_input_is_sent(void **state)
{
    (void)state;
    session *opened = fake_runner_open(&runner, close_without_reading, NULL);
    char *bytes = calloc(1, 10000000);
    assert_non_null(bytes);
    session_command command = fake_command(NULL);
    command.stdin_bytes = bytes;
    command.stdin_length = 10000000;
    session_exit exited;
    assert_int_equal(session_run(opened, &command, NULL, &exited, NULL), CODE_EXECUTOR_LOST);
    assert_int_equal(session_write_file(opened, "f", 0600, bytes, 10000000, NULL),
                     CODE_EXECUTOR_LOST);
    free(bytes);
    fake_runner_close(&runner, opened);
}

/* Takes nothing more in, yet does not go away. */
static void close_the_reading_side(fake_runner *self)
{
    char byte;
    shutdown(self->fd, SHUT_RD);
    (void)!read(*(int *)self->context, &byte, 1);
}

static void a_runner_that_only_stops_reading_is_lost(void **state)
{
    (void)state;
    int release[2];
    assert_int_equal(pipe(release), 0);
    session *opened = fake_runner_open(&runner, close_the_reading_side, &release[0]);
    session_command command = fake_command(NULL);
    command.timeout_ms = 0;
    command.stdin_bytes = calloc(1, 1000000);
    command.stdin_length = command.stdin_bytes ? 1000000 : 0;
    session_exit exited;
    assert_int_equal(session_run(opened, &command, NULL, &exited, NULL), CODE_EXECUTOR_LOST);
    free((void *)(uintptr_t)command.stdin_bytes);
    session_release(opened);
    assert_int_equal(write(release[1], "", 1), 1);
    fake_runner_join(&runner);
}

static void an_end_that_nobody_waited_for_is_noticed(void **state)
{
    (void)state;
    session *opened = fake_runner_open(&runner, close_without_reading, NULL);
    bool alive = true;
    for (int i = 0; i < 10000 && alive; i++) {
        alive = session_alive(opened);
        usleep(1000);
    }
    assert_false(alive);
    fake_runner_close(&runner, opened);
}

/* ------------------------------------------------------------------------------------------------
 * Garbage
 * --------------------------------------------------------------------------------------------- */

static uint32_t random_state;

static uint32_t next_random(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return random_state >> 8;
}

/* A conversation with bytes that were changed here and there, or nothing but noise. */
static void send_garbage(fake_runner *self)
{
    struct frame_header header;
    unsigned char bytes[4096];
    if (fake_read_type(self, FRAME_SPAWN, &header)) {
        size_t length = compose_conversation(bytes, header.execution);
        if (next_random() % 4 == 0) {
            length = sizeof bytes;
            for (size_t i = 0; i < length; i++)
                bytes[i] = (unsigned char)next_random();
        }
        for (uint32_t changes = next_random() % 4; changes > 0; changes--)
            bytes[next_random() % length] = (unsigned char)next_random();
        fake_write_bytes(self, bytes, length);
    }
}

static void garbage_ends_the_session_and_no_more(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 500; seed++) {
        random_state = seed;
        session *opened = fake_runner_open(&runner, send_garbage, NULL);
        collected output = {.length = 0};
        session_command command = fake_command(&output);
        session_exit exited;
        int32_t status = session_run(opened, &command, NULL, &exited, NULL);
        assert_true(status == CODE_EXECUTOR_OK || status == CODE_EXECUTOR_LOST ||
                    status == CODE_EXECUTOR_PROTOCOL);
        fake_runner_close(&runner, opened);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Wrong questions
 * --------------------------------------------------------------------------------------------- */

static void what_the_runner_would_refuse_is_not_sent(void **state)
{
    (void)state;
    session *opened = fake_runner_open(&runner, fake_drain, NULL);
    static const char *environment[ENVIRONMENT_MAX + 1];
    for (size_t i = 0; i <= ENVIRONMENT_MAX; i++)
        environment[i] = "A=1";
    session_command command = fake_command(NULL);
    session_exit exited;
    command.environment = environment;
    command.environment_count = ENVIRONMENT_MAX + 1;
    assert_int_equal(session_run(opened, &command, NULL, &exited, NULL), CODE_EXECUTOR_INVALID);
    char *large = malloc(FRAME_PAYLOAD_MAX + 1);
    assert_non_null(large);
    memset(large, 'x', FRAME_PAYLOAD_MAX);
    large[FRAME_PAYLOAD_MAX] = '\0';
    environment[0] = large;
    command.environment_count = 1;
    assert_int_equal(session_run(opened, &command, NULL, &exited, NULL), CODE_EXECUTOR_INVALID);
    command = fake_command(NULL);
    command.stdin_bytes = large;
    command.stdin_length = (size_t)INPUT_MAX + 1;
    assert_int_equal(session_run(opened, &command, NULL, &exited, NULL), CODE_EXECUTOR_INVALID);
    command = fake_command(NULL);
    command.candidate_count = 0;
    assert_int_equal(session_run(opened, &command, NULL, &exited, NULL), CODE_EXECUTOR_INVALID);
    assert_true(session_alive(opened));
    free(large);
    fake_runner_close(&runner, opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_that_must_not_be_is_a_protocol_error),
        cmocka_unit_test(more_output_than_credit_is_a_protocol_error),
        cmocka_unit_test(the_reason_that_a_runner_gives_is_told),
        cmocka_unit_test(a_runner_of_another_version_is_refused),
        cmocka_unit_test(something_else_that_answers_is_refused),
        cmocka_unit_test(the_end_may_come_at_every_byte),
        cmocka_unit_test(the_end_may_come_while_input_is_sent),
        cmocka_unit_test(a_runner_that_only_stops_reading_is_lost),
        cmocka_unit_test(an_end_that_nobody_waited_for_is_noticed),
        cmocka_unit_test(garbage_ends_the_session_and_no_more),
        cmocka_unit_test(what_the_runner_would_refuse_is_not_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
