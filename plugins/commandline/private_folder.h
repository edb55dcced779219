/* SPDX-License-Identifier: Apache-2.0 */
/*
 * private_folder.h: a workspace that nobody gave: a folder of its own under TMPDIR (or /tmp) for the time
 * in which an environment is up.
 */
#ifndef CODE_EXECUTOR_PRIVATE_FOLDER_H
#define CODE_EXECUTOR_PRIVATE_FOLDER_H

#include "error.h"

/* Makes one, mode 0700. *PATH is absolute and the caller's, free(). */
int32_t private_folder_make(char **path, code_executor_error *error);

/* Removes it with all that is in it, for which no process may be left that writes there. */
int32_t private_folder_remove(const char *path, code_executor_error *error);

#endif /* CODE_EXECUTOR_PRIVATE_FOLDER_H */
