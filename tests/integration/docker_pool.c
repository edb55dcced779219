/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_pool.c: containers that are ready before somebody starts.
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static int64_t ready(code_executor_instance *instance)
{
    char *json = NULL;
    assert_int_equal(docker->describe(instance, &json, NULL), CODE_EXECUTOR_OK);
    json_object *description = json_tokener_parse(json);
    int64_t count = json_integer(json_member(description, "pool"), "ready");
    json_object_put(description);
    docker->string_free(json);
    return count;
}

static void await_ready(code_executor_instance *instance, int64_t count)
{
    for (int waited = 0; waited < LONG_MS && ready(instance) != count; waited += 10)
        pause_ms(10);
    assert_int_equal(ready(instance), count);
}

static void container_of(code_executor_instance *instance, char id[256])
{
    described(instance, "container", "id", id, 256);
    assert_true(id[0] != '\0');
}

static code_executor_instance *make_pooled(void)
{
    return make_instance("'pool': 1");
}

/* An instance that is started and has a full pool. */
static code_executor_instance *make_full(void)
{
    code_executor_instance *instance = make_pooled();
    start(instance);
    await_ready(instance, 1);
    return instance;
}

/* ---- using it ---------------------------------------------------------------------------------- */

static void as_many_are_ready_as_were_asked_for(void **state)
{
    (void)state;
    code_executor_instance *instance = make_instance("'pool': 3");
    assert_int_equal(ready(instance), 0);
    start(instance);
    await_ready(instance, 3);
    expect_container_count(4);
    docker->destroy(instance);
    expect_container_count(0);
}

static void start_takes_a_container_that_is_there(void **state)
{
    (void)state;
    char before[4096], id[256];
    code_executor_instance *first = make_full(), *second = make_pooled();
    container_ids(before, sizeof before);
    double since = now();
    start(second);
    double took = now() - since;
    print_message("a start from the pool took %.2f ms\n", took * 1e3);
    container_of(second, id);
    assert_non_null(strstr(before, id));
    expect_output(second, "echo works", "works\n");
    docker->destroy(first);
    docker->destroy(second);
    expect_container_count(0);
}

static void each_is_used_once_and_replaced(void **state)
{
    (void)state;
    enum { COUNT = 3 };
    char ids[COUNT][256];
    code_executor_instance *first = make_full(), *others[COUNT];
    for (int i = 0; i < COUNT; i++) {
        others[i] = make_pooled();
        start(others[i]);
        expect_output(others[i], "test ! -e /root/trace && touch /root/trace && echo fresh",
                      "fresh\n");
        container_of(others[i], ids[i]);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(ids[i], ids[k]);
        await_ready(first, 1);
    }
    docker->stop(others[0], NULL);
    expect_output(others[0], "test ! -e /root/trace && echo fresh", "fresh\n");
    for (int i = 0; i < COUNT; i++)
        docker->destroy(others[i]);
    docker->destroy(first);
    expect_container_count(0);
}

static void instances_of_other_configurations_have_pools_of_their_own(void **state)
{
    (void)state;
    code_executor_instance *one = make_full();
    code_executor_instance *other = make_instance("'pool': 1, 'env': {'OTHER': 'yes'}");
    code_executor_instance *third = make_instance("'pool': 1, 'read_only': true");
    assert_int_equal(ready(other), 0);
    start(third);
    expect_output(third, "touch /root/trace 2> /dev/null || echo denied", "denied\n");
    await_ready(third, 1);
    assert_int_equal(ready(other), 0);
    assert_int_equal(ready(one), 1);
    docker->destroy(one);
    docker->destroy(other);
    docker->destroy(third);
    expect_container_count(0);
}

static void init_command_has_run_in_what_is_ready(void **state)
{
    (void)state;
    char before[4096], id[256];
    const char *members = "'pool': 1, 'init_command': 'echo done >> /root/init'";
    code_executor_instance *first = make_instance("%s", members);
    code_executor_instance *second = make_instance("%s", members);
    start(first);
    await_ready(first, 1);
    container_ids(before, sizeof before);
    start(second);
    container_of(second, id);
    assert_non_null(strstr(before, id));
    expect_output(second, "cat /root/init", "done\n");
    docker->destroy(first);
    docker->destroy(second);
}

