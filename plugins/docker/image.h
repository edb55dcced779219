/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image.h: pulls an image, showing how far it has come.
 */
#ifndef CODE_EXECUTOR_DOCKER_IMAGE_H
#define CODE_EXECUTOR_DOCKER_IMAGE_H

#include "commandline.h"
#include "engine.h"
#include "registry_credentials.h"

/*
 * Pulls IMAGE for PLATFORM (NULL: the engine's own). Progress goes to CONTEXT. CANCELLED when
 * ENGINE->cancel_fd says so.
 */
int32_t image_pull(struct engine *engine, const launch_context *context, const char *image,
                   const char *platform, const struct registry_credentials *credentials,
                   code_executor_error *error);

#endif /* CODE_EXECUTOR_DOCKER_IMAGE_H */
