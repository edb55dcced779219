/* SPDX-License-Identifier: Apache-2.0 */
/*
 * existing_workspace.h: where a container that already runs sees a folder of the engine's machine.
 */
#ifndef CODE_EXECUTOR_DOCKER_EXISTING_WORKSPACE_H
#define CODE_EXECUTOR_DOCKER_EXISTING_WORKSPACE_H

#include "error.h"
#include <json-c/json.h>

/*
 * MOUNTS as the engine lists them when a container is inspected; PATH is absolute. *FOLDER, free(), is the
 * path in the container. NOT_FOUND: no mount shows it; DENIED: it cannot be written there. Both say
 * which mounts there are, and what to do.
 */
int32_t existing_workspace_find(json_object *mounts, const char *path, char **folder,
                                code_executor_error *error);

#endif /* CODE_EXECUTOR_DOCKER_EXISTING_WORKSPACE_H */
