/* SPDX-License-Identifier: Apache-2.0 */
/*
 * joined_result.h: the results of several executors as one.
 *
 * The results stay as their executors gave them until the joined one is freed, and it points to their
 * blocks. All that it needs besides its output is allocated before anything runs, so that a result is
 * hardly ever lost.
 */
#ifndef CODE_EXECUTOR_HOST_JOINED_RESULT_H
#define CODE_EXECUTOR_HOST_JOINED_RESULT_H

#include "host/code_executor_host.h"

/* What one executor gave, or (TABLE NULL) the refusal of a block that none takes. */
typedef struct result_part {
    const code_executor_v1 *table;
    code_executor_result *result;
} result_part;

typedef struct joined_result {
    code_executor_routed_result public_part; /* first: the public pointer is the pointer to free */
    code_executor_result result;
    result_part *parts;
    size_t part_count;
    const code_executor_block_result **blocks;
    const char **labels;
    char *label_text, *label_end;
    char *output; /* of all parts, where there is more than one */
} joined_result;

/* With room for BLOCK_COUNT blocks whose labels take LABEL_LENGTH bytes with their NULs. NULL where
 * memory ends. To be freed with code_executor_routed_result_free. */
joined_result *joined_result_make(size_t block_count, size_t label_length);

/* Takes a part; its blocks follow by joined_result_add_block. */
void joined_result_add_part(joined_result *whole, result_part given);
void joined_result_add_block(joined_result *whole, const code_executor_block_result *block,
                             const char *label);

/* Joins the output and fills the public part. False where memory ends. */
bool joined_result_finish(joined_result *whole);

/* What an executor gives for a block in a language that it does not know; free(). NULL where memory
 * ends. */
code_executor_result *refusal_make(const char *language);

#endif /* CODE_EXECUTOR_HOST_JOINED_RESULT_H */
