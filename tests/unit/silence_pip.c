/* SPDX-License-Identifier: Apache-2.0 */
/*
 * silence_pip.c: which lines gain ` -qqq`, and that the rest stays byte for byte.
 */
#include "silence_pip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect(enum pip_syntax syntax, const char *code, const char *wanted)
{
    char *changed;
    size_t length;
    assert_true(silence_pip(syntax, code, strlen(code), &changed, &length));
    assert_int_equal(length, strlen(wanted));
    if (strcmp(code, wanted) == 0)
        assert_null(changed);
    else
        assert_memory_equal(changed, wanted, length);
    free(changed);
}

static void unchanged(enum pip_syntax syntax, const char *code)
{
    expect(syntax, code, code);
}

static void an_install_in_a_shell_is_made_quiet(void **state)
{
    (void)state;
    expect(PIP_IN_SHELL, "pip install x", "pip install -qqq x");
    expect(PIP_IN_SHELL, "pip install x\r\npip install y\n",
           "pip install -qqq x\r\npip install -qqq y\n");
    expect(PIP_IN_SHELL, "set -e\npip3 install x\necho", "set -e\npip3 install -qqq x\necho");
    expect(PIP_IN_SHELL, "python -m pip install x", "python -m pip install -qqq x");
    expect(PIP_IN_SHELL, "python3 -m pip install x", "python3 -m pip install -qqq x");
    expect(PIP_IN_SHELL, "pip install \\\n  x", "pip install -qqq \\\n  x");
    expect(PIP_IN_SHELL, "pip install", "pip install -qqq");
}

static void an_install_in_python_needs_its_mark(void **state)
{
    (void)state;
    expect(PIP_IN_PYTHON, "! pip install x\n", "! pip install -qqq x\n");
    expect(PIP_IN_PYTHON, "!pip install x\nimport x", "!pip install -qqq x\nimport x");
    unchanged(PIP_IN_PYTHON, "pip install x");
    unchanged(PIP_IN_SHELL, "! pip install x");
}

static void it_is_done_once(void **state)
{
    (void)state;
    unchanged(PIP_IN_SHELL, "pip install -qqq x");
    unchanged(PIP_IN_SHELL, "pip install x -qqq");
}

static void other_lines_stay(void **state)
{
    (void)state;
    unchanged(PIP_IN_SHELL, "");
    unchanged(PIP_IN_SHELL, "\n\n");
    unchanged(PIP_IN_SHELL, " pip install x");
    unchanged(PIP_IN_SHELL, "echo pip install x");
    unchanged(PIP_IN_SHELL, "pip installer");
    unchanged(PIP_IN_SHELL, "pip uninstall x");
    unchanged(PIP_IN_PYTHON, "!");
    unchanged(PIP_IN_PYTHON, "x = 1\n!\n! ");
}

static void bytes_around_it_are_kept(void **state)
{
    (void)state;
    static const char code[] = "a\0b\xff\npip install x\n\0";
    static const char wanted[] = "a\0b\xff\npip install -qqq x\n\0";
    char *changed;
    size_t length;
    assert_true(silence_pip(PIP_IN_SHELL, code, sizeof code, &changed, &length));
    assert_int_equal(length, sizeof wanted);
    assert_memory_equal(changed, wanted, length);
    free(changed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_install_in_a_shell_is_made_quiet),
        cmocka_unit_test(an_install_in_python_needs_its_mark),
        cmocka_unit_test(it_is_done_once),
        cmocka_unit_test(other_lines_stay),
        cmocka_unit_test(bytes_around_it_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
