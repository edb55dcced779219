/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hijack.h: the connection of a request to attach, once HTTP is over on it.
 *
 *     open:  connect ─▶ POST …/attach, Upgrade: tcp ─▶ 101 ─▶ bytes of the container's streams, both ways
 *
 * libcurl makes the connection and carries the bytes (over TLS too); the request and the head of the
 * answer are written and read here, because libcurl gives a connection away only before HTTP begins.
 */
#ifndef CODE_EXECUTOR_DOCKER_HIJACK_H
#define CODE_EXECUTOR_DOCKER_HIJACK_H

#include "container.h"
#include <sys/types.h>

#define HIJACK_BUFFER_SIZE (256 * 1024)

struct hijack {
    struct container *container;
    CURL *connection;
    int socket;   /* for poll */
    bool ended;   /* or given up */
    size_t begin; /* of what is in the buffer */
    size_t end;
    char buffer[HIJACK_BUFFER_SIZE];
};

/* The streams of CONTAINER's first process, or of its exec, which must outlive them. Where that fails nothing
 * is left. *TOO_EARLY, then: the engine attaches only to a container that runs. */
int32_t hijack_open(struct hijack *self, struct container *container, bool *too_early,
                    code_executor_error *error);
void hijack_close(struct hijack *self);

/* As a transport's; receive fills the buffer, which must be empty. */
ssize_t hijack_send(struct hijack *self, const void *bytes, size_t length);
ssize_t hijack_receive(struct hijack *self);

/* TRANSPORT_AGAIN, or, as a container that is paused keeps its connection and would hold up whoever waits for
 * it, TRANSPORT_END. */
ssize_t hijack_nothing_now(struct hijack *self);

#endif /* CODE_EXECUTOR_DOCKER_HIJACK_H */
