/* SPDX-License-Identifier: Apache-2.0 */
/*
 * private_folder.h: a workspace that nobody gave: a folder of its own under TMPDIR (or /tmp) for the time
 * in which an environment is up.
 *
 * Its owner holds a lock on it, which ends with the owner, however that dies. A folder of this user's that has
 * been there for a while and is locked by nobody is what a host that was killed has left.
 */
#ifndef CODE_EXECUTOR_PRIVATE_FOLDER_H
#define CODE_EXECUTOR_PRIVATE_FOLDER_H

#include "error.h"

/* Makes one, mode 0700. *PATH is absolute and the caller's, free(). */
int32_t private_folder_make(char **path, code_executor_error *error);

/* Locks it for this process, not for its forks: a descriptor for fork_guard_close, or -1. */
int private_folder_hold(const char *path);

/* Removes what hosts that were killed have left beside PATH, a few at most. */
void private_folder_sweep(const char *path);

/* Removes it with all that is in it, for which no process may be left that writes there. */
int32_t private_folder_remove(const char *path, code_executor_error *error);

#endif /* CODE_EXECUTOR_PRIVATE_FOLDER_H */
