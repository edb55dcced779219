/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message.c: cuts a message into lines and finds the indentation that all lines share.
 */
#include "message.h"

#include <stdint.h>
#include <string.h>

/* Less than this is no indentation of the message: CommonMark ignores up to three columns anyway. */
enum { LEAST_SHARED_COLUMNS = 4 };

static const char byte_order_mark[] = "\xEF\xBB\xBF";

bool message_is_space(char byte)
{
    return byte == ' ' || byte == '\t';
}

size_t message_column_behind(size_t column, char byte)
{
    return byte == '\t' ? column + MESSAGE_TAB_STOP - column % MESSAGE_TAB_STOP : column + 1;
}

bool message_next_line(const message *whole, message_place *place, message_line *line)
{
    if (place->offset >= whole->length)
        return false;
    const char *begin = whole->bytes + place->offset;
    size_t left = whole->length - place->offset;
    size_t length = 0;
    while (length < left && begin[length] != '\n' && begin[length] != '\r')
        length++;
    size_t behind = length < left ? length + 1 : length;
    char terminator = length < left ? begin[length] : '\0';
    if (terminator == '\r' && behind < left && begin[behind] == '\n') {
        terminator = '\n';
        behind++;
    }
    *line = (message_line){.bytes = begin, .length = length, .terminator = terminator};
    place->offset += behind;
    place->number++;
    return true;
}

/* Columns of white space that LINE begins with, at most LIMIT; SIZE_MAX for a blank line. */
static size_t indentation(const message_line *line, size_t limit)
{
    size_t column = 0;
    for (size_t i = 0; i < line->length; i++) {
        if (!message_is_space(line->bytes[i]))
            return column < limit ? column : limit;
        column = message_column_behind(column, line->bytes[i]);
    }
    return SIZE_MAX;
}

message message_open(const char *bytes, size_t length)
{
    size_t mark = sizeof(byte_order_mark) - 1;
    if (length >= mark && memcmp(bytes, byte_order_mark, mark) == 0) {
        bytes += mark;
        length -= mark;
    }
    message whole = {.bytes = bytes, .length = length};
    size_t shared = SIZE_MAX;
    message_place place = {0};
    message_line line;
    while (shared >= LEAST_SHARED_COLUMNS && message_next_line(&whole, &place, &line)) {
        size_t columns = indentation(&line, shared);
        shared = columns < shared ? columns : shared;
    }
    whole.shared_columns = shared >= LEAST_SHARED_COLUMNS && shared != SIZE_MAX ? shared : 0;
    return whole;
}

message_line message_cut(message_line line, size_t columns)
{
    while (line.column < columns && line.length > 0) {
        line.column = message_column_behind(line.column, line.bytes[0]);
        line.bytes++;
        line.length--;
    }
    line.padding = line.column > columns ? line.column - columns : 0;
    return line;
}
