/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runner_run.c: what the runner does with commands that mean no harm.
 */
#include "runner_client.h"
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void assert_ran(client_exit *result, const char *output, uint32_t exit_code)
{
    assert_string_equal(result->output[0], output);
    assert_int_equal(result->how, EXIT_EXITED);
    assert_int_equal(result->exit_code, exit_code);
    client_exit_free(result);
}

static void greets_with_its_pid_user_and_machine(void **state)
{
    (void)state;
    client runner = client_start(&(client_options){.silent = true});
    payload hello = {0};
    payload_u32(&hello, PROTOCOL_MAGIC);
    payload_u32(&hello, PROTOCOL_VERSION);
    payload_u32(&hello, 0);
    client_send(&runner, FRAME_HELLO, 0, 0, hello.bytes, hello.length);
    payload_free(&hello);
    client_frame frame;
    assert_true(client_receive(&runner, &frame));
    struct payload_reader reader = {frame.payload + 8, frame.header.length - 8, 0};
    assert_int_equal(read_u32(&reader), runner.pid);
    assert_int_equal(read_u32(&reader), getuid());
    uint32_t length = 0;
    read_string(&reader, &length);
    assert_true(length > 0);
    assert_false(reader.failed);
    assert_int_equal(client_end(&runner), 0);
}

static void passes_on_both_streams_and_the_exit_code(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_exit result = client_run_script(&runner, "echo out; echo err >&2; exit 3");
    assert_string_equal(result.output[1], "out\n");
    assert_string_equal(result.output[2], "err\n");
    assert_ran(&result, "out\nerr\n", 3);
    client_end(&runner);
}

static void works_over_pipes(void **state)
{
    (void)state;
    client runner = client_start(&(client_options){.over_pipes = true});
    client_exit result = client_run_script(&runner, "echo piped");
    assert_ran(&result, "piped\n", 0);
    client_end(&runner);
}

static void keeps_the_order_of_writes_across_streams(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_exit result = client_run_script(
        &runner, "for i in 1 2 3; do echo out $i; sleep 0.4; echo err $i >&2; sleep 0.4; done");
    assert_ran(&result, "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n", 0);
    client_end(&runner);
}

static void tells_the_signal_that_killed_the_command(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_exit result = client_run_script(&runner, "kill -SEGV $$");
    assert_int_equal(result.how, EXIT_SIGNALLED);
    assert_int_equal(result.signal, SIGSEGV);
    client_exit_free(&result);
    client_end(&runner);
}

static void measures_time_and_memory(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_exit result = client_run_script(&runner, "sleep 0.2");
    assert_true(result.wall_ns >= 200u * 1000u * 1000u);
    assert_true(result.cpu_ns > 0 && result.cpu_ns < result.wall_ns);
    assert_true(result.peak_memory_bytes > 100u * 1024u);
    client_exit_free(&result);
    client_end(&runner);
}

static void gives_the_environment_with_defaults_below_and_additions_above(void **state)
{
    (void)state;
    setenv("RUNNER_TEST_SET", "own", 1);
    setenv("RUNNER_TEST_OVERRIDDEN", "own", 1);
    client runner = client_start(NULL);
    unsetenv("RUNNER_TEST_SET");
    unsetenv("RUNNER_TEST_OVERRIDDEN");
    const char *const defaults[] = {"RUNNER_TEST_SET=default", "RUNNER_TEST_UNSET=default",
                                    "RUNNER_TEST_ADDED=default", NULL};
    const char *const additions[] = {"RUNNER_TEST_ADDED=first", "RUNNER_TEST_OVERRIDDEN=addition",
                                     "RUNNER_TEST_ADDED=last", NULL};
    client_exit result = client_run(&runner, &(client_command){
                                                 .script = "env | grep ^RUNNER_TEST_ | sort",
                                                 .defaults = defaults,
                                                 .additions = additions,
                                             });
    assert_ran(&result,
               "RUNNER_TEST_ADDED=last\nRUNNER_TEST_OVERRIDDEN=addition\n"
               "RUNNER_TEST_SET=own\nRUNNER_TEST_UNSET=default\n",
               0);
    client_end(&runner);
}

static void runs_in_the_folder_that_was_asked_for(void **state)
{
    (void)state;
    assert_int_equal(mkdir("below", 0755), 0);
    client runner = client_start(NULL);
    client_exit result =
        client_run(&runner, &(client_command){.script = "basename \"$(pwd)\"", .folder = "below"});
    assert_ran(&result, "below\n", 0);
    client_end(&runner);
}

