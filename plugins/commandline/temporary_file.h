/* SPDX-License-Identifier: Apache-2.0 */
/*
 * temporary_file.h: files that are removed after use, though equal blocks share one.
 *
 * A file without a name of its own is called after its contents, so two executions of one block at
 * the same time have one file; the first to end must not take it from the other. Those in use are
 * counted, within this process; under the same lock the last one removes.
 */
#ifndef CODE_EXECUTOR_TEMPORARY_FILE_H
#define CODE_EXECUTOR_TEMPORARY_FILE_H

#include <stdbool.h>

typedef struct temporary_file temporary_file;

/* Before the file NAME in the folder PATH is saved. NULL: no memory. */
temporary_file *temporary_file_hold(const char *path, const char *name);

/* After it has been used; NULL is allowed. Returns whether it was removed. */
bool temporary_file_release(temporary_file *file);

#endif /* CODE_EXECUTOR_TEMPORARY_FILE_H */
