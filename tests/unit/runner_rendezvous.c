/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runner_rendezvous.c: a host that names a socket in its HELLO, and what the runner makes of it.
 */
#include "runner_client.h"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define NAME  "meet-here"
#define PROOF "0123456789abcdef"
#define HALF  (strlen(PROOF) / 2)

static int listen_at(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", name);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(listener >= 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 1), 0);
    return listener;
}

static void say_hello(client *runner, const char *name, const char *proof)
{
    payload hello = {0};
    payload_u32(&hello, PROTOCOL_MAGIC);
    payload_u32(&hello, PROTOCOL_VERSION);
    payload_u32(&hello, HELLO_RENDEZVOUS);
    payload_string(&hello, name);
    payload_string(&hello, proof);
    client_send(runner, FRAME_HELLO, 0, 0, hello.bytes, hello.length);
    payload_free(&hello);
}

static void expect_type(client *runner, uint16_t type)
{
    client_frame frame;
    assert_true(client_receive(runner, &frame));
    assert_int_equal(frame.header.type, type);
}

static void expect_output(client *runner, const char *script, const char *output)
{
    client_exit exited = client_run_script(runner, script);
    assert_int_equal(exited.exit_code, 0);
    assert_string_equal(exited.output[0], output);
    client_exit_free(&exited);
}

/* A runner that was told of the socket, which it comes to; *MET is the other end. */
static client start_met(int *listener, int *met)
{
    client runner = client_start(&(client_options){.silent = true, .over_pipes = true});
    *listener = listen_at(NAME);
    say_hello(&runner, NAME, PROOF);
    *met = accept4(*listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(*met >= 0);
    return runner;
}

/* The same, and it has answered there. */
static client start_proven(int *listener, client *over)
{
    int met;
    client runner = start_met(listener, &met);
    char answer[64] = "";
    assert_int_equal(send(met, PROOF, HALF, 0), HALF);
    assert_int_equal(recv(met, answer, HALF, MSG_WAITALL), HALF);
    assert_string_equal(answer, &PROOF[HALF]);
    *over = (client){runner.pid, met, met};
    expect_type(over, FRAME_HELLO);
    return runner;
}

static void begin_sleeping(client *over)
{
    client_spawn(over, 1, &(client_command){.script = "touch started; sleep 1000"});
    await_file("started");
}

static void frames_go_through_the_socket(void **state)
{
    (void)state;
    int listener;
    client over;
    client runner = start_proven(&listener, &over);
    expect_output(&over, "echo here", "here\n");
    assert_false(client_readable(&runner, 0));
    close(listener);
    close(over.to_runner);
    client_end(&runner);
}

static void end_of_the_stream_ends_the_runner(void **state)
{
    (void)state;
    int listener;
    client over;
    client runner = start_proven(&listener, &over);
    begin_sleeping(&over);
    client_end(&runner); /* also fails where the command is left */
    close(listener);
    close(over.to_runner);
}

/* As `docker attach` lets anybody do who may ask the engine. */
static void words_on_the_stream_end_the_runner_with_a_reason(void **state)
{
    (void)state;
    int listener;
    client over;
    client_frame frame;
    client runner = start_proven(&listener, &over);
    begin_sleeping(&over);
    assert_int_equal(write(runner.to_runner, "hello\n", 6), 6);
    assert_true(client_receive(&over, &frame));
    assert_int_equal(frame.header.type, FRAME_ERROR);
    client_await_end(&runner);
    close(listener);
    close(over.to_runner);
}

static void end_of_the_socket_ends_the_runner(void **state)
{
    (void)state;
    int listener;
    client over;
    client runner = start_proven(&listener, &over);
    begin_sleeping(&over);
    close(listener);
    close(over.to_runner);
    client_await_end(&runner);
}

/* What is done with the one who comes, so that the runner must not take its orders. */
static void say_something_else(int met)
{
    assert_int_equal(send(met, &PROOF[1], HALF, 0), HALF);
}

static void say_half_of_it(int met)
{
    assert_int_equal(send(met, PROOF, 3, 0), 3);
    shutdown(met, SHUT_WR);
}

/* Or is gone before it has the answer. */
static void say_it_and_leave(int met)
{
    shutdown(met, SHUT_RD); /* first, or the answer might come in time */
    assert_int_equal(send(met, PROOF, HALF, 0), HALF);
    shutdown(met, SHUT_WR);
}

static void say_nothing(int met)
{
    shutdown(met, SHUT_WR);
}

static void say_nothing_and_stay(int met)
{
    (void)met;
}

static void stranger_at_the_socket_gives_no_orders(void **state)
{
    (void)state;
    static void (*const ways[])(int) = {say_something_else, say_half_of_it, say_it_and_leave,
                                        say_nothing, say_nothing_and_stay};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        int listener, met;
        client runner = start_met(&listener, &met);
        ways[i](met);
        expect_type(&runner, FRAME_HELLO);
        expect_output(&runner, "echo over the stream", "over the stream\n");
        close(listener);
        close(met);
        unlink(NAME);
        client_end(&runner);
    }
}

