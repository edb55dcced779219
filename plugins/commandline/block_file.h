/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_file.h: what a block's file is called and what is in it.
 *
 *     code ─▶ pip silenced ─▶ CRLF to LF (shells) ─▶ name: from its first line, or tmp_code_<md5>
 */
#ifndef CODE_EXECUTOR_BLOCK_FILE_H
#define CODE_EXECUTOR_BLOCK_FILE_H

#include "error.h"
#include "language.h"
#include <stdbool.h>

typedef struct block_file {
    const char *bytes; /* to be saved: the block's own, or changed */
    size_t length;
    char *changed;
    char *name;     /* beneath the workspace */
    bool temporary; /* the name is not the block's own */
} block_file;

/* *OBJECTION: NULL, or why the block cannot have the name that it asks for (static). FILE is to be
 * given to block_file_end in any case. */
int32_t block_file_begin(const language *known, const code_executor_block *block, block_file *file,
                         const char **objection, code_executor_error *error);
void block_file_end(block_file *file);

#endif /* CODE_EXECUTOR_BLOCK_FILE_H */
