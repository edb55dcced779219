/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init_command.h: what is to be run in a new container before the first block.
 */
#ifndef CODE_EXECUTOR_DOCKER_INIT_COMMAND_H
#define CODE_EXECUTOR_DOCKER_INIT_COMMAND_H

#include "commandline.h"

/*
 * Runs the configuration's init_command, where there is one, OVER a session, with its env, in FOLDER. It may
 * take as long as it likes.  UNAVAILABLE: it failed; the end of its output is
 * in the message. CANCELLED by CANCELLER.
 */
int32_t init_command_run(json_object *config, const launch_context *context, session *over,
                         const char *folder, session_canceller *canceller,
                         code_executor_error *error);

#endif /* CODE_EXECUTOR_DOCKER_INIT_COMMAND_H */
