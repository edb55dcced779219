/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reading.h: what cmark finds in a shadow: its fenced blocks.
 */
#ifndef CODE_EXECUTOR_HOST_READING_H
#define CODE_EXECUTOR_HOST_READING_H

#include "shadow.h"
#include <code_executor.h>

/* A fenced block, in lines and places of the shadow. */
typedef struct fenced_block {
    size_t opener;        /* index of the line with the opening fence */
    size_t content_count; /* lines between the fences, from opener + 1 */
    bool closed;          /* by a fence of its own */
    /* The content_count lines as cmark gives them, each with a newline: what is left of a line of the
     * shadow when the prefix of its containers and the indentation of the fence are off. To be read in
     * order by content_column. */
    const char *content;
} fenced_block;

/* The column at which the code begins in line INDEX of the shadow, where *CONTENT is what is left of it;
 * *CONTENT moves to the next line. */
size_t content_column(const shadow *shown, size_t index, const char **content);

/* Called with each fenced block and the shadow in which it was found. False where memory ends. */
typedef bool (*fenced_block_found)(void *state, const shadow *shown, const fenced_block *block);

/*
 * Calls FOUND for each fenced block of the message, in order. NESTED may be NULL. NO_MEMORY: memory
 * ended, here or in FOUND. UNSUPPORTED: the message would take too much of it.
 */
int32_t reading_make(const message *whole, const nested_fences *nested, fenced_block_found found,
                     void *state, code_executor_error *error);

#endif /* CODE_EXECUTOR_HOST_READING_H */
