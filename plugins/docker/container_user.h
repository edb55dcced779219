/* SPDX-License-Identifier: Apache-2.0 */
/*
 * container_user.h: who code runs as, where the option `user` leaves that to us.
 */
#ifndef CODE_EXECUTOR_DOCKER_CONTAINER_USER_H
#define CODE_EXECUTOR_DOCKER_CONTAINER_USER_H

#include "engine.h"
#include <stdbool.h>

struct container_user {
    bool rootless_known;
    bool rootless; /* the engine: root inside is the engine's own, unprivileged user outside */
    char text[32]; /* "uid:gid" */
};

/* Whether OPTION (NULL: not given) is one of the words "auto" and "unprivileged", for whose users no image
 * has a home. */
bool container_user_is_chosen(const char *option);

/*
 * *USER is what the engine is told for OPTION: NULL for NULL, the same text, or for the words above one in
 * SELF that depends on this process and on WORK_DIR, whose group may be changed for it; NULL where code does
 * not write to that folder itself.
 */
int32_t container_user_choose(struct container_user *self, struct engine *engine,
                              const char *option, const char *work_dir, const char **user,
                              code_executor_error *error);

#endif /* CODE_EXECUTOR_DOCKER_CONTAINER_USER_H */
