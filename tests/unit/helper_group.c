/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helper_group.c: a program is started in a cgroup, and what is left of its process group can be killed, on old
 * kernels too. The cgroups are real ones, beneath the trees of this machine: that takes root, and where there
 * are none the test is skipped.
 */
#include "helper_process.h"

#include "fork_guard.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mntent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { LONG_MS = 60000 };

static char folders[3][512]; /* made for this test, by version */

/* ------------------------------------------------------------------------------------------------
 * Cgroups
 * --------------------------------------------------------------------------------------------- */

/* A new cgroup beneath the top of a tree of TYPE with OPTION, if there is one. */
static void make_folder(char folder[512], const char *type, const char *option)
{
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    for (struct mntent *entry = getmntent(mounts); entry && !*folder; entry = getmntent(mounts))
        if (strcmp(entry->mnt_type, type) == 0 && (!option || hasmntopt(entry, option))) {
            snprintf(folder, 512, "%s/helper_group_test.%d", entry->mnt_dir, (int)getpid());
            if (mkdir(folder, 0755) != 0)
                *folder = '\0';
        }
    endmntent(mounts);
}

static void remove_folders(void)
{
    for (int version = 1; version <= 2; version++)
        for (int attempt = 0; *folders[version] && rmdir(folders[version]) != 0; attempt++) {
            if (attempt == 1000 || errno != EBUSY)
                break;
            usleep(10000);
        }
}

/* ------------------------------------------------------------------------------------------------
 * Programs
 * --------------------------------------------------------------------------------------------- */

static int32_t start_script(const char *script, const helper_process_group *groups, size_t count,
                            helper_process *process, int *output, code_executor_error *error)
{
    const char *const arguments[] = {"sh", "-c", script, NULL};
    const char *const environment[] = {"PATH=/usr/bin:/bin", NULL};
    int ends[2];
    assert_int_equal(fork_guard_pipe(ends), 0);
    const helper_process_options options = {.program = "/bin/sh",
                                            .arguments = arguments,
                                            .environment = environment,
                                            .input = -1,
                                            .output = ends[1],
                                            .groups = groups,
                                            .group_count = count};
    int32_t status = helper_process_start(&options, process, error);
    fork_guard_close(ends[1]);
    *output = ends[0];
    return status;
}

/* Whether a program, and what it starts, finds itself in the groups of VERSIONS. */
static bool starts_in(const int *versions, size_t count)
{
    helper_process_group groups[2];
    for (size_t i = 0; i < count; i++)
        groups[i] = (helper_process_group){
            open(folders[versions[i]], O_PATH | O_DIRECTORY | O_CLOEXEC), versions[i]};
    helper_process process;
    int output;
    char text[4096] = "";
    size_t length = 0;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    if (start_script("(cat /proc/self/cgroup)", groups, count, &process, &output, &error) !=
        CODE_EXECUTOR_OK) {
        printf("%s\n", error.message);
        return false;
    }
    for (ssize_t part = 1; part > 0 && length < sizeof text - 1; length += (size_t)part)
        if ((part = read(output, text + length, sizeof text - 1 - length)) < 0)
            part = 0;
    helper_process_wait(&process, LONG_MS);
    helper_process_close(&process);
    fork_guard_close(output);
    size_t found = 0;
    for (const char *at = text; (at = strstr(at, "/helper_group_test.")); at++)
        found++;
    for (size_t i = 0; i < count; i++)
        close(groups[i].folder);
    return found == count;
}

static void it_starts_in_a_group_of_version_1(void **state)
{
    (void)state;
    if (*folders[1])
        assert_true(starts_in((const int[]){1}, 1));
}

static void it_is_born_into_a_group_of_version_2(void **state)
{
    (void)state;
    if (*folders[2])
        assert_true(starts_in((const int[]){2}, 1));
}

static void it_starts_in_groups_of_both_versions(void **state)
{
    (void)state;
    if (*folders[1] && *folders[2])
        assert_true(starts_in((const int[]){1, 2}, 2));
}

