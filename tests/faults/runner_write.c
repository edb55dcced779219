/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runner_write.c: files that the host writes land beneath the runner's folder, or nowhere.
 */
#include "runner_client.h"
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void send_part(client *runner, uint32_t number, uint16_t flags, const char *path,
                      uint32_t mode, const void *bytes, size_t length)
{
    payload write = {0};
    payload_string(&write, path);
    payload_u32(&write, mode);
    payload_bytes(&write, bytes, length);
    client_send(runner, FRAME_WRITE, flags, number, write.bytes, write.length);
    payload_free(&write);
}

static uint32_t await_done(client *runner, uint32_t number)
{
    client_frame frame;
    assert_true(client_receive(runner, &frame));
    assert_int_equal(frame.header.type, FRAME_WRITE_DONE);
    assert_int_equal(frame.header.execution, number);
    assert_int_equal(frame.header.length, 4);
    return get_u32(frame.payload);
}

static uint32_t write_text(client *runner, const char *path, const char *text)
{
    send_part(runner, 1, WRITE_FIRST | WRITE_LAST, path, 0640, text, strlen(text));
    return await_done(runner, 1);
}

static void assert_file_holds(const char *path, const char *text)
{
    char bytes[256] = "";
    int file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(read(file, bytes, sizeof bytes - 1), strlen(text));
    assert_string_equal(bytes, text);
    close(file);
}

/* The runner works in the folder `in`; `out` lies beside it. */
static client start_inside(void)
{
    assert_int_equal(mkdir("in", 0755), 0);
    assert_int_equal(mkdir("out", 0755), 0);
    return client_start(&(client_options){.folder = "in"});
}

static void makes_the_file_its_parents_and_its_mode(void **state)
{
    (void)state;
    client runner = start_inside();
    assert_int_equal(write_text(&runner, "a/b/c.py", "print()\n"), 0);
    assert_file_holds("in/a/b/c.py", "print()\n");
    struct stat status;
    assert_int_equal(stat("in/a/b/c.py", &status), 0);
    assert_int_equal(status.st_mode & 07777, 0640);
    assert_int_equal(write_text(&runner, "empty", ""), 0);
    assert_file_holds("in/empty", "");
    client_end(&runner);
}

static void replaces_a_file_in_one_go(void **state)
{
    (void)state;
    client runner = start_inside();
    assert_int_equal(write_text(&runner, "x", "old"), 0);
    send_part(&runner, 1, WRITE_FIRST, "x", 0600, "new ", 4);
    /* An answer to something else shows that the first part has been taken. */
    assert_int_equal((send_part(&runner, 2, 3, "y", 0600, "", 0), await_done(&runner, 2)), 0);
    assert_file_holds("in/x", "old");
    send_part(&runner, 1, 0, "x", 0600, "and ", 4);
    send_part(&runner, 1, WRITE_LAST, "x", 0600, "whole", 5);
    assert_int_equal(await_done(&runner, 1), 0);
    assert_file_holds("in/x", "new and whole");
    client_end(&runner);
}

static void writes_large_files_side_by_side(void **state)
{
    (void)state;
    client runner = start_inside();
    static char block[512 * 1024];
    for (int part = 0; part < 8; part++)
        for (uint32_t number = 1; number <= 4; number++) {
            char path[16];
            snprintf(path, sizeof path, "big%u", number);
            memset(block, (int)('0' + number), sizeof block);
            uint16_t flags = part == 0 ? WRITE_FIRST : part == 7 ? WRITE_LAST : 0;
            send_part(&runner, number, flags, path, 0600, block, sizeof block);
        }
    for (uint32_t number = 1; number <= 4; number++)
        assert_int_equal(await_done(&runner, number), 0);
    client_exit result = client_run_script(&runner, "cat big1 big2 big3 big4 | tr -d 1234 | wc -c; "
                                                    "cat big* | wc -c; ls -A | wc -l");
    assert_string_equal(result.output[0], "0\n16777216\n4\n");
    client_exit_free(&result);
    client_end(&runner);
}

