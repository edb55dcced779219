/* SPDX-License-Identifier: Apache-2.0 */
/*
 * absolute_path.h: paths of a configuration, as they are counted from the folder that is current in create.
 */
#ifndef CODE_EXECUTOR_DOCKER_ABSOLUTE_PATH_H
#define CODE_EXECUTOR_DOCKER_ABSOLUTE_PATH_H

#include "error.h"

/* PATH with the current folder in front of it where it is relative; links in it are followed whenever it
 * is used, so that what they lead to may be exchanged. KEY is for the message. *ABSOLUTE is the caller's,
 * free(). */
int32_t absolute_path(const char *key, const char *path, char **absolute,
                      code_executor_error *error);

#endif /* CODE_EXECUTOR_DOCKER_ABSOLUTE_PATH_H */
