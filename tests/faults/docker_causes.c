/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_causes.c: what others do to a container while a block runs in it. The block ends at once, the
 * error says what it was, and the next execution works.
 */
#include "docker_support.h"
#include "json.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

/* ---- a blow from outside ----------------------------------------------------------------------- */

struct blow {
    const char *method;
    const char *path; /* with the name's place */
    char name[256];
};

static void hit(const char *method, const char *path_format, const char *name)
{
    char path[600];
    struct engine *own = NULL;
    struct answer CLEANUP_ANSWER answer = {0};
    snprintf(path, sizeof path, path_format, name);
    if (engine_open(engine->endpoint, -1, &own, NULL) == CODE_EXECUTOR_OK)
        engine_call(own, method, path, NULL, &answer, NULL);
    engine_close(own);
}

static void strike(void *argument)
{
    struct blow *blow = argument;
    hit(blow->method, blow->path, blow->name);
}

/* Runs a block while BLOW falls, which ends it. */
static void expect_lost(code_executor_instance *instance, struct blow *blow, const char *words)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_result *result = NULL;
    start(instance);
    described(instance, "container", "name", blow->name, sizeof blow->name);
    assert_int_equal(
        execute_struck(instance, "echo begun; sleep 1000", strike, blow, &result, &error),
        CODE_EXECUTOR_LOST);
    assert_non_null(result);
    assert_int_equal(result->outcome, CODE_EXECUTOR_OUTCOME_FAILED);
    assert_string_equal(result->output, "begun\n");
    docker->result_free(result);
    if (!strstr(error.message, words) || !strstr(error.message, blow->name))
        fail_msg("%s: not \"%s\"", error.message, words);
}

static void expect_cause(const char *members, struct blow blow, const char *words)
{
    code_executor_instance *instance = make_instance("%s", members);
    char state[32];
    expect_lost(instance, &blow, words);
    described(instance, NULL, "state", state, sizeof state);
    assert_string_equal(state, "lost");
    expect_output(instance, "echo again", "again\n");
    docker->destroy(instance);
    expect_gone(blow.name);
}

#define KILL  ((struct blow){.method = "POST", .path = "/containers/%s/kill"})
#define PAUSE ((struct blow){.method = "POST", .path = "/containers/%s/pause"})

static void killed(void **state)
{
    (void)state;
    expect_cause("", KILL, "was killed from outside");
}

static void stopped(void **state)
{
    (void)state;
    expect_cause("", (struct blow){.method = "POST", .path = "/containers/%s/stop"},
                 "was stopped from outside");
}

static void restarted(void **state)
{
    (void)state;
    expect_cause("", (struct blow){.method = "POST", .path = "/containers/%s/restart"},
                 "docker restart");
}

static void removed(void **state)
{
    (void)state;
    expect_cause("", (struct blow){.method = "DELETE", .path = "/containers/%s?force=1"},
                 "docker rm -f");
}

static void removed_where_it_does_not_remove_itself(void **state)
{
    (void)state;
    struct blow blow = {.method = "DELETE", .path = "/containers/%s?force=1"};
    char again[256];
    code_executor_instance *instance = make_instance("'auto_remove': false");
    expect_lost(instance, &blow, "was removed from outside");
    expect_output(instance, "echo again", "again\n");
    described(instance, "container", "name", again, sizeof again);
    docker->destroy(instance);
    assert_true(container_exists(again));
    container_remove(again);
}

static void terminated_by_a_signal(void **state)
{
    (void)state;
    expect_cause("", (struct blow){.method = "POST", .path = "/containers/%s/kill?signal=SIGTERM"},
                 "was killed from outside");
}

/* ---- pause ------------------------------------------------------------------------------------- */

static void paused(void **state)
{
    (void)state;
    expect_cause("", PAUSE, "was paused from outside");
}

static void restart_works_after_a_pause(void **state)
{
    (void)state;
    struct blow blow = PAUSE;
    code_executor_instance *instance = make_instance("%s", "");
    expect_lost(instance, &blow, "was paused");
    assert_int_equal(docker->restart(instance, NULL), CODE_EXECUTOR_OK);
    expect_output(instance, "echo again", "again\n");
    docker->destroy(instance);
    expect_gone(blow.name);
}

static void paused_while_nothing_ran_is_replaced(void **state)
{
    (void)state;
    char name[256], state_word[32] = "";
    code_executor_instance *instance = make_instance("%s", "");
    start(instance);
    described(instance, "container", "name", name, sizeof name);
    hit("POST", "/containers/%s/pause", name);
    for (int waited = 0; waited < LONG_MS && strcmp(state_word, "lost") != 0; waited += 50) {
        pause_ms(50);
        described(instance, NULL, "state", state_word, sizeof state_word);
    }
    assert_string_equal(state_word, "lost");
    expect_output(instance, "echo works", "works\n");
    docker->destroy(instance);
    expect_gone(name);
}

static void pause_that_is_over_is_no_matter(void **state)
{
    (void)state;
    char name[256], then[256];
    code_executor_instance *instance = make_instance("%s", "");
    start(instance);
    described(instance, "container", "name", name, sizeof name);
    hit("POST", "/containers/%s/pause", name);
    hit("POST", "/containers/%s/unpause", name);
    expect_output(instance, "echo works", "works\n");
    described(instance, "container", "name", then, sizeof then);
    assert_string_equal(name, then);
    docker->destroy(instance);
}

