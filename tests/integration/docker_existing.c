/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_existing.c: code in a container that somebody else, here the test, has started.
 */
#include "existing_support.h"
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
#include <unistd.h>

#include <cmocka.h>

static void expect_running(void)
{
    expect_state(container, "running");
}

/* What lies in FOLDER of the container and is ours. */
static void expect_no_file(code_executor_instance *instance, const char *folder)
{
    char code[256];
    snprintf(code, sizeof code,
             "for i in $(seq 300); do ls -a %s | grep -q code_executor || break; sleep 0.1; "
             "done; ls -a %s | grep code_executor || true",
             folder, folder);
    expect_output(instance, code, "");
}

static void expect_refused(code_executor_instance *instance, int32_t status, const char *words)
{
    expect_start_fails(instance, status, WORDS(words));
}

/* ---- running ----------------------------------------------------------------------------------- */

static void code_runs_beside_what_is_there(void **state)
{
    (void)state;
    run_container("'Hostname': 'theirs'", "");
    code_executor_instance *instance = beside("'env': {'A': 'b'}");
    expect_output(instance, "hostname; pwd; cat /proc/1/comm; echo $A; echo x > /data/made",
                  "theirs\n/data\nsleep\nb\n");
    code_executor_result *result = run(instance, "python", "print(open('made').read(), end='')");
    assert_string_equal(result->output, "x\n");
    docker->result_free(result);
    expect_no_file(instance, "/");
    docker->destroy(instance);
    expect_running();
    expect_process_count(1);
}

static void folder_beneath_a_mount_is_found(void **state)
{
    (void)state;
    char path[300];
    run_container("", "'Binds': ['/var/tmp:/other:ro', '/tmp:/elsewhere']");
    snprintf(path, sizeof path, "/elsewhere/%s\n", strrchr(workspace, '/') + 1);
    code_executor_instance *instance = beside("");
    expect_output(instance, "pwd", path);
    docker->destroy(instance);
}

/* Whether a process whose command line holds WORDS is in the container. */
static bool is_running(const char *words)
{
    char path[160];
    struct answer CLEANUP_ANSWER answer = {0};
    snprintf(path, sizeof path, "/containers/%s/top", container);
    assert_int_equal(ask("GET", path, NULL, &answer), 200);
    return strstr(json_object_to_json_string(json_member(answer.json, "Processes")), words);
}

static void stop_ends_what_code_has_started_and_no_more(void **state)
{
    (void)state;
    run_container("", "");
    code_executor_instance *instance = beside(""), *other = beside("");
    static const char code[] =
        "(sleep 4321 > /dev/null 2>&1 &); setsid sleep 4322 > /dev/null 2>&1 &";
    expect_output(other, "sleep 5432 > /dev/null 2>&1 &", "");
    expect_output(instance, code, "");
    for (int waited = 0; waited < LONG_MS && !is_running("sleep 4322"); waited += 20)
        pause_ms(20);
    assert_int_equal(docker->stop(instance, NULL), CODE_EXECUTOR_OK);
    assert_false(is_running("sleep 4321") || is_running("sleep 4322"));
    assert_true(is_running("sleep 5432"));
    expect_output(other, "echo unharmed", "unharmed\n");
    expect_output(instance, "echo again", "again\n");
    docker->destroy(instance);
    docker->destroy(other);
    expect_running();
    expect_process_count(1);
}

static void restart_ends_what_code_has_started(void **state)
{
    (void)state;
    run_container("", "");
    code_executor_instance *instance = beside("");
    expect_output(instance, "sleep 4321 > /dev/null 2>&1 & echo kept > /tmp/kept", "");
    assert_int_equal(docker->restart(instance, NULL), CODE_EXECUTOR_OK);
    expect_output(instance,
                  "cat /tmp/kept; cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c '[4]321' || "
                  "true",
                  "kept\n0\n");
    docker->destroy(instance);
}

static void block_that_takes_too_long_is_killed(void **state)
{
    (void)state;
    run_container("", "");
    code_executor_instance *instance = beside("'timeout': 1");
    code_executor_result *result = run(instance, "sh", "(setsid sleep 1000 &) ; sleep 1000");
    assert_int_equal(result->exit_code, 124);
    docker->result_free(result);
    docker->destroy(instance);
    expect_process_count(1);
}

