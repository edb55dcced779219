/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pooled.h: an instance whose containers may come from a pool (pool.h): what the plugin's launcher does.
 *
 * Each function asks the pool first, where the instance has one, and else does what docker_alone does. A
 * container of the pool was made by a struct docker of its own, which the instance keeps as `taken` for
 * as long as it uses the container.
 */
#ifndef CODE_EXECUTOR_DOCKER_POOLED_H
#define CODE_EXECUTOR_DOCKER_POOLED_H

#include "docker.h"

/* The last step of configure, where `pool` is not 0. INVALID: other options contradict. */
int32_t pooled_join(struct docker *docker, const launch_context *context,
                    code_executor_error *error);

int32_t pooled_launch(void *state, const launch_context *context, launched *result,
                      code_executor_error *error);
int32_t pooled_prepare(void *state, const launch_context *context, session *over,
                       const char *folder, session_canceller *canceller,
                       code_executor_error *error);
int32_t pooled_shut_down(void *state, const launch_context *context, bool lost,
                         code_executor_error *error);

void pooled_describe(const struct docker *docker, json_object *description);

#endif /* CODE_EXECUTOR_DOCKER_POOLED_H */
