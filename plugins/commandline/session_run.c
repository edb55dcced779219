/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_run.c: one command from SPAWN to EXIT.
 *
 * Output goes from the frames into the run's queue, under the lock, and from there to the callback,
 * without it: the queue is swapped for an empty one. What the callback has consumed is granted to the
 * runner again as credit, so that queue and runner together never hold more than the window.
 *
 * Cancelling sends KILL and waits for the EXIT all the same: until then the command's processes may be
 * there. An EXIT that crossed the KILL on its way makes no difference to the caller.
 */
#include "session_internal.h"

#include "text.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
    WINDOW = 1024 * 1024,
    CREDIT_STEP = WINDOW / 4,
    STDIN_CHUNK = 64 * 1024,
    CANCEL_GRACE_MS = 300
};

/* What stands before each piece of output in the queue. */
struct piece {
    uint32_t stream;
    uint32_t length;
};

struct run {
    struct call call; /* first */
    const session_command *command;
    bool spawned;
    bool cancelled;
    int64_t latest;    /* the deadline, whatever comes */
    uint32_t credit;   /* what the runner may still send */
    uint32_t consumed; /* and what the callback has consumed since it was last granted */
    buffer queue;      /* pieces that have come */
    size_t last_piece; /* where the queue's last one begins, counted from its begin */
    buffer spare;      /* the buffer that the callback reads from */
    session_exit exit;
};

struct session_canceller {
    pthread_mutex_t lock; /* taken before a connection's */
    bool cancelled;
    session *session; /* while a run is under way */
    struct run *run;
};

/* ------------------------------------------------------------------------------------------------
 * Frames
 * --------------------------------------------------------------------------------------------- */

/* What follows in the queue belongs to STREAM: a longer last piece, or a new one. */
static void add_piece(struct run *run, uint32_t stream, uint32_t length)
{
    struct piece piece;
    if (buffer_length(&run->queue) > 0) {
        unsigned char *last = run->queue.bytes + run->queue.begin + run->last_piece;
        memcpy(&piece, last, sizeof piece);
        if (piece.stream == stream) {
            piece.length += length;
            memcpy(last, &piece, sizeof piece);
            return;
        }
    }
    piece = (struct piece){stream, length};
    run->last_piece = buffer_length(&run->queue);
    buffer_append(&run->queue, &piece, sizeof piece);
}

static int32_t take_output(struct run *run, struct frame_header header, const unsigned char *bytes,
                           code_executor_error *error)
{
    if (header.detail != CODE_EXECUTOR_STREAM_STDOUT &&
        header.detail != CODE_EXECUTOR_STREAM_STDERR) {
        return error_set(error, CODE_EXECUTOR_PROTOCOL,
                         "the runner sent output of no known stream");
    }
    if (header.length == 0 || header.length > run->credit) {
        return error_set(error, CODE_EXECUTOR_PROTOCOL,
                         "the runner sent %u bytes of output where it may send %u",
                         (unsigned int)header.length, (unsigned int)run->credit);
    }
    run->credit -= header.length;
    add_piece(run, header.detail, header.length);
    buffer_append(&run->queue, bytes, header.length);
    if (run->queue.failed)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for a command's output");
    return CODE_EXECUTOR_OK;
}

/* The caller takes the numbers for what they say, so that none is let through that it cannot be. */
static bool is_plausible(const struct run *run, const session_exit *exit)
{
    bool has_candidate = exit->candidate < run->command->candidate_count;
    switch (exit->how) {
    case EXIT_EXITED:
        return has_candidate && exit->exit_code <= 255 && exit->signal == 0;
    case EXIT_SIGNALLED:
        return has_candidate && exit->exit_code == 0 && exit->signal >= 1 && exit->signal < _NSIG;
    case EXIT_TIMED_OUT:
    case EXIT_CANCELLED:
    case EXIT_OUT_OF_MEMORY:
    case EXIT_NOT_STARTED:
    case EXIT_LOST:
        return has_candidate || exit->candidate == CANDIDATE_NONE;
    default:
        return false;
    }
}

