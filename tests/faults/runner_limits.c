/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runner_limits.c: code takes the limits away of what will run others after it. They are given back, where that
 * is possible; else the runner says so and ends, for another one to be started in its place.
 */
#include "runner_client.h"
#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define CAPABILITY_SYS_RESOURCE 24

#define RUNNER "$(cut -d' ' -f4 /proc/$PPID/stat)"

/* An ordinary user, where we are none. */
static void become_nobody(void *argument)
{
    (void)argument;
    if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setgid(54321) != 0 || setuid(54321) != 0))
        _exit(124);
}

/* As root in a container is by default. */
static void drop_resource(void *argument)
{
    (void)argument;
    if (prctl(PR_CAPBSET_DROP, CAPABILITY_SYS_RESOURCE, 0, 0, 0) != 0)
        _exit(124);
}

static client start_as_nobody(void)
{
    assert_int_equal(chmod(".", 0777), 0);
    return client_start(&(client_options){.prepare = become_nobody});
}

static void expect_runs(client *runner, const char *script, const char *output)
{
    client_exit result = client_run_script(runner, script);
    if (result.how != EXIT_EXITED || strcmp(result.output[0], output) != 0)
        fail_msg("how %u, %s: %s", result.how, result.detail, result.output[0]);
    client_exit_free(&result);
}

static void limits_that_were_lowered_are_given_back(void **state)
{
    (void)state;
    client runner = start_as_nobody();
    expect_runs(&runner,
                "ulimit -Sc 1000; ulimit -Ss 4000; prlimit --pid " RUNNER
                " --stack=4096000: --core=0: "
                "--nproc=1: && echo taken",
                "taken\n");
    /* Those that wait have theirs; of what is forked now it is to be seen. */
    for (int i = 0; i < 3; i++)
        expect_runs(&runner, "(sleep 1000 > /dev/null 2>&1 &); ulimit -Ss", "8192\n");
    client_end(&runner);
}

static void runner_that_cannot_have_them_back_ends_and_says_so(void **state)
{
    (void)state;
    client_frame frame;
    client runner = start_as_nobody();
    expect_runs(&runner, "prlimit --pid " RUNNER " --nproc=1:1 && echo taken", "taken\n");
    client_spawn(&runner, 2, &(client_command){.script = "true"});
    assert_true(client_receive(&runner, &frame));
    assert_int_equal(frame.header.type, FRAME_ERROR);
    static const char words[] = "the runner's limits were taken away";
    assert_memory_equal(frame.payload, words, sizeof words - 1);
    client_await_end(&runner);
}

static void reset_tells_it_too(void **state)
{
    (void)state;
    client_frame frame;
    client runner = start_as_nobody();
    expect_runs(&runner, "prlimit --pid " RUNNER " --nproc=1:1 && echo taken", "taken\n");
    client_send(&runner, FRAME_RESET, 0, 0, NULL, 0);
    do
        assert_true(client_receive(&runner, &frame));
    while (frame.header.type == FRAME_RESET_DONE);
    assert_int_equal(frame.header.type, FRAME_ERROR);
    client_await_end(&runner);
}

static void command_does_not_start_on_a_supervisor_without_limits(void **state)
{
    (void)state;
    client runner = start_as_nobody();
    expect_runs(&runner, "true", "");
    /* The one that waits beside ours. */
    expect_runs(&runner,
                "for p in $(ps -o pid= --ppid " RUNNER "); do [ $p = $PPID ] || prlimit --pid $p "
                "--nproc=1:1; done; (sleep 0.3 &)",
                "");
    for (int i = 0; i < 3; i++) {
        client_exit result = client_run_script(&runner, "(true) && echo x");
        bool started = result.how == EXIT_EXITED;
        assert_string_equal(result.output[0], started ? "x\n" : "");
        if (!started && !strstr(result.detail, "limits"))
            fail_msg("how %u: %s", result.how, result.detail);
        client_exit_free(&result);
    }
    expect_runs(&runner, "(true) && echo x", "x\n");
    client_end(&runner);
}

static void root_code_cannot_take_them_away(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip_because("only root can be root");
        return;
    }
    client runner = client_start(&(client_options){.prepare = drop_resource});
    expect_runs(&runner,
                "prlimit --pid " RUNNER " --core=0:0 2> /dev/null || echo runner; "
                "prlimit --pid $PPID --core=0:0 2> /dev/null || echo supervisor; id -g",
                "runner\nsupervisor\n0\n");
    client_end(&runner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUNNER_TEST(limits_that_were_lowered_are_given_back),
        RUNNER_TEST(runner_that_cannot_have_them_back_ends_and_says_so),
        RUNNER_TEST(reset_tells_it_too),
        RUNNER_TEST(command_does_not_start_on_a_supervisor_without_limits),
        RUNNER_TEST(root_code_cannot_take_them_away),
    };
    return cmocka_run_group_tests_name("runner_limits", tests, NULL, NULL);
}
