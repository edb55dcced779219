/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workspace_folder.h: from the root to the folder of a file in the workspace, without following a link. The
 * attacks that this answers are listed in workspace.h.
 */
#ifndef CODE_EXECUTOR_COMMANDLINE_WORKSPACE_FOLDER_H
#define CODE_EXECUTOR_COMMANDLINE_WORKSPACE_FOLDER_H

#include <stdbool.h>

/* A *PROBLEM is an errno, or one of these. */
enum workspace_problem {
    WORKSPACE_ELSEWHERE = -1, /* a link is on the way */
    WORKSPACE_IRREGULAR = -2  /* what is there is no file */
};

/* A descriptor (O_PATH) of the workspace; MAKE: its last folder is made where it is not there. -1 with errno;
 * ELOOP: a link. */
int workspace_folder_open(const char *path, bool make);

/* Walks from WORKSPACE, which it closes, to the folder of the file NAME. *BASE is the name there. Returns a
 * descriptor, or -1 with the reason in *PROBLEM. */
int workspace_folder_walk(int workspace, const char *name, bool make, const char **base,
                          int *problem);

#endif /* CODE_EXECUTOR_COMMANDLINE_WORKSPACE_FOLDER_H */
