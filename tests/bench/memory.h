/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h: what a process has resident, in MiB; 0 where that cannot be told. */
#ifndef BENCH_MEMORY_H
#define BENCH_MEMORY_H

#include <sys/types.h>

/* Now, and at most since the last reset. */
double memory_resident(pid_t process);
double memory_peak(pid_t process);
void memory_reset_peak(pid_t process);

#endif /* BENCH_MEMORY_H */
