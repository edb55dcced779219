/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.h: many options in one word.
 *
 *     {"profile": "strict", "memory": "2g"}  ─▶  {"profile": "strict", "memory": "2g", "network": "none", …}
 *
 * What a profile says is added to what was given, key by key, and takes the place of defaults alone. So
 * whatever else reads the configuration needs to know nothing of profiles.
 */
#ifndef CODE_EXECUTOR_DOCKER_PROFILE_H
#define CODE_EXECUTOR_DOCKER_PROFILE_H

#include "error.h"
#include <json-c/json.h>

int32_t profile_apply(json_object *given, code_executor_error *error);

#endif /* CODE_EXECUTOR_DOCKER_PROFILE_H */
