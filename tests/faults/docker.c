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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* ---- hosts that die ---------------------------------------------------------------------------- */

/* A host of its own: starts an instance and runs CODE, and tells through a pipe that it is up. */
static pid_t host(const char *members, const char *code, char name[256])
{
    int tell[2];
    assert_int_equal(pipe(tell), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char mine[256] = "";
        code_executor_instance *instance = make_instance("%s", members);
        start(instance);
        described(instance, "container", "name", mine, sizeof mine);
        if (write(tell[1], mine, sizeof mine) != (ssize_t)sizeof mine)
            _exit(1);
        close(tell[0]);
        close(tell[1]);
        const code_executor_block block = {.struct_size = sizeof block,
                                           .language = "sh",
                                           .code = code,
                                           .code_length = strlen(code)};
        const code_executor_block *const blocks[] = {&block};
        const code_executor_request request = {
            .struct_size = sizeof request, .blocks = blocks, .block_count = 1, .execution_id = 1};
        code_executor_result *result = NULL;
        docker->execute(instance, &request, &result, NULL); /* a pause ends it */
        pause_ms(60000);
        _exit(0);
    }
    close(tell[1]);
    name[0] = '\0';
    assert_int_equal(read(tell[0], name, 256), 256);
    close(tell[0]);
    return child;
}

static void end(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void container_of_a_killed_host_is_gone_soon(void **state)
{
    (void)state;
    char name[256];
    pid_t child = host("", "sleep 1000", name);
    pause_ms(300);
    assert_true(container_exists(name));
    end(child);
    double since = now();
    expect_gone(name);
    assert_true(now() - since < 10);
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
    end(child);
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
        end(child);
    }
    pause_ms(500); /* the engine finishes what it was at */
    start_and_destroy();
    expect_container_count(before);
}

static void container_paused_when_its_host_died_is_cleared_away(void **state)
{
    (void)state;
    char name[256], path[300];
    pid_t child = host("", "sleep 1000", name);
    snprintf(path, sizeof path, "/containers/%s/pause", name);
    assert_int_equal(ask("POST", path, NULL, NULL), 204);
    end(child);
    /* It cannot go by itself; any start clears it away, also one of a test that runs beside this one. */
    start_and_destroy();
    expect_gone(name);
}

static void containers_of_living_hosts_are_let_alone(void **state)
{
    (void)state;
    char name[256], path[300];
    pid_t child = host("", "sleep 1000", name);
    snprintf(path, sizeof path, "/containers/%s/pause", name);
    assert_int_equal(ask("POST", path, NULL, NULL), 204);
    start_and_destroy();
    struct answer CLEANUP_ANSWER answer = {0};
    snprintf(path, sizeof path, "/containers/%s/json", name);
    assert_int_equal(ask("GET", path, NULL, &answer), 200);
    assert_string_equal(json_string(json_member(answer.json, "State"), "Status"), "paused");
    snprintf(path, sizeof path, "/containers/%s/unpause", name);
    assert_int_equal(ask("POST", path, NULL, NULL), 204);
    end(child);
    expect_gone(name);
}

static void container_that_is_to_stay_survives_its_host(void **state)
{
    (void)state;
    char name[256], path[300];
    pid_t child = host("'stop_container': false", "sleep 1000", name);
    end(child);
    pause_ms(500);
    start_and_destroy();
    struct answer CLEANUP_ANSWER answer = {0};
    snprintf(path, sizeof path, "/containers/%s/json", name);
    assert_int_equal(ask("GET", path, NULL, &answer), 200);
    assert_string_equal(json_string(json_member(answer.json, "State"), "Status"), "running");
    snprintf(path, sizeof path, "/containers/%s?force=1", name);
    assert_int_equal(ask("DELETE", path, NULL, NULL), 204);
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

static void *cut(void *argument)
{
    pause_ms(300);
    relay_kill(argument);
    return NULL;
}

static void engine_that_vanishes_ends_the_block(void **state)
{
    (void)state;
    struct relay relay = relay_start((struct relay_options){.chunk = 0});
    code_executor_instance *instance = make_instance("'docker_host': '%s'", relay.address);
    const code_executor_block block = {.struct_size = sizeof block,
                                       .language = "sh",
                                       .code = "echo begun; sleep 1000",
                                       .code_length = strlen("echo begun; sleep 1000")};
    const code_executor_block *const blocks[] = {&block};
    const code_executor_request request = {
        .struct_size = sizeof request, .blocks = blocks, .block_count = 1, .execution_id = 1};
    code_executor_result *result = NULL;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    char name[256];
    pthread_t thread;
    start(instance);
    described(instance, "container", "name", name, sizeof name);
    assert_int_equal(pthread_create(&thread, NULL, cut, &relay), 0);
    double since = now();
    assert_int_equal(docker->execute(instance, &request, &result, &error), CODE_EXECUTOR_LOST);
    assert_true(now() - since < 30);
    pthread_join(thread, NULL);
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
    double ended;
    code_executor_error error;
};

static void *start_it(void *argument)
{
    struct starting *starting = argument;
    starting->status = docker->start(starting->instance, &starting->error);
    starting->ended = now();
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
        pause_ms(1500);
        double since = now();
        docker->cancel(starting.instance, 0, NULL);
        pthread_join(thread, NULL);
        /* The list of what dead hosts left is nothing that a start depends on. */
        bool harmless = strcmp(steps[i], "/containers/json") == 0;
        if (starting.status != CODE_EXECUTOR_CANCELLED &&
            !(harmless && starting.status == CODE_EXECUTOR_OK))
            fail_msg("%s: status %d: %s", steps[i], starting.status, starting.error.message);
        if (starting.ended - since > 15)
            fail_msg("%s: took %g s", steps[i], starting.ended - since);
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
