/* SPDX-License-Identifier: Apache-2.0 */
/*
 * system.h: what the runner needs of Linux that the C library at hand may not name.
 *
 * The runner is built with musl where it is found, and musl ships none of the linux/ headers; so the
 * few numbers are here. They are part of the kernel's ABI and the same on every architecture.
 */
#ifndef CODE_EXECUTOR_RUNNER_SYSTEM_H
#define CODE_EXECUTOR_RUNNER_SYSTEM_H

#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif

/* linux/openat2.h */
struct open_how_v0 {
    uint64_t flags;
    uint64_t mode;
    uint64_t resolve;
};
#define OPENAT2_NO_XDEV       0x01u
#define OPENAT2_NO_MAGICLINKS 0x02u
#define OPENAT2_NO_SYMLINKS   0x04u
#define OPENAT2_BENEATH       0x08u

/* linux/capability.h */
struct capability_header {
    uint32_t version;
    int32_t pid;
};
struct capability_sets {
    uint32_t effective;
    uint32_t permitted;
    uint32_t inheritable;
};
#define CAPABILITY_VERSION_3  0x20080522u
#define CAPABILITY_SYS_PTRACE 19u

#define NANOSECONDS_PER_SECOND      1000000000ull
#define NANOSECONDS_PER_MILLISECOND 1000000ull

/* Time since some fixed moment, never set back. */
static inline uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NANOSECONDS_PER_SECOND + (uint64_t)now.tv_nsec;
}

/* A moment that never comes. */
#define NEVER UINT64_MAX

/* The timeout for poll that ends at the moment DEADLINE; rounded up, or poll would spin before it. */
static inline int poll_timeout(uint64_t deadline)
{
    if (deadline == NEVER)
        return -1;
    uint64_t now = now_ns();
    if (deadline <= now)
        return 0;
    uint64_t left =
        (deadline - now + NANOSECONDS_PER_MILLISECOND - 1) / NANOSECONDS_PER_MILLISECOND;
    return left > 3600u * 1000u ? 3600 * 1000 : (int)left;
}

/* The moment MILLISECONDS after now. */
static inline uint64_t moment_after(uint64_t milliseconds)
{
    return now_ns() + milliseconds * NANOSECONDS_PER_MILLISECOND;
}

#endif /* CODE_EXECUTOR_RUNNER_SYSTEM_H */
