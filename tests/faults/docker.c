/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker.c: hosts that die, containers that are taken away, engines that hang, lie or vanish. After each
 * of these nothing may be left, and the executor works for the next run.
 */
#include "docker_support.h"
#include "json.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- hosts that die ---------------------------------------------------------------------------- */

static void container_of_a_killed_host_is_gone_soon(void **state)
{
    (void)state;
    char name[256];
    pid_t host = host_start("", "sleep 1000", name);
    assert_true(container_exists(name));
    host_kill(host);
    double since = now();
    expect_gone(name);
    print_message("the container was gone after %.1f s\n", now() - since);
}

static void forked_child_of_a_killed_host_does_not_keep_it(void **state)
{
    (void)state;
    char name[256];
    int tell[2];
    assert_int_equal(pipe(tell), 0);
    pid_t child = fork();
    if (child == 0) {
        code_executor_instance *instance = make_instance("%s", "");
        start(instance);
        described(instance, "container", "name", name, sizeof name);
        pid_t grandchild = fork();
        if (grandchild == 0) {
            pause_ms(60000);
            _exit(0);
        }
        if (write(tell[1], name, sizeof name) != (ssize_t)sizeof name ||
            write(tell[1], &grandchild, sizeof grandchild) != (ssize_t)sizeof grandchild)
            _exit(1);
        pause_ms(60000);
        _exit(0);
    }
    pid_t grandchild = 0;
    assert_int_equal(read(tell[0], name, sizeof name), sizeof name);
    assert_int_equal(read(tell[0], &grandchild, sizeof grandchild), sizeof grandchild);
    host_kill(child);
    expect_gone(name);
    kill(grandchild, SIGKILL);
    close(tell[0]);
    close(tell[1]);
}

static void start_and_destroy(void)
{
    code_executor_instance *instance = make_instance("%s", "");
    start(instance);
    docker->destroy(instance);
}

/* What an engine was at when the host died comes about later, and is cleared away by the start after that: of
 * this test, or of one that runs beside it. */
static void expect_cleared_away(size_t count)
{
    for (double since = now(); container_count() != count && now() - since < LONG_MS / 1000;)
        start_and_destroy();
    assert_int_equal(container_count(), count);
}

/* A start takes a few hundred milliseconds; its steps are met all over that time. */
static void host_killed_at_any_moment_of_start_leaves_nothing(void **state)
{
    (void)state;
    size_t before = container_count();
    for (int delay = 0; delay <= 600; delay += 50) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            start(make_instance("%s", ""));
            pause_ms(60000);
            _exit(0);
        }
        pause_ms(delay);
        host_kill(child);
    }
    pause_ms(500); /* for what the engine is at */
    expect_cleared_away(before);
}

/* It cannot go by itself; any start clears it away, also one of a test that runs beside this one. */
static void container_paused_when_its_host_died_is_cleared_away(void **state)
{
    (void)state;
    char name[256];
    pid_t host = host_start("", "sleep 1000", name);
    assert_int_equal(container_tell(name, "pause"), 204);
    host_kill(host);
    start_and_destroy();
    expect_gone(name);
}

static void containers_of_living_hosts_are_let_alone(void **state)
{
    (void)state;
    char name[256];
    pid_t host = host_start("", "sleep 1000", name);
    assert_int_equal(container_tell(name, "pause"), 204);
    start_and_destroy();
    expect_state(name, "paused");
    assert_int_equal(container_tell(name, "unpause"), 204);
    host_kill(host);
    expect_gone(name);
}

static void container_that_is_to_stay_survives_its_host(void **state)
{
    (void)state;
    char name[256];
    host_kill(host_start("'stop_container': false", "sleep 1000", name));
    pause_ms(500);
    start_and_destroy();
    expect_state(name, "running");
    container_remove(name);
}

/* ---- containers that fail ---------------------------------------------------------------------- */

