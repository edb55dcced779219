/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.h: frames of the host, taken apart and checked.
 *
 * A pure function of bytes: no descriptors, no processes, so that a fuzzer can drive it. Whatever the
 * bytes are, the outcome is a request that is sound in itself, the wish for more bytes, or an objection
 * in words. Whether a request is in place now (HELLO first, a number in use) is for others to say.
 */
#ifndef CODE_EXECUTOR_RUNNER_REQUEST_H
#define CODE_EXECUTOR_RUNNER_REQUEST_H

#include "protocol.h"
#include <stddef.h>
#include <stdint.h>

/* Lists of strings end in NULL. */
struct spawn_request {
    uint32_t timeout_ms;
    uint32_t grace_ms;
    uint32_t credit;
    const char *folder; /* "": the folder in which the runner was started */
    char **environment_defaults;
    char **environment_additions;
    char ***candidates; /* argument vectors, none empty */
};

struct write_request {
    const char *path;
    uint32_t mode;
    const unsigned char *bytes;
    size_t length;
};

struct request {
    struct frame_header header;
    union {
        struct {
            uint32_t flags;
            const char *name; /* of the rendezvous; "": there is none */
            const char *proof;
        } hello;
        struct {
            const unsigned char *bytes;
            size_t length;
        } input;
        struct spawn_request spawn;
        uint32_t credit;
        struct {
            uint32_t signal;
            uint32_t grace_ms;
        } kill;
        char **lookup;
        struct write_request write;
    };
    const unsigned char *frame; /* the whole of it, header and payload */
    size_t frame_length;
    void *memory; /* of strings and lists */
};

enum request_outcome {
    REQUEST_COMPLETE, /* *CONSUMED bytes; request_release when done with it */
    REQUEST_PARTIAL,  /* *CONSUMED bytes are needed in all, as far as is known yet */
    REQUEST_REFUSED   /* OBJECTION says why */
};

#define REQUEST_OBJECTION_SIZE 160

/*
 * Takes one request from the beginning of BYTES. Bytes that are no strings are not copied: the request
 * points to them.
 */
enum request_outcome request_parse(const unsigned char *bytes, size_t length,
                                   struct request *request, size_t *consumed,
                                   char objection[REQUEST_OBJECTION_SIZE]);
void request_release(struct request *request);

#endif /* CODE_EXECUTOR_RUNNER_REQUEST_H */
