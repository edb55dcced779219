/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_ssh.c: the same engine through ssh, by an sshd on the loopback (ssh_server) with keys good and bad.
 *
 *     plugin ── ssh ── sshd ── docker system dial-stdio ── socket ── engine
 *
 * The plugin finds ssh in PATH, where the test has put one that takes a configuration of the test's.
 */
#include "docker_support.h"
#include "reach_support.h"
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { SKIPPED = 77 };

static char folder[300];
static struct port server;
static char *path_before;

static struct port start_server(const char *path)
{
    char host[400];
    snprintf(host, sizeof host, "unix://%s", engine->endpoint->socket_path);
    const char *const arguments[] = {SSH_SERVER, folder, host, path, NULL};
    return port_start(arguments, workspace);
}

/* The server's; skips where there is none. */
static void need_server(void)
{
    if (server.number == 0) {
        char path[4096];
        snprintf(folder, sizeof folder, "%s/ssh", workspace);
        server = start_server(getenv("PATH"));
        if (server.status == SKIPPED && !getenv("CODE_EXECUTOR_REQUIRE_ALL"))
            skip();
        assert_true(server.number > 0);
        path_before = strdup(getenv("PATH"));
        snprintf(path, sizeof path, "%s/bin:%s", folder, path_before);
        setenv("PATH", path, 1);
    }
    unsetenv("SSH_TEST_CONFIG");
}

static code_executor_instance *ssh_instance(const struct port *port, const char *path)
{
    return make_instance("'docker_host': 'ssh://127.0.0.1:%d%s'", port->number, path);
}

/* Processes of this machine whose command line has WORD in it and our port. */
static int find_ssh(const struct port *port, pid_t found[], int most)
{
    char number[16];
    int count = 0;
    snprintf(number, sizeof number, "%d", port->number);
    DIR *processes = opendir("/proc");
    assert_non_null(processes);
    for (struct dirent *entry; (entry = readdir(processes));) {
        char name[300], line[4096];
        snprintf(name, sizeof name, "/proc/%s/cmdline", entry->d_name);
        FILE *file = fopen(name, "re");
        size_t length = file ? fread(line, 1, sizeof line - 1, file) : 0;
        if (file)
            fclose(file);
        for (size_t i = 0; i < length; i++)
            line[i] = line[i] ? line[i] : ' ';
        line[length] = '\0';
        if (strstr(line, "dial-stdio") && strstr(line, number) && count < most)
            found[count++] = atoi(entry->d_name);
    }
    closedir(processes);
    return count;
}

static void expect_no_ssh(const struct port *port)
{
    pid_t found[16];
    for (int i = 0; i < 1500 && find_ssh(port, found, 16) > 0; i++)
        pause_ms(20);
    assert_int_equal(find_ssh(port, found, 16), 0);
}

/* ---- conversations ----------------------------------------------------------------------------- */

static void an_engine_is_spoken_to_through_ssh(void **state)
{
    (void)state;
    need_server();
    size_t before = descriptor_count();
    converse(ssh_instance(&server, ""));
    expect_no_ssh(&server);
    assert_int_equal(descriptor_count(), before);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), 0); /* no child but the server */
}

static void a_socket_may_be_named_behind_the_host(void **state)
{
    (void)state;
    need_server();
    code_executor_instance *instance = ssh_instance(&server, engine->endpoint->socket_path);
    expect_output(instance, "echo behind", "behind\n");
    docker->destroy(instance);
}

/* ---- refusals ---------------------------------------------------------------------------------- */

static const struct {
    const char *client; /* its configuration */
    const char *path;   /* behind the host */
    int32_t status;
    const char *words[4];
} refusals[] = {
    {"unknown", "", CODE_EXECUTOR_DENIED, {"Host key verification failed", "known_hosts"}},
    {"stranger", "", CODE_EXECUTOR_DENIED, {"Permission denied (publickey", "ssh-add"}},
    {"right",
     "/no/such/socket",
     CODE_EXECUTOR_UNAVAILABLE,
     {"no such file or directory", "/no/such/socket", "Start the engine"}},
};

static void each_refusal_comes_in_the_words_of_ssh(void **state)
{
    (void)state;
    need_server();
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        setenv("SSH_TEST_CONFIG", refusals[i].client, 1);
        expect_start_fails(ssh_instance(&server, refusals[i].path), refusals[i].status,
                           refusals[i].words);
    }
    expect_no_ssh(&server);
}

