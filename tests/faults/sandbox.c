/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.c: what happens to a sandbox when something dies, is missing, is forbidden or lies.
 *
 *     the host            killed while it runs code, while it starts
 *     bubblewrap          killed, missing, too old, silent, babbling
 *     process 1           killed, stopped
 *     the system          no user namespaces, no descriptors
 */
#include "sandbox_support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* Generous: what is awaited comes within milliseconds, or never. */
enum { SECONDS = 20 };

static void sleep_ms(long milliseconds)
{
    nanosleep(&(struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000}, NULL);
}

/* ------------------------------------------------------------------------------------------------
 * The host is killed
 * --------------------------------------------------------------------------------------------- */

/* A process that is a host: BEHAVE runs in it, and then it waits to be killed. */
static pid_t start_host(void (*behave)(const char *argument), const char *argument)
{
    pid_t host = fork();
    assert_true(host >= 0);
    if (host == 0) {
        behave(argument);
        for (;;)
            pause();
    }
    return host;
}

static void kill_host(pid_t host)
{
    assert_int_equal(kill(host, SIGKILL), 0);
    assert_int_equal(waitpid(host, NULL, 0), host);
}

static void run_something_stubborn(const char *word)
{
    box *self = box_new("");
    box_attack(self, "hide %s > /dev/null 2>&1; trap '' TERM; sleep 600", word);
}

static void nothing_is_left_of_a_killed_host(void **state)
{
    (void)state;
    char *word = strdup(unique_word());
    pid_t host = start_host(run_something_stubborn, word);
    assert_true(process_becomes(word, true, SECONDS));
    kill_host(host);
    assert_true(process_becomes(word, false, SECONDS));
    free(word);
}

/* bubblewrap has the workspace among its arguments; so has every part of a start that hangs on. */
static void start_in(const char *work_dir)
{
    char *members = format_text("\"work_dir\": \"%s\"", work_dir);
    box *self = box_new(members);
    for (;;) {
        (void)sandbox_table()->start(self->instance, NULL);
        (void)sandbox_table()->stop(self->instance, NULL);
    }
}

static void nothing_is_left_of_a_host_killed_while_it_starts(void **state)
{
    (void)state;
    for (long i = 0; i < 24; i++) {
        const char *work_dir = new_folder();
        pid_t host = start_host(start_in, work_dir);
        sleep_ms(5 + 3 * i);
        kill_host(host);
        assert_true(process_becomes(work_dir, false, SECONDS));
    }
}

/* How many cgroups in any tree bear the number of process PID as their maker's. */
static int count_cgroups(const char *folder, pid_t pid, int depth)
{
    int count = 0;
    DIR *list = depth > 0 ? opendir(folder) : NULL;
    for (struct dirent *entry = list ? readdir(list) : NULL; entry; entry = readdir(list)) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        unsigned long of = 0;
        long maker = 0;
        if (sscanf(entry->d_name, "code_executor.%lu.%ld.", &of, &maker) == 2)
            count += maker == pid;
        char *path = format_text("%s/%s", folder, entry->d_name);
        count += count_cgroups(path, pid, depth - 1);
        free(path);
    }
    if (list)
        closedir(list);
    return count;
}

static void a_cgroup_of_a_killed_host_is_swept_by_the_next(void **state)
{
    (void)state;
    box *self = box_new("");
    box_shell(self, "true");
    char *means = box_describe(self, "limits.pids.by");
    if (strncmp(means, "cgroup", 6) == 0) {
        assert_int_not_equal(count_cgroups("/sys/fs/cgroup", getpid(), 8), 0);
        char *word = strdup(unique_word());
        pid_t host = start_host(run_something_stubborn, word);
        assert_true(process_becomes(word, true, SECONDS));
        assert_int_not_equal(count_cgroups("/sys/fs/cgroup", host, 8), 0);
        kill_host(host);
        assert_true(process_becomes(word, false, SECONDS));
        for (int i = 0; i < SECONDS * 10 && count_cgroups("/sys/fs/cgroup", host, 8) > 0; i++) {
            assert_int_equal(sandbox_table()->stop(self->instance, NULL), CODE_EXECUTOR_OK);
            assert_int_equal(sandbox_table()->start(self->instance, NULL), CODE_EXECUTOR_OK);
            sleep_ms(100);
        }
        assert_int_equal(count_cgroups("/sys/fs/cgroup", host, 8), 0);
        free(word);
    } else {
        print_message("no cgroup may be made here: %s\n", means);
    }
    free(means);
    box_free(self);
    assert_int_equal(count_cgroups("/sys/fs/cgroup", getpid(), 8), 0);
}

