/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.c: the session with a runner that behaves: a command and what it prints, requests, opening.
 */
#include "fake_runner.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static fake_runner runner;

/* ------------------------------------------------------------------------------------------------
 * One command
 * --------------------------------------------------------------------------------------------- */

static void say_two_things(fake_runner *self)
{
    struct frame_header header;
    while (fake_read_type(self, FRAME_SPAWN, &header)) {
        fake_output(self, header.execution, 1, "one ");
        fake_output(self, header.execution, 2, "two ");
        fake_output(self, header.execution, 1, "three");
        unsigned char bytes[128];
        const session_exit exit = {.how = EXIT_EXITED,
                                   .exit_code = 7,
                                   .wall_ns = 1,
                                   .cpu_ns = 0x100000002,
                                   .peak_memory_bytes = 3,
                                   .detail = "words\n"};
        fake_write_bytes(self, bytes, fake_compose_exit(bytes, header.execution, &exit));
    }
}

static void a_command_gives_output_and_exit(void **state)
{
    (void)state;
    session *opened = fake_runner_open(&runner, say_two_things, NULL);
    for (int i = 0; i < 3; i++) {
        collected output = {.length = 0};
        session_command command = fake_command(&output);
        session_exit exited;
        assert_int_equal(fake_run(opened, &command, &exited), CODE_EXECUTOR_OK);
        assert_string_equal(output.bytes, "one two three");
        assert_int_equal(exited.how, EXIT_EXITED);
        assert_int_equal(exited.exit_code, 7);
        assert_int_equal(exited.cpu_ns, 0x100000002);
        assert_int_equal(exited.peak_memory_bytes, 3);
        assert_string_equal(exited.detail, "words?");
    }
    assert_true(session_alive(opened));
    fake_runner_close(&runner, opened);
}

static void say_it_byte_by_byte(fake_runner *self)
{
    struct frame_header header;
    unsigned char bytes[256];
    while (fake_read_type(self, FRAME_SPAWN, &header)) {
        put_frame_header(bytes, (struct frame_header){3, FRAME_OUTPUT, 1, header.execution});
        memcpy(bytes + FRAME_HEADER_SIZE, "abc", 3);
        size_t length = FRAME_HEADER_SIZE + 3;
        const session_exit exit = {.how = EXIT_EXITED};
        length += fake_compose_exit(bytes + length, header.execution, &exit);
        for (size_t i = 0; i < length; i++) {
            fake_write_bytes(self, bytes + i, 1);
            usleep(500);
        }
    }
}

static void frames_may_come_in_single_bytes(void **state)
{
    (void)state;
    session *opened = fake_runner_open(&runner, say_it_byte_by_byte, NULL);
    collected output = {.length = 0};
    session_command command = fake_command(&output);
    session_exit exited;
    assert_int_equal(fake_run(opened, &command, &exited), CODE_EXECUTOR_OK);
    assert_string_equal(output.bytes, "abc");
    fake_runner_close(&runner, opened);
}

/* A transport that moves one byte a call and needs a wait before each. */
struct dribble {
    transport base;
    transport *inner;
    bool may_send;
};

static ssize_t dribble_send(transport *self, const void *bytes, size_t length)
{
    struct dribble *dribble = (struct dribble *)(void *)self;
    dribble->may_send = !dribble->may_send;
    return dribble->may_send
               ? dribble->inner->operations->send(dribble->inner, bytes, length > 0 ? 1 : 0)
               : TRANSPORT_AGAIN;
}

static ssize_t dribble_receive(transport *self, void *buffer, size_t size)
{
    struct dribble *dribble = (struct dribble *)(void *)self;
    return dribble->inner->operations->receive(dribble->inner, buffer, size > 0 ? 1 : 0);
}

static void dribble_wait(transport *self, bool for_sending, int wake_fd, int timeout_ms)
{
    struct dribble *dribble = (struct dribble *)(void *)self;
    dribble->inner->operations->wait(dribble->inner, for_sending, wake_fd, timeout_ms);
}

