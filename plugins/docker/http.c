/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.c: requests to the engine by libcurl; see http.h.
 *
 * One multi handle carries everything, so that connections are shared and one poll watches the answer
 * and the caller's cancel descriptor together. A transfer is one easy handle in it. libcurl is told to
 * leave the process alone: no signals, no proxies from the environment, its sockets from fork_guard.h.
 */
#include "http.h"
#include "clock.h"
#include "fork_guard.h"
#include "sigpipe.h"
#include "ssh_bridge.h"
#include "unreachable.h"
#include "wakeup_pair.h"
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#define CONNECT_TIMEOUT_MS 10000L
#define HEAD_MAX           (64 * 1024)
#define BODY_MAX           (16 * 1024 * 1024)
#define CONNECTIONS_KEPT   8L /* those in use count */
#define CONNECTION_BUFFER  (256L * 1024)

/* A machine that has gone without a word is noticed after IDLE + PROBES × INTERVAL seconds. */
#define KEEPALIVE_IDLE     10
#define KEEPALIVE_INTERVAL 5
#define KEEPALIVE_PROBES   4

struct http_client {
    CURLM *multi;
    struct wakeup_pair wakeup_pair;
    const struct endpoint *endpoint;
    struct ssh_bridge ssh;
    bool answered; /* the engine, to whatever */
};

struct http_transfer {
    http_client *client;
    CURL *easy;
    struct curl_slist *headers;
    struct printbuf *head;
    struct printbuf *body;
    bool (*on_data)(void *user_data, const char *bytes, size_t length);
    void *user_data;
    bool head_done;
    bool too_long;
    bool done;
    CURLcode result;
    int64_t heard_ms; /* when the last byte came */
    int sockets[2];   /* the last two that were opened for it, where it is watched; else -1 */
    char words[CURL_ERROR_SIZE]; /* libcurl's, of what went wrong */
};

/* ---- the client -------------------------------------------------------------------------------- */

/* Older libcurls count their users without a lock. */
static pthread_mutex_t global_lock = PTHREAD_MUTEX_INITIALIZER;

static bool library_enter(void)
{
    pthread_mutex_lock(&global_lock);
    CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
    pthread_mutex_unlock(&global_lock);
    return code == CURLE_OK;
}

static void library_leave(void)
{
    pthread_mutex_lock(&global_lock);
    curl_global_cleanup();
    pthread_mutex_unlock(&global_lock);
}

/* Around all in which OpenSSL may write. */
static struct sigpipe_guard hold_sigpipe(const http_client *client)
{
    return sigpipe_hold(client->endpoint->tls.wanted);
}

static void perform(http_client *client)
{
    int running = 0;
    struct sigpipe_guard guard = hold_sigpipe(client);
    curl_multi_perform(client->multi, &running);
    sigpipe_release(&guard);
    if (client->endpoint->kind == ENDPOINT_SSH)
        ssh_bridge_accept(&client->ssh);
}

static void discard(http_client *client, CURL *easy)
{
    struct sigpipe_guard guard = hold_sigpipe(client);
    curl_multi_remove_handle(client->multi, easy);
    curl_easy_cleanup(easy);
    sigpipe_release(&guard);
}

int32_t http_client_new(const struct endpoint *endpoint, http_client **client,
                        code_executor_error *error)
{
    *client = NULL;
    http_client *made = calloc(1, sizeof *made);
    if (!made || !library_enter()) {
        free(made);
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    }
    made->endpoint = endpoint;
    made->ssh.listener = -1;
    bool bridged = endpoint->kind != ENDPOINT_SSH || ssh_bridge_begin(&made->ssh, endpoint);
    made->multi = bridged ? wakeup_pair_guard(&made->wakeup_pair) : NULL;
    if (!made->multi) {
        http_client_free(made);
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory or descriptors");
    }
    curl_multi_setopt(made->multi, CURLMOPT_MAXCONNECTS, CONNECTIONS_KEPT);
    *client = made;
    return CODE_EXECUTOR_OK;
}

