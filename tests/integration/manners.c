/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manners.c: what a plugin leaves alone in its host: children, signals, folder, environment, descriptors,
 * threads; and that nothing is left of it once it is unloaded. See executor_client.h for the command line.
 */
#include "executor_client.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static volatile sig_atomic_t sigchld_count;

static void on_sigchld(int number)
{
    (void)number;
    sigchld_count++;
}

static void run_once(void)
{
    code_executor_instance *instance = client_create();
    client_expect_output(instance, "echo fine", "fine\n");
    host.table->destroy(instance);
}

static void the_host_sees_no_child_of_the_plugin(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = on_sigchld};
    struct sigaction before;
    sigaction(SIGCHLD, &action, &before);
    sigchld_count = 0;
    code_executor_instance *instance = client_create();
    client_expect_output(instance, "echo fine", "fine\n");
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
    host.table->destroy(instance);
    assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
    assert_int_equal(sigchld_count, 0);
    sigaction(SIGCHLD, &before, NULL);
}

static void it_works_in_a_host_that_ignores_sigchld(void **state)
{
    (void)state;
    signal(SIGCHLD, SIG_IGN);
    run_once();
    signal(SIGCHLD, SIG_DFL);
}

static void *wait_for_children(void *flag)
{
    while (!atomic_load((atomic_bool *)flag)) {
        waitpid(-1, NULL, WNOHANG | __WALL); /* greedier than any host */
        usleep(100);
    }
    return NULL;
}

static void it_works_beside_a_thread_that_reaps_everything(void **state)
{
    (void)state;
    pthread_t thread;
    atomic_bool done = false;
    assert_int_equal(pthread_create(&thread, NULL, wait_for_children, &done), 0);
    for (int i = 0; i < 5; i++)
        run_once();
    atomic_store(&done, true);
    pthread_join(thread, NULL);
}

static void signals_folder_mask_and_environment_stay(void **state)
{
    (void)state;
    struct sigaction before[32];
    struct sigaction after;
    sigset_t mask_before = {{0}}; /* the kernel fills but a part of it */
    sigset_t mask_after = {{0}};
    char folder_before[4096];
    char folder_after[4096];
    for (int number = 1; number < 32; number++)
        sigaction(number, NULL, &before[number]);
    pthread_sigmask(SIG_SETMASK, NULL, &mask_before);
    mode_t umask_before = umask(0022);
    umask(umask_before);
    assert_non_null(getcwd(folder_before, sizeof folder_before));
    run_once();
    for (int number = 1; number < 32; number++) {
        sigaction(number, NULL, &after);
        assert_ptr_equal(after.sa_handler, before[number].sa_handler);
    }
    pthread_sigmask(SIG_SETMASK, NULL, &mask_after);
    assert_memory_equal(&mask_after, &mask_before, sizeof mask_before);
    mode_t umask_after = umask(umask_before);
    assert_int_equal(umask_after, umask_before);
    assert_non_null(getcwd(folder_after, sizeof folder_after));
    assert_string_equal(folder_after, folder_before);
}

static void a_killed_runner_kills_no_host(void **state)
{
    (void)state;
    /* A write to what is gone must not raise SIGPIPE. */
    code_executor_instance *instance = client_create();
    client_expect_output(instance, "echo fine", "fine\n");
    reply answer = client_run(instance, "kill -9 $PPID; sleep 1; echo still here");
    reply_release(&answer);
    client_expect_output(instance, "echo works", "works\n");
    host.table->destroy(instance);
}

static void *live_until(void *flag)
{
    while (!atomic_load((atomic_bool *)flag))
        run_once();
    return NULL;
}

/* Descriptors through which something could be kept alive: all but files. */
static size_t count_connections(void)
{
    size_t count = 0;
    for (int fd = 3; fd < 256; fd++) {
        char name[64];
        char target[64];
        snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(name, target, sizeof target);
        count += length > 0 && target[0] != '/';
    }
    return count;
}

/* While other threads open, use and close: at no moment does a forked child hold one of ours. */
static void a_forked_child_holds_no_connection_of_the_plugin(void **state)
{
    (void)state;
    enum { THREADS = 3 };
    pthread_t threads[THREADS];
    atomic_bool done = false;
    size_t before = count_connections();
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, live_until, &done), 0);
    int failures = 0;
    for (int i = 0; i < 200; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(count_connections() > before ? 1 : 0);
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        failures += status != 0;
        usleep(1000);
    }
    atomic_store(&done, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(failures, 0);
}

