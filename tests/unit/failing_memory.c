/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failing_memory.c: see failing_memory.h.
 */
#include "failing_memory.h"

#include <stdint.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static size_t left = SIZE_MAX;
static bool once;
static bool failed;

void failing_memory_start(size_t count, bool only_once)
{
    left = count;
    once = only_once;
    failed = false;
}

bool failing_memory_stop(void)
{
    left = SIZE_MAX;
    return failed;
}

static bool fails(void)
{
    if (left == SIZE_MAX)
        return false;
    if (left > 0) {
        left--;
        return false;
    }
    failed = true;
    if (once)
        left = SIZE_MAX;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}
