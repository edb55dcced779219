/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runner_collect.c: code that is left from before holds up the runner's own commands, which copy a workspace
 * out. They are continued; where that does not help they are given up, long before their time is up.
 */
#include "runner_client.h"
#include <collect.h>
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* More than a pipe holds. */
enum { FILES = 64, FILE_SIZE = 8192, LONG_MS = 60000 };

static const char *const collect[] = {COLLECT_PROGRAM, COLLECT_WORD, "0", "1000000000", NULL};
static const char *const *const collecting[] = {collect, NULL};

static void pause_ms(long milliseconds)
{
    const struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

static void make_files(void)
{
    static const char bytes[FILE_SIZE];
    for (int i = 0; i < FILES; i++) {
        char name[32];
        snprintf(name, sizeof name, "file-%d", i);
        int file = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_int_equal(write(file, bytes, sizeof bytes), sizeof bytes);
        close(file);
    }
}

/* Whether the process collects, for a runner of this test's folder. */
static bool collects(const char *pid, const char *folder)
{
    char path[300], words[64] = "", its_folder[4096] = "";
    snprintf(path, sizeof path, "/proc/%s/cmdline", pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t length = read(file, words, sizeof words - 1);
    close(file);
    const char *second = words + strlen(words) + 1;
    snprintf(path, sizeof path, "/proc/%s/cwd", pid);
    return length > 0 && second < words + length && strcmp(second, COLLECT_WORD) == 0 &&
           (readlink(path, its_folder, sizeof its_folder - 1) < 0 ||
            strcmp(its_folder, folder) == 0);
}

static pid_t find_collect(void)
{
    char folder[4096];
    assert_non_null(getcwd(folder, sizeof folder));
    for (int waited = 0; waited < LONG_MS; waited += 10) {
        DIR *processes = opendir("/proc");
        pid_t found = 0;
        for (struct dirent *entry; found == 0 && (entry = readdir(processes));)
            if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
                collects(entry->d_name, folder))
                found = atoi(entry->d_name);
        closedir(processes);
        if (found)
            return found;
        pause_ms(10);
    }
    fail_msg("nothing collects");
    return 0;
}

/* It has begun, and waits for credit. */
static pid_t spawn_collect(client *runner, uint32_t number)
{
    client_spawn(
        runner, number,
        &(client_command){.candidates = collecting, .no_credit = true, .timeout_ms = LONG_MS});
    pid_t pid = find_collect();
    pause_ms(200);
    return pid;
}

static void expect_exit(client_exit *result, uint32_t how, const char *detail)
{
    if (result->how != how || !strstr(result->detail, detail))
        fail_msg("how %u: %s", result->how, result->detail);
    client_exit_free(result);
}

static void stopped_collect_goes_on(void **state)
{
    (void)state;
    make_files();
    client runner = client_start(NULL);
    assert_int_equal(kill(spawn_collect(&runner, 1), SIGSTOP), 0);
    client_credit(&runner, 1, FILES * 2 * FILE_SIZE);
    client_exit result = client_wait(&runner, 1);
    assert_true(result.length[1] > (size_t)FILES * FILE_SIZE);
    expect_exit(&result, EXIT_EXITED, "");
    client_end(&runner);
}

static void collect_that_is_stopped_again_and_again_is_given_up(void **state)
{
    (void)state;
    make_files();
    client runner = client_start(NULL);
    pid_t pid = spawn_collect(&runner, 1);
    pid_t attacker = fork();
    if (attacker == 0) {
        while (kill(pid, SIGSTOP) == 0)
            continue;
        _exit(0);
    }
    waitpid(attacker, NULL, 0);
    client_credit(&runner, 1, FILES * 2 * FILE_SIZE);
    client_exit result = client_wait(&runner, 1);
    expect_exit(&result, EXIT_LOST, "stopped again and again");
    client_end(&runner);
}

/* A debugger's stop is seen by nobody else, and SIGCONT does not end it. That a host takes nothing for a while,
 * meanwhile, is another matter. */
static void collect_of_which_nothing_comes_is_given_up(void **state)
{
    (void)state;
    make_files();
    client runner = client_start(NULL);
    pid_t pid = spawn_collect(&runner, 1);
    if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) != 0) {
        client_kill(&runner, 1, SIGKILL, 0);
        client_exit killed = client_wait(&runner, 1);
        client_exit_free(&killed);
        client_end(&runner);
        skip_because("this user may not debug what is not dumpable");
        return;
    }
    assert_int_equal(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL), 0);
    assert_int_equal(waitpid(pid, NULL, __WALL), pid);
    client_spawn(&runner, 2, &(client_command){.candidates = collecting, .no_credit = true});
    client_credit(&runner, 1, FILES * 2 * FILE_SIZE);
    client_exit result = client_wait(&runner, 1);
    expect_exit(&result, EXIT_TIMED_OUT, "held up");
    waitpid(pid, NULL, __WALL); /* its death is told to the debugger first */
    client_credit(&runner, 2, FILES * 2 * FILE_SIZE);
    result = client_wait(&runner, 2);
    expect_exit(&result, EXIT_EXITED, "");
    client_end(&runner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUNNER_TEST(stopped_collect_goes_on),
        RUNNER_TEST(collect_that_is_stopped_again_and_again_is_given_up),
        RUNNER_TEST(collect_of_which_nothing_comes_is_given_up),
    };
    return cmocka_run_group_tests_name("runner_collect", tests, NULL, NULL);
}