void http_client_free(http_client *client)
{
    if (!client)
        return;
    if (client->multi) {
        struct sigpipe_guard guard = hold_sigpipe(client);
        wakeup_pair_release(&client->wakeup_pair);
        curl_multi_cleanup(client->multi);
        sigpipe_release(&guard);
    }
    ssh_bridge_end(&client->ssh);
    library_leave();
    free(client);
}

/* ---- what libcurl calls ------------------------------------------------------------------------ */

static void keep_alive(int socket)
{
    static const struct {
        int level, name, value;
    } options[] = {
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE},
        {IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL},
        {IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES},
        {IPPROTO_TCP, TCP_USER_TIMEOUT,
         (KEEPALIVE_IDLE + KEEPALIVE_PROBES * KEEPALIVE_INTERVAL) * 1000},
    };
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        setsockopt(socket, options[i].level, options[i].name, &options[i].value,
                   sizeof options[i].value);
}

static curl_socket_t open_socket(void *user_data, curlsocktype purpose,
                                 struct curl_sockaddr *address)
{
    http_client *client = user_data;
    (void)purpose;
    if (client->endpoint->kind == ENDPOINT_SSH)
        return ssh_bridge_open(&client->ssh);
    int socket = fork_guard_socket(address->family, address->socktype, address->protocol);
    if (socket >= 0 && client->endpoint->kind == ENDPOINT_TCP)
        keep_alive(socket);
    return socket;
}

static int close_socket(void *user_data, curl_socket_t socket)
{
    http_client *client = user_data;
    if (client->endpoint->kind == ENDPOINT_SSH)
        ssh_bridge_close(&client->ssh, socket);
    else
        fork_guard_close(socket);
    return 0;
}

/* libcurl tells the socket of a transfer only once that has ended. Of two addresses it tries both at once. */
static int note_socket(void *user_data, curl_socket_t socket, curlsocktype purpose)
{
    http_transfer *transfer = user_data;
    (void)purpose;
    transfer->sockets[1] = transfer->sockets[0];
    transfer->sockets[0] = (int)socket;
    return CURL_SOCKOPT_OK;
}

static bool append(struct printbuf *buffer, const char *bytes, size_t length, size_t most)
{
    return (size_t)printbuf_length(buffer) + length <= most &&
           printbuf_memappend(buffer, bytes, (int)length) >= 0;
}

static size_t take_header(char *bytes, size_t size, size_t count, void *user_data)
{
    http_transfer *transfer = user_data;
    size_t length = size * count;
    transfer->heard_ms = now_ms();
    if (length == 2 && memcmp(bytes, "\r\n", 2) == 0 && http_status(transfer) >= 200)
        transfer->head_done = transfer->client->answered = true;
    if (!append(transfer->head, bytes, length, HEAD_MAX)) {
        transfer->too_long = true;
        return 0;
    }
    return length;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *user_data)
{
    http_transfer *transfer = user_data;
    size_t length = size * count;
    transfer->heard_ms = now_ms();
    transfer->head_done = true;
    if (transfer->on_data && http_status(transfer) / 100 == 2)
        return transfer->on_data(transfer->user_data, bytes, length) ? length : 0;
    if (!append(transfer->body, bytes, length, BODY_MAX)) {
        transfer->too_long = true;
        return 0;
    }
    return length;
}

/* ---- transfers --------------------------------------------------------------------------------- */

/* Where the handle connects to. False: no memory. */
static bool set_endpoint(const http_client *client, CURL *easy)
{
    const struct endpoint *endpoint = client->endpoint;
    if (endpoint->tls.wanted)
        return tls_apply(&endpoint->tls, easy);
    if (endpoint->kind == ENDPOINT_SSH)
        return curl_easy_setopt(easy, CURLOPT_ABSTRACT_UNIX_SOCKET, client->ssh.name) == CURLE_OK;
    return !endpoint->socket_path ||
           curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, endpoint->socket_path) == CURLE_OK;
}

