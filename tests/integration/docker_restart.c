/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_restart.c: what restart renews where the configuration says "restart": "container".
 */
#include "docker_support.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

/* Leaves traces in the container and the workspace, restarts, and expects another container, which
 * replaces the first one. */
static void expect_fresh_one(code_executor_instance *instance)
{
    char first[256], second[256];
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    expect_output(instance, "sleep 4321 > /dev/null & echo lost > /root/lost; echo kept > kept",
                  "");
    described(instance, "container", "id", first, sizeof first);
    if (docker->restart(instance, &error) != CODE_EXECUTOR_OK)
        fail_msg("restart: %s", error.message);
    assert_false(container_exists(first));
    described(instance, "container", "id", second, sizeof second);
    assert_string_not_equal(first, second);
    expect_output(instance, "cat kept; test ! -e /root/lost && echo fresh", "kept\nfresh\n");
}

static void container_is_replaced_by_a_fresh_one(void **state)
{
    (void)state;
    code_executor_instance *instance = make_instance("'restart': 'container'");
    expect_fresh_one(instance);
    expect_fresh_one(instance);
    docker->destroy(instance);
}

static void name_passes_on_to_the_fresh_one(void **state)
{
    (void)state;
    char name[256];
    code_executor_instance *instance = make_instance(
        "'restart': 'container', 'container_name': '%s-named'", strrchr(workspace, '/') + 1);
    expect_fresh_one(instance);
    described(instance, "container", "name", name, sizeof name);
    assert_non_null(strstr(name, "-named"));
    docker->destroy(instance);
}

static void container_that_would_stay_is_replaced_too(void **state)
{
    (void)state;
    static const char *const keeping[] = {"'auto_remove': false", "'stop_container': false"};
    for (size_t i = 0; i < 2; i++) {
        char last[256];
        code_executor_instance *instance = make_instance("'restart': 'container', %s", keeping[i]);
        expect_fresh_one(instance);
        described(instance, "container", "id", last, sizeof last);
        docker->destroy(instance);
        assert_true(container_exists(last));
        container_remove(last);
    }
}

static void container_that_was_stopped_is_replaced_by_restart(void **state)
{
    (void)state;
    char first[256], second[256];
    code_executor_instance *instance =
        make_instance("'restart': 'container', 'auto_remove': false");
    expect_output(instance, "echo lost > /root/lost", "");
    described(instance, "container", "id", first, sizeof first);
    assert_int_equal(docker->stop(instance, NULL), CODE_EXECUTOR_OK);
    assert_true(container_exists(first));
    assert_int_equal(docker->restart(instance, NULL), CODE_EXECUTOR_OK);
    assert_false(container_exists(first));
    expect_output(instance, "test ! -e /root/lost && echo fresh", "fresh\n");
    described(instance, "container", "id", second, sizeof second);
    docker->destroy(instance);
    container_remove(second);
}

static void other_words_are_refused(void **state)
{
    (void)state;
    code_executor_instance *instance = NULL;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(docker->create(NULL, "{\"restart\": \"image\"}", &instance, &error),
                     CODE_EXECUTOR_INVALID);
    assert_non_null(strstr(error.message, "restart"));
    assert_null(instance);
}

/* Code that is no root has taken away what the runner needs to start anything. */
static void restart_heals_a_runner_without_limits(void **state)
{
    (void)state;
    chmod(workspace, 0777);
    code_executor_instance *instance = make_instance("'user': '1234:1235'");
    expect_output(instance, "prlimit --pid 1 --nproc=1:1 && echo taken", "taken\n");
    assert_int_equal(docker->restart(instance, NULL), CODE_EXECUTOR_OK);
    expect_output(instance, "(echo works)", "works\n");
    docker->destroy(instance);
    chmod(workspace, 0700);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(container_is_replaced_by_a_fresh_one),
        cmocka_unit_test(name_passes_on_to_the_fresh_one),
        cmocka_unit_test(container_that_would_stay_is_replaced_too),
        cmocka_unit_test(container_that_was_stopped_is_replaced_by_restart),
        cmocka_unit_test(other_words_are_refused),
        cmocka_unit_test(restart_heals_a_runner_without_limits),
    };
    return docker_test_main("docker_restart", tests, sizeof tests / sizeof tests[0]);
}
