/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shadow.h: what cmark is shown of a message.
 *
 * Only the block structure of a message is of interest here, but cmark goes on to parse the text of
 * every paragraph, with nodes of more than a hundred bytes for a bracket or a line end. Its shadow is
 * the message with everything replaced that cannot change where a fenced block begins or ends:
 *
 *     message                                   shadow
 *     1. Run [this](http://x), *then*:          1. x
 *        ```python title="a.py"                    ```x
 *        print("<b>")                              x>
 *        if x:                                     x
 *            y()                                       x
 *        ```                                       ```
 *
 * Invariants. Up to where the text begins, a byte of the shadow is a column of the message (less the
 * indentation that all lines share): tabs are shown as the spaces that they stand for. So a place
 * within the structure is a column in both, and code is cut out of the message there. A line of the shadow may stand for several that follow each other in the message and
 * have the same shadow (see shadow.c); fences stand for themselves. Text contains no character that
 * cmark would parse further, and nothing begins a block beyond SHADOW_COLUMNS: nesting is bounded, and
 * so is the time that cmark takes for a line.
 *
 * A shadow is made of a part of the message at a time, from any line on.
 *
 * Not seen by it: that a paragraph holds nothing but link reference definitions.
 */
#ifndef CODE_EXECUTOR_HOST_SHADOW_H
#define CODE_EXECUTOR_HOST_SHADOW_H

#include "message.h"

enum { SHADOW_COLUMNS = 64 };

typedef struct shadow_line {
    size_t at;             /* where it begins in text; it ends before the next one's newline */
    message_place place;   /* of the first line that it stands for */
    unsigned fence_at;     /* where the run of a fence begins within the line: its column */
    unsigned fence_length; /* of the run as it is shown; 0 where the line is no fence */
    bool fence_has_info;
} shadow_line;

typedef struct shadow {
    char *text; /* lines, each with a newline */
    size_t length, text_capacity;
    /* One more than COUNT: the last one begins where the shadow ends. */
    shadow_line *lines;
    size_t count, line_capacity;
    bool is_last; /* it reaches to the end of the message */
} shadow;

/* Fences that stand inside others where fences with an info string nest: what is text in that reading.
 * By the numbers of their lines, in order. */
typedef struct nested_fences {
    size_t *numbers;
    size_t count, capacity;
    bool all_closed; /* this reading leaves no fence open */
} nested_fences;

/* A shadow that is empty and may be made (again and again); to be freed. */
shadow shadow_open(void);
void shadow_free(shadow *made);

/* Shows at most LIMIT lines of the shadow from PLACE on. NESTED may be NULL. False where memory ends. */
bool shadow_make(shadow *made, const message *whole, message_place place, size_t limit,
                 const nested_fences *nested);

/* The length of line INDEX without its newline. */
size_t shadow_line_length(const shadow *made, size_t index);

/* False where memory ends; NESTED must be freed either way. */
bool nested_fences_find(const message *whole, nested_fences *nested);
void nested_fences_free(nested_fences *nested);

#endif /* CODE_EXECUTOR_HOST_SHADOW_H */
