/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.c: a list of chunks; what is larger than one gets a chunk of its own. See arena.h.
 */
#include "arena.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_SIZE 2048

struct arena_chunk {
    struct arena_chunk *next;
    size_t size;
    size_t used;
    _Alignas(max_align_t) unsigned char bytes[];
};

static struct arena_chunk *new_chunk(size_t size)
{
    if (size > SIZE_MAX - sizeof(struct arena_chunk))
        return NULL;
    struct arena_chunk *chunk = calloc(1, sizeof *chunk + size);
    if (chunk)
        chunk->size = size;
    return chunk;
}

void *arena_get(struct arena *arena, size_t size)
{
    const size_t alignment = _Alignof(max_align_t);
    if (arena->failed || size > SIZE_MAX - alignment) {
        arena->failed = true;
        return NULL;
    }
    size = (size + alignment - 1) / alignment * alignment;
    struct arena_chunk *chunk = arena->chunks;
    if (!chunk || chunk->size - chunk->used < size) {
        struct arena_chunk *fresh = new_chunk(size > CHUNK_SIZE ? size : CHUNK_SIZE);
        if (!fresh) {
            arena->failed = true;
            return NULL;
        }
        fresh->next = chunk;
        arena->chunks = chunk = fresh;
    }
    void *bytes = chunk->bytes + chunk->used;
    chunk->used += size;
    return bytes;
}

void *arena_get_array(struct arena *arena, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size) {
        arena->failed = true;
        return NULL;
    }
    return arena_get(arena, count * size);
}

char *arena_copy(struct arena *arena, const char *bytes, size_t length)
{
    char *copy = length < SIZE_MAX ? arena_get(arena, length + 1) : NULL;
    if (copy && length)
        memcpy(copy, bytes, length);
    return copy;
}

void arena_release(struct arena *arena)
{
    while (arena->chunks) {
        struct arena_chunk *next = arena->chunks->next;
        free(arena->chunks);
        arena->chunks = next;
    }
}
