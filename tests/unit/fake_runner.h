/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_runner.h: the other end of a session, which does what a test wants a runner to do: a thread
 * with a socket, and functions to read and write frames on it.
 */
#ifndef CODE_EXECUTOR_TESTS_FAKE_RUNNER_H
#define CODE_EXECUTOR_TESTS_FAKE_RUNNER_H

#include "runner/protocol.h"
#include "session.h"
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct fake_runner {
    int fd;
    void (*behave)(struct fake_runner *self);
    void *context;
    pthread_t thread;
    unsigned char payload[FRAME_PAYLOAD_MAX]; /* of the frame that was read last */
} fake_runner;

/* The transport of a session whose other end BEHAVE, on a thread of its own, reads and writes. */
transport *fake_runner_start(fake_runner *self, void (*behave)(fake_runner *self), void *context);
void fake_runner_join(fake_runner *self);

/* The same behind the greeting: an open session. */
session *fake_runner_open(fake_runner *self, void (*behave)(fake_runner *self), void *context);
void fake_runner_close(fake_runner *self, session *opened);

/* False at the end of the connection. */
bool fake_read(fake_runner *self, struct frame_header *header);
/* Reads frames until one of that TYPE; false at the end of the connection. */
bool fake_read_type(fake_runner *self, uint16_t type, struct frame_header *header);
void fake_drain(fake_runner *self); /* until the end of the connection */

void fake_write_bytes(fake_runner *self, const void *bytes, size_t length);
void fake_write(fake_runner *self, uint16_t type, uint16_t detail, uint32_t execution,
                const void *payload, uint32_t length);
void fake_output(fake_runner *self, uint32_t execution, uint16_t stream, const char *text);

/* Lay out frames and return their length. */
size_t fake_compose_hello(unsigned char *at, uint32_t magic, uint32_t version);
size_t fake_compose_exit(unsigned char *at, uint32_t execution, const session_exit *exit);
void fake_exit(fake_runner *self, uint32_t execution, uint32_t how, uint32_t code);

/* What a run printed, for session_command.on_output. */
typedef struct collected {
    char bytes[4096];
    size_t length;
    uint64_t total;
} collected;
bool collect_output(void *collected_output, int32_t stream, const char *bytes, size_t length);

/* A command that runs something; its output is collected. */
session_command fake_command(collected *output);
/* Runs it; an error that is told otherwise than returned is an internal one. */
int32_t fake_run(session *opened, const session_command *command, session_exit *exited);

#endif /* CODE_EXECUTOR_TESTS_FAKE_RUNNER_H */
