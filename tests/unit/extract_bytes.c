/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extract_bytes.c: code is the bytes of the message, whatever they are, and each block says where it
 * was. What Markdown makes of a message is in extract_cases.c.
 */
#include <code_executor_host.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A literal with its length, NUL bytes included. */
#define BYTES(literal) (literal), sizeof(literal) - 1

static code_executor_extraction *extract(const char *bytes, size_t length)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_extraction *extraction = NULL;
    assert_int_equal(code_executor_extract(bytes, length, &extraction, &error), CODE_EXECUTOR_OK);
    assert_string_equal(error.message, "");
    return extraction;
}

/* That the only block of the message has this code. */
static void check_code(const char *bytes, size_t length, const char *code, size_t code_length)
{
    code_executor_extraction *extraction = extract(bytes, length);
    assert_int_equal(extraction->block_count, 1);
    const code_executor_block *block = &extraction->blocks[0]->block;
    assert_int_equal(block->code_length, code_length);
    assert_memory_equal(block->code, code, code_length);
    assert_int_equal(block->code[code_length], '\0');
    code_executor_extraction_free(extraction);
}

static void test_nul_is_kept(void **state)
{
    (void)state;
    check_code(BYTES("```sh\na\0b\n\0\n```\n"), BYTES("a\0b\n\0\n"));
    check_code(BYTES("- ```sh\n  \0\0x\n  ```\n"), BYTES("\0\0x\n"));
}

static void test_nul_does_not_end_the_message(void **state)
{
    (void)state;
    check_code(BYTES("text\0\n\n```sh\necho\n```\n"), BYTES("echo\n"));
}

static void test_what_is_not_utf8_is_kept(void **state)
{
    (void)state;
    check_code(BYTES("```sh\n\xff\xfe \xc3\n\xe2\x82\n```\n"), BYTES("\xff\xfe \xc3\n\xe2\x82\n"));
    check_code(BYTES("> ~~~\n> \x80\n> ~~~\n"), BYTES("\x80\n"));
}

static void test_a_lone_carriage_return_is_kept(void **state)
{
    (void)state;
    check_code(BYTES("```python\nprint('a\rb')\n```\n"), BYTES("print('a\rb')\n"));
    check_code(BYTES("```python\r\nprint('a\rb')\r\n```\r\n"), BYTES("print('a\rb')\n"));
}

static void test_a_message_of_carriage_returns_has_lines(void **state)
{
    (void)state;
    check_code(BYTES("Text\r```sh\recho 1\r```\rText\r"), BYTES("echo 1\r"));
}

static void test_control_characters_are_kept(void **state)
{
    (void)state;
    check_code(BYTES("```sh\n\x01\x1b[0m\v\f\x7f\n```\n"), BYTES("\x01\x1b[0m\v\f\x7f\n"));
}

static void test_tabs_are_kept_where_they_are_whole(void **state)
{
    (void)state;
    check_code(BYTES("```make\na:\n\tb\t\tc\n```\n"), BYTES("a:\n\tb\t\tc\n"));
    check_code(BYTES("1.\t```make\n\ta:\n\t\tb\n\t```\n"), BYTES("a:\n\tb\n"));
}

static void test_a_tab_cut_in_two_becomes_spaces(void **state)
{
    (void)state;
    check_code(BYTES("- ```sh\n\techo\n  ```\n"), BYTES("  echo\n"));
}

static void test_indentation_of_six_columns_by_tabs(void **state)
{
    (void)state;
    check_code(BYTES("      ```sh\n\t  if\n\t\tx\n      ```\n"), BYTES("if\n  x\n"));
}

