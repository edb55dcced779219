/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder_removal.c: what goes with a folder in which hostile code has worked, and what stays: whatever only
 * looks as if it lay in it.
 */
#include "folder_removal.h"

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char base[64], folder[80], victim[80];

static int set_up(void **state)
{
    (void)state;
    snprintf(base, sizeof base, "/tmp/folder_removal-XXXXXX");
    if (!mkdtemp(base))
        return -1;
    snprintf(folder, sizeof folder, "%s/folder", base);
    snprintf(victim, sizeof victim, "%s/victim", base);
    return mkdir(folder, 0755) == 0 && mkdir(victim, 0755) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    char path[160];
    (void)state;
    (void)folder_remove(folder);
    snprintf(path, sizeof path, "%s/precious", victim);
    unlink(path);
    rmdir(victim);
    return rmdir(base);
}

static void make_file(const char *parent, const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", parent, name);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static const char *within(const char *name)
{
    static char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* The file in it is there, and the mode is as it was. */
static bool is_unharmed(void)
{
    char path[160];
    struct stat status;
    snprintf(path, sizeof path, "%s/precious", victim);
    return access(path, F_OK) == 0 && stat(victim, &status) == 0 &&
           (status.st_mode & 07777) == 0755;
}

static void everything_goes(void **state)
{
    (void)state;
    make_file(folder, "file");
    assert_int_equal(mkdir(within("closed"), 0755), 0);
    make_file(folder, "closed/file");
    assert_int_equal(mkdir(within("closed/inner"), 0755), 0);
    make_file(folder, "closed/inner/file");
    assert_int_equal(chmod(within("closed/inner"), 0), 0);
    assert_int_equal(chmod(within("closed"), 0), 0);
    assert_int_equal(mkfifo(within("fifo"), 0600), 0);
    assert_int_equal(folder_remove(folder), 0);
    assert_int_equal(access(folder, F_OK), -1);
    assert_int_equal(folder_remove(folder), 0); /* nor is that an error */
}

static void what_links_lead_to_stays(void **state)
{
    (void)state;
    make_file(victim, "precious");
    assert_int_equal(symlink(victim, within("link")), 0);
    assert_int_equal(mkdir(within("inner"), 0755), 0);
    assert_int_equal(symlink(victim, within("inner/link")), 0);
    assert_int_equal(folder_remove(folder), 0);
    assert_true(is_unharmed());
}

/* Deeper than there are descriptors, and longer than a path may be. */
static void folders_may_be_nested_as_deep_as_they_like(void **state)
{
    (void)state;
    int at = open(folder, O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 3000; i++) {
        assert_int_equal(mkdirat(at, "deeper", 0755), 0);
        int inner = openat(at, "deeper", O_DIRECTORY | O_CLOEXEC);
        assert_true(inner >= 0);
        close(at);
        at = inner;
    }
    close(at);
    assert_int_equal(folder_remove(folder), 0);
    assert_int_equal(access(folder, F_OK), -1);
}

/* In mounts of one's own: as root, or in a user namespace where that is permitted. */
enum { FINE, HARMED, NOTHING_LEFT_OVER, NO_MOUNTS };

static int remove_with_mounts(void)
{
    static const char *const places[] = {"mount", "inner/mount", "inner/deep/mount"};
    if (unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) != 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return NO_MOUNTS;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (mount(victim, within(places[i]), NULL, MS_BIND, NULL) != 0)
            return NO_MOUNTS;
    if (folder_remove(folder) == 0)
        return NOTHING_LEFT_OVER;
    return is_unharmed() && access(within("file"), F_OK) != 0 ? FINE : HARMED;
}

static void what_mounts_show_stays(void **state)
{
    (void)state;
    int status = -1;
    make_file(victim, "precious");
    make_file(folder, "file");
    assert_int_equal(mkdir(within("mount"), 0755), 0);
    assert_int_equal(mkdir(within("inner"), 0755), 0);
    assert_int_equal(mkdir(within("inner/mount"), 0755), 0);
    assert_int_equal(mkdir(within("inner/deep"), 0755), 0);
    assert_int_equal(mkdir(within("inner/deep/mount"), 0755), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(remove_with_mounts());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NO_MOUNTS && !getenv("CODE_EXECUTOR_REQUIRE_ALL")) {
        print_message("skipped: this user may not mount anything\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), FINE);
    assert_true(is_unharmed());
    assert_int_equal(folder_remove(folder), 0); /* without the mounts */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(everything_goes),
        TEST(what_links_lead_to_stays),
        TEST(folders_may_be_nested_as_deep_as_they_like),
        TEST(what_mounts_show_stays),
    };
    return cmocka_run_group_tests_name("folder_removal", tests, NULL, NULL);
}
