/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bad_ends.c: runs of host_demo that do not end as they were meant to: signals, nobody who reads, a
 * disk that is full, output without end. Whatever happens, it ends, says why, and leaves no process
 * behind.
 */
#include "demo_process.h"
#include <fcntl.h>
#include <json-c/json.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MOST_KILOBYTES = 1 << 30 }; /* the sanitizer's own memory */
#define FLOOD "300000000"
#else
enum { MOST_KILOBYTES = 100 * 1024 };
#define FLOOD "10000000000"
#endif

static int sleeps;

/* A command line that no other test runs, and a message that runs it behind a word. */
static char *new_sleep(char *message, size_t size)
{
    char *command = NULL;
    assert_true(asprintf(&command, "sleep %d.%d", 7000 + sleeps++, (int)getpid()) > 0);
    snprintf(message, size, "```sh\necho begun\n%s & %s\n```\n", command, command);
    return command;
}

static void signalled(int number, int expected)
{
    char message[200];
    char *command = new_sleep(message, sizeof message);
    struct demo_result result;
    demo_run(&(struct demo_call){.arguments = {"run", "-e", "local"},
                                 .input = message,
                                 .signal_after_output = number},
             &result);
    assert_int_equal(result.status, expected);
    assert_string_equal(result.output, "begun\n");
    assert_false(demo_process_stays(command, 10));
    demo_result_free(&result);
    free(command);
}

static void an_interrupt_leaves_no_process(void **state)
{
    (void)state;
    signalled(SIGINT, 130);
}

static void sigterm_leaves_no_process(void **state)
{
    (void)state;
    signalled(SIGTERM, 128 + SIGTERM);
}

static void sighup_leaves_no_process(void **state)
{
    (void)state;
    signalled(SIGHUP, 128 + SIGHUP);
}

static void sigkill_leaves_no_process(void **state)
{
    (void)state;
    signalled(SIGKILL, -SIGKILL);
}

static void nobody_reads_stdout(void **state)
{
    (void)state;
    char message[200], command[100];
    snprintf(command, sizeof command, "yes nobody-%d", (int)getpid());
    snprintf(message, sizeof message, "```sh\n%s\n```\n", command);
    struct demo_result result;
    demo_run(&(struct demo_call){.arguments = {"run", "-e", "local"},
                                 .input = message,
                                 .drop_output_after = 1},
             &result);
    assert_int_equal(result.status, 141);
    assert_null(strstr(result.words, "Broken pipe"));
    assert_false(demo_process_stays(command, 10));
    demo_result_free(&result);
}

static void nobody_reads_the_json(void **state)
{
    (void)state;
    struct demo_result result;
    demo_run(&(struct demo_call){.arguments = {"run", "-e", "echo", "--json"},
                                 .input = "```echo\nflood 900000\n```\n",
                                 .drop_output_after = 1},
             &result);
    assert_int_equal(result.status, 141);
    demo_result_free(&result);
}

static void a_full_disk(void **state)
{
    (void)state;
    static const char message[] = "```sh\nyes\n```\n";
    struct demo_result result;
    demo_run(&(struct demo_call){.arguments = {"run", "-e", "local"},
                                 .input = message,
                                 .output_path = "/dev/full"},
             &result);
    assert_int_equal(result.status, 125);
    assert_non_null(strstr(result.words, "No space left on device"));
    demo_result_free(&result);
    demo_run(&(struct demo_call){.arguments = {"run", "-e", "echo", "--json"},
                                 .input = "```echo\nprint x\n```\n",
                                 .output_path = "/dev/full"},
             &result);
    assert_int_equal(result.status, 125);
    assert_non_null(strstr(result.words, "No space left on device"));
    demo_result_free(&result);
}

