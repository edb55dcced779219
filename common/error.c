/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.c: see error.h.
 *
 * Every message is put together in a buffer of our own before the caller's structure is touched, so that
 * arguments may point into the message that is there. The caller's struct_size alone says how much of
 * the structure exists: an older host may have compiled a shorter one.
 */
#include "error.h"

#include "text.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_MAX = sizeof(((code_executor_error *)NULL)->message) };

/* Bytes of message that the caller's structure holds, the NUL included. */
static size_t message_capacity(const code_executor_error *error)
{
    size_t before = offsetof(code_executor_error, message);
    if (error->struct_size <= before)
        return 0;
    size_t capacity = error->struct_size - before;
    return capacity < MESSAGE_MAX ? capacity : MESSAGE_MAX;
}

/* Appends TEXT to the NUL-terminated BUFFER of MESSAGE_MAX bytes. */
static void join(char *buffer, const char *text)
{
    size_t used = strlen(buffer);
    size_t length = strlen(text);
    if (length > MESSAGE_MAX - 1 - used)
        length = text_boundary(text, MESSAGE_MAX - 1 - used);
    memcpy(buffer + used, text, length);
    buffer[used + length] = '\0';
}

static void format_message(char *buffer, const char *format, va_list arguments)
{
    int length = vsnprintf(buffer, MESSAGE_MAX, format, arguments);
    if (length < 0)
        buffer[0] = '\0';
    else if (length >= MESSAGE_MAX)
        buffer[text_boundary(buffer, MESSAGE_MAX - 1)] = '\0';
}

static int32_t store(code_executor_error *error, int32_t status, const char *message)
{
    if (!error)
        return status;
    if (CODE_EXECUTOR_HAS(error, status))
        error->status = status;
    size_t capacity = message_capacity(error);
    if (capacity > 0) {
        size_t length = strlen(message);
        if (length > capacity - 1)
            length = text_boundary(message, capacity - 1);
        memcpy(error->message, message, length);
        error->message[length] = '\0';
    }
    return status;
}

/* A copy of the message that is there, which need not be terminated where the host wrote it. */
static void load(const code_executor_error *error, char *buffer)
{
    size_t capacity = error ? message_capacity(error) : 0;
    size_t length = capacity ? strnlen(error->message, capacity - 1) : 0;
    if (length > 0)
        memcpy(buffer, error->message, length);
    buffer[length] = '\0';
}

int32_t error_set(code_executor_error *error, int32_t status, const char *format, ...)
{
    char message[MESSAGE_MAX];
    va_list arguments;
    va_start(arguments, format);
    format_message(message, format, arguments);
    va_end(arguments);
    return store(error, status, message);
}

int32_t error_set_errno(code_executor_error *error, int32_t status, int errnum, const char *format,
                        ...)
{
    char message[MESSAGE_MAX];
    va_list arguments;
    va_start(arguments, format);
    format_message(message, format, arguments);
    va_end(arguments);
    char words[256];
    join(message, ": ");
    join(message, strerror_r(errnum, words, sizeof words));
    return store(error, status, message);
}

int32_t error_prefix(code_executor_error *error, int32_t status, const char *format, ...)
{
    char message[MESSAGE_MAX];
    char before[MESSAGE_MAX];
    load(error, before);
    va_list arguments;
    va_start(arguments, format);
    format_message(message, format, arguments);
    va_end(arguments);
    join(message, before);
    return store(error, status, message);
}

int32_t error_append(code_executor_error *error, int32_t status, const char *format, ...)
{
    char message[MESSAGE_MAX];
    char after[MESSAGE_MAX];
    load(error, message);
    va_list arguments;
    va_start(arguments, format);
    format_message(after, format, arguments);
    va_end(arguments);
    join(message, after);
    return store(error, status, message);
}

int32_t error_clear(code_executor_error *error)
{
    return store(error, CODE_EXECUTOR_OK, "");
}
