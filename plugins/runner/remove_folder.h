/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remove_folder.h: a workspace that was made for one runner, in a place that is not its own, goes with it.
 */
#ifndef CODE_EXECUTOR_RUNNER_REMOVE_FOLDER_H
#define CODE_EXECUTOR_RUNNER_REMOVE_FOLDER_H

#include <stdint.h>

/* Removes the current folder and all in it, as far as that is permitted. */
void remove_folder(void);

/* Removes all in FOLDER, which it closes, as far as it comes until DEADLINE. */
void remove_contents(int folder, uint64_t deadline);

#endif /* CODE_EXECUTOR_RUNNER_REMOVE_FOLDER_H */
