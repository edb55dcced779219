/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox_cgroup.c: where a cgroup can be made is found from two files and the folders that they name;
 * here all of these are ordinary files and folders. A group is made, swept and removed.
 */
#include "cgroup.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char root[64]; /* of what stands for the system */
static char mounts[128];
static char membership[128];

static int set_up(void **state)
{
    (void)state;
    strcpy(root, "/tmp/sandbox_cgroup_XXXXXX");
    assert_non_null(mkdtemp(root));
    snprintf(mounts, sizeof mounts, "%s/mountinfo", root);
    snprintf(membership, sizeof membership, "%s/cgroup", root);
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    (void)kind;
    (void)walk;
    return remove(path);
}

static int tear_down(void **state)
{
    (void)state;
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void put_file(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    close(file);
}

static void put_in_group(const char *name, const char *file, const char *text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s/%s", root, name, file);
    put_file(path, text);
}

/* A folder beneath the root, with the files of a version 2 group without processes. */
static void put_group(const char *name, const char *available, const char *handed_down)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", root, name);
    assert_int_equal(mkdir(path, 0755), 0);
    put_in_group(name, "cgroup.procs", "");
    put_in_group(name, "cgroup.type", "domain\n");
    put_in_group(name, "cgroup.controllers", available);
    put_in_group(name, "cgroup.subtree_control", handed_down);
}

/* A line of mountinfo: PART of a tree at a folder beneath the root. */
static const char *mount_line(const char *part, const char *folder, const char *type,
                              const char *options)
{
    static char lines[4][512];
    static unsigned next;
    char *line = lines[next++ % 4];
    snprintf(line, sizeof lines[0], "30 23 0:26 %s %s/%s rw,nosuid shared:9 - %s %s rw,%s\n", part,
             root, folder, type, type, options);
    return line;
}

static void put_system(const char *first_mount, const char *second_mount, const char *groups)
{
    char text[2048];
    snprintf(text, sizeof text,
             "22 27 0:21 / /proc rw,relatime shared:12 - proc proc rw\nnonsense\n%s%s", first_mount,
             second_mount);
    put_file(mounts, text);
    put_file(membership, groups);
}

static cgroup_places find(bool memory, bool cpu, bool pids, bool enable)
{
    const bool wanted[CGROUP_CONTROLLERS] = {memory, cpu, pids};
    cgroup_places places;
    mount_list list;
    mount_list_read(&list, mounts);
    assert_true(cgroup_find(&list, membership, wanted, enable, &places));
    mount_list_free(&list);
    return places;
}

static void assert_place(const cgroup_places *places, enum cgroup_controller controller,
                         int version, const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", root, name);
    assert_int_equal(places->of[controller].version, version);
    assert_string_equal(places->of[controller].folder, path);
}

static void version_1_is_found_beneath_our_own_group(void **state)
{
    (void)state;
    put_group("mem", "", "");
    put_group("mem/own", "", "");
    put_group("cpu", "", "");
    put_system(mount_line("/", "mem", "cgroup", "memory"),
               mount_line("/", "cpu", "cgroup", "cpu,cpuacct"), "4:memory:/own\n2:cpu,cpuacct:/\n");
    cgroup_places places = find(true, true, true, false);
    assert_place(&places, CGROUP_MEMORY, 1, "mem/own");
    assert_place(&places, CGROUP_CPU, 1, "cpu");
    assert_null(places.of[CGROUP_PIDS].folder);
    cgroup_places_free(&places);
}

static void a_part_of_a_tree_may_be_mounted(void **state)
{
    (void)state;
    put_group("mem", "", "");
    put_group("mem/inner", "", "");
    put_system(mount_line("/docker/1", "mem", "cgroup", "memory"), "",
               "4:memory:/docker/1/inner\n");
    cgroup_places places = find(true, false, false, false);
    assert_place(&places, CGROUP_MEMORY, 1, "mem/inner");
    cgroup_places_free(&places);
}

static void a_group_that_is_not_visible_is_none(void **state)
{
    (void)state;
    put_group("mem", "", "");
    put_system(mount_line("/docker/1", "mem", "cgroup", "memory"), "", "4:memory:/elsewhere\n");
    cgroup_places places = find(true, false, false, false);
    assert_null(places.of[CGROUP_MEMORY].folder);
    cgroup_places_free(&places);
    put_system(mount_line("/", "mem", "cgroup", "memory"), "", "4:memory:/../other\n");
    places = find(true, false, false, false);
    assert_null(places.of[CGROUP_MEMORY].folder);
    cgroup_places_free(&places);
}

