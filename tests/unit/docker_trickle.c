/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_trickle.c: an engine whose answers come byte by byte, as one that is hostile or dying sends them. A
 * call has an end in time all the same; a stream of which something comes goes on.
 */
#include "engine.h"
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAUSE_MS = 50, LIMIT_MS = 500 };

static char path[64];
static pid_t server;
static struct endpoint endpoint;
static struct engine *engine;

static void pause_briefly(void)
{
    const struct timespec pause = {0, PAUSE_MS * 1000000L};
    nanosleep(&pause, NULL);
}

static void say(int connection, const char *text)
{
    if (send(connection, text, strlen(text), MSG_NOSIGNAL) < 0)
        _exit(0);
}

static void trickle(int connection, const char *text)
{
    for (char byte[2] = ""; *text; text++) {
        byte[0] = *text;
        say(connection, byte);
        pause_briefly();
    }
}

static void repeat(int connection, const char *text)
{
    for (;;) {
        say(connection, text);
        pause_briefly();
    }
}

static void answer(int connection, const char *request)
{
    if (strstr(request, "/_ping")) {
        say(connection, "HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nContent-Length: 2\r\n\r\nOK");
        return;
    }
    say(connection, "HTTP/1.1 200 OK\r\n");
    if (strstr(request, "/head"))
        repeat(connection, "X-More: 1\r\n");
    if (strstr(request, "/body")) {
        say(connection, "Content-Length: 1000000\r\n\r\n");
        repeat(connection, " ");
    }
    say(connection, "Content-Length: 20\r\n\r\n");
    trickle(connection, "12345678901234567890");
}

static void serve(int connection)
{
    char request[4096];
    size_t length = 0;
    for (ssize_t count;
         (count = recv(connection, request + length, sizeof request - 1 - length, 0)) > 0;) {
        length += (size_t)count;
        request[length] = '\0';
        if (!strstr(request, "\r\n\r\n"))
            continue;
        answer(connection, request);
        length = 0;
    }
    _exit(0);
}

static void serve_all(int listener)
{
    signal(SIGCHLD, SIG_IGN);
    for (;;) {
        int connection = accept(listener, NULL, NULL);
        if (connection < 0)
            _exit(1);
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            serve(connection);
        }
        close(connection);
    }
}

static int set_up(void **state)
{
    (void)state;
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    snprintf(path, sizeof path, "/tmp/code_executor-trickle-%d", (int)getpid());
    snprintf(name.sun_path, sizeof name.sun_path, "%s", path);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&name, sizeof name) != 0 ||
        listen(listener, 8) != 0)
        return -1;
    server = fork();
    if (server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve_all(listener);
    }
    close(listener);
    if (server < 0 || endpoint_of_socket(path, "the test", &endpoint, NULL) != CODE_EXECUTOR_OK ||
        engine_open(&endpoint, -1, &engine, NULL) != CODE_EXECUTOR_OK)
        return -1;
    engine->limit_ms = LIMIT_MS;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    engine_close(engine);
    endpoint_clear(&endpoint);
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    return unlink(path);
}

static void expect_given_up(const char *what)
{
    struct answer CLEANUP_ANSWER got = {0};
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(engine_call(engine, "GET", what, NULL, &got, &error), CODE_EXECUTOR_TIMED_OUT);
    if (!strstr(error.message, path) || !strstr(error.message, "has not sent all of its answer"))
        fail_msg("%s", error.message);
}

static void answer_without_end_is_not_waited_for(void **state)
{
    (void)state;
    expect_given_up("/body");
}

static void head_without_end_is_not_waited_for(void **state)
{
    (void)state;
    expect_given_up("/head");
}

static bool count_bytes(void *user_data, const char *bytes, size_t length)
{
    (void)bytes;
    *(size_t *)user_data += length;
    return true;
}

static void stream_may_take_longer(void **state)
{
    (void)state;
    size_t count = 0;
    http_transfer *transfer = NULL;
    const http_request request = {
        .method = "GET", .path = "/stream", .on_data = count_bytes, .user_data = &count};
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    struct answer CLEANUP_ANSWER got = {0};
    assert_int_equal(engine_begin(engine, request, &transfer, &error), CODE_EXECUTOR_OK);
    int32_t status = engine_finish(engine, transfer, LIMIT_MS, &got, &error);
    if (status != CODE_EXECUTOR_OK)
        fail_msg("%s", error.message);
    assert_int_equal(count, 20);
    http_end(transfer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(answer_without_end_is_not_waited_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(head_without_end_is_not_waited_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stream_may_take_longer, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("docker_trickle", tests, NULL, NULL);
}
