/* SPDX-License-Identifier: Apache-2.0 */
/*
 * endpoint.h: where the engine listens.
 */
#ifndef CODE_EXECUTOR_DOCKER_ENDPOINT_H
#define CODE_EXECUTOR_DOCKER_ENDPOINT_H

#include "error.h"
#include <code_executor.h>

struct endpoint {
    char *address;      /* as it was given: "unix:///var/run/docker.sock" */
    char *socket_path;  /* of a local socket */
    char *base_url;     /* what request paths are put behind: "http://docker" */
    const char *origin; /* who gave the address, for messages: "DOCKER_HOST" */
};

/* DOCKER_HOST_OPTION, else the environment's DOCKER_HOST, else the usual socket. The strings are freed
 * by endpoint_clear. INVALID: not an address; UNSUPPORTED: a kind of address that is not spoken. */
int32_t endpoint_choose(const char *docker_host_option, struct endpoint *chosen,
                        code_executor_error *error);
void endpoint_clear(struct endpoint *endpoint);

/* Puts the failure to connect into words: what was tried, and what to do. OS_ERROR: errno, or 0. */
int32_t endpoint_unreachable(const struct endpoint *endpoint, int os_error, const char *reason,
                             code_executor_error *error);

#endif /* CODE_EXECUTOR_DOCKER_ENDPOINT_H */
