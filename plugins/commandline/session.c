/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.c: see session.h, and session_internal.h for how the work is divided.
 *
 * Reading. Whoever waits for a call and finds nobody reading takes the duty: it receives, files each
 * frame under its call, wakes that call's thread, and waits for more, until its own call has news. Then
 * it lays the duty down and calls one of the sleepers, before it attends to its own affairs. A
 * single run therefore costs no hand-over at all, and a thread that is busy in a callback never holds
 * the duty.
 *
 * Writing. Bulk waits for room in the output; of those that wait for it, one waits for the transport.
 * What is left over is sent by whoever reads, which wakes up for it now and then: that comes to pass
 * only when the other side has stopped reading.
 */
#include "session_internal.h"

#include "text.h"
#include <poll.h>
#include <stdlib.h>
#include <string.h>

/* How often a reader tries to send what could not be sent at once. */
enum { RETRY_MS = 20, PUSH_MS = 1000, LAST_RECEIVES = 64 };

/* ------------------------------------------------------------------------------------------------
 * Calls
 * --------------------------------------------------------------------------------------------- */

bool call_prepare(struct call *call, enum call_kind kind, int64_t deadline)
{
    memset(call, 0, sizeof *call);
    call->kind = kind;
    call->deadline = deadline;
    return connection_condition(&call->news);
}

void call_discard(struct call *call)
{
    pthread_cond_destroy(&call->news);
}

static struct call **bucket_of(session *self, uint32_t number)
{
    return &self->buckets[number % SESSION_BUCKETS];
}

static struct call *find_call(session *self, uint32_t number)
{
    struct call *call = *bucket_of(self, number);
    while (call && call->number != number)
        call = call->next;
    return call;
}

void call_file(session *self, struct call *call)
{
    do {
        self->last_number++;
    } while (self->last_number == 0 || find_call(self, self->last_number));
    call->number = self->last_number;
    struct call **bucket = bucket_of(self, call->number);
    call->next = *bucket;
    *bucket = call;
    call->filed = true;
    self->call_count++;
}

void call_unfile(session *self, struct call *call)
{
    if (!call->filed)
        return;
    struct call **at = bucket_of(self, call->number);
    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    call->filed = false;
    if (self->call_count-- >= EXECUTIONS_MAX)
        pthread_cond_broadcast(&self->connection.changed);
}

void call_notify(struct call *call)
{
    call->has_news = true;
    if (call->asleep)
        pthread_cond_signal(&call->news);
}

/* ------------------------------------------------------------------------------------------------
 * Frames
 * --------------------------------------------------------------------------------------------- */

static int32_t take_greeting(session *self, struct payload_reader *reader,
                             code_executor_error *error)
{
    uint32_t magic = read_u32(reader);
    uint32_t version = read_u32(reader);
    if (self->greeted || reader->failed || magic != PROTOCOL_MAGIC) {
        return error_set(error, CODE_EXECUTOR_PROTOCOL,
                         "the runner's greeting is not one; is something else answering?");
    }
    if (version != PROTOCOL_VERSION) {
        return error_set(
            error, CODE_EXECUTOR_PROTOCOL,
            "the runner speaks version %u of the protocol, this plugin %u: they were not "
            "installed together",
            version, PROTOCOL_VERSION);
    }
    uint32_t length;
    read_u32(reader); /* pid */
    read_u32(reader); /* uid */
    read_string(reader, &length);
    if (reader->failed || reader->left != 0)
        return error_set(error, CODE_EXECUTOR_PROTOCOL, "the runner's greeting is cut short");
    self->greeted = true;
    return CODE_EXECUTOR_OK;
}

static int32_t take_last_words(const struct payload_reader *reader, code_executor_error *error)
{
    char said[512];
    size_t length = reader->left < sizeof said - 1 ? reader->left : sizeof said - 1;
    for (size_t i = 0; i < length; i++)
        said[i] = reader->at[i] ? (char)reader->at[i] : '?';
    said[length] = '\0';
    char shown[512];
    return error_set(error, CODE_EXECUTOR_PROTOCOL, "the runner ended the connection: %s",
                     text_shorten(said, shown, sizeof shown));
}

static int32_t take_frame(void *owner, struct frame_header header, const unsigned char *payload,
                          code_executor_error *error)
{
    session *self = owner;
    struct payload_reader reader = {payload, header.length, 0};
    if (header.type == FRAME_ERROR)
        return take_last_words(&reader, error);
    if (header.type == FRAME_HELLO)
        return take_greeting(self, &reader, error);
    struct call *call =
        header.type == FRAME_RESET_DONE ? self->reset : find_call(self, header.execution);
    if (!self->greeted || !call) {
        return error_set(error, CODE_EXECUTOR_PROTOCOL,
                         "the runner sent a frame of type %u for an execution that does not exist",
                         (unsigned int)header.type);
    }
    return call->take(self, call, header, &reader, error);
}

