/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.h: makes supervisors, and hands them commands.
 */
#ifndef CODE_EXECUTOR_RUNNER_LAUNCH_H
#define CODE_EXECUTOR_RUNNER_LAUNCH_H

#include "request.h"
#include <stdbool.h>
#include <sys/types.h>

/* A supervisor and the runner's ends of what leads to it and to its command. */
struct launched {
    pid_t supervisor; /* 0: reaped */
    int channel;
    int outputs[2]; /* the command's stdout and stderr; reading never blocks */
};

#define LAUNCHED_NONE ((struct launched){0, -1, {-1, -1}})

/* Once, before anything is started. */
void launch_open(void);

/*
 * Forks a supervisor. SPAWN is what it shall run first, with the standard input INPUT (-1: none), which
 * stays the caller's; or NULL: it waits for launch_order. It will say that it is ready. 0, or errno.
 */
int launch_supervisor(int input, const struct spawn_request *spawn, bool keep_ptrace,
                      struct launched *launched);

/* Hands the SPAWN frame FRAME to a supervisor that waits, or soon will. False: it cannot be had so. */
bool launch_order(const struct launched *launched, const unsigned char *frame, size_t length,
                  int input);

#endif /* CODE_EXECUTOR_RUNNER_LAUNCH_H */
