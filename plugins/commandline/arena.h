/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.h: many small allocations that live and end together.
 *
 *     struct arena arena = {0};
 *     thing *thing = arena_get(&arena, sizeof *thing);   // zeroed; NULL: no memory
 *     arena_release(&arena);                             // everything at once
 *
 * Once an allocation has failed every later one fails too, so that a builder may check once, at the
 * end, `failed`; but it must not write through a NULL on the way.
 */
#ifndef CODE_EXECUTOR_ARENA_H
#define CODE_EXECUTOR_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct arena {
    struct arena_chunk *chunks;
    bool failed;
};

void *arena_get(struct arena *arena, size_t size);
/* COUNT elements of SIZE, or NULL where that is more than there can be. */
void *arena_get_array(struct arena *arena, size_t count, size_t size);
/* A copy with a NUL behind it. */
char *arena_copy(struct arena *arena, const char *bytes, size_t length);
void arena_release(struct arena *arena);

#endif /* CODE_EXECUTOR_ARENA_H */
