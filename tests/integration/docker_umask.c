/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_umask.c: a host that is root, and whose umask keeps everybody else out of what it makes. Code that runs
 * as somebody else must read what was saved for it all the same; others need not.
 */
#include "docker_support.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static mode_t umask_before;

static int keep_others_out(void **state)
{
    (void)state;
    umask_before = umask(077);
    return 0;
}

static int let_others_in(void **state)
{
    (void)state;
    umask(umask_before);
    return chown(workspace, geteuid(), getegid()) == 0 ? chmod(workspace, 0700) : -1;
}

static struct stat status_of(const char *name)
{
    char path[400];
    struct stat status = {0};
    snprintf(path, sizeof path, "%s/%s", workspace, name);
    if (lstat(path, &status) != 0)
        fail_msg("%s is not there", path);
    return status;
}

/* Also in folders that are made for it, OUTER and one in it. */
static void expect_code_runs(code_executor_instance *instance, const char *who, const char *outer)
{
    char code[300];
    code_executor_result *result = run(instance, "python", "import os\nprint(os.getuid())");
    if (result->exit_code != 0 || strcmp(result->output, who) != 0)
        fail_msg("%s", result->output);
    docker->result_free(result);
    snprintf(code, sizeof code, "# filename: %s/inner/script.sh\necho runs", outer);
    expect_output(instance, code, "runs\n");
    snprintf(code, sizeof code, "cd %s/inner; echo beside > made; cat made", outer);
    expect_output(instance, code, "beside\n");
}

static void nobody_reads_what_was_saved_for_it(void **state)
{
    (void)state;
    code_executor_instance *instance = make_instance("'user': 'unprivileged'");
    expect_code_runs(instance, "65534\n", "nobodys");
    assert_int_equal(status_of("nobodys/inner/script.sh").st_mode & 07, 0);
    assert_int_equal(status_of("nobodys").st_mode & 07, 0);
    docker->destroy(instance);
}

static void owner_of_the_workspace_reads_what_was_saved_there(void **state)
{
    (void)state;
    assert_int_equal(chown(workspace, 4321, 4322), 0);
    code_executor_instance *instance = make_instance("'user': 'unprivileged'");
    expect_code_runs(instance, "4321\n", "owners");
    assert_int_equal(status_of("owners/inner/script.sh").st_mode & 077, 0);
    assert_int_equal(status_of("owners/inner").st_mode & 077, 0);
    docker->destroy(instance);
}

static void nobody_else_is_let_in_without_need(void **state)
{
    (void)state;
    code_executor_instance *instance = make_instance("%s", "");
    expect_output(instance, "# filename: alone.sh\necho runs", "runs\n");
    assert_int_equal(status_of("alone.sh").st_mode & 077, 0);
    assert_int_equal(status_of("alone.sh").st_gid, getegid());
    docker->destroy(instance);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nobody_reads_what_was_saved_for_it, keep_others_out,
                                        let_others_in),
        cmocka_unit_test_setup_teardown(owner_of_the_workspace_reads_what_was_saved_there,
                                        keep_others_out, let_others_in),
        cmocka_unit_test_setup_teardown(nobody_else_is_let_in_without_need, keep_others_out,
                                        let_others_in),
    };
    if (geteuid() != 0)
        return docker_test_skip("only root saves files for code that runs as somebody else");
    return docker_test_main("docker_umask", tests, sizeof tests / sizeof tests[0]);
}
