/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message.h: the lines of a Markdown message, without the indentation that all of them share.
 *
 * A line ends with LF, CRLF or CR, as in CommonMark. Lines are found anew on each walk: a table of them
 * would be twenty times as large as a message of newlines.
 */
#ifndef CODE_EXECUTOR_HOST_MESSAGE_H
#define CODE_EXECUTOR_HOST_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct message {
    const char *bytes;
    size_t length;
    size_t shared_columns; /* of indentation that each line loses */
} message;

/* One line: PADDING spaces (what is left of a tab that was cut in two), then LENGTH bytes. */
typedef struct message_line {
    size_t padding;
    const char *bytes;
    size_t length;
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

bool message_is_space(char byte); /* a space or a tab */

/* The column behind BYTE when it stands at COLUMN. */
size_t message_column_behind(size_t column, char byte);

#endif /* CODE_EXECUTOR_HOST_MESSAGE_H */