/* ------------------------------------------------------------------------------------------------
 * Waiting
 * --------------------------------------------------------------------------------------------- */

static bool is_over(const session *self)
{
    return self->connection.state != CONNECTION_OPEN;
}

static bool is_settled(const session *self, const struct call *call)
{
    return call->has_news || call->done || is_over(self);
}

/* The time has passed, and what has arrived meanwhile does not settle it. */
static bool is_late(session *self, struct call *call)
{
    if (call->deadline < 0 || connection_now() < call->deadline)
        return false;
    while (!is_settled(self, call) && connection_receive(&self->connection, take_frame, self)) {
    }
    if (is_settled(self, call))
        return false;
    connection_fail(&self->connection, CODE_EXECUTOR_TIMED_OUT,
                    call->kind == CALL_RUN
                        ? "the runner did not end a command long after its time was up; is its "
                          "environment paused?"
                        : "the runner does not answer; is its environment paused?");
    return true;
}

static int wait_timeout(const session *self, int64_t deadline)
{
    int64_t left = -1;
    if (deadline >= 0) {
        left = deadline - connection_now();
        left = left < 0 ? 0 : left > 60000 ? 60000 : left + 1;
    }
    if (buffer_length(&self->connection.output) > 0 && (left < 0 || left > RETRY_MS))
        left = RETRY_MS;
    return (int)left;
}

static void read_until_settled(session *self, struct call *call)
{
    connection *link = &self->connection;
    self->reading = true;
    while (!is_settled(self, call)) {
        if (connection_receive(link, take_frame, self))
            continue;
        connection_flush(link);
        if (is_settled(self, call) || connection_stalled(link) || is_late(self, call))
            continue;
        connection_wait(link, READING, -1, wait_timeout(self, call->deadline));
    }
    self->reading = false;
}

static void sleep_until_called(session *self, struct call *call)
{
    call->previous_sleeper = NULL;
    call->next_sleeper = self->sleepers;
    if (self->sleepers)
        self->sleepers->previous_sleeper = call;
    self->sleepers = call;
    call->asleep = true;
    connection_sleep(&self->connection, &call->news, call->deadline);
    call->asleep = false;
    if (call->previous_sleeper)
        call->previous_sleeper->next_sleeper = call->next_sleeper;
    else
        self->sleepers = call->next_sleeper;
    if (call->next_sleeper)
        call->next_sleeper->previous_sleeper = call->previous_sleeper;
}

void call_await(session *self, struct call *call)
{
    while (!is_settled(self, call) && !is_late(self, call))
        if (!self->reading)
            read_until_settled(self, call);
        else
            sleep_until_called(self, call);
    /* Whoever leaves makes sure that somebody reads, as long as somebody waits. When all is over,
     * each wakes the next. */
    if (self->sleepers && (!self->reading || is_over(self)))
        pthread_cond_signal(&self->sleepers->news);
}

static bool is_stopped(const session *self, const bool *stop)
{
    return is_over(self) || (stop && *stop);
}

void session_await_turn(session *self, const bool *stop)
{
    while (!is_stopped(self, stop) && (self->call_count >= EXECUTIONS_MAX || self->reset))
        connection_sleep(&self->connection, &self->connection.changed, -1);
}

/* One round of waiting for the transport to take more. */
static void wait_to_send(session *self, int timeout_ms)
{
    connection *link = &self->connection;
    if (connection_stalled(link))
        return;
    if (link->waiting[WRITING]) {
        connection_sleep(link, &link->changed, connection_now() + timeout_ms);
        return;
    }
    connection_wait(link, WRITING, -1, timeout_ms);
    connection_flush(link);
    pthread_cond_broadcast(&link->changed);
}

void session_await_room(session *self, const bool *stop)
{
    connection_flush(&self->connection);
    while (!is_stopped(self, stop) && !connection_has_room(&self->connection))
        wait_to_send(self, PUSH_MS);
}

void session_push(session *self, const bool *stop)
{
    int64_t until = connection_now() + PUSH_MS;
    connection_flush(&self->connection);
    while (!is_stopped(self, stop) && buffer_length(&self->connection.output) > 0 &&
           connection_now() < until)
        wait_to_send(self, RETRY_MS);
}