/* A child of the host that only forks must not hold the sandbox alive. */
static void a_forked_child_of_the_host_does_not_keep_it(void **state)
{
    (void)state;
    char *word = strdup(unique_word());
    box *self = box_new("");
    box_attack(self, "hide %s > /dev/null 2>&1", word);
    assert_true(process_becomes(word, true, SECONDS));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        sleep(60);
        _exit(0);
    }
    assert_int_equal(sandbox_table()->stop(self->instance, NULL), CODE_EXECUTOR_OK);
    assert_true(process_becomes(word, false, SECONDS));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    box_free(self);
    free(word);
}

/* ------------------------------------------------------------------------------------------------
 * Parts of it are killed
 * --------------------------------------------------------------------------------------------- */

/* The parent of process PID of this namespace; 0 where there is none. */
static pid_t parent_of(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    char *text = read_text(path);
    char *end = strrchr(text, ')');
    int parent = 0;
    if (end)
        (void)sscanf(end + 1, " %*c %d", &parent);
    free(text);
    return parent;
}

/* The process outside whose arguments hold WORD. */
static pid_t find_process(const char *word)
{
    pid_t found = 0;
    DIR *list = opendir("/proc");
    assert_non_null(list);
    for (struct dirent *entry = readdir(list); entry && found == 0; entry = readdir(list)) {
        char *path = format_text("/proc/%s/cmdline", entry->d_name);
        int file = open(path, O_RDONLY | O_CLOEXEC);
        char text[16384] = "";
        ssize_t length = file >= 0 ? read(file, text, sizeof text) : 0;
        if (length > 0 && atoi(entry->d_name) != getpid() &&
            memmem(text, (size_t)length, word, strlen(word)))
            found = atoi(entry->d_name);
        if (file >= 0)
            close(file);
        free(path);
    }
    closedir(list);
    return found;
}

/* bubblewrap, which watches from outside, and process 1 inside, its child. */
static void find_parts(const box *self, pid_t *watcher, pid_t *first)
{
    *watcher = find_process(self->work_dir);
    assert_int_not_equal(*watcher, 0);
    *first = 0;
    DIR *list = opendir("/proc");
    for (struct dirent *entry = readdir(list); entry; entry = readdir(list))
        if (atoi(entry->d_name) > 0 && parent_of(atoi(entry->d_name)) == *watcher)
            *first = atoi(entry->d_name);
    closedir(list);
    assert_int_not_equal(*first, 0);
}

struct execution {
    box *self;
    const char *code;
    outcome ended;
};

static void *execute(void *argument)
{
    struct execution *execution = argument;
    execution->ended = *box_run(execution->self, "sh", execution->code);
    return NULL;
}

/* Runs a block that says WORD and sleeps; does ACT to what it is told; what became of the block. */
static outcome run_and_act(box *self, void (*act)(box *self))
{
    char *word = strdup(unique_word());
    char *code = format_text("sh -c 'sleep 600; : %s'", word);
    struct execution execution = {.self = self, .code = code};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, execute, &execution), 0);
    assert_true(process_becomes(word, true, SECONDS));
    act(self);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(process_becomes(word, false, SECONDS));
    free(code);
    free(word);
    return execution.ended;
}

static void kill_first(box *self)
{
    pid_t watcher, first;
    find_parts(self, &watcher, &first);
    assert_int_equal(kill(first, SIGKILL), 0);
}

static void kill_both(box *self)
{
    pid_t watcher, first;
    find_parts(self, &watcher, &first);
    assert_int_equal(kill(watcher, SIGKILL), 0);
    assert_int_equal(kill(first, SIGKILL), 0);
}

static void stop_it(box *self)
{
    assert_int_equal(sandbox_table()->stop(self->instance, NULL), CODE_EXECUTOR_OK);
}

/* Gone, or a corpse that its new parent has not yet buried. */
static bool has_ended(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    char *text = read_text(path);
    char *end = strrchr(text, ')');
    bool ended = !end || end[2] == 'Z';
    free(text);
    return ended;
}

/* Nobody watches any more, and it must end all the same. */
static void kill_watcher_and_stop(box *self)
{
    pid_t watcher, first;
    find_parts(self, &watcher, &first);
    assert_int_equal(kill(watcher, SIGKILL), 0);
    stop_it(self);
    assert_true(has_ended(first));
}

/* A process 1 that does nothing any more is killed after a while. */
static void halt_first_and_stop(box *self)
{
    pid_t watcher, first;
    find_parts(self, &watcher, &first);
    assert_int_equal(kill(first, SIGSTOP), 0);
    stop_it(self);
    assert_true(has_ended(first));
}

