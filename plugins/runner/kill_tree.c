/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kill_tree.c: see kill_tree.h.
 *
 * Attack: code that forks faster than it is killed, each process starting a session of its own. So
 * first everything is stopped, and only when a whole pass has met nothing new is it killed: a stopped
 * process does not fork. A pass stops each process as soon as it is seen, in the order of /proc, which
 * is ascending; children mostly have larger numbers, so one pass chases a fork bomb down. With a process
 * its whole group is stopped, in one call, for a bomb of thousands leaves us little time on the processor;
 * a group never reaches beyond its session, and every session of a descendant was begun by one. Where a
 * pass does not come to an end all the same, what has been stopped is killed, and it begins anew with less.
 *
 * Attack: a process whose first thread has ended shows as a zombie while others go on. So zombies are
 * signalled as well.
 *
 * Attack: code with our user id takes away our descriptors (prlimit), so that /proc cannot be read. Then,
 * and where there is no /proc of our own pid namespace, our children are found by asking the kernel for
 * each number whether it is one; theirs become ours when they die.
 *
 * A number is reused only after its process was reaped, so it is only for the moment between looking
 * and signalling that another process could get it; and only one that the code could signal itself.
 */
#include "kill_tree.h"
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Passes that may each meet something new before what was met is killed. */
#define PASSES_MAX 8
/* Above all numbers that processes have; on any Linux, until tree_prepare knows better. */
static pid_t pid_limit = 4 * 1024 * 1024;

struct process {
    pid_t pid;
    pid_t parent;
    pid_t group;
    enum { UNKNOWN, OURS, FOREIGN } kin;
    char state;
};

/* What one sweep over /proc has seen, sorted by pid. */
struct sweep {
    struct process *processes;
    size_t count;
    size_t capacity;
    pid_t root;
    const pid_t *except;
    size_t except_count;
    bool childless; /* nothing seen was a child of the root, not even an excepted one */
    bool torn;      /* a parent had vanished when its child was seen: whose it is is not known */
    void (*meet)(const struct process *process, void *context);
    void *context;
};

void tree_prepare(void)
{
    char text[16] = "";
    int file = open("/proc/sys/kernel/pid_max", O_RDONLY | O_CLOEXEC);
    if (file >= 0 && read(file, text, sizeof text - 1) > 0 && atoi(text) > 0)
        pid_limit = atoi(text) + 1;
    if (file >= 0)
        close(file);
}

static int compare_processes(const void *left, const void *right)
{
    const struct process *a = left;
    const struct process *b = right;
    return (a->pid > b->pid) - (a->pid < b->pid);
}

static struct process *find_process(const struct sweep *sweep, pid_t pid)
{
    struct process key = {.pid = pid};
    if (sweep->count == 0)
        return NULL;
    return bsearch(&key, sweep->processes, sweep->count, sizeof key, compare_processes);
}

static bool excepted(const struct sweep *sweep, pid_t pid)
{
    for (size_t i = 0; i < sweep->except_count; i++)
        if (sweep->except[i] == pid)
            return true;
    return false;
}

/* "pid (name) state parent group …"; a name may hold anything, so its end is the last parenthesis. */
static bool read_process(int proc, const char *name, struct process *process)
{
    char path[32];
    char text[512];
    snprintf(path, sizeof path, "%.16s/stat", name);
    int file = openat(proc, path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0)
        return false;
    text[length] = '\0';
    const char *end = strrchr(text, ')');
    if (!end || strlen(end) < 5)
        return false;
    process->pid = atoi(name);
    process->state = end[2];
    char *rest = NULL;
    process->parent = (pid_t)strtol(end + 4, &rest, 10);
    process->group = (pid_t)strtol(rest, NULL, 10);
    process->kin = UNKNOWN;
    return true;
}

/* Says whose PROCESS is, as far as its parent is known by now. */
static void judge(struct sweep *sweep, struct process *process)
{
    if (process->parent == sweep->root)
        sweep->childless = false;
    if (process->pid == sweep->root || excepted(sweep, process->pid) || process->parent == 0) {
        process->kin = FOREIGN;
    } else if (process->parent == sweep->root) {
        process->kin = OURS;
    } else {
        const struct process *parent = find_process(sweep, process->parent);
        if (parent)
            process->kin = parent->kin;
    }
    if (process->kin == OURS)
        sweep->meet(process, sweep->context);
}

static bool add_process(struct sweep *sweep, const struct process *process)
{
    if (sweep->count == sweep->capacity) {
        size_t capacity = sweep->capacity ? 2 * sweep->capacity : 256;
        struct process *processes = realloc(sweep->processes, capacity * sizeof *sweep->processes);
        if (!processes)
            return false;
        sweep->processes = processes;
        sweep->capacity = capacity;
    }
    sweep->processes[sweep->count++] = *process;
    return true;
}

/* Those whose parent came later in the sweep (the numbers have wrapped around). */
static void judge_the_rest(struct sweep *sweep)
{
    if (sweep->count > 0)
        qsort(sweep->processes, sweep->count, sizeof *sweep->processes, compare_processes);
    bool learned = true;
    while (learned) {
        learned = false;
        for (size_t i = 0; i < sweep->count; i++) {
            struct process *process = &sweep->processes[i];
            if (process->kin != UNKNOWN)
                continue;
            judge(sweep, process);
            learned = learned || process->kin != UNKNOWN;
        }
    }
    for (size_t i = 0; i < sweep->count; i++)
        if (sweep->processes[i].kin == UNKNOWN)
            sweep->torn = true;
}

