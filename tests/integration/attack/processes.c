/* SPDX-License-Identifier: Apache-2.0 */
/* processes.c: other processes: their memory, descriptors, lives. See attack.h. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static long try_attach(char **arguments)
{
    return ptrace(PTRACE_ATTACH, (pid_t)number(arguments[0]), NULL, NULL);
}

static long try_seize(char **arguments)
{
    return ptrace(PTRACE_SEIZE, (pid_t)number(arguments[0]), NULL, NULL);
}

/* A request whose upper half is not zero, which a filter that compares too much lets through. */
static long try_wide_attach(char **arguments)
{
    return syscall(SYS_ptrace, (1L << 32) | PTRACE_ATTACH, number(arguments[0]), 0, 0);
}

static long try_read_memory(char **arguments)
{
    char byte;
    struct iovec here = {&byte, 1};
    struct iovec there = {(void *)0x400000, 1};
    return process_vm_readv((pid_t)number(arguments[0]), &here, 1, &there, 1, 0);
}

/* How many of the descriptors, and of the memory, of process ARGUMENT can be opened. */
static long try_open_descriptors(char **arguments)
{
    static const char *const others[] = {"mem", "environ", "maps", "auxv", "exe", "root", "cwd"};
    char path[64];
    int opened = 0;
    for (int i = 0; i < 256; i++) {
        snprintf(path, sizeof path, "/proc/%s/fd/%d", arguments[0], i);
        opened += open(path, O_WRONLY | O_NONBLOCK) >= 0;
        opened += open(path, O_RDONLY | O_NONBLOCK) >= 0;
        opened += open(path, O_PATH) >= 0;
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char byte;
        snprintf(path, sizeof path, "/proc/%s/%s", arguments[0], others[i]);
        int file = open(path, O_RDONLY | O_NONBLOCK);
        opened += file >= 0 && read(file, &byte, 1) >= 0;
    }
    if (opened)
        return opened;
    errno = EACCES;
    return -1;
}

static long try_steal_descriptor(char **arguments)
{
    long process = syscall(SYS_pidfd_open, number(arguments[0]), 0);
    return process < 0 ? -1 : syscall(SYS_pidfd_getfd, process, 1, 0);
}

static long try_kill(char **arguments)
{
    return kill((pid_t)number(arguments[0]), (int)number(arguments[1]));
}

/* Lives on under a name of its own, and does all it can to be forgotten. */
static long go_into_hiding(char **arguments)
{
    for (int i = 0; i < 2; i++) {
        if (fork() != 0)
            _exit(0);
        setsid();
    }
    for (int signal_number = 1; signal_number < 32; signal_number++)
        signal(signal_number, SIG_IGN);
    for (int file = 0; file < 64; file++)
        close(file);
    execl("/proc/self/exe", arguments[0], "sleep", NULL);
    _exit(1);
}

static long sleep_long(char **arguments)
{
    (void)arguments;
    for (int i = 0; i < 600; i++)
        sleep(1);
    return 0;
}

const struct attack attacks_on_processes[] = {
    {"attach", 1, try_attach},
    {"seize", 1, try_seize},
    {"wide-attach", 1, try_wide_attach},
    {"read-memory", 1, try_read_memory},
    {"open-descriptors", 1, try_open_descriptors},
    {"steal-descriptor", 1, try_steal_descriptor},
    {"kill", 2, try_kill},
    {"hide", 1, go_into_hiding},
    {"sleep", 0, sleep_long},
    {NULL, 0, NULL},
};
