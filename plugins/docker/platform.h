/* SPDX-License-Identifier: Apache-2.0 */
/*
 * platform.h: what machine an image is made for, and what machine the engine's is.
 *
 * The runner is made for the engine's machine, and as the first process of the container it runs whatever the
 * image is made for. So an image for another machine is of use where that has an emulator (binfmt_misc),
 * and only trying tells: its shell or Python is run once, to do nothing, before the first block.
 */
#ifndef CODE_EXECUTOR_DOCKER_PLATFORM_H
#define CODE_EXECUTOR_DOCKER_PLATFORM_H

#include "commandline.h"
#include "container.h"

/* Whether CONTAINER, which has been made for PLATFORM (NULL: not given), may be for another machine. Docker
 * says so, and Podman nothing. */
bool platform_may_be_foreign(const struct container *container, const char *platform);

/* UNSUPPORTED: programs of IMAGE cannot run on the engine's machine. An image without a program that could be
 * tried passes. CANCELLED by CANCELLER. */
int32_t platform_try(struct engine *engine, const char *image, session *over, const char *folder,
                     session_canceller *canceller, code_executor_error *error);

#endif /* CODE_EXECUTOR_DOCKER_PLATFORM_H */
