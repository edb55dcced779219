/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.c: see guard.h. Each measure stands beside the attack that it answers. All of them are best
 * effort: what the kernel or the container does not permit is left out, and the runner still works.
 */
#include "guard.h"
#include "inherited.h"
#include "system.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* The kernel ends what it prefers when memory runs out; smaller lives longer, -1000 to 1000. */
#define OUR_OOM_PREFERENCE (-900)
/* Where ours cannot be lowered, what is run is raised by this much. */
#define OOM_PREFERENCE_RAISE 50

/* Groups of nobody's. */
#define SOME_GROUP    65534u
#define ANOTHER_GROUP 65533u

static struct rlimit command_descriptors;
static bool descriptors_raised;
static char command_oom_preference[16]; /* "": left as it is */

static void reset_signals(void)
{
    /*
     * Default dispositions for all, once, so that what is forked and executed needs nothing undone. All
     * signals stay blocked: they are read from a signalfd or not at all. So SIGPIPE shows as EPIPE, and
     * code that sends us SIGTERM, SIGUSR1 … (it has the same user) does nothing but what we choose;
     * PID 1 of a container would not even get a signal that is neither blocked nor handled.
     */
    struct sigaction default_action;
    memset(&default_action, 0, sizeof default_action);
    default_action.sa_handler = SIG_DFL;
    for (int number = 1; number <= 64; number++)
        (void)sigaction(number, &default_action, NULL);
    sigset_t all;
    sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
}

static void raise_descriptor_limit(void)
{
    /* Each execution takes a few descriptors here; a command gets the limit that we were given. */
    if (getrlimit(RLIMIT_NOFILE, &command_descriptors) != 0)
        return;
    struct rlimit ours = command_descriptors;
    ours.rlim_cur = ours.rlim_max;
    descriptors_raised = setrlimit(RLIMIT_NOFILE, &ours) == 0;
}

static bool write_oom_preference(const char *text)
{
    int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    size_t length = strlen(text);
    bool written = write(file, text, length) == (ssize_t)length;
    close(file);
    return written;
}

static void lower_oom_preference(void)
{
    /* Code that eats all memory must lose its own process, not the one that reports it. */
    char text[16] = "";
    int file = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0)
        return;
    int original = atoi(text);
    snprintf(text, sizeof text, "%d", OUR_OOM_PREFERENCE);
    /* Another user than root could lower, but not give back: /proc/self is root's once we are not
     * dumpable. */
    if (original <= OUR_OOM_PREFERENCE || geteuid() != 0)
        return;
    int command = original;
    if (!write_oom_preference(text)) /* takes CAP_SYS_RESOURCE */
        command = original + OOM_PREFERENCE_RAISE < 1000 ? original + OOM_PREFERENCE_RAISE : 1000;
    snprintf(command_oom_preference, sizeof command_oom_preference, "%d", command);
}

/*
 * Attack: code with our user id takes our limits away. prlimit asks for a caller whose user and group are all
 * those that the process has, real, effective and saved (or for CAP_SYS_RESOURCE); so one of them is another
 * one. Nothing else goes by the saved group, and exec takes it back. Takes CAP_SETGID; inherited.h is for
 * those that lack it.
 */
static void differ_from_code(void)
{
    gid_t unlike = getgid() == SOME_GROUP ? ANOTHER_GROUP : SOME_GROUP;
    (void)syscall(SYS_setresgid, (gid_t)-1, (gid_t)-1, unlike);
}

void guard_runner(void)
{
    int keep[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
    guard_close_others(keep, 3);
    reset_signals();
    (void)setsid(); /* no terminal's Ctrl-C or hang-up is ours to die of */
    raise_descriptor_limit();
    inherited_note();
    differ_from_code();
    lower_oom_preference(); /* before the next: /proc/self belongs to root afterwards */
    /*
     * Attack: code with our user id opens /proc/PID/fd/1 and writes an EXIT frame of its own making, or
     * changes our memory through ptrace, /proc/PID/mem, process_vm_writev, pidfd_getfd. All of these
     * ask whether the process is dumpable; only CAP_SYS_PTRACE gets past it (see guard_supervisor).
     */
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    /* What a killed supervisor leaves behind falls to us, and is known to be ours to kill. */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

/* Removes CAP_SYS_PTRACE from every set. Afterwards no program, not even a set-user-id one, has it. */
static void drop_ptrace(void)
{
    int bounded = prctl(PR_CAPBSET_READ, CAPABILITY_SYS_PTRACE, 0, 0, 0);
    if (bounded == 1 && prctl(PR_CAPBSET_DROP, CAPABILITY_SYS_PTRACE, 0, 0, 0) != 0 &&
        geteuid() == 0) {
        /*
         * Without CAP_SETPCAP the bounding set stays, and root would get the capability back from exec.
         * With no_new_privs it does not. Other users keep their sudo: they gain nothing from exec.
         */
        (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    }
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_LOWER, CAPABILITY_SYS_PTRACE, 0, 0);
    struct capability_header header = {CAPABILITY_VERSION_3, 0};
    struct capability_sets sets[2];
    if (syscall(SYS_capget, &header, sets) != 0)
        return;
    uint32_t others = ~(1u << CAPABILITY_SYS_PTRACE);
    sets[0].effective &= others;
    sets[0].permitted &= others;
    sets[0].inheritable &= others;
    (void)syscall(SYS_capset, &header, sets);
}

void guard_supervisor(bool keep_ptrace)
{
    if (descriptors_raised && setrlimit(RLIMIT_NOFILE, &command_descriptors) == 0)
        inherited_expect_descriptors(&command_descriptors);
    if (!keep_ptrace)
        drop_ptrace();
}

void guard_command(void)
{
    if (command_oom_preference[0] != '\0')
        (void)write_oom_preference(command_oom_preference);
    sigset_t none;
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static void close_between(unsigned first, unsigned last)
{
    if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
        return;
    /* Kernels before 5.9. */
    struct rlimit limit;
    unsigned end = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max < 65536
                       ? (unsigned)limit.rlim_max
                       : 65536;
    for (unsigned descriptor = first; descriptor <= last && descriptor < end; descriptor++)
        close((int)descriptor);
}

static int compare_descriptors(const void *left, const void *right)
{
    return *(const int *)left - *(const int *)right;
}

void guard_close_others(int *keep, size_t count)
{
    qsort(keep, count, sizeof *keep, compare_descriptors);
    unsigned first = 0;
    for (size_t i = 0; i < count; i++) {
        if (keep[i] < 0)
            continue;
        if (keep[i] > 0)
            close_between(first, (unsigned)keep[i] - 1);
        first = (unsigned)keep[i] + 1;
    }
    close_between(first, ~0u);
}