/* What every handle is told, whatever it carries. */
static CURL *new_handle(http_client *client, const char *path, char words[CURL_ERROR_SIZE])
{
    CURL *easy = curl_easy_init();
    struct printbuf *url = printbuf_new();
    if (easy && url && printbuf_strappend(url, "") >= 0 &&
        sprintbuf(url, "%s%s", client->endpoint->base_url, path) >= 0 &&
        curl_easy_setopt(easy, CURLOPT_URL, url->buf) == CURLE_OK && set_endpoint(client, easy)) {
        curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(easy, CURLOPT_PROXY, "");
        curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
        curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
        curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
        curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
        curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, words);
        curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
        curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, client);
        curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
        curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, client);
    } else if (easy) {
        curl_easy_cleanup(easy);
        easy = NULL;
    }
    if (url)
        printbuf_free(url);
    return easy;
}

static bool add_header(struct curl_slist **headers, const char *line)
{
    struct curl_slist *longer = curl_slist_append(*headers, line);
    if (longer)
        *headers = longer;
    return longer != NULL;
}

static bool set_headers(http_transfer *transfer, const http_request *request)
{
    char type[128];
    snprintf(type, sizeof type, "Content-Type: %s",
             request->content_type ? request->content_type : "application/json");
    return add_header(&transfer->headers, "Expect:") && add_header(&transfer->headers, type) &&
           (!request->header || add_header(&transfer->headers, request->header)) &&
           curl_easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, transfer->headers) == CURLE_OK;
}

static bool set_request(http_transfer *transfer, const http_request *request)
{
    CURL *easy = transfer->easy;
    if (strcmp(request->method, "HEAD") == 0) {
        curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    } else if (strcmp(request->method, "GET") != 0) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_length);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->body ? request->body : "");
        if (curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method) != CURLE_OK)
            return false;
    }
    if (request->watched) {
        curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
        curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, note_socket);
        curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, transfer);
    }
    curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    return set_headers(transfer, request);
}

int32_t http_begin(http_client *client, const http_request *request, http_transfer **transfer,
                   code_executor_error *error)
{
    *transfer = NULL;
    http_transfer *begun = calloc(1, sizeof *begun);
    if (begun) {
        begun->client = client;
        begun->on_data = request->on_data;
        begun->user_data = request->user_data;
        begun->heard_ms = now_ms();
        begun->sockets[0] = begun->sockets[1] = -1;
        begun->head = printbuf_new();
        begun->body = printbuf_new();
        begun->easy = new_handle(client, request->path, begun->words);
    }
    if (!begun || !begun->head || !begun->body || !begun->easy || !set_request(begun, request) ||
        curl_multi_add_handle(client->multi, begun->easy) != CURLM_OK) {
        http_end(begun);
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    }
    perform(client); /* a local socket takes the request at once */
    *transfer = begun;
    return CODE_EXECUTOR_OK;
}

void http_end(http_transfer *transfer)
{
    if (!transfer)
        return;
    if (transfer->easy)
        discard(transfer->client, transfer->easy);
    curl_slist_free_all(transfer->headers);
    if (transfer->head)
        printbuf_free(transfer->head);
    if (transfer->body)
        printbuf_free(transfer->body);
    free(transfer);
}

/* ---- waiting ----------------------------------------------------------------------------------- */

/* What happened to a transfer that has ended; OK when it got an answer. */
static int32_t translate(http_transfer *transfer, code_executor_error *error)
{
    if (transfer->result == CURLE_OK)
        return CODE_EXECUTOR_OK;
    struct failure failure = {
        .easy = transfer->easy,
        .code = transfer->result,
        .words = transfer->words,
        .ssh_words = transfer->client->ssh.words,
        .answered = transfer->client->answered,
    };
    return unreachable_explain(transfer->client->endpoint, &failure, error);
}