static void *strike_soon(void *blow)
{
    pause_ms(300);
    strike(blow);
    return NULL;
}

/* More standard input than all buffers on the way hold, so that the host waits to send. */
static void paused_while_input_is_sent(void **state)
{
    (void)state;
    enum { LENGTH = 60 * 1024 * 1024 };
    struct blow blow = PAUSE;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_result *result = NULL;
    pthread_t thread;
    struct shell shell = {.code = "wc -c", .input = calloc(1, LENGTH), .input_length = LENGTH};
    assert_non_null(shell.input);
    code_executor_instance *instance = make_instance("%s", "");
    start(instance);
    described(instance, "container", "name", blow.name, sizeof blow.name);
    hit("POST", "/containers/%s/pause", blow.name);
    hit("POST", "/containers/%s/unpause", blow.name);
    double since = now();
    assert_int_equal(pthread_create(&thread, NULL, strike_soon, &blow), 0);
    int32_t status = CODE_EXECUTOR_OK;
    while (status == CODE_EXECUTOR_OK && now() - since < LONG_MS / 1000) {
        status = execute_shell(instance, shell, &result, &error);
        docker->result_free(result);
    }
    pthread_join(thread, NULL);
    assert_int_equal(status, CODE_EXECUTOR_LOST);
    assert_non_null(strstr(error.message, "was paused"));
    free((void *)(uintptr_t)shell.input);
    docker->destroy(instance);
    expect_gone(blow.name);
}

/* ---- memory ------------------------------------------------------------------------------------ */

/* The runner is the one to be killed, and what takes the memory is nobody's. */
static const char all_memory[] = "echo begun; echo 1000 > /proc/1/oom_score_adj\n"
                                 "dd if=/dev/zero of=/dev/shm/full bs=1M count=63\n";

static void out_of_memory_as_a_whole(void **state)
{
    (void)state;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_result *result = NULL;
    code_executor_instance *instance = make_instance("'memory': '48m'");
    assert_int_equal(execute_shell(instance, (struct shell){.code = all_memory}, &result, &error),
                     CODE_EXECUTOR_OK);
    assert_int_equal(result->outcome, CODE_EXECUTOR_OUTCOME_OUT_OF_MEMORY);
    assert_int_equal(result->exit_code, 137);
    assert_non_null(strstr(result->output, "ran out of memory"));
    docker->result_free(result);
    expect_output(instance, "echo again", "again\n");
    docker->destroy(instance);
}

static void kill_after_a_process_ran_out_of_memory_is_a_kill(void **state)
{
    (void)state;
    struct blow blow = KILL;
    code_executor_instance *instance = make_instance("'memory': '64m'");
    code_executor_result *result = run(instance, "python", "bytearray(400 * 1024 * 1024)\n");
    assert_int_equal(result->outcome, CODE_EXECUTOR_OUTCOME_OUT_OF_MEMORY);
    docker->result_free(result);
    expect_lost(instance, &blow, "was killed from outside");
    docker->destroy(instance);
}

/* ---- the engine -------------------------------------------------------------------------------- */

static void engine_that_tells_no_events_is_good_enough(void **state)
{
    (void)state;
    static const struct relay_options engines[] = {
        {.swallow = "/events"},
        {.answer_for = "/events", .answer = "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n"},
        {.answer_for = "/events", .answer = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n}}}}"},
        {.answer_for = "/events",
         .answer = "HTTP/1.1 200 OK\r\n\r\n{\"Action\": [\"pause\"]}[]{}3"},
    };
    for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++) {
        struct relay relay = relay_start(engines[i]);
        code_executor_instance *instance = make_instance("'docker_host': '%s'", relay.address);
        expect_output(instance, "echo works", "works\n");
        expect_output(instance, "echo works", "works\n");
        docker->destroy(instance);
        relay_kill(&relay);
    }
}

static void waiting_for_a_block_wakes_nobody_up(void **state)
{
    (void)state;
    struct rusage before, after;
    code_executor_instance *instance = make_instance("%s", "");
    expect_output(instance, "echo up", "up\n");
    getrusage(RUSAGE_THREAD, &before);
    expect_output(instance, "sleep 3", "");
    getrusage(RUSAGE_THREAD, &after);
    assert_in_range(after.ru_nvcsw - before.ru_nvcsw, 0, 30);
    docker->destroy(instance);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed),
        cmocka_unit_test(stopped),
        cmocka_unit_test(restarted),
        cmocka_unit_test(removed),
        cmocka_unit_test(removed_where_it_does_not_remove_itself),
        cmocka_unit_test(terminated_by_a_signal),
        cmocka_unit_test(paused),
        cmocka_unit_test(restart_works_after_a_pause),
        cmocka_unit_test(paused_while_nothing_ran_is_replaced),
        cmocka_unit_test(pause_that_is_over_is_no_matter),
        cmocka_unit_test(paused_while_input_is_sent),
        cmocka_unit_test(out_of_memory_as_a_whole),
        cmocka_unit_test(kill_after_a_process_ran_out_of_memory_is_a_kill),
        cmocka_unit_test(engine_that_tells_no_events_is_good_enough),
        cmocka_unit_test(waiting_for_a_block_wakes_nobody_up),
    };
    return docker_test_main("docker_causes", tests, sizeof tests / sizeof tests[0]);
}
