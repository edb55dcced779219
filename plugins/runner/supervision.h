/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervision.h: the runner's dealings with its supervisors: what it has them do, what they say, how they
 * end, and the few that wait for commands to come.
 */
#ifndef CODE_EXECUTOR_RUNNER_SUPERVISION_H
#define CODE_EXECUTOR_RUNNER_SUPERVISION_H

#include "record.h"
#include "request.h"

/* From HELLO: whether commands keep CAP_SYS_PTRACE. */
void supervision_configure(bool keep_ptrace);

/* Has a supervisor run REQUEST with the standard input INPUT (-1: none), which stays the caller's. 0, or
 * errno. */
int supervision_start(struct execution *execution, const struct request *request, int input);

void supervision_order(const struct execution *execution, struct supervisor_order order);

/* After its EXIT: leaves it to its background, or keeps it. May free the record. */
void supervision_release(struct execution *execution);

/* Makes one ready for the next SPAWN, where none is. */
void supervision_prepare(void);
/* For the end: no more of that. */
void supervision_stop_preparing(void);

/* Takes what EXECUTION's supervisor says. False: nothing. */
bool supervision_take(struct execution *execution);

/* After SIGCHLD: takes note of what ended, supervisors and orphans. False: call it again soon. */
bool supervision_reap(void);

/* The moment at which supervision_advance has something to do with EXECUTION; NEVER where none. */
uint64_t supervision_deadline(const struct execution *execution);
void supervision_advance(struct execution *execution);

/* Kills what killed supervisors have left, where there is such. */
void supervision_advance_orphans(void);

#endif /* CODE_EXECUTOR_RUNNER_SUPERVISION_H */
