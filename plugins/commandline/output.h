/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.h: what a block writes, kept within a bound however much it is.
 *
 * One buffer that grows up to the limit. Once it is full its first half stays as it is, and the
 * second becomes a ring in which the newest bytes take the place of the oldest:
 *
 *     ┌────────────── head ───────────────┬──────────── tail, a ring ───────────┐
 *     │ the first bytes                    │ …newest │ oldest…                   │
 *     └────────────────────────────────────┴─────────┴───────────────────────────┘
 *
 * So taking bytes in costs one copy of at most as many bytes as are kept. Read out, there is a line
 * between the halves that says how many bytes were dropped; neither half ends or begins within a
 * UTF-8 character that the other side of the cut has lost.
 *
 * Where memory runs out the limit is what there is by then.
 */
#ifndef CODE_EXECUTOR_OUTPUT_H
#define CODE_EXECUTOR_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct output {
    char *bytes;
    size_t limit;    /* bytes that are kept */
    size_t capacity; /* of the buffer, at most limit */
    size_t used;     /* of the buffer */
    size_t next;     /* where the ring goes on, once used is limit */
    uint64_t total;  /* bytes taken in */
} output;

void output_begin(output *self, size_t limit);
void output_add(output *self, const char *bytes, size_t length);

/* Makes SELF, which is empty, what FROM is. */
void output_copy(output *self, const output *from);

/* The length of what there is to read, and the text itself, into a buffer as large as that. */
size_t output_length(const output *self);
void output_read(const output *self, char *buffer);

/* How many bytes are not there to read. */
uint64_t output_dropped(const output *self);

void output_end(output *self);

#endif /* CODE_EXECUTOR_OUTPUT_H */
