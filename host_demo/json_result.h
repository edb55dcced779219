/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_result.h: results and blocks as JSON documents on stdout.
 *
 * Code and output are bytes; JSON is Unicode. Bytes that are not UTF-8 become U+FFFD, one for each
 * that cannot begin or go on with a character.
 */
#ifndef HOST_DEMO_JSON_RESULT_H
#define HOST_DEMO_JSON_RESULT_H

#include "plan.h"
#include "watch.h"

/* Both are false where stdout takes no more; errno says why. PLAN may be NULL when there was
 * none. */
bool json_write_result(const struct plan *plan, const struct run_end *end);
bool json_write_blocks(const code_executor_extraction *extraction);

#endif /* HOST_DEMO_JSON_RESULT_H */