static void restart_by_a_container_takes_one_too(void **state)
{
    (void)state;
    char before[4096], id[256];
    code_executor_instance *instance = make_instance("'pool': 1, 'restart': 'container'");
    start(instance);
    await_ready(instance, 1);
    container_ids(before, sizeof before);
    assert_int_equal(docker->restart(instance, NULL), CODE_EXECUTOR_OK);
    container_of(instance, id);
    assert_non_null(strstr(before, id));
    expect_output(instance, "echo works", "works\n");
    docker->destroy(instance);
    expect_container_count(0);
}

struct starter {
    pthread_t thread;
    code_executor_instance *instance;
    int32_t status;
};

static void *start_one(void *argument)
{
    struct starter *starter = argument;
    starter->status = docker->start(starter->instance, NULL);
    return NULL;
}

static void many_may_start_at_once(void **state)
{
    (void)state;
    enum { COUNT = 6 };
    char ids[COUNT][256];
    struct starter starters[COUNT];
    code_executor_instance *first = make_full();
    for (int i = 0; i < COUNT; i++)
        starters[i].instance = make_pooled();
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(pthread_create(&starters[i].thread, NULL, start_one, &starters[i]), 0);
    for (int i = 0; i < COUNT; i++) {
        pthread_join(starters[i].thread, NULL);
        assert_int_equal(starters[i].status, CODE_EXECUTOR_OK);
        container_of(starters[i].instance, ids[i]);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(ids[i], ids[k]);
        docker->destroy(starters[i].instance);
    }
    docker->destroy(first);
    expect_container_count(0);
}

/* ---- what is no longer good -------------------------------------------------------------------- */

static void hit_all_but(const char *keep, const char *method, const char *path_format)
{
    char ids[4096], path[300];
    container_ids(ids, sizeof ids);
    for (char *rest, *id = strtok_r(ids, " ", &rest); id; id = strtok_r(NULL, " ", &rest)) {
        snprintf(path, sizeof path, path_format, id);
        if (strcmp(id, keep) != 0)
            ask(method, path, NULL, NULL);
    }
}

static void container_that_died_while_it_waited_is_replaced(void **state)
{
    (void)state;
    static const char *const ends[] = {"/containers/%s/kill", "/containers/%s/pause"};
    for (size_t i = 0; i < 2; i++) {
        char id[256], other[256];
        code_executor_instance *first = make_instance("'pool': 1"),
                               *second = make_instance("'pool': 1");
        start(first);
        await_ready(first, 1);
        container_of(first, id);
        hit_all_but(id, "POST", ends[i]);
        pause_ms(1000); /* until the host has heard of it, which shows nowhere */
        expect_output(second, "echo works", "works\n");
        container_of(second, other);
        assert_string_not_equal(id, other);
        await_ready(first, 1);
        expect_container_count(3);
        docker->destroy(first);
        docker->destroy(second);
        expect_container_count(0);
    }
}

