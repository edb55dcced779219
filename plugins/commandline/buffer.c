/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffer.c: see buffer.h.
 */
#include "buffer.h"

#include "runner/protocol.h"
#include <stdlib.h>
#include <string.h>

enum { SMALLEST = 512 };

size_t buffer_length(const buffer *self)
{
    return self->end - self->begin;
}

const unsigned char *buffer_data(const buffer *self)
{
    return self->bytes ? self->bytes + self->begin : NULL;
}

static bool grow(buffer *self, size_t needed)
{
    size_t capacity = self->capacity ? self->capacity : SMALLEST;
    while (capacity < needed) {
        if (capacity > SIZE_MAX / 2)
            return false;
        capacity *= 2;
    }
    unsigned char *larger = malloc(capacity);
    if (!larger)
        return false;
    size_t length = buffer_length(self);
    if (length > 0)
        memcpy(larger, self->bytes + self->begin, length);
    free(self->bytes);
    *self = (buffer){.bytes = larger, .end = length, .capacity = capacity};
    return true;
}

unsigned char *buffer_reserve(buffer *self, size_t more)
{
    size_t length = buffer_length(self);
    if (self->failed || more > SIZE_MAX - length) {
        self->failed = true;
        return NULL;
    }
    if (more <= self->capacity - self->end && self->bytes)
        return self->bytes + self->end;
    /* Moving is worth it only when it is rare: when what moves is at most what was taken out. */
    if (self->bytes && length + more <= self->capacity && length <= self->begin) {
        memcpy(self->bytes, self->bytes + self->begin, length);
        self->begin = 0;
        self->end = length;
    } else if (!grow(self, length + more)) {
        self->failed = true;
        return NULL;
    }
    return self->bytes + self->end;
}

void buffer_written(buffer *self, size_t count)
{
    self->end += count;
}

void buffer_append(buffer *self, const void *bytes, size_t length)
{
    if (length == 0)
        return;
    unsigned char *at = buffer_reserve(self, length);
    if (at) {
        memcpy(at, bytes, length);
        buffer_written(self, length);
    }
}

void buffer_append_u32(buffer *self, uint32_t value)
{
    unsigned char bytes[4];
    put_u32(bytes, value);
    buffer_append(self, bytes, sizeof bytes);
}

void buffer_append_string(buffer *self, const char *string)
{
    size_t length = strlen(string);
    if (length > UINT32_MAX) {
        self->failed = true;
        return;
    }
    buffer_append_u32(self, (uint32_t)length);
    buffer_append(self, string, length);
}

void buffer_consume(buffer *self, size_t count)
{
    self->begin += count;
    if (self->begin == self->end) {
        self->begin = 0;
        self->end = 0;
    }
}

void buffer_clear(buffer *self)
{
    self->begin = 0;
    self->end = 0;
    self->failed = false;
}

void buffer_free(buffer *self)
{
    free(self->bytes);
    *self = (buffer){0};
}
