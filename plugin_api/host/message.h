/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message.h: the lines of a Markdown message, and columns within them.
 *
 * A line ends with LF, CRLF or CR, as in CommonMark. Lines are found anew on each walk: a table of them
 * would be twenty times as large as a message of newlines.
 *
 * Columns are counted from the beginning of the line as it stands in the message, with a tab stop every
 * four; within the indentation and the marks of quotes and lists, which is where columns matter, every
 * other byte takes one.
 */
#ifndef CODE_EXECUTOR_HOST_MESSAGE_H
#define CODE_EXECUTOR_HOST_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct message {
    const char *bytes;
    size_t length;
    size_t shared_columns; /* of indentation that are no part of the Markdown */
} message;

typedef struct message_line {
    const char *bytes;
    size_t length;
    size_t padding;  /* spaces before bytes: what a cut left of a tab */
    size_t column;   /* of bytes[0] */
    char terminator; /* '\n' (also for CRLF), '\r', or '\0' at the end of the message */
} message_line;

/* Where a line begins, and how many are before it. */
typedef struct message_place {
    size_t offset;
    size_t number;
} message_place;

enum { MESSAGE_TAB_STOP = 4 };

message message_open(const char *bytes, size_t length);

/* The line at *PLACE, which moves to the next one. False at the end of the message. */
bool message_next_line(const message *whole, message_place *place, message_line *line);

/* LINE, as message_next_line gave it, without its first COLUMNS columns. */
message_line message_cut(message_line line, size_t columns);

bool message_is_space(char byte); /* a space or a tab */

/* The column behind BYTE when it stands at COLUMN. */
size_t message_column_behind(size_t column, char byte);

#endif /* CODE_EXECUTOR_HOST_MESSAGE_H */
