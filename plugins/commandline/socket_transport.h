/* SPDX-License-Identifier: Apache-2.0 */
/*
 * socket_transport.h: a transport over a stream socket, such as one end of a socketpair whose other end is
 * a runner's standard input and output.
 */
#ifndef CODE_EXECUTOR_SOCKET_TRANSPORT_H
#define CODE_EXECUTOR_SOCKET_TRANSPORT_H

#include "transport.h"

/*
 * FD, made with fork_guard.h, belongs to the transport from now on. EXPLAIN (with STATE) is the
 * transport's explain, and returns what becomes its out_of_memory; NULL where there is nothing to tell. NULL:
 * no memory, and FD is closed.
 */
transport *socket_transport_create(int fd, bool (*explain)(void *state, code_executor_error *error),
                                   void *state);

#endif /* CODE_EXECUTOR_SOCKET_TRANSPORT_H */
