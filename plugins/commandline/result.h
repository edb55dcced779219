/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result.h: building what execute returns.
 *
 * A result is one structure and an arena for all that it points to, however many blocks there are,
 * and is freed as one. A block's record is made before the block runs, so that what has run can be
 * told.
 */
#ifndef CODE_EXECUTOR_RESULT_H
#define CODE_EXECUTOR_RESULT_H

#include "output.h"
#include <code_executor.h>
#include <stdbool.h>

typedef struct result_builder result_builder;

/* NULL: no memory. */
result_builder *result_begin(void);

/* A record for the next block, zeroed but for its language (NULL counts as "") and with empty
 * outputs. It stays where it is. NULL: no memory; the builder is as it was. */
code_executor_block_result *result_add_block(result_builder *builder, const char *language);

/* What a block wrote, into its record; SELF may be ended afterwards. Where COMBINED is NULL, what
 * went to stdout is all there was, and the record's output is its stdout. False: no memory, the
 * record's outputs are as they were. */
bool result_set_outputs(result_builder *builder, code_executor_block_result *block,
                        const output *out, const output *err, const output *combined);

/* A path of FOLDER and NAME that lives as long as the result; NULL: no memory. */
const char *result_path(result_builder *builder, const char *folder, const char *name);

/*
 * Joins the outputs, takes exit code and outcome from the last block, and hands the result out, to
 * be given to commandline_result_free. NULL: no memory, or no block at all. The builder is gone.
 */
code_executor_result *result_end(result_builder *builder);

#endif /* CODE_EXECUTOR_RESULT_H */
