/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options_demo.c: what host_demo makes of its options and commands, from the outside, on the executor of
 * plugin_echo.c. One behaviour a test.
 */
#include "demo_words.h"
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static int workspaces(void)
{
    int count = 0;
    DIR *folder = opendir(demo_folder());
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += strncmp(entry->d_name, "host_demo-", 10) == 0;
    closedir(folder);
    return count;
}

static void a_workspace_that_stayed_empty_is_removed(void **state)
{
    (void)state;
    int before = workspaces();
    struct demo_result result = RUN(BLOCK("echo", "config"));
    assert_non_null(strstr(result.output, demo_folder()));
    assert_int_equal(workspaces(), before);
    demo_result_free(&result);
}

static void a_workspace_with_files_is_named(void **state)
{
    (void)state;
    int before = workspaces();
    struct demo_result result = RUN(BLOCK("echo", "touch kept.txt"));
    assert_says(&result, "Files of echo are in /");
    assert_int_equal(workspaces(), before + 1);
    demo_result_free(&result);
}

static void a_workspace_that_is_given_is_used(void **state)
{
    (void)state;
    char folder[300], file[330];
    snprintf(folder, sizeof folder, "%s/given", demo_folder());
    snprintf(file, sizeof file, "%s/made.txt", folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    struct demo_result result = RUN(BLOCK("echo", "touch made.txt"), "-w", folder);
    assert_int_equal(access(file, F_OK), 0);
    assert_string_equal(result.words, "");
    demo_result_free(&result);
}

static void a_workspace_given_twice_is_refused(void **state)
{
    (void)state;
    struct demo_result result =
        RUN(BLOCK("echo", "print x"), "-w", "/tmp", "-c", "{\"work_dir\":\"/\"}");
    assert_int_equal(result.status, 2);
    assert_says(&result, "given twice");
    demo_result_free(&result);
}

static void a_wrong_option_names_the_right_one(void **state)
{
    (void)state;
    struct demo_result result = CALL("run", "--jsno");
    assert_int_equal(result.status, 2);
    assert_says(&result, "Did you mean `--json`?");
    demo_result_free(&result);
}

static void a_wrong_command_names_the_right_one(void **state)
{
    (void)state;
    struct demo_result result = CALL("plugin");
    assert_int_equal(result.status, 2);
    assert_says(&result, "Did you mean `plugins`?");
    demo_result_free(&result);
}

static void an_option_of_another_command_is_refused(void **state)
{
    (void)state;
    struct demo_result result = CALL("extract", "--route", "js=echo", "x.md");
    assert_int_equal(result.status, 2);
    assert_says(&result, "--route is not for `extract`.");
    demo_result_free(&result);
}

static void a_timeout_is_at_least_one_second(void **state)
{
    (void)state;
    static const char *const wrong[] = {"0.5", "0", "-3", "abc", "", "nan", "1x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct demo_result result = CALL("run", "--timeout", wrong[i]);
        assert_int_equal(result.status, 2);
        assert_int_not_equal(result.words_length, 0);
        demo_result_free(&result);
    }
}

static void help_and_version_go_to_stdout(void **state)
{
    (void)state;
    struct demo_result result = CALL("--help");
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.output, "host_demo run [FILE|-]"));
    assert_string_equal(result.words, "");
    demo_result_free(&result);
    result = CALL("--version");
    assert_int_equal(strncmp(result.output, "host_demo ", 10), 0);
    demo_result_free(&result);
}

static void plugins_are_listed(void **state)
{
    (void)state;
    struct demo_result result = CALL("plugins");
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.output, "echo 1.0: Obeys orders within the host, for tests"));
    demo_result_free(&result);
}

static void info_tells_options_and_languages(void **state)
{
    (void)state;
    struct demo_result result = CALL("info", "echo");
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.output, "greeting  string, default \"hello\""));
    assert_non_null(strstr(result.output, "Said by nobody."));
    assert_non_null(strstr(result.output, "repeat"));
    demo_result_free(&result);
    result = CALL("info", "local");
    assert_non_null(
        strstr(result.output, "  languages.NAME.commands  array or null, default null"));
    demo_result_free(&result);
    result = CALL("info", "echo", "--json");
    json_object *document = document_of(&result);
    assert_text_at(document, "/config_schema/properties/greeting/default", "hello");
    assert_text_at(document, "/languages/0/aliases/0", "repeat");
    json_object_put(document);
    demo_result_free(&result);
}

static void info_tells_isolation_and_limits(void **state)
{
    (void)state;
    struct demo_result result = CALL("info", "local");
    assert_non_null(strstr(result.output, "Isolation: none"));
    assert_non_null(strstr(result.output, "max_output_bytes    10485760"));
    demo_result_free(&result);
    result = CALL("info", "echo", "--json");
    json_object *document = document_of(&result);
    assert_text_at(document, "/defaults/isolation", "nothing runs");
    json_object_put(document);
    demo_result_free(&result);
}

