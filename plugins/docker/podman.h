/* SPDX-License-Identifier: Apache-2.0 */
/*
 * podman.h: what Podman's service does otherwise than Docker's API says, in one place.
 *
 *   - attaching to a container that was not started yet is answered with 409 (attach.h);
 *   - /wait?condition=removed answers with exit code 0, whatever it was;
 *   - a container that ends while it is removed by force is not removed, and the answer is 500;
 *   - HostConfig.Runtime is left out, without a word;
 *   - standard input ends with the attached connection, whether StdinOnce is set or not, so that a runner that
 *     is to outlive it is told so (RUNNER_STAYS).
 */
#ifndef CODE_EXECUTOR_DOCKER_PODMAN_H
#define CODE_EXECUTOR_DOCKER_PODMAN_H

#include "engine.h"

/* Whether the exit code can be learnt by waiting for the removal. */
bool podman_tells_exit_code_of_removed(const struct engine *engine);

/* Whether the ANSWER to the removal of a container by force says that it was not removed as it just ended. */
bool podman_missed_removal(const struct engine *engine, const struct answer *answer);

/*
 * Fails where the engine is a Podman that has given the container with ID another RUNTIME (NULL: any) than was
 * asked for: who asks for a sandbox must not run code without it. UNSUPPORTED.
 */
int32_t podman_check_runtime(struct engine *engine, const char *id, const char *runtime,
                             code_executor_error *error);

#endif /* CODE_EXECUTOR_DOCKER_PODMAN_H */