static void init_command_runs_at_every_start(void **state)
{
    (void)state;
    run_container("", "");
    code_executor_instance *instance = beside("'init_command': 'echo once >> /tmp/init'");
    expect_output(instance, "cat /tmp/init", "once\n");
    expect_output(instance, "cat /tmp/init", "once\n");
    docker->stop(instance, NULL);
    expect_output(instance, "cat /tmp/init", "once\nonce\n");
    docker->destroy(instance);
}

static void describe_names_the_container(void **state)
{
    (void)state;
    char text[512];
    run_container("", "");
    code_executor_instance *instance = beside("");
    start(instance);
    described(instance, "container", "id", text, sizeof text);
    assert_string_equal(text, container);
    described(instance, NULL, "isolation", text, sizeof text);
    assert_non_null(strstr(text, container));
    described(instance, NULL, "image", text, sizeof text);
    assert_string_equal(text, "");
    docker->destroy(instance);
}

/* ---- other containers -------------------------------------------------------------------------- */

static void another_user_of_the_container_is_kept(void **state)
{
    (void)state;
    chmod(workspace, 0777);
    run_container("'User': '1234:1235'", "");
    code_executor_instance *instance = beside("");
    expect_output(instance, "echo $(id -u):$(id -g); touch owned", "1234:1235\n");
    expect_no_file(instance, "/");
    docker->destroy(instance);
    expect_process_count(1);
    chmod(workspace, 0700);
}

static void user_may_be_chosen(void **state)
{
    (void)state;
    chmod(workspace, 0777);
    run_container("", "");
    code_executor_instance *instance = beside("'user': '4321:4322'");
    expect_output(instance, "echo $(id -u):$(id -g)", "4321:4322\n");
    expect_no_file(instance, "/");
    docker->destroy(instance);
    chmod(workspace, 0700);
}

static void root_may_be_read_only(void **state)
{
    (void)state;
    static const char *const users[] = {"", "'User': '1234:1235'"};
    chmod(workspace, 0777);
    for (size_t i = 0; i < 2; i++) {
        run_container(users[i], "'ReadonlyRootfs': true");
        code_executor_instance *instance = beside("");
        expect_output(instance, "touch /x 2> /dev/null || echo read-only", "read-only\n");
        expect_no_file(instance, "/data");
        docker->destroy(instance);
        expect_process_count(1);
        remove_container(NULL);
    }
    chmod(workspace, 0700);
}

static void little_privilege_is_enough(void **state)
{
    (void)state;
    run_container("", "'CapDrop': ['ALL'], 'SecurityOpt': ['no-new-privileges'], 'Tmpfs': {'/tmp': "
                      "'noexec'}, 'NetworkMode': 'none'");
    code_executor_instance *instance = beside("");
    expect_output(instance, "echo runs", "runs\n");
    expect_no_file(instance, "/");
    docker->destroy(instance);
    expect_process_count(1);
}

static void terminal_of_its_first_process_does_not_matter(void **state)
{
    (void)state;
    run_container("'Tty': true, 'OpenStdin': true", "'Init': true");
    code_executor_instance *instance = beside("");
    expect_output(instance, "echo runs", "runs\n");
    docker->destroy(instance);
}

/* ---- what does not work ------------------------------------------------------------------------ */

static void container_that_does_not_exist_is_named(void **state)
{
    (void)state;
    expect_refused(make_instance("'container': 'no-such-container'"), CODE_EXECUTOR_NOT_FOUND,
                   "no container no-such-container (option container): docker ps -a");
}

static void container_that_does_not_run_is_told_apart(void **state)
{
    (void)state;
    make_container("", "");
    expect_refused(beside(""), CODE_EXECUTOR_UNAVAILABLE, "does not run (created): docker start");
    assert_int_equal(tell("start"), 204);
    assert_int_equal(tell("pause"), 204);
    expect_refused(beside(""), CODE_EXECUTOR_UNAVAILABLE, "is paused: docker unpause");
    assert_int_equal(tell("unpause"), 204);
    assert_int_equal(tell("kill"), 204);
    assert_int_equal(tell("wait"), 200);
    expect_refused(beside(""), CODE_EXECUTOR_UNAVAILABLE, "does not run (exited): docker start");
}

