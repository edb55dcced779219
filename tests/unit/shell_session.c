/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shell_session.c: which lines of a recorded session are commands.
 */
#include "shell_session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect(const char *code, const char *wanted)
{
    char *changed;
    size_t length;
    assert_true(shell_session_strip(code, strlen(code), &changed, &length));
    assert_non_null(changed);
    assert_int_equal(length, strlen(wanted));
    assert_memory_equal(changed, wanted, length);
    free(changed);
}

static void commands_stay_and_output_goes(void **state)
{
    (void)state;
    expect("$ ls\na  b\n$ cat a\nhello\n", "ls\ncat a\n");
    expect("$ echo one", "echo one\n");
    expect("output first\n$ true\n", "true\n");
    expect("% ls\nfile\n", "ls\n");
    expect("  $ ls\nfile\n", "ls\n");
}

static void a_prompt_may_name_the_host(void **state)
{
    (void)state;
    expect("me@box:~/src$ make\ncc x.c\n", "make\n");
    expect("[me@box src]$ make\ncc x.c\n", "make\n");
    expect("(venv) me@box:~$ pip list\nPackage\n", "pip list\n");
    expect("(venv) $ pip list\nPackage\n", "pip list\n");
}

static void continued_commands_stay_whole(void **state)
{
    (void)state;
    expect("$ for i in 1 2; do\n> echo $i; done\n1\n2\n", "for i in 1 2; do\necho $i; done\n");
    expect("$ echo a \\\n    b\na b\n", "echo a \\\n    b\n");
    expect("$ cat <<'EOF' > f\n$ not a prompt\nEOF\n$ cat f\n",
           "cat <<'EOF' > f\n$ not a prompt\nEOF\ncat f\n");
    expect("$ cat <<-E\n\tx\n\tE\nx\n", "cat <<-E\n\tx\n\tE\n");
    expect("$ cat <<< word\nword\n", "cat <<< word\n");
}

static void line_ends_of_windows_are_no_part_of_a_command(void **state)
{
    (void)state;
    expect("$ ls\r\na\r\n", "ls\n");
}

static void an_empty_prompt_is_an_empty_line(void **state)
{
    (void)state;
    expect("$\n$ ls\n", "\nls\n");
}

static void without_a_prompt_nothing_changes(void **state)
{
    static const char *const scripts[] = {
        "ls\ncat a\n",   "# comment\nls\n",
        "$HOME/bin/x\n", "",
        "> f\n",         "echo a@b.example $ c\n",
        "(cd x; ls)\n",  "[ -f a@b ] && x",
        "(unclosed",     "50% off",
    };
    (void)state;
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        char *changed;
        size_t length;
        assert_true(shell_session_strip(scripts[i], strlen(scripts[i]), &changed, &length));
        assert_null(changed);
    }
}

static void a_dollar_in_front_begins_a_session(void **state)
{
    (void)state;
    assert_true(shell_session_begins("$ ls\n", 5));
    assert_true(shell_session_begins("\n  $ ls\n", 8));
    assert_false(shell_session_begins("ls\n$ x\n", 7));
    assert_false(shell_session_begins("$HOME/x", 7));
    assert_false(shell_session_begins("$", 1));
    assert_false(shell_session_begins("", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_stay_and_output_goes),
        cmocka_unit_test(a_prompt_may_name_the_host),
        cmocka_unit_test(continued_commands_stay_whole),
        cmocka_unit_test(line_ends_of_windows_are_no_part_of_a_command),
        cmocka_unit_test(an_empty_prompt_is_an_empty_line),
        cmocka_unit_test(without_a_prompt_nothing_changes),
        cmocka_unit_test(a_dollar_in_front_begins_a_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