static void dribble_explain(transport *self, code_executor_error *error)
{
    (void)self;
    error_set(error, CODE_EXECUTOR_LOST, "dribbled away");
}

static void dribble_close(transport *self)
{
    struct dribble *dribble = (struct dribble *)(void *)self;
    dribble->inner->operations->close(dribble->inner);
    free(dribble);
}

static void dribble_forget(transport *self)
{
    (void)self;
}

static const struct transport_operations dribble_operations = {
    dribble_send, dribble_receive, dribble_wait, dribble_explain, dribble_close, dribble_forget};

static void greet_and_say_two_things(fake_runner *self)
{
    struct frame_header header;
    unsigned char hello[64];
    assert_true(fake_read(self, &header));
    fake_write_bytes(self, hello, fake_compose_hello(hello, PROTOCOL_MAGIC, PROTOCOL_VERSION));
    say_two_things(self);
}

static void frames_may_leave_in_single_bytes(void **state)
{
    (void)state;
    struct dribble *dribble = calloc(1, sizeof *dribble);
    assert_non_null(dribble);
    dribble->base.operations = &dribble_operations;
    dribble->inner = fake_runner_start(&runner, greet_and_say_two_things, NULL);
    session *opened;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(session_open(&dribble->base, false, -1, &opened, &error), CODE_EXECUTOR_OK);
    collected output = {.length = 0};
    session_command command = fake_command(&output);
    command.stdin_bytes = "input that is long enough to take a few rounds";
    command.stdin_length = strlen(command.stdin_bytes);
    session_exit exited;
    assert_int_equal(fake_run(opened, &command, &exited), CODE_EXECUTOR_OK);
    assert_string_equal(output.bytes, "one two three");
    fake_runner_close(&runner, opened);
}

static void check_spawn(fake_runner *self)
{
    static const unsigned char expected[] = "\x60\xea\0\0\xe8\3\0\0\0\0\x10\0\0\0\0\0"
                                            "\x0a\0\0\0/workspace"
                                            "\1\0\0\0\3\0\0\0A=1"
                                            "\2\0\0\0\3\0\0\0B=2\2\0\0\0C="
                                            "\1\0\0\0\2\0\0\0\2\0\0\0sh\4\0\0\0file";
    struct frame_header header;
    bool *equal = self->context;
    if (fake_read_type(self, FRAME_SPAWN, &header)) {
        *equal = header.length == sizeof expected - 1 &&
                 memcmp(self->payload, expected, header.length) == 0;
        fake_exit(self, header.execution, EXIT_EXITED, 0);
    }
    fake_drain(self);
}

static void spawn_is_laid_out_as_the_protocol_says(void **state)
{
    (void)state;
    bool equal = false;
    session *opened = fake_runner_open(&runner, check_spawn, &equal);
    collected output = {.length = 0};
    session_command command = fake_command(&output);
    static const char *const defaults[] = {"A=1"};
    static const char *const additions[] = {"B=2", "C="};
    command.environment_defaults = defaults;
    command.environment_default_count = 1;
    command.environment = additions;
    command.environment_count = 2;
    session_exit exited;
    assert_int_equal(fake_run(opened, &command, &exited), CODE_EXECUTOR_OK);
    assert_true(equal);
    fake_runner_close(&runner, opened);
}

/* Adds up standard input, and answers with how much there was before SPAWN. */
static void count_input(fake_runner *self)
{
    struct frame_header header;
    uint64_t total = 0;
    while (fake_read(self, &header)) {
        if (header.type == FRAME_STDIN) {
            for (uint32_t i = 0; i < header.length; i++)
                total += self->payload[i] == (unsigned char)((total) % 251);
        } else if (header.type == FRAME_SPAWN) {
            char text[32];
            snprintf(text, sizeof text, "%llu", (unsigned long long)total);
            fake_output(self, header.execution, 1, text);
            fake_exit(self, header.execution, EXIT_EXITED, 0);
            total = 0;
        }
    }
}

