/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_path.h: where a program of this machine is.
 */
#ifndef CODE_EXECUTOR_DOCKER_PROGRAM_PATH_H
#define CODE_EXECUTOR_DOCKER_PROGRAM_PATH_H

/* NAME in the folders of PATH, as a shell would find it, but never by a relative folder; free(). NULL: it is in
 * none, or no memory. */
char *program_path(const char *name);

#endif /* CODE_EXECUTOR_DOCKER_PROGRAM_PATH_H */
