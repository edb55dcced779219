/* SPDX-License-Identifier: Apache-2.0 */
/*
 * router_executor.h: an executor within the test, which does what a block's code says and remembers
 * what it was asked.
 *
 *     exit N       ends with this exit code             die          status LOST, the block failed
 *     wait         until it is cancelled                unavailable  status UNAVAILABLE, no result
 *     save         outcome saved, a code file           silent       status OK, no result
 *     (other)      prints its instance's name, the block's language and code; exit 0
 */
#ifndef CODE_EXECUTOR_TEST_ROUTER_EXECUTOR_H
#define CODE_EXECUTOR_TEST_ROUTER_EXECUTOR_H

#include <code_executor.h>
#include <stdatomic.h>

struct code_executor_instance {
    const char *name;
    atomic_size_t calls;   /* of execute */
    atomic_size_t live;    /* results that were not freed */
    atomic_size_t cancels; /* that found something */
    atomic_size_t refused_cancels;
    /* Milliseconds between the call of execute and the moment where cancel finds it, and from there to
     * the first callback. */
    unsigned deaf_for;
    unsigned starts_for;
    /* As the last execute had them: */
    atomic_uint_least64_t execution_id;
    _Atomic double timeout;
    atomic_size_t block_count;
    /* In flight, the id or 0; cancelled[i] is set by cancel. */
    atomic_uint_least64_t in_flight[8];
    atomic_bool cancelled[8];
};

extern const code_executor_v1 router_executor;

#endif /* CODE_EXECUTOR_TEST_ROUTER_EXECUTOR_H */
