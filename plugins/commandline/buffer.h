/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffer.h: bytes that are put in at one end and taken out at the other.
 *
 * A buffer that could not grow is marked as failed and takes no more, so that whoever builds a message
 * checks once, at the end.
 */
#ifndef CODE_EXECUTOR_BUFFER_H
#define CODE_EXECUTOR_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct buffer {
    unsigned char *bytes;
    size_t begin; /* what is in it: from here */
    size_t end;   /* to here */
    size_t capacity;
    bool failed;
} buffer;

size_t buffer_length(const buffer *self);
const unsigned char *buffer_data(const buffer *self);

/* Where MORE bytes may be written, to be counted by buffer_written; NULL: no memory. Pointers into the
 * buffer are no longer valid. */
unsigned char *buffer_reserve(buffer *self, size_t more);
void buffer_written(buffer *self, size_t count);

void buffer_append(buffer *self, const void *bytes, size_t length);
void buffer_append_u32(buffer *self, uint32_t value);
/* As strings are in the runner's protocol: a length, then the bytes. */
void buffer_append_string(buffer *self, const char *string);

void buffer_consume(buffer *self, size_t count);
void buffer_clear(buffer *self); /* keeps the memory */
void buffer_free(buffer *self);

#endif /* CODE_EXECUTOR_BUFFER_H */