static void every_command_notices_a_full_disk(void **state)
{
    (void)state;
    static const char *const words[][2] = {
        {"--help", NULL}, {"--version", NULL}, {"plugins", NULL},
        {"info", "echo"}, {"extract", "-"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct demo_result result;
        demo_run(&(struct demo_call){.arguments = {words[i][0], words[i][1]},
                                     .input = "```echo\nprint x\n```\n",
                                     .output_path = "/dev/full"},
                 &result);
        assert_int_equal(result.status, 125);
        demo_result_free(&result);
    }
}

static void closed_standard_descriptors(void **state)
{
    (void)state;
    /* Nothing of ours may land in a file or socket that took the place of a closed stdout. */
    const char *arguments[] = {"run", "-e", "echo",
                               demo_file("closed.md", "```echo\nprint x\n```\n", 20), NULL};
    pid_t process = demo_start(arguments, -1, -1, -1);
    assert_int_equal(demo_wait(process, 30), 125);
}

static void output_without_end_is_bounded(void **state)
{
    (void)state;
    struct demo_result result;
    demo_run(&(struct demo_call){.arguments = {"run", "-e", "local", "--timeout", "3"},
                                 .input = "```sh\nexec cat /dev/zero\n```\n",
                                 .output_path = "/dev/null"},
             &result);
    assert_int_equal(result.status, 124);
    assert_in_range(result.peak_kilobytes, 0, MOST_KILOBYTES);
    demo_result_free(&result);
}

static void output_without_end_is_bounded_in_json(void **state)
{
    (void)state;
    struct demo_result result;
    demo_run(&(struct demo_call){.arguments = {"run", "-e", "local", "--timeout", "3", "--json"},
                                 .input = "```sh\nexec cat /dev/zero\n```\n",
                                 .output_path = "/dev/null"},
             &result);
    assert_int_equal(result.status, 124);
    assert_in_range(result.peak_kilobytes, 0, MOST_KILOBYTES);
    demo_result_free(&result);
}

static void a_flood_passes_through(void **state)
{
    (void)state;
    struct demo_result result;
    demo_run(&(struct demo_call){.arguments = {"run", "-e", "echo"},
                                 .input = "```echo\nflood " FLOOD "\n```\n",
                                 .output_path = "/dev/null"},
             &result);
    assert_int_equal(result.status, 0);
    assert_in_range(result.peak_kilobytes, 0, MOST_KILOBYTES);
    demo_result_free(&result);
}

static void a_reader_that_stops_does_not_stop_an_interrupt(void **state)
{
    (void)state;
    int input[2], output[2];
    assert_int_equal(pipe2(input, O_CLOEXEC), 0);
    assert_int_equal(pipe2(output, O_CLOEXEC), 0);
    static const char message[] = "```sh\nyes\n```\n";
    const char *arguments[] = {"run", "-e", "local", NULL};
    assert_true(write(input[1], message, strlen(message)) > 0);
    pid_t process = demo_start(arguments, input[0], output[1], STDERR_FILENO);
    close(input[0]);
    close(input[1]);
    close(output[1]);
    usleep(1000000); /* the pipe is full long since, and nobody reads it */
    kill(process, SIGINT);
    assert_int_equal(demo_wait(process, 30), 130);
    close(output[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_interrupt_leaves_no_process),
        cmocka_unit_test(sigterm_leaves_no_process),
        cmocka_unit_test(sighup_leaves_no_process),
        cmocka_unit_test(sigkill_leaves_no_process),
        cmocka_unit_test(nobody_reads_stdout),
        cmocka_unit_test(nobody_reads_the_json),
        cmocka_unit_test(a_full_disk),
        cmocka_unit_test(every_command_notices_a_full_disk),
        cmocka_unit_test(closed_standard_descriptors),
        cmocka_unit_test(output_without_end_is_bounded),
        cmocka_unit_test(output_without_end_is_bounded_in_json),
        cmocka_unit_test(a_flood_passes_through),
        cmocka_unit_test(a_reader_that_stops_does_not_stop_an_interrupt),
    };
    return cmocka_run_group_tests_name("bad_ends", tests, NULL, NULL);
}