static void version_2_is_found_at_the_nearest_that_hands_down(void **state)
{
    (void)state;
    put_group("unified", "cpu memory pids", "cpu memory pids");
    put_group("unified/slice", "cpu memory pids", "memory pids");
    put_group("unified/slice/own", "memory pids", "");
    put_system(mount_line("/", "unified", "cgroup2", "nsdelegate"), "", "0::/slice/own\n");
    cgroup_places places = find(true, false, true, false);
    assert_place(&places, CGROUP_MEMORY, 2, "unified/slice");
    assert_place(&places, CGROUP_PIDS, 2, "unified/slice");
    cgroup_places_free(&places);
    /* What is wanted more goes further up: one process is in one group. */
    places = find(true, true, true, false);
    assert_place(&places, CGROUP_MEMORY, 2, "unified");
    assert_place(&places, CGROUP_CPU, 2, "unified");
    cgroup_places_free(&places);
}

static void a_controller_is_handed_down_only_where_that_is_allowed(void **state)
{
    (void)state;
    put_group("unified", "cpu memory pids", "");
    put_system(mount_line("/", "unified", "cgroup2", ""), "", "0::/\n");
    cgroup_places places = find(true, false, false, false);
    assert_null(places.of[CGROUP_MEMORY].folder);
    cgroup_places_free(&places);
    places = find(true, false, false, true);
    char path[PATH_MAX];
    char text[32] = "";
    snprintf(path, sizeof path, "%s/unified/cgroup.subtree_control", root);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(read(file, text, sizeof text - 1) > 0);
    close(file);
    assert_string_equal(text, "+memory");
    cgroup_places_free(&places);
}

/* The kernel would hand pids down there, and make the group of the host another one. */
static void a_group_with_processes_is_passed_over(void **state)
{
    (void)state;
    put_group("unified", "pids", "");
    put_in_group("unified", "cgroup.procs", "1\n");
    put_system(mount_line("/", "unified", "cgroup2", ""), "", "0::/\n");
    cgroup_places places = find(false, false, true, true);
    assert_null(places.of[CGROUP_PIDS].folder);
    cgroup_places_free(&places);
}

static void the_top_of_the_tree_may_have_processes(void **state)
{
    (void)state;
    put_group("unified", "pids", "pids");
    put_in_group("unified", "cgroup.procs", "1\n");
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/unified/cgroup.type", root);
    assert_int_equal(unlink(path), 0);
    put_system(mount_line("/", "unified", "cgroup2", ""), "", "0::/\n");
    cgroup_places places = find(false, false, true, false);
    assert_place(&places, CGROUP_PIDS, 2, "unified");
    cgroup_places_free(&places);
}

static void a_folder_that_takes_no_process_is_passed_over(void **state)
{
    (void)state;
    put_group("unified", "memory", "memory");
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/unified/cgroup.procs", root);
    assert_int_equal(unlink(path), 0);
    put_system(mount_line("/", "unified", "cgroup2", ""), "", "0::/\n");
    cgroup_places places = find(true, false, false, true);
    assert_null(places.of[CGROUP_MEMORY].folder);
    cgroup_places_free(&places);
}

static void of_both_versions_each_controller_is_taken_where_it_is(void **state)
{
    (void)state;
    put_group("unified", "memory", "memory");
    put_group("pids", "", "");
    put_system(mount_line("/", "unified", "cgroup2", ""), mount_line("/", "pids", "cgroup", "pids"),
               "8:pids:/\n0::/\n");
    cgroup_places places = find(true, false, true, false);
    assert_place(&places, CGROUP_MEMORY, 2, "unified");
    assert_place(&places, CGROUP_PIDS, 1, "pids");
    cgroup_places_free(&places);
}

static void names_with_blanks_are_read(void **state)
{
    (void)state;
    put_group("a b", "", "");
    put_system(mount_line("/", "a\\040b", "cgroup", "memory"), "", "4:memory:/\n");
    cgroup_places places = find(true, false, false, false);
    assert_place(&places, CGROUP_MEMORY, 1, "a b");
    cgroup_places_free(&places);
}

