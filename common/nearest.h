/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nearest.h: what somebody who misspelt a word probably meant.
 *
 *     nearest_search search = nearest_begin("memroy");
 *     for each known word: nearest_consider(&search, word);
 *     search.nearest: "memory", or NULL when nothing is near
 */
#ifndef CODE_EXECUTOR_NEAREST_H
#define CODE_EXECUTOR_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

typedef struct nearest_search {
    const char *word;
    const char *nearest;
    size_t distance; /* of nearest; a word farther away than this is not considered near */
} nearest_search;

nearest_search nearest_begin(const char *word);

/* Whether KNOWN is now the nearest. It must live as long as the search is read, or be copied then. */
bool nearest_consider(nearest_search *search, const char *known);

#endif /* CODE_EXECUTOR_NEAREST_H */
