/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helper_process.c: a program is started that the host does not notice, and nothing of the host reaches
 * it but what it is given.
 */
#include "helper_process.h"

#include "fork_guard.h"
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SHELL "/bin/sh"

enum { LONG_MS = 60000 };

/* Starts a shell script whose output comes through the pipe that *OUTPUT is set to. */
static int32_t start_script(const char *script, const char *folder, helper_process *process,
                            int *output, code_executor_error *error)
{
    const char *const arguments[] = {"sh", "-c", script, NULL};
    const char *const environment[] = {"PATH=/usr/bin:/bin", "GIVEN=yes", NULL};
    int pipe_fds[2];
    if (fork_guard_pipe(pipe_fds) != 0)
        return CODE_EXECUTOR_IO;
    const helper_process_options options = {.program = SHELL,
                                            .arguments = arguments,
                                            .environment = environment,
                                            .folder = folder,
                                            .input = -1,
                                            .output = pipe_fds[1]};
    int32_t status = helper_process_start(&options, process, error);
    fork_guard_close(pipe_fds[1]);
    *output = pipe_fds[0];
    return status;
}

/* Everything that a script prints. */
static void run_script(const char *script, const char *folder, char *said, size_t size)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    helper_process process;
    int output;
    int32_t status = start_script(script, folder, &process, &output, &error);
    assert_string_equal(error.message, "");
    assert_int_equal(status, CODE_EXECUTOR_OK);
    size_t length = 0;
    ssize_t count;
    while ((count = read(output, said + length, size - 1 - length)) > 0)
        length += (size_t)count;
    said[length] = '\0';
    assert_true(helper_process_wait(&process, LONG_MS));
    assert_true(helper_process_wait_all(&process, LONG_MS));
    helper_process_close(&process);
    fork_guard_close(output);
}

static int count_descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static void it_runs_with_environment_and_folder_as_given(void **state)
{
    (void)state;
    char said[4096];
    setenv("HOST_SECRET", "x", 1);
    run_script("pwd; echo $GIVEN; echo secret=$HOST_SECRET", "/usr", said, sizeof said);
    assert_string_equal(said, "/usr\nyes\nsecret=\n");
}

static void it_holds_three_descriptors(void **state)
{
    (void)state;
    char said[4096];
    int leak = open("/dev/null", O_RDONLY); /* a host that forgot O_CLOEXEC */
    int high = fcntl(leak, F_DUPFD, 200);
    run_script("ls -v /proc/$$/fd", NULL, said, sizeof said);
    close(leak);
    close(high);
    assert_string_equal(said, "0\n1\n2\n");
}

static void further_files_come_behind_its_own(void **state)
{
    (void)state;
    int first[2];
    int second[2];
    int output[2];
    assert_int_equal(fork_guard_pipe(first) | fork_guard_pipe(second) | fork_guard_pipe(output), 0);
    assert_int_equal(write(first[1], "one", 3) + write(second[1], "two", 3), 6);
    fork_guard_close(first[1]);
    fork_guard_close(second[1]);
    const char *const arguments[] = {"sh", "-c", "cat <&5; cat <&4; ls -v /proc/$$/fd", NULL};
    const char *const environment[] = {"PATH=/usr/bin:/bin", NULL};
    const int files[] = {first[0], second[0]};
    const helper_process_options options = {.program = SHELL,
                                            .arguments = arguments,
                                            .environment = environment,
                                            .input = -1,
                                            .output = output[1],
                                            .files = files,
                                            .file_count = 2};
    helper_process process;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(helper_process_start(&options, &process, &error), CODE_EXECUTOR_OK);
    assert_true(helper_process_wait_all(&process, LONG_MS));
    char said[64] = "";
    assert_true(read(output[0], said, sizeof said - 1) > 0);
    assert_string_equal(said, "twoone0\n1\n2\n4\n5\n");
    helper_process_close(&process);
    fork_guard_close(first[0]);
    fork_guard_close(second[0]);
    fork_guard_close(output[0]);
    fork_guard_close(output[1]);
}

static volatile sig_atomic_t sigchld_count;

static void on_sigchld(int number)
{
    (void)number;
    sigchld_count++;
}