static void container_that_dies_at_once_leaves_its_last_words(void **state)
{
    (void)state;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_instance *instance = make_instance(
        "'container_create': {'Entrypoint': ['sh', '-c', 'echo so it ends >&2; exit 3']}");
    assert_int_equal(docker->start(instance, &error), CODE_EXECUTOR_LOST);
    assert_non_null(strstr(error.message, "exit code 3"));
    assert_non_null(strstr(error.message, "so it ends"));
    docker->destroy(instance);
}

static void block_that_is_killed_for_memory_does_not_take_the_container_along(void **state)
{
    (void)state;
    code_executor_instance *instance = make_instance("'memory': '64m'");
    code_executor_result *result =
        run(instance, "python", "print('begun', flush=True)\nx = bytearray(400 * 1024 * 1024)\n");
    assert_int_equal(result->outcome, CODE_EXECUTOR_OUTCOME_OUT_OF_MEMORY);
    assert_int_equal(result->exit_code, 137);
    docker->result_free(result);
    expect_output(instance, "echo again", "again\n");
    docker->destroy(instance);
}

/* ---- engines that vanish ----------------------------------------------------------------------- */

static void cut(void *relay)
{
    relay_kill(relay);
}

static void engine_that_vanishes_ends_the_block(void **state)
{
    (void)state;
    struct relay relay = relay_start((struct relay_options){.chunk = 0});
    code_executor_instance *instance = make_instance("'docker_host': '%s'", relay.address);
    code_executor_result *result = NULL;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    char name[256];
    start(instance);
    described(instance, "container", "name", name, sizeof name);
    assert_int_equal(
        execute_struck(instance, "echo begun; sleep 1000", cut, &relay, &result, &error),
        CODE_EXECUTOR_LOST);
    assert_non_null(strstr(error.message, relay.address));
    assert_string_equal(result->output, "begun\n");
    docker->result_free(result);
    assert_int_equal(docker->start(instance, &error), CODE_EXECUTOR_UNAVAILABLE);
    docker->destroy(instance);
    expect_gone(name);
}

static void engine_that_is_gone_at_stop_is_reported(void **state)
{
    (void)state;
    struct relay relay = relay_start((struct relay_options){.chunk = 0});
    code_executor_instance *instance = make_instance("'docker_host': '%s'", relay.address);
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    char name[256];
    start(instance);
    described(instance, "container", "name", name, sizeof name);
    relay_kill(&relay);
    assert_int_not_equal(docker->stop(instance, &error), CODE_EXECUTOR_OK);
    assert_non_null(strstr(error.message, name));
    docker->destroy(instance);
    expect_gone(name);
}

/* ---- engines that hang or lie ------------------------------------------------------------------ */

/* The requests of a start, by what is in their paths. */
static const char *const steps[] = {"/_ping",        "/containers/json", "/containers/create",
                                    "/archive?path", "/wait?condition",  "/attach?stream",
                                    "/start "};

struct starting {
    code_executor_instance *instance;
    int32_t status;
    atomic_bool ended;
    code_executor_error error;
};

static void *start_it(void *argument)
{
    struct starting *starting = argument;
    starting->status = docker->start(starting->instance, &starting->error);
    starting->ended = true;
    return NULL;
}

static void start_that_hangs_can_be_cancelled_at_every_step(void **state)
{
    (void)state;
    size_t before = container_count();
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct relay relay = relay_start((struct relay_options){.swallow = steps[i]});
        struct starting starting = {.error = CODE_EXECUTOR_ERROR_INIT};
        pthread_t thread;
        starting.instance = make_instance("'docker_host': '%s'", relay.address);
        assert_int_equal(pthread_create(&thread, NULL, start_it, &starting), 0);
        while (*relay.swallowed == 0 && !starting.ended)
            pause_ms(10);
        pause_ms(200);
        docker->cancel(starting.instance, 0, NULL);
        pthread_join(thread, NULL);
        /* The list of what dead hosts left is nothing that a start depends on. */
        bool harmless = *relay.swallowed == 0 || strcmp(steps[i], "/containers/json") == 0;
        if (starting.status != CODE_EXECUTOR_CANCELLED &&
            !(harmless && starting.status == CODE_EXECUTOR_OK))
            fail_msg("%s: status %d: %s", steps[i], starting.status, starting.error.message);
        relay_kill(&relay);
        docker->destroy(starting.instance);
    }
    expect_container_count(before);
}

