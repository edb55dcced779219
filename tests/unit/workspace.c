/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workspace.c: files are saved whole, in the workspace, and nowhere else, whatever was planted
 * there. `outside` stands for all that code must not reach through us.
 */
#include "workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char root[] = "/tmp/workspace-test-XXXXXX";
static char work[64];    /* the workspace */
static char outside[64]; /* a folder beside it, with a file `secret` */
static char objection[WORKSPACE_OBJECTION_SIZE];

#define OUTSIDE "Filename is not in the workspace"

static const char *in(const char *folder, const char *name)
{
    static char paths[4][512];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void expect_file(const char *path, const char *wanted)
{
    char text[256] = "";
    FILE *file = fopen(path, "re");
    if (!file)
        fail_msg("%s: %s", path, strerror(errno));
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, wanted);
}

static size_t entries(const char *path)
{
    size_t count = 0;
    char command[600];
    snprintf(command, sizeof command, "find '%s' -mindepth 1 | wc -l", path);
    FILE *pipe = popen(command, "re");
    assert_int_equal(fscanf(pipe, "%zu", &count), 1);
    pclose(pipe);
    return count;
}

static int32_t save(const char *name, const char *text)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    return workspace_save(work, name, text, strlen(text), objection, &error);
}

static void saved(const char *name, const char *text)
{
    if (save(name, text) != CODE_EXECUTOR_OK || objection[0])
        fail_msg("%s: %s", name, objection);
    expect_file(in(work, name), text);
}

