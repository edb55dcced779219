/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_wakeup_pair.c: what a forked child holds of a multi handle's wake-up pair: nothing, at no moment
 * between the pair's making and its end.
 */
#include "wakeup_pair.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static bool is_socket(int descriptor)
{
    struct stat status;
    return descriptor >= 0 && fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode);
}

/* How many of the pair's numbers are sockets in a child that is forked now. */
static int sockets_in_child(const struct wakeup_pair *pair)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        _exit(is_socket(pair->descriptors[0]) + is_socket(pair->descriptors[1]));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* A libcurl that marks its descriptors itself has no pair to be found. */
static CURLM *make(struct wakeup_pair *pair)
{
    CURLM *multi = wakeup_pair_guard(pair);
    assert_non_null(multi);
    if (pair->descriptors[0] < 0) {
        curl_multi_cleanup(multi);
        print_message("skipped: this libcurl needs no help\n");
        skip();
    }
    return multi;
}

static void it_is_close_on_exec_and_not_in_a_forked_child(void **state)
{
    struct wakeup_pair pair;
    CURLM *multi = make(&pair);
    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_true(is_socket(pair.descriptors[i]));
        assert_true(fcntl(pair.descriptors[i], F_GETFD) & FD_CLOEXEC);
    }
    assert_int_equal(sockets_in_child(&pair), 0);
    wakeup_pair_release(&pair);
    curl_multi_cleanup(multi);
}

/* The handle's connections are closed first, which takes its time. */
static void nor_while_the_handle_is_being_cleaned_up(void **state)
{
    struct wakeup_pair pair;
    CURLM *multi = make(&pair);
    (void)state;
    wakeup_pair_release(&pair);
    assert_int_equal(sockets_in_child(&pair), 0);
    curl_multi_cleanup(multi);
    for (int i = 0; i < 2; i++)
        assert_int_equal(fcntl(pair.descriptors[i], F_GETFD), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_close_on_exec_and_not_in_a_forked_child),
        cmocka_unit_test(nor_while_the_handle_is_being_cleaned_up),
    };
    return cmocka_run_group_tests_name("docker_wakeup_pair", tests, NULL, NULL);
}
