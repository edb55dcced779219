/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resource_limits.c: see resource_limits.h. What the means other than cgroups need is done inside, by sandbox_enter, on the
 * word of command.c.
 */
#include "resource_limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define MEMBERSHIP_FILE "/proc/self/cgroup"

/* Bandwidth is so much time in each period. The kernel takes no quota below a millisecond. */
#define PERIOD_MICROSECONDS      100000
#define QUOTA_LEAST_MICROSECONDS 1000

const char *limit_means_name(enum limit limit, enum limit_means means)
{
    static const char *const names[] = {
        [MEANS_UNLIMITED] = "no limit", [MEANS_NONE] = "not imposed: no cgroup may be made here",
        [MEANS_CGROUP_2] = "cgroup v2", [MEANS_CGROUP_1] = "cgroup v1",
        [MEANS_RESOURCE] = "rlimit",    [MEANS_PROCESSORS] = "processor affinity, rounded up",
    };
    return limit == LIMIT_MEMORY && means == MEANS_RESOURCE ? "rlimit, for each process"
                                                            : names[means];
}

#define DELEGATION                                                                                 \
    "; a cgroup would do it, and none may be made here (for a user: `systemd-run --user --scope "  \
    "-p Delegate=yes`)"

const char *limit_shortcoming(const sandbox_options *options, enum limit limit,
                              enum limit_means means)
{
    if (limit == LIMIT_MEMORY && means == MEANS_RESOURCE)
        return "memory is limited for each process, and not for all together" DELEGATION;
    if (limit == LIMIT_PROCESSORS && means == MEANS_PROCESSORS &&
        options->processors < (double)processors_rounded_up(options))
        return "cpus is rounded up to whole processors" DELEGATION;
    if (limit == LIMIT_PIDS && means == MEANS_NONE)
        return "pids_limit is not imposed: no cgroup may be made here, and the other limit does "
               "not "
               "bind root, nor anybody before Linux 5.14";
    return NULL;
}

uint64_t processors_rounded_up(const sandbox_options *options)
{
    double asked = options->processors;
    uint64_t whole = asked < 1e6 ? (uint64_t)asked : 1000000;
    return whole + ((double)whole < asked);
}

/* ------------------------------------------------------------------------------------------------
 * Choice
 * --------------------------------------------------------------------------------------------- */

static void find_wanted(const sandbox_options *options, bool wanted[LIMITS])
{
    wanted[LIMIT_MEMORY] = options->memory != 0;
    wanted[LIMIT_PROCESSORS] = options->processors > 0;
    wanted[LIMIT_PIDS] = options->pids != 0;
}

static bool any(const bool wanted[LIMITS])
{
    return wanted[LIMIT_MEMORY] || wanted[LIMIT_PROCESSORS] || wanted[LIMIT_PIDS];
}

/* Before Linux 5.14 RLIMIT_NPROC counts all processes of the user on the machine. */
static bool counts_by_namespace(void)
{
    struct utsname system;
    int major = 0;
    int minor = 0;
    return uname(&system) == 0 && sscanf(system.release, "%d.%d", &major, &minor) == 2 &&
           (major > 5 || (major == 5 && minor >= 14));
}

/* What remains where there is no cgroup. */
static enum limit_means choose_other(enum limit limit, const sandbox_options *options)
{
    switch (limit) {
    case LIMIT_MEMORY:
        return MEANS_RESOURCE;
    case LIMIT_PROCESSORS:
        /* Without the filter the code would choose anew. */
        return options->seccomp ? MEANS_PROCESSORS : MEANS_NONE;
    case LIMIT_PIDS:
    default:
        /* Attack: a fork bomb as root. The kernel exempts the machine's root, whatever its namespace. */
        return geteuid() != 0 && counts_by_namespace() ? MEANS_RESOURCE : MEANS_NONE;
    }
}

static void choose(const sandbox_options *options, const cgroup_places *places,
                   enum limit_means means[LIMITS])
{
    bool wanted[LIMITS];
    find_wanted(options, wanted);
    for (int i = 0; i < LIMITS; i++)
        if (!wanted[i])
            means[i] = MEANS_UNLIMITED;
        else if (places->of[i].folder)
            means[i] = places->of[i].version == 2 ? MEANS_CGROUP_2 : MEANS_CGROUP_1;
        else
            means[i] = choose_other((enum limit)i, options);
}

