/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volumes.h: the runner's volumes of this and other builds.
 *
 * Every build of the runner has a volume of its own on every engine that it was ever used with
 * (runner_volume.h), and nobody can tell when the last host with that build has gone. So one goes when
 * no container uses it and it is old: a build that is used again fills a volume anew, in a moment. A
 * host that is just about to make a container with it heals itself the same way.
 */
#ifndef CODE_EXECUTOR_DOCKER_VOLUMES_H
#define CODE_EXECUTOR_DOCKER_VOLUMES_H

#include "engine.h"

/* Asks for those there are, or those that no container uses. NULL: it cannot be asked. */
http_transfer *volumes_begin(struct engine *engine, bool unused_only);
/* The answer: an array of volumes as the engine describes them, which is the caller's. */
int32_t volumes_finish(struct engine *engine, http_transfer *asked, json_object **volumes,
                       code_executor_error *error);

/* When it was made, in seconds since 1970; -1: that is not known. */
int64_t volume_created(json_object *volume);

/* Removes it unless a container uses it. *GONE: whether that came about. */
int32_t volume_remove(struct engine *engine, const char *name, bool *gone,
                      code_executor_error *error);

/*
 * Removes the old ones that no container uses, but for OWN. ASKED, for unused ones, is waited for and
 * freed; it may be NULL. Returns how many. Its own failures harm nobody and are left to the next.
 */
size_t volumes_sweep(struct engine *engine, http_transfer *asked, const char *own);

#endif /* CODE_EXECUTOR_DOCKER_VOLUMES_H */
