/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lifecycle_folders.c: the folder that code works in: when it is made, how it is called, and when a private one goes.
 */
#include "commandline.h"
#include "config.h"
#include "fork_guard.h"
#include "lifecycle_support.h"
#include "private_folder.h"
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* ------------------------------------------------------------------------------------------------
 * Where code works
 * --------------------------------------------------------------------------------------------- */

static void the_work_dir_is_made_but_not_its_parents(void **state)
{
    (void)state;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    table->destroy(instance);
    create("{\"work_dir\": \"./made\"}");
    assert_int_equal(table->start(instance, &error), CODE_EXECUTOR_OK);
    assert_int_equal(access("made", F_OK), 0);
    table->destroy(instance);
    create("{\"work_dir\": \"not/there/yet\"}");
    assert_int_equal(table->start(instance, &error), CODE_EXECUTOR_NOT_FOUND);
    assert_int_equal(access("not", F_OK), -1);
}

static void the_work_dir_is_that_of_create(void **state)
{
    (void)state;
    table->destroy(instance);
    create("{\"work_dir\": \"./sub/\"}");
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(table->start(instance, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(chdir(current_folder), 0);
    char expected[4200];
    snprintf(expected, sizeof expected, "%s/sub", current_folder);
    assert_string_equal(fake.work_dir, expected);
}

static void expect_absolute(const char *path, const char *expected)
{
    char *absolute;
    assert_int_equal(commandline_absolute_path(path, &absolute, NULL), CODE_EXECUTOR_OK);
    assert_string_equal(absolute, expected);
    free(absolute);
}

static void paths_are_made_absolute(void **state)
{
    (void)state;
    expect_absolute(".", current_folder);
    expect_absolute("./", current_folder);
    expect_absolute("././/", current_folder);
    expect_absolute("/", "/");
    expect_absolute("//", "/");
    expect_absolute("/a/b//", "/a/b");
    char expected[4200];
    snprintf(expected, sizeof expected, "%s/a/../b", current_folder);
    expect_absolute("./a/../b/", expected); /* .. may follow a link: it is not for us to resolve */
    snprintf(expected, sizeof expected, "%s/.hidden", current_folder);
    expect_absolute(".hidden", expected);
    assert_int_equal(chdir("/"), 0);
    expect_absolute(".", "/");
    expect_absolute("x", "/x");
    assert_int_equal(chdir(current_folder), 0);
}

static void a_private_work_dir_lasts_until_stop(void **state)
{
    (void)state;
    table->destroy(instance);
    create("{\"work_dir\": null}");
    assert_int_equal(table->start(instance, NULL), CODE_EXECUTOR_OK);
    struct stat status;
    assert_int_equal(stat(fake.work_dir, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    char first[4096];
    strcpy(first, fake.work_dir);
    assert_int_equal(table->stop(instance, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(stat(first, &status), -1);
    assert_int_equal(table->start(instance, NULL), CODE_EXECUTOR_OK);
    assert_string_not_equal(fake.work_dir, first);
    strcpy(first, fake.work_dir);
    table->destroy(instance);
    assert_int_equal(stat(first, &status), -1);
    create("{}");
}

static void a_private_work_dir_outlives_a_launch_that_fails(void **state)
{
    (void)state;
    table->destroy(instance);
    create("{\"work_dir\": null}");
    assert_int_equal(table->start(instance, NULL), CODE_EXECUTOR_OK);
    char first[4096];
    strcpy(first, fake.work_dir);
    shutdown(fake.runner->fd, SHUT_RDWR); /* lost */
    atomic_store(&fake.behaviour, FAILS);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(table->restart(instance, NULL), CODE_EXECUTOR_UNAVAILABLE);
        assert_int_equal(access(first, F_OK), 0);
    }
    atomic_store(&fake.behaviour, SUCCEEDS);
    assert_int_equal(table->restart(instance, NULL), CODE_EXECUTOR_OK);
    assert_string_equal(fake.work_dir, first);
    shutdown(fake.runner->fd, SHUT_RDWR);
    atomic_store(&fake.behaviour, FAILS);
    assert_int_equal(table->restart(instance, NULL), CODE_EXECUTOR_UNAVAILABLE);
    assert_int_equal(table->stop(instance, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(access(first, F_OK), -1);
}

static void a_private_work_dir_outlives_what_is_launched_anew(void **state)
{
    (void)state;
    table->destroy(instance);
    atomic_store(&fake.binds, true);
    create("{\"work_dir\": null}");
    struct call call = {.id = 5};
    call_now(&call);
    char first[4096];
    strcpy(first, fake.work_dir);
    shutdown(fake.runner->fd, SHUT_RDWR); /* lost */
    call_now(&call);
    assert_int_equal(atomic_load(&fake.launches), 2);
    assert_string_equal(fake.work_dir, first);
    atomic_store(&fake.relaunches, true);
    assert_int_equal(table->restart(instance, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(atomic_load(&fake.launches), 3);
    assert_string_equal(fake.work_dir, first);
    assert_int_equal(private_folder_remove(first, NULL), CODE_EXECUTOR_OK);
    call_now(&call);
    assert_int_equal(atomic_load(&fake.launches), 4);
    assert_string_not_equal(fake.work_dir, first);
    assert_int_equal(table->stop(instance, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(access(fake.work_dir, F_OK), -1);
}

/* ------------------------------------------------------------------------------------------------
 * Private folders
 * --------------------------------------------------------------------------------------------- */

/* Deeper than a path can be long. */
static void nest_deeply(const char *path)
{
    int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 5000; i++) {
        assert_int_equal(mkdirat(folder, "d", 0700), 0);
        int inner = openat(folder, "d", O_PATH | O_DIRECTORY | O_CLOEXEC);
        close(folder);
        folder = inner;
    }
    assert_int_equal(mkdirat(folder, "end", 0700), 0);
    close(folder);
}

static void make_old(const char *path)
{
    const struct timespec long_ago[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
}

static void what_a_killed_host_has_left_goes_with_the_next_private_folder(void **state)
{
    (void)state;
    char *left, *young, *locked, *next;
    assert_int_equal(private_folder_make(&left, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(private_folder_make(&young, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(private_folder_make(&locked, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(private_folder_make(&next, NULL), CODE_EXECUTOR_OK);
    int lock = private_folder_hold(locked);
    assert_true(lock >= 0);
    make_old(left);
    make_old(locked);
    private_folder_sweep(next);
    assert_int_equal(access(left, F_OK), -1);
    assert_int_equal(access(young, F_OK), 0);
    assert_int_equal(access(locked, F_OK), 0);
    fork_guard_close(lock);
    private_folder_sweep(next);
    assert_int_equal(access(locked, F_OK), -1);
    assert_int_equal(private_folder_remove(young, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(private_folder_remove(next, NULL), CODE_EXECUTOR_OK);
    free(left);
    free(young);
    free(locked);
    free(next);
}

static void a_private_folder_in_use_is_not_taken_for_a_left_one(void **state)
{
    (void)state;
    table->destroy(instance);
    create("{\"work_dir\": null}");
    assert_int_equal(table->start(instance, NULL), CODE_EXECUTOR_OK);
    make_old(fake.work_dir);
    char *next;
    assert_int_equal(private_folder_make(&next, NULL), CODE_EXECUTOR_OK);
    private_folder_sweep(next);
    assert_int_equal(access(fake.work_dir, F_OK), 0);
    assert_int_equal(private_folder_remove(next, NULL), CODE_EXECUTOR_OK);
    free(next);
}

static void a_private_folder_is_removed_whatever_is_in_it(void **state)
{
    (void)state;
    char *path;
    char command[16384];
    assert_int_equal(private_folder_make(&path, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(mkdir("outside", 0700), 0);
    assert_int_equal(mkdir("outside/kept", 0700), 0);
    snprintf(command, sizeof command,
             "cd %s && mkdir -p a/b/c/d .hidden && touch a/f a/b/f a/b/c/d/f '..1' "
             "&& ln -s %s/outside link && ln -s %s/outside a/b/link && mkfifo a/fifo && "
             "mkdir -m 0 a/closed && mkdir -p a/full/x && chmod 0500 a/full",
             path, current_folder, current_folder);
    assert_int_equal(system(command), 0);
    nest_deeply(path);
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(private_folder_remove(path, &error), CODE_EXECUTOR_OK);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(access("outside/kept", F_OK), 0);
    assert_int_equal(private_folder_remove(path, &error), CODE_EXECUTOR_OK);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_work_dir_is_made_but_not_its_parents),
        TEST(the_work_dir_is_that_of_create),
        cmocka_unit_test(paths_are_made_absolute),
        TEST(a_private_work_dir_lasts_until_stop),
        TEST(a_private_work_dir_outlives_a_launch_that_fails),
        TEST(a_private_work_dir_outlives_what_is_launched_anew),
        TEST(a_private_folder_in_use_is_not_taken_for_a_left_one),
        cmocka_unit_test(what_a_killed_host_has_left_goes_with_the_next_private_folder),
        cmocka_unit_test(a_private_folder_is_removed_whatever_is_in_it),
    };
    return cmocka_run_group_tests_name("lifecycle_folders", tests, enter_folder, leave_folder);
}
