/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.c: what fills a caller's code_executor_error: never beyond its size, never half a character.
 */
#include "error.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void set_fills_status_and_message(void **state)
{
    (void)state;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(error_set(&error, CODE_EXECUTOR_DENIED, "no %s for %d", "entry", 7),
                     CODE_EXECUTOR_DENIED);
    assert_int_equal(error.status, CODE_EXECUTOR_DENIED);
    assert_string_equal(error.message, "no entry for 7");
}

static void null_is_allowed_everywhere(void **state)
{
    (void)state;
    assert_int_equal(error_set(NULL, CODE_EXECUTOR_IO, "x"), CODE_EXECUTOR_IO);
    assert_int_equal(error_set_errno(NULL, CODE_EXECUTOR_IO, EACCES, "x"), CODE_EXECUTOR_IO);
    assert_int_equal(error_prefix(NULL, CODE_EXECUTOR_LOST, "x"), CODE_EXECUTOR_LOST);
    assert_int_equal(error_append(NULL, CODE_EXECUTOR_LOST, "x"), CODE_EXECUTOR_LOST);
    assert_int_equal(error_clear(NULL), CODE_EXECUTOR_OK);
}

static void errno_words_follow_the_message(void **state)
{
    (void)state;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    error_set_errno(&error, CODE_EXECUTOR_IO, ENOENT, "cannot open %s", "f");
    assert_string_equal(error.message, "cannot open f: No such file or directory");
}

static void prefix_and_append_keep_what_is_there(void **state)
{
    (void)state;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    error_set(&error, CODE_EXECUTOR_IO, "b");
    error_prefix(&error, CODE_EXECUTOR_IO, "a%d: ", 1);
    error_append(&error, CODE_EXECUTOR_IO, " (c)");
    assert_string_equal(error.message, "a1: b (c)");
}

static void a_message_may_be_made_of_itself(void **state)
{
    (void)state;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    error_set(&error, CODE_EXECUTOR_IO, "inner");
    error_set(&error, CODE_EXECUTOR_LOST, "outer: %s", error.message);
    assert_string_equal(error.message, "outer: inner");
}

static void clear_leaves_nothing(void **state)
{
    (void)state;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    error_set(&error, CODE_EXECUTOR_IO, "b");
    error_clear(&error);
    assert_int_equal(error.status, CODE_EXECUTOR_OK);
    assert_string_equal(error.message, "");
}

/* A host of another version: every size of the structure, in memory that ends where it does. */
static void nothing_is_written_beyond_struct_size(void **state)
{
    (void)state;
    size_t smallest = sizeof(size_t);
    for (size_t size = smallest; size <= sizeof(code_executor_error); size++) {
        code_executor_error *error = malloc(size);
        assert_non_null(error);
        memset(error, 0x55, size);
        error->struct_size = size;
        error_set(error, CODE_EXECUTOR_LOST, "0123456789");
        error_prefix(error, CODE_EXECUTOR_LOST, "abc");
        error_append(error, CODE_EXECUTOR_LOST, "xyz");
        if (size > offsetof(code_executor_error, message)) {
            size_t capacity = size - offsetof(code_executor_error, message);
            assert_true(memchr(error->message, 0, capacity) != NULL);
        }
        free(error);
    }
}

/* Characters of one to four bytes, at every position of the end. */
static void a_message_is_cut_between_characters(void **state)
{
    (void)state;
    static const char *const characters[] = {"a", "\xc3\xa9", "\xe4\xb8\x96", "\xf0\x9f\x98\x80"};
    for (size_t c = 0; c < 4; c++) {
        size_t width = strlen(characters[c]);
        for (size_t shift = 0; shift < 4; shift++) {
            char text[4096] = "";
            memset(text, '.', shift);
            for (size_t at = shift; at + width < sizeof text - 1; at += width)
                memcpy(text + at, characters[c], width);
            code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
            error_set(&error, CODE_EXECUTOR_IO, "%s", text);
            size_t length = strlen(error.message);
            assert_true(length > sizeof error.message - 1 - 4);
            assert_int_equal((length - shift) % width, 0);
        }
    }
}

/* A path is whatever bytes it is: no loop, no overrun where they are no UTF-8. */
static void bytes_that_are_no_utf8_are_cut_anywhere(void **state)
{
    (void)state;
    char text[4096];
    memset(text, 0x80, sizeof text);
    text[sizeof text - 1] = '\0';
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    error_set(&error, CODE_EXECUTOR_IO, "%s", text);
    assert_int_equal(strlen(error.message), sizeof error.message - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_fills_status_and_message),
        cmocka_unit_test(null_is_allowed_everywhere),
        cmocka_unit_test(errno_words_follow_the_message),
        cmocka_unit_test(prefix_and_append_keep_what_is_there),
        cmocka_unit_test(a_message_may_be_made_of_itself),
        cmocka_unit_test(clear_leaves_nothing),
        cmocka_unit_test(nothing_is_written_beyond_struct_size),
        cmocka_unit_test(a_message_is_cut_between_characters),
        cmocka_unit_test(bytes_that_are_no_utf8_are_cut_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
