/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runner_memory.c: code that eats all memory of its cgroup is reported as killed for it, and the runner
 * lives.
 *
 * Needs root and a memory controller, version 1 or 2, in which a cgroup can be made. Where there is none
 * the test is skipped (exit status 77), or fails where CODE_EXECUTOR_REQUIRE_ALL is set.
 */
#include "runner_client.h"
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define MEMORY_LIMIT "33554432"

static char cgroup[512];

static bool write_file(const char *name, const char *text)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", cgroup, name);
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    bool written = write(file, text, strlen(text)) == (ssize_t)strlen(text);
    close(file);
    return written;
}

/* The path of this process in the hierarchy of CONTROLLER ("" is version 2). */
static bool own_path(const char *controller, char path[256])
{
    char line[512];
    bool found = false;
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file && !found && fgets(line, sizeof line, file)) {
        char name[64] = "";
        path[0] = '\0';
        if (controller[0] == '\0')
            found = sscanf(line, "0::%255s", path) == 1;
        else
            found =
                sscanf(line, "%*d:%63[^:]:%255s", name, path) == 2 && strcmp(name, controller) == 0;
    }
    if (file)
        fclose(file);
    return found;
}

static bool make_cgroup(const char *mount, const char *controller, const char *limit)
{
    char path[256];
    if (!own_path(controller, path))
        return false;
    snprintf(cgroup, sizeof cgroup, "%s%s/runner-test-%d", mount, path, (int)getpid());
    if (mkdir(cgroup, 0755) != 0)
        return false;
    if (write_file(limit, MEMORY_LIMIT)) {
        /* Where memory can be swapped out it must be limited together. */
        (void)write_file("memory.memsw.limit_in_bytes", MEMORY_LIMIT);
        (void)write_file("memory.swap.max", "0");
        return true;
    }
    rmdir(cgroup);
    return false;
}

static bool make_some_cgroup(void)
{
    return make_cgroup("/sys/fs/cgroup", "", "memory.max") ||
           make_cgroup("/sys/fs/cgroup/memory", "memory", "memory.limit_in_bytes");
}

static void remove_cgroup(void)
{
    /* The kernel takes a moment to forget the last process. */
    for (int i = 0; i < 500 && rmdir(cgroup) != 0 && errno == EBUSY; i++)
        usleep(10000);
}

static void join_cgroup(void *argument)
{
    (void)argument;
    if (!write_file("cgroup.procs", "0"))
        _exit(124);
}

static client start_limited(void)
{
    return client_start(&(client_options){.prepare = join_cgroup});
}

static void assert_out_of_memory(client_exit *result)
{
    assert_int_equal(result->how, EXIT_OUT_OF_MEMORY);
    assert_int_equal(result->exit_code, 0);
    assert_int_equal(result->signal, 0);
    client_exit_free(result);
}

static void a_command_killed_for_memory_is_reported_as_such(void **state)
{
    (void)state;
    client runner = start_limited();
    const char *const eat[] = {"tail", "/dev/zero", NULL};
    const char *const *const candidates[] = {eat, NULL};
    client_exit result = client_run(&runner, &(client_command){.candidates = candidates});
    assert_out_of_memory(&result);
    /* Life goes on. */
    result = client_run_script(&runner, "echo on");
    assert_string_equal(result.output[0], "on\n");
    client_exit_free(&result);
    client_end(&runner);
}

static void a_child_killed_for_memory_shows_through_its_shell(void **state)
{
    (void)state;
    client runner = start_limited();
    client_exit result = client_run_script(&runner, "echo before; tail /dev/zero; exit $?");
    assert_string_equal(result.output[1], "before\n");
    assert_out_of_memory(&result);
    client_end(&runner);
}

static void a_signal_of_its_own_is_not_taken_for_want_of_memory(void **state)
{
    (void)state;
    client runner = start_limited();
    client_exit result = client_run_script(&runner, "kill -KILL $$");
    assert_int_equal(result.how, EXIT_SIGNALLED);
    assert_int_equal(result.signal, SIGKILL);
    client_exit_free(&result);
    result = client_run_script(&runner, "exit 137");
    assert_int_equal(result.how, EXIT_EXITED);
    assert_int_equal(result.exit_code, 137);
    client_exit_free(&result);
    client_end(&runner);
}

static void many_small_processes_are_killed_before_the_runner(void **state)
{
    (void)state;
    client runner = start_limited();
    client_exit result = client_run(
        &runner,
        &(client_command){.script = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do tail /dev/zero & "
                                    "done; wait; echo over",
                          .timeout_ms = 60000,
                          .grace_ms = 100});
    client_exit_free(&result);
    result = client_run_script(&runner, "echo on");
    assert_string_equal(result.output[0], "on\n");
    client_exit_free(&result);
    client_end(&runner);
}

int main(void)
{
    if (geteuid() != 0 || !make_some_cgroup()) {
        puts("skipped: needs root and a memory controller in which a cgroup can be made");
        return getenv("CODE_EXECUTOR_REQUIRE_ALL") ? 1 : 77;
    }
    const struct CMUnitTest tests[] = {
        RUNNER_TEST(a_command_killed_for_memory_is_reported_as_such),
        RUNNER_TEST(a_child_killed_for_memory_shows_through_its_shell),
        RUNNER_TEST(a_signal_of_its_own_is_not_taken_for_want_of_memory),
        RUNNER_TEST(many_small_processes_are_killed_before_the_runner),
    };
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    remove_cgroup();
    return failures;
}
