/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_calls.c: what is asked of the runner and answered once: where programs are, a file for the
 * workspace, a fresh start.
 */
#include "session_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The bytes of a file that go into one frame; small, so that other frames get in between. */
enum { WRITE_CHUNK = 64 * 1024 };

/* Waits for the answer. Lock held. */
static int32_t await_answer(session *self, struct call *call, code_executor_error *error)
{
    while (!call->done && self->connection.state == CONNECTION_OPEN) {
        call_await(self, call);
        call->has_news = false;
    }
    return call->done ? error_clear(error) : session_over_error(self, error);
}

static int32_t no_answer(code_executor_error *error)
{
    return error_set(error, CODE_EXECUTOR_PROTOCOL, "the runner answered what was not asked");
}

static void finish_call(session *self, struct call *call)
{
    call->done = true;
    call_unfile(self, call);
    call_notify(call);
}

/* ------------------------------------------------------------------------------------------------
 * Lookup
 * --------------------------------------------------------------------------------------------- */

struct lookup {
    struct call call; /* first */
    char **paths;
    size_t count;
};

static int32_t take_lookup(session *self, struct call *call, struct frame_header header,
                           struct payload_reader *reader, code_executor_error *error)
{
    struct lookup *lookup = (struct lookup *)(void *)call;
    if (header.type != FRAME_LOOKUP_DONE || read_u32(reader) != lookup->count)
        return no_answer(error);
    for (size_t i = 0; i < lookup->count; i++) {
        uint32_t length;
        const char *path = read_string(reader, &length);
        if (reader->failed || (length > 0 && path[0] != '/'))
            return no_answer(error);
        lookup->paths[i] = length > 0 ? strndup(path, length) : NULL;
        if (length > 0 && !lookup->paths[i])
            return error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for the names of programs");
    }
    if (reader->left != 0)
        return no_answer(error);
    finish_call(self, call);
    return CODE_EXECUTOR_OK;
}

static int32_t ask_lookup(session *self, struct lookup *lookup, const buffer *payload,
                          code_executor_error *error)
{
    session_await_turn(self, NULL);
    session_await_room(self, NULL);
    call_file(self, &lookup->call);
    lookup->call.deadline = connection_now() + SESSION_ANSWER_MS;
    connection_put(&self->connection,
                   (struct frame_header){(uint32_t)buffer_length(payload), FRAME_LOOKUP, 0,
                                         lookup->call.number},
                   buffer_data(payload));
    session_push(self, NULL);
    int32_t status = await_answer(self, &lookup->call, error);
    call_unfile(self, &lookup->call);
    return status;
}

