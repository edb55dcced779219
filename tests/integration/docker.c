/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker.c: what an instance of the docker executor does from start to destroy, on a real engine.
 */
#include "docker_support.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* A name that no other run of the tests has. */
static const char *unique_name(void)
{
    static char name[64];
    static int number;
    snprintf(name, sizeof name, "code-executor-test-%ld-%d", (long)getpid(), number++);
    return name;
}

static void container_name(code_executor_instance *instance, char name[256])
{
    described(instance, "container", "name", name, 256);
    assert_true(name[0] != '\0');
}

/* ---- life -------------------------------------------------------------------------------------- */

static void code_runs_in_a_container_of_its_own(void **state)
{
    (void)state;
    code_executor_instance *instance = make_instance("%s", "");
    char name[256];
    expect_output(instance, "pwd && cat /proc/1/comm", "/workspace\nrunner\n");
    container_name(instance, name);
    assert_true(container_exists(name));
    assert_int_equal(strncmp(name, "code-executor-", strlen("code-executor-")), 0);
    docker->destroy(instance);
    assert_false(container_exists(name));
}

static void workspace_is_shared_with_the_container(void **state)
{
    (void)state;
    code_executor_instance *instance = make_instance("%s", "");
    char path[300];
    code_executor_result *result = run(instance, "sh", "echo made > made_inside");
    assert_int_equal(result->exit_code, 0);
    docker->result_free(result);
    snprintf(path, sizeof path, "%s/made_inside", workspace);
    assert_int_equal(access(path, R_OK), 0);
    docker->destroy(instance);
    assert_int_equal(access(path, R_OK), 0);
}

