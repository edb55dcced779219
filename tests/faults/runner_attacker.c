/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runner_attacker.c: what hostile code tries. Run as a command of a runner; not a test itself.
 *
 *     runner_attacker ATTACK runner|supervisor|PID
 *
 * The first two are found as the parent's parent and the parent.
 *
 * Exit status: 0 the attack came through, 1 it was turned down, 2 it could not be tried.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define CAPABILITY_SYS_PTRACE 19

static int parent_of(pid_t pid)
{
    char path[64];
    char text[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        exit(2);
    (void)!fread(text, 1, sizeof text - 1, file);
    fclose(file);
    const char *end = strrchr(text, ')');
    return end ? atoi(end + 4) : 0;
}

/* /proc/PID/fd/N opened for writing, as code would to put a frame into the runner's stdout. */
static int open_descriptors(pid_t victim)
{
    int came_through = 1;
    for (int i = 0; i < 64; i++) {
        char path[64];
        char target[256];
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)victim, i);
        if (open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC) >= 0 ||
            open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) >= 0 ||
            readlink(path, target, sizeof target) > 0)
            came_through = 0;
    }
    return came_through;
}

static int open_memory(pid_t victim)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)victim);
    return open(path, O_RDWR | O_CLOEXEC) < 0;
}

static int attach(pid_t victim)
{
    if (ptrace(PTRACE_ATTACH, victim, NULL, NULL) != 0)
        return 1;
    waitpid(victim, NULL, __WALL);
    ptrace(PTRACE_DETACH, victim, NULL, NULL);
    return 0;
}

static int seize(pid_t victim)
{
    if (ptrace(PTRACE_SEIZE, victim, NULL, NULL) != 0)
        return 1;
    ptrace(PTRACE_DETACH, victim, NULL, NULL);
    return 0;
}

static int take_descriptor(pid_t victim)
{
    int process = (int)syscall(SYS_pidfd_open, victim, 0);
    if (process < 0)
        return 2;
    for (int i = 0; i < 64; i++)
        if (syscall(SYS_pidfd_getfd, process, i, 0) >= 0)
            return 0;
    return 1;
}

static int read_memory(pid_t victim)
{
    char byte;
    struct iovec here = {&byte, 1};
    struct iovec there = {(void *)0x400000, 1};
    return process_vm_readv(victim, &here, 1, &there, 1, 0) < 0 && errno == EPERM;
}

/* In a user namespace of its own, code has all capabilities, but only there. */
static int from_user_namespace(pid_t victim)
{
    if (unshare(CLONE_NEWUSER) != 0)
        return 2;
    return open_descriptors(victim) && attach(victim);
}

/* The capability must not come back from anywhere. */
static int regain_capability(pid_t victim)
{
    (void)victim;
    return prctl(PR_CAPBSET_READ, CAPABILITY_SYS_PTRACE, 0, 0, 0) != 1;
}

/* Without descriptors, what watches over the code could not read /proc any more. */
static int take_limits(pid_t victim)
{
    struct rlimit none = {0, 0};
    return prlimit(victim, RLIMIT_NOFILE, &none, NULL) != 0;
}

/* Doubles as fast as it can, each process in a session of its own. */
static int fork_without_end(pid_t victim)
{
    (void)victim;
    signal(SIGTERM, SIG_IGN);
    while (fork() != 1) /* which it never is */
        (void)setsid();
    return 0;
}

/* Never stays the same process for long; ten of them. */
static int run_away(pid_t victim)
{
    (void)victim;
    signal(SIGTERM, SIG_IGN);
    for (int i = 0; i < 10; i++)
        if (fork() == 0)
            break;
    while (fork() <= 0)
        (void)setsid();
    return 0;
}

static const struct {
    const char *name;
    int (*try)(pid_t victim);
} attacks[] = {
    {"open-descriptors", open_descriptors},
    {"open-memory", open_memory},
    {"attach", attach},
    {"seize", seize},
    {"take-descriptor", take_descriptor},
    {"read-memory", read_memory},
    {"from-user-namespace", from_user_namespace},
    {"regain-capability", regain_capability},
    {"take-limits", take_limits},
    {"fork-without-end", fork_without_end},
    {"run-away", run_away},
};

int main(int count, char **arguments)
{
    if (count != 3)
        return 2;
    pid_t victim = getppid();
    if (strcmp(arguments[2], "runner") == 0)
        victim = parent_of(victim);
    else if (atoi(arguments[2]) > 0)
        victim = atoi(arguments[2]);
    for (size_t i = 0; i < sizeof attacks / sizeof attacks[0]; i++)
        if (strcmp(arguments[1], attacks[i].name) == 0)
            return attacks[i].try(victim);
    return 2;
}
