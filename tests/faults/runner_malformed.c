/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runner_malformed.c: a frame that is not as it must be ends the connection with a reason, and all that
 * was started with it.
 */
#include "runner_client.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A frame in hexadecimal, blanks for the eye, and words that the reason must hold. */
struct malformed {
    const char *what;
    const char *bytes;
    const char *reason;
};

#define MAGIC    "43525831"
#define ONE      "01000000"
#define ZERO     "00000000"
#define MUCH     "ffffffff"
#define SH       "02000000 7368"
#define EMPTY    ZERO
#define LIMITS   ZERO ZERO ZERO ZERO
#define NO_LISTS ZERO ZERO
#define RUN_SH   ONE ONE SH
#define OF_ONE   "0000" ONE

static const struct malformed before_hello[] = {
    {"another frame first", ZERO "0600 0000" ZERO, "the first frame is not HELLO"},
    {"another magic", "0c000000 0100 0000" ZERO "58585858" ONE ZERO, "no host of code_executor"},
    {"another version", "0c000000 0100 0000" ZERO MAGIC "63000000" ZERO,
     "the host speaks version 99, this runner version 1"},
    {"another version with a longer payload", "10000000 0100 0000" ZERO MAGIC "02000000" ZERO ZERO,
     "the host speaks version 2"},
    {"unknown flags", "0c000000 0100 0000" ZERO MAGIC ONE "00000080", "unknown flags"},
    {"a short HELLO", "08000000 0100 0000" ZERO MAGIC ONE, "too early"},
    {"a long HELLO", "10000000 0100 0000" ZERO MAGIC ONE ZERO ZERO, "more in it"},
    {"a HELLO of an execution", "0c000000 0100 0000" ONE MAGIC ONE ZERO, "no execution"},
    {"text", "474554202f20485454502f312e310d0a", "unknown frame type"},
};

