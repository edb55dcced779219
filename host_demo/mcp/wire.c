/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.c: see wire.h.
 *
 * Attack: a client, or code whose output a client quotes, sends a line without an end. No more than
 * MOST_BYTES of it are kept; the rest is read and dropped up to its newline, and the next line is a
 * message again.
 */
#include "wire.h"
#include "interrupt.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 16 << 20, DEPTH_MAX = 64, PIECE = 65536 };

static struct {
    int output;
    pthread_mutex_t lock; /* of output */
    atomic_bool lost;
    struct bytes line; /* what has come of the next one */
    size_t scanned;    /* of it, without a newline */
    bool drops;        /* it was too long: up to its newline */
} this = {.output = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

int32_t wire_open(code_executor_error *error)
{
    this.output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (this.output < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return fail(error, CODE_EXECUTOR_IO, "Cannot take over stdout: %s.", strerror(errno));
    return CODE_EXECUTOR_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Writing
 * --------------------------------------------------------------------------------------------- */

bool wire_is_lost(void)
{
    return atomic_load(&this.lost);
}

/* Attack: a client that does not read and does not close either. It must not outlast the signals that end the
 * program; so only as much is written as a pipe has room for when it has any. */
static void write_all(const char *text, size_t length)
{
    while (length > 0 && !wire_is_lost()) {
        struct pollfd events[] = {{this.output, POLLOUT, 0}, {interrupt_descriptor(), POLLIN, 0}};
        poll(events, 2, -1);
        if (events[0].revents == 0) {
            atomic_store(&this.lost, events[1].revents != 0);
            continue;
        }
        ssize_t written = write(this.output, text, length < PIPE_BUF ? length : PIPE_BUF);
        if (written < 0 && errno != EINTR && errno != EAGAIN)
            atomic_store(&this.lost, true);
        text += written < 0 ? 0 : written;
        length -= written < 0 ? 0 : (size_t)written;
    }
}

bool wire_add(json_object *object, const char *key, json_object *value)
{
    if (object != NULL && json_object_object_add(object, key, value) == 0)
        return true;
    json_object_put(value);
    return false;
}

static void write_message(json_object *message)
{
    size_t length = 0;
    const char *text = json_object_to_json_string_length(
        message, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &length);
    pthread_mutex_lock(&this.lock);
    if (message == NULL || text == NULL) {
        atomic_store(&this.lost, true); /* no memory: a client that waits must see an end */
    } else {
        write_all(text, length);
        write_all("\n", 1);
    }
    pthread_mutex_unlock(&this.lock);
    json_object_put(message);
}

static json_object *new_message(void)
{
    json_object *message = json_object_new_object();
    wire_add(message, "jsonrpc", json_object_new_string("2.0"));
    return message;
}

void wire_result(json_object *id, json_object *result)
{
    json_object *message = new_message();
    wire_add(message, "id", id);
    wire_add(message, "result", result);
    write_message(message);
}

void wire_error(json_object *id, int code, json_object *data, const char *format, ...)
{
    char words[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    json_object *error = json_object_new_object();
    wire_add(error, "code", json_object_new_int(code));
    wire_add(error, "message", wire_text(words, strlen(words)));
    if (data != NULL)
        wire_add(error, "data", data);
    json_object *message = new_message();
    wire_add(message, "id", id);
    wire_add(message, "error", error);
    write_message(message);
}

void wire_notify(const char *method, json_object *params)
{
    json_object *message = new_message();
    wire_add(message, "method", json_object_new_string(method));
    wire_add(message, "params", params);
    write_message(message);
}

json_object *wire_text(const char *bytes, size_t length)
{
    CLEANUP(bytes_free) struct bytes text = {0};
    bool whole = true;
    while (length > 0 && whole) {
        size_t sequence = utf8_sequence(bytes, length);
        whole = sequence == 0 ? bytes_append_text(&text, "\xef\xbf\xbd")
                              : bytes_append(&text, bytes, sequence);
        sequence = sequence == 0 ? 1 : sequence;
        bytes += sequence;
        length -= sequence;
    }
    return whole ? json_object_new_string_len(bytes_text(&text), (int)text.length) : NULL;
}

/* ------------------------------------------------------------------------------------------------
 * Reading
 * --------------------------------------------------------------------------------------------- */

/* Waits for more of stdin; false: there is no more. */
static bool read_more(void)
{
    char piece[PIECE];
    while (!wire_is_lost()) {
        struct pollfd events[] = {{STDIN_FILENO, POLLIN, 0}, {interrupt_descriptor(), POLLIN, 0}};
        if (poll(events, 2, -1) < 0 && errno != EINTR)
            return false;
        if (events[1].revents != 0)
            return false;
        if (events[0].revents == 0)
            continue;
        ssize_t got = read(STDIN_FILENO, piece, sizeof piece);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        return got > 0 && bytes_append(&this.line, piece, (size_t)got);
    }
    return false;
}

static void forget(size_t length)
{
    this.line.length -= length;
    memmove(this.line.data, this.line.data + length, this.line.length);
    this.scanned = 0;
}

/* The length of the next line, its newline included, which is the front of `line`; 0 at the end. */
static size_t next_line(void)
{
    for (;;) {
        char *from = this.line.data + this.scanned;
        char *newline = this.line.length == this.scanned
                            ? NULL
                            : memchr(from, '\n', this.line.length - this.scanned);
        if (newline != NULL)
            return (size_t)(newline - this.line.data) + 1;
        this.scanned = this.line.length;
        if (this.line.length > MOST_BYTES) {
            this.drops = true;
            forget(this.line.length);
        }
        if (!read_more())
            return 0;
    }
}

static bool is_blank(const char *text, size_t length)
{
    while (length > 0 && strchr(" \t\r\n", text[length - 1]) != NULL && text[length - 1] != '\0')
        length--;
    return length == 0;
}

static enum wire_event parse(const char *text, size_t length, json_object **message)
{
    json_tokener *tokener = json_tokener_new_ex(DEPTH_MAX);
    if (tokener == NULL)
        return WIRE_END;
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    *message = json_tokener_parse_ex(tokener, text, (int)length);
    enum json_tokener_error problem = json_tokener_get_error(tokener);
    bool whole =
        problem == json_tokener_success && is_blank(text + json_tokener_get_parse_end(tokener),
                                                    length - json_tokener_get_parse_end(tokener));
    json_tokener_free(tokener);
    if (whole)
        return WIRE_MESSAGE;
    json_object_put(*message);
    *message = NULL;
    wire_error(NULL, RPC_PARSE_ERROR, NULL, "This line is no JSON text: %s.",
               problem == json_tokener_success ? "something stands behind it"
                                               : json_tokener_error_desc(problem));
    return WIRE_NONSENSE;
}

enum wire_event wire_read(json_object **message)
{
    size_t length;
    *message = NULL;
    while ((length = next_line()) > 0) {
        enum wire_event event = WIRE_NONSENSE;
        if (this.drops) {
            this.drops = false;
            wire_error(NULL, RPC_INVALID_REQUEST, NULL,
                       "This line is longer than %d MiB, which no message is.", MOST_BYTES >> 20);
        } else if (is_blank(this.line.data, length)) {
            forget(length);
            continue;
        } else {
            event = parse(this.line.data, length, message);
        }
        forget(length);
        return event;
    }
    bytes_free(&this.line);
    return WIRE_END;
}
