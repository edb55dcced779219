/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extract_memory.c: wherever memory ends, an extraction says so, and leaves nothing behind.
 */
#include "host_memory.h"
#include <code_executor_host.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Lists, quotes, titles, HTML, and fences that nest, so that the message is read twice. */
static const char message[] =
    "# Title\n\nText *x* [y](z)\nmore\n\n1. item\n   - item\n\n     ```sh\n"
    "     ls\n     ```\n> quote\n> ~~~python title=x\n> y\n> ~~~\n\n"
    "<div>\n</div>\n\n[a]: b\n\n***\n```markdown\n```sh\nls\n```\n```\n";
enum { BLOCKS = 3 };

/* False when COUNT allocations were enough. */
static bool fails_after(size_t count, bool only_one)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_extraction *extraction = NULL;
    host_memory_end_after(count, only_one);
    int32_t status = code_executor_extract(message, strlen(message), &extraction, &error);
    bool failed = host_memory_restore();
    if (failed) {
        assert_int_equal(status, CODE_EXECUTOR_NO_MEMORY);
        assert_int_equal(error.status, CODE_EXECUTOR_NO_MEMORY);
        assert_null(extraction);
    } else {
        assert_int_equal(status, CODE_EXECUTOR_OK);
        assert_int_equal(extraction->block_count, BLOCKS);
    }
    code_executor_extraction_free(extraction);
    return failed;
}

static void test_each_allocation_may_be_the_one_that_fails(void **state)
{
    (void)state;
    size_t count = 0;
    while (fails_after(count, true))
        count++;
    assert_true(count > 50);
}

static void test_memory_may_end_at_each_allocation(void **state)
{
    (void)state;
    size_t count = 0;
    while (fails_after(count, false))
        count++;
    assert_true(count > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_allocation_may_be_the_one_that_fails),
        cmocka_unit_test(test_memory_may_end_at_each_allocation),
    };
    return cmocka_run_group_tests_name("extract_memory", tests, NULL, NULL);
}
