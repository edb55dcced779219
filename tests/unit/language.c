/* SPDX-License-Identifier: Apache-2.0 */
/*
 * language.c: the table, and what a configuration makes of it.
 */
#include "language.h"
#include "config.h"
#include "failing_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SCHEMA                                                                                     \
    COMMANDLINE_SCHEMA_BEGIN COMMANDLINE_SCHEMA_PROPERTIES "\"x\": {}" COMMANDLINE_SCHEMA_END

static int32_t create(const char *json, language_table **table, code_executor_error *error)
{
    json_object *config;
    if (config_read(SCHEMA, json, &config, error) != CODE_EXECUTOR_OK)
        fail_msg("%s: %s", json, error->message);
    int32_t status = language_table_create(config_value(config, "execution_policies"),
                                           config_value(config, "languages"), table, error);
    json_object_put(config);
    return status;
}

static language_table *table_of(const char *json)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    language_table *table;
    if (create(json, &table, &error) != CODE_EXECUTOR_OK)
        fail_msg("%s: %s", json, error.message);
    return table;
}

static void expect_refusal(const char *json, const char *message)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    language_table *table;
    assert_int_equal(create(json, &table, &error), CODE_EXECUTOR_INVALID);
    assert_null(table);
    assert_string_equal(error.message, message);
}

/* The steps of a language as language.c writes them. */
static const char *steps_of(const language *known)
{
    static char text[1024];
    size_t length = 0;
    for (size_t i = 0; i < known->step_count; i++)
        for (size_t j = 0; j < known->steps[i].candidate_count; j++)
            for (size_t k = 0; known->steps[i].candidates[j][k]; k++)
                length += (size_t)snprintf(text + length, sizeof text - length, "%s%s",
                                           k   ? " "
                                           : j ? " | "
                                           : i ? " ; "
                                               : "",
                                           known->steps[i].candidates[j][k]);
    text[length] = '\0';
    return text;
}

static void names_and_aliases_are_found_whatever_their_case(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"python", "python"},   {"Python", "python"},
        {"PY", "python"},       {"shell", "sh"},
        {"powershell", "pwsh"}, {"ps1", "pwsh"},
        {"JS", "javascript"},   {"JavaScript", "javascript"},
        {"bash", "bash"},       {"HTML", "html"},
        {"css", "css"},         {"C++", "c++"},
        {"ts", "typescript"},   {"shell-session", "console"},
        {"Node", "javascript"}, {"golang", "go"},
    };
    language_table *table = table_of("{}");
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        assert_string_equal(language_find(table, pairs[i][0])->name, pairs[i][1]);
    language_table_free(table);
}

static void other_words_are_no_language(void **state)
{
    (void)state;
    static const char *const words[] = {"", "cobol", "pythonx", "pytho", "python ", "pwsh\n"};
    language_table *table = table_of("{}");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        assert_null(language_find(table, words[i]));
    language_table_free(table);
}

static void shells_and_python_run_and_the_rest_is_saved(void **state)
{
    (void)state;
    static const char running[] = " python sh bash console pwsh ";
    language_table *table = table_of("{}");
    for (size_t i = 0; i < language_count(table); i++) {
        const language *known = language_at(table, i);
        char word[64];
        snprintf(word, sizeof word, " %s ", known->name);
        assert_int_equal(known->runs, strstr(running, word) != NULL);
    }
    language_table_free(table);
}

static void every_name_and_alias_means_one_language(void **state)
{
    (void)state;
    language_table *table = table_of("{}");
    for (size_t i = 0; i < language_count(table); i++) {
        const language *known = language_at(table, i);
        assert_ptr_equal(language_find(table, known->name), known);
        for (size_t j = 0; j < known->alias_count; j++)
            assert_ptr_equal(language_find(table, known->aliases[j]), known);
    }
    language_table_free(table);
}

static void all_runs_whatever_has_a_command(void **state)
{
    (void)state;
    language_table *table =
        table_of("{\"languages\": \"all\", \"execution_policies\": {\"ruby\": false}}");
    assert_true(language_find(table, "js")->runs);
    assert_true(language_find(table, "cpp")->runs);
    assert_false(language_find(table, "ruby")->runs);
    assert_false(language_find(table, "json")->runs);
    language_table_free(table);
}

