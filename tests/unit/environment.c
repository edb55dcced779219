/* SPDX-License-Identifier: Apache-2.0 */
/*
 * environment.c: what local code sees of the host's environment.
 */
#include "environment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *const host[] = {"PATH=/usr/bin",      "HOME=/home/x",
                             "API_KEY=secret",     "LC_ALL=C",
                             "LC_TIME=de_DE",      "LANG=en_US",
                             "LANGUAGE=en",        "TERM=xterm",
                             "TMPDIR=/var/tmp",    "PATHS=1",
                             "HOMEPAGE=2",         "odd",
                             "PYTHONHOME=/python", NULL};

static const char *const *choose(environment_choice choice, struct arena *arena)
{
    const char *const *chosen = environment_choose(&choice, host, arena);
    assert_non_null(chosen);
    return chosen;
}

static bool has(const char *const *chosen, const char *assignment)
{
    for (; *chosen; chosen++)
        if (strcmp(*chosen, assignment) == 0)
            return true;
    return false;
}

static size_t count(const char *const *chosen)
{
    size_t number = 0;
    while (chosen[number])
        number++;
    return number;
}

static void what_programs_need_is_passed_on_and_no_more(void **state)
{
    (void)state;
    struct arena arena = {0};
    const char *const *chosen = choose((environment_choice){.all = false}, &arena);
    assert_true(has(chosen, "PATH=/usr/bin"));
    assert_true(has(chosen, "HOME=/home/x"));
    assert_true(has(chosen, "LC_ALL=C"));
    assert_true(has(chosen, "LC_TIME=de_DE"));
    assert_true(has(chosen, "LANG=en_US"));
    assert_true(has(chosen, "TERM=xterm"));
    assert_true(has(chosen, "TMPDIR=/var/tmp"));
    assert_int_equal(count(chosen), 7);
    arena_release(&arena);
}

static void named_ones_are_added(void **state)
{
    (void)state;
    struct arena arena = {0};
    static const char *const names[] = {"API_KEY", "NOT_THERE"};
    const char *const *chosen =
        choose((environment_choice){.names = names, .name_count = 2}, &arena);
    assert_true(has(chosen, "API_KEY=secret"));
    assert_int_equal(count(chosen), 8);
    arena_release(&arena);
}

static void all_is_all(void **state)
{
    (void)state;
    struct arena arena = {0};
    const char *const *chosen = choose((environment_choice){.all = true}, &arena);
    assert_int_equal(count(chosen), 13);
    arena_release(&arena);
}

static void a_virtual_environment_comes_first_in_path(void **state)
{
    (void)state;
    struct arena arena = {0};
    const char *const *chosen =
        choose((environment_choice){.all = true, .virtual_env = "/v env"}, &arena);
    assert_true(has(chosen, "PATH=/v env/bin:/usr/bin"));
    assert_true(has(chosen, "VIRTUAL_ENV=/v env"));
    assert_false(has(chosen, "PYTHONHOME=/python"));
    arena_release(&arena);
}

static void a_host_without_path_gives_the_usual_one(void **state)
{
    (void)state;
    struct arena arena = {0};
    static char *const nothing[] = {NULL};
    const environment_choice choice = {.all = true};
    const char *const *chosen = environment_choose(&choice, nothing, &arena);
    assert_non_null(chosen);
    assert_int_equal(count(chosen), 1);
    assert_non_null(strstr(chosen[0], "/usr/bin"));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_programs_need_is_passed_on_and_no_more),
        cmocka_unit_test(named_ones_are_added),
        cmocka_unit_test(all_is_all),
        cmocka_unit_test(a_virtual_environment_comes_first_in_path),
        cmocka_unit_test(a_host_without_path_gives_the_usual_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
