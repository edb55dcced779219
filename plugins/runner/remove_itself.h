/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remove_itself.h: what a runner is told on its command line, where its file was brought to a place that is
 * not its own (a container that somebody else runs) and must not stay there.
 */
#ifndef CODE_EXECUTOR_RUNNER_REMOVE_ITSELF_H
#define CODE_EXECUTOR_RUNNER_REMOVE_ITSELF_H

/* The first argument, or none. */
#define RUNNER_REMOVES_ITSELF      "--remove-itself"      /* and goes on */
#define RUNNER_ONLY_REMOVES_ITSELF "--only-remove-itself" /* and ends */

/* The second, or none: the folder in which it was started goes at its end, with all in it. */
#define RUNNER_REMOVES_FOLDER "--remove-folder"

#endif /* CODE_EXECUTOR_RUNNER_REMOVE_ITSELF_H */
