/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outcome.h: how an execution ended, as the host is told.
 */
#ifndef CODE_EXECUTOR_RUNNER_OUTCOME_H
#define CODE_EXECUTOR_RUNNER_OUTCOME_H

#include "supervisor.h"
#include <stdbool.h>
#include <stdint.h>

/* Sees the supervisor's report together with what the runner knows: whether the host has cancelled, and
 * the count of kills for want of memory when the execution began. */
void outcome_settle(struct supervisor_report *report, bool cancelled, uint64_t memory_kills);

/* Queues the EXIT of execution NUMBER. */
void outcome_send(uint32_t number, const struct supervisor_report *report);

#endif /* CODE_EXECUTOR_RUNNER_OUTCOME_H */