void limits_foresee(const sandbox_options *options, enum limit_means means[LIMITS])
{
    bool wanted[LIMITS];
    find_wanted(options, wanted);
    cgroup_places places = {0};
    if (any(wanted)) {
        mount_list mounts;
        mount_list_read(&mounts, MOUNT_LIST_FILE);
        (void)cgroup_find(&mounts, MEMBERSHIP_FILE, wanted, false, &places);
        mount_list_free(&mounts);
    }
    choose(options, &places, means);
    cgroup_places_free(&places);
}

/* ------------------------------------------------------------------------------------------------
 * Cgroups
 * --------------------------------------------------------------------------------------------- */

static int set_memory(const cgroup *group, int version, uint64_t bytes)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, bytes);
    int errnum = cgroup_set(group, CGROUP_MEMORY,
                            version == 2 ? "memory.max" : "memory.limit_in_bytes", text);
    /* Swap is not memory to spare. The file is there only where swap is accounted for. */
    if (!errnum)
        (void)cgroup_set(group, CGROUP_MEMORY,
                         version == 2 ? "memory.swap.max" : "memory.memsw.limit_in_bytes",
                         version == 2 ? "0" : text);
    return errnum;
}

static int set_processors(const cgroup *group, int version, double processors)
{
    char text[64];
    double quota = processors * PERIOD_MICROSECONDS;
    quota = quota < QUOTA_LEAST_MICROSECONDS ? QUOTA_LEAST_MICROSECONDS : quota;
    if (version == 2) {
        snprintf(text, sizeof text, "%.0f %d", quota, PERIOD_MICROSECONDS);
        return cgroup_set(group, CGROUP_CPU, "cpu.max", text);
    }
    snprintf(text, sizeof text, "%d", PERIOD_MICROSECONDS);
    int errnum = cgroup_set(group, CGROUP_CPU, "cpu.cfs_period_us", text);
    snprintf(text, sizeof text, "%.0f", quota);
    return errnum ? errnum : cgroup_set(group, CGROUP_CPU, "cpu.cfs_quota_us", text);
}

static int set_pids(const cgroup *group, uint64_t pids)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, pids);
    return cgroup_set(group, CGROUP_PIDS, "pids.max", text);
}

static int set_all(const cgroup *group, const sandbox_options *options)
{
    int errnum = 0;
    if (group->of[CGROUP_MEMORY])
        errnum = set_memory(group, group->of[CGROUP_MEMORY]->version, options->memory);
    if (!errnum && group->of[CGROUP_CPU])
        errnum = set_processors(group, group->of[CGROUP_CPU]->version, options->processors);
    if (!errnum && group->of[CGROUP_PIDS])
        errnum = set_pids(group, options->pids);
    return errnum;
}

/* Makes and sets a group in PLACES. Where that does not work out PLACES becomes empty. */
static int32_t make_group(const sandbox_options *options, cgroup_places *places, cgroup *group,
                          code_executor_error *error)
{
    code_executor_error ignored = CODE_EXECUTOR_ERROR_INIT;
    if (cgroup_make(places, group, &ignored) != CODE_EXECUTOR_OK) {
        cgroup_places_free(places);
        return CODE_EXECUTOR_OK;
    }
    int errnum = set_all(group, options);
    if (!errnum)
        return CODE_EXECUTOR_OK;
    (void)cgroup_remove(group);
    return error_set_errno(error, CODE_EXECUTOR_INVALID, errnum,
                           "the kernel does not accept the limits (memory, cpus, pids_limit)");
}

int32_t limits_impose(const sandbox_options *options, const mount_list *mounts,
                      enum limit_means means[LIMITS], cgroup *group, code_executor_error *error)
{
    bool wanted[LIMITS];
    find_wanted(options, wanted);
    memset(group, 0, sizeof *group);
    cgroup_places places = {0};
    if (any(wanted) && !cgroup_find(mounts, MEMBERSHIP_FILE, wanted, true, &places))
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for the limits");
    int32_t status = make_group(options, &places, group, error);
    choose(options, &places, means);
    cgroup_places_free(&places);
    /* The default of pids_limit is a precaution; the others are somebody's decision. */
    if (status == CODE_EXECUTOR_OK && means[LIMIT_PROCESSORS] == MEANS_NONE) {
        (void)cgroup_remove(group);
        return error_set(error, CODE_EXECUTOR_UNSUPPORTED,
                         "cpus cannot be limited here: no cgroup may be made, and a choice of "
                         "processors holds only with \"seccomp\": true");
    }
    return status;
}