static void standard_input_arrives_whole_before_the_command(void **state)
{
    (void)state;
    session *opened = fake_runner_open(&runner, count_input, NULL);
    static const size_t lengths[] = {0, 1, 65535, 65536, 65537, 10000000};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        char *bytes = malloc(lengths[i] + 1);
        assert_non_null(bytes);
        for (size_t at = 0; at < lengths[i]; at++)
            bytes[at] = (char)(at % 251);
        collected output = {.length = 0};
        session_command command = fake_command(&output);
        command.stdin_bytes = bytes;
        command.stdin_length = lengths[i];
        session_exit exited;
        assert_int_equal(fake_run(opened, &command, &exited), CODE_EXECUTOR_OK);
        assert_int_equal(strtoull(output.bytes, NULL, 10), lengths[i]);
        free(bytes);
    }
    fake_runner_close(&runner, opened);
}

/* ------------------------------------------------------------------------------------------------
 * Credit
 * --------------------------------------------------------------------------------------------- */

enum { FLOOD = 32 * 1024 * 1024 };

static void flood_within_credit(fake_runner *self)
{
    static const char block[OUTPUT_PAYLOAD_MAX];
    struct frame_header header;
    if (fake_read_type(self, FRAME_SPAWN, &header)) {
        uint32_t execution = header.execution;
        uint64_t credit = get_u32(self->payload + 8);
        uint64_t *highest = self->context;
        *highest = credit;
        for (uint64_t sent = 0; sent < FLOOD;) {
            while (credit < sizeof block) {
                if (!fake_read_type(self, FRAME_CREDIT, &header))
                    return;
                credit += get_u32(self->payload);
                *highest = credit > *highest ? credit : *highest;
            }
            fake_write(self, FRAME_OUTPUT, 1, execution, block, sizeof block);
            credit -= sizeof block;
            sent += sizeof block;
        }
        fake_exit(self, execution, EXIT_EXITED, 0);
    }
    fake_drain(self);
}

static void output_flows_as_credit_is_granted_again(void **state)
{
    (void)state;
    uint64_t highest = 0;
    session *opened = fake_runner_open(&runner, flood_within_credit, &highest);
    collected output = {.length = 0};
    session_command command = fake_command(&output);
    session_exit exited;
    assert_int_equal(fake_run(opened, &command, &exited), CODE_EXECUTOR_OK);
    assert_int_equal(output.total, FLOOD);
    assert_true(highest <= 1024 * 1024);
    fake_runner_close(&runner, opened);
}

/* ------------------------------------------------------------------------------------------------
 * Requests
 * --------------------------------------------------------------------------------------------- */

static void answer_requests(fake_runner *self)
{
    struct frame_header header;
    unsigned char answer[64];
    while (fake_read(self, &header)) {
        if (header.type == FRAME_LOOKUP) {
            put_u32(answer, get_u32(self->payload));
            put_u32(answer + 4, 7);
            memcpy(answer + 8, "/bin/sh", 7);
            put_u32(answer + 15, 0);
            fake_write(self, FRAME_LOOKUP_DONE, 0, header.execution, answer, 19);
        } else if (header.type == FRAME_RESET) {
            fake_write(self, FRAME_RESET_DONE, 0, 0, NULL, 0);
        }
    }
}

static void programs_are_looked_up(void **state)
{
    (void)state;
    session *opened = fake_runner_open(&runner, answer_requests, NULL);
    static const char *const programs[] = {"sh", "none"};
    char *paths[2];
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(session_lookup(opened, programs, 2, paths, &error), CODE_EXECUTOR_OK);
    assert_string_equal(paths[0], "/bin/sh");
    assert_null(paths[1]);
    free(paths[0]);
    /* It answers with two again. */
    assert_int_equal(session_lookup(opened, programs, 1, paths, &error), CODE_EXECUTOR_PROTOCOL);
    fake_runner_close(&runner, opened);
}

struct written {
    size_t length;
    size_t frames;
    uint32_t errnum; /* to be answered */
    uint16_t first_flags;
    uint16_t last_flags;
};

