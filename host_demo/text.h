/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h: bytes that grow, UTF-8, near misses, errors in words: what the other files of this folder
 * need of strings. Nothing here knows what an executor is, but for the shape of its error.
 */
#ifndef HOST_DEMO_TEXT_H
#define HOST_DEMO_TEXT_H

#include <code_executor.h>
#include <stdbool.h>
#include <stddef.h>

/* Runs FUNCTION on the address of the variable when it goes out of scope. */
#define CLEANUP(function) __attribute__((cleanup(function)))

/* Bytes that grow. All zero is empty; data is NUL-terminated once something was appended. */
struct bytes {
    char *data;
    size_t length;
    size_t capacity;
};

/* False: no memory, and nothing was appended. */
bool bytes_append(struct bytes *to, const void *from, size_t length);
bool bytes_append_text(struct bytes *to, const char *text);
bool bytes_format(struct bytes *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
void bytes_free(struct bytes *held);

/* What the text holds, "" for one that is empty. */
const char *bytes_text(const struct bytes *held);

/*
 * Appends LENGTH bytes of text that is not to be trusted, so that a person sees what is there:
 * control characters, direction marks that reorder a line, and bytes that are not UTF-8 stand as
 * <U+202E> or ^[. Tabs stay, newlines where NEWLINES says so.
 */
bool bytes_append_visible(struct bytes *to, const char *text, size_t length, bool newlines);

/* The same for a whole text, newlines aside, in SCRATCH, which the caller frees; "" where memory ends. */
const char *visible(struct bytes *scratch, const char *text);

/* Appends JSON text, in which what a terminal must not be sent stands as \\u202e: JSON escapes no more
 * than the characters below the blank. */
bool bytes_append_json(struct bytes *to, const char *json);

/* Appends WORDS in lines of at most COLUMNS, broken between words, with INDENT spaces before
 * each (the caller puts them before the first, or leaves them out). Its own newlines stay. */
bool bytes_append_wrapped(struct bytes *to, const char *words, size_t columns, size_t indent);

/* Length of the well-formed UTF-8 sequence at the front of LENGTH bytes; 0 where there is none. */
size_t utf8_sequence(const char *text, size_t length);

/* Columns that valid UTF-8 takes on a terminal, about. */
size_t utf8_columns(const char *text, size_t length);

/* The one of COUNT words that begins with WORD, else the one that is nearest, or NULL. */
const char *nearest_word(const char *word, const char *const *words, size_t count);

/* Fills ERROR and returns STATUS. */
int32_t fail(code_executor_error *error, int32_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int32_t fail_no_memory(code_executor_error *error);

/* For CLEANUP: free() and close(). */
void free_text(char **text);
void close_descriptor(int *descriptor);

#endif /* HOST_DEMO_TEXT_H */
