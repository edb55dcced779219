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
 * In the process that is about to become a command: gives back what guard_runner took (signal mask,
 * limits, the kernel's preference), and takes the means to look into the runner.
 */
void guard_command(bool keep_ptrace);

/* Closes every descriptor but the COUNT ones of KEEP, which is sorted by this. */
void guard_close_others(int *keep, size_t count);

#endif /* CODE_EXECUTOR_RUNNER_GUARD_H */
