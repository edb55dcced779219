/* SPDX-License-Identifier: Apache-2.0 */
/*
 * temporary_file.c: equal blocks at the same time share a file, and the last one removes it.
 */
#include "temporary_file.h"
#include "workspace.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];

static const char *path_of(const char *name)
{
    static _Thread_local char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void save(const char *name)
{
    char objection[WORKSPACE_OBJECTION_SIZE];
    assert_int_equal(workspace_save(folder, name, "x", 1, objection, NULL), CODE_EXECUTOR_OK);
}

static void the_last_one_removes(void **state)
{
    (void)state;
    temporary_file *one = temporary_file_hold(folder, "a");
    temporary_file *two = temporary_file_hold(folder, "a");
    save("a");
    temporary_file_release(one);
    assert_int_equal(access(path_of("a"), F_OK), 0);
    temporary_file_release(two);
    assert_int_equal(access(path_of("a"), F_OK), -1);
}

static void other_names_and_folders_are_others(void **state)
{
    (void)state;
    temporary_file *one = temporary_file_hold(folder, "a");
    temporary_file *two = temporary_file_hold(folder, "b");
    temporary_file *three = temporary_file_hold("/nowhere", "a");
    save("a");
    save("b");
    temporary_file_release(one);
    assert_int_equal(access(path_of("a"), F_OK), -1);
    assert_int_equal(access(path_of("b"), F_OK), 0);
    temporary_file_release(three);
    temporary_file_release(two);
    temporary_file_release(NULL);
}

static atomic_int missing;

static void *use_it_over_and_over(void *unused)
{
    (void)unused;
    char objection[WORKSPACE_OBJECTION_SIZE];
    for (int i = 0; i < 500; i++) {
        const char *name = i % 3 ? "a" : "b";
        temporary_file *file = temporary_file_hold(folder, name);
        if (!file || workspace_save(folder, name, "x", 1, objection, NULL) != CODE_EXECUTOR_OK ||
            access(path_of(name), F_OK) != 0)
            missing++;
        temporary_file_release(file);
    }
    return NULL;
}

static void it_is_there_for_everybody_who_holds_it(void **state)
{
    (void)state;
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_it_over_and_over, NULL), 0);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(missing, 0);
    assert_int_equal(access(path_of("a"), F_OK), -1);
    assert_int_equal(access(path_of("b"), F_OK), -1);
}

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/temporary-file-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_last_one_removes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_names_and_folders_are_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_is_there_for_everybody_who_holds_it, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
