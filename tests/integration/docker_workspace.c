/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_workspace.c: how code in the container comes to see the workspace: bound, or copied there and back.
 *
 * A folder that the engine does not see is made as it comes about in life: this process gets mounts of its
 * own, as one in a container has.
 */
#include "docker_support.h"
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char *path_of(const char *folder, const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void put(const char *folder, const char *name, const char *text)
{
    FILE *file = fopen(path_of(folder, name), "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void expect_file(const char *folder, const char *name, const char *text)
{
    char found[256] = "";
    FILE *file = fopen(path_of(folder, name), "re");
    if (!file)
        fail_msg("there is no %s/%s", folder, name);
    found[fread(found, 1, sizeof found - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(found, text);
}

static void expect_way(code_executor_instance *instance, const char *way)
{
    char *json = NULL, expected[64];
    snprintf(expected, sizeof expected, "\"workspace\":\"%s\"", way);
    assert_int_equal(docker->describe(instance, &json, NULL), CODE_EXECUTOR_OK);
    if (!strstr(json, expected))
        fail_msg("%s is not in %s", expected, json);
    docker->string_free(json);
}

/* ---- a folder that the engine sees --------------------------------------------------------------- */

static void a_folder_that_the_engine_sees_is_bound(void **state)
{
    (void)state;
    code_executor_instance *instance = make_instance("'workspace': 'auto'");
    start(instance);
    expect_way(instance, "bind");
    put(workspace, "while_it_runs", "seen\n");
    expect_output(instance, "cat while_it_runs", "seen\n");
    docker->destroy(instance);
}

static void looking_for_the_folder_leaves_nothing_in_it(void **state)
{
    (void)state;
    code_executor_instance *instance = make_instance("'delete_tmp_files': true");
    expect_output(instance, "ls -A | grep -v -e while_it_runs -e tmp_code; true", "");
    docker->destroy(instance);
}

static void expect_copies(const char *options)
{
    code_executor_instance *instance = make_instance("'workspace': 'copy'%s", options);
    put(workspace, "in", "in\n");
    expect_output(instance, "cat in; mkdir -p made; echo out > made/out", "in\n");
    expect_file(workspace, "made/out", "out\n");
    expect_way(instance, "copy");
    put(workspace, "in", "in again\n");
    expect_output(instance, "cat in; echo out again > made/out", "in again\n");
    expect_file(workspace, "made/out", "out again\n");
    docker->destroy(instance);
    expect_container_count(0);
}

static void files_are_copied_where_that_is_asked_for(void **state)
{
    (void)state;
    expect_copies("");
}

static void files_are_copied_where_the_root_is_read_only(void **state)
{
    (void)state;
    expect_copies(", 'read_only': true");
}

static void files_are_copied_for_a_user_who_is_not_root(void **state)
{
    (void)state;
    expect_copies(", 'user': '1234:5678'");
}

static void files_are_copied_in_the_strict_profile(void **state)
{
    (void)state;
    expect_copies(", 'profile': 'strict'");
}

static void init_command_sees_what_was_copied(void **state)
{
    (void)state;
    put(workspace, "setting", "7\n");
    code_executor_instance *instance =
        make_instance("'workspace': 'copy', 'init_command': 'cp setting /tmp/set'");
    expect_output(instance, "cat /tmp/set", "7\n");
    docker->destroy(instance);
}

static void a_restart_keeps_the_copy(void **state)
{
    (void)state;
    code_executor_instance *instance = make_instance("'workspace': 'copy'");
    expect_output(instance, "echo kept > kept_file", "");
    assert_int_equal(docker->restart(instance, NULL), CODE_EXECUTOR_OK);
    expect_output(instance, "cat kept_file", "kept\n");
    docker->destroy(instance);
}

static void no_volume_is_left(void **state)
{
    (void)state;
    char volume[128];
    code_executor_instance *instance = make_instance("'workspace': 'copy'");
    expect_output(instance, "echo x > x", "");
    volume_at(instance, "/workspace", volume);
    docker->destroy(instance);
    expect_container_count(0);
    expect_volume_gone(volume);
}

static void bind_dir_beside_copy_is_refused(void **state)
{
    (void)state;
    code_executor_instance *instance = NULL;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(
        docker->create(NULL, "{\"workspace\":\"copy\",\"bind_dir\":\"/x\"}", &instance, &error),
        CODE_EXECUTOR_INVALID);
    assert_non_null(strstr(error.message, "bind_dir"));
}

static void keep_warning(void *user_data, int32_t level, const char *message)
{
    if (level == CODE_EXECUTOR_LOG_WARNING)
        snprintf(user_data, 1024, "%s", message);
}

static void another_folder_in_bind_dir_is_warned_of(void **state)
{
    (void)state;
    char warning[1024] = "";
    const code_executor_host host = {sizeof host, warning, keep_warning, NULL};
    test_host = &host;
    code_executor_instance *instance = make_instance("'bind_dir': '/usr'");
    test_host = NULL;
    start(instance);
    assert_non_null(strstr(warning, "bind_dir /usr is not the workspace"));
    docker->destroy(instance);
    expect_container_count(0);
}

/* ---- a folder that it does not see --------------------------------------------------------------- */

static char hidden[300]; /* a folder of this process alone, which is an empty one for the engine */

static int hide_folder(void **state)
{
    (void)state;
    snprintf(hidden, sizeof hidden, "%s/hidden", workspace);
    if (mkdir(hidden, 0755) != 0 || unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", hidden, "tmpfs", 0, NULL) != 0)
        return -1;
    return 0;
}

static int unhide_folder(void **state)
{
    (void)state;
    umount2(hidden, MNT_DETACH);
    rmdir(hidden);
    return 0;
}

static code_executor_instance *make_hidden(const char *folder, const char *options)
{
    char config[800];
    code_executor_instance *instance = NULL;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    snprintf(config, sizeof config, "{\"work_dir\": \"%s\"%s}", folder, options);
    if (docker->create(test_host, config, &instance, &error) != CODE_EXECUTOR_OK)
        fail_msg("%s", error.message);
    return instance;
}

static void a_folder_that_is_another_one_for_the_engine_is_copied(void **state)
{
    (void)state;
    put(hidden, "in", "in\n");
    code_executor_instance *instance = make_hidden(hidden, "");
    expect_output(instance, "cat in; echo out > out", "in\n");
    expect_way(instance, "copy");
    expect_file(hidden, "out", "out\n");
    docker->destroy(instance);
}

static void a_folder_that_the_engine_does_not_have_is_copied(void **state)
{
    (void)state;
    char folder[400];
    snprintf(folder, sizeof folder, "%s/inner", hidden);
    code_executor_instance *instance = make_hidden(folder, "");
    expect_output(instance, "echo out > out", "");
    expect_way(instance, "copy");
    expect_file(folder, "out", "out\n");
    docker->destroy(instance);
}

static void binding_what_the_engine_does_not_see_is_refused(void **state)
{
    (void)state;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_instance *instance = make_hidden(hidden, ", \"workspace\": \"bind\"");
    assert_int_equal(docker->start(instance, &error), CODE_EXECUTOR_UNAVAILABLE);
    assert_non_null(strstr(error.message, "\"copy\""));
    docker->destroy(instance);
}

static void bind_dir_names_the_folder_as_the_engine_sees_it(void **state)
{
    (void)state;
    char options[400];
    assert_int_equal(umount(hidden), 0);
    put(workspace, "beneath", "the same folder\n");
    assert_int_equal(mount(workspace, hidden, NULL, MS_BIND, NULL), 0);
    snprintf(options, sizeof options, ", \"bind_dir\": \"%s\"", workspace);
    code_executor_instance *instance = make_hidden(hidden, options);
    expect_output(instance, "cat beneath; echo out > out", "the same folder\n");
    expect_way(instance, "bind");
    expect_file(hidden, "out", "out\n");
    docker->destroy(instance);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_that_the_engine_sees_is_bound),
        cmocka_unit_test(looking_for_the_folder_leaves_nothing_in_it),
        cmocka_unit_test(files_are_copied_where_that_is_asked_for),
        cmocka_unit_test(files_are_copied_where_the_root_is_read_only),
        cmocka_unit_test(files_are_copied_for_a_user_who_is_not_root),
        cmocka_unit_test(files_are_copied_in_the_strict_profile),
        cmocka_unit_test(init_command_sees_what_was_copied),
        cmocka_unit_test(a_restart_keeps_the_copy),
        cmocka_unit_test(no_volume_is_left),
        cmocka_unit_test(bind_dir_beside_copy_is_refused),
        cmocka_unit_test(another_folder_in_bind_dir_is_warned_of),
        cmocka_unit_test_setup(a_folder_that_is_another_one_for_the_engine_is_copied, hide_folder),
        cmocka_unit_test(a_folder_that_the_engine_does_not_have_is_copied),
        cmocka_unit_test(binding_what_the_engine_does_not_see_is_refused),
        cmocka_unit_test_teardown(bind_dir_names_the_folder_as_the_engine_sees_it, unhide_folder),
    };
    if (geteuid() != 0) {
        printf("skipped: only root can make a folder that the engine does not see\n");
        return getenv("CODE_EXECUTOR_REQUIRE_ALL") ? 1 : 77;
    }
    return docker_test_main("docker_workspace", tests, sizeof tests / sizeof tests[0]);
}
