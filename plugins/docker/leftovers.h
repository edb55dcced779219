/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leftovers.h: the plugin's extension code_executor.leftovers/1: what carries our labels on an engine.
 */
#ifndef CODE_EXECUTOR_DOCKER_LEFTOVERS_H
#define CODE_EXECUTOR_DOCKER_LEFTOVERS_H

#include "error.h"
#include <json-c/json.h>
#include <stdbool.h>

/* Lists it where CONFIG leads to: *FOUND is the caller's, an array as code_executor.h says. */
int32_t leftovers_list(json_object *config, json_object **found, code_executor_error *error);

/* Removes it, as code_executor.h says; *REMOVED is the caller's, and is there after a failure too, or
 * NULL. */
int32_t leftovers_prune(json_object *config, bool all, json_object **removed,
                        code_executor_error *error);

#endif /* CODE_EXECUTOR_DOCKER_LEFTOVERS_H */
