/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.h: the time by which deadlines count; it never jumps.
 */
#ifndef CODE_EXECUTOR_CLOCK_H
#define CODE_EXECUTOR_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

#endif /* CODE_EXECUTOR_CLOCK_H */
