/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_language.h: in which language a block is.
 */
#ifndef CODE_EXECUTOR_HOST_BLOCK_LANGUAGE_H
#define CODE_EXECUTOR_HOST_BLOCK_LANGUAGE_H

#include <stddef.h>

/* Bytes within something that outlives them. */
typedef struct text_span {
    const char *bytes;
    size_t length;
} text_span;

/* The language that an info string names: its first word, cut at `,` `:` `{`, unwrapped from `{python}`
 * and `{.python}`. Of length 0 where it names none. */
text_span language_of_info(text_span info);

enum { LONGEST_INFERRED_LANGUAGE = 31 };

/* The language that code without an info string seems to be in; of length 0 where it could be any. It
 * is static or within CODE. */
text_span language_of_code(text_span code);

#endif /* CODE_EXECUTOR_HOST_BLOCK_LANGUAGE_H */