static void nonsense_at_any_step_is_an_error(void **state)
{
    (void)state;
    static const char *const answers[] = {
        "",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nnotjs",
        "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}",
        "HTTP/1.1 201 Created\r\nContent-Length: 10\r\n\r\n{\"Id\":[1]}",
        "HTTP/1.1 500 Oops\r\nContent-Length: 999999999999999\r\n\r\n{",
        "HTTP/1.1 500 Oops\r\nContent-Length: 22\r\n\r\n{\"message\":\"it is bad\"}",
        "HTTP/1.1 204\r\n\r\n",
        "HTTP/1.1 101 UPGRADED\r\n\r\nHTTP/1.1 101 UPGRADED\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\n\x01\x02\x03\x04\x05\x06\x07\x08garbage",
        "\x16\x03\x01\x02garbage garbage garbage garbage",
    };
    size_t before = container_count();
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        for (size_t k = 0; k < sizeof answers / sizeof answers[0]; k++) {
            struct relay relay =
                relay_start((struct relay_options){.answer_for = steps[i], .answer = answers[k]});
            code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
            code_executor_instance *instance = make_instance("'docker_host': '%s'", relay.address);
            int32_t status = docker->start(instance, &error);
            /* Some of it is a right answer to some steps; then it must really work. */
            if (status == CODE_EXECUTOR_OK)
                expect_output(instance, "echo works", "works\n");
            else
                assert_true(error.message[0] != '\0');
            docker->destroy(instance);
            relay_kill(&relay);
        }
    }
    expect_container_count(before);
}

static void start_can_be_cancelled_at_any_moment(void **state)
{
    (void)state;
    size_t before = container_count();
    for (int delay = 0; delay <= 600; delay += 50) {
        struct starting starting = {.error = CODE_EXECUTOR_ERROR_INIT};
        pthread_t thread;
        starting.instance = make_instance("%s", "");
        assert_int_equal(pthread_create(&thread, NULL, start_it, &starting), 0);
        pause_ms(delay);
        docker->cancel(starting.instance, 0, NULL);
        pthread_join(thread, NULL);
        if (starting.status != CODE_EXECUTOR_OK && starting.status != CODE_EXECUTOR_CANCELLED)
            fail_msg("after %d ms: status %d: %s", delay, starting.status, starting.error.message);
        if (starting.status == CODE_EXECUTOR_CANCELLED)
            expect_output(starting.instance, "echo works", "works\n");
        docker->destroy(starting.instance);
    }
    expect_container_count(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(container_of_a_killed_host_is_gone_soon),
        cmocka_unit_test(forked_child_of_a_killed_host_does_not_keep_it),
        cmocka_unit_test(host_killed_at_any_moment_of_start_leaves_nothing),
        cmocka_unit_test(container_paused_when_its_host_died_is_cleared_away),
        cmocka_unit_test(containers_of_living_hosts_are_let_alone),
        cmocka_unit_test(container_that_is_to_stay_survives_its_host),
        cmocka_unit_test(container_that_dies_at_once_leaves_its_last_words),
        cmocka_unit_test(block_that_is_killed_for_memory_does_not_take_the_container_along),
        cmocka_unit_test(engine_that_vanishes_ends_the_block),
        cmocka_unit_test(engine_that_is_gone_at_stop_is_reported),
        cmocka_unit_test(start_that_hangs_can_be_cancelled_at_every_step),
        cmocka_unit_test(nonsense_at_any_step_is_an_error),
        cmocka_unit_test(start_can_be_cancelled_at_any_moment),
    };
    return docker_test_main("docker_faults", tests, sizeof tests / sizeof tests[0]);
}
