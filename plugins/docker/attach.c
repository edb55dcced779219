/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach.c: the hijacked connection; see attach.h.
 *
 *     send     ─▶ libcurl ─▶ socket ─▶ engine ─▶ runner's standard input
 *     receive  ◀─ demultiplexer ◀─ buffer ◀─ libcurl ◀─ engine ◀─ runner's standard output and error
 *        └──────── or both: the socket of a rendezvous ──────────── runner
 *
 * libcurl makes the connection and carries the bytes (over TLS too); the request and the head of the
 * answer are written and read here, because libcurl gives a connection away only before HTTP begins.
 * Nothing that comes is trusted: the engine relays what a program in the container wrote, and a program
 * that could write to the runner's standard error chooses the last words.
 */
#include "attach.h"
#include "clock.h"
#include "existing_container.h"
#include "json.h"
#include "rendezvous.h"
#include "stream.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_SIZE      (256 * 1024)
#define WORDS_SIZE       2048
#define ANSWER_LIMIT_MS  30000
#define REFUSAL_MAX      4096
#define EXPLAIN_LIMIT_MS 1000

struct attachment {
    transport base; /* first: the session knows this part */
    struct container *container;
    CURL *connection;
    int socket;
    struct rendezvous rendezvous;
    bool ended;
    const char *malformed; /* why the stream cannot be read, or NULL */
    struct demultiplexer demultiplexer;
    char words[WORDS_SIZE]; /* the latest of standard error */
    size_t words_length;
    size_t begin; /* of what is in the buffer */
    size_t end;
    char buffer[BUFFER_SIZE];
};

/* ---- the bytes --------------------------------------------------------------------------------- */

/* A container that is paused keeps its connection, and would hold up whoever waits for it. */
static ssize_t nothing_now(struct attachment *self)
{
    self->ended = container_is_paused(self->container);
    return self->ended ? TRANSPORT_END : TRANSPORT_AGAIN;
}

static ssize_t send_some(struct attachment *self, const void *bytes, size_t length)
{
    size_t sent = 0;
    if (self->ended)
        return TRANSPORT_END;
    CURLcode code =
        http_send(self->container->engine->http, self->connection, bytes, length, &sent);
    if (code == CURLE_OK && sent > 0)
        return (ssize_t)sent;
    return code == CURLE_OK || code == CURLE_AGAIN ? nothing_now(self) : TRANSPORT_END;
}

/* Fills the empty buffer: a count, or as above. */
static ssize_t receive_some(struct attachment *self)
{
    size_t received = 0;
    if (self->ended)
        return TRANSPORT_END;
    CURLcode code = http_receive(self->container->engine->http, self->connection, self->buffer,
                                 sizeof self->buffer, &received);
    if (code == CURLE_AGAIN)
        return nothing_now(self);
    self->begin = 0;
    self->end = code == CURLE_OK ? received : 0;
    self->ended = self->end == 0;
    return self->ended ? TRANSPORT_END : (ssize_t)self->end;
}

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
    size_t moved = 0;
    while (moved < size && self->begin < self->end) {
        struct stretch stretch;
        size_t length = self->end - self->begin;
        if (length > size - moved)
            length = size - moved;
        ptrdiff_t used =
            demultiplexer_next(&self->demultiplexer, self->buffer + self->begin, length, &stretch);
        if (used < 0) {
            self->malformed = "what the engine sent is not a multiplexed stream (has the "
                              "container a terminal?)";
            self->ended = true;
            keep_words(self, self->buffer + self->begin, self->end - self->begin);
            self->begin = self->end;
            break;
        }
        self->begin += (size_t)used;
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
        return send_some(self, bytes, length);
    if (self->ended)
        return TRANSPORT_END;
    transport *way = self->rendezvous.way;
    ssize_t count = way->operations->send(way, bytes, length);
    return count == TRANSPORT_AGAIN ? nothing_now(self) : count;
}

