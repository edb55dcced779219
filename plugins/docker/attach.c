/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach.c: the transport over the hijacked connection (hijack.h); see attach.h.
 *
 *     send     ─▶ libcurl ─▶ socket ─▶ engine ─▶ runner's standard input
 *     receive  ◀─ demultiplexer ◀─ buffer ◀─ libcurl ◀─ engine ◀─ runner's standard output and error
 *        └──────── or both: the socket of a rendezvous ──────────── runner
 *
 * Nothing that comes is trusted: the engine relays what a program in the container wrote, and a program
 * that could write to the runner's standard error chooses the last words.
 */
#include "attach.h"
#include "clock.h"
#include "existing_container.h"
#include "hijack.h"
#include "json.h"
#include "rendezvous.h"
#include "stream.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_SIZE       2048
#define EXPLAIN_LIMIT_MS 1000

struct attachment {
    transport base; /* first: the session knows this part */
    struct container *container;
    struct rendezvous rendezvous;
    const char *malformed; /* why the stream cannot be read, or NULL */
    struct demultiplexer demultiplexer;
    char words[WORDS_SIZE]; /* the latest of standard error */
    size_t words_length;
    struct hijack stream; /* last: it is large */
};

/* ---- the stream -------------------------------------------------------------------------------- */

static void keep_words(struct attachment *self, const char *bytes, size_t length)
{
    if (length > sizeof self->words) {
        bytes += length - sizeof self->words;
        length = sizeof self->words;
    }
    size_t room = sizeof self->words - self->words_length;
    if (length > room) {
        size_t dropped = length - room;
        memmove(self->words, self->words + dropped, self->words_length - dropped);
        self->words_length -= dropped;
    }
    memcpy(self->words + self->words_length, bytes, length);
    self->words_length += length;
}

/* Moves standard output from the buffer to TO; returns how much it was. */
static size_t distribute(struct attachment *self, char *to, size_t size)
{
    struct hijack *stream = &self->stream;
    size_t moved = 0;
    while (moved < size && stream->begin < stream->end) {
        struct stretch stretch;
        size_t length = stream->end - stream->begin;
        if (length > size - moved)
            length = size - moved;
        ptrdiff_t used = demultiplexer_next(&self->demultiplexer, stream->buffer + stream->begin,
                                            length, &stretch);
        if (used < 0) {
            self->malformed = "what the engine sent is not a multiplexed stream (has the "
                              "container a terminal?)";
            stream->ended = true;
            keep_words(self, stream->buffer + stream->begin, stream->end - stream->begin);
            stream->begin = stream->end;
            break;
        }
        stream->begin += (size_t)used;
        if (stretch.stream == STREAM_STDOUT && stretch.length > 0) {
            memcpy(to + moved, stretch.bytes, stretch.length);
            moved += stretch.length;
        } else if (stretch.length > 0) {
            keep_words(self, stretch.bytes, stretch.length);
        }
    }
    return moved;
}

/* ---- the transport ----------------------------------------------------------------------------- */

static bool is_direct(const struct attachment *self)
{
    return self->rendezvous.state == RENDEZVOUS_TAKEN;
}

static ssize_t attachment_send(transport *base, const void *bytes, size_t length)
{
    struct attachment *self = (struct attachment *)base;
    if (!is_direct(self))
        return hijack_send(&self->stream, bytes, length);
    transport *way = self->rendezvous.way;
    if (self->stream.ended || !way)
        return TRANSPORT_END;
    ssize_t count = way->operations->send(way, bytes, length);
    return count == TRANSPORT_AGAIN ? hijack_nothing_now(&self->stream) : count;
}

static ssize_t receive_from_stream(struct attachment *self, void *buffer, size_t size)
{
    for (;;) {
        size_t moved = distribute(self, buffer, size);
        if (moved > 0)
            return (ssize_t)moved;
        ssize_t received = hijack_receive(&self->stream);
        if (received <= 0)
            return received;
    }
}

/* What the stream has besides frames, which are elsewhere: last words, and its end, for which it waits LIMIT_MS.
 * What an engine makes up on standard output is nobody's. */
static void read_rest(struct attachment *self, int limit_ms)
{
    char nobodys[4096];
    int64_t until = now_ms() + limit_ms, left = limit_ms;
    struct pollfd ready = {.fd = self->stream.socket, .events = POLLIN};
    while (!self->stream.ended && left >= 0 && poll(&ready, 1, (int)left) > 0) {
        (void)receive_from_stream(self, nobodys, sizeof nobodys);
        left = until - now_ms() - 1;
    }
}

static ssize_t attachment_receive(transport *base, void *buffer, size_t size)
{
    struct attachment *self = (struct attachment *)base;
    struct rendezvous *rendezvous = &self->rendezvous;
    ssize_t count = rendezvous_receive(rendezvous, self->container->id, buffer, size);
    if (is_direct(self)) {
        self->container->direct = true;
        if (count != TRANSPORT_AGAIN)
            return count;
        read_rest(self, 0);
        if (!self->stream.ended)
            return hijack_nothing_now(&self->stream);
        /* What came first is read first. */
        count = rendezvous_receive(rendezvous, self->container->id, buffer, size);
        return count > 0 ? count : TRANSPORT_END;
    }
    count = receive_from_stream(self, buffer, size);
    if (count > 0) /* the runner has chosen */
        rendezvous_close(rendezvous);
    return count;
}

