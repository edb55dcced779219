/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workspace_way.h: how code in the container comes to see the workspace.
 *
 * An engine on this machine binds the folder. One on another machine cannot, and one that this process talks
 * to from within a container binds a folder of that path outside of it, or none: then the workspace is
 * copied (workspace_copy.h), to an anonymous volume that goes with the container. Which of the two holds is
 * found out once, with a file that this process makes and the engine is asked for.
 */
#ifndef CODE_EXECUTOR_DOCKER_WORKSPACE_WAY_H
#define CODE_EXECUTOR_DOCKER_WORKSPACE_WAY_H

#include "container.h"
#include <stdbool.h>

enum workspace_way {
    WORKSPACE_UNKNOWN, /* bound until it shows that it cannot be */
    WORKSPACE_BOUND,
    WORKSPACE_COPIED
};

/* The way that CONFIG asks for. LOCAL: the engine listens on a socket of this machine. INVALID: bind_dir
 * beside workspace copy. */
int32_t workspace_way_choose(json_object *config, bool local, enum workspace_way *way,
                             code_executor_error *error);

/* Whether CONTAINER, which binds a folder and has not been started, sees WORK_DIR in it. PROBE: letters and
 * digits that nobody else has. */
int32_t workspace_way_probe(const struct container *container, const char *work_dir,
                            const char *probe, bool *sees, code_executor_error *error);

/* Whether the engine refuses to bind because there is no such folder for it. */
bool workspace_way_missing(const char *refusal);

/* Lets every user write to the volume for the copy in CONTAINER, which runs: it belongs to root, and code may
 * be somebody else. */
int32_t workspace_way_open(const struct container *container, code_executor_error *error);

#endif /* CODE_EXECUTOR_DOCKER_WORKSPACE_WAY_H */
