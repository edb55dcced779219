/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup.h: a cgroup of one's own, in whichever hierarchies this process may make one.
 *
 * Linux has two generations of cgroups, and mixes of both. What is asked here is the same for all:
 * of the controllers memory, cpu and pids, which can be had, and where?
 *
 *     version 1   each controller has a tree of its own; a new group goes beneath the group that this
 *                 process is in. Only root may.
 *     version 2   one tree; a group whose processes are its own hands no controllers down. So a new group
 *                 goes beneath the nearest folder on the way up from ours that hands down what is wanted,
 *                 or can be made to, and that is ours to write: what systemd calls delegated, or root's.
 *
 * A group is named after its maker: code_executor.NAMESPACE.PID.START.NUMBER. A maker that dies without a
 * word leaves an empty folder behind (its processes end by themselves), which the next one that makes a
 * group in the same place removes.
 */
#ifndef CODE_EXECUTOR_SANDBOX_CGROUP_H
#define CODE_EXECUTOR_SANDBOX_CGROUP_H

#include "error.h"
#include "helper_process.h"
#include "mount_list.h"
#include <stdbool.h>
#include <stddef.h>

enum cgroup_controller { CGROUP_MEMORY, CGROUP_CPU, CGROUP_PIDS, CGROUP_CONTROLLERS };

/* Where new groups can be made. */
typedef struct cgroup_places {
    struct {
        int version;  /* 1 or 2; 0: nowhere */
        char *folder; /* beneath which; NULL: nowhere */
    } of[CGROUP_CONTROLLERS];
} cgroup_places;

/*
 * Looks for places for the controllers that are WANTED, as the mounts and a file in the format of
 * /proc/self/cgroup tell. Changes nothing, unless ENABLE: then controllers may
 * be handed down where they were not. What cannot be found is no failure. False: no memory.
 */
bool cgroup_find(const mount_list *mounts, const char *membership_file,
                 const bool wanted[CGROUP_CONTROLLERS], bool enable, cgroup_places *places);
void cgroup_places_free(cgroup_places *places);

/* A group: one folder for each different place. */
typedef struct cgroup {
    struct cgroup_folder {
        char *path;
        int version;
    } folders[CGROUP_CONTROLLERS];
    size_t folder_count;
    const struct cgroup_folder *of[CGROUP_CONTROLLERS]; /* into folders, or NULL */
} cgroup;

/* Makes one, after removing what dead makers left there. */
int32_t cgroup_make(const cgroup_places *places, cgroup *group, code_executor_error *error);

/* Writes VALUE to FILE of CONTROLLER's folder; returns 0 or an errno. */
int cgroup_set(const cgroup *group, enum cgroup_controller controller, const char *file,
               const char *value);

/* Opens its folders for a process that is to start in it. They are to be closed whatever is returned: 0 or an
 * errno. */
int cgroup_open(const cgroup *group, helper_process_group opened[CGROUP_CONTROLLERS]);
void cgroup_close(const cgroup *group, const helper_process_group opened[CGROUP_CONTROLLERS]);

/* Whether the kernel has killed anything in it for want of memory. */
bool cgroup_ran_out_of_memory(const cgroup *group);

/* Removes it, once nothing runs in it any more, and frees what CGROUP holds. False: something did not
 * go; the next maker will try again. */
bool cgroup_remove(cgroup *group);

#endif /* CODE_EXECUTOR_SANDBOX_CGROUP_H */
