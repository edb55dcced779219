/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idle.c: an executor that is started and has nothing to do does nothing, neither in the host nor where the
 * code runs: no timer, no polling, no thread. On any executor; see executor_client.h for the command line.
 *
 * Who sleeps, and wakes to sleep again, has changed the processor voluntarily; the kernel counts it.
 */
#include "executor_client.h"

#include <ctype.h>
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { WINDOW_SECONDS = 2, WINDOWS = 10, ANCESTORS_MAX = 8 };

static code_executor_instance *instance;

static int set_up(void **state)
{
    (void)state;
    instance = client_create();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    host.table->destroy(instance);
    return 0;
}

/* The number behind KEY in FILE; -1: there is none. */
static long number_in(const char *file, const char *key)
{
    FILE *lines = fopen(file, "re");
    char line[256];
    long number = -1;
    while (lines && number < 0 && fgets(line, sizeof line, lines))
        if (strncmp(line, key, strlen(key)) == 0)
            number = strtol(line + strlen(key), NULL, 10);
    if (lines)
        fclose(lines);
    return number;
}

static long status_of(long pid, const char *key)
{
    char file[64];
    snprintf(file, sizeof file, "/proc/%ld/status", pid);
    return number_in(file, key);
}

static bool has_argument(long pid, const char *word)
{
    char file[64];
    char text[256];
    snprintf(file, sizeof file, "/proc/%ld/cmdline", pid);
    FILE *words = fopen(file, "re");
    size_t length = words ? fread(text, 1, sizeof text - 1, words) : 0;
    if (words)
        fclose(words);
    text[length] = '\0';
    const char *second = text + strlen(text) + 1;
    return second < text + length && strcmp(second, word) == 0;
}

/* The process `PROGRAM WORD`, as this process sees it. */
static long find_process(const char *word)
{
    DIR *processes = opendir("/proc");
    assert_non_null(processes);
    long found = -1;
    for (struct dirent *entry; found < 0 && (entry = readdir(processes));)
        if (isdigit((unsigned char)entry->d_name[0]) && has_argument(atol(entry->d_name), word))
            found = atol(entry->d_name);
    closedir(processes);
    return found;
}

static void name_of(long pid, char name[32])
{
    char file[64];
    snprintf(file, sizeof file, "/proc/%ld/comm", pid);
    FILE *comm = fopen(file, "re");
    name[0] = '\0';
    if (comm && fgets(name, 32, comm))
        name[strcspn(name, "\n")] = '\0';
    if (comm)
        fclose(comm);
}

/* The supervisor over PID, the runner, and what has started that in a sandbox. */
static size_t find_ancestors(long pid, long ancestors[ANCESTORS_MAX])
{
    char runner[32];
    char name[32];
    size_t count = 0;
    ancestors[count++] = status_of(pid, "PPid:");
    name_of(ancestors[0], runner);
    while (count < ANCESTORS_MAX) {
        long parent = status_of(ancestors[count - 1], "PPid:");
        name_of(parent, name);
        if (strcmp(name, runner) != 0 && strcmp(name, "bwrap") != 0)
            break;
        ancestors[count++] = parent;
    }
    return count;
}

/* Of this process' threads but the one that calls. */
static long sleeps_of_other_threads(void)
{
    DIR *threads = opendir("/proc/self/task");
    assert_non_null(threads);
    long sleeps = 0;
    for (struct dirent *entry; (entry = readdir(threads));) {
        char file[300];
        snprintf(file, sizeof file, "/proc/self/task/%s/status", entry->d_name);
        if (isdigit((unsigned char)entry->d_name[0]) && atol(entry->d_name) != getpid())
            sleeps += 1 + number_in(file, "voluntary_ctxt_switches:");
    }
    closedir(threads);
    return sleeps;
}

static long sleeps_of(const long *processes, size_t count)
{
    long sleeps = 0;
    for (size_t i = 0; i < count; i++) {
        long own = status_of(processes[i], "voluntary_ctxt_switches:");
        assert_true(own >= 0); /* it lives */
        sleeps += own;
    }
    return sleeps;
}

/* Whether nobody wakes for a while. What still had to be done takes its time, so several are tried. */
static bool becomes_idle(const long *processes, size_t count)
{
    for (int i = 0; i < WINDOWS; i++) {
        long host_before = is_instrumented() ? 0 : sleeps_of_other_threads();
        long others_before = sleeps_of(processes, count);
        sleep(WINDOW_SECONDS);
        long host_after = is_instrumented() ? 0 : sleeps_of_other_threads();
        if (host_after == host_before && sleeps_of(processes, count) == others_before)
            return true;
    }
    return false;
}

static void nobody_wakes_while_nothing_runs(void **state)
{
    (void)state;
    char duration[64];
    char script[128];
    snprintf(duration, sizeof duration, "1000000.%d", (int)getpid());
    snprintf(script, sizeof script, "sleep %s > /dev/null 2>&1 & echo begun", duration);
    client_expect_output(instance, "echo one", "one\n");
    client_expect_output(instance, script, "begun\n");
    client_expect_output(instance, "echo three", "three\n");
    long processes[ANCESTORS_MAX];
    long sleeper = -1;
    for (int i = 0; i < 500 && (sleeper = find_process(duration)) < 0; i++)
        usleep(10000); /* it may still be on its way to exec */
    if (sleeper < 0) {
        if (getenv("CODE_EXECUTOR_REQUIRE_ALL"))
            fail_msg("the engine's processes cannot be seen from here");
        print_message("skipped: the engine's processes cannot be seen from here\n");
        skip();
    }
    size_t count = find_ancestors(sleeper, processes);
    assert_true(count >= 2); /* supervisor and runner */
    assert_true(becomes_idle(processes, count));
    client_expect_output(instance, "echo four", "four\n");
}

int main(int argc, char **argv)
{
    client_begin(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nobody_wakes_while_nothing_runs, set_up, tear_down),
    };
    return client_end(cmocka_run_group_tests_name("idle", tests, NULL, NULL));
}