static void a_folder_that_is_no_group_is_reported(void **state)
{
    (void)state;
    for (int version = 1; version <= 2; version++) {
        helper_process_group group = {open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), version};
        helper_process process;
        int output;
        code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
        assert_int_equal(start_script("echo no", &group, 1, &process, &output, &error),
                         CODE_EXECUTOR_NOT_FOUND);
        assert_non_null(strstr(error.message, "cannot set the cgroup of /bin/sh"));
        fork_guard_close(output);
        close(group.folder);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Old kernels: in a child, where a filter answers as they do
 * --------------------------------------------------------------------------------------------- */

#define LOAD(offset)        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(offset))
#define UNLESS(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (skip))
#define IF(value, skip)     BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (skip), 0)
#define ANSWER(errnum)      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (errnum))
#define ALLOW               BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define CALL_NUMBER         offsetof(struct seccomp_data, nr)
#define FOURTH_ARGUMENT     offsetof(struct seccomp_data, args[3])

static void load_filter(struct sock_filter *instructions, size_t count)
{
    struct sock_fprog program = {(unsigned short)count, instructions};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(2);
}

static void forget_clone3(void)
{
    struct sock_filter instructions[] = {LOAD(CALL_NUMBER), UNLESS(SYS_clone3, 1), ANSWER(ENOSYS),
                                         ALLOW};
    load_filter(instructions, sizeof instructions / sizeof instructions[0]);
}

static void forget_signals_to_groups(void)
{
    struct sock_filter instructions[] = {LOAD(CALL_NUMBER),     UNLESS(SYS_pidfd_send_signal, 3),
                                         LOAD(FOURTH_ARGUMENT), IF(0, 1),
                                         ANSWER(EINVAL),        ALLOW};
    load_filter(instructions, sizeof instructions / sizeof instructions[0]);
}

static void expect_in_child(bool (*holds)(void))
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(holds() ? 0 : 1);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static bool starts_in_both_without_clone3(void)
{
    forget_clone3();
    return starts_in((const int[]){1, 2}, 2);
}

static void without_clone3_it_moves_into_its_groups(void **state)
{
    (void)state;
    if (*folders[1] && *folders[2])
        expect_in_child(starts_in_both_without_clone3);
}

/* The leader ends and leaves a fork in its group behind, as bubblewrap does when it is killed early. */
static bool kills_what_a_dead_leader_left(void)
{
    helper_process process;
    int output;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    if (start_script("sleep 1000 & exit 0", NULL, 0, &process, &output, &error) != CODE_EXECUTOR_OK)
        return false;
    bool left = helper_process_wait(&process, LONG_MS) && !helper_process_wait_all(&process, 0);
    helper_process_kill(&process);
    bool killed = left && helper_process_wait_all(&process, LONG_MS);
    helper_process_close(&process);
    fork_guard_close(output);
    return killed;
}

static bool kills_it_on_an_old_kernel(void)
{
    forget_signals_to_groups();
    return kills_what_a_dead_leader_left();
}

static void what_a_dead_leader_left_is_killed(void **state)
{
    (void)state;
    expect_in_child(kills_what_a_dead_leader_left);
}

static void what_a_dead_leader_left_is_killed_on_an_old_kernel(void **state)
{
    (void)state;
    expect_in_child(kills_it_on_an_old_kernel);
}

int main(void)
{
    make_folder(folders[1], "cgroup", "pids");
    make_folder(folders[2], "cgroup2", NULL);
    for (int version = 1; version <= 2; version++)
        if (!*folders[version])
            printf("no cgroup of version %d can be made here\n", version);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_starts_in_a_group_of_version_1),
        cmocka_unit_test(it_is_born_into_a_group_of_version_2),
        cmocka_unit_test(it_starts_in_groups_of_both_versions),
        cmocka_unit_test(a_folder_that_is_no_group_is_reported),
        cmocka_unit_test(without_clone3_it_moves_into_its_groups),
        cmocka_unit_test(what_a_dead_leader_left_is_killed),
        cmocka_unit_test(what_a_dead_leader_left_is_killed_on_an_old_kernel),
    };
    int failed = cmocka_run_group_tests_name("helper_group", tests, NULL, NULL);
    remove_folders();
    return failed;
}
