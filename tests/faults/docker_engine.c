/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_engine.c: the engine itself ends while a block runs. The block ends at once, the error says so, and
 * with the next engine all goes on. Nobody else can use the engine meanwhile.
 */
#include "docker_support.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct command {
    const char *line;
    int status;
};

static void give(void *argument)
{
    struct command *command = argument;
    command->status = system(command->line);
}

/* What the engine did not bring down with it goes as soon as the next one is up. */
static void expect_engine_loss(const char *line)
{
    struct command command = {.line = line, .status = -1};
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_result *result = NULL;
    char name[256];
    code_executor_instance *instance = make_instance("%s", "");
    start(instance);
    described(instance, "container", "name", name, sizeof name);
    int32_t status =
        execute_struck(instance, "echo begun; sleep 1000", give, &command, &result, &error);
    assert_int_equal(command.status, 0);
    docker->result_free(result);
    assert_int_equal(system(TEST_ENGINE_SCRIPT " __start"), 0);
    assert_int_equal(status, CODE_EXECUTOR_LOST);
    assert_non_null(strstr(error.message, "engine"));
    assert_int_equal(docker->restart(instance, &error), CODE_EXECUTOR_OK);
    expect_output(instance, "echo again", "again\n");
    docker->destroy(instance);
    expect_gone(name);
}

static void engine_was_killed(void **state)
{
    (void)state;
    expect_engine_loss(TEST_ENGINE_SCRIPT " signal KILL");
}

static void engine_was_ended(void **state)
{
    (void)state;
    expect_engine_loss(TEST_ENGINE_SCRIPT " signal TERM; sleep 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engine_was_killed),
        cmocka_unit_test(engine_was_ended),
    };
    if (!engine_is_ours())
        return docker_test_skip("the engine is not that of scripts/test-engine");
    return docker_test_main("docker_engine", tests, sizeof tests / sizeof tests[0]);
}
