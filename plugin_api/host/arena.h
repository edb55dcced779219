/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.h: memory that is freed as a whole, up to a limit.
 */
#ifndef CODE_EXECUTOR_HOST_ARENA_H
#define CODE_EXECUTOR_HOST_ARENA_H

#include <stdbool.h>
#include <stddef.h>

typedef struct arena_chunk arena_chunk;

typedef struct arena {
    arena_chunk *chunks; /* the newest first */
    size_t used;         /* of the newest */
    size_t total, limit; /* bytes in all chunks */
    size_t expected;     /* what the next chunk should hold at least */
    bool limit_reached;
} arena;

void arena_open(arena *memory, size_t limit);
void arena_close(arena *memory);

/* Frees what was allocated, and keeps memory ready for as much again. */
void arena_clear(arena *memory);

/* Not zeroed. NULL where memory ends or the limit is reached. */
void *arena_allocate(arena *memory, size_t size);

/* BLOCK may be NULL. The old block is not given back, except where it was the last one. */
void *arena_reallocate(arena *memory, void *block, size_t size);

#endif /* CODE_EXECUTOR_HOST_ARENA_H */