static void the_host_sees_no_child_and_no_sigchld(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = on_sigchld};
    struct sigaction before;
    sigaction(SIGCHLD, &action, &before);
    sigchld_count = 0;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    helper_process process;
    int output;
    assert_int_equal(start_script("exit 3", NULL, &process, &output, &error), CODE_EXECUTOR_OK);
    assert_int_equal(waitpid(-1, NULL, 0), -1);
    assert_true(helper_process_wait(&process, LONG_MS));
    assert_int_equal(waitpid(-1, NULL, __WALL), -1);
    assert_int_equal(sigchld_count, 0);
    helper_process_close(&process);
    fork_guard_close(output);
    sigaction(SIGCHLD, &before, NULL);
}

static void it_is_no_child_of_the_host(void **state)
{
    (void)state;
    char said[4096];
    char own[32];
    run_script("echo $PPID", NULL, said, sizeof said);
    snprintf(own, sizeof own, "%d\n", (int)getpid());
    assert_string_not_equal(said, own);
}

static void it_works_while_sigchld_is_ignored(void **state)
{
    (void)state;
    char said[4096];
    signal(SIGCHLD, SIG_IGN);
    run_script("echo fine", NULL, said, sizeof said);
    signal(SIGCHLD, SIG_DFL);
    assert_string_equal(said, "fine\n");
}

static void signals_and_session_are_its_own(void **state)
{
    (void)state;
    char said[4096];
    sigset_t blocked;
    sigset_t before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGUSR2, SIG_IGN);
    run_script("grep -E '^Sig(Blk|Ign)' /proc/self/status; cut -d' ' -f6 /proc/$$/stat; echo $$",
               NULL, said, sizeof said);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGUSR2, SIG_DFL);
    sigset_t after;
    sigprocmask(SIG_SETMASK, &before, &after);
    assert_true(sigismember(&after, SIGUSR1)); /* the host's own mask is what it was */
    int session = 0;
    int pid = 0;
    assert_int_equal(sscanf(said, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n%d\n%d",
                            &session, &pid),
                     2);
    assert_int_equal(session, pid);
}

static void assert_start_fails(const helper_process_options *options, int32_t status,
                               const char *words)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    helper_process process;
    int before = count_descriptors();
    assert_int_equal(helper_process_start(options, &process, &error), status);
    assert_non_null(strstr(error.message, words));
    assert_int_equal(count_descriptors(), before);
    assert_int_equal(waitpid(-1, NULL, __WALL), -1);
}

static void a_program_that_does_not_exist_is_reported(void **state)
{
    (void)state;
    const char *const arguments[] = {"x", NULL};
    const char *const environment[] = {NULL};
    helper_process_options options = {.program = "/nowhere/x",
                                      .arguments = arguments,
                                      .environment = environment,
                                      .input = -1,
                                      .output = -1};
    assert_start_fails(&options, CODE_EXECUTOR_NOT_FOUND,
                       "cannot execute /nowhere/x: No such file or directory");
    options.program = "/etc/passwd";
    assert_start_fails(&options, CODE_EXECUTOR_DENIED, "cannot execute /etc/passwd: Permission");
    options.program = SHELL;
    options.folder = "/nowhere";
    assert_start_fails(&options, CODE_EXECUTOR_NOT_FOUND, "cannot enter the working directory");
}

static void it_can_be_killed(void **state)
{
    (void)state;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    helper_process process;
    int output;
    char said[32] = "";
    assert_int_equal(start_script("echo $$; exec sleep 1000", NULL, &process, &output, &error),
                     CODE_EXECUTOR_OK);
    assert_true(read(output, said, sizeof said - 1) > 0);
    assert_false(helper_process_wait(&process, 0));
    helper_process_kill(&process);
    bool ended = helper_process_wait(&process, 5000);
    if (!ended)
        kill(atoi(said), SIGKILL); /* kernels before 5.2 have no pidfd to do it by */
    assert_true(helper_process_wait(&process, LONG_MS));
    assert_true(ended || process.pidfd < 0);
    helper_process_close(&process);
    fork_guard_close(output);
}

static void its_last_words_are_kept(void **state)
{
    (void)state;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    helper_process process;
    int output;
    char words[64];
    assert_int_equal(
        start_script("i=0; while [ $i -lt 900 ]; do echo line $i >&2; i=$((i+1)); done;"
                     "printf 'the\\tlast\\n' >&2",
                     NULL, &process, &output, &error),
        CODE_EXECUTOR_OK);
    assert_true(helper_process_wait_all(&process, LONG_MS));
    char all[4096];
    helper_process_words(&process, all, sizeof all);
    size_t length = strlen(all);
    assert_true(length > 100 && length < 1024);
    assert_string_equal(all + length - 8, "the?last");
    assert_string_equal(helper_process_words(&process, words, sizeof words), "");
    helper_process_close(&process);
    fork_guard_close(output);
}

