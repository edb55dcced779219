/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.h: what a request's blocks go through, one after the other.
 *
 *     block ─▶ language known? ─▶ silence pip ─▶ file name ─▶ save in the workspace ─▶ policy?
 *                 │ no                              │ outside                          │ saved only
 *                 ▼                                 ▼                                  ▼
 *              refused, stop                     refused, stop                      "Code saved to", next
 *                                                                   runs ─▶ session_run ─▶ result
 */
#ifndef CODE_EXECUTOR_RUN_H
#define CODE_EXECUTOR_RUN_H

#include "language.h"
#include "session.h"
#include <code_executor.h>

/* What an instance was configured to, fixed by create. */
typedef struct run_settings {
    language_table *languages; /* with the instance's policies applied */
    double timeout;            /* seconds */
    size_t max_output_bytes;
    bool delete_tmp_files;          /* remove tmp_code_… after the block has run */
    const char *const *environment; /* "NAME=value", the configuration's env */
    size_t environment_count;
    /* A launcher's own objection to a block, in its words, or NULL; free(). May be NULL. */
    char *(*object)(void *state, const char *language, const char *code, size_t length);
    void *object_state;
    /* The host's log, on the calling thread. */
    void (*log)(void *log_state, int32_t level, const char *message);
    void *log_state;
} run_settings;

/* Where the blocks run. */
typedef struct run_place {
    session *session;
    const char *work_dir;        /* absolute, on this host; made when it is not there */
    const char *folder;          /* the same, as the runner sees it */
    struct workspace_copy *copy; /* where that is another folder; else NULL */
} run_place;

/*
 * Runs REQUEST, which has been checked. Returns and fills *RESULT as code_executor_v1.execute does.
 * SETTINGS and PLACE live until it returns.
 */
int32_t run_blocks(const run_settings *settings, const run_place *place,
                   const code_executor_request *request, session_canceller *canceller,
                   code_executor_result **result, code_executor_error *error);

#endif /* CODE_EXECUTOR_RUN_H */
