/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared_object.h: looks at a file before dlopen does.
 */
#ifndef CODE_EXECUTOR_HOST_SHARED_OBJECT_H
#define CODE_EXECUTOR_HOST_SHARED_OBJECT_H

#include <code_executor.h>

/*
 * Whether PATH is a whole shared object for this machine. The loader would answer in its own words to
 * some of what this refuses, block for ever on a pipe, and die of SIGBUS on a file that is cut short.
 * NOT_FOUND, DENIED, INVALID, IO.
 */
int32_t shared_object_check(const char *path, code_executor_error *error);

#endif /* CODE_EXECUTOR_HOST_SHARED_OBJECT_H */
