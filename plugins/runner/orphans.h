/* SPDX-License-Identifier: Apache-2.0 */
/*
 * orphans.h: what a killed supervisor has left to the runner, and its end.
 */
#ifndef CODE_EXECUTOR_RUNNER_ORPHANS_H
#define CODE_EXECUTOR_RUNNER_ORPHANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* There may be orphans: the next passes kill them. */
void orphans_kill(void);

/* Whether what waits for their end must wait on; it need not for ever. */
bool orphans_hold_up(void);

/* The moment of the next pass; NEVER where none is due. */
uint64_t orphans_deadline(void);

/* A pass, where one is due, over all children of the runner but the COUNT ones of SUPERVISORS and what
 * descends from them. CHILDLESS: the runner has no child at all. */
void orphans_advance(const pid_t *supervisors, size_t count, bool childless);

#endif /* CODE_EXECUTOR_RUNNER_ORPHANS_H */
