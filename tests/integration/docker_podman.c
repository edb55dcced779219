/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_podman.c: what a Podman does otherwise than Docker, and a user must not notice.
 */
#include "docker_support.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Podman leaves the option out without a word. */
static void a_runtime_that_would_not_be_used_is_refused(void **state)
{
    (void)state;
    static const char *const runtimes[] = {"runsc", "no-such-runtime"};
    for (size_t i = 0; i < 2; i++) {
        code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
        code_executor_instance *instance = make_instance("'runtime': '%s'", runtimes[i]);
        assert_int_equal(docker->start(instance, &error), CODE_EXECUTOR_UNSUPPORTED);
        assert_non_null(strstr(error.message, runtimes[i]));
        assert_non_null(strstr(error.message, "containers.conf"));
        docker->destroy(instance);
    }
    expect_container_count(0);
}

/* A container that ends just when it is to be removed. */
static void containers_of_failed_starts_are_removed_time_and_again(void **state)
{
    (void)state;
    static const char *const options[] = {"'auto_remove': false", "'stop_container': false",
                                          "'auto_remove': true"};
    for (int i = 0; i < 12; i++) {
        code_executor_instance *instance =
            make_instance("%s, 'init_command': 'exit 1'", options[i % 3]);
        assert_int_equal(docker->start(instance, NULL), CODE_EXECUTOR_UNAVAILABLE);
        docker->destroy(instance);
        expect_container_count(0);
    }
}

static void the_exit_code_of_a_container_that_died_is_known(void **state)
{
    (void)state;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_instance *instance = make_instance(
        "'container_create': {'Entrypoint': ['sh', '-c', 'echo so it ends >&2; exit 3']}");
    assert_int_equal(docker->start(instance, &error), CODE_EXECUTOR_LOST);
    assert_non_null(strstr(error.message, "exit code 3"));
    assert_non_null(strstr(error.message, "so it ends"));
    docker->destroy(instance);
    expect_container_count(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_runtime_that_would_not_be_used_is_refused),
        cmocka_unit_test(containers_of_failed_starts_are_removed_time_and_again),
        cmocka_unit_test(the_exit_code_of_a_container_that_died_is_known),
    };
    return docker_test_main("docker_podman", tests, sizeof tests / sizeof tests[0]);
}
