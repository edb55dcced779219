/* SPDX-License-Identifier: Apache-2.0 */
/*
 * existing_container.h: code in a container that somebody else has started, and that goes on without us.
 *
 *     inspect ─▶ put the runner in ─▶ exec ─▶ (attach.h) ─▶ … ─▶ end-of-file ─▶ await its end
 *                                     └ it removes its own file, or settle does
 *
 * Nothing of the container is stopped, changed or removed. The runner is no PID 1 there: when its input
 * ends it kills all that it started, and exits. So the connection is the leash here as well, and a
 * host that dies leaves nothing running.
 */
#ifndef CODE_EXECUTOR_DOCKER_EXISTING_CONTAINER_H
#define CODE_EXECUTOR_DOCKER_EXISTING_CONTAINER_H

#include "commandline.h"
#include "container.h"

struct docker;

/* Refuses, by name, what has no effect on a container that there is already. */
int32_t existing_container_check(json_object *given, code_executor_error *error);

/* Starts a runner in the container that the configuration names: docker->container, *OPENED to the runner,
 * and *FOLDER (free()), the workspace as it sees it. After a failure nothing is left. */
int32_t existing_container_start(struct docker *docker, const launch_context *context,
                                 transport **opened, char **folder, code_executor_error *error);

/* Once the runner has answered: sees that its file does not stay. */
void existing_container_settle(struct docker *docker, const launch_context *context);

/* How the runner beside the first process of CONTAINER has ended, into WORDS. */
void existing_container_describe_end(struct container *container, char *words, size_t size);

/* Behind the end of the connection: waits for the runner and all that it started to be gone. */
int32_t existing_container_leave(struct docker *docker, const launch_context *context,
                                 code_executor_error *error);

#endif /* CODE_EXECUTOR_DOCKER_EXISTING_CONTAINER_H */