static void workspace_that_was_replaced_is_not_the_one_bound(void **state)
{
    (void)state;
    char folder[300], elsewhere[310];
    snprintf(folder, sizeof folder, "%s/folder", workspace);
    snprintf(elsewhere, sizeof elsewhere, "%s-then", folder);
    assert_int_equal(mkdir(folder, 0777), 0);
    char config[512];
    snprintf(config, sizeof config,
             "{\"pool\": 1, \"work_dir\": \"%s\", \"labels\": {\"code-executor-test\": \"%s\"}}",
             folder, strrchr(workspace, '/') + 1);
    code_executor_instance *first = NULL, *second = NULL;
    assert_int_equal(docker->create(NULL, config, &first, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(docker->create(NULL, config, &second, NULL), CODE_EXECUTOR_OK);
    start(first);
    await_ready(first, 1);
    assert_int_equal(rename(folder, elsewhere), 0);
    assert_int_equal(mkdir(folder, 0777), 0);
    expect_output(second, "ls | wc -l", "1\n"); /* the block's own file */
    assert_int_equal(access(folder, F_OK), 0);
    docker->destroy(first);
    docker->destroy(second);
    expect_container_count(0);
}

/* ---- the engine -------------------------------------------------------------------------------- */

static char logged[8192];

static void keep_log(void *user_data, int32_t level, const char *message)
{
    (void)user_data;
    if (level <= CODE_EXECUTOR_LOG_WARNING)
        strncat(logged, message, sizeof logged - strlen(logged) - 1);
}

static double cpu_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void engine_that_is_gone_ends_the_attempts(void **state)
{
    (void)state;
    const code_executor_host host = {.struct_size = sizeof host, .log = keep_log};
    struct relay relay = relay_start((struct relay_options){.chunk = 0});
    test_host = &host;
    logged[0] = '\0';
    code_executor_instance *first = make_instance("'pool': 1, 'docker_host': '%s'", relay.address);
    test_host = NULL;
    start(first);
    await_ready(first, 1);
    relay_kill(&relay);
    pause_ms(200);
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    double before = cpu_s();
    assert_int_equal(docker->start(first, &error), CODE_EXECUTOR_UNAVAILABLE);
    pause_ms(1000);
    assert_true(cpu_s() - before < 0.5);
    assert_int_equal(docker->start(first, &error), CODE_EXECUTOR_UNAVAILABLE);
    docker->destroy(first);
    expect_container_count(0);
}

static bool await_log(const char *words)
{
    for (int waited = 0; waited < LONG_MS && !strstr(logged, words); waited += 10)
        pause_ms(10);
    return strstr(logged, words) != NULL;
}

#define IMAGE "code-executor-test-pool:now"

/* The image goes away, so that what is ready can be used, and nothing more be made. */
static void failure_in_the_background_is_told_by_the_next_start(void **state)
{
    (void)state;
    const code_executor_host host = {.struct_size = sizeof host, .log = keep_log};
    const char *members = "'pool': 1, 'pull': 'never', 'image': '" IMAGE "'";
    const char *tag = "/images/python:3-slim/tag?repo=code-executor-test-pool&tag=now";
    assert_int_equal(ask("POST", tag, NULL, NULL), 201);
    test_host = &host;
    logged[0] = '\0';
    code_executor_instance *instances[4];
    for (int i = 0; i < 4; i++)
        instances[i] = make_instance("%s", members);
    test_host = NULL;
    start(instances[0]);
    await_ready(instances[0], 1);
    assert_int_equal(ask("DELETE", "/images/" IMAGE, NULL, NULL), 200);
    start(instances[1]);
    double before = cpu_s();
    pause_ms(1000);
    assert_true(cpu_s() - before < 0.5);
    assert_int_equal(ready(instances[0]), 0);
    assert_int_equal(docker->start(instances[2], NULL), CODE_EXECUTOR_NOT_FOUND);
    assert_true(await_log("no container could be made for the pool"));
    assert_int_equal(ask("POST", tag, NULL, NULL), 201);
    start(instances[3]);
    await_ready(instances[0], 1);
    for (int i = 0; i < 4; i++)
        docker->destroy(instances[i]);
    assert_int_equal(ask("DELETE", "/images/" IMAGE, NULL, NULL), 200);
    expect_container_count(0);
}

/* ---- contradictions ---------------------------------------------------------------------------- */

static void options_that_contradict_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"{\"pool\": 1, \"work_dir\": null}", "work_dir"},
        {"{\"pool\": 1, \"container_name\": \"name\"}", "container_name"},
        {"{\"pool\": 1, \"auto_remove\": false}", "auto_remove"},
        {"{\"pool\": 1, \"stop_container\": false}", "stop_container"},
        {"{\"pool\": -1}", "pool"},
        {"{\"pool\": \"many\"}", "pool"},
        {"{\"pool\": 1.5}", "pool"},
        {"{\"pool\": 1000000}", "pool"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        code_executor_instance *instance = NULL;
        code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
        assert_int_equal(docker->create(NULL, wrong[i][0], &instance, &error),
                         CODE_EXECUTOR_INVALID);
        if (!strstr(error.message, wrong[i][1]))
            fail_msg("%s: %s", wrong[i][0], error.message);
        assert_null(instance);
    }
}

/* ---- what is left ------------------------------------------------------------------------------ */

static void pool_ends_with_a_host_that_is_killed(void **state)
{
    (void)state;
    int tell[2];
    char byte = 0;
    assert_int_equal(pipe(tell), 0);
    pid_t child = fork();
    if (child == 0) {
        make_full();
        if (write(tell[1], &byte, 1) != 1)
            _exit(1);
        pause_ms(60000);
        _exit(0);
    }
    assert_int_equal(read(tell[0], &byte, 1), 1);
    assert_int_equal(container_count(), 2);
    double since = now();
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    expect_container_count(0);
    print_message("the containers were gone after %.1f s\n", now() - since);
    close(tell[0]);
    close(tell[1]);
}

