/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervisor.h: the process between the runner and one command, and the messages between the two.
 *
 * They talk over a SOCK_SEQPACKET socket pair, so a message is whole or not there. Both are the same
 * program, so a message is a structure.
 *
 *     runner                           supervisor
 *                          ◀───────── ready, with the reading ends of two new pipes
 *     SPAWN frame, as it came  ──────▶          perhaps with a descriptor: the standard input
 *     KILL …               ─────────▶
 *                          ◀───────── report, and what is to be had from it then
 *     DISCARD              ─────────▶          where it looks after a background
 *     PREPARE, or SPAWN    ─────────▶          where it can take another command
 *                          ◀───────── ready …
 */
#ifndef CODE_EXECUTOR_RUNNER_SUPERVISOR_H
#define CODE_EXECUTOR_RUNNER_SUPERVISOR_H

#include "request.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Runner to supervisor. */
struct supervisor_order {
    enum {
        ORDER_KILL,    /* the tree dies: SIGNAL now, SIGKILL GRACE_MS later */
        ORDER_DISCARD, /* the runner has taken its output; read and forget what still comes */
        ORDER_PREPARE  /* there is time to get ready for the next command */
    } kind;
    uint32_t signal;
    uint32_t grace_ms;
};

/* Supervisor to runner, once. */
struct supervisor_report {
    uint32_t how; /* EXIT_EXITED, _SIGNALLED, _TIMED_OUT, _CANCELLED, _NOT_STARTED, _LOST */
    uint32_t exit_code;
    uint32_t signal;
    uint32_t error;
    uint32_t candidate;
    uint64_t wall_ns;
    uint64_t cpu_ns;
    uint64_t peak_memory_bytes;
    enum {
        THEN_EXIT,       /* it exits */
        THEN_BACKGROUND, /* the same, when what lives on in the background has ended */
        THEN_NEXT        /* it takes another command */
    } then;
    char detail[400];
};

/* Supervisor to runner, before it takes a command. With it come SUPERVISOR_STREAMS descriptors, for
 * reading what the next command writes to its stdout and stderr. */
struct supervisor_ready {
    uint32_t nothing;
};
#define SUPERVISOR_STREAMS 2

/* What a supervisor starts with; the descriptors are its own. */
struct supervisor_setup {
    pid_t runner;
    int channel;
    int nothing; /* a standard input that is at its end */
    int input;   /* the first command's, or -1 */
    bool keep_ptrace;
};

/* How long a tree that does not die holds up the report. */
#define SUPERVISOR_PATIENCE_MS 3000u

/* The longest SPAWN frame that fits into one message. */
#define SUPERVISOR_FRAME_MAX (64u * 1024u)

/*
 * The whole life of a supervisor, in a fork of the runner: one command after the other, as long as none
 * leaves anything behind. SPAWN is the first; NULL: it comes as a message, as all others do.
 */
_Noreturn void supervisor_main(const struct supervisor_setup *setup,
                               const struct spawn_request *spawn);

#endif /* CODE_EXECUTOR_RUNNER_SUPERVISOR_H */
