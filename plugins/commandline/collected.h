/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collected.h: takes in what `runner collect` prints (plugins/runner/collect.h), piece by piece, and saves the
 * files in the workspace. The stream is untrusted: the code that ran beside it may have made it up.
 */
#ifndef CODE_EXECUTOR_COMMANDLINE_COLLECTED_H
#define CODE_EXECUTOR_COMMANDLINE_COLLECTED_H

#include "error.h"
#include "runner/collect.h"
#include "workspace.h"
#include <stdbool.h>
#include <stdint.h>

enum collected_state {
    COLLECTED_HEAD,
    COLLECTED_RECORD,
    COLLECTED_PATH,
    COLLECTED_BYTES,
    COLLECTED_FOLDERS,
    COLLECTED_ENDED
};

typedef struct collected {
    const char *work_dir;
    uint64_t max_bytes;
    void *user_data;
    /* A file that was saved, or (SKIPPED not NULL) why one was not. */
    void (*on_file)(void *user_data, const char *path, const char *skipped);
    /* The bytes of a file that may be saved; and whether it shall be, behind them. Both or neither. */
    void (*on_bytes)(void *user_data, const char *bytes, size_t length);
    bool (*is_wanted)(void *user_data, const char *path);
    /* What the next collect wants to know of the folders, piece by piece. May be NULL. */
    void (*on_folders)(void *user_data, const char *bytes, size_t length);
    /* Filled in as the stream comes. */
    enum collected_state state;
    uint64_t now; /* of the head */
    uint64_t total;
    bool exceeded; /* not all fitted the limit */
    bool knows_folders;
    uint32_t records;
    uint32_t kind;
    uint32_t mode;
    uint64_t left; /* bytes to come of the file, or of the folders */
    size_t filled; /* of the part that is being gathered */
    size_t path_length;
    unsigned char part[COLLECT_RECORD_SIZE];
    char path[COLLECT_PATH_MAX + 1];
    bool saving;
    workspace_file file;
} collected;

/* The members above the comment are set, the others zero. PROTOCOL: nonsense; else a file could not be
 * saved, a full disk for one. */
int32_t collected_take(collected *self, const char *bytes, size_t length,
                       code_executor_error *error);

/* Gives up a file that has not come to its end. */
void collected_end(collected *self);

#endif /* CODE_EXECUTOR_COMMANDLINE_COLLECTED_H */
