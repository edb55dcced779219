/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.h: what keeps the code that is run away from the runner, and the runner alive.
 */
#ifndef CODE_EXECUTOR_RUNNER_GUARD_H
#define CODE_EXECUTOR_RUNNER_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/* Once, first of all, in the runner; what is forked from it inherits all of it. */
void guard_runner(void);

/*
 * In a supervisor, before it starts anything: what a command inherits from it. Takes the means to look
 * into the runner, unless KEEP_PTRACE, and gives back the limits that guard_runner raised.
 */
void guard_supervisor(bool keep_ptrace);

/* In the process that is about to become a command: gives back what only that process may have again,
 * the signal mask and the kernel's preference. */
void guard_command(void);

/* Closes every descriptor but the COUNT ones of KEEP, which is sorted by this. */
void guard_close_others(int *keep, size_t count);

#endif /* CODE_EXECUTOR_RUNNER_GUARD_H */
