/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_rendezvous.c: who comes to the socket in the workspace, and may have a control group whose name is right:
 * one of a user's own making, which this process' group plays here.
 */
#include "rendezvous.h"
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#define HALF 16

static char folder[] = "/tmp/code_executor_rendezvous_XXXXXX";
static char group[64]; /* what stands for a container's number */
static struct rendezvous host;

/* As long as a number, and in the file that tells of this process' groups. */
static void find_group(void)
{
    char groups[8192] = "";
    int file = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0);
    assert_true(read(file, groups, sizeof groups - 1) > 0);
    close(file);
    if (strlen(groups) < 32) {
        print_message("this system has no control groups with names that are long enough\n");
        skip();
    }
    snprintf(group, sizeof group, "%.32s", groups);
}

static int open_host(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/code_executor_rendezvous_XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    rendezvous_open(&host, folder);
    return host.state == RENDEZVOUS_OPEN ? 0 : -1;
}

static int close_host(void **state)
{
    (void)state;
    rendezvous_close(&host);
    return rmdir(folder); /* which is empty again */
}

static int visit(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%.50s/%.50s", folder, host.name);
    int visitor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(visitor >= 0);
    assert_int_equal(connect(visitor, (struct sockaddr *)&address, sizeof address), 0);
    return visitor;
}

static ssize_t receive(char *buffer, size_t size)
{
    return rendezvous_receive(&host, group, buffer, size);
}

static void expect_nothing(void)
{
    char buffer[64];
    assert_int_equal(receive(buffer, sizeof buffer), TRANSPORT_AGAIN);
}

static void expect_frames_from(int visitor, const char *answer)
{
    char buffer[64] = "";
    expect_nothing(); /* it is let in */
    assert_int_equal(recv(visitor, buffer, sizeof buffer, 0), HALF);
    assert_memory_equal(buffer, host.proof, HALF);
    assert_int_equal(send(visitor, answer, strlen(answer), MSG_NOSIGNAL), strlen(answer));
    assert_int_equal(send(visitor, "frames", 6, MSG_NOSIGNAL), 6);
    memset(buffer, 0, sizeof buffer);
    assert_int_equal(receive(buffer, sizeof buffer), 6);
    assert_string_equal(buffer, "frames");
    assert_int_equal(host.state, RENDEZVOUS_TAKEN);
}

static bool is_sent_away(int visitor)
{
    char buffer[64];
    struct pollfd ready = {visitor, POLLIN, 0};
    while (poll(&ready, 1, 0) > 0)
        if (recv(visitor, buffer, sizeof buffer, 0) <= 0)
            return true;
    return false;
}

static void one_that_knows_the_other_half_is_taken(void **state)
{
    (void)state;
    find_group();
    int runner = visit();
    expect_frames_from(runner, host.proof + HALF);
    close(runner);
}

static void answer_may_come_in_pieces(void **state)
{
    (void)state;
    find_group();
    int runner = visit();
    expect_nothing();
    for (int i = 0; i < HALF - 1; i++) {
        assert_int_equal(send(runner, host.proof + HALF + i, 1, MSG_NOSIGNAL), 1);
        expect_nothing();
    }
    assert_false(is_sent_away(runner));
    assert_int_equal(send(runner, host.proof + 2 * HALF - 1, 1, MSG_NOSIGNAL), 1);
    expect_nothing();
    assert_int_equal(host.state, RENDEZVOUS_TAKEN);
    close(runner);
}

/* What the runner says where there is nothing to prove: a HELLO. And the half that the visitor was shown. */
static void one_with_the_right_group_alone_is_not_believed(void **state)
{
    (void)state;
    find_group();
    const char hello[] = {20, 0, 0, 0, 65, 0, 0, 0, 0, 0, 0, 0, 'C', 'R', 'X', '1'};
    const char *const said[] = {hello, host.proof};
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        int stranger = visit();
        assert_int_equal(send(stranger, said[i], HALF, MSG_NOSIGNAL), HALF);
        expect_nothing();
        expect_nothing();
        assert_true(is_sent_away(stranger));
        assert_int_equal(host.state, RENDEZVOUS_OPEN);
        close(stranger);
    }
    int runner = visit();
    expect_frames_from(runner, host.proof + HALF);
    close(runner);
}

static void silent_ones_do_not_keep_the_runner_out(void **state)
{
    (void)state;
    find_group();
    int strangers[RENDEZVOUS_VISITORS - 1];
    for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++)
        strangers[i] = visit();
    expect_nothing();
    int runner = visit();
    expect_frames_from(runner, host.proof + HALF);
    for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
        assert_true(is_sent_away(strangers[i]));
        close(strangers[i]);
    }
    close(runner);
}

/* With nothing to be done there must be nothing to wake for. */
static void full_house_does_not_keep_the_host_busy(void **state)
{
    (void)state;
    find_group();
    int strangers[RENDEZVOUS_VISITORS + 1];
    for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++)
        strangers[i] = visit();
    expect_nothing();
    struct pollfd watched[RENDEZVOUS_WATCHED];
    size_t count = rendezvous_watch(&host, POLLIN, watched);
    assert_int_equal(count, RENDEZVOUS_VISITORS);
    assert_int_equal(poll(watched, count, 0), 0);
    for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++)
        close(strangers[i]);
}

#define AT_A_HOST(test) cmocka_unit_test_setup_teardown(test, open_host, close_host)

int main(void)
{
    const struct CMUnitTest tests[] = {
        AT_A_HOST(one_that_knows_the_other_half_is_taken),
        AT_A_HOST(answer_may_come_in_pieces),
        AT_A_HOST(one_with_the_right_group_alone_is_not_believed),
        AT_A_HOST(silent_ones_do_not_keep_the_runner_out),
        AT_A_HOST(full_house_does_not_keep_the_host_busy),
    };
    return cmocka_run_group_tests_name("docker rendezvous", tests, NULL, NULL);
}
