/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failure.h: how every function of this library fails and succeeds.
 *
 *     return fail(error, CODE_EXECUTOR_NOT_FOUND, "There is no file %s.", path);
 *     return succeed(error);
 *
 * ERROR may be NULL. Writes stay within its struct_size; a message that does not fit is cut between
 * characters.
 */
#ifndef CODE_EXECUTOR_HOST_FAILURE_H
#define CODE_EXECUTOR_HOST_FAILURE_H

#include <code_executor.h>

/* Sets status and message; returns STATUS. */
int32_t fail(code_executor_error *error, int32_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with the words of an allocation that failed. */
int32_t fail_no_memory(code_executor_error *error);

/* Status OK and an empty message; returns CODE_EXECUTOR_OK. */
int32_t succeed(code_executor_error *error);

/* The longest prefix of LENGTH bytes at TEXT, at most LIMIT long, that ends between characters. */
size_t whole_characters(const char *text, size_t length, size_t limit);

/* A name from outside as it may stand in a message: at most 64 bytes of it, no control characters. */
typedef struct quoted_name {
    char text[80];
} quoted_name;
quoted_name quote_name(const char *name);

#endif /* CODE_EXECUTOR_HOST_FAILURE_H */
