/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collected.c: what comes of the files of a workspace, made up by somebody who means harm.
 */
#include "collected.h"
#include "private_folder.h"
#include "runner/protocol.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
    char *work_dir;
    collected collected;
    code_executor_error error;
    unsigned char bytes[65536];
    size_t length;
    char told[1024];
};

static void on_file(void *user_data, const char *path, const char *skipped)
{
    struct fixture *fixture = user_data;
    size_t length = strlen(fixture->told);
    snprintf(fixture->told + length, sizeof fixture->told - length, "%s%s ", path,
             skipped ? "!" : "");
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    assert_non_null(fixture);
    assert_int_equal(private_folder_make(&fixture->work_dir, NULL), CODE_EXECUTOR_OK);
    fixture->error.struct_size = sizeof fixture->error;
    fixture->collected = (collected){
        .work_dir = fixture->work_dir, .max_bytes = 1000, .user_data = fixture, .on_file = on_file};
    put_u32(fixture->bytes, COLLECT_MAGIC);
    put_u64(fixture->bytes + 4, 77);
    fixture->length = COLLECT_HEAD_SIZE;
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    collected_end(&fixture->collected);
    private_folder_remove(fixture->work_dir, NULL);
    free(fixture->work_dir);
    free(fixture);
    return 0;
}

static void add_bytes(struct fixture *fixture, const void *bytes, size_t length)
{
    memcpy(fixture->bytes + fixture->length, bytes, length);
    fixture->length += length;
}

static void add(struct fixture *fixture, uint32_t kind, uint64_t size, const char *path,
                size_t path_length, const char *content)
{
    unsigned char *at = fixture->bytes + fixture->length;
    put_u32(at, kind);
    put_u32(at + 4, 0644);
    put_u64(at + 8, size);
    put_u32(at + 16, (uint32_t)path_length);
    fixture->length += COLLECT_RECORD_SIZE;
    add_bytes(fixture, path, strlen(path) < path_length ? strlen(path) : path_length);
    add_bytes(fixture, content, strlen(content));
}

static int32_t take(struct fixture *fixture)
{
    return collected_take(&fixture->collected, (const char *)fixture->bytes, fixture->length,
                          &fixture->error);
}

static bool exists(const struct fixture *fixture, const char *name)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", fixture->work_dir, name);
    return access(path, F_OK) == 0;
}

static void files_are_saved_however_the_stream_is_cut(void **state)
{
    struct fixture *fixture = *state;
    add(fixture, COLLECT_FILE, 3, "a/b", 3, "abc");
    add(fixture, COLLECT_FILE, 0, "c", 1, "");
    add(fixture, COLLECT_END, 0, "", 0, "");
    for (size_t i = 0; i < fixture->length; i++)
        assert_int_equal(collected_take(&fixture->collected, (const char *)fixture->bytes + i, 1,
                                        &fixture->error),
                         CODE_EXECUTOR_OK);
    assert_int_equal(fixture->collected.state, COLLECTED_ENDED);
    assert_int_equal(fixture->collected.now, 77);
    assert_string_equal(fixture->told, "a/b c ");
    assert_true(exists(fixture, "a/b"));
}

static void signs_of_life_tell_nothing(void **state)
{
    struct fixture *fixture = *state;
    add(fixture, COLLECT_ALIVE, 0, "", 0, "");
    add(fixture, COLLECT_FILE, 3, "a", 1, "abc");
    add(fixture, COLLECT_ALIVE, 0, "", 0, "");
    add(fixture, COLLECT_END, 0, "", 0, "");
    assert_int_equal(take(fixture), CODE_EXECUTOR_OK);
    assert_int_equal(fixture->collected.state, COLLECTED_ENDED);
    assert_string_equal(fixture->told, "a ");
}

static void folders_are_told_once_and_within_bounds(void **state)
{
    struct fixture *fixture = *state;
    add(fixture, COLLECT_FOLDERS, 5, "", 0, "abcde");
    add(fixture, COLLECT_FILE, 3, "a", 1, "abc");
    assert_int_equal(take(fixture), CODE_EXECUTOR_OK);
    assert_string_equal(fixture->told, "a ");
    fixture->length = 0;
    add(fixture, COLLECT_FOLDERS, 1, "", 0, "x");
    assert_int_equal(take(fixture), CODE_EXECUTOR_PROTOCOL);
}

