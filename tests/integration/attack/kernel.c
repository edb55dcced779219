/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.c: single system calls that change or read the kernel. See attack.h. */
#include "attack.h"

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long try_keyctl(char **arguments)
{
    (void)arguments;
    return syscall(SYS_keyctl, 0 /* get the id of */, -3 /* the session's key ring */, 0, 0, 0);
}

static long try_add_key(char **arguments)
{
    (void)arguments;
    return syscall(SYS_add_key, "user", "attack", "x", 1, -3);
}

static long try_request_key(char **arguments)
{
    (void)arguments;
    return syscall(SYS_request_key, "user", "attack", NULL, 0);
}

/* Looks for a key of the session from which the sandbox was started. */
static long try_find_key(char **arguments)
{
    return syscall(SYS_keyctl, 10 /* search */, -3 /* the session's key ring */, "user",
                   arguments[0], 0);
}

static long try_bpf(char **arguments)
{
    (void)arguments;
    uint32_t attributes[32] = {1 /* hash */, 4, 4, 1};
    return syscall(SYS_bpf, 0 /* make a map */, attributes, sizeof attributes);
}

static long try_perf(char **arguments)
{
    (void)arguments;
    uint32_t attributes[32] = {1 /* software */, sizeof attributes};
    return syscall(SYS_perf_event_open, attributes, 0, -1, -1, 0);
}

static long try_userfaultfd(char **arguments)
{
    (void)arguments;
    return syscall(SYS_userfaultfd, 1 /* user mode only */);
}

static long try_io_uring(char **arguments)
{
    (void)arguments;
    uint64_t parameters[32] = {0};
    return syscall(SYS_io_uring_setup, 1, parameters);
}

static long try_init_module(char **arguments)
{
    (void)arguments;
    return syscall(SYS_init_module, "x", 1, "");
}

static long try_finit_module(char **arguments)
{
    (void)arguments;
    return syscall(SYS_finit_module, 0, "", 0);
}

static long try_delete_module(char **arguments)
{
    (void)arguments;
    return syscall(SYS_delete_module, "there is none of this name", 0);
}

static long try_kexec(char **arguments)
{
    (void)arguments;
    return syscall(SYS_kexec_load, 0, 0, NULL, 0);
}

static long try_syslog(char **arguments)
{
    (void)arguments;
    char text[64];
    return syscall(SYS_syslog, 3 /* read all */, text, sizeof text);
}

static long try_clock(char **arguments)
{
    (void)arguments;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return clock_settime(CLOCK_REALTIME, &now);
}

static long try_hostname(char **arguments)
{
    (void)arguments;
    return sethostname("attack", 6);
}

/* A system call younger than the filter. */
static long try_call(char **arguments)
{
    return syscall(number(arguments[0]), 0, 0, 0, 0, 0, 0);
}

#ifdef __x86_64__
/* getpid, by the numbers of a 32-bit program. */
static long try_i386(char **arguments)
{
    (void)arguments;
    long result = 20;
    __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
    if (result > 0)
        return result;
    errno = (int)-result;
    return -1;
}

/* getpid, by the numbers of x32. */
static long try_x32(char **arguments)
{
    (void)arguments;
    return syscall(0x40000000L + SYS_getpid);
}
#endif

const struct attack attacks_on_the_kernel[] = {
    {"keyctl", 0, try_keyctl},
    {"add-key", 0, try_add_key},
    {"request-key", 0, try_request_key},
    {"find-key", 1, try_find_key},
    {"bpf", 0, try_bpf},
    {"perf", 0, try_perf},
    {"userfaultfd", 0, try_userfaultfd},
    {"io-uring", 0, try_io_uring},
    {"init-module", 0, try_init_module},
    {"finit-module", 0, try_finit_module},
    {"delete-module", 0, try_delete_module},
    {"kexec", 0, try_kexec},
    {"syslog", 0, try_syslog},
    {"clock", 0, try_clock},
    {"hostname", 0, try_hostname},
    {"call", 1, try_call},
#ifdef __x86_64__
    {"i386", 0, try_i386},
    {"x32", 0, try_x32},
#endif
    {NULL, 0, NULL},
};
