/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.h: messages between the runner and a supervisor (supervisor.h), which may carry descriptors.
 */
#ifndef CODE_EXECUTOR_RUNNER_CHANNEL_H
#define CODE_EXECUTOR_RUNNER_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Descriptors that one message carries at most. */
#define CHANNEL_DESCRIPTORS_MAX 2

/* Sends one message with copies of COUNT descriptors, without waiting. */
bool channel_send(int channel, const void *message, size_t length, const int *descriptors,
                  size_t count);

/*
 * As recv with FLAGS. What came of COUNT descriptors is in DESCRIPTORS, close-on-exec and the caller's;
 * -1 where none came.
 */
ssize_t channel_receive(int channel, void *message, size_t size, int flags, int *descriptors,
                        size_t count);

#endif /* CODE_EXECUTOR_RUNNER_CHANNEL_H */
