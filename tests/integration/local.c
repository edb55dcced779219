/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local.c: what the local executor adds to what all do: the environment it gives, virtual environments,
 * refused commands, configurations that are wrong, and where it finds its runner.
 */
#include "executor_client.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static code_executor_instance *create(const char *configuration)
{
    host.configuration = configuration;
    return client_create();
}

static void expect_output(const char *configuration, const char *script, const char *output)
{
    code_executor_instance *instance = create(configuration);
    client_expect_output(instance, script, output);
    host.table->destroy(instance);
}

static void expect_refused(const char *configuration, const char *words)
{
    code_executor_instance *instance = NULL;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(host.table->create(NULL, configuration, &instance, &error),
                     CODE_EXECUTOR_INVALID);
    assert_null(instance);
    if (!strstr(error.message, words))
        fail_msg("%s: \"%s\" is not in \"%s\"", configuration, words, error.message);
}

/* ------------------------------------------------------------------------------------------------
 * Configuration
 * --------------------------------------------------------------------------------------------- */

static void wrong_configurations_are_named(void **state)
{
    (void)state;
    expect_refused("nonsense", "JSON");
    expect_refused("[]", "object");
    expect_refused("{\"timeout\": 0.5}", "Timeout must be greater than or equal to 1.");
    expect_refused("{\"timeout\": \"abc\"}", "timeout");
    expect_refused("{\"timeot\": 5}", "timeout");
    expect_refused("{\"sanitise\": true}", "sanitize");
    expect_refused("{\"virtual_env\": 5}", "virtual_env");
    expect_refused("{\"inherit_env\": [1]}", "inherit_env");
    expect_refused("{\"work_dir\": \"\"}", "work_dir");
    expect_refused("{\"execution_policies\": {\"cobol\": true}}", "cobol");
    expect_refused("{\"env\": {\"A=B\": \"x\"}}", "env");
}

static void no_configuration_is_the_default_one(void **state)
{
    (void)state;
    code_executor_instance *instance = NULL;
    assert_int_equal(host.table->create(NULL, NULL, &instance, NULL), CODE_EXECUTOR_OK);
    host.table->destroy(instance);
    assert_int_equal(host.table->create(NULL, "", &instance, NULL), CODE_EXECUTOR_OK);
    host.table->destroy(instance);
}

static void create_touches_nothing(void **state)
{
    (void)state;
    size_t descriptors = count_descriptors();
    code_executor_instance *instance = create("{\"work_dir\": \"untouched\"}");
    assert_int_equal(access("untouched", F_OK), -1);
    host.table->destroy(instance);
    assert_int_equal(count_descriptors(), descriptors);
}

static void describe_says_that_nothing_is_isolated(void **state)
{
    (void)state;
    code_executor_instance *instance = create("{\"timeout\": 7.5, \"max_output_bytes\": 1000}");
    char *json = NULL;
    assert_int_equal(host.table->describe(instance, &json, NULL), CODE_EXECUTOR_OK);
    assert_non_null(strstr(json, "\"isolation\":\"none"));
    assert_non_null(strstr(json, "\"timeout\":7.5"));
    assert_non_null(strstr(json, "\"max_output_bytes\":1000"));
    assert_non_null(strstr(json, host.folder)); /* the work_dir, absolute */
    assert_non_null(strstr(json, "\"bind_dir\":null"));
    host.table->string_free(json);
    host.table->destroy(instance);
}

static void a_configured_timeout_holds(void **state)
{
    (void)state;
    code_executor_instance *instance = create("{\"timeout\": 1}");
    reply answer = client_run(instance, "echo before; sleep 60");
    client_expect_ok(answer.status, &answer.error);
    assert_int_equal(answer.result->exit_code, 124);
    assert_string_equal(answer.result->output, "before\n\nTimeout");
    reply_release(&answer);
    host.table->destroy(instance);
}

/* ------------------------------------------------------------------------------------------------
 * Environment
 * --------------------------------------------------------------------------------------------- */

static void the_hosts_secrets_stay_with_the_host(void **state)
{
    (void)state;
    setenv("API_KEY", "secret", 1);
    setenv("LC_TEST", "passed", 1);
    expect_output("{}", "echo \"${API_KEY-none} $LC_TEST ${PATH:+path} ${HOME:+home}\"",
                  "none passed path home\n");
    expect_output("{\"inherit_env\": true}", "echo $API_KEY", "secret\n");
    expect_output("{\"inherit_env\": [\"API_KEY\"]}", "echo $API_KEY", "secret\n");
    expect_output("{\"inherit_env\": [\"OTHER\"]}", "echo ${API_KEY-none}", "none\n");
}

static void configured_variables_reach_the_code(void **state)
{
    (void)state;
    expect_output("{\"env\": {\"GREETING\": \"hello world\", \"LANG\": \"de_DE.UTF-8\"}}",
                  "echo $GREETING $LANG", "hello world de_DE.UTF-8\n");
}

static void a_virtual_environment_is_used(void **state)
{
    (void)state;
    assert_int_equal(mkdir("venv", 0700) | mkdir("venv/bin", 0700), 0);
    FILE *python = fopen("venv/bin/python", "we");
    assert_non_null(python);
    fputs("#!/bin/sh\necho virtual $VIRTUAL_ENV\n", python);
    fclose(python);
    assert_int_equal(chmod("venv/bin/python", 0700), 0);
    code_executor_instance *instance = create("{\"virtual_env\": \"venv\"}");
    question asked;
    question_set(&asked, "python", "print('real')");
    reply answer = client_execute(instance, &asked.request);
    client_expect_ok(answer.status, &answer.error);
    char expected[128];
    snprintf(expected, sizeof expected, "virtual %s/venv\n", host.folder);
    assert_string_equal(answer.result->output, expected);
    reply_release(&answer);
    host.table->destroy(instance);
}