static void take_file(fake_runner *self)
{
    struct written *written = self->context;
    struct frame_header header;
    while (fake_read_type(self, FRAME_WRITE, &header)) {
        struct payload_reader reader = {self->payload, header.length, 0};
        uint32_t length;
        const char *path = read_string(&reader, &length);
        bool right = length == 3 && memcmp(path, "a/b", 3) == 0 && read_u32(&reader) == 0644;
        if (written->frames++ == 0)
            written->first_flags = header.detail;
        written->last_flags = header.detail;
        written->length += right ? reader.left : 0;
        if (header.detail & WRITE_LAST) {
            unsigned char answer[4];
            put_u32(answer, written->errnum);
            fake_write(self, FRAME_WRITE_DONE, 0, header.execution, answer, 4);
        }
    }
}

static void a_file_is_written_in_frames(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 1, 65536, 1000000};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct written written = {.length = 0};
        session *opened = fake_runner_open(&runner, take_file, &written);
        char *bytes = calloc(1, lengths[i] + 1);
        assert_non_null(bytes);
        assert_int_equal(session_write_file(opened, "a/b", 0644, bytes, lengths[i], NULL),
                         CODE_EXECUTOR_OK);
        free(bytes);
        fake_runner_close(&runner, opened);
        assert_int_equal(written.length, lengths[i]);
        assert_int_equal(written.first_flags & WRITE_FIRST, WRITE_FIRST);
        assert_int_equal(written.last_flags & WRITE_LAST, WRITE_LAST);
    }
}

static void a_file_that_cannot_be_written_is_reported(void **state)
{
    (void)state;
    struct written written = {.errnum = 30 /* EROFS */};
    session *opened = fake_runner_open(&runner, take_file, &written);
    char *bytes = calloc(1, 10000000);
    assert_non_null(bytes);
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(session_write_file(opened, "a/b", 0644, bytes, 10000000, &error),
                     CODE_EXECUTOR_DENIED);
    assert_string_equal(error.message, "cannot write a/b: Read-only file system");
    assert_true(session_alive(opened));
    free(bytes);
    fake_runner_close(&runner, opened);
}

/* ------------------------------------------------------------------------------------------------
 * Opening, forks
 * --------------------------------------------------------------------------------------------- */

static void opening_can_be_cancelled(void **state)
{
    (void)state;
    int cancel_fd = eventfd(1, EFD_CLOEXEC);
    session *opened;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(session_open(fake_runner_start(&runner, fake_drain, NULL), false, cancel_fd,
                                  &opened, &error),
                     CODE_EXECUTOR_CANCELLED);
    assert_null(opened);
    fake_runner_join(&runner);
    close(cancel_fd);
}

static void a_forked_child_does_not_keep_the_connection_open(void **state)
{
    (void)state;
    int done[2];
    assert_int_equal(pipe(done), 0);
    session *opened = fake_runner_open(&runner, fake_drain, NULL);
    pid_t child = fork();
    if (child == 0) {
        close(done[1]);
        char byte;
        (void)!read(done[0], &byte, 1); /* lives on until the parent is done */
        _exit(0);
    }
    fake_runner_close(&runner, opened); /* joins the runner, which ends at end-of-file */
    close(done[0]);
    close(done[1]);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_gives_output_and_exit),
        cmocka_unit_test(frames_may_come_in_single_bytes),
        cmocka_unit_test(frames_may_leave_in_single_bytes),
        cmocka_unit_test(spawn_is_laid_out_as_the_protocol_says),
        cmocka_unit_test(standard_input_arrives_whole_before_the_command),
        cmocka_unit_test(output_flows_as_credit_is_granted_again),
        cmocka_unit_test(programs_are_looked_up),
        cmocka_unit_test(a_file_is_written_in_frames),
        cmocka_unit_test(a_file_that_cannot_be_written_is_reported),
        cmocka_unit_test(opening_can_be_cancelled),
        cmocka_unit_test(a_forked_child_does_not_keep_the_connection_open),
    };
    return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
