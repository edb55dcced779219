/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.h: requests to the engine, over connections that are kept.
 *
 * A client is used by one thread at a time. A transfer that was begun makes progress while any call on
 * the same client waits; in between, what the engine sends stays in the socket. So a request may be
 * left open for as long as a container lives (its /wait) and be asked for its answer at the end.
 */
#ifndef CODE_EXECUTOR_DOCKER_HTTP_H
#define CODE_EXECUTOR_DOCKER_HTTP_H

#include "endpoint.h"
#include "error.h"
#include <curl/curl.h>
#include <json-c/printbuf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct http_client http_client;
typedef struct http_transfer http_transfer;

/* How long to wait, and for whom: gives up (CANCELLED) when CANCEL_FD (-1: none) becomes readable, and
 * (TIMED_OUT) when LIMIT_MS (0: none) have passed; in the answer to a request with on_data, without a byte. */
typedef struct http_patience {
    int cancel_fd;
    int limit_ms;
} http_patience;

typedef struct http_request {
    const char *method;
    const char *path;         /* with the query, escaped: "/v1.41/info" */
    const char *header;       /* one more: "X-Registry-Auth: …", or NULL */
    const char *content_type; /* of the body */
    const void *body;         /* must live as long as the transfer */
    size_t body_length;
    /* Takes the answer's body as it comes, when its status is 2xx. False: give up. NULL: it is kept. */
    bool (*on_data)(void *user_data, const char *bytes, size_t length);
    void *user_data;
    bool watched; /* http_socket will be asked for */
} http_request;

/* ENDPOINT must outlive the client. */
int32_t http_client_new(const struct endpoint *endpoint, http_client **client,
                        code_executor_error *error);
/* All its transfers and connections must have been given back. */
void http_client_free(http_client *client);

/* *TRANSFER is the caller's, to be given to http_end. Only what keeps a request from being made at all
 * fails here. */
int32_t http_begin(http_client *client, const http_request *request, http_transfer **transfer,
                   code_executor_error *error);

/* Waits for the answer's head, or all of it. An answer of any status is a success. UNAVAILABLE or
 * DENIED: no connection; LOST: it broke. */
int32_t http_await_head(http_transfer *transfer, http_patience patience,
                        code_executor_error *error);
int32_t http_await(http_transfer *transfer, http_patience patience, code_executor_error *error);

/* For a transfer whose answer comes bit by bit: takes in what has arrived, without waiting. False: it has
 * ended, well or not. */
bool http_advance(http_transfer *transfer);
/* What is readable when something has (for poll), of a transfer that is watched; behind http_await_head.
 * -1: that is not known. */
int http_socket(const http_transfer *transfer);

/* The answer; valid behind http_await_head (the body behind http_await). */
long http_status(const http_transfer *transfer);
/* The value of a header, copied to VALUE; false where there is none or it does not fit. */
bool http_header(const http_transfer *transfer, const char *name, char *value, size_t size);
/* NUL-terminated; *LENGTH may be NULL. */
const char *http_body(const http_transfer *transfer, size_t *length);

/* Frees it, and breaks it off where it has not ended. NULL is allowed. */
void http_end(http_transfer *transfer);

/* A connection of its own, closed by http_disconnect. */
int32_t http_connect(http_client *client, http_patience patience, CURL **connection,
                     code_executor_error *error);
/* As curl_easy_send and curl_easy_recv. For the latter, as long as it returns CURLE_OK, more may be there
 * that the socket does not show (TLS). */
CURLcode http_send(http_client *client, CURL *connection, const void *bytes, size_t length,
                   size_t *sent);
CURLcode http_receive(http_client *client, CURL *connection, void *buffer, size_t size,
                      size_t *received);
/* Adds to ERROR what is known of why CONNECTION, on which either of them failed, has ended. */
void http_explain_loss(http_client *client, CURL *connection, code_executor_error *error);
void http_disconnect(http_client *client, CURL *connection);

#endif /* CODE_EXECUTOR_DOCKER_HTTP_H */
