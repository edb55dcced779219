/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failure.c: fills the caller's code_executor_error and nothing beyond its struct_size.
 */
#include "failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

size_t whole_characters(const char *text, size_t length, size_t limit)
{
    if (length <= limit)
        return length;
    size_t end = limit;
    while (end > 0 && ((unsigned char)text[end] & 0xC0U) == 0x80U)
        end--;
    return end;
}

/* Bytes that the caller's message has room for, its NUL included. */
static size_t message_capacity(const code_executor_error *error)
{
    size_t before = offsetof(code_executor_error, message);
    if (error->struct_size <= before)
        return 0;
    size_t room = error->struct_size - before;
    return room < sizeof(error->message) ? room : sizeof(error->message);
}

static void set_status(code_executor_error *error, int32_t status)
{
    if (CODE_EXECUTOR_HAS(error, status))
        error->status = status;
}

int32_t fail(code_executor_error *error, int32_t status, const char *format, ...)
{
    if (error == NULL)
        return status;
    char words[sizeof(error->message) + 8];
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(words, sizeof(words), format, arguments);
    va_end(arguments);
    set_status(error, status);
    size_t capacity = message_capacity(error);
    if (capacity > 0) {
        size_t length = written < 0 ? 0 : strlen(words);
        length = whole_characters(words, length, capacity - 1);
        memcpy(error->message, words, length);
        error->message[length] = '\0';
    }
    return status;
}

int32_t fail_no_memory(code_executor_error *error)
{
    return fail(error, CODE_EXECUTOR_NO_MEMORY, "There is not enough memory.");
}

int32_t succeed(code_executor_error *error)
{
    if (error != NULL) {
        set_status(error, CODE_EXECUTOR_OK);
        if (message_capacity(error) > 0)
            error->message[0] = '\0';
    }
    return CODE_EXECUTOR_OK;
}

quoted_name quote_name(const char *name)
{
    enum { LIMIT = 64 };
    quoted_name quoted;
    size_t length = strnlen(name, LIMIT + 1);
    size_t kept = whole_characters(name, length, LIMIT);
    for (size_t i = 0; i < kept; i++) {
        unsigned char byte = (unsigned char)name[i];
        quoted.text[i] = byte < 0x20 || byte == 0x7F ? '?' : name[i];
    }
    strcpy(quoted.text + kept, length > LIMIT ? "..." : "");
    return quoted;
}
