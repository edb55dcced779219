/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helper_process.h: starts a program on the host's side (a runner, bwrap, ssh) that the host itself does
 * not notice.
 *
 * A plugin is a guest in a process that has its own ideas about children: a wait() in a loop, a SIGCHLD
 * handler, SIGCHLD ignored. A helper must show up in none of them, so it is not made a child:
 *
 *     host ──clone(exit signal 0)──▶ middleman ──clone(exit signal 0, pidfd)──▶ helper ──exec──▶ …
 *       ▲                               │ exits
 *       └────── pidfd, exec's errno ────┘
 *
 * A child whose exit signal is not SIGCHLD is invisible to wait() and raises no signal; we reap it with
 * __WALL. But exec sets the exit signal of what it starts back to SIGCHLD, and so the program is started
 * from a middleman that is gone afterwards: its parent is then PID 1 or the nearest subreaper. Its death
 * is seen by its pidfd, and by end-of-file on the pipe that is its standard error.
 *
 * It runs in a session of its own with default signal dispositions and an empty mask, and holds three
 * descriptors, those that it is given beside them, and no more. It may be told to start in a cgroup.
 */
#ifndef CODE_EXECUTOR_HELPER_PROCESS_H
#define CODE_EXECUTOR_HELPER_PROCESS_H

#include "error.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct helper_process_group {
    int folder;  /* a descriptor of the cgroup's folder; O_PATH will do */
    int version; /* of cgroups: 1 or 2 */
} helper_process_group;

typedef struct helper_process_options {
    const char *program;                /* absolute path */
    const char *const *arguments;       /* NULL-terminated, with the program's name at their head */
    const char *const *environment;     /* NULL-terminated, all that it gets */
    const char *folder;                 /* working directory; NULL: the host's */
    int input;                          /* its standard input; -1: /dev/null */
    int output;                         /* its standard output; -1: /dev/null */
    const int *files;                   /* more descriptors, which become 4, 5, … in this order */
    size_t file_count;                  /* at most HELPER_PROCESS_FILES_MAX */
    const helper_process_group *groups; /* cgroups in which it starts, with all that it starts */
    size_t group_count;
} helper_process_options;

#define HELPER_PROCESS_FILES_MAX 60

typedef struct helper_process {
    int pid;   /* its number, and that of the process group which it leads */
    int pidfd; /* -1 where the kernel gives none (before Linux 5.2) */
    int words; /* what it writes to standard error, nonblocking */
} helper_process;

#define HELPER_PROCESS_INIT                                                                        \
    {                                                                                              \
        0, -1, -1                                                                                  \
    }

/*
 * Starts it. The caller's descriptors stay the caller's. On failure nothing is left.
 * NOT_FOUND, DENIED, IO: what exec, or what comes before it, answered.
 */
int32_t helper_process_start(const helper_process_options *options, helper_process *process,
                             code_executor_error *error);

/* Waits until the program has ended, TIMEOUT_MS at most (-1: for ever). */
bool helper_process_wait(const helper_process *process, int timeout_ms);

/* Waits until every process has ended that holds the program's standard error: itself, and its forks
 * that did not put something else in its place. */
bool helper_process_wait_all(const helper_process *process, int timeout_ms);

/* Kills it and what else is in its process group, also when it has ended itself. Without a pidfd this can do
 * nothing. */
void helper_process_kill(const helper_process *process);

/* What it last wrote to standard error, cut to SIZE, control characters replaced, no line break at the
 * end. Takes it off the pipe. Returns BUFFER. */
const char *helper_process_words(const helper_process *process, char *buffer, size_t size);

/* Closes the descriptors; the process is let go of, not ended. */
void helper_process_close(helper_process *process);

#endif /* CODE_EXECUTOR_HELPER_PROCESS_H */