static void note_ends(http_client *client)
{
    int left = 0;
    for (CURLMsg *message; (message = curl_multi_info_read(client->multi, &left));) {
        http_transfer *transfer = NULL;
        if (message->msg != CURLMSG_DONE)
            continue;
        CURLcode result = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
        if (transfer) {
            transfer->done = true;
            transfer->result = result;
        }
    }
}

/*
 * Attack: an engine, or who sits between, sends a byte a second, and each would be a sign of life. Only of what
 * goes on for as long as something goes on (a pull) that is enough.
 */
static bool is_stream(const http_transfer *transfer)
{
    return transfer->on_data && transfer->head_done;
}

static bool is_readable(int descriptor)
{
    struct pollfd one = {.fd = descriptor, .events = POLLIN};
    return descriptor >= 0 && poll(&one, 1, 0) > 0;
}

/* Nothing has come at all, or, of an answer that has to come to an end, not enough. */
static int32_t give_up(const http_transfer *transfer, int limit_ms, int64_t began_ms,
                       code_executor_error *error)
{
    const char *address = transfer->client->endpoint->address;
    int seconds = (limit_ms + 999) / 1000;
    if (transfer->heard_ms > began_ms && !is_stream(transfer))
        return error_set(error, CODE_EXECUTOR_TIMED_OUT,
                         "the Docker engine at %s has not sent all of its answer within %d s: is "
                         "it hung, or the way to it that slow?",
                         address, seconds);
    return error_set(error, CODE_EXECUTOR_TIMED_OUT,
                     "the Docker engine at %s has not answered for %d s: is it hung?", address,
                     seconds);
}

static int32_t wait_for_news(http_transfer *transfer, http_patience patience, int64_t began_ms,
                             code_executor_error *error)
{
    http_client *client = transfer->client;
    int64_t left = 3600 * 1000, since_ms = began_ms;
    if (is_stream(transfer) && transfer->heard_ms > began_ms)
        since_ms = transfer->heard_ms;
    if (is_readable(patience.cancel_fd))
        return error_set(error, CODE_EXECUTOR_CANCELLED, "cancelled");
    if (patience.limit_ms > 0) {
        left = since_ms + patience.limit_ms - now_ms();
        if (left <= 0)
            return give_up(transfer, patience.limit_ms, began_ms, error);
    }
    struct curl_waitfd cancel = {.fd = patience.cancel_fd, .events = CURL_WAIT_POLLIN};
    curl_multi_poll(client->multi, &cancel, patience.cancel_fd >= 0 ? 1 : 0, (int)left, NULL);
    return CODE_EXECUTOR_OK;
}

static int32_t await(http_transfer *transfer, bool head, http_patience patience,
                     code_executor_error *error)
{
    http_client *client = transfer->client;
    int64_t began_ms = now_ms();
    for (;;) {
        perform(client);
        note_ends(client);
        if (transfer->too_long)
            return error_set(error, CODE_EXECUTOR_PROTOCOL,
                             "the Docker engine at %s sent an answer without end",
                             client->endpoint->address);
        if (transfer->done)
            return translate(transfer, error);
        if (head && transfer->head_done)
            return CODE_EXECUTOR_OK;
        int32_t status = wait_for_news(transfer, patience, began_ms, error);
        if (status != CODE_EXECUTOR_OK)
            return status;
    }
}

int32_t http_await_head(http_transfer *transfer, http_patience patience, code_executor_error *error)
{
    return await(transfer, true, patience, error);
}

int32_t http_await(http_transfer *transfer, http_patience patience, code_executor_error *error)
{
    return await(transfer, false, patience, error);
}

bool http_advance(http_transfer *transfer)
{
    perform(transfer->client);
    note_ends(transfer->client);
    return !transfer->done && !transfer->too_long;
}

/* A number that was closed may have been given out again, so a connection is known by its port. */
static bool is_connection(int socket, long port)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    if (socket < 0 || getsockname(socket, (struct sockaddr *)&address, &size) != 0)
        return false;
    if (address.ss_family == AF_INET)
        return ntohs(((struct sockaddr_in *)&address)->sin_port) == port;
    if (address.ss_family == AF_INET6)
        return ntohs(((struct sockaddr_in6 *)&address)->sin6_port) == port;
    return true;
}

