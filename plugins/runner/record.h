/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.h: what the runner keeps of each execution, and of each supervisor.
 *
 *     GATHERING ──SPAWN──▶ RUNNING ──report──────────────▶ DRAINING ──all sent──▶ BACKGROUND ─▶ freed
 *     (STDIN came)            │                               ▲       EXIT   │    (no number)
 *                             └─ supervisor died: ORPHANED ───┘              └──▶ RESTING ─▶ SPARE
 *                                its tree is killed                               (no number)
 *
 * A record is freed when its supervisor has been reaped and its EXIT is sent. A supervisor that outlives
 * EXIT has processes in the background to look after, whose output it reads from then on, not we; or it
 * rests, and soon is spare: ready for another command, which takes it over into its own record.
 */
#ifndef CODE_EXECUTOR_RUNNER_RECORD_H
#define CODE_EXECUTOR_RUNNER_RECORD_H

#include "input.h"
#include "launch.h"
#include "supervisor.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct execution {
    struct execution *next;
    uint32_t number; /* 0 in BACKGROUND, RESTING and SPARE */
    enum phase { GATHERING, RUNNING, ORPHANED, DRAINING, BACKGROUND, RESTING, SPARE } phase;
    struct launched launched; /* supervisor 0: reaped; descriptors -1: closed */
    size_t to_drain[2];       /* bytes that were in the pipes when the command had ended */
    bool enlarged[2];         /* the pipes */
    struct input input;       /* GATHERING */
    uint64_t credit;
    bool cancelled;   /* by KILL or RESET */
    bool resetting;   /* RESET_DONE waits for its supervisor's end */
    uint64_t rested;  /* RESTING: when it shall get ready */
    uint64_t overdue; /* when its supervisor must have done what it has to */
    uint64_t latest;  /* the same, whatever comes meanwhile */
    bool
        own; /* it is the runner's own program (collect.h), of which something comes all the while */
    bool listens; /* RUNNING and own: what comes is taken */
    bool held_up; /* it had not, and was killed for it */
    bool starved; /* its streams did not come, and it was killed for that */
    uint64_t started;
    uint64_t memory_kills; /* when it started */
    struct supervisor_report report;
};

extern struct execution *executions; /* all of them */
extern uint32_t in_flight;           /* those with an EXIT to come */

/* NULL: there is none, no memory. A new one is in GATHERING. */
struct execution *find_execution(uint32_t number);
struct execution *add_execution(uint32_t number);

/* With all its descriptors. */
void free_execution(struct execution *execution);

/* Whether nothing runs under its supervisor. */
bool is_idle(const struct execution *execution);

/* Makes it -1. */
void close_descriptor(int *descriptor);

#endif /* CODE_EXECUTOR_RUNNER_RECORD_H */
