/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.h: makes supervisors, with the pipes that join them to the runner.
 */
#ifndef CODE_EXECUTOR_RUNNER_LAUNCH_H
#define CODE_EXECUTOR_RUNNER_LAUNCH_H

#include "request.h"
#include <stdbool.h>
#include <sys/types.h>

/* A supervisor and the runner's ends of what leads to it and to its command. */
struct launched {
    pid_t supervisor;
    int channel;
    int outputs[2]; /* the command's stdout and stderr; reading never blocks */
};

/*
 * Forks a supervisor. SPAWN is what it shall run, or NULL: it waits for launch_order on its channel.
 * INPUT becomes the command's standard input, -1 means none; it is closed here. 0, or errno and nothing
 * is left.
 */
int launch_supervisor(int input, const struct spawn_request *spawn, bool keep_ptrace,
                      struct launched *launched);

/* Hands the SPAWN frame FRAME to a supervisor that waits for it. False: it cannot be had so. */
bool launch_order(const struct launched *launched, const unsigned char *frame, size_t length);

#endif /* CODE_EXECUTOR_RUNNER_LAUNCH_H */
