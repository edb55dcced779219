/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known_languages.h: what one executor says of the languages it knows, those of its configuration
 * included.
 */
#ifndef HOST_DEMO_KNOWN_LANGUAGES_H
#define HOST_DEMO_KNOWN_LANGUAGES_H

#include "executors.h"

/* What the executor would do with a block in LANGUAGE; POLICY_RUNS where it does not tell. */
enum block_policy executor_policy(const struct executor *executor, const char *language);

/* INVALID: neither the host library nor the executor knows LANGUAGE. A route for it is a slip of
 * the pen, and the blocks that were meant would go elsewhere. */
int32_t check_language(const struct executor *executor, const char *language,
                       code_executor_error *error);

#endif /* HOST_DEMO_KNOWN_LANGUAGES_H */
