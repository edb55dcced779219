/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nearest.h: which of several words somebody probably meant who wrote another.
 */
#ifndef CODE_EXECUTOR_HOST_NEAREST_H
#define CODE_EXECUTOR_HOST_NEAREST_H

#include <stddef.h>

typedef struct nearest_word {
    const char *wanted;
    size_t distance; /* of the best one so far */
    char best[64];
} nearest_word;

void nearest_word_begin(nearest_word *nearest, const char *wanted);
void nearest_word_offer(nearest_word *nearest, const char *candidate);

/* The best one, or NULL where none is near enough to be a slip. */
const char *nearest_word_get(const nearest_word *nearest);

#endif /* CODE_EXECUTOR_HOST_NEAREST_H */
