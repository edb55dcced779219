/* SPDX-License-Identifier: Apache-2.0 */
/*
 * discovery.h: finds an engine where nobody has named one and none answers at the usual place: a Docker or a
 * Podman of the user's own, or the system's Podman.
 *
 *     the default socket ─ nobody there ─▶ $XDG_RUNTIME_DIR ─▶ /run/user/UID ─▶ /run/podman
 *
 * The first that answers is taken, which the log says, and kept to for the instance's life: what it has left
 * there it finds again. An engine that was named, in whatever way, is never replaced by another.
 */
#ifndef CODE_EXECUTOR_DOCKER_DISCOVERY_H
#define CODE_EXECUTOR_DOCKER_DISCOVERY_H

#include "commandline.h"
#include "engine.h"

/*
 * As engine_open with CONFIGURED; where that was chosen by default, with what is found. FOUND is all zero at
 * first, and the caller's: kept until the engine is closed and given again for the next, then endpoint_clear.
 */
int32_t discovery_open(const struct endpoint *configured, struct endpoint *found,
                       const launch_context *context, struct engine **opened,
                       code_executor_error *error);

#endif /* CODE_EXECUTOR_DOCKER_DISCOVERY_H */