static void workspace_that_it_does_not_see_is_explained(void **state)
{
    (void)state;
    char binds[600];
    run_container("", "'Binds': ['/var/tmp:/elsewhere']");
    expect_refused(beside("'workspace': 'bind'"), CODE_EXECUTOR_NOT_FOUND,
                   "/var/tmp as /elsewhere");
    remove_container(NULL);
    snprintf(binds, sizeof binds, "'Binds': ['%s:/data:ro']", workspace);
    run_container("", binds);
    expect_refused(beside("'workspace': 'bind'"), CODE_EXECUTOR_DENIED, "cannot write there");
    expect_process_count(1);
}

static void expect_copied(const char *options)
{
    char folder[300] = "";
    code_executor_instance *instance = beside(options);
    char path[320];
    snprintf(path, sizeof path, "%s/given", workspace);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs("given\n", file);
    fclose(file);
    code_executor_result *result = run(instance, "sh", "cat given > made; pwd");
    assert_int_equal(result->exit_code, 0);
    snprintf(folder, sizeof folder, "%.*s", (int)strcspn(result->output, "\n"), result->output);
    docker->result_free(result);
    expect_output(instance, "cat made", "given\n");
    snprintf(path, sizeof path, "%s/made", workspace);
    assert_int_equal(access(path, F_OK), 0);
    unlink(path);
    docker->destroy(instance);
    expect_running();
    expect_process_count(1);
    for (int waited = 0; waited < LONG_MS && status_of_path(folder) == 200; waited += 50)
        pause_ms(50);
    assert_int_equal(status_of_path(folder), 404);
}

static void workspace_that_it_does_not_see_is_copied(void **state)
{
    (void)state;
    run_container("", "'Binds': ['/var/tmp:/elsewhere']");
    expect_copied("");
}

static void workspace_is_copied_where_that_is_asked_for(void **state)
{
    (void)state;
    run_container("", "");
    expect_copied("'workspace': 'copy'");
}

static void workspace_is_copied_for_another_user(void **state)
{
    (void)state;
    run_container("", "");
    expect_copied("'workspace': 'copy', 'user': '1234:5678'");
}

static void failed_init_command_leaves_nothing(void **state)
{
    (void)state;
    run_container("", "");
    expect_refused(beside("'init_command': 'sleep 1000 & exit 7'"), CODE_EXECUTOR_UNAVAILABLE,
                   "exit code 7");
    expect_process_count(1);
}

/* ---- ends from outside ------------------------------------------------------------------------- */

static void tell_it(void *what)
{
    tell(what);
}

/* Runs a block during which the container is told WHAT; the message is in ERROR. */
static int32_t run_while(code_executor_instance *instance, const char *code, void *what,
                         code_executor_error *error)
{
    code_executor_result *result = NULL;
    int32_t status = execute_struck(instance, code, tell_it, what, &result, error);
    docker->result_free(result);
    return status;
}

static void container_killed_from_outside_is_lost(void **state)
{
    (void)state;
    static char kill_it[] = "kill";
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    run_container("", "");
    code_executor_instance *instance = beside("");
    start(instance);
    assert_int_equal(run_while(instance, "echo begun; sleep 1000", kill_it, &error),
                     CODE_EXECUTOR_LOST);
    assert_non_null(strstr(error.message, container));
    docker->stop(instance, NULL);
    assert_int_equal(tell("start"), 204);
    expect_output(instance, "echo again", "again\n");
    docker->destroy(instance);
}

/* Root in the container can do that, as it could in any. */
static void runner_that_is_killed_is_told_apart(void **state)
{
    (void)state;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    run_container("", "");
    code_executor_instance *instance = beside("");
    start(instance);
    code_executor_result *result = NULL;
    struct shell shell = {.code =
                              "kill -KILL $(pgrep -f -- --remove-itself | head -1); sleep 1000"};
    assert_int_equal(execute_shell(instance, shell, &result, &error), CODE_EXECUTOR_LOST);
    docker->result_free(result);
    if (!strstr(error.message, "goes on, but the runner in it ended"))
        fail_msg("%s", error.message);
    docker->destroy(instance);
    expect_running();
    expect_process_count(1);
}

static void pause_holds_up_the_end_and_is_said(void **state)
{
    (void)state;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    run_container("", "");
    code_executor_instance *instance = beside("");
    expect_output(instance, "sleep 1000 > /dev/null 2>&1 &", "");
    assert_int_equal(tell("pause"), 204);
    assert_int_equal(docker->stop(instance, &error), CODE_EXECUTOR_UNAVAILABLE);
    assert_non_null(strstr(error.message, "docker unpause"));
    assert_int_equal(tell("unpause"), 204);
    expect_process_count(1);
    docker->destroy(instance);
}