/* At every moment of the pool's work, destroy ends it at once and leaves nothing. */
static void destroy_leaves_nothing_at_any_moment(void **state)
{
    (void)state;
    docker->destroy(make_full()); /* what libraries keep from their first use on */
    size_t descriptors = descriptor_count(), threads = thread_count();
    for (int delay = 0; delay <= 800; delay += 200) {
        code_executor_instance *instance = make_pooled();
        start(instance);
        pause_ms(delay);
        docker->destroy(instance);
        expect_thread_count(threads);
        assert_int_equal(descriptor_count(), descriptors);
    }
    expect_container_count(0);
}

static void instance_that_never_started_makes_no_thread(void **state)
{
    (void)state;
    size_t descriptors = descriptor_count(), threads = thread_count();
    code_executor_instance *instance = make_pooled();
    assert_int_equal(thread_count(), threads);
    docker->destroy(instance);
    assert_int_equal(descriptor_count(), descriptors);
}

static void host_may_exit_while_the_pool_is_filled(void **state)
{
    (void)state;
    for (int delay = 0; delay <= 400; delay += 200) {
        pid_t child = fork();
        if (child == 0) {
            start(make_pooled());
            pause_ms(delay);
            exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        assert_true(WIFEXITED(status));
    }
    expect_container_count(0);
}

/* The child has a pool of its own, and the parent's is no affair of it. */
static void forked_child_of_the_host_has_no_part_in_the_pool(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    print_message(
        "skipped: ThreadSanitizer bears no thread in a forked child of a process with threads\n");
    skip();
#endif
    code_executor_instance *instance = make_full();
    pid_t child = fork();
    if (child == 0) {
        docker->destroy(instance);
        code_executor_instance *own = make_full();
        expect_output(own, "echo works", "works\n");
        docker->destroy(own);
        _exit(7);
    }
    int status = 0;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert_int_equal(ready(instance), 1);
    code_executor_instance *second = make_pooled();
    expect_output(second, "echo works", "works\n");
    docker->destroy(second);
    docker->destroy(instance);
    expect_container_count(0);
}

static volatile sig_atomic_t signals_on_others;

static void on_signal(int number)
{
    (void)number;
    if (getpid() != gettid())
        signals_on_others++;
}

static void signals_of_the_host_are_not_delivered_to_the_pool(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = on_signal}, before;
    sigaction(SIGUSR1, &action, &before);
    code_executor_instance *instance = make_full();
    sigset_t blocked, mask;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &blocked, &mask);
    kill(getpid(), SIGUSR1); /* to whichever thread takes it */
    pause_ms(100);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    docker->destroy(instance);
    assert_int_equal(signals_on_others, 0);
    sigaction(SIGUSR1, &before, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_are_ready_as_were_asked_for),
        cmocka_unit_test(start_takes_a_container_that_is_there),
        cmocka_unit_test(each_is_used_once_and_replaced),
        cmocka_unit_test(instances_of_other_configurations_have_pools_of_their_own),
        cmocka_unit_test(init_command_has_run_in_what_is_ready),
        cmocka_unit_test(restart_by_a_container_takes_one_too),
        cmocka_unit_test(many_may_start_at_once),
        cmocka_unit_test(container_that_died_while_it_waited_is_replaced),
        cmocka_unit_test(workspace_that_was_replaced_is_not_the_one_bound),
        cmocka_unit_test(engine_that_is_gone_ends_the_attempts),
        cmocka_unit_test(failure_in_the_background_is_told_by_the_next_start),
        cmocka_unit_test(options_that_contradict_are_refused),
        cmocka_unit_test(pool_ends_with_a_host_that_is_killed),
        cmocka_unit_test(destroy_leaves_nothing_at_any_moment),
        cmocka_unit_test(instance_that_never_started_makes_no_thread),
        cmocka_unit_test(host_may_exit_while_the_pool_is_filled),
        cmocka_unit_test(forked_child_of_the_host_has_no_part_in_the_pool),
        cmocka_unit_test(signals_of_the_host_are_not_delivered_to_the_pool),
    };
    return docker_test_main("docker_pool", tests, sizeof tests / sizeof tests[0]);
}
