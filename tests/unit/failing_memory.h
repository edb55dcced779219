/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failing_memory.h: allocations that fail where a test says. A program that links failing_memory.c with
 * its `--wrap` options sees the allocations of our own code, not those of libraries.
 */
#ifndef FAILING_MEMORY_H
#define FAILING_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* After COUNT allocations more every one fails (ONCE: only the next), until failing_memory_stop. */
void failing_memory_start(size_t count, bool once);

/* Whether any has failed since the start. */
bool failing_memory_stop(void);

#endif /* FAILING_MEMORY_H */