/* In a process of its own, where no test may fail: tells over READY that code has left something running. */
static void be_a_host(int ready)
{
    char config[512];
    code_executor_instance *instance = NULL;
    struct shell shell = {
        .code = "(sleep 1000 > /dev/null 2>&1 &)\nsetsid sleep 1001 > /dev/null 2>&1 &"};
    code_executor_result *result = NULL;
    snprintf(config, sizeof config, "{\"container\": \"%s\", \"work_dir\": \"%s\"}", container,
             workspace);
    if (docker->create(NULL, config, &instance, NULL) != CODE_EXECUTOR_OK ||
        execute_shell(instance, shell, &result, NULL) != CODE_EXECUTOR_OK ||
        write(ready, "x", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

static void killed_host_leaves_nothing_in_it(void **state)
{
    (void)state;
    int ready[2];
    char byte;
    run_container("", "");
    assert_int_equal(pipe(ready), 0);
    pid_t host = fork();
    assert_true(host >= 0);
    if (host == 0)
        be_a_host(ready[1]);
    close(ready[1]);
    ssize_t told = read(ready[0], &byte, 1);
    close(ready[0]);
    size_t count = process_count();
    assert_int_equal(kill(host, SIGKILL), 0);
    assert_int_equal(waitpid(host, NULL, 0), host);
    assert_int_equal(told, 1);
    assert_true(count > 2);
    expect_process_count(1);
    expect_running();
    code_executor_instance *instance = beside("");
    expect_no_file(instance, "/");
    docker->destroy(instance);
}

/* With a read-only root the runner lies in the workspace for a moment, where code may put another program in
 * its place. That runs as whoever the runner was to be, and never as root. */
static void program_in_place_of_the_runner_does_not_run_as_root(void **state)
{
    (void)state;
    static const char attack[] = "cd /data\n"
                                 "while :; do\n"
                                 "    for file in .code_executor-*; do\n"
                                 "        printf '#!/bin/sh\\nid -u >> /data/proof\\n' > other\n"
                                 "        chmod 755 other\n"
                                 "        mv -f other $file\n"
                                 "    done\n"
                                 "done\n";
    char path[300];
    snprintf(path, sizeof path, "%s/attack", workspace);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(attack, file);
    fclose(file);
    chmod(workspace, 0777);
    run_container("'User': '1234:1235', 'Cmd': ['sh', '/data/attack']", "'ReadonlyRootfs': true");
    for (int i = 0; i < 4; i++) {
        code_executor_instance *instance = beside("");
        docker->start(instance, NULL);
        docker->destroy(instance);
    }
    pause_ms(500);
    snprintf(path, sizeof path, "%s/proof", workspace);
    file = fopen(path, "r");
    for (char line[32]; file && fgets(line, sizeof line, file);)
        assert_string_equal(line, "1234\n");
    if (file)
        fclose(file);
    chmod(workspace, 0700);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(code_runs_beside_what_is_there),
        TEST(folder_beneath_a_mount_is_found),
        TEST(stop_ends_what_code_has_started_and_no_more),
        TEST(restart_ends_what_code_has_started),
        TEST(block_that_takes_too_long_is_killed),
        TEST(init_command_runs_at_every_start),
        TEST(describe_names_the_container),
        TEST(another_user_of_the_container_is_kept),
        TEST(user_may_be_chosen),
        TEST(root_may_be_read_only),
        TEST(little_privilege_is_enough),
        TEST(terminal_of_its_first_process_does_not_matter),
        TEST(container_that_does_not_exist_is_named),
        TEST(container_that_does_not_run_is_told_apart),
        TEST(workspace_that_it_does_not_see_is_explained),
        TEST(workspace_that_it_does_not_see_is_copied),
        TEST(workspace_is_copied_where_that_is_asked_for),
        TEST(workspace_is_copied_for_another_user),
        TEST(failed_init_command_leaves_nothing),
        TEST(container_killed_from_outside_is_lost),
        TEST(runner_that_is_killed_is_told_apart),
        TEST(pause_holds_up_the_end_and_is_said),
        TEST(program_in_place_of_the_runner_does_not_run_as_root),
        TEST(killed_host_leaves_nothing_in_it),
    };
    return docker_test_main("docker_existing", tests, sizeof tests / sizeof tests[0]);
}
