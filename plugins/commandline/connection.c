/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connection.c: see connection.h.
 *
 * Closing. A transport must not be closed while a thread is inside its wait. So whoever ends the
 * connection marks it and calls the waiters back; the last to leave closes.
 */
#include "connection.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* Overridden by tests, which do not want to wait as long. */
#ifndef CONNECTION_STALL_MS
#define CONNECTION_STALL_MS 30000
#endif

enum { OUTPUT_ROOM = 256 * 1024, RECEIVE_SIZE = 256 * 1024 };

int64_t connection_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool connection_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0)
        return false;
    bool made = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                pthread_cond_init(condition, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    return made;
}

void connection_sleep(connection *self, pthread_cond_t *condition, int64_t deadline)
{
    if (deadline < 0) {
        pthread_cond_wait(condition, &self->lock);
        return;
    }
    struct timespec until = {.tv_sec = (time_t)(deadline / 1000),
                             .tv_nsec = (long)(deadline % 1000) * 1000000};
    pthread_cond_timedwait(condition, &self->lock, &until);
}

int32_t connection_open(connection *self, transport *opened, code_executor_error *error)
{
    memset(self, 0, sizeof *self);
    self->transport = opened;
    self->error = (code_executor_error)CODE_EXECUTOR_ERROR_INIT;
    self->progress_ms = connection_now();
    fork_guard_watch(&self->guard, opened);
    self->wake_fd[READING] = fork_guard_eventfd();
    self->wake_fd[WRITING] = fork_guard_eventfd();
    pthread_mutex_init(&self->lock, NULL);
    if (connection_condition(&self->changed)) {
        if (self->wake_fd[READING] >= 0 && self->wake_fd[WRITING] >= 0)
            return CODE_EXECUTOR_OK;
        pthread_cond_destroy(&self->changed);
    }
    int32_t status = error_set_errno(error, CODE_EXECUTOR_UNAVAILABLE, errno,
                                     "cannot set up the connection to the runner");
    fork_guard_unwatch(&self->guard);
    opened->operations->close(opened);
    fork_guard_close(self->wake_fd[READING]);
    fork_guard_close(self->wake_fd[WRITING]);
    pthread_mutex_destroy(&self->lock);
    return status;
}

void connection_destroy(connection *self)
{
    fork_guard_close(self->wake_fd[READING]);
    fork_guard_close(self->wake_fd[WRITING]);
    buffer_free(&self->input);
    buffer_free(&self->output);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
}

/* ------------------------------------------------------------------------------------------------
 * The end
 * --------------------------------------------------------------------------------------------- */

/* Closes the transport of a connection that is over, unless a thread is still inside of it. */
static void close_when_left(connection *self)
{
    if (self->state == CONNECTION_OPEN || !self->transport || self->waiting[READING] ||
        self->waiting[WRITING])
        return;
    fork_guard_unwatch(&self->guard);
    self->transport->operations->close(self->transport);
    self->transport = NULL;
    buffer_clear(&self->output);
    buffer_clear(&self->input);
}

static void finish(connection *self, enum connection_state state)
{
    self->state = state;
    connection_wake(self, READING);
    connection_wake(self, WRITING);
    pthread_cond_broadcast(&self->changed);
}

void connection_fail(connection *self, int32_t status, const char *format, ...)
{
    if (self->state != CONNECTION_OPEN)
        return;
    char message[sizeof self->error.message];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    error_set(&self->error, status, "%s", message);
    finish(self, CONNECTION_FAILED);
    close_when_left(self);
}

/* The other side is gone; the transport may know more. */
static void fail_at_end(connection *self)
{
    code_executor_error why = CODE_EXECUTOR_ERROR_INIT;
    error_set(&why, CODE_EXECUTOR_LOST, "the runner closed the connection");
    self->transport->operations->explain(self->transport, &why);
    self->out_of_memory = self->transport->out_of_memory;
    connection_fail(self, why.status == CODE_EXECUTOR_OK ? CODE_EXECUTOR_LOST : why.status, "%s",
                    why.message);
}

void connection_end(connection *self)
{
    if (self->state == CONNECTION_OPEN)
        finish(self, CONNECTION_ENDED);
    close_when_left(self);
    while (self->transport) {
        pthread_cond_wait(&self->changed, &self->lock);
        close_when_left(self);
    }
}

bool connection_stalled(connection *self)
{
    if (self->state != CONNECTION_OPEN || buffer_length(&self->output) == 0 ||
        connection_now() - self->progress_ms < CONNECTION_STALL_MS)
        return false;
    connection_fail(self, CODE_EXECUTOR_TIMED_OUT,
                    "the runner has read nothing for %d seconds; is its environment paused?",
                    CONNECTION_STALL_MS / 1000);
    return true;
}

/* ------------------------------------------------------------------------------------------------
 * Out
 * --------------------------------------------------------------------------------------------- */

void connection_put(connection *self, struct frame_header header, const void *payload)
{
    if (self->state != CONNECTION_OPEN || self->send_ended)
        return;
    if (buffer_length(&self->output) == 0)
        self->progress_ms = connection_now();
    /* Room for both is made first: half a frame must never be left in the output. */
    unsigned char *at = buffer_reserve(&self->output, FRAME_HEADER_SIZE + (size_t)header.length);
    if (!at) {
        connection_fail(self, CODE_EXECUTOR_NO_MEMORY, "no memory for a frame to the runner");
        return;
    }
    put_frame_header(at, header);
    if (header.length > 0)
        memcpy(at + FRAME_HEADER_SIZE, payload, header.length);
    buffer_written(&self->output, FRAME_HEADER_SIZE + (size_t)header.length);
}

