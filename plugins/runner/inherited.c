/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inherited.c: see inherited.h.
 */
#include "inherited.h"
#include "system.h"
#include <sched.h>
#include <string.h>
#include <unistd.h>

struct inherited {
    struct rlimit limits[RLIM_NLIMITS];
    cpu_set_t processors;
    int policy;
    int priority;
};

static struct inherited before;

static void look(struct inherited *found)
{
    memset(found, 0, sizeof *found);
    for (int i = 0; i < RLIM_NLIMITS; i++)
        (void)syscall(SYS_prlimit64, 0, i, NULL, &found->limits[i]);
    (void)sched_getaffinity(0, sizeof found->processors, &found->processors);
    found->policy = sched_getscheduler(0);
    found->priority = getpriority(PRIO_PROCESS, 0);
}

void inherited_note(void)
{
    look(&before);
}

bool inherited_is_untouched(void)
{
    struct inherited now;
    look(&now);
    return memcmp(&now, &before, sizeof now) == 0;
}

void inherited_expect_descriptors(const struct rlimit *limit)
{
    before.limits[RLIMIT_NOFILE] = *limit;
}

static bool is_less(const struct rlimit *left, const struct rlimit *right)
{
    return left->rlim_cur < right->rlim_cur || left->rlim_max < right->rlim_max;
}

static bool restore_limits(const struct inherited *now)
{
    bool whole = true;
    for (int i = 0; i < RLIM_NLIMITS; i++)
        if (is_less(&now->limits[i], &before.limits[i]))
            whole = syscall(SYS_prlimit64, 0, i, &before.limits[i], NULL) == 0 && whole;
    return whole;
}

bool inherited_is_whole(void)
{
    struct inherited now;
    look(&now);
    if (memcmp(&now, &before, sizeof now) == 0)
        return true;
    bool whole = restore_limits(&now);
    (void)sched_setaffinity(0, sizeof before.processors, &before.processors);
    if (now.policy != before.policy) {
        const struct sched_param none = {0};
        (void)syscall(SYS_sched_setscheduler, 0, before.policy, &none);
    }
    (void)setpriority(PRIO_PROCESS, 0, before.priority);
    if (whole)
        look(&before);
    return whole;
}
