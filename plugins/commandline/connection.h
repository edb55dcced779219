/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connection.h: frames over a transport, for the session alone.
 *
 *     frames out ─▶ output ─▶ transport.send          one lock over all of it; transport.wait
 *     frames in  ◀─ input  ◀─ transport.receive       is the one thing done without it
 *
 * Frames are put into the output whole, so those of many threads never mix, and leave it at whatever
 * byte boundaries the transport likes. Nothing here blocks but connection_wait. The output is bounded by
 * its users: bulk (standard input, files) waits for connection_has_room, control frames are few.
 *
 * The other side is a program beside code that must not be trusted: every header is checked before
 * a byte of its payload is waited for.
 *
 * All functions but open and destroy are called with the lock held.
 */
#ifndef CODE_EXECUTOR_CONNECTION_H
#define CODE_EXECUTOR_CONNECTION_H

#include "buffer.h"
#include "error.h"
#include "fork_guard.h"
#include "runner/protocol.h"
#include "transport.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum direction { READING = 0, WRITING = 1 };

enum connection_state {
    CONNECTION_OPEN,
    CONNECTION_ENDED, /* by us, connection_end */
    CONNECTION_FAILED /* by the other side; error says how */
};

typedef struct connection {
    pthread_mutex_t lock;
    /* Broadcast when room in the output, a waiter's leaving or the state may have changed something for
     * a thread that sleeps here. */
    pthread_cond_t changed;
    transport *transport; /* NULL once closed */
    fork_guard_node guard;
    enum connection_state state;
    code_executor_error error; /* CONNECTION_FAILED */
    bool out_of_memory;        /* likewise, for that reason */
    buffer output;
    buffer input;
    bool send_ended;     /* the transport takes no more; what it still gives is taken in first */
    int64_t progress_ms; /* when bytes last left, or the output was last empty */
    /* For each direction: whether a thread is in transport.wait, and what calls it back. */
    bool waiting[2];
    bool woken[2];
    int wake_fd[2];
} connection;

/* Takes one frame. PAYLOAD lives until it returns. Not OK, with ERROR filled: the connection fails. */
typedef int32_t (*frame_handler)(void *owner, struct frame_header header,
                                 const unsigned char *payload, code_executor_error *error);

/* OPENED belongs to the connection, also when this fails. */
int32_t connection_open(connection *self, transport *opened, code_executor_error *error);

/* Ended before, by connection_end. */
void connection_destroy(connection *self);

/* Puts a frame into the output. */
void connection_put(connection *self, struct frame_header header, const void *payload);

/* Sends what the transport takes now of the output. */
void connection_flush(connection *self);

/* Whether bulk may be put into the output. */
bool connection_has_room(const connection *self);

/* Whether the other side has taken nothing for so long that it counts as dead; fails it then. */
bool connection_stalled(connection *self);

/* Takes in what has arrived, one transport.receive; HANDLER gets each whole frame. False: nothing had
 * arrived, or the connection is not open any more. */
bool connection_receive(connection *self, frame_handler handler, void *owner);

/* Releases the lock, waits for the transport, takes the lock. Only one thread at a time for each
 * direction. WAKE_FD: besides connection_wake, or -1 (handshake). */
void connection_wait(connection *self, enum direction direction, int wake_fd, int timeout_ms);

/* Calls the thread back that waits in DIRECTION, if one does. */
void connection_wake(connection *self, enum direction direction);

/* Ends the connection with an error, the first of which counts. */
void connection_fail(connection *self, int32_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Ends it from our side; returns when the transport is closed. */
void connection_end(connection *self);

/* Milliseconds of the monotonic clock. */
int64_t connection_now(void);

/* Sleeps on CONDITION (made by connection_condition) until signalled or until DEADLINE (-1: none). */
bool connection_condition(pthread_cond_t *condition);
void connection_sleep(connection *self, pthread_cond_t *condition, int64_t deadline);

#endif /* CODE_EXECUTOR_CONNECTION_H */
