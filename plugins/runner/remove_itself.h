/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remove_itself.h: what a runner is told on its command line, where its file was brought to a place that is
 * not its own (a container that somebody else runs) and must not stay there; and how that is named.
 */
#ifndef CODE_EXECUTOR_RUNNER_REMOVE_ITSELF_H
#define CODE_EXECUTOR_RUNNER_REMOVE_ITSELF_H

/* The first argument, or none. */
#define RUNNER_REMOVES_ITSELF      "--remove-itself"      /* and goes on */
#define RUNNER_ONLY_REMOVES_ITSELF "--only-remove-itself" /* and what others left; then it ends */
#define RUNNER_WAKES_OTHERS        "--wake-others" /* of its name, and removes itself; then it ends */

/* The second, or none: the folder beside its file, in which the runner was started, goes with all in it; at its
 * own end, or at that of the one that runs there. */
#define RUNNER_REMOVES_FOLDER "--remove-folder"

/* Its file, behind it RUNNER_ID_LENGTH digits of base 16, lower case; the folder has the suffix as well. */
#define RUNNER_FILE_PREFIX   ".code_executor-"
#define RUNNER_FOLDER_SUFFIX "-workspace"
#define RUNNER_ID_LENGTH     32

#endif /* CODE_EXECUTOR_RUNNER_REMOVE_ITSELF_H */