/* Only descriptors are looked at: another thread may be in send or receive. What libcurl holds back of a TLS
 * record cannot be missed, as receive reads until it finds nothing. */
static void attachment_wait(transport *base, bool for_sending, int wake_fd, int timeout_ms)
{
    struct attachment *self = (struct attachment *)base;
    short wanted = for_sending ? POLLOUT : POLLIN;
    bool direct = is_direct(self);
    /* A stream that has ended is for those to see who receive; those who send would be woken for ever. */
    struct pollfd watched[3 + RENDEZVOUS_WATCHED] = {
        {.fd = direct && for_sending ? -1 : self->stream.socket, .events = wanted},
        {.fd = wake_fd, .events = POLLIN},
        {.fd = self->container->news, .events = POLLIN},
    };
    size_t count = 3 + rendezvous_watch(&self->rendezvous, wanted, watched + 3);
    poll(watched, count, timeout_ms);
}

/* The last words as one line. */
static void quote_words(const struct attachment *self, char *line, size_t size)
{
    size_t length = 0;
    for (size_t i = 0; i < self->words_length && length + 1 < size; i++) {
        unsigned char byte = (unsigned char)self->words[i];
        if (byte == '\n' || byte == '\r')
            byte = ' ';
        line[length++] = byte < ' ' || byte == 0x7f ? '?' : (char)byte;
    }
    while (length > 0 && line[length - 1] == ' ')
        length--;
    line[length] = '\0';
}

static int32_t await_end(struct container *container, code_executor_error *error)
{
    if (container_is_paused(container))
        return CODE_EXECUTOR_OK;
    int cancel_fd = container->engine->cancel_fd;
    container->engine->cancel_fd = -1;
    int32_t status = container_await_end(container, EXPLAIN_LIMIT_MS, error);
    container->engine->cancel_fd = cancel_fd;
    return status;
}

static void attachment_explain(transport *base, code_executor_error *error)
{
    struct attachment *self = (struct attachment *)base;
    struct container *container = self->container;
    char end[256], words[WORDS_SIZE + 1];
    if (self->malformed) {
        error_set(error, CODE_EXECUTOR_PROTOCOL, "container %s: %s", container->name,
                  self->malformed);
        /* An engine that cannot run what exec asks for says so in place of the stream. */
        quote_words(self, words, sizeof words);
        if (container->exec_id[0])
            error_set(error, CODE_EXECUTOR_UNAVAILABLE,
                      "the runner cannot be run in container %s: %s", container->name, words);
        return;
    }
    int32_t status = await_end(container, error);
    if (is_direct(self) && container->ended)
        read_rest(self, EXPLAIN_LIMIT_MS);
    if (status != CODE_EXECUTOR_OK) {
        error_prefix(error, status, "container %s is lost: ", container->name);
        return;
    }
    if (container->exec_id[0] && !container->ended && !container_is_paused(container))
        existing_container_describe_end(container, end, sizeof end);
    else
        container_describe_end(container, end, sizeof end);
    base->out_of_memory = events_tell_memory(container->events);
    error_set(error, CODE_EXECUTOR_LOST, "container %s %s", container->name, end);
    if (container->end_words[0])
        error_append(error, CODE_EXECUTOR_LOST, ". The engine says: %s", container->end_words);
    quote_words(self, words, sizeof words);
    if (words[0])
        error_append(error, CODE_EXECUTOR_LOST, ". Its last words: %s", words);
    if (strstr(words, "exec format error"))
        error_append(error, CODE_EXECUTOR_LOST,
                     ". The runner beside the plugin is made for another kind of machine than the "
                     "engine's");
}

static void attachment_close(transport *base)
{
    struct attachment *self = (struct attachment *)base;
    rendezvous_close(&self->rendezvous);
    hijack_close(&self->stream);
    free(self);
}

/* fork_guard.h has closed the socket. */
static void attachment_forget(transport *base)
{
    (void)base;
}

static const struct transport_operations operations = {
    .send = attachment_send,
    .receive = attachment_receive,
    .wait = attachment_wait,
    .explain = attachment_explain,
    .close = attachment_close,
    .forget = attachment_forget,
};

int32_t attach_open(struct container *container, transport **opened, code_executor_error *error)
{
    *opened = NULL;
    bool too_early = false;
    struct attachment *self = malloc(sizeof *self);
    if (!self)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    memset(self, 0, offsetof(struct attachment, stream));
    self->base.operations = &operations;
    self->container = container;
    container->news = events_descriptor(container->events);
    int32_t status = hijack_open(&self->stream, container, &too_early, error);
    if (status != CODE_EXECUTOR_OK) {
        free(self);
        return too_early ? error_clear(error) : status;
    }
    *opened = &self->base;
    return CODE_EXECUTOR_OK;
}

void attach_meet(transport *base, const char *work_dir)
{
    struct attachment *self = (struct attachment *)base;
    rendezvous_open(&self->rendezvous, work_dir);
    if (self->rendezvous.state == RENDEZVOUS_NONE)
        return;
    base->rendezvous_name = self->rendezvous.name;
    base->rendezvous_proof = self->rendezvous.proof;
}
