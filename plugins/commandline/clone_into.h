/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clone_into.h: a process that is born into a cgroup of version 2, for helper_process.c.
 *
 * A process that is moved into a cgroup waits until no processor is in the middle of a fork, five to ten
 * milliseconds; one that is born there (CLONE_INTO_CGROUP, Linux 5.7) does not. libc has no function for
 * that yet: clone has no room for the flag, and clone3 with a stack of its own needs a few
 * instructions of the machine's.
 */
#ifndef CODE_EXECUTOR_CLONE_INTO_H
#define CODE_EXECUTOR_CLONE_INTO_H

#include <stddef.h>

/*
 * Runs FUNCTION in a new process on STACK, in the cgroup whose folder is the descriptor GROUP, with the memory of
 * its maker, who is held up until it has ended or become another program (CLONE_VM, CLONE_VFORK). It raises no
 * signal when it ends. Returns its number and sets *PIDFD; or -1 with errno: ENOSYS where the kernel
 * or this code does not know how.
 */
int clone_into_cgroup(int (*function)(void *), unsigned char *stack, size_t stack_size,
                      void *argument, int group, int *pidfd);

#endif /* CODE_EXECUTOR_CLONE_INTO_H */
