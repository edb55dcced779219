/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_stream.c: heads of answers and multiplexed output, cut at every byte, and garbage.
 */
#include "stream.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Feeds TEXT in two pieces cut at CUT, then in single bytes where CUT is beyond its end. */
static enum head_progress feed_cut(struct response_head *head, const char *text, size_t length,
                                   size_t cut, size_t *taken)
{
    size_t part = 0;
    *taken = 0;
    *head = (struct response_head){0};
    if (cut <= length) {
        enum head_progress progress = response_head_feed(head, text, cut, taken);
        if (progress != HEAD_INCOMPLETE)
            return progress;
        progress = response_head_feed(head, text + cut, length - cut, &part);
        *taken += part;
        return progress;
    }
    for (size_t i = 0; i < length; i++) {
        enum head_progress progress = response_head_feed(head, text + i, 1, &part);
        *taken += part;
        if (progress != HEAD_INCOMPLETE)
            return progress;
    }
    return HEAD_INCOMPLETE;
}

static const char upgraded[] = "HTTP/1.1 101 UPGRADED\r\nContent-Type: "
                               "application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\n"
                               "Upgrade: tcp\r\n\r\n";

static void head_is_read_however_it_is_cut(void **state)
{
    (void)state;
    char text[sizeof upgraded + 16];
    size_t head_length = strlen(upgraded);
    snprintf(text, sizeof text, "%sREST", upgraded);
    for (size_t cut = 0; cut <= strlen(text) + 1; cut++) {
        struct response_head head;
        size_t taken = 0;
        assert_int_equal(feed_cut(&head, text, strlen(text), cut, &taken), HEAD_COMPLETE);
        assert_int_equal(head.status, 101);
        assert_int_equal(head.content_length, -1);
        assert_int_equal(taken, head_length);
    }
}

static void content_length_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t length;
    } table[] = {
        {"HTTP/1.1 404 Not Found\r\nContent-Length: 42\r\n\r\n", 42},
        {"HTTP/1.0 409 Conflict\r\nX: y\r\ncontent-length:7\r\n\r\n", 7},
        {"HTTP/1.1 500\r\nContent-Length: 99999999999999999999\r\n\r\n", -1},
        {"HTTP/1.1 500 X\r\nContent-Length: -5\r\n\r\n", -1},
        {"HTTP/1.1 500 X\r\nNot-Content-Length: 5\r\n\r\n", -1},
        {"HTTP/1.1 200 OK\nContent-Length: 3\n\n", 3},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct response_head head;
        size_t taken = 0;
        assert_int_equal(feed_cut(&head, table[i].text, strlen(table[i].text), 1, &taken),
                         HEAD_COMPLETE);
        assert_int_equal(head.content_length, table[i].length);
    }
}

static void interim_answers_are_skipped(void **state)
{
    (void)state;
    char text[512];
    snprintf(text, sizeof text, "HTTP/1.1 100 Continue\r\n\r\n%s", upgraded);
    for (size_t cut = 0; cut <= strlen(text) + 1; cut++) {
        struct response_head head;
        size_t taken = 0;
        assert_int_equal(feed_cut(&head, text, strlen(text), cut, &taken), HEAD_COMPLETE);
        assert_int_equal(head.status, 101);
    }
}

static void what_is_no_http_is_malformed(void **state)
{
    (void)state;
    static const char *const table[] = {
        "SSH-2.0-OpenSSH_9.2\r\n\r\n",
        "HTTP/2 200\r\n\r\n",
        "HTTP/1.1 2x0 OK\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1\r\n\r\n",
        "HTTP/1.x 200 OK\r\n\r\n",
        "HTTP/1.1 007 X\r\n\r\n",
        "\r\n\r\n",
        "{\"message\":\"page not found\"}\n\n",
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct response_head head;
        size_t taken = 0;
        for (size_t cut = 0; cut <= strlen(table[i]) + 1; cut++)
            assert_int_equal(feed_cut(&head, table[i], strlen(table[i]), cut, &taken),
                             HEAD_MALFORMED);
    }
}

static void zero_byte_in_a_head_is_malformed(void **state)
{
    (void)state;
    struct response_head head = {.length = 0};
    size_t taken = 0;
    assert_int_equal(response_head_feed(&head, "HTTP/1.1 2\0", 11, &taken), HEAD_MALFORMED);
}

static void endless_head_is_malformed(void **state)
{
    (void)state;
    struct response_head head = {.length = 0};
    size_t taken = 0;
    const char *piece = "HTTP/1.1 200 OK\r\n";
    enum head_progress progress = response_head_feed(&head, piece, strlen(piece), &taken);
    for (int i = 0; i < 10000 && progress == HEAD_INCOMPLETE; i++)
        progress = response_head_feed(&head, "A: b\r\n", 6, &taken);
    assert_int_equal(progress, HEAD_MALFORMED);
    assert_true(head.length < sizeof head.bytes);
}

