/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach.h: the standard streams of a container as a transport.
 *
 * The engine's answer to POST /containers/ID/attach turns the connection into the container's streams:
 * what is sent goes to standard input, what comes is standard output and standard error, multiplexed
 * (stream.h). The runner's frames travel on the first two; what comes on standard error is kept as the
 * container's last words. Where host and container share a folder, the frames may leave the stream for a socket
 * there (rendezvous.h); then the stream tells of the container's end alone.
 */
#ifndef CODE_EXECUTOR_DOCKER_ATTACH_H
#define CODE_EXECUTOR_DOCKER_ATTACH_H

#include "container.h"
#include "transport.h"

/*
 * Attaches to CONTAINER, which must outlive the transport; the transport asks it why it ended. Succeeds
 * with *TRANSPORT NULL where the engine attaches only to running containers (Podman): then start it
 * and call again.
 */
int32_t attach_open(struct container *container, transport **transport, code_executor_error *error);

/* Before the session opens: lets the runner come to WORK_DIR, which its container has bound, instead. */
void attach_meet(transport *transport, const char *work_dir);

#endif /* CODE_EXECUTOR_DOCKER_ATTACH_H */
