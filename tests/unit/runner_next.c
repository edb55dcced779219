/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runner_next.c: one command after the other under the same supervisor. Nothing of the one reaches the next,
 * and the runner wakes no more often than it must.
 */
#include "runner_client.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define AWAIT(name) "while [ ! -e " name " ]; do sleep 0.02; done; "

/* Longer than a supervisor rests. */
static void let_rest(void)
{
    usleep(200000);
}

static int supervisor_of(client *runner, const char *before)
{
    char script[256];
    snprintf(script, sizeof script, "%s echo $PPID", before);
    client_exit result = client_run_script(runner, script);
    assert_int_equal(result.how, EXIT_EXITED);
    int pid = atoi(result.output[1]);
    client_exit_free(&result);
    return pid;
}

static size_t children_of(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    size_t count = 0;
    int child;
    while (fscanf(file, "%d", &child) == 1)
        count++;
    fclose(file);
    return count;
}

static void a_supervisor_of_whose_command_nothing_is_left_takes_the_next(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    int first = supervisor_of(&runner, "");
    for (int i = 0; i < 5; i++) {
        assert_int_equal(supervisor_of(&runner, ""), first);
        if (i > 2)
            let_rest();
    }
    client_end(&runner);
}

static void one_that_looks_after_a_background_does_not(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    int first = supervisor_of(&runner, "sleep 1000 > /dev/null 2>&1 &");
    assert_int_not_equal(supervisor_of(&runner, ""), first);
    client_end(&runner);
}

static void one_whose_limits_code_has_taken_away_takes_no_other(void **state)
{
    (void)state;
    static const char *const ways[] = {"prlimit --pid $PPID --fsize=5:5;",
                                       "taskset -p 1 $PPID > /dev/null;",
                                       "renice -n 5 $PPID > /dev/null;"};
    client runner = client_start(NULL);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        client_exit result = client_run_script(&runner, ways[i]);
        assert_int_equal(result.how, EXIT_EXITED);
        client_exit_free(&result);
        let_rest();
        result = client_run_script(&runner, "ulimit -f; nproc; nice; echo x > /dev/null");
        client_exit other = client_run_script(&runner, "ulimit -f; nproc; nice");
        assert_int_equal(strncmp(result.output[1], "unlimited\n", 10), 0);
        assert_string_equal(result.output[1], other.output[1]);
        assert_non_null(strstr(result.output[1], "\n0\n"));
        client_exit_free(&other);
        client_exit_free(&result);
    }
    client_end(&runner);
}

static void a_background_ends_with_its_own_supervisor_alone(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    int first = supervisor_of(&runner, "(sleep 0.3; touch ended) > /dev/null 2>&1 &");
    int second = supervisor_of(&runner, "");
    await_file("ended");
    let_rest();
    assert_int_equal(supervisor_of(&runner, ""), second);
    assert_int_not_equal(second, first);
    client_end(&runner);
}

static void a_command_that_does_not_start_leaves_a_supervisor_to_the_next(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    int first = supervisor_of(&runner, "");
    client_exit result = client_run(&runner, &(client_command){.script = "", .folder = "missing"});
    assert_int_equal(result.how, EXIT_NOT_STARTED);
    client_exit_free(&result);
    assert_int_equal(supervisor_of(&runner, ""), first);
    client_end(&runner);
}

/* Attack: an execution gets hold of another one's stdout and writes to it when the next one runs. */
static void a_kept_stdout_does_not_reach_the_next(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_spawn(&runner, 2,
                 &(client_command){
                     .script = AWAIT("pid") "exec 9> /proc/$(cat pid)/fd/1; touch held; " AWAIT(
                         "go") "(echo stray >&9) 2> /dev/null; touch written; sleep 1000"});
    client_exit result =
        client_run_script(&runner, "echo $$ > new; mv new pid; " AWAIT("held") "echo first");
    assert_string_equal(result.output[0], "first\n");
    client_exit_free(&result);
    let_rest();
    result = client_run_script(&runner, "touch go; " AWAIT("written") "echo second");
    assert_string_equal(result.output[0], "second\n");
    client_exit_free(&result);
    client_end(&runner);
}

static void what_nobody_read_of_a_standard_input_is_not_the_next_ones(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    for (int i = 0; i < 3; i++) {
        client_exit result =
            client_run(&runner, &(client_command){.script = "echo $PPID", .input = "unread"});
        int supervisor = atoi(result.output[1]);
        client_exit_free(&result);
        result = client_run_script(&runner, "cat; echo $PPID");
        assert_int_equal(atoi(result.output[1]), supervisor);
        client_exit_free(&result);
    }
    client_end(&runner);
}

static void times_and_memory_are_each_commands_own(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_exit first =
        client_run_script(&runner, "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done");
    client_exit second = client_run_script(&runner, "true");
    assert_true(second.cpu_ns < first.cpu_ns);
    assert_true(second.wall_ns < first.wall_ns);
    client_exit_free(&first);
    client_exit_free(&second);
    client_end(&runner);
}

