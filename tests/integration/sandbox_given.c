/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox_given.c: what is given to a sandbox, or shared with it because the kernel knows it by user or session,
 * and cannot be turned against the host: the workspace, binds, key rings, priorities, watches.
 */
#include "sandbox_support.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

/* A sandbox with MEMBERS, which must not start, for a reason with each of two words. */
static void assert_not_started(const char *members, int32_t status, const char *word,
                               const char *other_word)
{
    box *self = box_new(members);
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(sandbox_table()->start(self->instance, &error), status);
    if (!strstr(error.message, word) || !strstr(error.message, other_word))
        fail_msg("no \"%s\" and \"%s\" in: %s", word, other_word, error.message);
    box_free(self);
}

/* ------------------------------------------------------------------------------------------------
 * Workspace and binds
 * --------------------------------------------------------------------------------------------- */

/* As root the code could set the program that the host's kernel runs for a crash. */
static void the_kernel_is_not_given(void **state)
{
    (void)state;
    assert_not_started("\"work_dir\": \"/\"", CODE_EXECUTOR_INVALID, "work_dir", "/proc");
    assert_not_started("\"work_dir\": \"/proc\"", CODE_EXECUTOR_INVALID, "work_dir", "(proc)");
    assert_not_started("\"bind_rw\": [\"/:/mnt/all\"]", CODE_EXECUTOR_INVALID, "bind_rw", "/proc");
    assert_not_started("\"bind_rw\": [\"/proc/sys:/mnt/settings\"]", CODE_EXECUTOR_INVALID,
                       "bind_rw", "lies in /proc");
}

static void the_kernel_is_not_given_by_a_link(void **state)
{
    (void)state;
    char *link = format_text("%s/link", new_folder());
    assert_int_equal(symlink("/proc/sys", link), 0);
    char *members = format_text("\"bind_rw\": [\"%s:/mnt/settings\"]", link);
    assert_not_started(members, CODE_EXECUTOR_INVALID, "bind_rw", "(proc)");
    free(members);
    free(link);
}

static void shared_memory_can_be_given(void **state)
{
    (void)state;
    assert_int_equal(access("/dev/shm", W_OK), 0);
    box *self = box_new("\"bind_rw\": [\"/dev/shm:/mnt/shared\"]");
    assert_string_equal(box_shell(self, "ls -d /mnt/shared"), "/mnt/shared");
    box_free(self);
}

static void an_ordinary_bind_is_not_warned_of(void **state)
{
    (void)state;
    char *members = format_text("\"bind_rw\": [\"%s:/mnt/x\"]", new_folder());
    box *self = box_new(members);
    box_shell(self, "true");
    assert_null(strstr(self->warnings, "bind_rw"));
    box_free(self);
    free(members);
}

/* The code has the folder that the workspace lies in, and puts a link to a secret in its place. */
static void a_link_in_the_place_of_the_workspace_is_not_followed(void **state)
{
    (void)state;
    const char *parent = new_folder();
    const char *secret = new_folder();
    char *file = format_text("%s/secret", secret);
    char *members =
        format_text("\"work_dir\": \"%s/work\", \"bind_rw\": [\"%s:/mnt/parent\"]", parent, parent);
    write_text(file, "secret");
    box *self = box_new(members);
    box_shell(self, "cd /mnt/parent && mv work away && ln -s %s work", secret);
    assert_non_null(strstr(self->warnings, "bind_rw: the workspace lies in"));
    const outcome *ran = box_run(self, "sh", "cat secret; echo written > secret");
    assert_int_not_equal(ran->status, CODE_EXECUTOR_OK);
    assert_null(strstr(ran->output, "secret"));
    char *text = read_text(file);
    assert_string_equal(text, "secret");
    free(text);
    box_free(self);
    free(members);
    free(file);
}

/* The same at the worst moment, by another sandbox that has the folder: when the path was looked at, and
 * bubblewrap has not mounted it yet. A program before bubblewrap does what the other would. */
static void another_workspace_in_its_place_while_it_starts_is_noticed(void **state)
{
    (void)state;
    const char *work_dir = new_folder();
    const char *secret = new_folder();
    char *program = format_text("%s/bwrap", new_folder());
    char *script = format_text("#!/bin/sh\nleft=$#\nwhile [ $left -gt 0 ]; do\n"
                               "    word=$1; shift; left=$((left - 1))\n"
                               "    [ \"$word\" = '%s' ] && word='%s'\n"
                               "    set -- \"$@\" \"$word\"\ndone\nexec bwrap \"$@\"\n",
                               work_dir, secret);
    write_text(program, script);
    assert_int_equal(chmod(program, 0755), 0);
    char *members = format_text("\"work_dir\": \"%s\", \"bwrap\": \"%s\"", work_dir, program);
    assert_not_started(members, CODE_EXECUTOR_UNAVAILABLE, "in the place of the workspace", "");
    free(members);
    free(script);
    free(program);
}