static void a_killed_sandbox_is_reported_and_replaced(void **state)
{
    void (*const deaths[])(box * self) = {kill_first, kill_both};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        box *self = box_new("");
        outcome ended = run_and_act(self, deaths[i]);
        assert_int_equal(ended.status, CODE_EXECUTOR_LOST);
        assert_int_equal(ended.outcome, CODE_EXECUTOR_OUTCOME_FAILED);
        assert_non_null(strstr(ended.message, "sandbox"));
        assert_string_equal(box_shell(self, "echo again"), "again");
        box_free(self);
    }
}

static void it_ends_whatever_happened_to_its_parts(void **state)
{
    void (*const deaths[])(box * self) = {stop_it, kill_watcher_and_stop, halt_first_and_stop};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        box *self = box_new("");
        outcome ended = run_and_act(self, deaths[i]);
        assert_int_equal(ended.outcome, CODE_EXECUTOR_OUTCOME_CANCELLED);
        assert_string_equal(box_shell(self, "echo again"), "again");
        box_free(self);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Another bubblewrap, or none
 * --------------------------------------------------------------------------------------------- */

/* Starts with the script as bubblewrap; it must fail with STATUS and each of the WORDS. */
static void assert_start_fails(const char *script, int32_t status, const char *word,
                               const char *other_word)
{
    char *program = format_text("%s/bwrap", new_folder());
    write_text(program, script);
    assert_int_equal(chmod(program, 0755), 0);
    char *members = format_text("\"bwrap\": \"%s\"", program);
    box *self = box_new(members);
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(sandbox_table()->start(self->instance, &error), status);
    if (!strstr(error.message, word) || !strstr(error.message, other_word))
        fail_msg("no \"%s\" and \"%s\" in: %s", word, other_word, error.message);
    assert_true(process_becomes(program, false, SECONDS));
    box_free(self);
    free(members);
    free(program);
}

static void a_missing_bubblewrap_is_named_with_the_way_to_get_it(void **state)
{
    (void)state;
    box *self = box_new("\"bwrap\": \"/there/is/none\"");
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(sandbox_table()->start(self->instance, &error), CODE_EXECUTOR_UNAVAILABLE);
    assert_non_null(strstr(error.message, "/there/is/none"));
    assert_non_null(strstr(error.message, "apt-get install bubblewrap"));
    box_free(self);
}

static void bubblewrap_is_not_taken_from_a_relative_path(void **state)
{
    (void)state;
    char *before = strdup(getenv("PATH"));
    const char *folder = new_folder();
    char *program = format_text("%s/bwrap", folder);
    write_text(program, "#!/bin/sh\nexit 0\n");
    assert_int_equal(chmod(program, 0755), 0);
    char *here = getcwd(NULL, 0);
    assert_int_equal(chdir(folder), 0);
    setenv("PATH", ".::", 1);
    box *self = box_new("");
    assert_int_equal(sandbox_table()->start(self->instance, NULL), CODE_EXECUTOR_UNAVAILABLE);
    box_free(self);
    setenv("PATH", before, 1);
    assert_int_equal(chdir(here), 0);
    free(here);
    free(program);
    free(before);
}

static void an_old_bubblewrap_is_told_from_a_new_one(void **state)
{
    (void)state;
    assert_start_fails("#!/bin/sh\necho 'bwrap: Unknown option --size' >&2; exit 1\n",
                       CODE_EXECUTOR_UNSUPPORTED, "Unknown option --size", "too old");
}

static void a_bubblewrap_that_fails_is_quoted(void **state)
{
    (void)state;
    assert_start_fails("#!/bin/sh\necho 'bwrap: something new' >&2; exit 1\n",
                       CODE_EXECUTOR_UNAVAILABLE, "something new", "");
    assert_start_fails("#!/bin/sh\nexit 0\n", CODE_EXECUTOR_UNAVAILABLE, "without a word", "");
    assert_start_fails("#!/bin/sh\nkill -9 $$\n", CODE_EXECUTOR_UNAVAILABLE, "without a word", "");
    assert_start_fails("no program at all", CODE_EXECUTOR_IO, "bwrap", "");
}

static void a_set_user_id_bubblewrap_is_told(void **state)
{
    (void)state;
    assert_start_fails(
        "#!/bin/sh\necho 'bwrap: The --size option is not permitted in setuid mode' >&2; "
        "exit 1\n",
        CODE_EXECUTOR_UNSUPPORTED, "setuid mode", "chmod u-s");
}

static void a_covered_proc_is_explained(void **state)
{
    (void)state;
    assert_start_fails("#!/bin/sh\necho \"bwrap: Can't mount proc on /newroot/proc: Operation not "
                       "permitted\" >&2; exit 1\n",
                       CODE_EXECUTOR_DENIED, "systempaths=unconfined", "/proc");
}

static void *cancel_soon(void *argument)
{
    box *self = argument;
    sleep_ms(300);
    (void)sandbox_table()->cancel(self->instance, 0, NULL);
    return NULL;
}

static void a_start_that_hangs_can_be_cancelled(void **state)
{
    (void)state;
    char *word = strdup(unique_word());
    char *program = format_text("%s/bwrap", new_folder());
    char *script = format_text(
        "#!/bin/sh\nexec sleep 600 %s 2>/dev/null || sh -c 'sleep 600; : %s'\n", "", word);
    write_text(program, script);
    assert_int_equal(chmod(program, 0755), 0);
    char *members = format_text("\"bwrap\": \"%s\"", program);
    box *self = box_new(members);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, self), 0);
    assert_int_equal(sandbox_table()->start(self->instance, NULL), CODE_EXECUTOR_CANCELLED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(process_becomes(program, false, SECONDS));
    box_free(self);
    free(members);
    free(script);
    free(program);
    free(word);
}