static void says_so_when_the_folder_cannot_be_entered(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_exit result =
        client_run(&runner, &(client_command){.script = "true", .folder = "/not/there"});
    assert_int_equal(result.how, EXIT_NOT_STARTED);
    assert_int_equal(result.error, ENOENT);
    assert_int_equal(result.candidate, CANDIDATE_NONE);
    assert_non_null(strstr(result.detail, "/not/there"));
    client_exit_free(&result);
    client_end(&runner);
}

static void runs_the_first_candidate_that_is_found(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    const char *const missing[] = {"no-such-program-here", NULL};
    const char *const present[] = {"sh", "-c", "echo second", NULL};
    const char *const later[] = {"sh", "-c", "echo third", NULL};
    const char *const *const candidates[] = {missing, present, later, NULL};
    client_exit result = client_run(&runner, &(client_command){.candidates = candidates});
    assert_int_equal(result.candidate, 1);
    assert_ran(&result, "second\n", 0);
    client_end(&runner);
}

static void names_what_it_tried_when_no_program_is_found(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    const char *const first[] = {"no-such-program", NULL};
    const char *const second[] = {"nor-this-one", NULL};
    const char *const *const candidates[] = {first, second, NULL};
    client_exit result = client_run(&runner, &(client_command){.candidates = candidates});
    assert_int_equal(result.how, EXIT_NOT_STARTED);
    assert_int_equal(result.error, ENOENT);
    assert_int_not_equal(result.candidate, CANDIDATE_NONE);
    assert_non_null(strstr(result.detail, "no-such-program, nor-this-one"));
    client_exit_free(&result);
    client_end(&runner);
}

static void searches_the_path_of_the_commands_own_environment(void **state)
{
    (void)state;
    assert_int_equal(system("mkdir here; printf '#!/bin/sh\\necho mine\\n' > here/runner-test-tool;"
                            "chmod +x here/runner-test-tool"),
                     0);
    client runner = client_start(NULL);
    const char *const additions[] = {"PATH=/not/there:here:/usr/bin:/bin", NULL};
    const char *const tool[] = {"runner-test-tool", NULL};
    const char *const *const candidates[] = {tool, NULL};
    client_exit result =
        client_run(&runner, &(client_command){.candidates = candidates, .additions = additions});
    assert_ran(&result, "mine\n", 0);
    client_end(&runner);
}

static void says_so_when_a_program_may_not_be_executed(void **state)
{
    (void)state;
    fclose(fopen("plain", "we"));
    client runner = client_start(NULL);
    const char *const plain[] = {"./plain", NULL};
    const char *const *const candidates[] = {plain, NULL};
    client_exit result = client_run(&runner, &(client_command){.candidates = candidates});
    assert_int_equal(result.how, EXIT_NOT_STARTED);
    assert_int_equal(result.error, EACCES);
    client_exit_free(&result);
    client_end(&runner);
}

static void standard_input_is_at_its_end_unless_given(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_exit result = client_run_script(&runner, "cat; echo end");
    assert_ran(&result, "end\n", 0);
    result = client_run(&runner, &(client_command){.script = "cat", .input = "given"});
    assert_ran(&result, "given", 0);
    client_end(&runner);
}

static void joins_standard_input_from_several_frames(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    static char block[512 * 1024];
    memset(block, 'x', sizeof block);
    for (int i = 0; i < 5; i++)
        client_send(&runner, FRAME_STDIN, 0, 1, block, sizeof block);
    client_exit result = client_run_script(&runner, "wc -c");
    assert_int_equal(atoi(result.output[1]), 5 * (int)sizeof block);
    client_exit_free(&result);
    client_end(&runner);
}

static void a_killed_number_forgets_its_standard_input(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_send(&runner, FRAME_STDIN, 0, 1, "old", 3);
    client_kill(&runner, 1, SIGTERM, 0);
    client_exit result = client_run_script(&runner, "cat");
    assert_ran(&result, "", 0);
    client_end(&runner);
}

static void a_command_has_a_session_of_its_own(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_exit result =
        client_run_script(&runner, "[ $(cut -d' ' -f5 /proc/$$/stat) = $$ ] && "
                                   "[ $(cut -d' ' -f6 /proc/$$/stat) = $$ ] && echo own");
    assert_ran(&result, "own\n", 0);
    client_end(&runner);
}

