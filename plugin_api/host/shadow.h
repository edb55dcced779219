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
 * Invariants. Each line of the shadow begins with the very bytes of its line of the message, up to
 * where the text begins: so a place within the structure is the same in both, and code is cut out of
 * the message. A line of the shadow may stand for several that follow each other in the message and
 * have the same shadow (see shadow.c); fences stand for themselves. Text contains no character that
 * cmark would parse further, and nothing begins a block beyond SHADOW_COLUMNS: nesting is bounded, and
 * so is the time that cmark takes for a line.
 *
 * Not seen by it: that a paragraph holds nothing but link reference definitions.
 */
#ifndef CODE_EXECUTOR_HOST_SHADOW_H
#define CODE_EXECUTOR_HOST_SHADOW_H

#include "message.h"

enum { SHADOW_COLUMNS = 64 };

typedef struct shadow_line {
    size_t at;             /* where it begins in text; it ends before the next one's newline */
    size_t offset;         /* where the first line that it stands for begins in the message */
    size_t number;         /* of that line in the message, from 0 */
    unsigned fence_at;     /* where the run of a fence begins within the line */
    unsigned fence_length; /* of the run as it is shown; 0 where the line is no fence */
    bool fence_has_info;
} shadow_line;

typedef struct shadow {
    char *text; /* lines, each with a newline */
    size_t length, text_capacity;
    /* One more than COUNT: the last one begins at the end. */
    shadow_line *lines;
    size_t count, line_capacity;
} shadow;

/* False where memory ends; SHADOW must be freed either way. */
bool shadow_make(const message *whole, shadow *made);
void shadow_free(shadow *made);

/* The length of line INDEX without its newline. */
size_t shadow_line_length(const shadow *made, size_t index);

/*
 * Makes plain text of every fence that stands inside another when fences with an info string nest:
 * in place, at the same lengths. False, and nothing is changed, where no fence does, or where the
 * nested reading leaves one open.
 */
bool shadow_nest_fences(shadow *made);

#endif /* CODE_EXECUTOR_HOST_SHADOW_H */