static void the_last_ones_time_limit_is_over_with_it(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_exit result =
        client_run(&runner, &(client_command){.script = "true", .timeout_ms = 300, .grace_ms = 10});
    assert_int_equal(result.how, EXIT_EXITED);
    client_exit_free(&result);
    result = client_run_script(&runner, "sleep 0.6; echo whole");
    assert_string_equal(result.output[0], "whole\n");
    assert_int_equal(result.how, EXIT_EXITED);
    client_exit_free(&result);
    client_end(&runner);
}

static void of_many_at_once_a_few_are_kept(void **state)
{
    (void)state;
    enum { MANY = 30, FEW = 9 };
    client runner = client_start(NULL);
    for (uint32_t number = 1; number <= MANY; number++)
        client_spawn(&runner, number, &(client_command){.script = AWAIT("go") "sleep 0.2"});
    close(open("go", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    for (int ended = 0; ended < MANY;) {
        client_frame frame;
        assert_true(client_receive(&runner, &frame));
        ended += frame.header.type == FRAME_EXIT;
    }
    for (int i = 0; i < 500 && children_of(runner.pid) > FEW; i++)
        usleep(10000);
    assert_in_range(children_of(runner.pid), 1, FEW);
    client_exit result = client_run_script(&runner, "echo goes on");
    assert_string_equal(result.output[0], "goes on\n");
    client_exit_free(&result);
    client_end(&runner);
}

/* At every moment of a supervisor's rest. */
static void a_reset_between_two_commands_is_answered(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    for (useconds_t pause = 0; pause < 3000; pause += 100) {
        client_exit result = client_run_script(&runner, "echo x");
        assert_string_equal(result.output[0], "x\n");
        client_exit_free(&result);
        usleep(pause);
        client_reset(&runner);
    }
    client_end(&runner);
}

static void commands_at_every_moment_of_the_rest_run(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    for (useconds_t pause = 0; pause < 3000; pause += 50) {
        client_exit result = client_run_script(&runner, "echo out; echo err >&2; exit 3");
        assert_string_equal(result.output[1], "out\n");
        assert_string_equal(result.output[2], "err\n");
        assert_int_equal(result.exit_code, 3);
        client_exit_free(&result);
        usleep(pause);
    }
    client_end(&runner);
}

static void a_line_arrives_while_the_command_goes_on(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_spawn(&runner, 1, &(client_command){.script = "echo line; sleep 1000"});
    client_frame frame;
    assert_true(client_receive(&runner, &frame));
    assert_int_equal(frame.header.type, FRAME_OUTPUT);
    assert_memory_equal(frame.payload, "line\n", 5);
    client_end(&runner);
}

static long sleeps_of(pid_t pid)
{
    char path[64];
    char line[256];
    long count = -1;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    while (count < 0 && fgets(line, sizeof line, file))
        (void)sscanf(line, "voluntary_ctxt_switches: %ld", &count);
    fclose(file);
    return count;
}

static void a_host_that_takes_nothing_wakes_nobody(void **state)
{
    (void)state;
    enum { FLOOD = 8 * 1024 * 1024 };
    client runner = client_start(&(client_options){.over_pipes = true});
    client_spawn(&runner, 1,
                 &(client_command){.script = "head -c 8388608 /dev/zero; echo over >&2"});
    long before = -1;
    for (int i = 0; i < 20 && sleeps_of(runner.pid) != before; i++) {
        before = sleeps_of(runner.pid);
        usleep(500000);
    }
    assert_int_equal(sleeps_of(runner.pid), before);
    client_exit result = client_wait(&runner, 1);
    assert_int_equal(result.length[1], FLOOD);
    assert_string_equal(result.output[2], "over\n");
    client_exit_free(&result);
    client_end(&runner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUNNER_TEST(a_supervisor_of_whose_command_nothing_is_left_takes_the_next),
        RUNNER_TEST(one_that_looks_after_a_background_does_not),
        RUNNER_TEST(one_whose_limits_code_has_taken_away_takes_no_other),
        RUNNER_TEST(a_background_ends_with_its_own_supervisor_alone),
        RUNNER_TEST(a_command_that_does_not_start_leaves_a_supervisor_to_the_next),
        RUNNER_TEST(a_kept_stdout_does_not_reach_the_next),
        RUNNER_TEST(what_nobody_read_of_a_standard_input_is_not_the_next_ones),
        RUNNER_TEST(times_and_memory_are_each_commands_own),
        RUNNER_TEST(the_last_ones_time_limit_is_over_with_it),
        RUNNER_TEST(of_many_at_once_a_few_are_kept),
        RUNNER_TEST(a_reset_between_two_commands_is_answered),
        RUNNER_TEST(commands_at_every_moment_of_the_rest_run),
        RUNNER_TEST(a_line_arrives_while_the_command_goes_on),
        RUNNER_TEST(a_host_that_takes_nothing_wakes_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
