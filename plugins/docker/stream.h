/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.h: what comes over an attached connection: the head of an HTTP answer, then, when the engine
 * agreed, the container's output in pieces with a header each:
 *
 *     0        1   2   3   4          8
 *     +--------+---+---+---+----------+---------------------+
 *     | stream | 0 | 0 | 0 | length   | `length` bytes      |
 *     +--------+---+---+---+----------+---------------------+
 *     1 stdout, 2 stderr    u32, big-endian
 *
 * Both are read from whatever pieces the socket yields, cut anywhere. No I/O here.
 */
#ifndef CODE_EXECUTOR_DOCKER_STREAM_H
#define CODE_EXECUTOR_DOCKER_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RESPONSE_HEAD_MAX 16384

struct response_head {
    char bytes[RESPONSE_HEAD_MAX];
    size_t length;
    int status;             /* valid once complete */
    int64_t content_length; /* -1: not given */
};

enum head_progress { HEAD_INCOMPLETE, HEAD_COMPLETE, HEAD_MALFORMED };

/* Takes from LENGTH bytes what belongs to the head, *TAKEN of them. Interim answers (100 Continue) are
 * skipped. HEAD_MALFORMED: no HTTP, or too long. */
enum head_progress response_head_feed(struct response_head *head, const char *bytes, size_t length,
                                      size_t *taken);

#define STREAM_HEADER_SIZE 8

enum stream_number { STREAM_STDIN = 0, STREAM_STDOUT = 1, STREAM_STDERR = 2, STREAM_SYSTEM = 3 };

struct demultiplexer {
    unsigned char header[STREAM_HEADER_SIZE];
    size_t header_length;
    uint32_t left; /* of the piece whose header is complete */
};

/* A stretch of one stream within the bytes that were fed. */
struct stretch {
    unsigned char stream; /* enum stream_number */
    const char *bytes;
    size_t length;
};

/* Takes the next stretch out of LENGTH bytes. Returns how many it used up, those of headers included;
 * STRETCH->length is 0 where they held no more than (a part of) a header. -1: no such stream; the
 * connection carries something else. */
ptrdiff_t demultiplexer_next(struct demultiplexer *state, const char *bytes, size_t length,
                             struct stretch *stretch);

#endif /* CODE_EXECUTOR_DOCKER_STREAM_H */
