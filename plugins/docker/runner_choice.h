/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runner_choice.h: which runner is one for the engine's machine.
 *
 * Beside the plugin there is `runner`, made for this machine. An engine that is reached over a network may have
 * a machine of another kind; then `runner-ARCHITECTURE` beside it is taken (runner-arm64, say), where somebody
 * has built one.
 */
#ifndef CODE_EXECUTOR_DOCKER_RUNNER_CHOICE_H
#define CODE_EXECUTOR_DOCKER_RUNNER_CHOICE_H

#include "engine.h"

/* *CHOSEN, free(), from the one for this machine at PATH. UNSUPPORTED: there is none. */
int32_t runner_choice(struct engine *engine, const char *path, char **chosen,
                      code_executor_error *error);

#endif /* CODE_EXECUTOR_DOCKER_RUNNER_CHOICE_H */