void connection_flush(connection *self)
{
    while (self->state == CONNECTION_OPEN && buffer_length(&self->output) > 0) {
        ssize_t count = self->transport->operations->send(
            self->transport, buffer_data(&self->output), buffer_length(&self->output));
        if (count == TRANSPORT_AGAIN)
            return;
        self->progress_ms = connection_now();
        if (count < 0) {
            /* What it sent before it went (why it went, perhaps) is read first; see receive. */
            self->send_ended = true;
            buffer_clear(&self->output);
            connection_wake(self, READING);
        } else {
            buffer_consume(&self->output, (size_t)count);
        }
        pthread_cond_broadcast(&self->changed);
    }
}

bool connection_has_room(const connection *self)
{
    return buffer_length(&self->output) < OUTPUT_ROOM;
}

/* ------------------------------------------------------------------------------------------------
 * In
 * --------------------------------------------------------------------------------------------- */

/* The largest payload that a frame of TYPE from the runner may have; -1: it sends no such frame. */
static int64_t largest_payload(uint16_t type)
{
    switch (type) {
    case FRAME_OUTPUT:
        return OUTPUT_PAYLOAD_MAX;
    case FRAME_HELLO:
    case FRAME_EXIT:
    case FRAME_ERROR:
        return 64 * 1024;
    case FRAME_LOOKUP_DONE:
        return FRAME_PAYLOAD_MAX;
    case FRAME_RESET_DONE:
    case FRAME_WRITE_DONE:
        return 64;
    default:
        return -1;
    }
}

/* Hands on every whole frame of the input. Returns how much is missing of the next. */
static size_t take_frames(connection *self, frame_handler handler, void *owner)
{
    while (self->state == CONNECTION_OPEN) {
        size_t length = buffer_length(&self->input);
        if (length < FRAME_HEADER_SIZE)
            return FRAME_HEADER_SIZE - length;
        struct frame_header header = get_frame_header(buffer_data(&self->input));
        int64_t largest = largest_payload(header.type);
        if (largest < 0 || header.length > largest) {
            connection_fail(self, CODE_EXECUTOR_PROTOCOL,
                            "the runner sent a frame of type %u and %u bytes, which it must not",
                            (unsigned int)header.type, (unsigned int)header.length);
            return 0;
        }
        size_t whole = FRAME_HEADER_SIZE + (size_t)header.length;
        if (length < whole)
            return whole - length;
        code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
        int32_t status =
            handler(owner, header, buffer_data(&self->input) + FRAME_HEADER_SIZE, &error);
        if (status != CODE_EXECUTOR_OK)
            connection_fail(self, status, "%s", error.message);
        if (self->state != CONNECTION_OPEN)
            return 0;
        buffer_consume(&self->input, whole);
    }
    return 0;
}

bool connection_receive(connection *self, frame_handler handler, void *owner)
{
    if (self->state != CONNECTION_OPEN)
        return false;
    size_t missing = take_frames(self, handler, owner);
    if (self->state != CONNECTION_OPEN)
        return false;
    size_t size = missing > RECEIVE_SIZE ? missing : RECEIVE_SIZE;
    unsigned char *at = buffer_reserve(&self->input, size);
    if (!at) {
        connection_fail(self, CODE_EXECUTOR_NO_MEMORY, "no memory for the runner's frames");
        return false;
    }
    ssize_t count = self->transport->operations->receive(self->transport, at, size);
    if (count == TRANSPORT_END || (count == TRANSPORT_AGAIN && self->send_ended)) {
        fail_at_end(self);
        return false;
    }
    if (count <= 0)
        return false;
    buffer_written(&self->input, (size_t)count);
    take_frames(self, handler, owner);
    return true;
}

/* ------------------------------------------------------------------------------------------------
 * Waiting
 * --------------------------------------------------------------------------------------------- */

void connection_wait(connection *self, enum direction direction, int wake_fd, int timeout_ms)
{
    if (self->state != CONNECTION_OPEN)
        return;
    self->waiting[direction] = true;
    transport *waited = self->transport;
    int wake = wake_fd >= 0 ? wake_fd : self->wake_fd[direction];
    pthread_mutex_unlock(&self->lock);
    waited->operations->wait(waited, direction == WRITING, wake, timeout_ms);
    pthread_mutex_lock(&self->lock);
    self->waiting[direction] = false;
    if (self->woken[direction]) {
        uint64_t count;
        self->woken[direction] = false;
        (void)!read(self->wake_fd[direction], &count, sizeof count);
    }
    if (self->state != CONNECTION_OPEN) {
        close_when_left(self);
        pthread_cond_broadcast(&self->changed);
    }
}

void connection_wake(connection *self, enum direction direction)
{
    if (self->waiting[direction] && !self->woken[direction]) {
        self->woken[direction] = true;
        (void)!eventfd_write(self->wake_fd[direction], 1);
    }
}
