/* SPDX-License-Identifier: Apache-2.0 */
/*
 * endpoint.h: where the engine listens, and how it is spoken to.
 *
 *     docker_host, docker_context, tls ─┐
 *     DOCKER_HOST, DOCKER_CONTEXT …     ├─ choose ─▶ address ─ address.c ─▶ endpoint ─▶ http.c
 *     docker's config.json, contexts    ┘            and tls
 *
 * Chosen in create from what is there then; nothing is connected to. Where nobody names an engine, start
 * looks for one (discovery.h).
 */
#ifndef CODE_EXECUTOR_DOCKER_ENDPOINT_H
#define CODE_EXECUTOR_DOCKER_ENDPOINT_H

#include "error.h"
#include "tls.h"
#include <code_executor.h>
#include <stdbool.h>

#define DEFAULT_ADDRESS "unix:///var/run/docker.sock"

enum endpoint_kind {
    ENDPOINT_SOCKET, /* of this machine */
    ENDPOINT_TCP,
    ENDPOINT_SSH
};

struct endpoint {
    enum endpoint_kind kind;
    char *address;   /* as it was given: "unix:///var/run/docker.sock" */
    char *origin;    /* who gave the address, for messages: "DOCKER_HOST" */
    bool by_default; /* nobody gave it */
    char *warning;   /* what was amiss on the way, for the log; NULL: nothing */

    char *base_url;    /* what request paths are put behind: "http://docker" */
    char *host_header; /* "docker" */
    char *base_path;   /* what a request line's path begins with; mostly "" */
    char *socket_path; /* ENDPOINT_SOCKET; else NULL */
    struct tls tls;    /* ENDPOINT_TCP: used where tls.wanted */

    /* ENDPOINT_SSH */
    char *ssh_user; /* NULL: as ssh is configured, as with the port */
    char *ssh_host;
    char *ssh_port;
    char *ssh_socket; /* of the engine there; NULL: as docker there is configured */
};

/* By the keys docker_host, docker_context and tls of CONFIG (NULL: none is set) and the environment, in the
 * order of precedence that docker has. Cleared by endpoint_clear, also after a failure. INVALID: not an
 * address; UNSUPPORTED: a kind of address that is not spoken; NOT_FOUND: no such context. */
int32_t endpoint_choose(json_object *config, struct endpoint *chosen, code_executor_error *error);

/* An endpoint of one socket, as discovery finds them. */
int32_t endpoint_of_socket(const char *path, const char *origin, struct endpoint *chosen,
                           code_executor_error *error);

/* What two endpoints have in common that lead to one engine in one way, with the same right: free(). NULL: no
 * memory. */
char *endpoint_identity(const struct endpoint *endpoint);

void endpoint_clear(struct endpoint *endpoint);

/* address.c: fills what follows from ->address, ->origin and ->tls. */
int32_t endpoint_parse(struct endpoint *endpoint, code_executor_error *error);

#endif /* CODE_EXECUTOR_DOCKER_ENDPOINT_H */
