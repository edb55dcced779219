/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workspace_copy.c: an executor whose code cannot see the workspace. Its launcher starts the real runner in
 * another folder of this machine, which stands for another machine's, and has files copied. It is called
 * through the table of a plugin that is made of it.
 */
#include "commandline.h"
#include "config.h"
#include "fork_guard.h"
#include "helper_process.h"
#include "private_folder.h"
#include "socket_transport.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define LIMIT_BYTES (4 * 1024 * 1024)

/* ---- the launcher ------------------------------------------------------------------------------- */

static char *elsewhere; /* the folder that the code sees */
static helper_process runner = HELPER_PROCESS_INIT;

static int32_t configure(const launch_context *context, json_object *config, void **state,
                         code_executor_error *error)
{
    (void)context;
    (void)config;
    (void)error;
    *state = NULL;
    return CODE_EXECUTOR_OK;
}

static int32_t launch(void *state, const launch_context *context, launched *made,
                      code_executor_error *error)
{
    (void)state;
    (void)context;
    int ends[2];
    assert_int_equal(fork_guard_socketpair(ends), 0);
    const char *const arguments[] = {"runner", NULL};
    const char *const environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin", NULL};
    const helper_process_options options = {.program = RUNNER_PROGRAM,
                                            .arguments = arguments,
                                            .environment = environment,
                                            .folder = elsewhere,
                                            .input = ends[1],
                                            .output = ends[1]};
    int32_t status = helper_process_start(&options, &runner, error);
    fork_guard_close(ends[1]);
    made->transport = socket_transport_create(ends[0], NULL, NULL);
    made->folder = strdup(elsewhere);
    made->copies_max_bytes = LIMIT_BYTES;
    return status;
}

static int32_t shut_down(void *state, const launch_context *context, bool lost,
                         code_executor_error *error)
{
    (void)state;
    (void)context;
    (void)lost;
    (void)error;
    assert_true(helper_process_wait_all(&runner, 20000));
    helper_process_close(&runner);
    return CODE_EXECUTOR_OK;
}

static void forget(void *state)
{
    (void)state;
}

static const commandline_launcher launcher = {
    .configure = configure, .launch = launch, .shut_down = shut_down, .destroy = forget};

#define SCHEMA                                                                                     \
    COMMANDLINE_SCHEMA_BEGIN COMMANDLINE_SCHEMA_PROPERTIES "\"x\": {}" COMMANDLINE_SCHEMA_END

CODE_EXECUTOR_COMMANDLINE_PLUGIN(launcher, "apart", "1", "For the test", SCHEMA);

/* ---- what a test does with it ------------------------------------------------------------------- */

struct fixture {
    const code_executor_v1 *table;
    code_executor_instance *instance;
    char *work_dir;
    code_executor_error error;
    code_executor_result *result;
    char log[4096];
    uint64_t last_id;
};

