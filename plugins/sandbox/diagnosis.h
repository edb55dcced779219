/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diagnosis.h: what to tell a person when bubblewrap, or the kernel behind it, refuses.
 *
 * bubblewrap names the step that failed; which of half a dozen switches of the system is in the way it
 * cannot tell. This looks at them, after the fact, and names the one to turn.
 */
#ifndef CODE_EXECUTOR_SANDBOX_DIAGNOSIS_H
#define CODE_EXECUTOR_SANDBOX_DIAGNOSIS_H

#include "error.h"

/* Nothing was found where bwrap was looked for: WHAT says so, and WHERE is PATH or what the configuration gives. */
int32_t diagnose_missing(const char *what, const char *where, code_executor_error *error);

/* bubblewrap ended with these WORDS before anything ran inside. The system is looked at beneath ROOT: "". */
int32_t diagnose_failure(const char *root, const char *words, code_executor_error *error);

#endif /* CODE_EXECUTOR_SANDBOX_DIAGNOSIS_H */