static void a_command_has_clean_signals(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    /* No shell in between, which may block and ignore some itself. */
    const char *const look[] = {"grep", "-E", "^Sig(Blk|Ign):", "/proc/self/status", NULL};
    const char *const *const candidates[] = {look, NULL};
    client_exit result = client_run(&runner, &(client_command){.candidates = candidates});
    assert_ran(&result, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n", 0);
    client_end(&runner);
}

static void a_command_gets_no_descriptor_but_its_streams(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    const char *const list[] = {"ls", "/proc/self/fd", NULL};
    const char *const *const candidates[] = {list, NULL};
    /* 3 is the folder that ls reads. */
    for (int i = 0; i < 2; i++) {
        client_exit result = client_run(&runner, &(client_command){.candidates = candidates});
        assert_ran(&result, "0\n1\n2\n3\n", 0);
    }
    client_end(&runner);
}

static void a_command_gets_the_descriptor_limit_of_the_runner(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    char expected[64];
    FILE *own = popen("ulimit -n", "re");
    assert_non_null(fgets(expected, sizeof expected, own));
    pclose(own);
    client_exit result = client_run_script(&runner, "ulimit -n");
    assert_ran(&result, expected, 0);
    client_end(&runner);
}

static void never_sends_more_output_than_the_credit(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_spawn(&runner, 1,
                 &(client_command){.script = "head -c 200000 /dev/zero", .credit = 1000});
    size_t received = 0;
    client_frame frame;
    while (received < 1000) {
        assert_true(client_receive(&runner, &frame));
        assert_int_equal(frame.header.type, FRAME_OUTPUT);
        received += frame.header.length;
    }
    assert_int_equal(received, 1000);
    assert_false(client_readable(&runner, 300));
    /* Another execution goes on meanwhile. */
    client_spawn(&runner, 2, &(client_command){.script = "echo other"});
    client_exit other = client_wait(&runner, 2);
    assert_ran(&other, "other\n", 0);
    client_credit(&runner, 1, 1u << 20);
    client_exit rest = client_wait(&runner, 1);
    assert_int_equal(rest.length[0], 199000);
    client_exit_free(&rest);
    client_end(&runner);
}

static void waits_for_credit_before_the_exit(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_spawn(&runner, 1, &(client_command){.script = "echo late", .no_credit = true});
    assert_false(client_readable(&runner, 300));
    client_credit(&runner, 1, 3);
    client_credit(&runner, 1, 100);
    client_exit result = client_wait(&runner, 1);
    assert_ran(&result, "late\n", 0);
    client_end(&runner);
}

static void a_cancelled_execution_waits_for_no_credit(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_spawn(&runner, 1, &(client_command){.script = "yes", .credit = 10});
    client_frame frame;
    assert_true(client_receive(&runner, &frame));
    client_kill(&runner, 1, SIGTERM, 1000);
    client_exit result = client_wait(&runner, 1);
    assert_int_equal(result.how, EXIT_CANCELLED);
    client_exit_free(&result);
    client_end(&runner);
}

static void passes_on_much_output_whole(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_exit result = client_run_script(&runner, "seq 1 2000000");
    size_t length = 0;
    for (int i = 1; i <= 2000000; i++) {
        char line[16];
        int count = snprintf(line, sizeof line, "%d\n", i);
        assert_memory_equal(result.output[1] + length, line, (size_t)count);
        length += (size_t)count;
    }
    assert_int_equal(result.length[1], length);
    client_exit_free(&result);
    client_end(&runner);
}

static void executions_overlap(void **state)
{
    (void)state;
    enum { COUNT = 32 };
    client runner = client_start(NULL);
    /* Nobody ends before all have begun. */
    static const char script[] = "echo . >> arrived; "
                                 "while [ $(wc -l < arrived) -lt 32 ]; do sleep 0.05; done";
    for (uint32_t i = 1; i <= COUNT; i++)
        client_spawn(&runner, i, &(client_command){.script = script});
    bool ended[COUNT + 1] = {false};
    for (int i = 0; i < COUNT; i++) {
        client_frame frame;
        assert_true(client_receive(&runner, &frame));
        assert_int_equal(frame.header.type, FRAME_EXIT);
        client_exit result;
        client_parse_exit(&frame, &result);
        assert_int_equal(result.how, EXIT_EXITED);
        assert_int_equal(result.exit_code, 0);
        assert_in_range(frame.header.execution, 1, COUNT);
        assert_false(ended[frame.header.execution]);
        ended[frame.header.execution] = true;
    }
    client_end(&runner);
}

static void a_number_can_be_used_again_after_its_exit(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    for (int i = 0; i < 50; i++) {
        client_exit result = client_run_script(&runner, "echo again");
        assert_ran(&result, "again\n", 0);
    }
    client_end(&runner);
}

static void more_executions_than_it_carries_are_not_started(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    for (uint32_t i = 1; i <= EXECUTIONS_MAX; i++)
        client_send(&runner, FRAME_STDIN, 0, i, "x", 1);
    client_spawn(&runner, EXECUTIONS_MAX + 1, &(client_command){.script = "true"});
    client_exit result = client_wait(&runner, EXECUTIONS_MAX + 1);
    assert_int_equal(result.how, EXIT_NOT_STARTED);
    assert_int_equal(result.error, EAGAIN);
    client_exit_free(&result);
    for (uint32_t i = 1; i <= EXECUTIONS_MAX; i++)
        client_kill(&runner, i, SIGTERM, 0);
    result = client_run_script(&runner, "echo room");
    assert_ran(&result, "room\n", 0);
    client_end(&runner);
}

static void a_command_line_too_long_for_one_message_runs(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    static char words[100 * 1024];
    memset(words, 'w', sizeof words - 1);
    const char *const count[] = {"sh", "-c", "echo ${#1}", "sh", words, NULL};
    const char *const *const candidates[] = {count, NULL};
    for (int i = 0; i < 2; i++) {
        client_exit result = client_run(&runner, &(client_command){.candidates = candidates});
        assert_ran(&result, "102399\n", 0);
    }
    client_end(&runner);
}

static void finds_programs_and_says_where(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    payload lookup = {0};
    payload_strings(&lookup, (const char *const[]){"sh", "no-such-program", "/bin/sh", "..", NULL});
    client_send(&runner, FRAME_LOOKUP, 0, 7, lookup.bytes, lookup.length);
    payload_free(&lookup);
    client_frame frame;
    assert_true(client_receive(&runner, &frame));
    assert_int_equal(frame.header.type, FRAME_LOOKUP_DONE);
    assert_int_equal(frame.header.execution, 7);
    struct payload_reader reader = {frame.payload, frame.header.length, 0};
    assert_int_equal(read_u32(&reader), 4);
    uint32_t length = 0;
    const char *path = read_string(&reader, &length);
    assert_true(length > 3 && path[0] == '/' && memcmp(path + length - 3, "/sh", 3) == 0);
    read_string(&reader, &length);
    assert_int_equal(length, 0);
    path = read_string(&reader, &length);
    assert_int_equal(length, 7);
    assert_memory_equal(path, "/bin/sh", 7);
    read_string(&reader, &length);
    assert_int_equal(length, 0);
    assert_false(reader.failed);
    client_end(&runner);
}

/* Sum of the context switches of a process. */
static long wake_ups(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    long sum = 0;
    long count = 0;
    char line[256];
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "voluntary_ctxt_switches: %ld", &count) == 1)
            sum += count;
    fclose(file);
    return sum;
}

