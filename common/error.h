/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.h: filling the caller's code_executor_error.
 *
 * Every function that can fail takes it last and returns the status, so a failure is one line:
 *
 *     return error_set(error, CODE_EXECUTOR_UNAVAILABLE, "cannot reach %s: %s", url, reason);
 *
 * and on the way up a caller adds what it was doing: `return error_prefix(error, "cannot start: ")`.
 * ERROR may be NULL everywhere; writes stay within its struct_size.
 */
#ifndef CODE_EXECUTOR_ERROR_H
#define CODE_EXECUTOR_ERROR_H

#include <code_executor.h>

/* Sets status and message; returns STATUS. */
int32_t error_set(code_executor_error *error, int32_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with ": " and the words for ERRNUM behind the message. */
int32_t error_set_errno(code_executor_error *error, int32_t status, int errnum, const char *format,
                        ...) __attribute__((format(printf, 4, 5)));

/* Puts words before (after) the message that is there. Both keep and return STATUS, which the caller
 * passes because ERROR may be NULL. */
int32_t error_prefix(code_executor_error *error, int32_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int32_t error_append(code_executor_error *error, int32_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Success: status OK, empty message. Returns CODE_EXECUTOR_OK. */
int32_t error_clear(code_executor_error *error);

#endif /* CODE_EXECUTOR_ERROR_H */
