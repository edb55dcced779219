/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credential_helper.h: asks a program that keeps credentials, as docker clients do:
 *
 *     docker-credential-NAME get    ◀── the registry, on standard input
 *                                   ──▶ {"ServerURL": …, "Username": …, "Secret": …}
 */
#ifndef CODE_EXECUTOR_DOCKER_CREDENTIAL_HELPER_H
#define CODE_EXECUTOR_DOCKER_CREDENTIAL_HELPER_H

#include "error.h"
#include <json-c/json.h>

/*
 * *AUTH, the caller's, gets members as in X-Registry-Auth, or stays NULL where the helper has none for
 * REGISTRY. NOT_FOUND: there is no such program; UNAVAILABLE: it failed, in its own words; TIMED_OUT;
 * CANCELLED when CANCEL_FD (-1: none) becomes readable.
 */
int32_t credential_helper_get(const char *name, const char *registry, int cancel_fd,
                              json_object **auth, code_executor_error *error);

#endif /* CODE_EXECUTOR_DOCKER_CREDENTIAL_HELPER_H */