static int32_t take_exit(session *self, struct run *run, struct payload_reader *reader,
                         code_executor_error *error)
{
    session_exit *exit = &run->exit;
    exit->how = read_u32(reader);
    exit->exit_code = read_u32(reader);
    exit->signal = read_u32(reader);
    exit->errnum = read_u32(reader);
    exit->candidate = read_u32(reader);
    exit->wall_ns = read_u64(reader);
    exit->cpu_ns = read_u64(reader);
    exit->peak_memory_bytes = read_u64(reader);
    uint32_t length;
    const char *detail = read_string(reader, &length);
    if (reader->failed || reader->left != 0 || !is_plausible(run, exit)) {
        return error_set(error, CODE_EXECUTOR_PROTOCOL,
                         "the runner said nothing sensible about the end of a command");
    }
    char whole[sizeof exit->detail];
    size_t kept = length < sizeof whole ? length : text_boundary(detail, sizeof whole - 1);
    memcpy(whole, detail, kept);
    whole[kept] = '\0';
    text_shorten(whole, exit->detail, sizeof exit->detail);
    /* Meaningless elsewhere, whatever they are. */
    exit->exit_code = exit->how == EXIT_EXITED ? exit->exit_code : 0;
    exit->signal = exit->how == EXIT_SIGNALLED ? exit->signal : 0;
    run->call.done = true;
    call_unfile(self, &run->call);
    return CODE_EXECUTOR_OK;
}