static void a_workspace_that_is_a_fifo_is_refused(void **state)
{
    (void)state;
    char *fifo = format_text("%s/fifo", new_folder());
    assert_int_equal(mkfifo(fifo, 0600), 0);
    char *members = format_text("\"work_dir\": \"%s\"", fifo);
    code_executor_instance *instance = NULL;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    char *json = format_text("{%s}", members);
    int32_t status = sandbox_table()->create(NULL, json, &instance, &error);
    if (status == CODE_EXECUTOR_OK)
        status = sandbox_table()->start(instance, &error);
    assert_int_not_equal(status, CODE_EXECUTOR_OK);
    assert_non_null(strstr(error.message, fifo));
    sandbox_table()->destroy(instance);
    free(json);
    free(members);
    free(fifo);
}

/* ------------------------------------------------------------------------------------------------
 * By session and by user
 * --------------------------------------------------------------------------------------------- */

/* With the filter no key is in reach; without it, those of the session are not there. */
static void keys_of_the_session_stay_outside(void **state)
{
    enum { JOIN_SESSION = 1, SESSION = -3, SEARCH = 10 };
    (void)state;
    const char *name = unique_word();
    if (syscall(SYS_keyctl, JOIN_SESSION, "sandbox-test", 0, 0, 0) < 0 ||
        syscall(SYS_add_key, "user", name, "secret", 6, SESSION) < 0) {
        print_message("no keys can be had here: %s\n", strerror(errno));
        return;
    }
    assert_true(syscall(SYS_keyctl, SEARCH, SESSION, "user", name, 0) > 0);
    box *self = box_new("\"seccomp\": false");
    assert_string_equal(box_attack(self, "find-key %s", name), "ENOKEY");
    assert_true(syscall(SYS_keyctl, SEARCH, SESSION, "user", name, 0) > 0); /* ours is untouched */
    box_free(self);
}

/* A host that may run before all others, as one for audio, does not hand that on. Here it may where the test's
 * user can raise its own limits. */
static void priorities_of_the_host_are_not_handed_on(void **state)
{
    (void)state;
    struct rlimit before[2];
    struct rlimit high = {20, 20};
    assert_int_equal(getrlimit(RLIMIT_RTPRIO, &before[0]), 0);
    assert_int_equal(getrlimit(RLIMIT_NICE, &before[1]), 0);
    (void)setrlimit(RLIMIT_RTPRIO, &high);
    (void)setrlimit(RLIMIT_NICE, &high);
    box *self = box_new("");
    char *answer = strdup(box_attack(self, "real-time"));
    assert_string_equal(answer, "EPERM");
    assert_string_equal(box_attack(self, "priority -1"), "EACCES");
    free(answer);
    box_free(self);
    (void)setrlimit(RLIMIT_RTPRIO, &before[0]);
    (void)setrlimit(RLIMIT_NICE, &before[1]);
}

/* The kernel counts watches by user; what code took is given back when it ends. */
static void watches_are_given_back(void **state)
{
    (void)state;
    box *self = box_new("");
    box_attack(self,
               "watch-all > watched 2>&1 & while [ ! -s watched ]; do sleep 0.01; done; echo");
    assert_string_equal(box_shell(self, "echo alive"), "alive");
    assert_int_equal(sandbox_table()->stop(self->instance, NULL), CODE_EXECUTOR_OK);
    int file = inotify_init1(IN_CLOEXEC);
    assert_true(file >= 0);
    close(file);
    box_free(self);
}

static void more_arguments_than_fit_end_in_an_error(void **state)
{
    (void)state;
    box *self = box_new("");
    const outcome *ran = box_run(self, "python",
                                 "import subprocess\n"
                                 "for words in (['x' * (8 << 20)], ['x' * 1000] * 20000):\n"
                                 "    try: subprocess.run(['true'] + words)\n"
                                 "    except OSError as error: print(error.strerror)\n");
    assert_string_equal(ran->output, "Argument list too long\nArgument list too long\n");
    assert_string_equal(box_shell(self, "echo alive"), "alive");
    box_free(self);
}

int main(void)
{
    sandbox_require();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernel_is_not_given),
        cmocka_unit_test(the_kernel_is_not_given_by_a_link),
        cmocka_unit_test(shared_memory_can_be_given),
        cmocka_unit_test(an_ordinary_bind_is_not_warned_of),
        cmocka_unit_test(a_link_in_the_place_of_the_workspace_is_not_followed),
        cmocka_unit_test(another_workspace_in_its_place_while_it_starts_is_noticed),
        cmocka_unit_test(a_workspace_that_is_a_fifo_is_refused),
        cmocka_unit_test(keys_of_the_session_stay_outside),
        cmocka_unit_test(priorities_of_the_host_are_not_handed_on),
        cmocka_unit_test(watches_are_given_back),
        cmocka_unit_test(more_arguments_than_fit_end_in_an_error),
    };
    return cmocka_run_group_tests_name("sandbox_given", tests, NULL, NULL);
}
