/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h: what is asked of text in several places.
 */
#ifndef CODE_EXECUTOR_TEXT_H
#define CODE_EXECUTOR_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Without regard to the case of ASCII letters. */
bool text_equal(const char *a, const char *b);

/* LENGTH, or up to three bytes less where that would cut a UTF-8 character of BYTES in two. */
size_t text_boundary(const char *bytes, size_t length);

/* Copies WORD for a message: control characters become `?`, and what does not fit becomes "…".
 * Returns BUFFER. SIZE is at least 8. */
const char *text_shorten(const char *word, char *buffer, size_t size);

#endif /* CODE_EXECUTOR_TEXT_H */