/* ------------------------------------------------------------------------------------------------
 * The system forbids it
 * --------------------------------------------------------------------------------------------- */

/* In a user namespace where there may be no further ones. Returns what start said. */
static int start_without_namespaces(void)
{
    char map[64];
    snprintf(map, sizeof map, "0 %d 1\n", (int)geteuid());
    if (unshare(CLONE_NEWUSER) != 0)
        return 77;
    write_text("/proc/self/setgroups", "deny");
    write_text("/proc/self/uid_map", map);
    write_text("/proc/sys/user/max_user_namespaces", "0");
    box *self = box_new("");
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    int32_t status = sandbox_table()->start(self->instance, &error);
    if (status != CODE_EXECUTOR_DENIED || !strstr(error.message, "user.max_user_namespaces = 0")) {
        printf("%d: %s\n", (int)status, error.message);
        return 1;
    }
    return 0;
}

static void the_switch_that_forbids_namespaces_is_named(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(start_without_namespaces());
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77);
}

static int count_descriptors(void)
{
    int count = 0;
    DIR *list = opendir("/proc/self/fd");
    while (readdir(list))
        count++;
    closedir(list);
    return count;
}

static void without_descriptors_a_start_fails_and_leaves_none(void **state)
{
    (void)state;
    box *self = box_new("");
    box_shell(self, "true");
    stop_it(self);
    int before = count_descriptors();
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    int failures = 0;
    for (rlim_t room = 0; room < 120; room += 4) {
        /* A process may have more than its limit allows; only new ones are refused. */
        struct rlimit low = {(rlim_t)before + room, limit.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
        int32_t status = sandbox_table()->start(self->instance, NULL);
        failures += status != CODE_EXECUTOR_OK;
        assert_int_equal(sandbox_table()->stop(self->instance, NULL), CODE_EXECUTOR_OK);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        assert_int_equal(count_descriptors(), before);
    }
    assert_in_range(failures, 1, 29);
    assert_string_equal(box_shell(self, "echo again"), "again");
    box_free(self);
}

static void many_starts_leave_nothing(void **state)
{
    (void)state;
    box *self = box_new("");
    box_shell(self, "true");
    stop_it(self);
    int before = count_descriptors();
    for (int i = 0; i < 30; i++) {
        assert_int_equal(sandbox_table()->start(self->instance, NULL), CODE_EXECUTOR_OK);
        stop_it(self);
    }
    assert_int_equal(count_descriptors(), before);
    assert_true(process_becomes(self->work_dir, false, SECONDS));
    box_free(self);
}

int main(void)
{
    sandbox_require();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_left_of_a_killed_host),
        cmocka_unit_test(nothing_is_left_of_a_host_killed_while_it_starts),
        cmocka_unit_test(a_cgroup_of_a_killed_host_is_swept_by_the_next),
        cmocka_unit_test(a_forked_child_of_the_host_does_not_keep_it),
        cmocka_unit_test(a_killed_sandbox_is_reported_and_replaced),
        cmocka_unit_test(it_ends_whatever_happened_to_its_parts),
        cmocka_unit_test(a_missing_bubblewrap_is_named_with_the_way_to_get_it),
        cmocka_unit_test(bubblewrap_is_not_taken_from_a_relative_path),
        cmocka_unit_test(an_old_bubblewrap_is_told_from_a_new_one),
        cmocka_unit_test(a_bubblewrap_that_fails_is_quoted),
        cmocka_unit_test(a_set_user_id_bubblewrap_is_told),
        cmocka_unit_test(a_covered_proc_is_explained),
        cmocka_unit_test(a_start_that_hangs_can_be_cancelled),
        cmocka_unit_test(the_switch_that_forbids_namespaces_is_named),
        cmocka_unit_test(without_descriptors_a_start_fails_and_leaves_none),
        cmocka_unit_test(many_starts_leave_nothing),
    };
    return cmocka_run_group_tests_name("sandbox_faults", tests, NULL, NULL);
}
