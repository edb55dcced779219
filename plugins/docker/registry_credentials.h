/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_credentials.h: what an image is pulled with.
 *
 *     registry_auth ─▶ credHelpers of the registry ─▶ credsStore ─▶ auths ─▶ none
 *     (the options)   └──────────── config.json of docker clients ──────┘
 *
 * The first that has something for the image's registry is taken. What is wrong with the file or a helper
 * does not fail a pull that may need no credentials; it is kept, for when the registry refuses. Secrets
 * are in `auth` alone, never in a message.
 */
#ifndef CODE_EXECUTOR_DOCKER_REGISTRY_CREDENTIALS_H
#define CODE_EXECUTOR_DOCKER_REGISTRY_CREDENTIALS_H

#include "error.h"
#include <json-c/json.h>

struct registry_credentials {
    json_object *auth; /* as the engine's X-Registry-Auth header has it; NULL: none */
    char *registry;    /* as the file of docker clients calls it */
    char *file;        /* that file; NULL: there is no place for one */
    char origin[320];  /* where they are from; empty: nowhere */
    char trouble[640]; /* what kept us from looking everywhere; empty: nothing */
};

/*
 * GIVEN is the option registry_auth, or NULL. INVALID: GIVEN is for another registry than IMAGE comes
 * from. CANCELLED when CANCEL_FD becomes readable while a helper runs.
 */
int32_t registry_credentials_find(json_object *given, const char *image, int cancel_fd,
                                  struct registry_credentials *found, code_executor_error *error);

/* What to do about a registry that refuses, into WORDS. */
void registry_credentials_advise(const struct registry_credentials *credentials, char *words,
                                 size_t size);

void registry_credentials_clear(struct registry_credentials *credentials);

#endif /* CODE_EXECUTOR_DOCKER_REGISTRY_CREDENTIALS_H */