/* ---- the demultiplexer ------------------------------------------------------------------------- */

struct collected {
    char bytes[4][4096];
    size_t length[4];
};

static ptrdiff_t feed_piece(struct demultiplexer *demultiplexer, struct collected *to,
                            const char *bytes, size_t length)
{
    size_t used = 0;
    while (used < length) {
        struct stretch stretch;
        ptrdiff_t part = demultiplexer_next(demultiplexer, bytes + used, length - used, &stretch);
        if (part < 0)
            return -1;
        assert_true(part > 0 && (size_t)part <= length - used);
        used += (size_t)part;
        if (stretch.length == 0)
            continue;
        memcpy(to->bytes[stretch.stream] + to->length[stretch.stream], stretch.bytes,
               stretch.length);
        to->length[stretch.stream] += stretch.length;
    }
    return (ptrdiff_t)used;
}

static size_t put_piece(char *at, unsigned char stream, const char *text)
{
    size_t length = strlen(text);
    const char header[STREAM_HEADER_SIZE] = {(char)stream,        0,           0, 0, 0, 0,
                                             (char)(length >> 8), (char)length};
    memcpy(at, header, sizeof header);
    memcpy(at + sizeof header, text, length);
    return sizeof header + length;
}

static size_t make_stream(char *at)
{
    size_t length = put_piece(at, STREAM_STDOUT, "hello ");
    length += put_piece(at + length, STREAM_STDERR, "oops");
    length += put_piece(at + length, STREAM_STDOUT, "");
    length += put_piece(at + length, STREAM_STDOUT, "world");
    length += put_piece(at + length, STREAM_STDERR, "!");
    return length;
}

static void streams_are_told_apart_however_they_are_cut(void **state)
{
    (void)state;
    char wire[256];
    size_t length = make_stream(wire);
    for (size_t first = 0; first <= length; first++) {
        for (size_t second = first; second <= length; second++) {
            struct demultiplexer demultiplexer = {.left = 0};
            struct collected got = {.length = {0}};
            feed_piece(&demultiplexer, &got, wire, first);
            feed_piece(&demultiplexer, &got, wire + first, second - first);
            feed_piece(&demultiplexer, &got, wire + second, length - second);
            assert_int_equal(got.length[STREAM_STDOUT], 11);
            assert_memory_equal(got.bytes[STREAM_STDOUT], "hello world", 11);
            assert_int_equal(got.length[STREAM_STDERR], 5);
            assert_memory_equal(got.bytes[STREAM_STDERR], "oops!", 5);
        }
    }
}

static void garbage_is_refused(void **state)
{
    (void)state;
    static const char *const table[] = {"HTTP/1.1 200 OK", "\x04\0\0\0\0\0\0\1",
                                        "\x01\0\1\0\0\0\0\1", "\xff\xff\xff\xff\xff\xff\xff\xff"};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        for (size_t cut = 0; cut < STREAM_HEADER_SIZE; cut++) {
            struct demultiplexer demultiplexer = {.left = 0};
            struct collected got = {.length = {0}};
            assert_int_equal(feed_piece(&demultiplexer, &got, table[i], cut), cut);
            assert_int_equal(
                feed_piece(&demultiplexer, &got, table[i] + cut, STREAM_HEADER_SIZE - cut), -1);
        }
    }
}

static void piece_of_4_gib_takes_no_memory(void **state)
{
    (void)state;
    struct demultiplexer demultiplexer = {.left = 0};
    struct stretch stretch;
    static char block[65536];
    const char header[] = {1, 0, 0, 0, (char)0xff, (char)0xff, (char)0xff, (char)0xff};
    uint64_t total = 0;
    assert_int_equal(demultiplexer_next(&demultiplexer, header, sizeof header, &stretch),
                     sizeof header);
    while (demultiplexer.left > 0) {
        size_t length = demultiplexer.left < sizeof block ? demultiplexer.left : sizeof block;
        assert_int_equal(demultiplexer_next(&demultiplexer, block, length, &stretch), length);
        assert_int_equal(stretch.stream, STREAM_STDOUT);
        total += stretch.length;
    }
    assert_true(total == 0xffffffffu);
    size_t length = put_piece(block, STREAM_STDERR, "x");
    assert_int_equal(demultiplexer_next(&demultiplexer, block, length, &stretch), length);
    assert_int_equal(stretch.stream, STREAM_STDERR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(head_is_read_however_it_is_cut),
        cmocka_unit_test(content_length_is_read),
        cmocka_unit_test(interim_answers_are_skipped),
        cmocka_unit_test(what_is_no_http_is_malformed),
        cmocka_unit_test(zero_byte_in_a_head_is_malformed),
        cmocka_unit_test(endless_head_is_malformed),
        cmocka_unit_test(streams_are_told_apart_however_they_are_cut),
        cmocka_unit_test(garbage_is_refused),
        cmocka_unit_test(piece_of_4_gib_takes_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
