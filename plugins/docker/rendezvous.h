/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rendezvous.h: a socket in the workspace through which the runner of a container on this machine comes to its
 * host; the runner's end is plugins/runner/rendezvous.h.
 *
 *     open ─▶ HELLO over the stream names it ─▶ receive: a visitor, is it the container's? ─▶ half of the proof
 *                                                  └─▶ it answers the other half: TAKEN; frames go this way
 *
 * An engine's stream costs two of its processes a wake-up and a copy for all that passes. A container that has
 * the workspace bound shares a folder with its host, and a socket there is a way between the two that the kernel
 * alone serves. It is never needed: an engine in a virtual machine, a file system without sockets or a
 * security module may close it, and the frames stay on the stream.
 *
 * Attacks, for the workspace may be open to code of other containers, and other users:
 *   - somebody else comes to the socket: the kernel says which process made the connection, and its control
 *     group is not the container's; it gets neither the proof nor frames. Who may name groups (any user to whom
 *     the system has delegated some) is let in, but does not know the half that came to the runner over the
 *     stream alone; nor does it keep the runner out, as several are heard at a time;
 *   - somebody else waits where the socket was, to give the runner orders: the proof is missing, and whoever
 *     would fetch it from here is turned away as above. Who may both change the folder and name groups stands
 *     between the two; it could change the files that are run as well;
 *   - somebody has planted a link or a file under the name: bind makes a new one or fails, nothing is followed.
 * Where code already runs in the container, that is not enough; so this is for its first process alone.
 *
 * All is called under the connection's lock, but for rendezvous_watch.
 */
#ifndef CODE_EXECUTOR_DOCKER_RENDEZVOUS_H
#define CODE_EXECUTOR_DOCKER_RENDEZVOUS_H

#include "labels.h"
#include "runner/protocol.h"
#include "transport.h"
#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

enum rendezvous_state {
    RENDEZVOUS_NONE = 0, /* there is no such way */
    RENDEZVOUS_OPEN,     /* the runner has not come */
    RENDEZVOUS_TAKEN     /* frames go this way */
};

enum { RENDEZVOUS_VISITORS = 4, RENDEZVOUS_WATCHED = RENDEZVOUS_VISITORS + 1 };

struct rendezvous_visitor {
    int socket;
    size_t answered; /* bytes of its half of the proof that have come */
};

/* All zero: there is none. */
struct rendezvous {
    enum rendezvous_state state;
    int folder; /* of the socket, until that is removed */
    int listener;
    size_t visitor_count;
    struct rendezvous_visitor visitors[RENDEZVOUS_VISITORS];
    int met;        /* the runner, once it is taken */
    transport *way; /* likewise, over that */
    char name[RENDEZVOUS_NAME_MAX];
    char proof[LAUNCH_ID_SIZE];
};

/* Puts a socket into WORK_DIR and listens. Where that cannot be, there is no such way. */
void rendezvous_open(struct rendezvous *self, const char *work_dir);

/* Removes the socket and closes what there is. */
void rendezvous_close(struct rendezvous *self);

/*
 * As a transport's: a count; TRANSPORT_AGAIN, also where there is no such way; TRANSPORT_END when the way was
 * taken and has ended. CONTAINER_ID: who is let in. What is sent goes to ->way, once that is taken.
 */
ssize_t rendezvous_receive(struct rendezvous *self, const char *container_id, void *buffer,
                           size_t size);

/* What to poll for, when taken WANTED; returns how many. */
size_t rendezvous_watch(const struct rendezvous *self, short wanted,
                        struct pollfd watched[RENDEZVOUS_WATCHED]);

#endif /* CODE_EXECUTOR_DOCKER_RENDEZVOUS_H */
