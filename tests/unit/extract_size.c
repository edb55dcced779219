/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extract_size.c [MEGABYTES]: messages of 5 and 50 MB, also such as are made to hurt, are read to their end, in
 * memory that is in proportion.
 *
 * The argument is the size of the large ones in MB, for where 50 would take too long (a sanitizer).
 *
 * Each is read by a child of its own, whose peak memory is then known. A reader that took the square of
 * the length would not end before ctest loses patience; one that recursed would overflow its stack.
 */
#include <code_executor_host.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { MEGABYTE = 1000 * 1000, SMALL = 5 * MEGABYTE, LARGE = 50 * MEGABYTE };

static size_t size_of_large = LARGE;

/* Sanitizers keep freed memory and shadow what is in use. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZER_FACTOR = 8 };
#else
enum { SANITIZER_FACTOR = 1 };
#endif

typedef struct big_message {
    const char *name;
    size_t size; /* SMALL or LARGE */
    const char *begin;
    const char *repeated;
    const char *end;
    size_t blocks; /* 0: two in each repetition */
    int times;     /* the message's size that the process may take, the message itself included */
} big_message;

#define TYPICAL                                                                                    \
    "Some *text* with [links](http://x) and `code`.\nA second line.\n\n"                           \
    "1. Do this:\n   ```python\n   def f(a):\n       return [a]\n   ```\n2. Then\n   - that > "    \
    "x\n\n"                                                                                        \
    "> quoted\n\n# "                                                                               \
    "Title\n\n```sh\nls\n```\n\n<details>\n<summary>x</summary>\n\nx\n\n</details>\n\n"

static const big_message messages[] = {
    {"what a model writes", LARGE, "", TYPICAL, "", 0, 6},
    {"one block", LARGE, "```python\n", "    x = 1\nprint(x)\n        if x:\n", "\n```\n", 1, 8},
    {"one line", LARGE, "", "x", "\n```sh\nls\n```\n", 1, 4},
    {"newlines", LARGE, "", "\n", "```sh\nls\n```\n", 1, 4},
    {"carriage returns", SMALL, "", "\r", "```sh\nls\n```\n", 1, 4},
    {"control characters", SMALL, "", "\x01", "\n```sh\nls\n```\n", 1, 4},
    {"backticks", LARGE, "", "`", "\nx\n", 1, 6},
    {"lines of backticks and text", SMALL, "", "```x`\n", "```sh\nls\n```\n", 1, 4},
    {"brackets", SMALL, "", "[", "\n```sh\nls\n```\n", 1, 4},
    {"lines of brackets", SMALL, "", "[[](![\n", "```sh\nls\n```\n", 1, 4},
    {"link definitions", SMALL, "", "[a]: b\n", "\n```sh\nls\n```\n", 1, 4},
    {"asterisks", SMALL, "", "*a_ ", "\n```sh\nls\n```\n", 1, 4},
    {"ampersands and tags", SMALL, "", "a&<!--<?<a", "\n```sh\nls\n```\n", 1, 4},
    {"quotes in one line", LARGE, "", ">", "\n\n```sh\nls\n```\n", 1, 4},
    {"lists in one line", SMALL, "", "- ", "\n\n```sh\nls\n```\n", 1, 4},
    {"items", SMALL, "", "- a\n", "\n```sh\nls\n```\n", 1, 4},
    {"lists", SMALL, "", "- a\n+ b\n", "\n```sh\nls\n```\n", 1, 4},
    {"items with lists", SMALL, "", "1. x\n   - a\n   + b\n", "\n```sh\nls\n```\n", 1, 4},
    {"paragraphs", SMALL, "", "a\n\n", "```sh\nls\n```\n", 1, 4},
    {"titles", SMALL, "", "a\n===\n", "```sh\nls\n```\n", 1, 4},
    {"spaces", SMALL, "", " ", "\n```sh\nls\n```\n", 1, 4},
    {"tabs", SMALL, "", "\t", "\n```sh\nls\n```\n", 1, 4},
    {"blank lines in deep lists", SMALL,
     "- - - - - - - - - - - - - - - - - - - - - - - - - - - - x\n", "\n\n", "```sh\nls\n```\n", 1,
     4},
    {"fences that nest", SMALL, "```md\n", "```sh\nls\n```\n", "```\n", 1, 24},
};

static size_t size_of(const big_message *from)
{
    return from->size == LARGE ? size_of_large : from->size;
}

static char *make(const big_message *from, size_t *length)
{
    size_t begin = strlen(from->begin);
    size_t repeated = strlen(from->repeated);
    size_t times = size_of(from) / repeated;
    char *message = malloc(begin + times * repeated + strlen(from->end) + 1);
    assert_non_null(message);
    char *at = stpcpy(message, from->begin);
    for (size_t i = 0; i < times; i++) {
        memcpy(at, from->repeated, repeated);
        at += repeated;
    }
    stpcpy(at, from->end);
    *length = strlen(message);
    return message;
}

/* In the child. */
static int read_message(const big_message *from)
{
    size_t length = 0;
    char *message = make(from, &length);
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_extraction *extraction = NULL;
    int32_t status = code_executor_extract(message, length, &extraction, &error);
    size_t blocks = status == CODE_EXECUTOR_OK ? extraction->block_count : 0;
    size_t expected =
        from->blocks != 0 ? from->blocks : 2 * (size_of(from) / strlen(from->repeated));
    if (status != CODE_EXECUTOR_OK || blocks != expected) {
        fprintf(stderr, "%s: status %d %s, %zu blocks instead of %zu\n", from->name, (int)status,
                error.message, blocks, expected);
        return EXIT_FAILURE;
    }
    code_executor_extraction_free(extraction);
    free(message);
    return EXIT_SUCCESS;
}

static void test_message(void **state)
{
    const big_message *tested = *state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(read_message(tested));
    int status = 0;
    struct rusage usage;
    assert_int_equal(wait4(child, &status, 0, &usage), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), EXIT_SUCCESS);
    long limit = SANITIZER_FACTOR * (tested->times * (long)(size_of(tested) / 1024) + 32 * 1024L);
    if (usage.ru_maxrss > limit)
        fail_msg("%s took %ld KiB instead of %ld", tested->name, usage.ru_maxrss, limit);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        size_of_large = strtoul(argv[1], NULL, 10) * MEGABYTE;
    enum { COUNT = sizeof(messages) / sizeof(messages[0]) };
    static struct CMUnitTest tests[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        tests[i] = (struct CMUnitTest){messages[i].name, test_message, NULL, NULL,
                                       (void *)(uintptr_t)&messages[i]};
    }
    return _cmocka_run_group_tests("extract_size", tests, COUNT, NULL, NULL);
}
