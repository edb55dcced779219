/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.h: runs a plan and shows it while it runs.
 */
#ifndef HOST_DEMO_WATCH_H
#define HOST_DEMO_WATCH_H

#include "executors.h"
#include "plan.h"

enum watch_manner {
    WATCH_NOTHING,  /* output is only in the result */
    WATCH_OUTPUT,   /* output as it comes; words where something went wrong */
    WATCH_DIALOGUE, /* and for each block where it runs, how it ended, and how long it took */
};

/* How a run ended. All of it is as the executors said, except where the host itself ended it. */
struct run_end {
    bool misused;                        /* the error is one of usage */
    code_executor_error error;           /* status OK: neither host nor executor failed */
    code_executor_routed_result *result; /* may be NULL */
    int32_t exit_code;
    int32_t outcome;
    bool came_to_cut; /* everything before the plan's incomplete block ran: that one was refused */
    const char *cut_label;
    int write_errno; /* why code's output could not be written, or 0 */
};

/* Runs PLAN, each block for TIMEOUT seconds at most (0: the executor's own). Frees nothing of
 * PLAN. */
void watch_run(struct executors *executors, const struct plan *plan, double timeout,
               enum watch_manner manner, struct run_end *end);
void run_end_free(struct run_end *end);

/* What the process shall exit with: the code's exit code, 125 where host or executor failed, 128
 * and the signal where one ended the run. */
int run_end_exit_status(const struct run_end *end);

#endif /* HOST_DEMO_WATCH_H */
