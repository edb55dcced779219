/* SPDX-License-Identifier: Apache-2.0 */
/*
 * container_body.h: what the engine is asked to make, from the configuration.
 */
#ifndef CODE_EXECUTOR_DOCKER_CONTAINER_BODY_H
#define CODE_EXECUTOR_DOCKER_CONTAINER_BODY_H

#include "error.h"
#include "runner_volume.h"
#include <json-c/json.h>

#define WORKSPACE_FOLDER "/workspace"

/* What is not in the configuration. */
struct body_facts {
    const char *bind_source; /* the workspace as the engine sees it; NULL: it is copied */
    const char *launch_id;   /* for the labels */
    const char *user;        /* NULL: as the image says */
    const struct runner_volume *volume;
};

/* *BODY is the caller's. INVALID: a value that the schema cannot judge. */
int32_t container_body(json_object *config, const struct body_facts *facts, json_object **body,
                       code_executor_error *error);

/* Whether a container made from BODY has CAP_SYS_PTRACE because it was asked for. */
bool container_body_has_ptrace(json_object *body);

#endif /* CODE_EXECUTOR_DOCKER_CONTAINER_BODY_H */
