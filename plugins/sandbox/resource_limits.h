/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resource_limits.h: how much memory, processor and how many processes a sandbox may use, and by which means.
 *
 *     memory      a cgroup, for all together; else RLIMIT_DATA, for each process
 *     processors  a cgroup's bandwidth; else a choice of so many processors, rounded up
 *     processes   a cgroup; else RLIMIT_NPROC, which counts in the sandbox's user namespace (Linux 5.14
 *                 and later), and binds everybody but root
 *
 * What is imposed otherwise than asked is told (describe, and a warning in the log), and so is a limit on
 * processes that nothing can impose; one on processors that nothing can impose is an error.
 */
#ifndef CODE_EXECUTOR_SANDBOX_RESOURCE_LIMITS_H
#define CODE_EXECUTOR_SANDBOX_RESOURCE_LIMITS_H

#include "cgroup.h"
#include "options.h"

enum limit {
    LIMIT_MEMORY = CGROUP_MEMORY,
    LIMIT_PROCESSORS = CGROUP_CPU,
    LIMIT_PIDS = CGROUP_PIDS
};
#define LIMITS CGROUP_CONTROLLERS

enum limit_means {
    MEANS_UNLIMITED, /* none is wanted */
    MEANS_NONE,      /* one is wanted, and nothing can impose it */
    MEANS_CGROUP_2,
    MEANS_CGROUP_1,
    MEANS_RESOURCE,  /* setrlimit */
    MEANS_PROCESSORS /* sched_setaffinity, kept by the seccomp filter */
};

/* In words, for describe. */
const char *limit_means_name(enum limit limit, enum limit_means means);

/* What the means lack of what was asked for, in a sentence; NULL: nothing. */
const char *limit_shortcoming(const sandbox_options *options, enum limit limit,
                              enum limit_means means);

/* How many processors MEANS_PROCESSORS leaves. */
uint64_t processors_rounded_up(const sandbox_options *options);

/* What would be used, as far as can be told without making anything. */
void limits_foresee(const sandbox_options *options, enum limit_means means[LIMITS]);

/* Chooses, and makes the cgroup if one is used. Failure leaves nothing. GROUP is to be removed even where
 * it is empty. */
int32_t limits_impose(const sandbox_options *options, const mount_list *mounts,
                      enum limit_means means[LIMITS], cgroup *group, code_executor_error *error);

#endif /* CODE_EXECUTOR_SANDBOX_RESOURCE_LIMITS_H */