static void the_first_languages_keep_their_names_as_extensions(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"python", "python"}, {"sh", "sh"},     {"bash", "bash"}, {"javascript", "javascript"},
        {"html", "html"},     {"css", "css"},   {"pwsh", "ps1"},  {"typescript", "ts"},
        {"c++", "cpp"},       {"java", "java"},
    };
    language_table *table = table_of("{}");
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        assert_string_equal(language_find(table, pairs[i][0])->extension, pairs[i][1]);
    language_table_free(table);
}

static void candidates_stand_in_order(void **state)
{
    (void)state;
    language_table *table = table_of("{}");
    assert_string_equal(steps_of(language_find(table, "py")), "python {file} | python3 {file}");
    assert_string_equal(steps_of(language_find(table, "sh")), "sh {file}");
    assert_string_equal(steps_of(language_find(table, "css")), "");
    language_table_free(table);
}

static void policies_take_names_and_aliases(void **state)
{
    (void)state;
    language_table *table =
        table_of("{\"execution_policies\": {\"JS\": true, \"python\": false, \"shell\": false}}");
    assert_true(language_find(table, "javascript")->runs);
    assert_false(language_find(table, "python")->runs);
    assert_false(language_find(table, "sh")->runs);
    assert_true(language_find(table, "bash")->runs);
    language_table_free(table);
}

static void a_policy_for_an_unknown_language_is_refused(void **state)
{
    (void)state;
    expect_refusal("{\"execution_policies\": {\"pyhton\": true}}",
                   "\"execution_policies\" has the unknown language \"pyhton\"; did you mean "
                   "\"python\"?");
    expect_refusal("{\"execution_policies\": {\"cobol\": true}}",
                   "\"execution_policies\" has the unknown language \"cobol\"; \"languages\" adds "
                   "one");
}

static void a_policy_cannot_run_what_has_no_command(void **state)
{
    (void)state;
    expect_refusal("{\"execution_policies\": {\"css\": true}}",
                   "\"execution_policies\" would run css, for which there is no command; "
                   "\"languages\" can give it one");
}

static void a_new_language_runs_when_it_has_a_command(void **state)
{
    (void)state;
    language_table *table = table_of(
        "{\"languages\": {\"Lua\": {\"aliases\": [\"lua54\"], \"commands\": "
        "[[\"lua5.4\", \"{file}\"], [\"lua\", \"{file}\"]]}, \"yaml\": {\"extension\": \"yml\"}}}");
    const language *lua = language_find(table, "LUA54");
    assert_string_equal(lua->name, "lua");
    assert_string_equal(lua->extension, "lua");
    assert_string_equal(lua->name_extensions[0], "lua");
    assert_string_equal(steps_of(lua), "lua5.4 {file} | lua {file}");
    assert_true(lua->runs);
    assert_false(language_find(table, "yaml")->runs);
    assert_string_equal(language_find(table, "yaml")->extension, "yml");
    assert_string_equal(language_find(table, "yaml")->name_extensions[0], "yml");
    language_table_free(table);
}

static void steps_follow_one_another(void **state)
{
    (void)state;
    language_table *table = table_of(
        "{\"languages\": {\"c\": {\"steps\": [[[\"gcc\", \"-o\", \"{output}\", \"{file}\"], "
        "[\"cc\", \"-o\", \"{output}\", \"{file}\"]], [[\"{output}\"]]]}}}");
    assert_string_equal(steps_of(language_find(table, "c")),
                        "gcc -o {output} {file} | cc -o {output} {file} ; {output}");
    language_table_free(table);
}

static void a_known_language_is_changed_and_keeps_the_rest(void **state)
{
    (void)state;
    language_table *table = table_of("{\"languages\": {\"py\": {\"commands\": [[\"pypy3\", "
                                     "\"{file}\"]], \"aliases\": [\"pypy\"]}}}");
    const language *python = language_find(table, "pypy");
    assert_string_equal(python->name, "python");
    assert_ptr_equal(language_find(table, "py3"), python);
    assert_string_equal(python->extension, "python");
    assert_string_equal(steps_of(python), "pypy3 {file}");
    assert_true(python->runs);
    language_table_free(table);
}