static void a_machine_without_docker_says_so(void **state)
{
    (void)state;
    need_server();
    struct port poor = start_server("/no/such/folder");
    assert_true(poor.number > 0);
    expect_start_fails(ssh_instance(&poor, ""), CODE_EXECUTOR_NOT_FOUND,
                       WORDS("docker", "not found", "PATH"));
    port_end(&poor);
}

static void nobody_at_the_port_says_so(void **state)
{
    (void)state;
    need_server();
    const struct port nobody = {.number = 1};
    expect_start_fails(ssh_instance(&nobody, ""), CODE_EXECUTOR_UNAVAILABLE,
                       WORDS("Connection refused", "No ssh server"));
}

static void a_name_that_nobody_knows_says_so(void **state)
{
    (void)state;
    need_server();
    expect_start_fails(make_instance("'docker_host': 'ssh://engine.invalid'"),
                       CODE_EXECUTOR_UNAVAILABLE,
                       WORDS("Could not resolve hostname", "name of the host"));
}

static void a_machine_without_ssh_says_so(void **state)
{
    (void)state;
    need_server();
    char *before = strdup(getenv("PATH"));
    setenv("PATH", "/no/such/folder", 1);
    code_executor_instance *instance = ssh_instance(&server, "");
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    int32_t status = docker->start(instance, &error);
    setenv("PATH", before, 1);
    free(before);
    assert_int_equal(status, CODE_EXECUTOR_UNAVAILABLE);
    assert_non_null(strstr(error.message, "no ssh in PATH"));
    docker->destroy(instance);
}

/* ---- what dies --------------------------------------------------------------------------------- */

/* Once the block has said something. */
static int32_t kill_all(void *user_data, size_t block, int32_t stream, const char *bytes,
                        size_t length)
{
    pid_t found[16];
    int count = find_ssh(&server, found, 16);
    (void)user_data;
    (void)block;
    (void)stream;
    (void)bytes;
    (void)length;
    for (int i = 0; i < count; i++)
        kill(found[i], SIGKILL);
    return 0;
}

static void a_connection_that_is_cut_ends_the_block_and_a_restart_helps(void **state)
{
    (void)state;
    need_server();
    code_executor_instance *instance = ssh_instance(&server, "");
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_result *result = NULL;
    struct shell shell = {.code = "echo begun; sleep 60", .on_output = kill_all};
    int32_t status = execute_shell(instance, shell, &result, &error);
    docker->result_free(result);
    if (status == CODE_EXECUTOR_OK)
        fail_msg("the block went on without a connection");
    assert_int_equal(docker->restart(instance, &error), CODE_EXECUTOR_OK);
    expect_output(instance, "echo again", "again\n");
    docker->destroy(instance);
    expect_container_count(0);
    expect_no_ssh(&server);
}

static void nothing_is_left_of_a_host_that_dies(void **state)
{
    (void)state;
    need_server();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        code_executor_instance *instance = ssh_instance(&server, "");
        _exit(docker->start(instance, NULL) == CODE_EXECUTOR_OK && raise(SIGKILL) == 0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    expect_container_count(0);
    expect_no_ssh(&server);
}

static void the_server_ends(void **state)
{
    (void)state;
    if (server.number == 0)
        skip();
    setenv("PATH", path_before, 1);
    free(path_before);
    port_end(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_engine_is_spoken_to_through_ssh),
        cmocka_unit_test(a_socket_may_be_named_behind_the_host),
        cmocka_unit_test(each_refusal_comes_in_the_words_of_ssh),
        cmocka_unit_test(a_machine_without_docker_says_so),
        cmocka_unit_test(nobody_at_the_port_says_so),
        cmocka_unit_test(a_name_that_nobody_knows_says_so),
        cmocka_unit_test(a_machine_without_ssh_says_so),
        cmocka_unit_test(a_connection_that_is_cut_ends_the_block_and_a_restart_helps),
        cmocka_unit_test(nothing_is_left_of_a_host_that_dies),
        cmocka_unit_test(the_server_ends),
    };
    return docker_test_main("docker_ssh", tests, sizeof tests / sizeof tests[0]);
}