int32_t session_lookup(session *self, const char *const *programs, size_t count, char **paths,
                       code_executor_error *error)
{
    memset(paths, 0, count * sizeof *paths);
    buffer payload = {0};
    buffer_append_u32(&payload, (uint32_t)count);
    for (size_t i = 0; i < count; i++)
        buffer_append_string(&payload, programs[i]);
    struct lookup lookup = {.paths = paths, .count = count};
    int32_t status;
    if (count > LOOKUP_MAX || buffer_length(&payload) > FRAME_PAYLOAD_MAX) {
        status = error_set(error, CODE_EXECUTOR_INVALID, "at most %u programs can be looked up",
                           LOOKUP_MAX);
    } else if (payload.failed || !call_prepare(&lookup.call, CALL_LOOKUP, -1)) {
        status =
            error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for a question to the runner");
    } else {
        lookup.call.take = take_lookup;
        pthread_mutex_lock(&self->connection.lock);
        status = ask_lookup(self, &lookup, &payload, error);
        pthread_mutex_unlock(&self->connection.lock);
        call_discard(&lookup.call);
    }
    buffer_free(&payload);
    for (size_t i = 0; status != CODE_EXECUTOR_OK && i < count; i++) {
        free(paths[i]);
        paths[i] = NULL;
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Write
 * --------------------------------------------------------------------------------------------- */

struct write_call {
    struct call call; /* first */
    bool sent;        /* the last frame is on its way */
    uint32_t errnum;
};

static int32_t take_write(session *self, struct call *call, struct frame_header header,
                          struct payload_reader *reader, code_executor_error *error)
{
    struct write_call *write = (struct write_call *)(void *)call;
    write->errnum = read_u32(reader);
    if (header.type != FRAME_WRITE_DONE || !write->sent || reader->failed || reader->left != 0)
        return no_answer(error);
    finish_call(self, call);
    return CODE_EXECUTOR_OK;
}

/* Sends the file in frames. HEAD: what every frame begins with. */
static void send_file(session *self, struct write_call *write, const buffer *head,
                      const char *bytes, size_t length)
{
    buffer payload = {0};
    size_t sent = 0;
    while (!write->sent && self->connection.state == CONNECTION_OPEN) {
        session_await_room(self, NULL);
        size_t left = length - sent;
        size_t chunk = left < WRITE_CHUNK ? left : WRITE_CHUNK;
        int flags = (sent == 0 ? WRITE_FIRST : 0) | (chunk == left ? WRITE_LAST : 0);
        buffer_clear(&payload);
        buffer_append(&payload, buffer_data(head), buffer_length(head));
        buffer_append(&payload, bytes + sent, chunk);
        if (payload.failed) {
            connection_fail(&self->connection, CODE_EXECUTOR_NO_MEMORY, "no memory for a file");
            break;
        }
        write->sent = chunk == left;
        connection_put(&self->connection,
                       (struct frame_header){(uint32_t)buffer_length(&payload), FRAME_WRITE,
                                             (uint16_t)flags, write->call.number},
                       buffer_data(&payload));
        sent += chunk;
    }
    buffer_free(&payload);
    session_push(self, NULL);
    write->call.deadline = connection_now() + SESSION_ANSWER_MS;
}

static int32_t write_file(session *self, struct write_call *write, const buffer *head,
                          const char *bytes, size_t length, code_executor_error *error)
{
    connection *link = &self->connection;
    session_await_turn(self, NULL);
    while (link->state == CONNECTION_OPEN && self->write_count == WRITES_MAX)
        connection_sleep(link, &link->changed, -1);
    self->write_count++;
    call_file(self, &write->call);
    send_file(self, write, head, bytes, length);
    int32_t status = await_answer(self, &write->call, error);
    call_unfile(self, &write->call);
    if (self->write_count-- == WRITES_MAX)
        pthread_cond_broadcast(&link->changed);
    return status;
}

int32_t session_write_file(session *self, const char *path, uint32_t mode, const char *bytes,
                           size_t length, code_executor_error *error)
{
    buffer head = {0};
    buffer_append_string(&head, path);
    buffer_append_u32(&head, mode);
    struct write_call write = {.errnum = 0};
    int32_t status;
    if (buffer_length(&head) > FRAME_PAYLOAD_MAX - WRITE_CHUNK) {
        status = error_set(error, CODE_EXECUTOR_INVALID, "the path of a file is too long");
    } else if (head.failed || !call_prepare(&write.call, CALL_WRITE, -1)) {
        status = error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for %s", path);
    } else {
        write.call.take = take_write;
        pthread_mutex_lock(&self->connection.lock);
        status = write_file(self, &write, &head, bytes, length, error);
        pthread_mutex_unlock(&self->connection.lock);
        call_discard(&write.call);
    }
    buffer_free(&head);
    if (status == CODE_EXECUTOR_OK && write.errnum != 0) {
        bool denied = write.errnum == EACCES || write.errnum == EPERM || write.errnum == EROFS;
        return error_set_errno(error, denied ? CODE_EXECUTOR_DENIED : CODE_EXECUTOR_IO,
                               (int)write.errnum, "cannot write %s", path);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Reset
 * --------------------------------------------------------------------------------------------- */

static int32_t take_reset(session *self, struct call *call, struct frame_header header,
                          struct payload_reader *reader, code_executor_error *error)
{
    if (header.type != FRAME_RESET_DONE || reader->left != 0)
        return no_answer(error);
    self->reset = NULL;
    finish_call(self, call);
    pthread_cond_broadcast(&self->connection.changed);
    return CODE_EXECUTOR_OK;
}

static int32_t reset(session *self, struct call *call, code_executor_error *error)
{
    connection *link = &self->connection;
    while (self->reset && link->state == CONNECTION_OPEN)
        connection_sleep(link, &link->changed, -1);
    if (link->state != CONNECTION_OPEN)
        return session_over_error(self, error);
    self->reset = call;
    call->deadline = connection_now() + SESSION_ANSWER_MS;
    session_mark_runs_cancelled(self);
    connection_put(link, (struct frame_header){0, FRAME_RESET, 0, 0}, NULL);
    session_push(self, NULL);
    int32_t status = await_answer(self, call, error);
    self->reset = NULL;
    return status;
}

int32_t session_reset(session *self, code_executor_error *error)
{
    struct call call;
    if (!call_prepare(&call, CALL_RESET, -1))
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for a restart");
    call.take = take_reset;
    pthread_mutex_lock(&self->connection.lock);
    int32_t status = reset(self, &call, error);
    pthread_mutex_unlock(&self->connection.lock);
    call_discard(&call);
    return status;
}