static ssize_t receive_from_stream(struct attachment *self, void *buffer, size_t size)
{
    for (;;) {
        size_t moved = distribute(self, buffer, size);
        if (moved > 0)
            return (ssize_t)moved;
        ssize_t received = receive_some(self);
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
    struct pollfd ready = {.fd = self->socket, .events = POLLIN};
    while (!self->ended && left >= 0 && poll(&ready, 1, (int)left) > 0) {
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
        if (!self->ended)
            return nothing_now(self);
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
    struct pollfd watched[4] = {
        {.fd = self->socket, .events = direct ? (for_sending ? 0 : POLLIN) : wanted},
        {.fd = wake_fd, .events = POLLIN},
        {.fd = self->container->news, .events = POLLIN},
        {.fd = rendezvous_descriptor(&self->rendezvous), .events = direct ? wanted : POLLIN},
    };
    poll(watched, 4, timeout_ms);
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
    http_disconnect(self->container->engine->http, self->connection);
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

/* ---- the handshake ----------------------------------------------------------------------------- */

/* Until the socket is ready, the launch is cancelled, or the time is up. */
static int32_t wait_for_engine(struct attachment *self, bool for_sending, int64_t deadline_ms,
                               code_executor_error *error)
{
    struct pollfd watched[2] = {
        {.fd = self->socket, .events = for_sending ? POLLOUT : POLLIN},
        {.fd = self->container->engine->cancel_fd, .events = POLLIN},
    };
    int64_t left = deadline_ms - now_ms();
    if (left <= 0)
        return error_set(error, CODE_EXECUTOR_TIMED_OUT,
                         "the Docker engine has not answered the request to attach for %d s",
                         ANSWER_LIMIT_MS / 1000);
    if (poll(watched, 2, (int)left) > 0 && watched[1].revents)
        return error_set(error, CODE_EXECUTOR_CANCELLED, "cancelled");
    return CODE_EXECUTOR_OK;
}

static int32_t broken(struct attachment *self, code_executor_error *error)
{
    struct engine *engine = self->container->engine;
    error_set(error, CODE_EXECUTOR_LOST,
              "the Docker engine at %s broke off the connection when attaching to %s",
              engine->endpoint->address, self->container->name);
    http_explain_loss(engine->http, self->connection, error);
    return CODE_EXECUTOR_LOST;
}

/* Those of the container's first process, or of an exec. PATH gets where they are asked for; returns the
 * request's body. */
static const char *choose_streams(const struct container *container, char path[256])
{
    if (container->exec_id[0]) {
        snprintf(path, 256, "/exec/%s/start", container->exec_id);
        return "{\"Detach\":false,\"Tty\":false}";
    }
    snprintf(path, 256,
             "/containers/%s/attach?stream=1&stdin=1&stdout=1&stderr=1&logs=0&detachKeys=",
             container->id);
    return "";
}

static int32_t send_request(struct attachment *self, int64_t deadline_ms,
                            code_executor_error *error)
{
    char request[4096], path[256];
    const struct engine *engine = self->container->engine;
    const char *body = choose_streams(self->container, path);
    int length = snprintf(request, sizeof request,
                          "POST %s/v%s%s HTTP/1.1\r\n"
                          "Host: %s\r\n"
                          "Content-Type: application/json\r\n"
                          "Content-Length: %zu\r\n"
                          "Connection: Upgrade\r\n"
                          "Upgrade: tcp\r\n\r\n%s",
                          engine->endpoint->base_path, engine->version, path,
                          engine->endpoint->host_header, strlen(body), body);
    if (length >= (int)sizeof request)
        return error_set(error, CODE_EXECUTOR_INVALID, "%s is too long for an address",
                         engine->endpoint->address);
    for (int sent = 0; sent < length;) {
        ssize_t count = send_some(self, request + sent, (size_t)(length - sent));
        if (count == TRANSPORT_END)
            return broken(self, error);
        sent += (int)count;
        int32_t status = CODE_EXECUTOR_OK;
        if (count == TRANSPORT_AGAIN)
            status = wait_for_engine(self, true, deadline_ms, error);
        if (status != CODE_EXECUTOR_OK)
            return status;
    }
    return CODE_EXECUTOR_OK;
}

/* At least one byte into the buffer. */
static int32_t read_more(struct attachment *self, int64_t deadline_ms, code_executor_error *error)
{
    for (;;) {
        ssize_t count = receive_some(self);
        if (count > 0)
            return CODE_EXECUTOR_OK;
        if (count == TRANSPORT_END)
            return broken(self, error);
        int32_t status = wait_for_engine(self, false, deadline_ms, error);
        if (status != CODE_EXECUTOR_OK)
            return status;
    }
}

static int32_t read_head(struct attachment *self, struct response_head *head, int64_t deadline_ms,
                         code_executor_error *error)
{
    for (;;) {
        int32_t status = read_more(self, deadline_ms, error);
        if (status != CODE_EXECUTOR_OK)
            return status;
        size_t taken = 0;
        enum head_progress progress = response_head_feed(head, self->buffer, self->end, &taken);
        self->begin = taken;
        if (progress == HEAD_COMPLETE)
            return CODE_EXECUTOR_OK;
        if (progress == HEAD_MALFORMED)
            return error_set(error, CODE_EXECUTOR_PROTOCOL,
                             "the Docker engine at %s answered the request to attach with "
                             "something other than HTTP",
                             self->container->engine->endpoint->address);
    }
}

/* The body of a refusal, as much of it as comes. */
static void read_refusal(struct attachment *self, const struct response_head *head,
                         struct answer *answer, int64_t deadline_ms)
{
    char body[REFUSAL_MAX];
    size_t length = 0;
    size_t wanted = sizeof body - 1;
    if (head->content_length >= 0 && (size_t)head->content_length < wanted)
        wanted = (size_t)head->content_length;
    while (length < wanted) {
        size_t part = self->end - self->begin;
        if (part > wanted - length)
            part = wanted - length;
        memcpy(body + length, self->buffer + self->begin, part);
        self->begin += part;
        length += part;
        if (length < wanted && read_more(self, deadline_ms, NULL) != CODE_EXECUTOR_OK)
            break;
    }
    body[length] = '\0';
    answer_read(answer, head->status, body);
}

static int32_t shake_hands(struct attachment *self, bool *too_early, code_executor_error *error)
{
    int64_t deadline_ms = now_ms() + ANSWER_LIMIT_MS;
    struct response_head head = {.length = 0};
    int32_t status = send_request(self, deadline_ms, error);
    if (status == CODE_EXECUTOR_OK)
        status = read_head(self, &head, deadline_ms, error);
    if (status != CODE_EXECUTOR_OK || head.status == 101 || head.status == 200)
        return status;
    struct answer CLEANUP_ANSWER answer = {0};
    read_refusal(self, &head, &answer, deadline_ms);
    *too_early = answer.status == 409 && !self->container->started;
    return engine_refusal(self->container->engine, &answer, "attach to the container", error);
}

int32_t attach_open(struct container *container, transport **opened, code_executor_error *error)
{
    *opened = NULL;
    bool too_early = false;
    struct attachment *self = malloc(sizeof *self);
    if (!self)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    memset(self, 0, offsetof(struct attachment, buffer));
    self->base.operations = &operations;
    self->container = container;
    container->news = events_descriptor(container->events);
    http_patience patience = {container->engine->cancel_fd, ANSWER_LIMIT_MS};
    int32_t status = http_connect(container->engine->http, patience, &self->connection, error);
    if (status != CODE_EXECUTOR_OK) {
        free(self);
        return status;
    }
    curl_socket_t socket = CURL_SOCKET_BAD;
    curl_easy_getinfo(self->connection, CURLINFO_ACTIVESOCKET, &socket);
    self->socket = (int)socket;
    status = shake_hands(self, &too_early, error);
    if (status != CODE_EXECUTOR_OK) {
        attachment_close(&self->base);
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
