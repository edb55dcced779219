/* SPDX-License-Identifier: Apache-2.0 */
/*
 * execution.h: what runs, as the runner sees it: one record for each supervisor.
 *
 * The main loop asks which descriptors to watch and until when, hands back what poll said, and lets every
 * record take its next step.
 */
#ifndef CODE_EXECUTOR_RUNNER_EXECUTION_H
#define CODE_EXECUTOR_RUNNER_EXECUTION_H

#include "request.h"
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From HELLO: whether commands keep CAP_SYS_PTRACE. */
void executions_configure(bool keep_ptrace);

/* Requests. NULL, or why the request is out of place. */
const char *execution_input(uint32_t number, const unsigned char *bytes, size_t length);
const char *execution_spawn(const struct request *request);
void execution_credit(uint32_t number, uint32_t count);
void execution_kill(uint32_t number, uint32_t signal, uint32_t grace_ms);
void executions_reset(void);

/*
 * Descriptors for poll: how many at most, and which; fills DESCRIPTORS and returns the count. Afterwards
 * executions_polled takes the same ones with their results.
 */
size_t executions_descriptors_max(void);
size_t executions_watch(struct pollfd *descriptors);
void executions_polled(const struct pollfd *descriptors);

/* The moment at which executions_advance has something to do without news; NEVER where none. */
uint64_t executions_deadline(void);

/* After SIGCHLD: takes note of what ended, supervisors and orphans. False: call it again soon. */
bool executions_reap(void);

/* When there is nothing else to do: gets ready for the next SPAWN. */
void executions_prepare(void);

/* Lets everything take its next step: drain pipes, send EXIT and RESET_DONE, kill orphans. */
void executions_advance(void);

/* Closes the channels, so that every supervisor kills its tree and exits. Gone, once all have. */
void executions_shut_down(void);
bool executions_gone(void);

#endif /* CODE_EXECUTOR_RUNNER_EXECUTION_H */
