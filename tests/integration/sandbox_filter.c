/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox_filter.c: the seccomp program is one that the kernel takes, refuses what it shall, and lets the
 * rest through. That it holds inside a sandbox is sandbox_kernel.c's.
 */
#include "filter.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void build(bool pin_processors, struct sock_fprog *program)
{
    unsigned char *bytes = NULL;
    size_t length = 0;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(filter_build(pin_processors, &bytes, &length, &error), CODE_EXECUTOR_OK);
    assert_int_equal(length % sizeof(struct sock_filter), 0);
    assert_in_range(length / sizeof(struct sock_filter), 50, BPF_MAXINSNS);
    program->len = (unsigned short)(length / sizeof(struct sock_filter));
    program->filter = (struct sock_filter *)(void *)bytes;
}

/* The errno (0: success) of a system call beneath the filter; 255: the filter could not be loaded. */
static int call_beneath(bool pin_processors, long number, long first, long second, long third)
{
    struct sock_fprog program;
    build(pin_processors, &program);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
            _exit(255);
        errno = 0;
        long result = syscall(number, first, second, third, 0, 0);
        _exit(result == -1 ? errno : 0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status)); /* never killed */
    free(program.filter);
    return WEXITSTATUS(status);
}

static void what_is_refused_gets_an_errno(void **state)
{
    (void)state;
    assert_int_equal(call_beneath(false, SYS_mount, 0, 0, 0), EPERM);
    assert_int_equal(call_beneath(false, SYS_keyctl, 0, -3, 0), EPERM);
    assert_int_equal(call_beneath(false, SYS_unshare, CLONE_NEWUSER, 0, 0), EPERM);
    assert_int_equal(call_beneath(false, SYS_clone3, 0, 0, 0), ENOSYS);
    assert_int_equal(call_beneath(false, SYS_socket, 40, 1, 0), EAFNOSUPPORT);
    assert_int_equal(call_beneath(false, SYS_socketpair, 40, 1, 0), EAFNOSUPPORT);
    assert_int_equal(call_beneath(false, SYS_socket, 2, 1, 132), EPROTONOSUPPORT);
}

static void what_is_not_refused_is_let_through(void **state)
{
    (void)state;
    assert_int_equal(call_beneath(false, SYS_getpid, 0, 0, 0), 0);
    assert_int_equal(call_beneath(false, SYS_unshare, CLONE_FILES, 0, 0), 0);
    assert_int_equal(call_beneath(false, SYS_socket, 2, 1, 0), 0);
    assert_int_equal(call_beneath(false, SYS_fchmod, -1, 0755, 0), EBADF);
}

static void the_choice_of_processors_is_kept_only_when_asked_for(void **state)
{
    (void)state;
    unsigned long set[64];
    memset(set, 0xff, sizeof set);
    assert_int_equal(call_beneath(false, SYS_sched_setaffinity, 0, sizeof set, (long)set), 0);
    assert_int_equal(call_beneath(true, SYS_sched_setaffinity, 0, sizeof set, (long)set), EPERM);
}

static void the_newest_known_call_is_there_and_the_next_is_not(void **state)
{
    (void)state;
    assert_int_not_equal(call_beneath(false, 450, -1, -1, -1), EPERM);
    assert_int_equal(call_beneath(false, 451, 0, 0, 0), ENOSYS);
    assert_int_equal(call_beneath(false, 0x7fffffff, 0, 0, 0), ENOSYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_refused_gets_an_errno),
        cmocka_unit_test(what_is_not_refused_is_let_through),
        cmocka_unit_test(the_choice_of_processors_is_kept_only_when_asked_for),
        cmocka_unit_test(the_newest_known_call_is_there_and_the_next_is_not),
    };
    return cmocka_run_group_tests_name("sandbox_filter", tests, NULL, NULL);
}