int http_socket(const http_transfer *transfer)
{
    long port = 0;
    curl_easy_getinfo(transfer->easy, CURLINFO_LOCAL_PORT, &port);
    for (size_t i = 0; i < 2; i++)
        if (is_connection(transfer->sockets[i], port))
            return transfer->sockets[i];
    return -1;
}

/* ---- the answer -------------------------------------------------------------------------------- */

long http_status(const http_transfer *transfer)
{
    long status = 0;
    curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

bool http_header(const http_transfer *transfer, const char *name, char *value, size_t size)
{
    size_t name_length = strlen(name);
    const char *line = transfer->head->buf;
    for (const char *end; (end = strstr(line, "\r\n")); line = end + 2) {
        if (strncasecmp(line, name, name_length) != 0 || line[name_length] != ':')
            continue;
        const char *begin = line + name_length + 1;
        begin += strspn(begin, " \t");
        size_t length = (size_t)(end - begin);
        if (length >= size)
            return false;
        memcpy(value, begin, length);
        value[length] = '\0';
        return true;
    }
    return false;
}

const char *http_body(const http_transfer *transfer, size_t *length)
{
    if (length)
        *length = (size_t)printbuf_length(transfer->body);
    return transfer->body->buf;
}

/* ---- connections ------------------------------------------------------------------------------- */

/* The handle stays in the multi handle: libcurl closes a connection whose handle is taken out. */
int32_t http_connect(http_client *client, http_patience patience, CURL **connection,
                     code_executor_error *error)
{
    http_transfer transfer = {.client = client};
    *connection = NULL;
    transfer.easy = new_handle(client, "/", transfer.words);
    if (!transfer.easy)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    curl_easy_setopt(transfer.easy, CURLOPT_CONNECT_ONLY, 1L);
    curl_easy_setopt(transfer.easy, CURLOPT_BUFFERSIZE, CONNECTION_BUFFER); /* the most of a recv */
    curl_easy_setopt(transfer.easy, CURLOPT_PRIVATE, &transfer);
    int32_t status = CODE_EXECUTOR_OK;
    if (curl_multi_add_handle(client->multi, transfer.easy) != CURLM_OK)
        status = error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    else
        status = await(&transfer, false, patience, error);
    curl_easy_setopt(transfer.easy, CURLOPT_PRIVATE, NULL);
    curl_easy_setopt(transfer.easy, CURLOPT_ERRORBUFFER, NULL);
    if (status != CODE_EXECUTOR_OK) {
        http_disconnect(client, transfer.easy);
        return status;
    }
    *connection = transfer.easy;
    return CODE_EXECUTOR_OK;
}

void http_disconnect(http_client *client, CURL *connection)
{
    discard(client, connection);
}

CURLcode http_send(http_client *client, CURL *connection, const void *bytes, size_t length,
                   size_t *sent)
{
    struct sigpipe_guard guard = hold_sigpipe(client);
    CURLcode code = curl_easy_send(connection, bytes, length, sent);
    sigpipe_release(&guard);
    return code;
}

CURLcode http_receive(http_client *client, CURL *connection, void *buffer, size_t size,
                      size_t *received)
{
    struct sigpipe_guard guard = hold_sigpipe(client); /* a receiving TLS may have to answer */
    CURLcode code = curl_easy_recv(connection, buffer, size, received);
    sigpipe_release(&guard);
    return code;
}

void http_explain_loss(http_client *client, CURL *connection, code_executor_error *error)
{
    curl_socket_t socket = CURL_SOCKET_BAD;
    curl_easy_getinfo(connection, CURLINFO_ACTIVESOCKET, &socket);
    if (client->endpoint->kind != ENDPOINT_SSH)
        return;
    ssh_bridge_listen(&client->ssh, socket);
    if (client->ssh.words[0])
        error_append(error, CODE_EXECUTOR_LOST, ". ssh says: %s", client->ssh.words);
}