static void stop_removes_and_start_makes_a_fresh_one(void **state)
{
    (void)state;
    code_executor_instance *instance = make_instance("%s", "");
    char first[256], second[256];
    expect_output(instance, "touch /tmp/trace", "");
    container_name(instance, first);
    assert_int_equal(docker->stop(instance, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(docker->stop(instance, NULL), CODE_EXECUTOR_OK);
    assert_false(container_exists(first));
    expect_output(instance, "ls /tmp", "");
    container_name(instance, second);
    assert_string_not_equal(first, second);
    docker->destroy(instance);
}

static void restart_ends_every_process_and_keeps_the_workspace(void **state)
{
    (void)state;
    code_executor_instance *instance = make_instance("%s", "");
    expect_output(instance, "sleep 4321 > /dev/null & echo kept > kept", "");
    assert_int_equal(docker->restart(instance, NULL), CODE_EXECUTOR_OK);
    expect_output(instance,
                  "cat kept; cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c '[4]321' || true",
                  "kept\n0\n");
    docker->destroy(instance);
}

static void given_name_is_used(void **state)
{
    (void)state;
    const char *name = unique_name();
    code_executor_instance *instance = make_instance("'container_name': '%s'", name);
    start(instance);
    assert_true(container_exists(name));
    docker->destroy(instance);
    assert_false(container_exists(name));
}

static void name_in_use_says_by_whom_and_what_to_do(void **state)
{
    (void)state;
    const char *name = unique_name();
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_instance *first = make_instance("'container_name': '%s'", name);
    code_executor_instance *second = make_instance("'container_name': '%s'", name);
    char id[256], command[300];
    start(first);
    described(first, "container", "id", id, sizeof id);
    id[12] = '\0';
    snprintf(command, sizeof command, "docker rm -f %s", name);
    assert_int_equal(docker->start(second, &error), CODE_EXECUTOR_CONFLICT);
    assert_non_null(strstr(error.message, name));
    assert_non_null(strstr(error.message, id));
    assert_non_null(strstr(error.message, "running"));
    assert_non_null(strstr(error.message, command));
    assert_true(container_exists(name));
    docker->destroy(second);
    expect_output(first, "echo unharmed", "unharmed\n");
    docker->destroy(first);
}

static void auto_remove_false_keeps_the_container_stopped(void **state)
{
    (void)state;
    const char *name = unique_name();
    code_executor_instance *instance =
        make_instance("'container_name': '%s', 'auto_remove': false", name);
    char first[256], second[256];
    expect_output(instance, "echo kept > /root/kept", "");
    described(instance, "container", "id", first, sizeof first);
    assert_int_equal(docker->stop(instance, NULL), CODE_EXECUTOR_OK);
    expect_state(name, "exited");
    expect_output(instance, "cat /root/kept", "kept\n");
    described(instance, "container", "id", second, sizeof second);
    assert_string_equal(first, second);
    docker->destroy(instance);
    assert_true(container_exists(name));
    container_remove(name);
}

static void kept_container_that_somebody_removed_is_made_anew(void **state)
{
    (void)state;
    const char *name = unique_name();
    code_executor_instance *instance =
        make_instance("'container_name': '%s', 'auto_remove': false", name);
    start(instance);
    assert_int_equal(docker->stop(instance, NULL), CODE_EXECUTOR_OK);
    container_remove(name);
    expect_output(instance, "echo again", "again\n");
    docker->destroy(instance);
    container_remove(name);
}

static void stop_container_false_leaves_it_running(void **state)
{
    (void)state;
    const char *name = unique_name();
    code_executor_instance *instance =
        make_instance("'container_name': '%s', 'stop_container': false", name);
    char path[300];
    expect_output(instance, "(while sleep 0.1; do date > alive; done) > /dev/null 2>&1 &", "");
    docker->destroy(instance);
    pause_ms(500);
    expect_state(name, "running");
    snprintf(path, sizeof path, "%s/alive", workspace);
    unlink(path);
    for (int waited = 0; waited < LONG_MS && access(path, F_OK) != 0; waited += 20)
        pause_ms(20);
    assert_int_equal(access(path, F_OK), 0);
    container_remove(name);
}

static void container_left_running_makes_room_for_the_next_start(void **state)
{
    (void)state;
    const char *name = unique_name();
    code_executor_instance *instance =
        make_instance("'container_name': '%s', 'stop_container': false", name);
    expect_output(instance, "touch /tmp/trace", "");
    assert_int_equal(docker->stop(instance, NULL), CODE_EXECUTOR_OK);
    assert_true(container_exists(name));
    expect_output(instance, "ls /tmp", "");
    docker->destroy(instance);
    container_remove(name);
}

static void describe_tells_what_it_is(void **state)
{
    (void)state;
    code_executor_instance *instance =
        make_instance("'image': 'python:3-slim', 'bind_dir': '%s'", workspace);
    char text[512];
    described(instance, NULL, "bind_dir", text, sizeof text);
    assert_string_equal(text, workspace);
    described(instance, NULL, "isolation", text, sizeof text);
    assert_non_null(strstr(text, "python:3-slim"));
    described(instance, "container", "id", text, sizeof text);
    assert_string_equal(text, "");
    start(instance);
    described(instance, "container", "id", text, sizeof text);
    assert_int_equal(strlen(text), 64);
    described(instance, "engine", "api_version", text, sizeof text);
    assert_string_equal(text, engine->version);
    docker->destroy(instance);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_runs_in_a_container_of_its_own),
        cmocka_unit_test(workspace_is_shared_with_the_container),
        cmocka_unit_test(stop_removes_and_start_makes_a_fresh_one),
        cmocka_unit_test(restart_ends_every_process_and_keeps_the_workspace),
        cmocka_unit_test(given_name_is_used),
        cmocka_unit_test(name_in_use_says_by_whom_and_what_to_do),
        cmocka_unit_test(auto_remove_false_keeps_the_container_stopped),
        cmocka_unit_test(kept_container_that_somebody_removed_is_made_anew),
        cmocka_unit_test(stop_container_false_leaves_it_running),
        cmocka_unit_test(container_left_running_makes_room_for_the_next_start),
        cmocka_unit_test(describe_tells_what_it_is),
    };
    return docker_test_main("docker", tests, sizeof tests / sizeof tests[0]);
}
