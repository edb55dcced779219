/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_memory.h: memory that ends when a test wants it to.
 *
 * The sources of the host library are built once more with their allocations by these functions (see
 * host.cmake), and every chunk of an arena holds a single block, so that each allocation can fail.
 */
#ifndef CODE_EXECUTOR_TEST_HOST_MEMORY_H
#define CODE_EXECUTOR_TEST_HOST_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Lets COUNT allocations succeed, then fails all others, or with ONLY_ONE just the next. */
void host_memory_end_after(size_t count, bool only_one);

/* Everything succeeds again. Returns whether an allocation failed meanwhile. */
bool host_memory_restore(void);

#endif /* CODE_EXECUTOR_TEST_HOST_MEMORY_H */