static int32_t take_run_frame(session *self, struct call *call, struct frame_header header,
                              struct payload_reader *reader, code_executor_error *error)
{
    struct run *run = (struct run *)(void *)call;
    int32_t status;
    if (run->spawned && header.type == FRAME_OUTPUT) {
        status = take_output(run, header, reader->at, error);
    } else if (run->spawned && header.type == FRAME_EXIT) {
        status = take_exit(self, run, reader, error);
    } else {
        status = error_set(error, CODE_EXECUTOR_PROTOCOL,
                           "the runner sent a frame of type %u where it must not",
                           (unsigned int)header.type);
    }
    if (status == CODE_EXECUTOR_OK)
        call_notify(call);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Cancelling
 * --------------------------------------------------------------------------------------------- */

static void send_number(session *self, uint16_t type, uint32_t number, const uint32_t *values,
                        uint32_t count)
{
    unsigned char payload[8];
    for (uint32_t i = 0; i < count; i++)
        put_u32(payload + 4 * i, values[i]);
    connection_put(&self->connection, (struct frame_header){4 * count, type, 0, number}, payload);
    connection_flush(&self->connection);
}

/* Lock held. */
static void cancel_run(session *self, struct run *run, bool tell)
{
    if (run->cancelled || run->call.done)
        return;
    run->cancelled = true;
    if (tell) {
        /* Also before SPAWN: the runner forgets the standard input that it was sent. */
        send_number(self, FRAME_KILL, run->call.number, (uint32_t[]){SIGTERM, CANCEL_GRACE_MS}, 2);
    }
    run->call.deadline = connection_now() + CANCEL_GRACE_MS + SESSION_CANCEL_BACKSTOP_MS;
    /* Wherever its thread is: asleep, reading, waiting to send or for its turn. */
    call_notify(&run->call);
    connection_wake(&self->connection, READING);
    connection_wake(&self->connection, WRITING);
    pthread_cond_broadcast(&self->connection.changed);
}

void session_mark_runs_cancelled(session *self)
{
    for (size_t i = 0; i < SESSION_BUCKETS; i++) {
        for (struct call *call = self->buckets[i]; call; call = call->next) {
            if (call->kind == CALL_RUN) {
                /* RESET ends those that run; the others' standard input must be taken back. */
                struct run *run = (struct run *)(void *)call;
                cancel_run(self, run, !run->spawned);
            }
        }
    }
}

session_canceller *session_canceller_new(void)
{
    session_canceller *self = calloc(1, sizeof *self);
    if (self)
        pthread_mutex_init(&self->lock, NULL);
    return self;
}

void session_canceller_free(session_canceller *self)
{
    if (self) {
        pthread_mutex_destroy(&self->lock);
        free(self);
    }
}

void session_cancel(session_canceller *self)
{
    pthread_mutex_lock(&self->lock);
    self->cancelled = true;
    if (self->run) {
        pthread_mutex_lock(&self->session->connection.lock);
        cancel_run(self->session, self->run, self->run->call.filed);
        pthread_mutex_unlock(&self->session->connection.lock);
    }
    pthread_mutex_unlock(&self->lock);
}

bool session_cancelled(const session_canceller *canceller)
{
    session_canceller *self = (session_canceller *)(uintptr_t)canceller;
    pthread_mutex_lock(&self->lock);
    bool cancelled = self->cancelled;
    pthread_mutex_unlock(&self->lock);
    return cancelled;
}

/* Ties the run to its canceller, or with RUN NULL unties it. False: it is cancelled already. */
static bool tie(session_canceller *canceller, session *self, struct run *run)
{
    if (!canceller)
        return true;
    pthread_mutex_lock(&canceller->lock);
    bool may_run = !canceller->cancelled;
    canceller->session = self;
    canceller->run = may_run ? run : NULL;
    pthread_mutex_unlock(&canceller->lock);
    return may_run;
}

/* ------------------------------------------------------------------------------------------------
 * Running
 * --------------------------------------------------------------------------------------------- */

static void append_strings(buffer *payload, const char *const *strings, size_t count)
{
    buffer_append_u32(payload, (uint32_t)count);
    for (size_t i = 0; i < count; i++)
        buffer_append_string(payload, strings[i]);
}

static size_t count_strings(const char *const *strings)
{
    size_t count = 0;
    while (strings[count])
        count++;
    return count;
}

/* The payload of SPAWN. */
static int32_t compose(const session_command *command, buffer *payload, code_executor_error *error)
{
    if (command->environment_default_count > ENVIRONMENT_MAX ||
        command->environment_count > ENVIRONMENT_MAX || command->candidate_count > CANDIDATES_MAX ||
        command->candidate_count == 0) {
        return error_set(error, CODE_EXECUTOR_INVALID,
                         "a command has at most %u environment variables and 1 to %u candidates",
                         ENVIRONMENT_MAX, CANDIDATES_MAX);
    }
    if (command->stdin_length > INPUT_MAX) {
        return error_set(error, CODE_EXECUTOR_INVALID,
                         "standard input has %zu bytes, at most %u are possible",
                         command->stdin_length, INPUT_MAX);
    }
    buffer_append_u32(payload, command->timeout_ms);
    buffer_append_u32(payload, command->grace_ms);
    buffer_append_u32(payload, WINDOW);
    buffer_append_u32(payload, 0);
    buffer_append_string(payload, command->folder);
    append_strings(payload, command->environment_defaults, command->environment_default_count);
    append_strings(payload, command->environment, command->environment_count);
    buffer_append_u32(payload, (uint32_t)command->candidate_count);
    for (size_t i = 0; i < command->candidate_count; i++)
        append_strings(payload, command->candidates[i], count_strings(command->candidates[i]));
    if (payload->failed)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for a command");
    if (buffer_length(payload) > FRAME_PAYLOAD_MAX) {
        return error_set(error, CODE_EXECUTOR_INVALID,
                         "a command and its environment take %zu bytes, at most %u are possible",
                         buffer_length(payload), FRAME_PAYLOAD_MAX);
    }
    return CODE_EXECUTOR_OK;
}

static int64_t deadline_of(const session_command *command)
{
    return command->timeout_ms == 0
               ? -1
               : connection_now() + command->timeout_ms + command->grace_ms + SESSION_BACKSTOP_MS;
}

/* Something has come, or is about to: the next deadline, unless a cancel has set one. */
static void listen_on(struct run *run)
{
    int64_t silent = connection_now() + run->command->silence_ms;
    if (run->command->silence_ms > 0 && !run->cancelled)
        run->call.deadline = run->latest >= 0 && run->latest < silent ? run->latest : silent;
}

/* Sends standard input and SPAWN; when there is room, in one go. */
static void send_command(session *self, struct run *run, const buffer *payload)
{
    connection *link = &self->connection;
    const session_command *command = run->command;
    uint32_t number = run->call.number;
    size_t sent = 0;
    while (sent < command->stdin_length) {
        session_await_room(self, &run->cancelled);
        if (run->cancelled || link->state != CONNECTION_OPEN)
            return;
        size_t left = command->stdin_length - sent;
        uint32_t length = left < STDIN_CHUNK ? (uint32_t)left : STDIN_CHUNK;
        connection_put(link, (struct frame_header){length, FRAME_STDIN, 0, number},
                       command->stdin_bytes + sent);
        sent += length;
    }
    if (!connection_has_room(link))
        session_await_room(self, &run->cancelled);
    if (run->cancelled || link->state != CONNECTION_OPEN)
        return;
    run->spawned = true;
    run->credit = WINDOW;
    run->call.deadline = run->latest = deadline_of(command);
    listen_on(run);
    connection_put(link,
                   (struct frame_header){(uint32_t)buffer_length(payload), FRAME_SPAWN, 0, number},
                   buffer_data(payload));
    session_push(self, &run->cancelled);
}

/* Hands a batch of pieces to the callback. Lock not held. False: it wants to cancel. */
static bool hand_over(const session_command *command, const buffer *batch, uint32_t *consumed)
{
    bool go_on = true;
    const unsigned char *at = buffer_data(batch);
    size_t left = buffer_length(batch);
    while (left > 0) {
        struct piece piece;
        memcpy(&piece, at, sizeof piece);
        at += sizeof piece;
        if (command->on_output && !command->on_output(command->user_data, (int32_t)piece.stream,
                                                      (const char *)at, piece.length))
            go_on = false;
        *consumed += piece.length;
        at += piece.length;
        left -= sizeof piece + piece.length;
    }
    return go_on;
}

/* Takes what has come out of the queue. The lock is released meanwhile. */
static void deliver(session *self, struct run *run)
{
    run->call.has_news = false;
    if (buffer_length(&run->queue) == 0)
        return;
    buffer batch = run->queue;
    run->queue = run->spare;
    pthread_mutex_unlock(&self->connection.lock);
    int64_t begun = connection_now();
    bool go_on = hand_over(run->command, &batch, &run->consumed);
    int64_t taken = connection_now() - begun;
    pthread_mutex_lock(&self->connection.lock);
    buffer_clear(&batch);
    run->spare = batch;
    if (run->call.deadline >= 0)
        run->call.deadline += taken; /* the runner waited for us */
    if (run->latest >= 0)
        run->latest += taken;
    listen_on(run);
    if (!go_on) {
        cancel_run(self, run, true);
        run->cancelled = true; /* even when the end has come already */
    }
    if (run->consumed >= CREDIT_STEP && !run->call.done) {
        send_number(self, FRAME_CREDIT, run->call.number, &run->consumed, 1);
        run->credit += run->consumed;
        run->consumed = 0;
    }
}

/* The code took all the memory there was, and the runner along: a failure of the code. What runs beside it
 * shares the limit. */
static int32_t end_by_memory(session *self, struct run *run, code_executor_error *error)
{
    run->exit.how = EXIT_OUT_OF_MEMORY;
    text_shorten(self->connection.error.message, run->exit.detail, sizeof run->exit.detail);
    return error_clear(error);
}

/* Lock held. */
static int32_t run_to_its_end(session *self, struct run *run, const buffer *payload,
                              code_executor_error *error)
{
    connection *link = &self->connection;
    session_await_turn(self, &run->cancelled);
    if (!run->cancelled && link->state == CONNECTION_OPEN) {
        call_file(self, &run->call);
        send_command(self, run, payload);
    }
    while (run->spawned && !run->call.done && link->state == CONNECTION_OPEN) {
        call_await(self, &run->call);
        deliver(self, run);
    }
    deliver(self, run);
    call_unfile(self, &run->call);
    if (!run->call.done && run->spawned && link->out_of_memory)
        return end_by_memory(self, run, error);
    if (!run->call.done && link->state == CONNECTION_FAILED)
        return session_over_error(self, error);
    if (!run->call.done || run->cancelled) {
        run->exit.how = EXIT_CANCELLED;
        run->exit.exit_code = 0;
        run->exit.signal = 0;
    }
    return error_clear(error);
}

int32_t session_run(session *self, const session_command *command, session_canceller *canceller,
                    session_exit *exited, code_executor_error *error)
{
    memset(exited, 0, sizeof *exited);
    buffer payload = {0};
    struct run run = {.command = command, .exit = {.candidate = CANDIDATE_NONE}};
    int32_t status = compose(command, &payload, error);
    if (status == CODE_EXECUTOR_OK && !call_prepare(&run.call, CALL_RUN, -1))
        status = error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for a command");
    if (status != CODE_EXECUTOR_OK) {
        buffer_free(&payload);
        return status;
    }
    run.call.take = take_run_frame;
    if (tie(canceller, self, &run)) {
        pthread_mutex_lock(&self->connection.lock);
        status = run_to_its_end(self, &run, &payload, error);
        pthread_mutex_unlock(&self->connection.lock);
    } else {
        run.exit.how = EXIT_CANCELLED;
        status = error_clear(error);
    }
    tie(canceller, NULL, NULL);
    *exited = run.exit;
    buffer_free(&payload);
    buffer_free(&run.queue);
    buffer_free(&run.spare);
    call_discard(&run.call);
    return status;
}