int32_t session_over_error(session *self, code_executor_error *error)
{
    const connection *link = &self->connection;
    if (link->state == CONNECTION_FAILED)
        return error_set(error, link->error.status, "%s", link->error.message);
    return error_set(error, CODE_EXECUTOR_CANCELLED, "the executor was stopped");
}

/* ------------------------------------------------------------------------------------------------
 * Opening and ending
 * --------------------------------------------------------------------------------------------- */

static bool is_readable(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    return fd >= 0 && poll(&ready, 1, 0) > 0;
}

static void say_hello(connection *link, bool keep_ptrace)
{
    buffer hello = {0};
    const transport *over = link->transport;
    uint32_t meets = over->rendezvous_name ? HELLO_RENDEZVOUS : 0;
    buffer_append_u32(&hello, PROTOCOL_MAGIC);
    buffer_append_u32(&hello, PROTOCOL_VERSION);
    buffer_append_u32(&hello, meets | (keep_ptrace ? HELLO_KEEP_PTRACE : 0));
    if (meets) {
        buffer_append_string(&hello, over->rendezvous_name);
        buffer_append_string(&hello, over->rendezvous_proof);
    }
    if (hello.failed)
        connection_fail(link, CODE_EXECUTOR_NO_MEMORY, "no memory for a frame to the runner");
    else
        connection_put(link,
                       (struct frame_header){(uint32_t)buffer_length(&hello), FRAME_HELLO, 0, 0},
                       buffer_data(&hello));
    buffer_free(&hello);
    connection_flush(link);
}

/* Lock held. */
static int32_t shake_hands(session *self, bool keep_ptrace, int cancel_fd,
                           code_executor_error *error)
{
    connection *link = &self->connection;
    say_hello(link, keep_ptrace);
    int64_t deadline = connection_now() + HELLO_DEADLINE_SECONDS * 1000;
    while (!self->greeted && !is_over(self)) {
        if (connection_receive(link, take_frame, self))
            continue;
        connection_flush(link);
        if (is_over(self))
            break;
        if (is_readable(cancel_fd))
            return error_set(error, CODE_EXECUTOR_CANCELLED, "cancelled while the runner started");
        if (connection_now() >= deadline) {
            return error_set(error, CODE_EXECUTOR_TIMED_OUT,
                             "the runner did not answer within %d seconds", HELLO_DEADLINE_SECONDS);
        }
        connection_wait(link, READING, cancel_fd, wait_timeout(self, deadline));
    }
    return self->greeted ? CODE_EXECUTOR_OK : session_over_error(self, error);
}

int32_t session_open(transport *given, bool keep_ptrace, int cancel_fd, session **opened,
                     code_executor_error *error)
{
    *opened = NULL;
    session *self = calloc(1, sizeof *self);
    if (!self) {
        given->operations->close(given);
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for a session");
    }
    atomic_init(&self->references, 1);
    int32_t status = connection_open(&self->connection, given, error);
    if (status != CODE_EXECUTOR_OK) {
        free(self);
        return status;
    }
    pthread_mutex_lock(&self->connection.lock);
    status = shake_hands(self, keep_ptrace, cancel_fd, error);
    pthread_mutex_unlock(&self->connection.lock);
    if (status != CODE_EXECUTOR_OK) {
        session_release(self);
        return status;
    }
    *opened = self;
    return error_clear(error);
}

session *session_retain(session *self)
{
    atomic_fetch_add_explicit(&self->references, 1, memory_order_relaxed);
    return self;
}

void session_release(session *self)
{
    if (!self || atomic_fetch_sub_explicit(&self->references, 1, memory_order_acq_rel) != 1)
        return;
    session_end(self);
    connection_destroy(&self->connection);
    free(self);
}

/* So that it is not lost. Credit bounds it, and the count, where a runner does not mind credit. */
static void take_what_has_come(session *self)
{
    bool more = self->greeted;
    for (int i = 0; more && i < LAST_RECEIVES; i++)
        more = connection_receive(&self->connection, take_frame, self);
}

void session_end(session *self)
{
    pthread_mutex_lock(&self->connection.lock);
    take_what_has_come(self);
    if (self->sleepers)
        pthread_cond_signal(&self->sleepers->news); /* each wakes the next, see call_await */
    connection_end(&self->connection);
    pthread_mutex_unlock(&self->connection.lock);
}

bool session_alive(session *self)
{
    pthread_mutex_lock(&self->connection.lock);
    while (!self->reading && connection_receive(&self->connection, take_frame, self)) {
    }
    bool alive = !is_over(self);
    pthread_mutex_unlock(&self->connection.lock);
    return alive;
}
