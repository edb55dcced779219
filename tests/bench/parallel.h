/* SPDX-License-Identifier: Apache-2.0 */
/* parallel.h: the same at once on several threads. */
#ifndef BENCH_PARALLEL_H
#define BENCH_PARALLEL_H

#include <stdbool.h>
#include <stdint.h>

enum { PARALLEL_MOST = 256 };

/* Has WORK done for each index below COUNT, each on a thread of its own. Returns how long all took in
 * nanoseconds, or -1 where one failed. */
int64_t parallel_ns(int count, bool (*work)(void *context, int index), void *context);

#endif /* BENCH_PARALLEL_H */