static void refused(const char *name, const char *words)
{
    assert_int_equal(save(name, "new"), CODE_EXECUTOR_OK);
    assert_string_equal(objection, words);
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

static int set_up(void **state)
{
    (void)state;
    strcpy(root + strlen(root) - 6, "XXXXXX");
    if (!mkdtemp(root))
        return -1;
    snprintf(work, sizeof work, "%s/work", root);
    snprintf(outside, sizeof outside, "%s/outside", root);
    if (mkdir(work, 0777) || mkdir(outside, 0777))
        return -1;
    write_file(in(outside, "secret"), "secret");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void expect_outside_untouched(void)
{
    expect_file(in(outside, "secret"), "secret");
    assert_int_equal(entries(outside), 1);
}

/* What somebody gets who does nothing bad. */

static void a_file_is_saved_and_saved_again(void **state)
{
    (void)state;
    saved("a.py", "one");
    saved("a.py", "two");
    saved("-x y.py", "three");
    assert_int_equal(entries(work), 2);
}

static void folders_above_it_are_made(void **state)
{
    (void)state;
    saved("a/b/c.py", "deep");
    saved("a/b/d.py", "deep");
}

static void the_last_folder_of_the_workspace_is_made_and_no_other(void **state)
{
    (void)state;
    rmdir(work);
    saved("a.py", "x");
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(workspace_save(in(root, "no/such"), "a", "", 0, objection, &error),
                     CODE_EXECUTOR_NOT_FOUND);
    assert_non_null(strstr(error.message, "no/such as the workspace: No such file or directory"));
}

static void a_file_in_the_place_of_the_workspace_is_an_error(void **state)
{
    (void)state;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(workspace_make(in(outside, "secret"), &error), CODE_EXECUTOR_NOT_FOUND);
    assert_non_null(strstr(error.message, "Not a directory"));
}

static void modes_follow_the_umask(void **state)
{
    (void)state;
    mode_t before = umask(027);
    saved("a/b.py", "x");
    assert_int_equal(umask(before), 027);
    struct stat status;
    assert_int_equal(stat(in(work, "a/b.py"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0640);
    assert_int_equal(stat(in(work, "a"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0750);
}

static void a_file_that_could_be_run_still_can(void **state)
{
    (void)state;
    saved("run.sh", "one");
    chmod(in(work, "run.sh"), 0744);
    saved("run.sh", "two");
    struct stat status;
    assert_int_equal(stat(in(work, "run.sh"), &status), 0);
    assert_int_equal(status.st_mode & 0111, 0111);
}

static void a_setuid_bit_is_not_handed_on(void **state)
{
    (void)state;
    saved("run.sh", "one");
    chmod(in(work, "run.sh"), 06755);
    saved("run.sh", "two");
    struct stat status;
    assert_int_equal(stat(in(work, "run.sh"), &status), 0);
    assert_int_equal(status.st_mode & 07000, 0);
}

static void bytes_are_kept(void **state)
{
    (void)state;
    assert_int_equal(workspace_save(work, "a", "x\0y", 3, objection, NULL), CODE_EXECUTOR_OK);
    struct stat status;
    assert_int_equal(stat(in(work, "a"), &status), 0);
    assert_int_equal(status.st_size, 3);
    assert_int_equal(workspace_save(work, "empty", NULL, 0, objection, NULL), CODE_EXECUTOR_OK);
}

static void removing_takes_the_file_and_what_is_not_there(void **state)
{
    (void)state;
    saved("a/b.py", "x");
    workspace_remove(work, "a/b.py");
    workspace_remove(work, "a/b.py");
    workspace_remove(work, "no/such");
    workspace_remove(in(root, "nowhere"), "a");
    assert_int_equal(entries(work), 1);
}

/* What code in the workspace may have planted. */

static void a_link_to_a_file_is_refused(void **state)
{
    (void)state;
    assert_int_equal(symlink(in(outside, "secret"), in(work, "a.py")), 0);
    refused("a.py", OUTSIDE);
    expect_outside_untouched();
}

static void a_link_to_nothing_is_refused(void **state)
{
    (void)state;
    assert_int_equal(symlink(in(outside, "fresh"), in(work, "a.py")), 0);
    refused("a.py", OUTSIDE);
    expect_outside_untouched();
}

static void a_link_within_the_workspace_is_refused(void **state)
{
    (void)state;
    saved("real.py", "real");
    assert_int_equal(symlink("real.py", in(work, "a.py")), 0);
    refused("a.py", OUTSIDE);
    expect_file(in(work, "real.py"), "real");
}

static void a_link_above_the_file_is_refused(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in(work, "a"), 0777), 0);
    assert_int_equal(symlink(outside, in(work, "a/b")), 0);
    refused("a/b/c.py", OUTSIDE);
    refused("a/b/d/c.py", OUTSIDE);
    expect_outside_untouched();
}

static void a_link_of_the_kernel_is_refused(void **state)
{
    (void)state;
    assert_int_equal(symlink("/proc/self/cwd", in(work, "a")), 0);
    refused("a/c.py", OUTSIDE);
}

static void removing_follows_no_link(void **state)
{
    (void)state;
    assert_int_equal(symlink(outside, in(work, "a")), 0);
    workspace_remove(work, "a/secret");
    expect_outside_untouched();
    assert_int_equal(symlink(in(outside, "secret"), in(work, "b")), 0);
    workspace_remove(work, "b");
    expect_outside_untouched();
}

static void a_hard_link_is_not_written_through(void **state)
{
    (void)state;
    assert_int_equal(link(in(outside, "secret"), in(work, "a.py")), 0);
    saved("a.py", "new");
    expect_outside_untouched();
}

static void a_fifo_holds_nobody_up(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(in(work, "a.py"), 0666), 0);
    refused("a.py", "Cannot save a.py: there is a special file of that name");
}

static void a_socket_is_refused(void **state)
{
    (void)state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/a.py", work);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    refused("a.py", "Cannot save a.py: there is a special file of that name");
    close(fd);
}

static void a_device_is_refused(void **state)
{
    (void)state;
    if (mknod(in(work, "a.py"), S_IFCHR | 0666, (dev_t)0x103) != 0) {
        if (getenv("CODE_EXECUTOR_REQUIRE_ALL"))
            fail_msg("mknod needs root");
        print_message("skipped: mknod needs root\n");
        skip();
    }
    refused("a.py", "Cannot save a.py: there is a special file of that name");
}

static void a_folder_in_its_place_is_refused(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in(work, "a.py"), 0777), 0);
    refused("a.py", "Cannot save a.py: there is a folder of that name");
}

static void a_file_in_the_place_of_a_folder_is_refused(void **state)
{
    (void)state;
    saved("a", "x");
    refused("a/b.py", "Cannot save a/b.py: Not a directory");
}

static void a_name_that_is_too_long_is_refused(void **state)
{
    (void)state;
    char name[300];
    memset(name, 'x', 299);
    name[299] = '\0';
    assert_int_equal(save(name, "new"), CODE_EXECUTOR_OK);
    assert_non_null(strstr(objection, "File name too long"));
    strcpy(name + 290, "/a");
    assert_int_equal(save(name, "new"), CODE_EXECUTOR_OK);
    assert_non_null(strstr(objection, "File name too long"));
    assert_int_equal(entries(work), 0);
}

static void a_workspace_that_is_replaced_is_found_again(void **state)
{
    (void)state;
    saved("a.py", "one");
    assert_int_equal(rename(work, in(root, "moved")), 0);
    saved("a.py", "two");
    expect_file(in(root, "moved/a.py"), "one");
}

/* A child that does not outlive a test that fails. */
static pid_t fork_adversary(void)
{
    pid_t child = fork();
    if (child == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return child;
}

/* Swaps a folder for a link to `outside`, and back, as fast as it can. */
static pid_t start_swapping(void)
{
    assert_int_equal(mkdir(in(work, "a"), 0777), 0);
    assert_int_equal(symlink(outside, in(work, "link")), 0);
    pid_t child = fork_adversary();
    if (child != 0)
        return child;
    int fd = open(work, O_PATH | O_CLOEXEC);
    for (;;)
        renameat2(fd, "a", fd, "link", RENAME_EXCHANGE);
}

static void a_race_for_the_folder_is_never_lost(void **state)
{
    (void)state;
    pid_t child = start_swapping();
    size_t won = 0;
    for (int i = 0; i < 3000; i++) {
        assert_int_equal(save("a/c.py", "new"), CODE_EXECUTOR_OK);
        won += objection[0] == '\0';
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    expect_outside_untouched();
    assert_true(won > 0);
}

/* Swaps the file itself for links and other things. */
static void a_race_for_the_file_is_never_lost(void **state)
{
    (void)state;
    pid_t child = fork_adversary();
    if (child == 0) {
        int fd = open(work, O_PATH | O_CLOEXEC);
        for (;;) {
            (void)!symlinkat(in(outside, "secret"), fd, "a.py");
            unlinkat(fd, "a.py", 0);
            (void)!linkat(AT_FDCWD, in(outside, "secret"), fd, "a.py", 0);
            unlinkat(fd, "a.py", 0);
            mkfifoat(fd, "a.py", 0666);
            unlinkat(fd, "a.py", 0);
            mkdirat(fd, "a.py", 0777);
            unlinkat(fd, "a.py", AT_REMOVEDIR);
        }
    }
    for (int i = 0; i < 3000; i++)
        assert_int_equal(save("a.py", "new"), CODE_EXECUTOR_OK);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    expect_outside_untouched();
    assert_in_range(entries(work), 0, 1); /* nothing temporary is left */
}

/* Deletes whatever appears. */
static void a_race_against_removal_ends(void **state)
{
    (void)state;
    pid_t child = fork_adversary();
    if (child == 0)
        for (;;)
            nftw(work, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    for (int i = 0; i < 1000; i++)
        save("a/b/c.py", "new");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    saved("a/b/c.py", "new");
}

/* What is nobody's fault. */

/* Runs BODY in a process of its own, which the limits that it sets die with. */
static void in_a_child(int (*body)(void))
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(body());
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        if (getenv("CODE_EXECUTOR_REQUIRE_ALL"))
            fail_msg("needs a user namespace or root");
        print_message("skipped: needs a user namespace or root\n");
        skip();
    }
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int fill_a_disk(void)
{
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return 77;
    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
    if (mount("none", work, "tmpfs", 0, "size=64k") != 0)
        return 77;
    saved("a.py", "one");
    static char large[1000000];
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(workspace_save(work, "a.py", large, sizeof large, objection, &error),
                     CODE_EXECUTOR_IO);
    assert_non_null(strstr(error.message, "cannot save a.py in /tmp/workspace-test"));
    assert_non_null(strstr(error.message, ": No space left on device"));
    expect_file(in(work, "a.py"), "one");
    return entries(work) == 1 ? 0 : 1;
}

static void a_full_disk_leaves_the_old_file_and_no_half_one(void **state)
{
    (void)state;
    in_a_child(fill_a_disk);
}

static int limit_file_size(void)
{
    struct rlimit limit = {100, 100};
    setrlimit(RLIMIT_FSIZE, &limit);
    static char large[101];
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    int32_t status = workspace_save(work, "a.py", large, sizeof large, objection, &error);
    return status == CODE_EXECUTOR_IO && strstr(error.message, "File too large") ? 0 : 1;
}

static void a_limit_on_files_does_not_end_the_host(void **state)
{
    (void)state;
    in_a_child(limit_file_size);
}

static int save_without_descriptors(void)
{
    struct rlimit limit = {4, 4};
    setrlimit(RLIMIT_NOFILE, &limit);
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    int32_t status = workspace_save(work, "a/b/c.py", "x", 1, objection, &error);
    return status == CODE_EXECUTOR_IO && strstr(error.message, "Too many open files") ? 0 : 1;
}

static void descriptors_that_run_out_are_an_error(void **state)
{
    (void)state;
    in_a_child(save_without_descriptors);
}

static int save_as_nobody(void)
{
    saved("mine/a.py", "one");
    chmod(in(work, "mine"), 0);
    chmod(work, 0555);
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
        return 77;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    if (workspace_save(work, "a.py", "x", 1, objection, &error) != CODE_EXECUTOR_DENIED)
        return 1;
    if (workspace_save(work, "mine/a.py", "x", 1, objection, &error) != CODE_EXECUTOR_OK)
        return 2;
    return strcmp(objection, "Cannot save mine/a.py: Permission denied") == 0 ? 0 : 3;
}

static void a_workspace_without_permission_is_an_error_and_a_folder_a_refusal(void **state)
{
    (void)state;
    chmod(root, 0755);
    in_a_child(save_as_nobody);
    chmod(work, 0755);
    chmod(in(work, "mine"), 0755);
}

static void no_descriptor_stays_open(void **state)
{
    (void)state;
    int before = dup(0);
    close(before);
    assert_int_equal(symlink(outside, in(work, "link")), 0);
    saved("a/b/c.py", "x");
    refused("link/c.py", OUTSIDE);
    refused("a/b", "Cannot save a/b: there is a folder of that name");
    workspace_remove(work, "a/b/c.py");
    workspace_remove(work, "no/such");
    int after = dup(0);
    close(after);
    assert_int_equal(after, before);
}

/* Code that can write to the workspace's parent must not move the workspace to where it pleases. */
static void a_workspace_that_became_a_link_is_refused(void **state)
{
    (void)state;
    char moved[80];
    snprintf(moved, sizeof moved, "%s.moved", work);
    assert_int_equal(mkdir(work, 0777) == 0 || errno == EEXIST, 1);
    assert_int_equal(rename(work, moved), 0);
    assert_int_equal(symlink(outside, work), 0);
    size_t before = entries(outside);
    assert_int_equal(save("planted", "x"), CODE_EXECUTOR_DENIED);
    assert_int_equal(workspace_make(work, NULL), CODE_EXECUTOR_DENIED);
    workspace_remove(work, "secret");
    assert_int_equal(entries(outside), before);
    assert_int_equal(unlink(work), 0);
    assert_int_equal(rename(moved, work), 0);
    assert_int_equal(save("planted", "x"), CODE_EXECUTOR_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_is_saved_and_saved_again),
        TEST(folders_above_it_are_made),
        TEST(the_last_folder_of_the_workspace_is_made_and_no_other),
        TEST(a_file_in_the_place_of_the_workspace_is_an_error),
        TEST(a_workspace_that_became_a_link_is_refused),
        TEST(modes_follow_the_umask),
        TEST(a_file_that_could_be_run_still_can),
        TEST(a_setuid_bit_is_not_handed_on),
        TEST(bytes_are_kept),
        TEST(removing_takes_the_file_and_what_is_not_there),
        TEST(a_link_to_a_file_is_refused),
        TEST(a_link_to_nothing_is_refused),
        TEST(a_link_within_the_workspace_is_refused),
        TEST(a_link_above_the_file_is_refused),
        TEST(a_link_of_the_kernel_is_refused),
        TEST(removing_follows_no_link),
        TEST(a_hard_link_is_not_written_through),
        TEST(a_fifo_holds_nobody_up),
        TEST(a_socket_is_refused),
        TEST(a_device_is_refused),
        TEST(a_folder_in_its_place_is_refused),
        TEST(a_file_in_the_place_of_a_folder_is_refused),
        TEST(a_name_that_is_too_long_is_refused),
        TEST(a_workspace_that_is_replaced_is_found_again),
        TEST(a_race_for_the_folder_is_never_lost),
        TEST(a_race_for_the_file_is_never_lost),
        TEST(a_race_against_removal_ends),
        TEST(a_full_disk_leaves_the_old_file_and_no_half_one),
        TEST(a_limit_on_files_does_not_end_the_host),
        TEST(descriptors_that_run_out_are_an_error),
        TEST(a_workspace_without_permission_is_an_error_and_a_folder_a_refusal),
        TEST(no_descriptor_stays_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