static void too_many_folders_are_nonsense(void **state)
{
    struct fixture *fixture = *state;
    add(fixture, COLLECT_FOLDERS, COLLECT_FOLDERS_MAX + 1, "", 0, "");
    assert_int_equal(take(fixture), CODE_EXECUTOR_PROTOCOL);
}

static void paths_that_lead_out_are_nonsense(void **state)
{
    struct fixture *fixture = *state;
    static const char *const paths[] = {"../x", "/tmp/x", "a/../x", "a//x", "a/", ".", "..", "./x"};
    size_t head = fixture->length;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        fixture->length = head;
        add(fixture, COLLECT_FILE, 1, paths[i], strlen(paths[i]), "x");
        assert_int_equal(take(fixture), CODE_EXECUTOR_PROTOCOL);
        fixture->collected.state = COLLECTED_HEAD;
    }
    assert_string_equal(fixture->told, "");
}

static void a_path_with_a_nul_in_it_is_nonsense(void **state)
{
    struct fixture *fixture = *state;
    add(fixture, COLLECT_FILE, 0, "ab", 4, "");
    add_bytes(fixture, "\0b", 2);
    assert_int_equal(take(fixture), CODE_EXECUTOR_PROTOCOL);
}

static void a_path_without_end_is_nonsense(void **state)
{
    struct fixture *fixture = *state;
    add(fixture, COLLECT_FILE, 0, "a", 0xffffffff, "");
    assert_int_equal(take(fixture), CODE_EXECUTOR_PROTOCOL);
}

static void more_than_the_limit_is_nonsense(void **state)
{
    struct fixture *fixture = *state;
    add(fixture, COLLECT_FILE, 4, "a", 1, "aaaa");
    add(fixture, COLLECT_FILE, 997, "b", 1, "");
    assert_int_equal(take(fixture), CODE_EXECUTOR_PROTOCOL);
    assert_string_equal(fixture->told, "a ");
}

static void sizes_that_wrap_round_are_nonsense(void **state)
{
    struct fixture *fixture = *state;
    add(fixture, COLLECT_FILE, 4, "a", 1, "aaaa");
    add(fixture, COLLECT_FILE, UINT64_MAX, "b", 1, "");
    assert_int_equal(take(fixture), CODE_EXECUTOR_PROTOCOL);
}

static void another_magic_is_nonsense(void **state)
{
    struct fixture *fixture = *state;
    fixture->bytes[0] ^= 1;
    assert_int_equal(take(fixture), CODE_EXECUTOR_PROTOCOL);
}

static void an_unknown_kind_is_nonsense(void **state)
{
    struct fixture *fixture = *state;
    add(fixture, 9, 0, "a", 1, "");
    assert_int_equal(take(fixture), CODE_EXECUTOR_PROTOCOL);
}

static void what_comes_behind_the_end_is_nonsense(void **state)
{
    struct fixture *fixture = *state;
    add(fixture, COLLECT_END, 0, "", 0, "x");
    assert_int_equal(take(fixture), CODE_EXECUTOR_PROTOCOL);
}

static void a_file_that_is_cut_off_leaves_nothing(void **state)
{
    struct fixture *fixture = *state;
    add(fixture, COLLECT_FILE, 100, "a", 1, "only a part");
    assert_int_equal(take(fixture), CODE_EXECUTOR_OK);
    collected_end(&fixture->collected);
    assert_int_equal(rmdir(fixture->work_dir), 0);
}

static void what_was_skipped_is_told(void **state)
{
    struct fixture *fixture = *state;
    add(fixture, COLLECT_SKIPPED, 0, "secret", 6, "");
    assert_int_equal(take(fixture), CODE_EXECUTOR_OK);
    assert_string_equal(fixture->told, "secret! ");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(files_are_saved_however_the_stream_is_cut),
        TEST(signs_of_life_tell_nothing),
        TEST(folders_are_told_once_and_within_bounds),
        TEST(too_many_folders_are_nonsense),
        TEST(paths_that_lead_out_are_nonsense),
        TEST(a_path_with_a_nul_in_it_is_nonsense),
        TEST(a_path_without_end_is_nonsense),
        TEST(more_than_the_limit_is_nonsense),
        TEST(sizes_that_wrap_round_are_nonsense),
        TEST(another_magic_is_nonsense),
        TEST(an_unknown_kind_is_nonsense),
        TEST(what_comes_behind_the_end_is_nonsense),
        TEST(a_file_that_is_cut_off_leaves_nothing),
        TEST(what_was_skipped_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
