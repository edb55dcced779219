/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runner_volume.h: the runner, in a volume of the engine that every container mounts read-only.
 *
 * Copying the runner into each container would cost 130 ms a start, and cannot be done where the root
 * is read-only. So it is put into a named volume once; later starts only mount it. The name holds the
 * digest of the runner's bytes: another build has another volume, and what is in one never changes.
 *
 * It is filled through a container that is made for it, never started, and removed. Hosts may do so at
 * the same time, or die in the middle: the bytes come under a name of their own, and the runner's name
 * is linked to them only when they are whole.
 */
#ifndef CODE_EXECUTOR_DOCKER_RUNNER_VOLUME_H
#define CODE_EXECUTOR_DOCKER_RUNNER_VOLUME_H

#include "container.h"

#define RUNNER_FOLDER "/.code_executor"
#define RUNNER_PATH   RUNNER_FOLDER "/runner"

struct runner_volume {
    char name[64];
    size_t size; /* of the runner in bytes */
};

/* Reads the runner's file at PATH. NOT_FOUND: it is not there. */
int32_t runner_volume_find(const char *path, struct runner_volume *volume,
                           code_executor_error *error);

/* The mount, for HostConfig.Mounts. NULL: no memory. */
json_object *runner_volume_mount(const struct runner_volume *volume, bool read_only);

/* Whether the whole runner is in the volume that CONTAINER, which has not been started, mounts. */
int32_t runner_volume_check(const struct runner_volume *volume, struct container *container,
                            bool *whole, code_executor_error *error);

/* Puts it there. IMAGE (with PLATFORM, or NULL) is one that the engine has; LAUNCH_ID goes on the label of
 * the container that is made for it. */
int32_t runner_volume_fill(const struct runner_volume *volume, struct engine *engine,
                           const char *path, const char *image, const char *platform,
                           const char *launch_id, code_executor_error *error);

#endif /* CODE_EXECUTOR_DOCKER_RUNNER_VOLUME_H */
