/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_killed.c: whatever becomes of a host, the code that it ran ends: killed, exited without a word,
 * killed while a forked child of it lives on, killed at any moment of a start. On any executor; see
 * executor_client.h for the command line.
 *
 * The host to be killed is this program again, with a third argument that says what it does.
 */
#include "executor_client.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char *program;
static char marker[64];  /* an argument of sleep that no other process has */
static char running[80]; /* a file that says that code runs */

static int set_up(void **state)
{
    (void)state;
    static int number = 0;
    snprintf(marker, sizeof marker, "%d.%d", 8000 + number, (int)getpid());
    snprintf(running, sizeof running, "%s/running-%d", host.folder, number);
    number++;
    return 0;
}

static pid_t start_host(const char *role)
{
    pid_t pid = fork();
    if (pid == 0) {
        setenv(CLIENT_FOLDER_VARIABLE, host.folder, 1);
        setenv("TEST_MARKER", marker, 1);
        setenv("TEST_RUNNING", running, 1);
        execl(program, program, host.plugin, host.configuration, role, (char *)NULL);
        _exit(1);
    }
    return pid;
}

static void kill_host(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void await_code(void)
{
    assert_true(eventually(file_exists, running));
    assert_true(eventually(process_exists, marker));
}

static void expect_no_code(void)
{
    assert_true(eventually(no_process_exists, marker));
}

/* ------------------------------------------------------------------------------------------------
 * The host to be killed
 * --------------------------------------------------------------------------------------------- */

static int32_t tell_that_it_runs(void *user_data, size_t block, int32_t stream, const char *bytes,
                                 size_t length)
{
    (void)user_data;
    (void)block;
    (void)stream;
    (void)bytes;
    (void)length;
    close(open(getenv("TEST_RUNNING"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    return 0;
}

static void execute_telling(code_executor_instance *instance, const char *format)
{
    char script[512];
    const char *words = getenv("TEST_MARKER");
    snprintf(script, sizeof script, format, words, words);
    question asked;
    question_set(&asked, "sh", script);
    asked.request.on_output = tell_that_it_runs;
    reply answer = client_execute(instance, &asked.request);
    reply_release(&answer);
}

/* Lives on when its parent is gone, until it is killed by its marker's end: it waits for the runner. */
static void live_on(void)
{
    for (int i = 0; i < 600 && process_exists(getenv("TEST_MARKER")); i++)
        usleep(100000);
    _exit(0);
}

/* The formats are the roles' own. */
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static void be_host(const char *role)
{
    code_executor_instance *instance = client_create();
    if (strcmp(role, "background") == 0) {
        execute_telling(instance, "sleep %s & (setsid sleep %s & ) ; echo left");
        pause();
    } else if (strcmp(role, "exits") == 0) {
        execute_telling(instance, "sleep %s & echo left %s");
        _exit(0);
    } else if (strcmp(role, "forks") == 0) {
        client_expect_output(instance, "echo up", "up\n");
        if (fork() == 0)
            live_on();
        execute_telling(instance, "echo running; sleep %s; sleep %s");
    } else {
        execute_telling(instance, "echo running; sleep %s; sleep %s");
    }
    pause();
}

/* ------------------------------------------------------------------------------------------------
 * Tests
 * --------------------------------------------------------------------------------------------- */

static void code_ends_when_its_host_is_killed(void **state)
{
    (void)state;
    pid_t pid = start_host("runs");
    await_code();
    kill_host(pid);
    expect_no_code();
}

static void background_processes_end_when_the_host_is_killed(void **state)
{
    (void)state;
    pid_t pid = start_host("background");
    await_code();
    kill_host(pid);
    expect_no_code();
}

static void background_processes_end_when_the_host_exits(void **state)
{
    (void)state;
    pid_t pid = start_host("exits");
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    expect_no_code();
}

static void code_ends_though_a_forked_child_of_the_host_lives_on(void **state)
{
    (void)state;
    pid_t pid = start_host("forks");
    await_code();
    kill_host(pid);
    expect_no_code();
}

static void a_host_may_be_killed_at_any_moment(void **state)
{
    (void)state;
    for (useconds_t delay = 0; delay < 60000; delay += 3000) {
        pid_t pid = start_host("runs");
        usleep(delay);
        kill_host(pid);
    }
    usleep(200000); /* for one that was about to start something */
    expect_no_code();
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(int argc, char **argv)
{
    program = realpath("/proc/self/exe", NULL);
    client_begin(argc, argv);
    if (argc > 3)
        be_host(argv[3]);
    const struct CMUnitTest tests[] = {
        TEST(code_ends_when_its_host_is_killed),
        TEST(background_processes_end_when_the_host_is_killed),
        TEST(background_processes_end_when_the_host_exits),
        TEST(code_ends_though_a_forked_child_of_the_host_lives_on),
        TEST(a_host_may_be_killed_at_any_moment),
    };
    int failed = cmocka_run_group_tests_name("host_killed", tests, NULL, NULL);
    free(program);
    return client_end(failed);
}