static void keep_log(void *user_data, int32_t level, const char *message)
{
    struct fixture *fixture = user_data;
    size_t length = strlen(fixture->log);
    if (level <= CODE_EXECUTOR_LOG_WARNING)
        snprintf(fixture->log + length, sizeof fixture->log - length, "%s\n", message);
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    assert_non_null(fixture);
    assert_int_equal(private_folder_make(&elsewhere, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(private_folder_make(&fixture->work_dir, NULL), CODE_EXECUTOR_OK);
    fixture->table = code_executor_plugin_v1();
    fixture->error.struct_size = sizeof fixture->error;
    code_executor_host host = {sizeof host, fixture, keep_log, NULL};
    char config[256];
    snprintf(config, sizeof config, "{\"work_dir\": \"%s\", \"delete_tmp_files\": true}",
             fixture->work_dir);
    *state = fixture;
    return fixture->table->create(&host, config, &fixture->instance, &fixture->error);
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    fixture->table->result_free(fixture->result);
    fixture->table->destroy(fixture->instance);
    private_folder_remove(fixture->work_dir, NULL);
    private_folder_remove(elsewhere, NULL);
    free(fixture->work_dir);
    free(elsewhere);
    free(fixture);
    return 0;
}

static int32_t try_language(struct fixture *fixture, const char *language, const char *script)
{
    code_executor_block block = {sizeof block, language, script, strlen(script)};
    const code_executor_block *blocks[] = {&block};
    code_executor_request request = {.struct_size = sizeof request,
                                     .blocks = blocks,
                                     .block_count = 1,
                                     .execution_id = ++fixture->last_id};
    fixture->table->result_free(fixture->result);
    fixture->error.message[0] = '\0';
    return fixture->table->execute(fixture->instance, &request, &fixture->result, &fixture->error);
}

static void *run_waiting(void *argument)
{
    struct fixture *fixture = argument;
    int32_t status = try_language(
        fixture, "sh", "cat edited; mkdir started; while [ ! -d go ]; do sleep 0.02; done");
    fixture->table->result_free(fixture->result);
    return status == CODE_EXECUTOR_OK ? fixture : NULL;
}

static void run(struct fixture *fixture, const char *script, const char *expected)
{
    assert_int_equal(try_language(fixture, "sh", script), CODE_EXECUTOR_OK);
    assert_string_equal(fixture->result->output, expected);
}

static char *path_in(const char *folder, const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void put(const char *folder, const char *name, const char *text)
{
    FILE *file = fopen(path_in(folder, name), "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static const char *get(const char *folder, const char *name)
{
    static char text[4096];
    FILE *file = fopen(path_in(folder, name), "re");
    if (!file)
        return "(no such file)";
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static ino_t inode_of(const char *folder, const char *name)
{
    struct stat status = {0};
    stat(path_in(folder, name), &status);
    return status.st_ino;
}

/* ---- there and back ----------------------------------------------------------------------------- */

static void code_sees_the_files_of_the_workspace(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(mkdir(path_in(fixture->work_dir, "data"), 0755), 0);
    put(fixture->work_dir, "data/one.txt", "one\n");
    run(fixture, "cat data/one.txt", "one\n");
}

static void files_that_code_writes_come_to_the_workspace(void **state)
{
    struct fixture *fixture = *state;
    run(fixture, "mkdir -p a/b; echo two > a/b/two.txt", "");
    assert_string_equal(get(fixture->work_dir, "a/b/two.txt"), "two\n");
}

static void files_come_also_when_the_block_fails(void **state)
{
    struct fixture *fixture = *state;
    run(fixture, "echo part > part.txt; exit 3", "");
    assert_string_equal(get(fixture->work_dir, "part.txt"), "part\n");
}

static void a_file_that_the_host_changes_is_seen_by_the_next_execution(void **state)
{
    struct fixture *fixture = *state;
    put(fixture->work_dir, "text", "old\n");
    run(fixture, "cat text", "old\n");
    put(fixture->work_dir, "text", "new\n");
    run(fixture, "cat text", "new\n");
}

static void a_file_that_both_change_in_turn_goes_back_and_forth(void **state)
{
    struct fixture *fixture = *state;
    put(fixture->work_dir, "count", "1\n");
    run(fixture, "echo 2 >> count", "");
    assert_string_equal(get(fixture->work_dir, "count"), "1\n2\n");
    put(fixture->work_dir, "count", "1\n2\n3\n");
    run(fixture, "cat count; echo 4 >> count", "1\n2\n3\n");
    assert_string_equal(get(fixture->work_dir, "count"), "1\n2\n3\n4\n");
}

static void what_the_host_makes_of_a_file_while_code_runs_stays(void **state)
{
    struct fixture *fixture = *state;
    run(fixture, "true", "");
    put(fixture->work_dir, "edited", "v1\n");
    /* The code does not touch it; the host does, meanwhile. */
    pthread_t thread;
    void *returned = NULL;
    struct fixture waiting = *fixture;
    waiting.result = NULL;
    waiting.last_id = 500;
    assert_int_equal(pthread_create(&thread, NULL, run_waiting, &waiting), 0);
    char path[4096];
    snprintf(path, sizeof path, "%s/started", elsewhere);
    while (access(path, F_OK) != 0)
        usleep(10000);
    put(fixture->work_dir, "edited", "v2\n");
    snprintf(path, sizeof path, "%s/go", elsewhere);
    assert_int_equal(mkdir(path, 0755), 0);
    pthread_join(thread, &returned);
    assert_non_null(returned);
    assert_string_equal(get(fixture->work_dir, "edited"), "v2\n");
    run(fixture, "cat edited", "v2\n");
}

static void folders_that_are_moved_come_whole(void **state)
{
    struct fixture *fixture = *state;
    run(fixture, "mkdir -p a/c; echo hi > a/c/f", "");
    run(fixture, "mv a b", "");
    assert_string_equal(get(fixture->work_dir, "b/c/f"), "hi\n");
}

/* Then its times are those of a folder that was only changed. */
static void folders_that_are_moved_and_changed_come_whole(void **state)
{
    struct fixture *fixture = *state;
    run(fixture, "mkdir -p a/c one/two; echo hi > a/c/f; echo old > one/two/g; echo old > a/h", "");
    run(fixture, "mv a b; echo new > b/x; mv one/two one/three; echo new > one/three/y", "");
    assert_string_equal(get(fixture->work_dir, "b/c/f"), "hi\n");
    assert_string_equal(get(fixture->work_dir, "b/h"), "old\n");
    assert_string_equal(get(fixture->work_dir, "b/x"), "new\n");
    assert_string_equal(get(fixture->work_dir, "one/three/g"), "old\n");
    run(fixture, "rm -r one; mv b one; echo new > one/z", "");
    assert_string_equal(get(fixture->work_dir, "one/c/f"), "hi\n");
}

/* A file that was deleted here stays deleted, though the folder in which it is there has changed. */
static void folders_that_are_only_changed_bring_what_is_new(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(mkdir(path_in(fixture->work_dir, "d"), 0755), 0);
    put(fixture->work_dir, "d/given", "given\n");
    run(fixture, "mkdir e; echo old > e/old", "");
    assert_int_equal(unlink(path_in(fixture->work_dir, "e/old")), 0);
    assert_int_equal(unlink(path_in(fixture->work_dir, "d/given")), 0);
    run(fixture, "echo new > e/new; echo new > d/new", "");
    assert_string_equal(get(fixture->work_dir, "e/new"), "new\n");
    assert_string_equal(get(fixture->work_dir, "d/new"), "new\n");
    assert_string_equal(get(fixture->work_dir, "e/old"), "(no such file)");
    assert_string_equal(get(fixture->work_dir, "d/given"), "(no such file)");
}

static void what_nobody_changes_stays_as_it_is(void **state)
{
    struct fixture *fixture = *state;
    put(fixture->work_dir, "kept", "kept\n");
    run(fixture, "true", "");
    ino_t here = inode_of(fixture->work_dir, "kept"), there = inode_of(elsewhere, "kept");
    run(fixture, "true", "");
    run(fixture, "touch kept", "");
    assert_int_equal(inode_of(fixture->work_dir, "kept"), here);
    run(fixture, "true", "");
    assert_int_equal(inode_of(elsewhere, "kept"), there);
}

static void programs_can_be_run_on_both_sides(void **state)
{
    struct fixture *fixture = *state;
    put(fixture->work_dir, "in", "#!/bin/sh\necho in\n");
    assert_int_equal(chmod(path_in(fixture->work_dir, "in"), 0755), 0);
    run(fixture, "./in; cp in out", "in\n");
    assert_int_equal(access(path_in(fixture->work_dir, "out"), X_OK), 0);
}

static void permission_to_run_comes_alone(void **state)
{
    struct fixture *fixture = *state;
    run(fixture, "echo 'echo ran' > tool", "");
    assert_int_equal(access(path_in(fixture->work_dir, "tool"), X_OK), -1);
    run(fixture, "chmod +x tool", "");
    assert_int_equal(access(path_in(fixture->work_dir, "tool"), X_OK), 0);
}

static void files_larger_than_a_frame_are_copied_whole(void **state)
{
    struct fixture *fixture = *state;
    struct stat status;
    run(fixture, "head -c 3000000 /dev/zero | tr '\\0' x > large; md5sum < large > sum", "");
    assert_int_equal(stat(path_in(fixture->work_dir, "large"), &status), 0);
    assert_int_equal(status.st_size, 3000000);
    assert_int_equal(truncate(path_in(fixture->work_dir, "large"), 2999999), 0);
    run(fixture, "stat -c %s large", "2999999\n");
}

static void an_empty_file_is_copied(void **state)
{
    struct fixture *fixture = *state;
    run(fixture, ": > nothing", "");
    assert_string_equal(get(fixture->work_dir, "nothing"), "");
}

static void a_named_block_is_there_for_the_next_one(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(try_language(fixture, "html", "<!-- filename: page.html -->\n<p>"),
                     CODE_EXECUTOR_OK);
    run(fixture, "# filename: tool.sh\ncat page.html", "<!-- filename: page.html -->\n<p>");
    assert_string_equal(get(fixture->work_dir, "tool.sh"), "# filename: tool.sh\ncat page.html");
}

static void temporary_files_are_removed_on_both_sides(void **state)
{
    struct fixture *fixture = *state;
    run(fixture, "true", "");
    run(fixture, "ls -A | grep -c tmp_code", "1\n"); /* this block's own */
    assert_int_equal(rmdir(fixture->work_dir), 0);
    assert_int_equal(mkdir(fixture->work_dir, 0700), 0);
}

static void a_restart_keeps_what_was_written(void **state)
{
    struct fixture *fixture = *state;
    run(fixture, "echo x > x", "");
    assert_int_equal(fixture->table->restart(fixture->instance, NULL), CODE_EXECUTOR_OK);
    run(fixture, "cat x", "x\n");
}

static void *run_twin(void *argument)
{
    struct fixture *fixture = argument;
    char script[64];
    static int number;
    int mine = __atomic_add_fetch(&number, 1, __ATOMIC_SEQ_CST);
    snprintf(script, sizeof script, "echo %d > file%d", mine, mine);
    code_executor_block block = {sizeof block, "sh", script, strlen(script)};
    const code_executor_block *blocks[] = {&block};
    code_executor_request request = {.struct_size = sizeof request,
                                     .blocks = blocks,
                                     .block_count = 1,
                                     .execution_id = 1000 + (uint64_t)mine};
    code_executor_result *result = NULL;
    int32_t status = fixture->table->execute(fixture->instance, &request, &result, NULL);
    fixture->table->result_free(result);
    return status == CODE_EXECUTOR_OK ? fixture : NULL;
}

static void executions_at_once_bring_what_each_has_written(void **state)
{
    struct fixture *fixture = *state;
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_twin, fixture), 0);
    for (int i = 0; i < 8; i++) {
        void *returned = NULL;
        pthread_join(threads[i], &returned);
        assert_ptr_equal(returned, fixture);
    }
    for (int i = 1; i <= 8; i++) {
        char name[16], expected[16];
        snprintf(name, sizeof name, "file%d", i);
        snprintf(expected, sizeof expected, "%d\n", i);
        assert_string_equal(get(fixture->work_dir, name), expected);
    }
}

/* ---- attacks, and what cannot be copied --------------------------------------------------------- */

static void links_that_code_makes_are_not_copied(void **state)
{
    struct fixture *fixture = *state;
    run(fixture, "ln -s /etc/passwd file; ln -s /etc folder; echo ok > real", "");
    assert_string_equal(get(fixture->work_dir, "real"), "ok\n");
    assert_int_equal(access(path_in(fixture->work_dir, "file"), F_OK), -1);
    assert_int_equal(access(path_in(fixture->work_dir, "folder"), F_OK), -1);
}

static void code_cannot_write_through_a_link_of_the_workspace(void **state)
{
    struct fixture *fixture = *state;
    char *outside = NULL;
    assert_int_equal(private_folder_make(&outside, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(symlink(outside, path_in(fixture->work_dir, "out")), 0);
    run(fixture, "mkdir out; echo bad > out/file; echo good > file", "");
    assert_string_equal(get(fixture->work_dir, "file"), "good\n");
    assert_string_equal(get(outside, "file"), "(no such file)");
    assert_non_null(strstr(fixture->log, "out/file: is not copied out of the workspace"));
    private_folder_remove(outside, NULL);
    free(outside);
}

static void a_fifo_holds_nobody_up(void **state)
{
    struct fixture *fixture = *state;
    run(fixture, "mkfifo pipe; echo after > z", "");
    assert_string_equal(get(fixture->work_dir, "z"), "after\n");
    assert_int_equal(access(path_in(fixture->work_dir, "pipe"), F_OK), -1);
}

static void a_file_beyond_the_limit_is_named_and_left(void **state)
{
    struct fixture *fixture = *state;
    run(fixture, "truncate -s 1T huge; echo small > small", "");
    assert_string_equal(get(fixture->work_dir, "small"), "small\n");
    assert_int_equal(access(path_in(fixture->work_dir, "huge"), F_OK), -1);
    assert_non_null(strstr(fixture->log, "huge: is not copied out of the workspace"));
}

static void what_was_too_much_at_once_comes_later(void **state)
{
    struct fixture *fixture = *state;
    run(fixture, "head -c 3000000 /dev/zero > one; head -c 3000000 /dev/zero > two", "");
    bool one_came = access(path_in(fixture->work_dir, "one"), F_OK) == 0;
    assert_true(one_came != (access(path_in(fixture->work_dir, "two"), F_OK) == 0));
    run(fixture, one_came ? "rm one" : "rm two", "");
    assert_int_equal(access(path_in(fixture->work_dir, "one"), F_OK), 0);
    assert_int_equal(access(path_in(fixture->work_dir, "two"), F_OK), 0);
}

static void a_workspace_that_takes_no_more_says_so(void **state)
{
    struct fixture *fixture = *state;
    if (geteuid() != 0 || mount("none", fixture->work_dir, "tmpfs", 0, "size=64k") != 0)
        skip();
    int32_t status = try_language(fixture, "sh", "head -c 500000 /dev/zero > large");
    char message[sizeof fixture->error.message];
    strcpy(message, fixture->error.message);
    umount2(fixture->work_dir, MNT_DETACH);
    assert_int_equal(status, CODE_EXECUTOR_IO);
    assert_non_null(strstr(message, "large"));
}

static void a_workspace_beyond_the_limit_is_refused(void **state)
{
    struct fixture *fixture = *state;
    put(fixture->work_dir, "large", "");
    assert_int_equal(truncate(path_in(fixture->work_dir, "large"), LIMIT_BYTES + 1), 0);
    assert_int_equal(try_language(fixture, "sh", "true"), CODE_EXECUTOR_INVALID);
    assert_non_null(strstr(fixture->error.message, "workspace_max_bytes"));
    assert_int_equal(unlink(path_in(fixture->work_dir, "large")), 0);
    run(fixture, "echo works again", "works again\n");
}

static void a_folder_in_the_place_of_a_file_is_told(void **state)
{
    struct fixture *fixture = *state;
    put(fixture->work_dir, "thing", "thing\n");
    run(fixture, "rm thing; mkdir thing; echo x > thing/x", "");
    assert_string_equal(get(fixture->work_dir, "thing"), "thing\n");
    assert_non_null(strstr(fixture->log, "thing/x: is not copied out of the workspace"));
}

static void a_block_whose_place_code_has_taken_is_refused(void **state)
{
    struct fixture *fixture = *state;
    run(fixture, "mkdir taken.sh", "");
    assert_int_equal(try_language(fixture, "sh", "# filename: taken.sh\necho x"), CODE_EXECUTOR_OK);
    assert_int_equal(fixture->result->outcome, CODE_EXECUTOR_OUTCOME_REFUSED);
    assert_non_null(strstr(fixture->result->output, "taken.sh"));
}

static void a_workspace_that_is_gone_is_named(void **state)
{
    struct fixture *fixture = *state;
    char words[300];
    put(fixture->work_dir, "given", "given\n");
    run(fixture, "cat given", "given\n");
    private_folder_remove(fixture->work_dir, NULL);
    run(fixture, "cat given; echo new > made", "given\n");
    snprintf(words, sizeof words, "%s: the workspace is gone, and is made anew", fixture->work_dir);
    if (!strstr(fixture->log, words))
        fail_msg("%s", fixture->log);
    assert_string_equal(get(fixture->work_dir, "made"), "new\n");
}

static void code_that_makes_files_without_end_is_bounded(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(try_language(fixture, "sh",
                                  "i=0; while :; do i=$((i+1)); echo $i > f$((i%100)); done & "
                                  "sleep 0.2; echo on"),
                     CODE_EXECUTOR_OK);
    assert_string_equal(fixture->result->output, "on\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(code_sees_the_files_of_the_workspace),
        TEST(files_that_code_writes_come_to_the_workspace),
        TEST(files_come_also_when_the_block_fails),
        TEST(a_file_that_the_host_changes_is_seen_by_the_next_execution),
        TEST(a_file_that_both_change_in_turn_goes_back_and_forth),
        TEST(what_the_host_makes_of_a_file_while_code_runs_stays),
        TEST(folders_that_are_moved_come_whole),
        TEST(folders_that_are_moved_and_changed_come_whole),
        TEST(folders_that_are_only_changed_bring_what_is_new),
        TEST(what_nobody_changes_stays_as_it_is),
        TEST(programs_can_be_run_on_both_sides),
        TEST(permission_to_run_comes_alone),
        TEST(files_larger_than_a_frame_are_copied_whole),
        TEST(an_empty_file_is_copied),
        TEST(a_named_block_is_there_for_the_next_one),
        TEST(temporary_files_are_removed_on_both_sides),
        TEST(a_restart_keeps_what_was_written),
        TEST(executions_at_once_bring_what_each_has_written),
        TEST(links_that_code_makes_are_not_copied),
        TEST(code_cannot_write_through_a_link_of_the_workspace),
        TEST(a_fifo_holds_nobody_up),
        TEST(a_file_beyond_the_limit_is_named_and_left),
        TEST(what_was_too_much_at_once_comes_later),
        TEST(a_workspace_that_takes_no_more_says_so),
        TEST(a_workspace_beyond_the_limit_is_refused),
        TEST(a_folder_in_the_place_of_a_file_is_told),
        TEST(a_block_whose_place_code_has_taken_is_refused),
        TEST(a_workspace_that_is_gone_is_named),
        TEST(code_that_makes_files_without_end_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
