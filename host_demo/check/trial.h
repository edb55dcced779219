/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trial.h: one rule, tried in a child process that is killed when it takes too long.
 */
#ifndef HOST_DEMO_CHECK_TRIAL_H
#define HOST_DEMO_CHECK_TRIAL_H

#include "rule.h"

/*
 * Tries RULE on what is CHECKED, for LIMIT seconds at most. REPORT has its end, which is never
 * VERDICT_NONE: that the child crashed or hung is what was seen then. Not OK: the host failed.
 */
int32_t trial_run(const struct rule *rule, const struct checked *checked, double limit,
                  struct report *report, code_executor_error *error);

#endif /* HOST_DEMO_CHECK_TRIAL_H */
