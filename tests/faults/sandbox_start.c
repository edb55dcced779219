/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox_start.c: bubblewrap is killed at any moment of a start, and nothing of it is left: on this kernel, and as on
 * one before 6.9, which cannot signal a process group whose leader is gone by descriptor.
 *
 * Killed early bubblewrap leaves a process behind that waits for its word, for ever.
 */
#include "sandbox_support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { SECONDS = 20, ROUNDS = 40 };

struct killer {
    const char *word; /* an argument of the bubblewrap that is meant */
    long delay_us;    /* after it was found */
    atomic_bool over;
    bool killed;
};

/* The outer bubblewrap: with WORD among its arguments, and the leader of its process group. */
static pid_t find_bubblewrap(const char *word)
{
    pid_t found = 0;
    DIR *list = opendir("/proc");
    for (struct dirent *entry = readdir(list); entry && found == 0; entry = readdir(list)) {
        pid_t pid = atoi(entry->d_name);
        char path[300];
        char text[16384];
        snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
        int file = pid > 1 && getpgid(pid) == pid ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        ssize_t length = file >= 0 ? read(file, text, sizeof text) : 0;
        if (length > 0 && memmem(text, (size_t)length, word, strlen(word)))
            found = pid;
        if (file >= 0)
            close(file);
    }
    closedir(list);
    return found;
}

static void *kill_when_found(void *argument)
{
    struct killer *self = argument;
    while (!self->killed && !atomic_load(&self->over)) {
        pid_t found = find_bubblewrap(self->word);
        if (found == 0)
            continue;
        nanosleep(&(struct timespec){0, self->delay_us * 1000}, NULL);
        self->killed = kill(found, SIGKILL) == 0;
    }
    return NULL;
}

/* Whether nothing is left of starts whose bubblewrap is killed, later in each. */
static bool nothing_is_left(void)
{
    int failures = 0;
    for (long i = 0; i < ROUNDS; i++) {
        box *self = box_new("");
        struct killer killer = {.word = self->work_dir, .delay_us = i * 250};
        atomic_init(&killer.over, false);
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, kill_when_found, &killer), 0);
        int32_t status = sandbox_table()->start(self->instance, NULL);
        atomic_store(&killer.over, true);
        assert_int_equal(pthread_join(thread, NULL), 0);
        failures += status != CODE_EXECUTOR_OK;
        (void)sandbox_table()->stop(self->instance, NULL);
        if (!process_becomes(self->work_dir, false, SECONDS)) {
            print_message("something is left after %ld us\n", killer.delay_us);
            return false;
        }
        box_free(self);
    }
    print_message("%d of %d starts failed\n", failures, ROUNDS);
    return failures > 0;
}

static void nothing_is_left_of_a_bubblewrap_killed_while_it_starts(void **state)
{
    (void)state;
    assert_true(nothing_is_left());
}

/* pidfd_send_signal knows no flags. */
static void become_old(void)
{
    struct sock_filter instructions[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_send_signal, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof instructions / sizeof instructions[0], instructions};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(2);
}

static void nothing_is_left_on_an_old_kernel(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        become_old();
        _exit(nothing_is_left() ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    sandbox_require();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_left_of_a_bubblewrap_killed_while_it_starts),
        cmocka_unit_test(nothing_is_left_on_an_old_kernel),
    };
    return cmocka_run_group_tests_name("sandbox_start", tests, NULL, NULL);
}