static int check_in_child(code_executor_instance *instance)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    question asked;
    char *json;
    question_set(&asked, "sh", "echo");
    reply answer = client_execute(instance, &asked.request);
    bool fine = answer.status == CODE_EXECUTOR_UNSUPPORTED && strstr(answer.error.message, "fork");
    fine = fine && host.table->start(instance, &error) == CODE_EXECUTOR_UNSUPPORTED;
    fine = fine && host.table->stop(instance, &error) == CODE_EXECUTOR_UNSUPPORTED;
    fine = fine && host.table->restart(instance, &error) == CODE_EXECUTOR_UNSUPPORTED;
    fine = fine && host.table->cancel(instance, 0, &error) == CODE_EXECUTOR_UNSUPPORTED;
    fine = fine && host.table->describe(instance, &json, &error) == CODE_EXECUTOR_UNSUPPORTED;
    host.table->destroy(instance);
    return fine ? 0 : 1;
}

static void an_instance_is_of_no_use_and_no_harm_in_a_forked_child(void **state)
{
    (void)state;
    code_executor_instance *instance = client_create();
    background run;
    background_prepare(&run, instance,
                       "touch begun; while [ ! -e go ]; do sleep 0.05; done; echo ok");
    background_begin(&run);
    assert_true(eventually(file_exists, "begun"));
    pid_t child = fork();
    if (child == 0)
        _exit(check_in_child(instance));
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    client_expect_output(instance, "touch go", "");
    background_join(&run);
    client_expect_ok(run.answer.status, &run.answer.error);
    assert_string_equal(run.answer.result->output, "ok\n");
    reply_release(&run.answer);
    host.table->destroy(instance);
}

static void log_nothing(void *user_data, int32_t level, const char *message)
{
    (void)level;
    (void)message;
    pthread_t *expected = user_data;
    if (!pthread_equal(*expected, pthread_self()))
        abort();
}

static void the_log_is_called_on_the_calling_thread(void **state)
{
    (void)state;
    pthread_t self = pthread_self();
    const code_executor_host callbacks = {
        .struct_size = sizeof callbacks, .user_data = &self, .log = log_nothing};
    code_executor_instance *instance = client_create_for(&callbacks);
    client_expect_output(instance, "echo fine", "fine\n");
    question asked;
    question_set(&asked, "js", "console.log(1)"); /* saved: how to run it goes to the log */
    reply answer = client_execute(instance, &asked.request);
    client_expect_ok(answer.status, &answer.error);
    assert_int_equal(answer.result->outcome, CODE_EXECUTOR_OUTCOME_SAVED);
    reply_release(&answer);
    host.table->destroy(instance);
}

struct larger_host {
    code_executor_host host;
    uint64_t unknown;
};

static void an_unknown_callback_is_unsupported(void **state)
{
    (void)state;
    struct larger_host larger = {.host = {.struct_size = sizeof larger}, .unknown = 1};
    code_executor_instance *instance = NULL;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(host.table->create(&larger.host, host.configuration, &instance, &error),
                     CODE_EXECUTOR_UNSUPPORTED);
    assert_null(instance);
    assert_non_null(strstr(error.message, "code_executor_host"));
}

enum { MOST_SECONDS = 20 };

/* Loaded, used and unloaded over and over: neither descriptors, threads, memory nor fork handlers. */
static void nothing_is_left_after_unloading(void **state)
{
    (void)state;
    const int rounds = is_instrumented() ? 20 : 100; /* fewer where a start takes long */
    time_t begun = time(NULL);
    const size_t threads = count_threads(); /* a sanitizer has one of its own */
    size_t descriptors = 0;
    size_t memory = 0;
    for (int i = 0; i < rounds && (i < 20 || time(NULL) - begun < MOST_SECONDS); i++) {
        run_once();
        client_unload();
        assert_int_equal(count_threads(), threads);
        pid_t child = fork(); /* a handler that is no longer there would be called */
        if (child == 0)
            _exit(0);
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        client_load();
        if (i == 9) {
            descriptors = count_descriptors();
            memory = memory_kb("VmRSS");
        }
    }
    assert_int_equal(count_descriptors(), descriptors);
    if (!is_instrumented() && memory_kb("VmRSS") > memory + 2048)
        fail_msg("%zu kB have become %zu kB", memory, memory_kb("VmRSS"));
}

int main(int argc, char **argv)
{
    client_begin(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_host_sees_no_child_of_the_plugin),
        cmocka_unit_test(it_works_in_a_host_that_ignores_sigchld),
        cmocka_unit_test(it_works_beside_a_thread_that_reaps_everything),
        cmocka_unit_test(signals_folder_mask_and_environment_stay),
        cmocka_unit_test(a_killed_runner_kills_no_host),
        cmocka_unit_test(a_forked_child_holds_no_connection_of_the_plugin),
        cmocka_unit_test(an_instance_is_of_no_use_and_no_harm_in_a_forked_child),
        cmocka_unit_test(the_log_is_called_on_the_calling_thread),
        cmocka_unit_test(an_unknown_callback_is_unsupported),
        cmocka_unit_test(nothing_is_left_after_unloading),
    };
    return client_end(cmocka_run_group_tests_name("manners", tests, NULL, NULL));
}
