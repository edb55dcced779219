/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image.h: pulls an image, showing how far it has come.
 */
#ifndef CODE_EXECUTOR_DOCKER_IMAGE_H
#define CODE_EXECUTOR_DOCKER_IMAGE_H

#include "commandline.h"
#include "engine.h"

/*
 * Pulls IMAGE for PLATFORM (NULL: the engine's own). AUTH, an object as the engine's X-Registry-Auth
 * header has it, may be NULL. Progress goes to CONTEXT. CANCELLED when ENGINE->cancel_fd says so.
 */
int32_t image_pull(struct engine *engine, const launch_context *context, const char *image,
                   const char *platform, json_object *auth, code_executor_error *error);

#endif /* CODE_EXECUTOR_DOCKER_IMAGE_H */
