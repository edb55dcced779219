/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clean_demo.c: what host_demo leaves behind: files in a temporary workspace, unless --clean removes them;
 * and on the terminal no control characters that somebody else chose.
 */
#include "demo_process.h"
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define BLOCK(language, code) "```" language "\n" code "\n```\n"

static struct demo_result run(const char *message, const char *const *arguments)
{
    struct demo_call call = {.input = message};
    struct demo_result result;
    for (size_t i = 0; arguments[i] != NULL; i++)
        call.arguments[i] = arguments[i];
    demo_run(&call, &result);
    return result;
}

#define RUN(message, ...) run(message, (const char *const[]){"run", __VA_ARGS__, NULL})

static size_t workspaces_left(void)
{
    size_t count = 0;
    DIR *entries = opendir(demo_folder());
    assert_non_null(entries);
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;)
        count += strncmp(entry->d_name, "host_demo-", 10) == 0;
    closedir(entries);
    return count;
}

static void files_stay_unless_they_are_to_go(void **state)
{
    (void)state;
    size_t before = workspaces_left();
    struct demo_result result = RUN(BLOCK("echo", "touch left"), "-e", "echo", "--clean");
    assert_int_equal(result.status, 0);
    assert_string_equal(result.words, "");
    assert_int_equal(workspaces_left(), before);
    demo_result_free(&result);
    result = RUN(BLOCK("echo", "touch left"), "-e", "echo");
    assert_non_null(strstr(result.words, "Files of echo are in "));
    assert_int_equal(workspaces_left(), before + 1);
    demo_result_free(&result);
}

static void what_code_made_goes_whatever_it_is(void **state)
{
    (void)state;
    const char *outside = demo_file("outside", "stays", 5);
    char message[4096];
    size_t before = workspaces_left();
    snprintf(message, sizeof message,
             BLOCK("sh", "mkdir -p a/b/c; touch a/b/c/file; chmod 500 a/b; ln -s %s link\n"
                         "ln -s / root; mkfifo pipe; chmod 0 a/b/c"),
             outside);
    struct demo_result result = RUN(message, "-e", "local", "--clean");
    assert_int_equal(result.status, 0);
    assert_int_equal(workspaces_left(), before);
    assert_int_equal(access(outside, F_OK), 0);
    demo_result_free(&result);
}

static void a_failed_run_is_cleaned_too(void **state)
{
    (void)state;
    size_t before = workspaces_left();
    struct demo_result result =
        RUN(BLOCK("sh", "touch left; exit 3") BLOCK("sh", "true"), "-e", "local", "--clean");
    assert_int_equal(result.status, 3);
    assert_int_equal(workspaces_left(), before);
    demo_result_free(&result);
}

static void a_host_that_is_told_to_end_cleans_too(void **state)
{
    (void)state;
    size_t before = workspaces_left();
    struct demo_call call = {.arguments = {"run", "-e", "local", "--clean"},
                             .input = BLOCK("sh", "touch left; echo up; sleep 1000"),
                             .signal_after_output = SIGTERM};
    struct demo_result result;
    demo_run(&call, &result);
    assert_int_equal(result.status, 143);
    assert_int_equal(workspaces_left(), before);
    demo_result_free(&result);
}

static void a_workspace_that_was_named_stays(void **state)
{
    (void)state;
    char folder[4096], config[4200], file[4200];
    snprintf(folder, sizeof folder, "%s/mine", demo_folder());
    snprintf(config, sizeof config, "{\"work_dir\":\"%s\"}", folder);
    snprintf(file, sizeof file, "%s/left", folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    struct demo_result result =
        RUN(BLOCK("echo", "touch left"), "-e", "echo", "-c", config, "--clean");
    assert_int_equal(result.status, 0);
    assert_int_equal(unlink(file), 0);
    demo_result_free(&result);
    result = RUN(BLOCK("echo", "touch left"), "-e", "echo", "-w", folder, "--clean");
    assert_int_equal(result.status, 2);
    assert_non_null(strstr(result.words, "--work-dir names is yours"));
    assert_int_equal(rmdir(folder), 0);
    demo_result_free(&result);
}

static void clean_is_for_commands_that_make_workspaces(void **state)
{
    (void)state;
    struct demo_result result = run(NULL, (const char *const[]){"extract", "--clean", NULL});
    assert_int_equal(result.status, 2);
    assert_non_null(strstr(result.words, "--clean is not for `extract`"));
    demo_result_free(&result);
}

/* ------------------------------------------------------------------------------------------------
 * Text of others
 * --------------------------------------------------------------------------------------------- */

static void a_name_in_json_cannot_play_with_the_terminal(void **state)
{
    (void)state;
    struct demo_result result = run(NULL, (const char *const[]){"ps", "echo", "--json", NULL});
    assert_null(strchr(result.output, '\x1b'));
    assert_null(strstr(result.output, "\xc2\x9b"));
    assert_null(strstr(result.output, "\xe2\x80\xae"));
    assert_non_null(strstr(result.output, "evil\\u001b[31mname\\u009b\\u202e"));
    demo_result_free(&result);
}

static void a_name_of_a_file_cannot_play_with_the_terminal(void **state)
{
    (void)state;
    demo_file("e\033[31mvil\xc2\x9b.so", "none", 4);
    struct demo_call call = {.arguments = {"plugins"}, .plugin_path = demo_folder()};
    struct demo_result result;
    demo_run(&call, &result);
    assert_null(strchr(result.output, '\x1b'));
    assert_null(strstr(result.output, "\xc2\x9b"));
    assert_non_null(strstr(result.output, "e^[[31mvil<U+009B>"));
    demo_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_stay_unless_they_are_to_go),
        cmocka_unit_test(what_code_made_goes_whatever_it_is),
        cmocka_unit_test(a_failed_run_is_cleaned_too),
        cmocka_unit_test(a_host_that_is_told_to_end_cleans_too),
        cmocka_unit_test(a_workspace_that_was_named_stays),
        cmocka_unit_test(clean_is_for_commands_that_make_workspaces),
        cmocka_unit_test(a_name_in_json_cannot_play_with_the_terminal),
        cmocka_unit_test(a_name_of_a_file_cannot_play_with_the_terminal),
    };
    return cmocka_run_group_tests_name("clean_demo", tests, NULL, NULL);
}
