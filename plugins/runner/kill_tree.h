/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kill_tree.h: signals for every process that descends from the caller.
 *
 * The caller is a subreaper, so whatever its descendants do (fork twice, start sessions, outlive their
 * parents), they stay its descendants. Who they are is read from /proc.
 */
#ifndef CODE_EXECUTOR_RUNNER_KILL_TREE_H
#define CODE_EXECUTOR_RUNNER_KILL_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Once, before anything untrusted runs: learns what cannot be learned when the code is hostile. */
void tree_prepare(void);

/* Sends SIGNAL once to each, and makes stopped ones go on so that it takes effect. */
void tree_signal(int signal);

/* A killing in progress; all zero at its beginning. */
struct tree_kill {
    pid_t *stopped; /* sorted */
    size_t stopped_count;
    size_t stopped_capacity;
    unsigned passes;
    size_t met; /* descendants that the last pass met; 0: none is left, as far as can be known */
};

/*
 * One pass over the descendants, except the EXCEPT_COUNT processes of EXCEPT and what descends from
 * them: stops those that are not yet stopped. Once a pass meets no new one, it kills all with SIGKILL and
 * returns true. Call it again, reaping in between, until no child is left. Never waits.
 */
bool tree_kill_pass(struct tree_kill *killing, const pid_t *except, size_t except_count);
void tree_kill_release(struct tree_kill *killing);

#endif /* CODE_EXECUTOR_RUNNER_KILL_TREE_H */
