/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sweep.h: clears away what hosts left behind that died.
 *
 * A container whose host dies sees end-of-file and is gone in a moment. Two kinds cannot see it: one
 * that was created and never started, and one that was paused when the host died. Every start asks once
 * for these among the containers of this machine's boot and this pid namespace (of others nothing can
 * be said), while the engine is busy with the start itself; removes the former, and wakes the latter so
 * that they end as they would have.
 */
#ifndef CODE_EXECUTOR_DOCKER_SWEEP_H
#define CODE_EXECUTOR_DOCKER_SWEEP_H

#include "engine.h"

/* Asks. NULL where it cannot be asked: then there is nothing to sweep. */
http_transfer *sweep_begin(struct engine *engine);

/* Waits for the answer and acts on it; SWEEP may be NULL and is freed. Returns how many were removed. Its
 * own failures harm nobody and are left to the next start. */
size_t sweep_finish(struct engine *engine, http_transfer *sweep);

/* Removes what LAUNCH_ID made, whatever it is: for a start of which it is not known how far it came. */
void sweep_launch(struct engine *engine, const char *launch_id);

#endif /* CODE_EXECUTOR_DOCKER_SWEEP_H */
