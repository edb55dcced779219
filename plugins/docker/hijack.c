/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hijack.c: see hijack.h.
 */
#include "hijack.h"
#include "clock.h"
#include "stream.h"
#include "transport.h"
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define ANSWER_LIMIT_MS 30000
#define REFUSAL_MAX     4096

/* ---- the bytes --------------------------------------------------------------------------------- */

ssize_t hijack_nothing_now(struct hijack *self)
{
    self->ended = container_is_paused(self->container);
    return self->ended ? TRANSPORT_END : TRANSPORT_AGAIN;
}

ssize_t hijack_send(struct hijack *self, const void *bytes, size_t length)
{
    size_t sent = 0;
    if (self->ended)
        return TRANSPORT_END;
    CURLcode code =
        http_send(self->container->engine->http, self->connection, bytes, length, &sent);
    if (code == CURLE_OK && sent > 0)
        return (ssize_t)sent;
    return code == CURLE_OK || code == CURLE_AGAIN ? hijack_nothing_now(self) : TRANSPORT_END;
}

ssize_t hijack_receive(struct hijack *self)
{
    size_t received = 0;
    if (self->ended)
        return TRANSPORT_END;
    CURLcode code = http_receive(self->container->engine->http, self->connection, self->buffer,
                                 sizeof self->buffer, &received);
    if (code == CURLE_AGAIN)
        return hijack_nothing_now(self);
    self->begin = 0;
    self->end = code == CURLE_OK ? received : 0;
    self->ended = self->end == 0;
    return self->ended ? TRANSPORT_END : (ssize_t)self->end;
}

/* ---- the request ----------------------------------------------------------------------------- */

/* Until the socket is ready, the launch is cancelled, or the time is up. */
static int32_t wait_for_engine(struct hijack *self, bool for_sending, int64_t deadline_ms,
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

static int32_t broken(struct hijack *self, code_executor_error *error)
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

static int32_t send_request(struct hijack *self, int64_t deadline_ms, code_executor_error *error)
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
        ssize_t count = hijack_send(self, request + sent, (size_t)(length - sent));
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
static int32_t read_more(struct hijack *self, int64_t deadline_ms, code_executor_error *error)
{
    for (;;) {
        ssize_t count = hijack_receive(self);
        if (count > 0)
            return CODE_EXECUTOR_OK;
        if (count == TRANSPORT_END)
            return broken(self, error);
        int32_t status = wait_for_engine(self, false, deadline_ms, error);
        if (status != CODE_EXECUTOR_OK)
            return status;
    }
}

static int32_t read_head(struct hijack *self, struct response_head *head, int64_t deadline_ms,
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
static void read_refusal(struct hijack *self, const struct response_head *head,
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

static int32_t shake_hands(struct hijack *self, bool *too_early, code_executor_error *error)
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

int32_t hijack_open(struct hijack *self, struct container *container, bool *too_early,
                    code_executor_error *error)
{
    memset(self, 0, offsetof(struct hijack, buffer));
    self->container = container;
    *too_early = false;
    http_patience patience = {container->engine->cancel_fd, ANSWER_LIMIT_MS};
    int32_t status = http_connect(container->engine->http, patience, &self->connection, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    curl_socket_t socket = CURL_SOCKET_BAD;
    curl_easy_getinfo(self->connection, CURLINFO_ACTIVESOCKET, &socket);
    self->socket = (int)socket;
    status = shake_hands(self, too_early, error);
    if (status != CODE_EXECUTOR_OK)
        hijack_close(self);
    return status;
}

void hijack_close(struct hijack *self)
{
    http_disconnect(self->container->engine->http, self->connection);
}
