/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport.h: a byte stream in both directions between this process and a runner, however far away.
 *
 * What differs between executors is where this stream leads: over a socket to a child (local,
 * sandbox), over an engine's hijacked HTTP connection to PID 1 of a container (docker). The session
 * speaks frames over it and knows no more.
 *
 * send and receive never block. The session calls send, receive, explain and close under one lock, so
 * they need none of their own; wait is called without that lock, at most once at a time for each
 * direction, while another thread may be inside send or receive.
 */
#ifndef CODE_EXECUTOR_TRANSPORT_H
#define CODE_EXECUTOR_TRANSPORT_H

#include <code_executor.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What send and receive return besides a count of bytes. */
enum transport_result {
    TRANSPORT_AGAIN = 0, /* nothing can be moved now: wait */
    TRANSPORT_END = -1   /* the other side is gone; explain says why */
};

typedef struct transport transport;

struct transport_operations {
    ssize_t (*send)(transport *self, const void *bytes, size_t length);
    ssize_t (*receive)(transport *self, void *buffer, size_t size);

    /*
     * Blocks until receive (FOR_SENDING: send) may make progress or find the end, WAKE_FD (if not
     * -1) is readable, or TIMEOUT_MS (-1: none) has passed. May return early for no reason.
     */
    void (*wait)(transport *self, bool for_sending, int wake_fd, int timeout_ms);

    /*
     * After TRANSPORT_END: fills ERROR with what became of the other side (its exit status, its last
     * words), waiting a second or so at most for that to be known.
     */
    void (*explain)(transport *self, code_executor_error *error);

    /* Ends this side, so that the runner sees end-of-file; releases everything, self included. */
    void (*close)(transport *self);

    /* In a forked child of the host: closes the descriptors, and nothing else (only calls that are
     * safe in a signal handler). */
    void (*forget)(transport *self);
};

struct transport {
    const struct transport_operations *operations;
    /* Set by explain: the limit of memory of the environment as a whole ended it. */
    bool out_of_memory;
    /* For HELLO: where the runner may find a shorter way (runner/rendezvous.h). NULL: nowhere. */
    const char *rendezvous_name;
    const char *rendezvous_proof;
    /* an implementation embeds this at the beginning of its own structure */
};

#endif /* CODE_EXECUTOR_TRANSPORT_H */