static void its_forks_are_waited_for_too(void **state)
{
    (void)state;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    helper_process process;
    int output;
    assert_int_equal(start_script("sleep 1000 <&- & echo $!", NULL, &process, &output, &error),
                     CODE_EXECUTOR_OK);
    char said[32] = "";
    assert_true(read(output, said, sizeof said - 1) > 0);
    assert_true(process.pidfd < 0 || helper_process_wait(&process, LONG_MS));
    assert_false(helper_process_wait_all(&process, 100));
    kill(atoi(said), SIGKILL);
    assert_true(helper_process_wait_all(&process, LONG_MS));
    helper_process_close(&process);
    fork_guard_close(output);
}

static void *start_many(void *argument)
{
    (void)argument;
    for (int i = 0; i < 20; i++) {
        char said[64];
        run_script("echo hello", NULL, said, sizeof said);
        if (strcmp(said, "hello\n") != 0)
            return (void *)1;
    }
    return NULL;
}

static void many_threads_start_at_once(void **state)
{
    (void)state;
    pthread_t threads[8];
    int before = count_descriptors();
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, start_many, NULL), 0);
    for (size_t i = 0; i < 8; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(count_descriptors(), before);
}

/* A daemon has closed its standard descriptors, so that ours get their numbers. */
static void it_works_in_a_host_without_standard_descriptors(void **state)
{
    (void)state;
    pid_t host = fork();
    if (host == 0) {
        close(0);
        close(1);
        close(2);
        const char *const arguments[] = {"sh", "-c", "cat; echo said >&2", NULL};
        const char *const environment[] = {"PATH=/usr/bin:/bin", NULL};
        int in[2];
        int out[2];
        char said[16] = "";
        char words[16] = "";
        bool fine = fork_guard_socketpair(in) == 0 && fork_guard_pipe(out) == 0;
        /* Each in the other's place. */
        const helper_process_options options = {.program = SHELL,
                                                .arguments = arguments,
                                                .environment = environment,
                                                .input = in[0],
                                                .output = out[1]};
        helper_process process;
        fine = fine && helper_process_start(&options, &process, NULL) == CODE_EXECUTOR_OK;
        fine = fine && write(in[1], "given", 5) == 5 && shutdown(in[1], SHUT_WR) == 0;
        fine = fine && read(out[0], said, sizeof said - 1) == 5 && strcmp(said, "given") == 0;
        fine = fine && helper_process_wait_all(&process, LONG_MS);
        fine = fine && strcmp(helper_process_words(&process, words, sizeof words), "said") == 0;
        _exit(fine ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(host, &status, 0), host);
    assert_int_equal(status, 0);
}

static void a_forked_child_of_the_host_holds_no_descriptor_of_it(void **state)
{
    (void)state;
    int before = count_descriptors();
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    helper_process process;
    int output;
    assert_int_equal(start_script("exec sleep 1000", NULL, &process, &output, &error),
                     CODE_EXECUTOR_OK);
    pid_t child = fork();
    if (child == 0)
        _exit(count_descriptors() == before ? 0 : 1);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    helper_process_kill(&process);
    helper_process_close(&process);
    fork_guard_close(output);
    assert_int_equal(count_descriptors(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_runs_with_environment_and_folder_as_given),
        cmocka_unit_test(it_holds_three_descriptors),
        cmocka_unit_test(further_files_come_behind_its_own),
        cmocka_unit_test(the_host_sees_no_child_and_no_sigchld),
        cmocka_unit_test(it_is_no_child_of_the_host),
        cmocka_unit_test(it_works_while_sigchld_is_ignored),
        cmocka_unit_test(signals_and_session_are_its_own),
        cmocka_unit_test(a_program_that_does_not_exist_is_reported),
        cmocka_unit_test(it_can_be_killed),
        cmocka_unit_test(its_last_words_are_kept),
        cmocka_unit_test(its_forks_are_waited_for_too),
        cmocka_unit_test(many_threads_start_at_once),
        cmocka_unit_test(it_works_in_a_host_without_standard_descriptors),
        cmocka_unit_test(a_forked_child_of_the_host_holds_no_descriptor_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
