/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connection.h: the two byte streams to the host, as frames.
 *
 * Neither direction ever blocks. What comes in is gathered until it is a whole request. What goes out
 * waits in one queue: OUTPUT is only put there while the queue is short (connection_has_room), so a
 * host that does not read makes the command pipes fill up, and not the runner. Answers to the host's
 * own requests are always taken; a host that asks on and on and never reads ends the connection.
 */
#ifndef CODE_EXECUTOR_RUNNER_CONNECTION_H
#define CODE_EXECUTOR_RUNNER_CONNECTION_H

#include "request.h"
#include <stdbool.h>

/* Makes both streams non-blocking. */
void connection_open(void);

/* Reads what there is, once. False: the host has closed its end. */
bool connection_receive(void);

/* The next whole request; as request_parse. The request lasts until the next call of either. */
enum request_outcome connection_next(struct request *request,
                                     char objection[REQUEST_OBJECTION_SIZE]);

/* Whether OUTPUT may be queued. */
bool connection_has_room(void);

/*
 * Room for a payload of up to SIZE bytes at the end of the queue, or NULL: no memory, or far too much
 * is queued; then the connection counts as broken. connection_queue makes a frame of its first
 * HEADER.length bytes; without that call nothing was done.
 */
unsigned char *connection_reserve(size_t size);
void connection_queue(struct frame_header header);

/* The moment at which what is queued is to be sent, or NEVER. OUTPUT may wait a little, for more. */
uint64_t connection_due(void);

/* Writes what the host takes now. Whether what is left goes on when there is room; whether the host is gone. */
void connection_flush(void);
bool connection_awaits_room(void);
bool connection_broken(void);

/* Flushes for at most MILLISECONDS. */
void connection_drain(unsigned milliseconds);

#endif /* CODE_EXECUTOR_RUNNER_CONNECTION_H */