static void sleeps_without_a_timer_when_nothing_runs(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_exit result = client_run_script(&runner, "true");
    client_exit_free(&result);
    usleep(1000000); /* the supervisor's end, and a new one made ready */
    long before = wake_ups(runner.pid);
    usleep(3000000);
    assert_int_equal(wake_ups(runner.pid), before);
    client_end(&runner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUNNER_TEST(greets_with_its_pid_user_and_machine),
        RUNNER_TEST(passes_on_both_streams_and_the_exit_code),
        RUNNER_TEST(works_over_pipes),
        RUNNER_TEST(keeps_the_order_of_writes_across_streams),
        RUNNER_TEST(tells_the_signal_that_killed_the_command),
        RUNNER_TEST(measures_time_and_memory),
        RUNNER_TEST(gives_the_environment_with_defaults_below_and_additions_above),
        RUNNER_TEST(runs_in_the_folder_that_was_asked_for),
        RUNNER_TEST(says_so_when_the_folder_cannot_be_entered),
        RUNNER_TEST(runs_the_first_candidate_that_is_found),
        RUNNER_TEST(names_what_it_tried_when_no_program_is_found),
        RUNNER_TEST(searches_the_path_of_the_commands_own_environment),
        RUNNER_TEST(says_so_when_a_program_may_not_be_executed),
        RUNNER_TEST(standard_input_is_at_its_end_unless_given),
        RUNNER_TEST(joins_standard_input_from_several_frames),
        RUNNER_TEST(a_killed_number_forgets_its_standard_input),
        RUNNER_TEST(a_command_has_a_session_of_its_own),
        RUNNER_TEST(a_command_has_clean_signals),
        RUNNER_TEST(a_command_gets_no_descriptor_but_its_streams),
        RUNNER_TEST(a_command_gets_the_descriptor_limit_of_the_runner),
        RUNNER_TEST(never_sends_more_output_than_the_credit),
        RUNNER_TEST(waits_for_credit_before_the_exit),
        RUNNER_TEST(a_cancelled_execution_waits_for_no_credit),
        RUNNER_TEST(passes_on_much_output_whole),
        RUNNER_TEST(executions_overlap),
        RUNNER_TEST(a_number_can_be_used_again_after_its_exit),
        RUNNER_TEST(more_executions_than_it_carries_are_not_started),
        RUNNER_TEST(a_command_line_too_long_for_one_message_runs),
        RUNNER_TEST(finds_programs_and_says_where),
        RUNNER_TEST(sleeps_without_a_timer_when_nothing_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
