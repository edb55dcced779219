/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_config.h: the configuration of docker clients: config.json in $DOCKER_CONFIG or ~/.docker, and what
 * else lies in that folder. Read, never written.
 */
#ifndef CODE_EXECUTOR_DOCKER_CONFIG_H
#define CODE_EXECUTOR_DOCKER_CONFIG_H

#include "error.h"
#include <json-c/json.h>

/* The folder; NULL: no memory, or this user has no home. free(). */
char *docker_config_folder(void);

/*
 * Reads NAME in it. *PATH (free()) says which it is, also where it does not exist or reading it fails; it
 * may be NULL. *CONFIG, the caller's, is NULL where there is no file, and else an object.
 * IO, DENIED: it cannot be read. INVALID: it is no JSON.
 */
int32_t docker_config_read_file(const char *name, char **path, json_object **config,
                                code_executor_error *error);

/* The same with config.json. */
int32_t docker_config_read(char **path, json_object **config, code_executor_error *error);

#endif /* CODE_EXECUTOR_DOCKER_CONFIG_H */
