/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.c: a buffer whose second half becomes a ring; see output.h.
 */
#include "output.h"
#include "text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 4096

/* The two halves as they are read, and the line between them. */
struct cut {
    size_t head;       /* bytes of the head, from the buffer's begin */
    size_t tail_begin; /* where the tail begins; behind the buffer's end it goes on in the ring's */
    size_t tail;       /* bytes of the tail */
    char line[64];
    size_t line_length;
};

static size_t ring_begin(const output *self)
{
    return self->limit / 2;
}

static size_t ring_size(const output *self)
{
    return self->limit - ring_begin(self);
}

void output_begin(output *self, size_t limit)
{
    *self = (output){.limit = limit};
}

void output_end(output *self)
{
    free(self->bytes);
    self->bytes = NULL;
}

/* Makes room for LENGTH more bytes, or for as many as the limit allows. */
static void grow(output *self, size_t length)
{
    size_t wanted = length < self->limit - self->used ? self->used + length : self->limit;
    if (wanted <= self->capacity)
        return;
    size_t capacity = self->capacity ? self->capacity : FIRST_CAPACITY;
    while (capacity < wanted && capacity <= self->limit / 2)
        capacity *= 2;
    if (capacity < wanted || capacity > self->limit)
        capacity = self->limit;
    char *bytes = realloc(self->bytes, capacity);
    if (bytes) {
        self->bytes = bytes;
        self->capacity = capacity;
    } else {
        self->limit = self->capacity;
    }
}

/* Into the ring, of which the last bytes stay when there are more than it holds. */
static void add_to_ring(output *self, const char *bytes, size_t length)
{
    size_t begin = ring_begin(self);
    size_t size = ring_size(self);
    if (size == 0)
        return;
    if (length > size) {
        /* What would be overwritten at once is not copied; the place moves on all the same. */
        size_t skipped = length - size;
        self->next = begin + (self->next - begin + skipped) % size;
        bytes += skipped;
        length = size;
    }
    size_t first = self->limit - self->next;
    if (first > length)
        first = length;
    memcpy(self->bytes + self->next, bytes, first);
    memcpy(self->bytes + begin, bytes + first, length - first);
    self->next = begin + (self->next - begin + length) % size;
}

void output_add(output *self, const char *bytes, size_t length)
{
    self->total += length;
    if (self->used < self->limit) {
        grow(self, length);
        size_t room = self->limit - self->used;
        size_t taken = length < room ? length : room;
        if (taken)
            memcpy(self->bytes + self->used, bytes, taken);
        self->used += taken;
        bytes += taken;
        length -= taken;
        self->next = ring_begin(self);
    }
    if (length)
        add_to_ring(self, bytes, length);
}

void output_copy(output *self, const output *from)
{
    *self = *from;
    if (!from->bytes)
        return;
    self->bytes = malloc(self->capacity);
    if (self->bytes)
        memcpy(self->bytes, from->bytes, self->used);
    else
        *self = (output){.limit = 0, .total = from->total};
}

static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Only called when bytes were dropped. */
static struct cut find_cut(const output *self)
{
    struct cut cut = {.head = 0};
    size_t begin = ring_begin(self);
    size_t size = ring_size(self);
    size_t skipped = 0;
    if (self->used) {
        cut.head = text_boundary(self->bytes, begin);
        while (skipped < 3 && skipped < size &&
               is_continuation(self->bytes[begin + (self->next - begin + skipped) % size]))
            skipped++;
        cut.tail_begin = begin + (self->next - begin + skipped) % size;
        cut.tail = size - skipped;
    }
    int length = snprintf(cut.line, sizeof cut.line, "%s[... %llu bytes dropped ...]\n",
                          cut.head && self->bytes[cut.head - 1] != '\n' ? "\n" : "",
                          (unsigned long long)(self->total - cut.head - cut.tail));
    cut.line_length = (size_t)length;
    return cut;
}

size_t output_length(const output *self)
{
    if (self->total == self->used)
        return self->used;
    struct cut cut = find_cut(self);
    return cut.head + cut.line_length + cut.tail;
}

uint64_t output_dropped(const output *self)
{
    if (self->total == self->used)
        return 0;
    struct cut cut = find_cut(self);
    return self->total - cut.head - cut.tail;
}

void output_read(const output *self, char *buffer)
{
    if (self->total == self->used) {
        if (self->used)
            memcpy(buffer, self->bytes, self->used);
        return;
    }
    struct cut cut = find_cut(self);
    if (cut.head)
        memcpy(buffer, self->bytes, cut.head);
    buffer += cut.head;
    memcpy(buffer, cut.line, cut.line_length);
    buffer += cut.line_length;
    size_t first = self->limit - cut.tail_begin;
    if (first > cut.tail)
        first = cut.tail;
    if (cut.tail) {
        memcpy(buffer, self->bytes + cut.tail_begin, first);
        memcpy(buffer + first, self->bytes + ring_begin(self), cut.tail - first);
    }
}
