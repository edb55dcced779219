/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_events.h: how often the kernel has killed a process of ours for want of memory.
 *
 * An engine does not tell: Docker says OOMKilled=false for a child of the container's first process.
 * The cgroup's own counter does, and it can be read inside.
 */
#ifndef CODE_EXECUTOR_RUNNER_MEMORY_EVENTS_H
#define CODE_EXECUTOR_RUNNER_MEMORY_EVENTS_H

#include <stdint.h>

/* Finds the counters that there are, once. */
void memory_events_open(void);

/* Kills so far, a number that only grows; 0 where nothing counts them. */
uint64_t memory_events_kills(void);

#endif /* CODE_EXECUTOR_RUNNER_MEMORY_EVENTS_H */