static const struct malformed after_hello[] = {
    {"a second HELLO", "0c000000 0100 0000" ZERO MAGIC ONE ZERO, "second HELLO"},
    {"type 0", ZERO "0000" OF_ONE, "unknown frame type 0"},
    {"an unknown type", ZERO "0900" OF_ONE, "unknown frame type 9"},
    {"a type of the runner's", ZERO "4100" OF_ONE, "unknown frame type 65"},
    {"the largest type", ZERO "ffff" OF_ONE, "unknown frame type 65535"},
    {"too long a payload", "01001000 0200" OF_ONE, "too long"},
    {"the longest length", MUCH "0200" OF_ONE, "too long"},
    {"STDIN of no execution", ZERO "0200 0000" ZERO, "must name an execution"},
    {"STDIN with a detail", ZERO "0200 0100" ONE, "unknown detail"},
    {"RESET of an execution", ZERO "0600" OF_ONE, "no execution"},
    {"RESET with a payload", "04000000 0600 0000" ZERO ZERO, "more in it"},
    {"CREDIT that is short", "02000000 0400" OF_ONE "0000", "too early"},
    {"KILL with signal 0", "08000000 0500" OF_ONE ZERO ZERO, "no such signal"},
    {"KILL with signal 65", "08000000 0500" OF_ONE "41000000" ZERO, "no such signal"},
    {"KILL with the largest signal", "08000000 0500" OF_ONE MUCH ZERO, "no such signal"},
    {"SPAWN without anything", ZERO "0300" OF_ONE, "too early"},
    {"SPAWN with flags", "2a000000 0300" OF_ONE ZERO ZERO ZERO ONE EMPTY NO_LISTS RUN_SH, "flags"},
    {"SPAWN without a candidate", "20000000 0300" OF_ONE LIMITS EMPTY NO_LISTS ZERO, "no command"},
    {"SPAWN with too many candidates", "20000000 0300" OF_ONE LIMITS EMPTY NO_LISTS MUCH,
     "candidates"},
    {"SPAWN with an empty vector", "24000000 0300" OF_ONE LIMITS EMPTY NO_LISTS ONE ZERO,
     "no program"},
    {"SPAWN with an empty program", "28000000 0300" OF_ONE LIMITS EMPTY NO_LISTS ONE ONE EMPTY,
     "no program"},
    {"SPAWN that counts too many arguments",
     "2a000000 0300" OF_ONE LIMITS EMPTY NO_LISTS ONE MUCH SH, "more strings than it holds"},
    {"SPAWN that counts one argument too many",
     "2a000000 0300" OF_ONE LIMITS EMPTY NO_LISTS ONE "02000000" SH, ""},
    {"SPAWN with a string beyond the end",
     "2a000000 0300" OF_ONE LIMITS EMPTY NO_LISTS ONE ONE "03000000 7368", "too early"},
    {"SPAWN with the longest string",
     "2a000000 0300" OF_ONE LIMITS EMPTY NO_LISTS ONE ONE MUCH "7368", "too early"},
    {"SPAWN with a NUL in a string",
     "2a000000 0300" OF_ONE LIMITS EMPTY NO_LISTS ONE ONE "02000000 7300", "NUL"},
    {"SPAWN with a folder beyond the end", "2a000000 0300" OF_ONE LIMITS MUCH NO_LISTS RUN_SH,
     "too early"},
    {"SPAWN with too many variables", "1c000000 0300" OF_ONE LIMITS EMPTY MUCH ZERO,
     "environment variables"},
    {"SPAWN with a variable without =",
     "2f000000 0300" OF_ONE LIMITS EMPTY ONE "01000000 41" ZERO ONE ONE "02000000 7368",
     "NAME=value"},
    {"SPAWN with a variable without a name",
     "2f000000 0300" OF_ONE LIMITS EMPTY ONE "01000000 3d" ZERO ONE ONE "02000000 7368",
     "NAME=value"},
    {"SPAWN with more behind it", "2b000000 0300" OF_ONE LIMITS EMPTY NO_LISTS RUN_SH "00",
     "more in it"},
    {"LOOKUP that counts too many", "04000000 0700" OF_ONE "81000000", "too many programs"},
    {"LOOKUP with a missing string", "08000000 0700" OF_ONE "02000000" EMPTY, "more strings"},
    {"WRITE without a path", "08000000 0800 0300" ONE EMPTY ZERO, "no path"},
    {"WRITE with another mode", "09000000 0800 0300" ONE "01000000 61 00001000", "no such mode"},
    {"WRITE with an unknown detail", "09000000 0800 0400" ONE "01000000 61" ZERO, "unknown detail"},
    {"WRITE that goes on without a beginning", "09000000 0800 0200" ONE "01000000 61" ZERO,
     "out of order"},
    {"WRITE that begins twice",
     "09000000 0800 0100" ONE "01000000 61" ZERO "09000000 0800 0100" ONE "01000000 61" ZERO,
     "out of order"},
};

static size_t parse_hexadecimal(const char *text, unsigned char *bytes, size_t size)
{
    size_t length = 0;
    while (*text != '\0') {
        if (*text == ' ') {
            text++;
            continue;
        }
        unsigned value = 0;
        assert_int_equal(sscanf(text, "%2x", &value), 1);
        assert_true(length < size);
        bytes[length++] = (unsigned char)value;
        text += 2;
    }
    return length;
}

static void send_raw(client *runner, const char *hexadecimal)
{
    unsigned char bytes[256];
    size_t length = parse_hexadecimal(hexadecimal, bytes, sizeof bytes);
    assert_int_equal(write(runner->to_runner, bytes, length), length);
}

/* The runner's last words; nothing but the ends of executions may come before. */
static void assert_ends_with_reason(client *runner, const struct malformed *row)
{
    client_frame frame;
    bool there = client_receive(runner, &frame);
    if (!there || frame.header.type != FRAME_ERROR ||
        !strstr((const char *)frame.payload, row->reason))
        print_error("%s: %s\n", row->what, there ? (const char *)frame.payload : "end-of-file");
    assert_true(there);
    assert_int_equal(frame.header.type, FRAME_ERROR);
    assert_int_equal(frame.header.execution, 0);
    assert_non_null(strstr((const char *)frame.payload, row->reason));
    assert_false(client_receive(runner, &frame));
    int status = client_await_end(runner);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 2);
}

static void what_is_not_a_hello_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof before_hello / sizeof before_hello[0]; i++) {
        client runner = client_start(&(client_options){.silent = true});
        send_raw(&runner, before_hello[i].bytes);
        assert_ends_with_reason(&runner, &before_hello[i]);
    }
}

