/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_host.c: what the docker executor leaves alone in its host, and what it says where no engine is to be
 * had or none that it can speak to.
 */
#include "docker_support.h"
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- manners ----------------------------------------------------------------------------------- */

enum { DESCRIPTORS = 1024 };

static void note_open(bool was_open[DESCRIPTORS])
{
    for (int fd = 0; fd < DESCRIPTORS; fd++)
        was_open[fd] = fcntl(fd, F_GETFD) >= 0;
}

static void every_descriptor_is_close_on_exec(void **state)
{
    (void)state;
    bool was_open[DESCRIPTORS];
    note_open(was_open);
    code_executor_instance *instance = make_instance("%s", "");
    expect_output(instance, "echo up", "up\n");
    for (int fd = 0; fd < DESCRIPTORS; fd++) {
        int flags = fcntl(fd, F_GETFD);
        if (!was_open[fd] && flags >= 0 && !(flags & FD_CLOEXEC))
            fail_msg("descriptor %d is not close-on-exec", fd);
    }
    docker->destroy(instance);
}

static void forked_child_holds_no_descriptor(void **state)
{
    (void)state;
    bool was_open[DESCRIPTORS], is_open[DESCRIPTORS];
    note_open(was_open);
    code_executor_instance *instance = make_instance("%s", "");
    start(instance);
    pid_t child = fork();
    if (child == 0) {
        note_open(is_open);
        for (int fd = 0; fd < DESCRIPTORS; fd++)
            if (is_open[fd] && !was_open[fd])
                _exit(1);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    expect_output(instance, "echo still up", "still up\n");
    docker->destroy(instance);
}

static void nothing_is_left_in_the_host(void **state)
{
    (void)state;
    struct sigaction before[32], after;
    for (int number = 1; number < 32; number++)
        sigaction(number, NULL, &before[number]);
    size_t descriptors = descriptor_count(), threads = thread_count();
    for (int i = 0; i < 3; i++) {
        code_executor_instance *instance = make_instance("%s", "");
        expect_output(instance, "echo up", "up\n");
        expect_thread_count(threads);
        docker->destroy(instance);
    }
    assert_int_equal(descriptor_count(), descriptors);
    for (int number = 1; number < 32; number++) {
        sigaction(number, NULL, &after);
        assert_true(before[number].sa_handler == after.sa_handler);
    }
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void proxies_of_the_environment_are_ignored(void **state)
{
    (void)state;
    setenv("http_proxy", "http://127.0.0.1:9", 1);
    setenv("all_proxy", "http://127.0.0.1:9", 1);
    code_executor_instance *instance = make_instance("%s", "");
    expect_output(instance, "echo up", "up\n");
    docker->destroy(instance);
    unsetenv("http_proxy");
    unsetenv("all_proxy");
}

/* ---- no engine --------------------------------------------------------------------------------- */

static void absent_engine_is_named_with_the_way_out(void **state)
{
    (void)state;
    expect_start_fails(make_instance("'docker_host': 'unix://%s/none'", workspace),
                       CODE_EXECUTOR_UNAVAILABLE,
                       WORDS("no Docker engine is running", workspace, "docker_host", "dockerd"));
}

static int listen_at(char address[300])
{
    static int number;
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    snprintf(name.sun_path, sizeof name.sun_path, "%.80s/l%d", workspace, number++);
    snprintf(address, 300, "unix://%s", name.sun_path);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(listener >= 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&name, sizeof name), 0);
    assert_int_equal(listen(listener, 8), 0);
    return listener;
}

static void socket_of_a_dead_engine_is_told_apart(void **state)
{
    (void)state;
    char address[300];
    close(listen_at(address));
    expect_start_fails(make_instance("'docker_host': '%s'", address), CODE_EXECUTOR_UNAVAILABLE,
                       WORDS("nobody listens", address));
}

static void missing_permission_names_the_group(void **state)
{
    (void)state;
    char address[300];
    int listener = listen_at(address);
    if (geteuid() != 0) {
        close(listener);
        skip();
    }
    chmod(workspace, 0755);
    chmod(address + strlen("unix://"), 0660);
    pid_t child = fork();
    if (child == 0) {
        code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
        if (setgid(65534) != 0 || setuid(65534) != 0)
            _exit(2);
        code_executor_instance *instance = make_instance("'docker_host': '%s'", address);
        int32_t status = docker->start(instance, &error);
        fprintf(stderr, "%s\n", error.message);
        _exit(status == CODE_EXECUTOR_DENIED && strstr(error.message, "group root, mode 660") ? 0
                                                                                              : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    close(listener);
    chmod(workspace, 0700);
    assert_int_equal(status, 0);
}

static void what_speaks_no_http_is_no_engine(void **state)
{
    (void)state;
    struct relay relay = relay_start(
        (struct relay_options){.answer_for = "/_ping", .answer = "SSH-2.0-OpenSSH_9.2\r\n"});
    expect_start_fails(make_instance("'docker_host': '%s'", relay.address), CODE_EXECUTOR_PROTOCOL,
                       WORDS("no Docker engine", relay.address));
    relay_kill(&relay);
}

static void web_server_is_no_engine(void **state)
{
    (void)state;
    struct relay relay = relay_start((struct relay_options){
        .answer_for = "/_ping", .answer = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"});
    expect_start_fails(make_instance("'docker_host': '%s'", relay.address), CODE_EXECUTOR_PROTOCOL,
                       WORDS("no Docker engine", "404"));
    relay_kill(&relay);
}

/* ---- the wire ---------------------------------------------------------------------------------- */

static void everything_may_come_byte_by_byte(void **state)
{
    (void)state;
    struct relay relay = relay_start((struct relay_options){.chunk = 1});
    code_executor_instance *instance = make_instance("'docker_host': '%s'", relay.address);
    expect_output(instance, "echo slow; head -c 20000 /dev/zero | tr '\\0' x | wc -c",
                  "slow\n20000\n");
    code_executor_result *result =
        run(instance, "python", "print('y' * 30000)\nimport sys\nprint('z', file=sys.stderr)");
    assert_int_equal(result->exit_code, 0);
    assert_int_equal(result->blocks[0]->stdout_length, 30001);
    docker->result_free(result);
    docker->destroy(instance);
    relay_kill(&relay);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_descriptor_is_close_on_exec),
        cmocka_unit_test(forked_child_holds_no_descriptor),
        cmocka_unit_test(nothing_is_left_in_the_host),
        cmocka_unit_test(proxies_of_the_environment_are_ignored),
        cmocka_unit_test(absent_engine_is_named_with_the_way_out),
        cmocka_unit_test(socket_of_a_dead_engine_is_told_apart),
        cmocka_unit_test(missing_permission_names_the_group),
        cmocka_unit_test(what_speaks_no_http_is_no_engine),
        cmocka_unit_test(web_server_is_no_engine),
        cmocka_unit_test(everything_may_come_byte_by_byte),
    };
    return docker_test_main("docker_host", tests, sizeof tests / sizeof tests[0]);
}
