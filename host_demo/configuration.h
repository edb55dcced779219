/* SPDX-License-Identifier: Apache-2.0 */
/*
 * configuration.h: what create is given: a configuration as the user wrote it, with a workspace.
 *
 * An executor whose schema has `work_dir` gets the one that is configured, else the one that was
 * named for all executors, else a fresh temporary folder.
 */
#ifndef HOST_DEMO_CONFIGURATION_H
#define HOST_DEMO_CONFIGURATION_H

#include "text.h"
#include <json-c/json.h>

struct configuration {
    struct bytes text; /* JSON for create, or what was given instead of it */
    char *workspace;   /* a temporary folder that was made for it, or NULL */
    bool given_twice;  /* the workspace: why there is none (wrong usage) */
};

/* GIVEN: JSON, @FILE or NULL. WORK_DIR: for all executors, or NULL. LABEL is for messages. After a
 * failure there is nothing to free, and GIVEN_TWICE may tell why. */
int32_t configuration_make(const char *given, const code_executor_v1 *table, const char *label,
                           const char *work_dir, struct configuration *made,
                           code_executor_error *error);

/* Appends a configuration as it was given: JSON, @FILE, or NULL for nothing. */
int32_t configuration_read(const char *given, struct bytes *config, code_executor_error *error);

/* The object that TEXT is; NULL where it is none. */
json_object *parse_object(const char *text);

/* For CLEANUP. */
void free_json(json_object **object);

#endif /* HOST_DEMO_CONFIGURATION_H */
