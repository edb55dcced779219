/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.h: what of a message will run.
 *
 *     message ──extract──▶ blocks ──▶ those with a language, up to the first that was cut off
 *
 * A block that is not complete never runs: a truncated `rm -rf /tmp/x` is `rm -rf /`. It ends the
 * run where it stands, as a language that nobody knows does.
 */
#ifndef HOST_DEMO_PLAN_H
#define HOST_DEMO_PLAN_H

#include "text.h"
#include <code_executor_host.h>

struct plan {
    code_executor_extraction *extraction;
    const code_executor_block **blocks; /* those that run, in order */
    size_t *numbers;                    /* of each in the message, counted from 1 */
    size_t count;
    const code_executor_extracted_block *cut; /* what ends the run behind them, or NULL */
    size_t cut_number;
};

int32_t plan_make(const struct bytes *message, struct plan *plan, code_executor_error *error);
void plan_free(struct plan *plan);

/* Notes the blocks that have no language. */
void plan_say_skipped(const struct plan *plan);

/* Fails with the words for it where nothing is to run or to refuse. */
int32_t plan_check(const struct plan *plan, code_executor_error *error);

/* Leaves only the blocks whose number IS_CHOSEN says. */
void plan_keep(struct plan *plan, bool (*is_chosen)(const void *choice, size_t number),
               const void *choice);

/* Why the block that was cut off does not run. */
bool plan_append_refusal(const struct plan *plan, struct bytes *text);

#endif /* HOST_DEMO_PLAN_H */
