/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh_bridge.h: connections to an engine on another machine through ssh.
 *
 *     libcurl ── socket ── ssh ══ network ══ sshd ── docker system dial-stdio ── engine
 *
 * For libcurl the engine listens on a socket of this machine, one without a file, which is ours. Each connection
 * that libcurl makes there is handed to an ssh process as its standard input and output. One process is one
 * connection, as for docker's own client; who finds that slow lets ssh share them (ControlMaster and ControlPersist
 * in its configuration). ssh is never asked to ask: it logs in by keys.
 *
 * An ssh whose socket is closed ends by itself, after what was written before has gone out. None outlives the
 * bridge.
 */
#ifndef CODE_EXECUTOR_DOCKER_SSH_BRIDGE_H
#define CODE_EXECUTOR_DOCKER_SSH_BRIDGE_H

#include "endpoint.h"
#include <stdbool.h>
#include <stddef.h>

struct ssh_link;

/* Of one thread at a time. */
struct ssh_bridge {
    const struct endpoint *endpoint;
    int listener;
    char name[32]; /* where it listens, for CURLOPT_ABSTRACT_UNIX_SOCKET */
    struct ssh_link *first;
    char words
        [768]; /* of the ssh whose connection was closed last, or why there was none; may be empty */
};

/* False: no descriptors. */
bool ssh_bridge_begin(struct ssh_bridge *bridge, const struct endpoint *endpoint);

/* A socket that libcurl may connect, for ssh_bridge_close. -1: no descriptors. */
int ssh_bridge_open(struct ssh_bridge *bridge);
void ssh_bridge_close(struct ssh_bridge *bridge, int socket);

/* Starts ssh for what libcurl has connected since: after each call in which it may have. */
void ssh_bridge_accept(struct ssh_bridge *bridge);

/* What the ssh behind SOCKET, which has ended, said last: into ->words. */
void ssh_bridge_listen(struct ssh_bridge *bridge, int socket);

/* Behind the last close. Waits a moment for those that are ending, then ends them. */
void ssh_bridge_end(struct ssh_bridge *bridge);

#endif /* CODE_EXECUTOR_DOCKER_SSH_BRIDGE_H */