/* The folder of /proc, if it is that of our own pid namespace; else the numbers would mean others. */
static DIR *open_proc(void)
{
    char self[32];
    ssize_t length = readlink("/proc/self", self, sizeof self - 1);
    if (length <= 0)
        return NULL;
    self[length] = '\0';
    return atoi(self) == getpid() ? opendir("/proc") : NULL;
}

/* Meets every descendant once. False: /proc cannot be read. */
static bool sweep_proc(struct sweep *sweep)
{
    DIR *proc = open_proc();
    if (!proc)
        return false;
    bool complete = true;
    for (struct dirent *entry = readdir(proc); entry && complete; entry = readdir(proc)) {
        struct process process;
        if (!isdigit((unsigned char)entry->d_name[0]) ||
            !read_process(dirfd(proc), entry->d_name, &process))
            continue;
        judge(sweep, &process);
        complete = add_process(sweep, &process);
    }
    closedir(proc);
    judge_the_rest(sweep);
    return complete;
}

/*
 * Signals our children, and only them, without /proc; how many there were. Most systems give out small
 * numbers, so all of them are asked only where the small ones were nobody's.
 */
static size_t signal_children(const struct sweep *sweep, int signal)
{
    static pid_t bound = 64 * 1024;
    size_t count = 0;
    size_t children = 0;
    for (pid_t pid = 2; pid < bound && pid < pid_limit; pid++) {
        siginfo_t information;
        if (waitid(P_PID, (id_t)pid, &information, WEXITED | WNOHANG | WNOWAIT) != 0)
            continue;
        children++;
        if (excepted(sweep, pid))
            continue;
        kill(pid, signal);
        count++;
    }
    if (children == 0)
        bound = pid_limit;
    return count;
}

static void meet_signal(const struct process *process, void *context)
{
    const int *signal = context;
    kill(process->pid, *signal);
    if (process->state == 'T')
        kill(process->pid, SIGCONT);
}

void tree_signal(int signal)
{
    struct sweep sweep = {.root = getpid(), .meet = meet_signal, .context = &signal};
    if (!sweep_proc(&sweep))
        signal_children(&sweep, signal);
    free(sweep.processes);
}

static int compare_pids(const void *left, const void *right)
{
    return (*(const pid_t *)left > *(const pid_t *)right) -
           (*(const pid_t *)left < *(const pid_t *)right);
}

struct pass {
    struct tree_kill *killing;
    pid_t own_group; /* never stopped: a child that was not yet given its own is in it, too */
    pid_t group;     /* that was stopped last */
    size_t known;    /* the first ones of `stopped`, sorted; behind them what this pass met */
    size_t met;
};

static void meet_stop(const struct process *process, void *context)
{
    struct pass *pass = context;
    struct tree_kill *killing = pass->killing;
    pass->met++;
    if (pass->known > 0 && bsearch(&process->pid, killing->stopped, pass->known,
                                   sizeof *killing->stopped, compare_pids))
        return;
    if (process->group > 1 && process->group != pass->own_group && process->group != pass->group)
        kill(-process->group, SIGSTOP);
    pass->group = process->group;
    kill(process->pid, SIGSTOP);
    if (killing->stopped_count == killing->stopped_capacity) {
        size_t capacity = killing->stopped_capacity ? 2 * killing->stopped_capacity : 64;
        pid_t *stopped = realloc(killing->stopped, capacity * sizeof *stopped);
        if (!stopped)
            return;
        killing->stopped = stopped;
        killing->stopped_capacity = capacity;
    }
    killing->stopped[killing->stopped_count++] = process->pid;
}

static void kill_ours(const struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->count; i++)
        if (sweep->processes[i].kin == OURS)
            kill(sweep->processes[i].pid, SIGKILL);
}

bool tree_kill_pass(struct tree_kill *killing, const pid_t *except, size_t except_count)
{
    struct pass pass = {
        .killing = killing,
        .own_group = getpgrp(),
        .known = killing->stopped_count,
    };
    struct sweep sweep = {
        .root = getpid(),
        .childless = true,
        .except = except,
        .except_count = except_count,
        .meet = meet_stop,
        .context = &pass,
    };
    bool readable = sweep_proc(&sweep);
    bool anything_new = killing->stopped_count > pass.known || sweep.torn;
    if (killing->stopped_count > 0)
        qsort(killing->stopped, killing->stopped_count, sizeof *killing->stopped, compare_pids);
    killing->passes++;
    bool finished = !anything_new || !readable || killing->passes >= PASSES_MAX;
    if (finished) {
        kill_ours(&sweep);
        killing->stopped_count = 0;
        killing->passes = 0;
    }
    killing->met = pass.met;
    if (!readable || sweep.childless)
        killing->met = signal_children(&sweep, SIGKILL);
    free(sweep.processes);
    return finished;
}

void tree_kill_release(struct tree_kill *killing)
{
    free(killing->stopped);
    *killing = (struct tree_kill){0};
}
