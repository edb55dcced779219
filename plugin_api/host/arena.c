/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.c: chunks that are filled from the bottom. Each block is preceded by its size, for reallocate.
 */
#include "arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef ARENA_SMALLEST_CHUNK /* the tests want a chunk for every block, so that each may fail */
#define ARENA_SMALLEST_CHUNK ((size_t)64 << 10)
#define ARENA_LARGEST_GROWTH ((size_t)4 << 20)
#endif

enum { ALIGNMENT = 16 };

struct arena_chunk {
    arena_chunk *older;
    size_t capacity;
    _Alignas(ALIGNMENT) unsigned char bytes[];
};

typedef struct block_header {
    _Alignas(ALIGNMENT) size_t size; /* as asked for */
} block_header;

static block_header *header_of(void *block)
{
    return (block_header *)block - 1;
}

static size_t rounded(size_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void arena_open(arena *memory, size_t limit)
{
    *memory = (arena){.limit = limit};
}

void arena_close(arena *memory)
{
    while (memory->chunks != NULL) {
        arena_chunk *older = memory->chunks->older;
        free(memory->chunks);
        memory->chunks = older;
    }
}

void arena_clear(arena *memory)
{
    bool is_one_chunk = memory->chunks != NULL && memory->chunks->older == NULL;
    if (!is_one_chunk) {
        size_t total = memory->total;
        arena_close(memory);
        memory->total = 0;
        memory->expected = total;
    }
    memory->used = 0;
    memory->limit_reached = false;
}

/* Chunks grow with what they add to, so that a small message takes little and a large one few. */
static bool add_chunk(arena *memory, size_t needed)
{
    size_t capacity =
        memory->total / 2 < ARENA_LARGEST_GROWTH ? memory->total / 2 : ARENA_LARGEST_GROWTH;
    capacity = capacity < ARENA_SMALLEST_CHUNK ? ARENA_SMALLEST_CHUNK : capacity;
    capacity = capacity < memory->expected ? memory->expected : capacity;
    memory->expected = 0;
    capacity = capacity < needed ? needed : capacity;
    if (memory->limit < memory->total || memory->limit - memory->total < capacity) {
        memory->limit_reached = true;
        return false;
    }
    arena_chunk *chunk = malloc(sizeof(*chunk) + capacity);
    if (chunk == NULL)
        return false;
    chunk->older = memory->chunks;
    chunk->capacity = capacity;
    memory->chunks = chunk;
    memory->used = 0;
    memory->total += capacity;
    return true;
}

void *arena_allocate(arena *memory, size_t size)
{
    if (size > SIZE_MAX / 2)
        return NULL;
    size_t needed = sizeof(block_header) + rounded(size);
    bool fits = memory->chunks != NULL && memory->chunks->capacity - memory->used >= needed;
    if (!fits && !add_chunk(memory, needed))
        return NULL;
    block_header *header = (block_header *)(void *)(memory->chunks->bytes + memory->used);
    memory->used += needed;
    header->size = size;
    return header + 1;
}

/* Makes room in place where BLOCK is the last one and its chunk has that much. */
static bool extend_last(arena *memory, void *block, size_t size)
{
    unsigned char *begin = block;
    unsigned char *end = begin + rounded(header_of(block)->size);
    if (end != memory->chunks->bytes + memory->used)
        return false;
    size_t before = (size_t)(begin - memory->chunks->bytes);
    if (memory->chunks->capacity - before < rounded(size))
        return false;
    memory->used = before + rounded(size);
    header_of(block)->size = size;
    return true;
}

void *arena_reallocate(arena *memory, void *block, size_t size)
{
    if (block == NULL)
        return arena_allocate(memory, size);
    size_t old_size = header_of(block)->size;
    if (size <= old_size || (size < SIZE_MAX / 2 && extend_last(memory, block, size)))
        return block;
    void *grown = arena_allocate(memory, size);
    if (grown != NULL)
        memcpy(grown, block, old_size);
    return grown;
}
