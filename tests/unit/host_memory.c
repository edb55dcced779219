/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_memory.c: malloc and its kin, which fail on command.
 */
#include "host_memory.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *host_malloc(size_t size);
void *host_calloc(size_t count, size_t size);
void *host_realloc(void *block, size_t size);
char *host_strdup(const char *text);
char *host_strndup(const char *text, size_t length);
char *host_realpath(const char *path, char *resolved);
int host_asprintf(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static size_t left = SIZE_MAX;
static bool only_one_fails;
static bool has_failed;

void host_memory_end_after(size_t count, bool only_one)
{
    left = count;
    only_one_fails = only_one;
    has_failed = false;
}

bool host_memory_restore(void)
{
    left = SIZE_MAX;
    return has_failed;
}

static bool fails(void)
{
    if (left > 0) {
        left -= left != SIZE_MAX;
        return false;
    }
    has_failed = true;
    left = only_one_fails ? SIZE_MAX : 0;
    errno = ENOMEM;
    return true;
}

void *host_malloc(size_t size)
{
    return fails() ? NULL : malloc(size);
}

void *host_calloc(size_t count, size_t size)
{
    return fails() ? NULL : calloc(count, size);
}

void *host_realloc(void *block, size_t size)
{
    return fails() ? NULL : realloc(block, size);
}

char *host_strdup(const char *text)
{
    return fails() ? NULL : strdup(text);
}

char *host_strndup(const char *text, size_t length)
{
    return fails() ? NULL : strndup(text, length);
}

char *host_realpath(const char *path, char *resolved)
{
    return fails() ? NULL : realpath(path, resolved);
}

int host_asprintf(char **text, const char *format, ...)
{
    if (fails())
        return -1;
    va_list arguments;
    va_start(arguments, format);
    int written = vasprintf(text, format, arguments);
    va_end(arguments);
    return written;
}
