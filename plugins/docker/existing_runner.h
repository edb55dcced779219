/* SPDX-License-Identifier: Apache-2.0 */
/*
 * existing_runner.h: the runner in a container that somebody else has started: how its file gets there, and how
 * it is run.
 */
#ifndef CODE_EXECUTOR_DOCKER_EXISTING_RUNNER_H
#define CODE_EXECUTOR_DOCKER_EXISTING_RUNNER_H

#include "docker.h"

/* Brings it into the folder INTO of the container as NAME, and beside it FOLDER, to which everybody may write;
 * NULL: none. */
int32_t existing_runner_bring(struct docker *docker, const launch_context *context,
                              const char *name, const char *folder, const char *into,
                              code_executor_error *error);

struct exec_options {
    const char *argument; /* runner/remove_itself.h */
    const char *user;     /* NULL: the container's own */
    const char *folder;   /* NULL: the container's own */
    bool attach;
    bool own_home; /* the user has none in the image */
    bool removes_folder;
};

/* Asks for an exec of PROGRAM; it does not start yet. */
int32_t existing_runner_exec(struct docker *docker, const char *program,
                             const struct exec_options *options, char id[CONTAINER_ID_SIZE],
                             code_executor_error *error);

/* Runs PROGRAM as root, for whom nobody waits, so that it removes itself, what dead ones have left, and, WITH_FOLDER,
 * the folder beside it as soon as no runner uses that any more (runner/guest.h). */
int32_t existing_runner_take_care(struct docker *docker, const char *program, bool with_folder,
                                  code_executor_error *error);

/* The same, so that the other processes of PROGRAM go on, which code has stopped. */
int32_t existing_runner_wake(struct docker *docker, const char *program,
                             code_executor_error *error);

#endif /* CODE_EXECUTOR_DOCKER_EXISTING_RUNNER_H */
