/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_volume.c: the volume that holds the runner, which instances share: it is filled, mended and never
 * changed from inside. Tests that run beside this one would lose it, so it has the engine alone.
 */
#include "docker_support.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static void find_runner_volume(char name[128])
{
    code_executor_instance *instance = make_instance("%s", "");
    start(instance);
    volume_at(instance, "/.code_executor", name);
    docker->destroy(instance);
}

static void remove_runner_volume(void)
{
    char name[128], path[300];
    find_runner_volume(name);
    snprintf(path, sizeof path, "/volumes/%s", name);
    assert_int_equal(ask("DELETE", path, NULL, NULL), 204);
}

static void runner_cannot_be_changed_from_inside(void **state)
{
    (void)state;
    code_executor_instance *instance = make_instance("%s", "");
    code_executor_result *result = run(instance, "sh",
                                       "cp /bin/true /.code_executor/runner;"
                                       "rm -f /.code_executor/runner; touch /.code_executor/x;"
                                       "mount -o remount,rw /.code_executor; echo tried");
    assert_non_null(strstr(result->output, "Read-only file system"));
    docker->result_free(result);
    docker->destroy(instance);
    instance = make_instance("%s", "");
    expect_output(instance, "echo unharmed", "unharmed\n");
    docker->destroy(instance);
}

static void missing_volume_is_made_again(void **state)
{
    (void)state;
    remove_runner_volume();
    code_executor_instance *instance = make_instance("%s", "");
    expect_output(instance, "echo ok", "ok\n");
    assert_int_equal(docker->stop(instance, NULL), CODE_EXECUTOR_OK);
    remove_runner_volume(); /* behind the back of an instance that has seen it */
    expect_output(instance, "echo ok", "ok\n");
    docker->destroy(instance);
}

static void truncated_runner_is_replaced(void **state)
{
    (void)state;
    char volume[128];
    find_runner_volume(volume);
    code_executor_instance *other = make_instance("'extra_volumes': ['%s:/broken']", volume);
    expect_output(other,
                  "cp /broken/runner /tmp/whole && rm /broken/runner && "
                  "head -c 5000 /tmp/whole > /broken/runner && chmod 555 /broken/runner",
                  "");
    docker->destroy(other);
    code_executor_instance *instance = make_instance("%s", "");
    expect_output(instance, "echo ok", "ok\n");
    docker->destroy(instance);
}

static void *start_one(void *status)
{
    code_executor_instance *instance = make_instance("%s", "");
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    *(int32_t *)status = docker->start(instance, &error);
    if (error.message[0])
        fprintf(stderr, "%s\n", error.message);
    docker->destroy(instance);
    return NULL;
}

static void many_may_fill_the_volume_at_once(void **state)
{
    (void)state;
    enum { COUNT = 6 };
    pthread_t threads[COUNT];
    int32_t status[COUNT];
    remove_runner_volume();
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, start_one, &status[i]), 0);
    for (size_t i = 0; i < COUNT; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(status[i], CODE_EXECUTOR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runner_cannot_be_changed_from_inside),
        cmocka_unit_test(missing_volume_is_made_again),
        cmocka_unit_test(truncated_runner_is_replaced),
        cmocka_unit_test(many_may_fill_the_volume_at_once),
    };
    return docker_test_main("docker_volume", tests, sizeof tests / sizeof tests[0]);
}
