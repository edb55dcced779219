/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_session.c: the session, opposite a runner that sends any bytes.
 *
 * The first byte of an input says what the host does and in what pieces the rest arrives, behind a right
 * greeting unless it says otherwise:
 *
 *     bits 0-1  run, lookup, write a file, reset
 *     bits 2-5  bytes a call of receive gives at most; 0: all
 *     bit 6     the greeting is part of the input
 *
 * Calls are numbered from 1. Checked beyond what sanitizers see: every call ends, what on_output gets is
 * what OUTPUT frames held and never more than the credit, and an exit that is let through is a possible
 * one.
 */
#include "runner/protocol.h"
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t length);

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* A transport that gives the input and then ends; what is sent is thrown away. */
struct tape {
    transport base;
    const unsigned char *parts[2]; /* greeting, input */
    size_t lengths[2];
    size_t piece;
    bool waited;
};

static ssize_t tape_send(transport *self, const void *bytes, size_t length)
{
    (void)self;
    (void)bytes;
    return (ssize_t)length;
}

static ssize_t tape_receive(transport *self, void *buffer, size_t size)
{
    struct tape *tape = (struct tape *)(void *)self;
    int part = tape->lengths[0] > 0 ? 0 : 1;
    if (tape->piece > 0 && !tape->waited) {
        tape->waited = true;
        return TRANSPORT_AGAIN;
    }
    tape->waited = false;
    size_t count = tape->lengths[part] < size ? tape->lengths[part] : size;
    if (tape->piece > 0 && count > tape->piece)
        count = tape->piece;
    if (count == 0)
        return TRANSPORT_END;
    memcpy(buffer, tape->parts[part], count);
    tape->parts[part] += count;
    tape->lengths[part] -= count;
    return (ssize_t)count;
}

static void tape_wait(transport *self, bool for_sending, int wake_fd, int timeout_ms)
{
    (void)self;
    (void)for_sending;
    (void)wake_fd;
    (void)timeout_ms;
}

static void tape_explain(transport *self, code_executor_error *error)
{
    (void)self;
    (void)error;
}

static void tape_end(transport *self)
{
    (void)self;
}

static const struct transport_operations tape_operations = {tape_send,    tape_receive, tape_wait,
                                                            tape_explain, tape_end,     tape_end};

static bool take_output(void *user_data, int32_t stream, const char *bytes, size_t length)
{
    size_t *total = user_data;
    volatile char sink = 0;
    CHECK(stream == 1 || stream == 2);
    CHECK(length > 0 && length <= 1024 * 1024);
    for (size_t i = 0; i < length; i++)
        sink = bytes[i];
    (void)sink;
    *total += length;
    return bytes[0] != 'c'; /* some outputs cancel */
}

static void run(session *opened, size_t length)
{
    static const char *const arguments[] = {"sh", NULL};
    static const char *const *const candidates[] = {arguments, arguments};
    size_t total = 0;
    session_command command = {.folder = "/",
                               .candidates = candidates,
                               .candidate_count = 2,
                               .stdin_bytes = "in",
                               .stdin_length = 2,
                               .user_data = &total,
                               .on_output = take_output};
    session_exit exited;
    int32_t status = session_run(opened, &command, NULL, &exited, NULL);
    CHECK(total <= length);
    if (status == CODE_EXECUTOR_OK) {
        CHECK(exited.how <= EXIT_LOST && exited.exit_code <= 255);
        CHECK(exited.how != EXIT_EXITED || exited.candidate < 2);
        CHECK(memchr(exited.detail, 0, sizeof exited.detail));
    }
}

static void look_up(session *opened)
{
    static const char *const programs[] = {"sh", "python3"};
    char *paths[2];
    int32_t status = session_lookup(opened, programs, 2, paths, NULL);
    for (int i = 0; i < 2; i++) {
        CHECK(!paths[i] || (status == CODE_EXECUTOR_OK && paths[i][0] == '/'));
        free(paths[i]);
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t length)
{
    static const unsigned char greeting[] = "\x1a\0\0\0\1\0\0\0\0\0\0\0CRX1\1\0\0\0\1\0\0\0\0\0\0\0"
                                            "\6\0\0\0x86_64";
    if (length == 0)
        return 0;
    unsigned char first = bytes[0];
    bool greets = !(first & 0x40);
    struct tape tape = {.base = {.operations = &tape_operations},
                        .parts = {greeting, bytes + 1},
                        .lengths = {greets ? sizeof greeting - 1 : 0, length - 1},
                        .piece = first >> 2 & 0xf};
    session *opened;
    if (session_open(&tape.base, false, -1, &opened, NULL) != CODE_EXECUTOR_OK) {
        CHECK(!greets);
        return 0;
    }
    switch (first & 3) {
    case 0:
        run(opened, length);
        break;
    case 1:
        look_up(opened);
        break;
    case 2:
        (void)session_write_file(opened, "file", 0600, "bytes", 5, NULL);
        break;
    default:
        (void)session_reset(opened, NULL);
    }
    run(opened, length);
    (void)session_alive(opened);
    session_release(opened);
    return 0;
}
