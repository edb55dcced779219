/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context.h: docker contexts, which `docker context create` and Docker Desktop make:
 *
 *     <docker's folder>/contexts/meta/<SHA-256 of the name>/meta.json      Endpoints.docker.Host
 *     <docker's folder>/contexts/tls/<SHA-256 of the name>/docker/         ca.pem cert.pem key.pem
 */
#ifndef CODE_EXECUTOR_DOCKER_CONTEXT_H
#define CODE_EXECUTOR_DOCKER_CONTEXT_H

#include "tls.h"

struct docker_context {
    char *host;     /* NULL: the default socket; free() */
    struct tls tls; /* tls_clear */
};

/* ORIGIN names it, for messages. NOT_FOUND: there is none of that name. After a failure nothing is to be
 * freed. */
int32_t docker_context_read(const char *name, const char *origin, struct docker_context *context,
                            code_executor_error *error);

#endif /* CODE_EXECUTOR_DOCKER_CONTEXT_H */
