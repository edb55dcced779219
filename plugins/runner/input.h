/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input.h: the bytes that a command finds on its standard input, kept until it starts.
 */
#ifndef CODE_EXECUTOR_RUNNER_INPUT_H
#define CODE_EXECUTOR_RUNNER_INPUT_H

#include <stdbool.h>
#include <stddef.h>

struct input {
    int descriptor; /* -1: nothing has come */
    size_t length;
    int error; /* errno, when the bytes could not be kept */
};

#define INPUT_NONE ((struct input){-1, 0, 0})

/* False: more than INPUT_MAX. A failure to keep the bytes shows in input_take. */
bool input_append(struct input *input, const unsigned char *bytes, size_t length);

/* The descriptor to read them from, or -1 where there are none; it is the caller's. *ERROR is 0, or errno
 * where they could not be kept. */
int input_take(struct input *input, int *error);

#endif /* CODE_EXECUTOR_RUNNER_INPUT_H */
