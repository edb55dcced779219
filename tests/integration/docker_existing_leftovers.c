/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_existing_leftovers.c: what stays in a container of somebody else's, when the runner in it could not
 * clear up behind itself: nothing, in the end.
 */
#include "existing_support.h"
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

/* The container's own, root, and somebody else. */
static const char *const users[] = {"'workspace': 'copy'",
                                    "'workspace': 'copy', 'user': '1234:5678'"};
enum { USERS = sizeof users / sizeof users[0] };

#define OTHERS_ID "0123456789abcdef0123456789abcdef"

/* Where the copied workspace is, in the container. */
static void folder_of(code_executor_instance *instance, char folder[300])
{
    code_executor_result *result = run(instance, "sh", "pwd");
    snprintf(folder, 300, "%.*s", (int)strcspn(result->output, "\n"), result->output);
    docker->result_free(result);
    assert_int_equal(strncmp(folder, "/.code_executor-", 16), 0);
    assert_int_equal(status_of_path(folder), 200);
}

static void expect_path_gone(const char *path)
{
    for (int waited = 0; waited < LONG_MS && status_of_path(path) == 200; waited += 50)
        pause_ms(50);
    assert_int_equal(status_of_path(path), 404);
}

/* The folder, and the runner's file beside it. */
static void expect_folder_gone(const char *folder)
{
    char file[300];
    snprintf(file, sizeof file, "%.*s", (int)(strlen(folder) - strlen("-workspace")), folder);
    expect_path_gone(folder);
    expect_path_gone(file);
}

/* ---- of our own -------------------------------------------------------------------------------- */

static void stop_clears_up_behind_a_container_that_was_restarted(void **state)
{
    char folder[300];
    for (size_t i = 0; i < USERS; i++) {
        run_container("", "");
        code_executor_instance *instance = beside(users[i]);
        folder_of(instance, folder);
        assert_int_equal(tell("restart?t=0"), 204);
        docker->stop(instance, NULL);
        expect_folder_gone(folder);
        docker->destroy(instance);
        expect_process_count(1);
        remove_container(state);
    }
}

static void stop_clears_up_behind_a_runner_that_was_killed(void **state)
{
    (void)state;
    char folder[300];
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    run_container("", "");
    code_executor_instance *instance = beside(users[0]);
    folder_of(instance, folder);
    code_executor_result *result = NULL;
    struct shell shell = {.code =
                              "kill -KILL $(pgrep -f -- --remove-itself | head -1); sleep 1000"};
    assert_int_equal(execute_shell(instance, shell, &result, &error), CODE_EXECUTOR_LOST);
    docker->result_free(result);
    docker->stop(instance, NULL);
    expect_folder_gone(folder);
    docker->destroy(instance);
    expect_process_count(1);
}

/* Code that is left in the background stops the runner and its supervisors, which cannot see then that they shall
 * end. */
static void stop_ends_a_runner_that_code_has_stopped(void **state)
{
    static const char *const ways[] = {"'user': '1234:5678'", "",
                                       "'workspace': 'copy', 'user': '1234:5678'"};
    static const char code[] = "(sleep 0.5; kill -STOP $(pgrep -f -- --remove-itself); sleep 1000) "
                               "> /dev/null 2>&1 &";
    chmod(workspace, 0777);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
        run_container("", "");
        code_executor_instance *instance = beside(ways[i]);
        expect_output(instance, code, "");
        pause_ms(2000);
        if (docker->stop(instance, &error) != CODE_EXECUTOR_OK)
            fail_msg("%s", error.message);
        expect_process_count(1);
        docker->destroy(instance);
        remove_container(state);
    }
    chmod(workspace, 0700);
}

/* ---- of hosts that have died ------------------------------------------------------------------- */