static void malformed_frames_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof after_hello / sizeof after_hello[0]; i++) {
        client runner = client_start(NULL);
        send_raw(&runner, after_hello[i].bytes);
        assert_ends_with_reason(&runner, &after_hello[i]);
    }
}

static void the_longest_frame_is_taken(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    static char bytes[FRAME_PAYLOAD_MAX];
    client_send(&runner, FRAME_STDIN, 0, 1, bytes, sizeof bytes);
    client_exit result = client_run_script(&runner, "wc -c");
    assert_int_equal(atoi(result.output[0]), (int)sizeof bytes);
    client_exit_free(&result);
    client_end(&runner);
}

static void frames_are_taken_byte_by_byte(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    unsigned char bytes[256];
    size_t length = parse_hexadecimal(
        "2a000000 0300" OF_ONE ZERO ZERO MUCH ZERO EMPTY NO_LISTS RUN_SH, bytes, sizeof bytes);
    for (size_t i = 0; i < length; i++) {
        assert_int_equal(write(runner.to_runner, bytes + i, 1), 1);
        usleep(1000);
    }
    client_exit result = client_wait(&runner, 1);
    assert_int_equal(result.how, EXIT_EXITED);
    client_exit_free(&result);
    client_end(&runner);
}

static void requests_out_of_place_are_refused(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_spawn(&runner, 1, &(client_command){.script = "sleep 1000"});
    client_send(&runner, FRAME_STDIN, 0, 1, "late", 4);
    assert_ends_with_reason(&runner, &(struct malformed){"STDIN after SPAWN", "", "STDIN after"});

    runner = client_start(NULL);
    client_spawn(&runner, 1, &(client_command){.script = "sleep 1000"});
    client_spawn(&runner, 1, &(client_command){.script = "sleep 1000"});
    assert_ends_with_reason(&runner, &(struct malformed){"two SPAWNs", "", "is running"});
}

static void what_runs_dies_with_the_connection(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_spawn(&runner, 1,
                 &(client_command){.script = "trap '' TERM; (setsid sleep 1000 &) ; echo > ready; "
                                             "sleep 1000"});
    await_file("ready");
    send_raw(&runner, ZERO "ffff" OF_ONE);
    assert_ends_with_reason(&runner, &(struct malformed){"a bad frame", "", "unknown frame type"});
}

static void end_of_file_within_a_frame_is_the_end(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    send_raw(&runner, "2a000000 0300" OF_ONE LIMITS);
    assert_int_equal(client_end(&runner), 0);
}

static void a_host_that_asks_and_never_reads_is_given_up(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    payload lookup = {0};
    /* Long answers that are found soon. */
    char path[4000];
    memset(path, '/', sizeof path);
    strcpy(path + sizeof path - sizeof "bin/sh", "bin/sh");
    const char *names[LOOKUP_MAX + 1] = {NULL};
    for (size_t i = 0; i < LOOKUP_MAX; i++)
        names[i] = path;
    payload_strings(&lookup, names);
    /* What does not fit into the socket waits in the runner, but not without bound. */
    for (int i = 0; i < 1000; i++)
        client_send(&runner, FRAME_LOOKUP, 0, 1, lookup.bytes, lookup.length);
    payload_free(&lookup);
    client_await_end(&runner);
}

static void without_a_hello_it_ends(void **state)
{
    (void)state;
    client runner = client_start(&(client_options){.silent = true});
    assert_ends_with_reason(&runner, &(struct malformed){"silence", "", "no HELLO"});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUNNER_TEST(what_is_not_a_hello_is_refused),
        RUNNER_TEST(malformed_frames_are_refused),
        RUNNER_TEST(the_longest_frame_is_taken),
        RUNNER_TEST(frames_are_taken_byte_by_byte),
        RUNNER_TEST(requests_out_of_place_are_refused),
        RUNNER_TEST(what_runs_dies_with_the_connection),
        RUNNER_TEST(end_of_file_within_a_frame_is_the_end),
        RUNNER_TEST(a_host_that_asks_and_never_reads_is_given_up),
        RUNNER_TEST(without_a_hello_it_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
