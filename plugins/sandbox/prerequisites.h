/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prerequisites.h: what a start needs of the host, looked for before anything is made: the programs, the folders to be
 * shown inside, the workspace.
 */
#ifndef CODE_EXECUTOR_SANDBOX_PREREQUISITES_H
#define CODE_EXECUTOR_SANDBOX_PREREQUISITES_H

#include "commandline.h"
#include "mount_list.h"
#include "options.h"
#include <limits.h>

typedef struct prerequisites {
    char bubblewrap[PATH_MAX];
    char enter[PATH_MAX];     /* the sandbox_enter program */
    uint64_t work_dir_device; /* the workspace, seen without following a link */
    uint64_t work_dir_inode;
    mount_list mounts; /* of the host */
} prerequisites;

/* What is missing is named, with what to do. prerequisites_free is due in any case. */
int32_t prerequisites_find(const sandbox_options *options, const launch_context *context,
                           prerequisites *found, code_executor_error *error);

void prerequisites_free(prerequisites *found);

#endif /* CODE_EXECUTOR_SANDBOX_PREREQUISITES_H */