static void a_plugin_may_be_named_by_its_path(void **state)
{
    (void)state;
    struct demo_result result;
    demo_run(&(struct demo_call){.arguments = {"run", "-e", TEST_PLUGIN_FOLDER "/echo.so"},
                                 .input = BLOCK("echo", "print by path")},
             &result);
    assert_string_equal(result.output, "by path\n");
    demo_result_free(&result);
}

static void without_a_sandbox_the_default_is_local_and_says_so(void **state)
{
    (void)state;
    char *path = strdup(getenv("PATH"));
    setenv("PATH", "/nonexistent", 1); /* where no bubblewrap is */
    struct demo_result result;
    demo_run(&(struct demo_call){.arguments = {"run", "-q", "-w", demo_folder()},
                                 .input = BLOCK("js", "1")},
             &result);
    setenv("PATH", path, 1);
    free(path);
    assert_int_equal(result.status, 0);
    assert_says(&result, "The executor sandbox does not work here");
    assert_says(&result, "The executor local does not isolate");
    assert_says(&result, "Code saved to ");
    demo_result_free(&result);
}

static void what_is_wrong_with_a_workspace_or_a_configuration_never_leads_to_local(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"-w", "/proc/nothing/here"},
        {"-c", "{\"bwrap\":\"/nothing\"}"},
        {"-c", "@/nothing.json"},
        {"-c", "{\"nothing\":1}"},
    };
    struct demo_result plain = CALL("run", demo_file("plain.md", BLOCK("sh", ":"), 12));
    bool isolates = strstr(plain.words, "does not isolate") == NULL;
    demo_result_free(&plain);
    for (size_t i = 0; isolates && i < sizeof wrong / sizeof *wrong; i++) {
        struct demo_result result = CALL("run", wrong[i][0], wrong[i][1],
                                         demo_file("plain.md", BLOCK("sh", "echo ran"), 19));
        assert_int_equal(result.status, 125);
        assert_string_equal(result.output, "");
        assert_null(strstr(result.words, "local"));
        assert_null(strstr(result.words, "does not work here"));
        demo_result_free(&result);
    }
}

static void a_route_for_a_language_that_nobody_knows_is_wrong_usage(void **state)
{
    (void)state;
    struct demo_result result = RUN(BLOCK("echo", "print x"), "--route", "pyton=local");
    assert_int_equal(result.status, 2);
    assert_string_equal(result.output, "");
    assert_says(&result, "Did you mean `python`?");
    demo_result_free(&result);
}

static void a_route_for_a_language_of_its_configuration_is_fine(void **state)
{
    (void)state;
    struct demo_result result =
        RUN(BLOCK("shout", "echo ran"), "--route",
            "shout=local:{\"languages\":{\"shout\":{\"commands\":[[\"sh\",\"{file}\"]]}}}");
    assert_int_equal(result.status, 0);
    assert_string_equal(result.output, "ran\n");
    demo_result_free(&result);
}

static void two_routes_for_one_language_are_wrong_usage(void **state)
{
    (void)state;
    struct demo_result result =
        RUN(BLOCK("echo", "print x"), "--route", "js=echo", "--route", "JavaScript=local");
    assert_int_equal(result.status, 2);
    assert_says(&result, "twice");
    demo_result_free(&result);
}

static void a_wrong_configuration_names_its_executor(void **state)
{
    (void)state;
    struct demo_result result = RUN(BLOCK("echo", "print x"), "--route", "js=local:{\"timeot\":5}");
    assert_int_equal(result.status, 125);
    assert_says(&result, "local: unknown key");
    demo_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_workspace_that_stayed_empty_is_removed),
        cmocka_unit_test(a_workspace_with_files_is_named),
        cmocka_unit_test(a_workspace_that_is_given_is_used),
        cmocka_unit_test(a_workspace_given_twice_is_refused),
        cmocka_unit_test(a_wrong_option_names_the_right_one),
        cmocka_unit_test(a_wrong_command_names_the_right_one),
        cmocka_unit_test(an_option_of_another_command_is_refused),
        cmocka_unit_test(a_timeout_is_at_least_one_second),
        cmocka_unit_test(help_and_version_go_to_stdout),
        cmocka_unit_test(plugins_are_listed),
        cmocka_unit_test(info_tells_options_and_languages),
        cmocka_unit_test(info_tells_isolation_and_limits),
        cmocka_unit_test(a_plugin_may_be_named_by_its_path),
        cmocka_unit_test(without_a_sandbox_the_default_is_local_and_says_so),
        cmocka_unit_test(what_is_wrong_with_a_workspace_or_a_configuration_never_leads_to_local),
        cmocka_unit_test(a_route_for_a_language_that_nobody_knows_is_wrong_usage),
        cmocka_unit_test(a_route_for_a_language_of_its_configuration_is_fine),
        cmocka_unit_test(two_routes_for_one_language_are_wrong_usage),
        cmocka_unit_test(a_wrong_configuration_names_its_executor),
    };
    return cmocka_run_group_tests_name("options_demo", tests, NULL, NULL);
}