/* In a process of its own, where no test may fail: tells over READY where its workspace is. */
static void be_a_host(int ready, const char *more)
{
    char config[512];
    code_executor_instance *instance = NULL;
    code_executor_result *result = NULL;
    snprintf(config, sizeof config, "{'container': '%s', 'work_dir': '%s', %s}", container,
             workspace, more);
    for (char *at = config; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    if (docker->create(NULL, config, &instance, NULL) != CODE_EXECUTOR_OK ||
        execute_shell(instance, (struct shell){.code = "pwd"}, &result, NULL) != CODE_EXECUTOR_OK ||
        write(ready, result->output, result->output_length) != (ssize_t)result->output_length)
        _exit(1);
    for (;;)
        pause();
}

static pid_t start_host(const char *more, char folder[300])
{
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t host = fork();
    assert_true(host >= 0);
    if (host == 0)
        be_a_host(ready[1], more);
    close(ready[1]);
    ssize_t length = read(ready[0], folder, 299);
    close(ready[0]);
    assert_true(length > 1);
    folder[length - 1] = '\0';
    assert_int_equal(status_of_path(folder), 200);
    return host;
}

static void killed_host_leaves_no_copy(void **state)
{
    char folder[300];
    for (size_t i = 0; i < USERS; i++) {
        run_container("", "");
        pid_t host = start_host(users[i], folder);
        host_kill(host);
        expect_folder_gone(folder);
        expect_process_count(1);
        remove_container(state);
    }
}

/* Those that nobody in the container has outlived: the next start finds them. */
static void start_clears_up_behind_a_host_that_died_with_the_container(void **state)
{
    char folder[300];
    for (size_t i = 0; i < USERS; i++) {
        run_container("", "");
        pid_t host = start_host(users[i], folder);
        assert_int_equal(kill(host, SIGSTOP), 0);
        assert_int_equal(tell("restart?t=0"), 204);
        host_kill(host);
        assert_int_equal(status_of_path(folder), 200);
        code_executor_instance *instance = beside(users[USERS - 1 - i]);
        start(instance);
        expect_folder_gone(folder);
        docker->destroy(instance);
        remove_container(state);
    }
}

static void start_leaves_alone_what_a_living_host_uses(void **state)
{
    char folder[300];
    for (size_t i = 0; i < USERS; i++) {
        run_container("", "");
        code_executor_instance *living = beside(users[i]);
        folder_of(living, folder);
        expect_output(living, "echo kept > kept", "");
        for (size_t k = 0; k < USERS; k++) {
            code_executor_instance *other = beside(users[k]);
            start(other);
            docker->destroy(other);
        }
        expect_output(living, "cat kept; cat $PWD/kept", "kept\nkept\n");
        docker->destroy(living);
        expect_folder_gone(folder);
        expect_process_count(1);
        remove_container(state);
    }
}

/* A host is between bringing its runner in and starting it: nothing in the container uses either yet. */
static void start_leaves_alone_what_is_not_used_yet(void **state)
{
    (void)state;
    run_container("", "");
    code_executor_instance *instance = beside("");
    expect_output(
        instance,
        "touch /.code_executor-" OTHERS_ID "; mkdir /.code_executor-" OTHERS_ID "-workspace", "");
    docker->stop(instance, NULL);
    start(instance);
    assert_int_equal(status_of_path("/.code_executor-" OTHERS_ID), 200);
    assert_int_equal(status_of_path("/.code_executor-" OTHERS_ID "-workspace"), 200);
    docker->destroy(instance);
}

/* ---- hostile ----------------------------------------------------------------------------------- */

/* Root in the container plants names of ours, to have what is elsewhere removed: by a link as the folder, by
 * links in it, or as names that only begin like ours. */
static void planted_names_lead_nowhere_else(void **state)
{
    (void)state;
    static const char plant[] =
        "mkdir -p /victim/inner /.code_executor-" OTHERS_ID "-workspace/deep\n"
        "echo precious > /victim/inner/file\n"
        "ln -s /victim /.code_executor-0000456789abcdef0123456789abcdef-workspace\n"
        "ln -s /victim /.code_executor-" OTHERS_ID "-workspace/link\n"
        "ln -s /victim/inner /.code_executor-" OTHERS_ID "-workspace/deep/link\n"
        "mkdir /.code_executor-mine /.code_executor-" OTHERS_ID "-workspaces\n"
        "mkdir /.code_executor-ABCDEF6789abcdef0123456789abcdef-workspace\n";
    run_container("", "");
    code_executor_instance *instance = beside("");
    expect_output(instance, plant, "");
    docker->stop(instance, NULL);
    start(instance);
    expect_path_gone("/.code_executor-" OTHERS_ID "-workspace");
    expect_output(instance, "cat /victim/inner/file; ls -d /.code_executor-*",
                  "precious\n"
                  "/.code_executor-0000456789abcdef0123456789abcdef-workspace\n"
                  "/.code_executor-" OTHERS_ID "-workspaces\n"
                  "/.code_executor-ABCDEF6789abcdef0123456789abcdef-workspace\n"
                  "/.code_executor-mine\n");
    docker->destroy(instance);
}

/* Code with the right to mount shows somebody else's folder in its workspace. */
static void what_is_mounted_into_the_copy_stays(void **state)
{
    (void)state;
    char folder[300];
    run_container("", "'CapAdd': ['SYS_ADMIN'], 'SecurityOpt': ['apparmor=unconfined']");
    code_executor_instance *instance = beside("'workspace': 'copy'");
    folder_of(instance, folder);
    expect_output(
        instance,
        "mkdir -p /victim mount inner/mount; echo precious > /victim/file\n"
        "mount --bind /victim mount && mount --bind /victim inner/mount && ls inner/mount",
        "file\n");
    docker->stop(instance, NULL);
    expect_process_count(1);
    expect_output(instance, "cat /victim/file", "precious\n");
    docker->destroy(instance);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(stop_clears_up_behind_a_container_that_was_restarted),
        TEST(stop_clears_up_behind_a_runner_that_was_killed),
        TEST(stop_ends_a_runner_that_code_has_stopped),
        TEST(killed_host_leaves_no_copy),
        TEST(start_clears_up_behind_a_host_that_died_with_the_container),
        TEST(start_leaves_alone_what_a_living_host_uses),
        TEST(start_leaves_alone_what_is_not_used_yet),
        TEST(planted_names_lead_nowhere_else),
        TEST(what_is_mounted_into_the_copy_stays),
    };
    return docker_test_main("docker_existing_leftovers", tests, sizeof tests / sizeof tests[0]);
}
