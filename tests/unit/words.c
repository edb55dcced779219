/* SPDX-License-Identifier: Apache-2.0 */
/*
 * words.c: the words of code_executor_host.h for statuses, outcomes and languages.
 */
#include <code_executor_host.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_every_status_has_the_word_of_the_header(void **state)
{
    (void)state;
    static const char *const words[] = {
        "ok",        "invalid", "unsupported", "unavailable", "denied", "not_found", "conflict",
        "cancelled", "lost",    "timed_out",   "no_memory",   "io",     "protocol",  "internal"};
    for (int32_t status = CODE_EXECUTOR_OK; status <= CODE_EXECUTOR_INTERNAL; status++)
        assert_string_equal(code_executor_status_name(status), words[status]);
}

static void test_every_outcome_has_the_word_of_the_header(void **state)
{
    (void)state;
    static const char *const words[] = {"completed", "saved",         "refused", "timed_out",
                                        "cancelled", "out_of_memory", "failed"};
    for (int32_t outcome = CODE_EXECUTOR_OUTCOME_COMPLETED; outcome <= CODE_EXECUTOR_OUTCOME_FAILED;
         outcome++)
        assert_string_equal(code_executor_outcome_name(outcome), words[outcome]);
}

static void test_values_of_a_later_version_are_unknown(void **state)
{
    (void)state;
    static const int32_t values[] = {-1, 14, 7000, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        assert_string_equal(code_executor_status_name(values[i]), "unknown");
        assert_string_equal(code_executor_outcome_name(values[i]), "unknown");
    }
}

static void test_an_alias_has_the_name_of_its_language(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"python", "python"}, {"py", "python"},
        {"PY", "python"},     {"JS", "javascript"},
        {"sh", "sh"},         {"shell", "sh"},
        {"PS1", "pwsh"},      {"PowerShell", "pwsh"},
        {"css", "css"},       {"JavaScript", "javascript"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_string_equal(code_executor_language_name(names[i][0]), names[i][1]);
}

static void test_what_is_no_language_has_no_name(void **state)
{
    (void)state;
    static const char *const words[] = {"", " ", "cobol", "p", "pyt", "python ", "py python3"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        assert_null(code_executor_language_name(words[i]));
    assert_null(code_executor_language_name(NULL));
}

static void test_languages_are_equal_by_name_alias_and_case(void **state)
{
    (void)state;
    assert_true(code_executor_language_equal("js", "JavaScript"));
    assert_true(code_executor_language_equal("ps1", "powershell"));
    assert_true(code_executor_language_equal("COBOL", "cobol"));
    assert_true(code_executor_language_equal("", ""));
    assert_true(code_executor_language_equal(NULL, NULL));
    assert_false(code_executor_language_equal("sh", "bash"));
    assert_false(code_executor_language_equal("cobol", "cobol2"));
    assert_false(code_executor_language_equal("python", NULL));
    assert_false(code_executor_language_equal("python", ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_status_has_the_word_of_the_header),
        cmocka_unit_test(test_every_outcome_has_the_word_of_the_header),
        cmocka_unit_test(test_values_of_a_later_version_are_unknown),
        cmocka_unit_test(test_an_alias_has_the_name_of_its_language),
        cmocka_unit_test(test_what_is_no_language_has_no_name),
        cmocka_unit_test(test_languages_are_equal_by_name_alias_and_case),
    };
    return cmocka_run_group_tests_name("words", tests, NULL, NULL);
}
