/* SPDX-License-Identifier: Apache-2.0 */
/* spawn.h: the least that running a command can cost: posix_spawn, read what it prints, wait for it. */
#ifndef BENCH_SPAWN_H
#define BENCH_SPAWN_H

#include <stdint.h>

/* Nanoseconds of the monotonic clock. */
int64_t now_ns(void);

/*
 * Runs COUNT processes of ARGV at once, with /dev/null as their standard input, and reads their
 * standard output to its end. Returns how long all took in nanoseconds, or -1 where one could not be
 * started or failed.
 */
int64_t spawn_ns(char *const argv[], int count);

/* The same, and what the processes took of memory together at most, in MiB. */
int64_t spawn_and_weigh_ns(char *const argv[], int count, double *memory);

#endif /* BENCH_SPAWN_H */