static void a_policy_holds_for_a_new_language(void **state)
{
    (void)state;
    language_table *table =
        table_of("{\"execution_policies\": {\"lua\": false}, \"languages\": {\"lua\": "
                 "{\"commands\": [[\"lua\", \"{file}\"]]}}}");
    assert_false(language_find(table, "lua")->runs);
    language_table_free(table);
}

static void an_alias_of_another_language_is_refused(void **state)
{
    (void)state;
    expect_refusal("{\"languages\": {\"lua\": {\"aliases\": [\"JS\"]}}}",
                   "\"languages.lua.aliases\": \"JS\" already means javascript");
}

static void a_command_without_the_file_is_refused(void **state)
{
    (void)state;
    expect_refusal("{\"languages\": {\"lua\": {\"commands\": [[\"lua\", \"{file}\"], [\"lua\"]]}}}",
                   "\"languages.lua.commands[1]\" has no argument with {file}");
    expect_refusal("{\"languages\": {\"lua\": {\"steps\": [[[\"lua\"]]]}}}",
                   "\"languages.lua.steps[0][0]\" has no argument with {file}");
}

static void commands_and_steps_exclude_each_other(void **state)
{
    (void)state;
    expect_refusal("{\"languages\": {\"lua\": {\"commands\": [[\"lua\", \"{file}\"]], \"steps\": "
                   "[[[\"lua\", \"{file}\"]]]}}}",
                   "\"languages.lua\" has both \"commands\" and \"steps\"");
}

static void many_languages_fit(void **state)
{
    (void)state;
    char *text = malloc(1000000);
    size_t length = (size_t)sprintf(text, "{\"languages\": {");
    for (int i = 0; i < 2000; i++)
        length += (size_t)sprintf(text + length, "%s\"l%d\": {\"commands\": [[\"x\", \"{file}\"]]}",
                                  i ? "," : "", i);
    strcpy(text + length, "}}");
    language_table *plain = table_of("{}");
    language_table *table = table_of(text);
    assert_int_equal(language_count(table), language_count(plain) + 2000);
    language_table_free(plain);
    assert_string_equal(language_find(table, "L1999")->name, "l1999");
    language_table_free(table);
    free(text);
}

static void memory_may_end_anywhere(void **state)
{
    (void)state;
    json_object *languages = json_tokener_parse(
        "{\"lua\": {\"aliases\": [\"lua54\"], \"extension\": \"l\", "
        "\"commands\": [[\"lua\", \"{file}\"]]}, \"py\": {\"aliases\": [\"x\"]}}");
    assert_non_null(languages);
    bool failed = true;
    for (size_t count = 0; failed; count++) {
        language_table *table;
        code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
        failing_memory_start(count, false);
        int32_t status = language_table_create(NULL, languages, &table, &error);
        failed = failing_memory_stop();
        assert_int_equal(status, failed ? CODE_EXECUTOR_NO_MEMORY : CODE_EXECUTOR_OK);
        assert_int_equal(error.status, status);
        assert_int_equal(table == NULL, failed);
        language_table_free(table);
    }
    json_object_put(languages);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_aliases_are_found_whatever_their_case),
        cmocka_unit_test(other_words_are_no_language),
        cmocka_unit_test(shells_and_python_run_and_the_rest_is_saved),
        cmocka_unit_test(every_name_and_alias_means_one_language),
        cmocka_unit_test(all_runs_whatever_has_a_command),
        cmocka_unit_test(the_first_languages_keep_their_names_as_extensions),
        cmocka_unit_test(candidates_stand_in_order),
        cmocka_unit_test(policies_take_names_and_aliases),
        cmocka_unit_test(a_policy_for_an_unknown_language_is_refused),
        cmocka_unit_test(a_policy_cannot_run_what_has_no_command),
        cmocka_unit_test(a_new_language_runs_when_it_has_a_command),
        cmocka_unit_test(steps_follow_one_another),
        cmocka_unit_test(a_known_language_is_changed_and_keeps_the_rest),
        cmocka_unit_test(a_policy_holds_for_a_new_language),
        cmocka_unit_test(an_alias_of_another_language_is_refused),
        cmocka_unit_test(a_command_without_the_file_is_refused),
        cmocka_unit_test(commands_and_steps_exclude_each_other),
        cmocka_unit_test(many_languages_fit),
        cmocka_unit_test(memory_may_end_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
