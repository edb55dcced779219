/* SPDX-License-Identifier: Apache-2.0 */
/* executor.h: an executor as a host sees it, with the few calls that the benchmark needs. */
#ifndef BENCH_EXECUTOR_H
#define BENCH_EXECUTOR_H

#include <code_executor_host.h>

struct executor {
    code_executor_plugin *plugin;
    const code_executor_v1 *table;
    code_executor_instance *instance;
    uint64_t bytes_seen; /* by on_output, of all executions so far */
};

/* Loads the plugin NAME and creates an instance. Returns false with a word on stderr. */
bool executor_open(struct executor *executor, const char *name, const char *config);
void executor_close(struct executor *executor);

/* Each returns nanoseconds, or -1 with a word on stderr. */
int64_t executor_start(struct executor *executor);
int64_t executor_stop(struct executor *executor);
int64_t executor_restart(struct executor *executor);
/* Runs one block COUNT times at once, each on a thread of its own where COUNT is not 1. */
int64_t executor_run(struct executor *executor, const char *language, const char *code, int count);

/* The interpreter that a started executor runs LANGUAGE with, as an absolute path where it tells; to be
 * freed. */
char *executor_interpreter(struct executor *executor, const char *language);

#endif /* BENCH_EXECUTOR_H */
