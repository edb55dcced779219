/* SPDX-License-Identifier: Apache-2.0 */
/*
 * review.h: shows what a message would run and where, and asks whether it shall.
 *
 * Attack: the message comes from a model, or from whoever can write to one. What is shown is made
 * visible (no control characters, no reordering), and nothing runs without a `y` or a number that
 * was typed after the question.
 */
#ifndef HOST_DEMO_REVIEW_H
#define HOST_DEMO_REVIEW_H

#include "executors.h"
#include "input.h"
#include "plan.h"

enum review_end {
    REVIEW_RUN,
    REVIEW_NOTHING,
    REVIEW_UNANSWERED, /* there is nobody to answer any more */
    REVIEW_QUIT,       /* and the dialogue shall end */
};

/* Shows PLAN and asks; leaves in it what shall run. */
enum review_end review(struct input *input, const struct executors *executors, struct plan *plan);

#endif /* HOST_DEMO_REVIEW_H */