static void name_that_leads_nowhere_changes_nothing(void **state)
{
    (void)state;
    static const char *const names[] = {"", "nothing", "a-file", "/"};
    assert_int_equal(fclose(fopen("a-file", "w")), 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        client runner = client_start(&(client_options){.silent = true});
        say_hello(&runner, names[i], PROOF);
        expect_type(&runner, FRAME_HELLO);
        expect_output(&runner, "echo over the stream", "over the stream\n");
        client_end(&runner);
    }
}

static void empty_proof_proves_nothing(void **state)
{
    (void)state;
    client runner = client_start(&(client_options){.silent = true});
    int listener = listen_at(NAME);
    say_hello(&runner, NAME, "");
    expect_type(&runner, FRAME_HELLO);
    close(listener);
    client_end(&runner);
}

static void name_or_proof_that_is_too_long_is_malformed(void **state)
{
    (void)state;
    char longer[RENDEZVOUS_NAME_MAX + 1];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    const struct {
        const char *name, *proof;
    } cases[] = {{longer, PROOF}, {NAME, longer}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        client runner = client_start(&(client_options){.silent = true});
        say_hello(&runner, cases[i].name, cases[i].proof);
        expect_type(&runner, FRAME_ERROR);
        client_await_end(&runner);
    }
}

/* From now on, as in a container whose memory is used up for a moment, what is SIZE bytes long cannot be sent. */
static void deny_memory(void *size)
{
    const struct sock_filter lines[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_write, 0, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, STDOUT_FILENO, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, *(const uint32_t *)size, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOBUFS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof lines / sizeof lines[0],
                                      (struct sock_filter *)(uintptr_t)lines};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        _exit(124);
}

static void socket_that_gets_no_memory_is_tried_again(void **state)
{
    (void)state;
    uint32_t size = FRAME_HEADER_SIZE + 777;
    client runner =
        client_start(&(client_options){.prepare = deny_memory, .prepare_argument = &size});
    client_exit exited = client_run_script(&runner, "printf %0777d 1; sleep 0.3; echo more");
    assert_int_equal(exited.exit_code, 0);
    assert_int_equal(strlen(exited.output[0]), 777 + strlen("more\n"));
    client_exit_free(&exited);
    client_end(&runner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUNNER_TEST(frames_go_through_the_socket),
        RUNNER_TEST(end_of_the_stream_ends_the_runner),
        RUNNER_TEST(words_on_the_stream_end_the_runner_with_a_reason),
        RUNNER_TEST(end_of_the_socket_ends_the_runner),
        RUNNER_TEST(stranger_at_the_socket_gives_no_orders),
        RUNNER_TEST(name_that_leads_nowhere_changes_nothing),
        RUNNER_TEST(socket_that_gets_no_memory_is_tried_again),
        RUNNER_TEST(empty_proof_proves_nothing),
        RUNNER_TEST(name_or_proof_that_is_too_long_is_malformed),
    };
    return cmocka_run_group_tests_name("runner rendezvous", tests, NULL, NULL);
}
