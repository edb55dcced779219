/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clone_into.c: see clone_into.h.
 *
 * Invariant: between the birth of the process and the call of its function nothing touches the stack, which is
 * its maker's until the instruction that changes it; hence no C there.
 */
#include "clone_into.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#if (defined(__x86_64__) && defined(__LP64__)) || defined(__aarch64__)

#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#define INTO_CGROUP UINT64_C(0x200000000)

/* The kernel's struct clone_args, as of Linux 5.7. */
struct request {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
    uint64_t set_tid, set_tid_size, group;
};

/* The function and its argument wait in registers that a system call leaves alone. */
static long clone3_and_call(const struct request *request, int (*function)(void *), void *argument)
{
#ifdef __x86_64__
    long result = SYS_clone3;
    register int (*called)(void *) __asm__("r8") = function;
    register void *given __asm__("r9") = argument;
    __asm__ volatile("syscall\n\t"
                     "testq %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xorl %%ebp, %%ebp\n\t"
                     "movq %%r9, %%rdi\n\t"
                     "call *%%r8\n\t"
                     "movl %%eax, %%edi\n\t"
                     "movl %[exit], %%eax\n\t"
                     "syscall\n"
                     "1:"
                     : "+a"(result)
                     : "D"(request), "S"(sizeof *request), "r"(called),
                       "r"(given), [exit] "i"(SYS_exit)
                     : "rcx", "r11", "cc", "memory");
    return result;
#else
    register long number __asm__("x8") = SYS_clone3;
    register long result __asm__("x0") = (long)request;
    register size_t size __asm__("x1") = sizeof *request;
    register int (*called)(void *) __asm__("x2") = function;
    register void *given __asm__("x3") = argument;
    __asm__ volatile("svc #0\n\t"
                     "cbnz x0, 1f\n\t"
                     "mov x29, #0\n\t"
                     "mov x0, x3\n\t"
                     "blr x2\n\t"
                     "mov x8, %[exit]\n\t"
                     "svc #0\n"
                     "1:"
                     : "+r"(result)
                     : "r"(number), "r"(size), "r"(called), "r"(given), [exit] "i"(SYS_exit)
                     : "cc", "memory");
    return result;
#endif
}

__attribute__((no_sanitize("address", "thread", "undefined"))) int
clone_into_cgroup(int (*function)(void *), unsigned char *stack, size_t stack_size, void *argument,
                  int group, int *pidfd)
{
    const struct request request = {
        .flags = INTO_CGROUP | CLONE_VM | CLONE_VFORK | CLONE_PIDFD,
        .pidfd = (uint64_t)(uintptr_t)pidfd,
        .stack = (uint64_t)(uintptr_t)stack,
        .stack_size = stack_size,
        .group = (uint64_t)group,
    };
    long result = clone3_and_call(&request, function, argument);
    if (result >= 0)
        return (int)result;
    errno = (int)-result;
    return -1;
}

#else

int clone_into_cgroup(int (*function)(void *), unsigned char *stack, size_t stack_size,
                      void *argument, int group, int *pidfd)
{
    (void)function;
    (void)stack;
    (void)stack_size;
    (void)argument;
    (void)group;
    (void)pidfd;
    errno = ENOSYS;
    return -1;
}

#endif