static void a_virtual_environment_that_is_none_is_refused(void **state)
{
    (void)state;
    code_executor_instance *instance = create("{\"virtual_env\": \"nowhere\"}");
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(host.table->start(instance, &error), CODE_EXECUTOR_NOT_FOUND);
    assert_non_null(strstr(error.message, "nowhere"));
    assert_non_null(strstr(error.message, "venv"));
    host.table->destroy(instance);
}

/* ------------------------------------------------------------------------------------------------
 * Refused commands
 * --------------------------------------------------------------------------------------------- */

static void dangerous_commands_are_not_run(void **state)
{
    (void)state;
    code_executor_instance *instance = create("{}");
    client_expect_output(instance, "mkdir kept", "");
    reply answer = client_run(instance, "rm -rf kept");
    client_expect_ok(answer.status, &answer.error);
    assert_int_equal(answer.result->outcome, CODE_EXECUTOR_OUTCOME_REFUSED);
    assert_int_equal(answer.result->exit_code, 1);
    assert_non_null(strstr(answer.result->output, "rm -rf"));
    assert_non_null(strstr(answer.result->output, "sanitize"));
    assert_int_equal(access("kept", F_OK), 0);
    reply_release(&answer);
    host.table->destroy(instance);
}

static void they_are_run_where_that_is_wished(void **state)
{
    (void)state;
    expect_output("{\"sanitize\": false}",
                  "mkdir gone; rm -rf gone; ls gone 2>/dev/null || echo ok", "ok\n");
}

/* ------------------------------------------------------------------------------------------------
 * Loading and losing
 * --------------------------------------------------------------------------------------------- */

static void a_plugin_that_was_loaded_by_a_relative_path_finds_its_runner(void **state)
{
    (void)state;
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", host.plugin);
    *strrchr(folder, '/') = '\0';
    client_unload();
    assert_int_equal(chdir(folder), 0);
    void *library = dlopen("./local.so", RTLD_NOW);
    assert_int_equal(chdir(host.folder), 0);
    client_load(); /* the same, which is loaded already */
    expect_output("{}", "echo found", "found\n");
    assert_non_null(library);
    dlclose(library);
}

static void a_work_dir_without_a_parent_is_named(void **state)
{
    (void)state;
    code_executor_instance *instance = create("{\"work_dir\": \"no/such/folder\"}");
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(host.table->start(instance, &error), CODE_EXECUTOR_NOT_FOUND);
    assert_non_null(strstr(error.message, "no/such/folder"));
    host.table->destroy(instance);
}

static void a_work_dir_that_is_a_file_is_refused(void **state)
{
    (void)state;
    expect_output("{}", "touch plain", "");
    code_executor_instance *instance = create("{\"work_dir\": \"plain\"}");
    assert_int_not_equal(host.table->start(instance, NULL), CODE_EXECUTOR_OK);
    host.table->destroy(instance);
}

/* The runner is the parent of the supervisor, which is the parent of the shell. */
static void code_that_kills_the_runner_is_told_as_a_loss(void **state)
{
    (void)state;
    code_executor_instance *instance = create("{}");
    reply answer = client_run(
        instance,
        "supervisor=$PPID; runner=$(cut -d' ' -f4 /proc/$supervisor/stat); echo begun; sleep 0.5; "
        "kill -9 $runner; sleep 60");
    assert_int_equal(answer.status, CODE_EXECUTOR_LOST);
    assert_non_null(answer.result);
    assert_int_equal(answer.result->outcome, CODE_EXECUTOR_OUTCOME_FAILED);
    assert_string_equal(answer.result->blocks[0]->stdout_bytes, "begun\n");
    assert_non_null(strstr(answer.error.message, "runner"));
    reply_release(&answer);
    char *json = NULL;
    assert_int_equal(host.table->describe(instance, &json, NULL), CODE_EXECUTOR_OK);
    assert_non_null(strstr(json, "\"state\":\"lost\""));
    host.table->string_free(json);
    client_expect_output(instance, "echo works", "works\n");
    host.table->destroy(instance);
}

int main(int argc, char **argv)
{
    client_begin(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_configurations_are_named),
        cmocka_unit_test(no_configuration_is_the_default_one),
        cmocka_unit_test(create_touches_nothing),
        cmocka_unit_test(describe_says_that_nothing_is_isolated),
        cmocka_unit_test(a_configured_timeout_holds),
        cmocka_unit_test(the_hosts_secrets_stay_with_the_host),
        cmocka_unit_test(configured_variables_reach_the_code),
        cmocka_unit_test(a_virtual_environment_is_used),
        cmocka_unit_test(a_virtual_environment_that_is_none_is_refused),
        cmocka_unit_test(dangerous_commands_are_not_run),
        cmocka_unit_test(they_are_run_where_that_is_wished),
        cmocka_unit_test(a_plugin_that_was_loaded_by_a_relative_path_finds_its_runner),
        cmocka_unit_test(a_work_dir_without_a_parent_is_named),
        cmocka_unit_test(a_work_dir_that_is_a_file_is_refused),
        cmocka_unit_test(code_that_kills_the_runner_is_told_as_a_loss),
    };
    return client_end(cmocka_run_group_tests_name("local", tests, NULL, NULL));
}