static void paths_that_lead_out_are_refused(void **state)
{
    (void)state;
    static const char *const paths[] = {"../out/x", "a/../../out/x", "/tmp/x", "..", ".", "a/..",
                                        "a/",       "a//b",          "./x",    "/"};
    client runner = start_inside();
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        assert_int_not_equal(write_text(&runner, paths[i], "evil"), 0);
    assert_false(file_exists("out/x"));
    char longer[400];
    memset(longer, 'n', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(write_text(&runner, longer, ""), ENAMETOOLONG);
    client_end(&runner);
}

static void a_link_as_parent_is_not_followed(void **state)
{
    (void)state;
    client runner = start_inside();
    assert_int_equal(symlink("../out", "in/link"), 0);
    assert_int_equal(mkdir("in/dir", 0755), 0);
    assert_int_equal(symlink("../../out", "in/dir/link"), 0);
    assert_int_not_equal(write_text(&runner, "link/x", "evil"), 0);
    assert_int_not_equal(write_text(&runner, "dir/link/x", "evil"), 0);
    assert_int_not_equal(write_text(&runner, "dir/link/deep/x", "evil"), 0);
    assert_false(file_exists("out/x"));
    assert_false(file_exists("out/deep"));
    client_end(&runner);
}

static void a_link_as_file_is_replaced_not_followed(void **state)
{
    (void)state;
    client runner = start_inside();
    int file = open("out/victim", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(file, "safe", 4), 4);
    close(file);
    assert_int_equal(symlink("../out/victim", "in/name"), 0);
    assert_int_equal(write_text(&runner, "name", "mine"), 0);
    assert_file_holds("out/victim", "safe");
    assert_file_holds("in/name", "mine");
    client_end(&runner);
}

static void a_fifo_is_replaced_not_opened(void **state)
{
    (void)state;
    client runner = start_inside();
    assert_int_equal(mkfifo("in/fifo", 0600), 0);
    assert_int_equal(write_text(&runner, "fifo", "file"), 0);
    assert_file_holds("in/fifo", "file");
    assert_int_equal(mkfifo("in/parent", 0600), 0);
    assert_int_not_equal(write_text(&runner, "parent/x", "file"), 0);
    client_end(&runner);
}

static void a_folder_in_the_way_is_an_error_and_leaves_nothing(void **state)
{
    (void)state;
    client runner = start_inside();
    assert_int_equal(mkdir("in/name", 0755), 0);
    assert_int_equal(write_text(&runner, "name", "file"), EISDIR);
    client_exit result = client_run_script(&runner, "ls -A");
    assert_string_equal(result.output[0], "name\n");
    client_exit_free(&result);
    client_end(&runner);
}

static void one_answer_comes_for_a_file_that_fails_at_its_beginning(void **state)
{
    (void)state;
    client runner = start_inside();
    send_part(&runner, 1, WRITE_FIRST, "../out/x", 0600, "a", 1);
    send_part(&runner, 1, 0, "../out/x", 0600, "b", 1);
    assert_false(client_readable(&runner, 100));
    send_part(&runner, 1, WRITE_LAST, "../out/x", 0600, "c", 1);
    assert_int_equal(await_done(&runner, 1), EINVAL);
    client_end(&runner);
}

static void what_is_not_finished_is_removed_at_the_end(void **state)
{
    (void)state;
    client runner = start_inside();
    assert_int_equal(write_text(&runner, "whole", "text"), 0);
    send_part(&runner, 1, WRITE_FIRST, "half", 0600, "te", 2);
    client_end(&runner);
    assert_int_equal(system("[ \"$(ls -A in)\" = whole ]"), 0);
}

static void parents_swapped_for_links_all_the_time_lead_nowhere(void **state)
{
    (void)state;
    client runner = start_inside();
    client_spawn(&runner, 9,
                 &(client_command){
                     .script =
                         "exec 2>&-; mkdir real; while [ ! -e stop ]; do mv real dir; mv dir real; "
                         "ln -s ../out dir; rm dir; done"});
    for (int i = 0; i < 500; i++)
        write_text(&runner, "dir/x", "evil");
    close(open("in/stop", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    client_exit result = client_wait(&runner, 9);
    client_exit_free(&result);
    assert_false(file_exists("out/x"));
    client_end(&runner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUNNER_TEST(makes_the_file_its_parents_and_its_mode),
        RUNNER_TEST(replaces_a_file_in_one_go),
        RUNNER_TEST(writes_large_files_side_by_side),
        RUNNER_TEST(paths_that_lead_out_are_refused),
        RUNNER_TEST(a_link_as_parent_is_not_followed),
        RUNNER_TEST(a_link_as_file_is_replaced_not_followed),
        RUNNER_TEST(a_fifo_is_replaced_not_opened),
        RUNNER_TEST(a_folder_in_the_way_is_an_error_and_leaves_nothing),
        RUNNER_TEST(one_answer_comes_for_a_file_that_fails_at_its_beginning),
        RUNNER_TEST(what_is_not_finished_is_removed_at_the_end),
        RUNNER_TEST(parents_swapped_for_links_all_the_time_lead_nowhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