static void test_a_language_of_10_kb_is_kept(void **state)
{
    (void)state;
    enum { LENGTH = 10000 };
    char *message = malloc(LENGTH + 100);
    assert_non_null(message);
    memset(message, 'a', LENGTH + 10);
    memcpy(message, "```", 3);
    memcpy(message + 3 + LENGTH, "\nx\n```", sizeof("\nx\n```"));
    code_executor_extraction *extraction = extract(message, strlen(message));
    assert_int_equal(extraction->block_count, 1);
    assert_int_equal(strlen(extraction->blocks[0]->block.language), LENGTH);
    assert_int_equal(strlen(extraction->blocks[0]->info), LENGTH);
    code_executor_extraction_free(extraction);
    free(message);
}

static void test_the_info_string_is_as_it_stands(void **state)
{
    (void)state;
    code_executor_extraction *extraction =
        extract(BYTES("> ~~~~  {.python}\ttitle=\"a &amp; b\" \\* `x` \0 y \t\n> ~~~~\n"));
    const code_executor_extracted_block *block = extraction->blocks[0];
    assert_string_equal(block->info, "{.python}\ttitle=\"a &amp; b\" \\* `x`   y");
    assert_string_equal(block->block.language, "python");
    assert_false(block->inferred);
    code_executor_extraction_free(extraction);
}

static void test_a_block_says_where_it_was(void **state)
{
    (void)state;
    code_executor_extraction *extraction = extract(
        BYTES("a\n\n\n\n\n\n\n\n\n\n```sh\nx\nx\nx\nx\nx\nx\nx\n```\n- ```\n  y\n\nz\n```\ncut"));
    static const size_t lines[][2] = {{11, 19}, {20, 22}, {24, 25}};
    assert_int_equal(extraction->block_count, 3);
    for (size_t i = 0; i < extraction->block_count; i++) {
        assert_int_equal(extraction->blocks[i]->first_line, lines[i][0]);
        assert_int_equal(extraction->blocks[i]->last_line, lines[i][1]);
    }
    code_executor_extraction_free(extraction);
}

static void test_an_inferred_language_is_said_to_be(void **state)
{
    (void)state;
    code_executor_extraction *extraction =
        extract(BYTES("```\nimport os\n```\n```python\nimport os\n```\n```\n?\n```\n"));
    static const bool inferred[] = {true, false, false};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(extraction->blocks[i]->inferred, inferred[i]);
    code_executor_extraction_free(extraction);
}

static void test_an_empty_message_has_no_blocks(void **state)
{
    (void)state;
    code_executor_extraction *extraction = extract(NULL, 0);
    assert_int_equal(extraction->block_count, 0);
    code_executor_extraction_free(extraction);
}

static void test_no_message_is_invalid(void **state)
{
    (void)state;
    code_executor_extraction *extraction = NULL;
    assert_int_equal(code_executor_extract(NULL, 1, &extraction, NULL), CODE_EXECUTOR_INVALID);
    assert_null(extraction);
    assert_int_equal(code_executor_extract("", 0, NULL, NULL), CODE_EXECUTOR_INVALID);
    code_executor_extraction_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nul_is_kept),
        cmocka_unit_test(test_nul_does_not_end_the_message),
        cmocka_unit_test(test_what_is_not_utf8_is_kept),
        cmocka_unit_test(test_a_lone_carriage_return_is_kept),
        cmocka_unit_test(test_a_message_of_carriage_returns_has_lines),
        cmocka_unit_test(test_control_characters_are_kept),
        cmocka_unit_test(test_tabs_are_kept_where_they_are_whole),
        cmocka_unit_test(test_a_tab_cut_in_two_becomes_spaces),
        cmocka_unit_test(test_indentation_of_six_columns_by_tabs),
        cmocka_unit_test(test_a_language_of_10_kb_is_kept),
        cmocka_unit_test(test_the_info_string_is_as_it_stands),
        cmocka_unit_test(test_a_block_says_where_it_was),
        cmocka_unit_test(test_an_inferred_language_is_said_to_be),
        cmocka_unit_test(test_an_empty_message_has_no_blocks),
        cmocka_unit_test(test_no_message_is_invalid),
    };
    return cmocka_run_group_tests_name("extract_bytes", tests, NULL, NULL);
}
