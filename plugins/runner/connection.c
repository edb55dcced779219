/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connection.c: see connection.h.
 *
 *     received:  [ taken | a request | the beginning of the next |        ]
 *     queue:     [ sent  | frames to be sent                     | space  ]
 */
#include "connection.h"
#include "system.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

/* OUTPUT waits while more than this is queued: enough that a host that reads is never kept waiting. */
#define QUEUE_LONG (256u * 1024u)
/* More than this is queued only for a host that asks and does not read. */
#define QUEUE_MAX (64u * 1024u * 1024u)
/* How long OUTPUT waits for more, or for the EXIT: nobody sees it, and what a program prints line by line,
 * or just before it ends, wakes the host, and an engine's processes between, once. Unless there is this much. */
#define GATHER_MS   1u
#define GATHER_SIZE OUTPUT_PAYLOAD_MAX
/* An engine empties our pipe in small pieces, and a pipe says after each that there is room: two processes would
 * wake for every piece. So once it is full, it is left alone for this long; it must be too large to run empty. */
#define PIPE_LARGE (1024u * 1024u)
#define PAUSE_MS   1u
/* What one read asks for, unless the rest of a longer frame is awaited. */
#define RECEIVE_SIZE (64u * 1024u)

static struct {
    unsigned char bytes[FRAME_HEADER_SIZE + FRAME_PAYLOAD_MAX];
    size_t taken;  /* bytes at the beginning that are done with */
    size_t length; /* bytes that are there, the taken ones included */
    size_t wanted; /* bytes that the next request needs, as far as is known */
} received;

static struct {
    unsigned char *bytes;
    size_t capacity;
    size_t sent;
    size_t length; /* end of the frames, from the beginning */
    uint64_t due;  /* when they are to be sent */
    bool blocked;  /* the host took no more */
    bool pauses;   /* is to be tried again at `due`, and not when there is room */
    bool broken;
    bool large; /* it is a pipe of that size */
} queue = {.due = NEVER};

static void make_nonblocking(int descriptor)
{
    int flags = fcntl(descriptor, F_GETFL);
    if (flags >= 0)
        (void)fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
}

void connection_open(void)
{
    make_nonblocking(STDIN_FILENO);
    make_nonblocking(STDOUT_FILENO);
    /* Where it is a pipe: fewer wake-ups on both sides for much output. */
    queue.large = fcntl(STDOUT_FILENO, F_SETPIPE_SZ, (int)PIPE_LARGE) >= (int)PIPE_LARGE;
    if (!queue.large)
        (void)fcntl(STDOUT_FILENO, F_SETPIPE_SZ, (int)QUEUE_LONG);
}

bool connection_receive(void)
{
    memmove(received.bytes, received.bytes + received.taken, received.length - received.taken);
    received.length -= received.taken;
    received.taken = 0;
    size_t size = RECEIVE_SIZE;
    if (received.wanted > received.length && received.wanted - received.length > size)
        size = received.wanted - received.length;
    if (size > sizeof received.bytes - received.length)
        size = sizeof received.bytes - received.length;
    ssize_t count = read(STDIN_FILENO, received.bytes + received.length, size);
    if (count > 0)
        received.length += (size_t)count;
    return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

enum request_outcome connection_next(struct request *request,
                                     char objection[REQUEST_OBJECTION_SIZE])
{
    size_t consumed = 0;
    enum request_outcome outcome =
        request_parse(received.bytes + received.taken, received.length - received.taken, request,
                      &consumed, objection);
    if (outcome == REQUEST_COMPLETE)
        received.taken += consumed;
    received.wanted = consumed;
    return outcome;
}

bool connection_has_room(void)
{
    return !queue.broken && queue.length - queue.sent < QUEUE_LONG;
}

/* Room for SIZE bytes more behind the frames, if need be by moving them to the front. */
static bool make_room(size_t size)
{
    if (queue.capacity - queue.length >= size)
        return true;
    size_t pending = queue.length - queue.sent;
    if (queue.sent > 0) {
        memmove(queue.bytes, queue.bytes + queue.sent, pending);
        queue.sent = 0;
        queue.length = pending;
    }
    size_t needed = pending + size;
    if (queue.capacity >= needed)
        return true;
    if (needed > QUEUE_MAX)
        return false;
    /* Twice what is needed, so that moving to the front is rare. */
    size_t capacity = needed < QUEUE_LONG ? 4 * QUEUE_LONG : 2 * needed;
    unsigned char *bytes = realloc(queue.bytes, capacity);
    if (!bytes)
        return false;
    queue.bytes = bytes;
    queue.capacity = capacity;
    return true;
}

unsigned char *connection_reserve(size_t size)
{
    if (queue.broken || !make_room(FRAME_HEADER_SIZE + size)) {
        queue.broken = true;
        return NULL;
    }
    return queue.bytes + queue.length + FRAME_HEADER_SIZE;
}

void connection_queue(struct frame_header header)
{
    put_frame_header(queue.bytes + queue.length, header);
    queue.length += FRAME_HEADER_SIZE + (size_t)header.length;
    if (queue.blocked)
        return;
    if (header.type != FRAME_OUTPUT || queue.length - queue.sent >= GATHER_SIZE)
        queue.due = 0;
    else if (queue.due == NEVER)
        queue.due = moment_after(GATHER_MS);
}

uint64_t connection_due(void)
{
    return queue.due;
}

/* Attack: code takes all the memory that the container may have, and sockets get none for a moment. That a socket
 * has room says nothing then. */
static bool is_short_of_memory(int error)
{
    return error == ENOBUFS || error == ENOMEM;
}

/* The host took SENT bytes, and then no more, for ERROR. */
static void block(size_t sent, int error)
{
    queue.blocked = true;
    queue.pauses = is_short_of_memory(error) || (queue.large && sent > 0);
    queue.due = queue.pauses ? moment_after(PAUSE_MS) : NEVER;
}

void connection_flush(void)
{
    size_t before = queue.sent;
    while (!queue.broken && queue.sent < queue.length) {
        ssize_t count = write(STDOUT_FILENO, queue.bytes + queue.sent, queue.length - queue.sent);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && (errno == EAGAIN || is_short_of_memory(errno))) {
            block(queue.sent - before, errno);
            return;
        }
        if (count < 0)
            queue.broken = true; /* EPIPE; SIGPIPE is blocked */
        else
            queue.sent += (size_t)count;
    }
    queue.sent = 0;
    queue.length = 0;
    queue.due = NEVER;
    queue.blocked = false;
}

bool connection_awaits_room(void)
{
    return queue.blocked && !queue.pauses;
}

bool connection_broken(void)
{
    return queue.broken;
}

void connection_drain(unsigned milliseconds)
{
    uint64_t deadline = moment_after(milliseconds);
    connection_flush();
    while (queue.blocked && !queue.broken && now_ns() < deadline) {
        struct pollfd descriptor = {STDOUT_FILENO, POLLOUT, 0};
        (void)poll(&descriptor, 1, poll_timeout(deadline));
        connection_flush();
    }
}
