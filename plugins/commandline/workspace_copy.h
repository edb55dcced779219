/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workspace_copy.h: a workspace that the code cannot see, kept the same on both sides by copying.
 *
 *     this host                                              where the code runs
 *     work_dir ── files that changed ── WRITE frames ──▶ the folder the runner was started in
 *              ◀── files that changed ── runner collect ──┘
 *
 * In goes, before the first block of an execution, what changed here since the last time; out, behind the
 * last block, what changed there. A file that is the same on both sides stays as it is. Files that were
 * deleted stay deleted on the side where that happened, and are neither deleted nor brought back on the
 * other. Links, special files and empty folders are not copied.
 *
 * What comes out is what untrusted code has written: it goes through workspace.h, beneath work_dir and over
 * no link, and no more than max_bytes of it in one go.
 *
 * A copy belongs to one environment, and may be used by several executions at once: they take turns.
 */
#ifndef CODE_EXECUTOR_COMMANDLINE_WORKSPACE_COPY_H
#define CODE_EXECUTOR_COMMANDLINE_WORKSPACE_COPY_H

#include "error.h"
#include "session.h"
#include <stdint.h>

typedef struct workspace_copy workspace_copy;

/* How a copy is made, and what is told of it, on the thread that calls. */
typedef struct workspace_copying {
    session *session;
    session_canceller *canceller;
    const char *work_dir; /* absolute, on this host */
    const char *folder;   /* the same, as the runner sees it */
    void *user_data;
    void (*log)(void *user_data, int32_t level, const char *message); /* may be NULL */
    /* Of copying in, in bytes. May be NULL. */
    void (*progress)(void *user_data, const char *what, uint64_t done, uint64_t total);
} workspace_copying;

/* MAX_BYTES: how much may be copied in one go. NULL: no memory. */
workspace_copy *workspace_copy_new(uint64_t max_bytes);
void workspace_copy_free(workspace_copy *copy);

/* INVALID: more than max_bytes. CANCELLED, and what the session fails with. */
int32_t workspace_copy_in(workspace_copy *copy, const workspace_copying *copying,
                          code_executor_error *error);

/* The file NAME, which has just been saved in work_dir. OK with words in OBJECTION (of
 * WORKSPACE_OBJECTION_SIZE) where it cannot be written there. */
int32_t workspace_copy_file(workspace_copy *copy, const workspace_copying *copying,
                            const char *name, const char *bytes, size_t length, char *objection,
                            code_executor_error *error);

/* The file NAME of the folder itself shall be gone there, too. */
void workspace_copy_remove(workspace_copy *copy, const char *name);

int32_t workspace_copy_out(workspace_copy *copy, const workspace_copying *copying,
                           code_executor_error *error);

#endif /* CODE_EXECUTOR_COMMANDLINE_WORKSPACE_COPY_H */