static void nonsense_is_no_place(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",         "\n",      ":\n",          "::\n",
        "0::",      " - \n",   " - cgroup2\n", "1 2 3 - cgroup2 x y\n",
        "4:memory", "\\04\\\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        for (size_t j = 0; j < sizeof texts / sizeof texts[0]; j++) {
            put_file(mounts, texts[i]);
            put_file(membership, texts[j]);
            cgroup_places places = find(true, true, true, false);
            assert_null(places.of[CGROUP_MEMORY].folder);
            cgroup_places_free(&places);
        }
    }
}

/* ------------------------------------------------------------------------------------------------
 * Groups
 * --------------------------------------------------------------------------------------------- */

static void one_place_makes_one_folder(void **state)
{
    (void)state;
    cgroup_places places = {{{2, root}, {0, NULL}, {2, root}}};
    cgroup group;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(cgroup_make(&places, &group, &error), CODE_EXECUTOR_OK);
    assert_int_equal(group.folder_count, 1);
    assert_ptr_equal(group.of[CGROUP_MEMORY], group.of[CGROUP_PIDS]);
    assert_null(group.of[CGROUP_CPU]);
    char *path = strdup(group.folders[0].path);
    assert_int_equal(access(path, F_OK), 0);
    assert_true(cgroup_remove(&group));
    assert_int_equal(access(path, F_OK), -1);
    free(path);
}

static void what_dead_makers_left_is_swept_and_nothing_else(void **state)
{
    (void)state;
    struct stat status;
    assert_int_equal(stat("/proc/self/ns/pid", &status), 0);
    char dead[PATH_MAX];
    char foreign[PATH_MAX];
    char other[PATH_MAX];
    snprintf(dead, sizeof dead, "%s/code_executor.%lu.1.7.0", root, (unsigned long)status.st_ino);
    snprintf(foreign, sizeof foreign, "%s/code_executor.1.1.7.0", root);
    snprintf(other, sizeof other, "%s/code_executor.x", root);
    assert_int_equal(mkdir(dead, 0755), 0);
    assert_int_equal(mkdir(foreign, 0755), 0);
    assert_int_equal(mkdir(other, 0755), 0);
    cgroup_places places = {{{2, root}, {0, NULL}, {0, NULL}}};
    cgroup first;
    cgroup second;
    assert_int_equal(cgroup_make(&places, &first, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(cgroup_make(&places, &second, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(access(dead, F_OK), -1);
    assert_int_equal(access(foreign, F_OK), 0);
    assert_int_equal(access(other, F_OK), 0);
    assert_int_equal(access(first.folders[0].path, F_OK), 0);
    assert_true(cgroup_remove(&first));
    assert_true(cgroup_remove(&second));
}

static void a_group_that_cannot_be_made_leaves_nothing(void **state)
{
    (void)state;
    char nowhere[PATH_MAX];
    snprintf(nowhere, sizeof nowhere, "%s/nowhere", root);
    cgroup_places places = {{{1, root}, {1, nowhere}, {0, NULL}}};
    cgroup group;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(cgroup_make(&places, &group, &error), CODE_EXECUTOR_IO);
    assert_int_equal(group.folder_count, 0);
    assert_int_equal(rmdir(root), 0); /* it is empty */
    assert_int_equal(mkdir(root, 0755), 0);
}

#define FIXTURE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIXTURE(version_1_is_found_beneath_our_own_group),
        FIXTURE(a_part_of_a_tree_may_be_mounted),
        FIXTURE(a_group_that_is_not_visible_is_none),
        FIXTURE(version_2_is_found_at_the_nearest_that_hands_down),
        FIXTURE(a_controller_is_handed_down_only_where_that_is_allowed),
        FIXTURE(a_group_with_processes_is_passed_over),
        FIXTURE(the_top_of_the_tree_may_have_processes),
        FIXTURE(a_folder_that_takes_no_process_is_passed_over),
        FIXTURE(of_both_versions_each_controller_is_taken_where_it_is),
        FIXTURE(names_with_blanks_are_read),
        FIXTURE(nonsense_is_no_place),
        FIXTURE(one_place_makes_one_folder),
        FIXTURE(what_dead_makers_left_is_swept_and_nothing_else),
        FIXTURE(a_group_that_cannot_be_made_leaves_nothing),
    };
    return cmocka_run_group_tests_name("sandbox_cgroup", tests, NULL, NULL);
}
