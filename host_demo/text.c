/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.c: see text.h. Every function that grows memory says when there is none; none aborts.
 */
#include "text.h"
#include "nearest.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

static bool bytes_reserve(struct bytes *to, size_t more)
{
    if (more >= SIZE_MAX / 2 - to->length)
        return false;
    size_t needed = to->length + more + 1;
    if (needed <= to->capacity)
        return true;
    size_t capacity = to->capacity < 32 ? 64 : to->capacity * 2;
    capacity = capacity < needed ? needed : capacity;
    char *data = realloc(to->data, capacity);
    if (data == NULL)
        return false;
    to->data = data;
    to->capacity = capacity;
    return true;
}

bool bytes_append(struct bytes *to, const void *from, size_t length)
{
    if (!bytes_reserve(to, length))
        return false;
    if (length > 0)
        memcpy(to->data + to->length, from, length);
    to->length += length;
    to->data[to->length] = '\0';
    return true;
}

bool bytes_append_text(struct bytes *to, const char *text)
{
    return bytes_append(to, text, strlen(text));
}

bool bytes_format(struct bytes *to, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    bool formatted = length >= 0 && bytes_reserve(to, (size_t)length);
    if (formatted) {
        vsnprintf(to->data + to->length, (size_t)length + 1, format, again);
        to->length += (size_t)length;
    }
    va_end(again);
    return formatted;
}

void bytes_free(struct bytes *held)
{
    free(held->data);
    *held = (struct bytes){0};
}

const char *bytes_text(const struct bytes *held)
{
    return held->data == NULL ? "" : held->data;
}

/* ------------------------------------------------------------------------------------------------
 * UTF-8
 * --------------------------------------------------------------------------------------------- */

size_t utf8_sequence(const char *text, size_t length)
{
    /* By the lead byte: the length, and the range that the second byte must keep (no overlong
     * forms, no surrogates, nothing above U+10FFFF). */
    static const struct {
        unsigned char first, last, low, high, length;
    } forms[] = {
        {0x00, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    if (length == 0)
        return 0;
    const unsigned char *byte = (const unsigned char *)text;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (byte[0] < forms[i].first || byte[0] > forms[i].last)
            continue;
        if (forms[i].length > length ||
            (forms[i].length > 1 && (byte[1] < forms[i].low || byte[1] > forms[i].high)))
            return 0;
        for (size_t k = 2; k < forms[i].length; k++)
            if ((byte[k] & 0xc0) != 0x80)
                return 0;
        return forms[i].length;
    }
    return 0;
}

static uint32_t utf8_decode(const char *text, size_t sequence)
{
    static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t point = (unsigned char)text[0] & masks[sequence];
    for (size_t i = 1; i < sequence; i++)
        point = point << 6 | ((unsigned char)text[i] & 0x3f);
    return point;
}

size_t utf8_columns(const char *text, size_t length)
{
    size_t columns = 0;
    while (length > 0) {
        size_t sequence = utf8_sequence(text, length);
        sequence = sequence == 0 ? 1 : sequence;
        int width = wcwidth((wchar_t)utf8_decode(text, sequence));
        columns += width < 0 ? 1 : (size_t)width;
        text += sequence;
        length -= sequence;
    }
    return columns;
}

/*
 * Attack: code that is shown for approval may hide what it does. A carriage return or an escape
 * sequence overwrites what stands before it, direction overrides make a line read otherwise than it
 * runs, zero-width characters make two names look alike.
 */
static bool hides_something(uint32_t point)
{
    return (point < 0x20 && point != '\t') || (point >= 0x7f && point < 0xa0) || point == 0xad ||
           (point >= 0x200b && point <= 0x200f) || (point >= 0x2028 && point <= 0x202e) ||
           (point >= 0x2060 && point <= 0x206f) || point == 0xfeff || point == 0x061c ||
           (point >= 0xfff9 && point <= 0xfffb) || (point >= 0xe0000 && point <= 0xe0fff);
}

static bool append_one_visible(struct bytes *to, const char *text, size_t sequence, bool newlines)
{
    if (sequence == 0)
        return bytes_format(to, "<%02X>", (unsigned)(unsigned char)*text);
    uint32_t point = utf8_decode(text, sequence);
    if ((point == '\n' && newlines) || !hides_something(point))
        return bytes_append(to, text, sequence);
    if (point < 0x20 || point == 0x7f)
        return bytes_format(to, "^%c", (int)(point ^ 0x40));
    return bytes_format(to, "<U+%04X>", (unsigned)point);
}

bool bytes_append_visible(struct bytes *to, const char *text, size_t length, bool newlines)
{
    while (length > 0) {
        size_t sequence = utf8_sequence(text, length);
        if (!append_one_visible(to, text, sequence, newlines))
            return false;
        sequence = sequence == 0 ? 1 : sequence;
        text += sequence;
        length -= sequence;
    }
    return true;
}

const char *visible(struct bytes *scratch, const char *text)
{
    scratch->length = 0;
    return bytes_append_visible(scratch, text, strlen(text), true) ? bytes_text(scratch) : "";
}

/* Outside of strings JSON has no such character, but for the newlines and blanks between. */
static bool append_json_character(struct bytes *to, const char *text, size_t sequence)
{
    uint32_t point = sequence == 0 ? 0 : utf8_decode(text, sequence);
    if (sequence < 2 && point != 0x7f)
        return bytes_append(to, text, 1);
    if (!hides_something(point))
        return bytes_append(to, text, sequence);
    if (point < 0x10000)
        return bytes_format(to, "\\u%04x", (unsigned)point);
    point -= 0x10000;
    return bytes_format(to, "\\u%04x\\u%04x", (unsigned)(0xd800 + (point >> 10)),
                        (unsigned)(0xdc00 + (point & 0x3ff)));
}

bool bytes_append_json(struct bytes *to, const char *json)
{
    size_t left = strlen(json);
    while (left > 0) {
        size_t sequence = utf8_sequence(json, left);
        if (!append_json_character(to, json, sequence))
            return false;
        sequence = sequence == 0 ? 1 : sequence;
        json += sequence;
        left -= sequence;
    }
    return true;
}

bool bytes_append_wrapped(struct bytes *to, const char *words, size_t columns, size_t indent)
{
    size_t used = indent;
    bool whole = true;
    while (*words != '\0' && whole) {
        size_t blanks = strspn(words, " ");
        size_t length = strcspn(words + blanks, " \n");
        size_t width = blanks + utf8_columns(words + blanks, length);
        if (used > indent && used + width > columns) {
            whole = bytes_format(to, "\n%*s", (int)indent, "");
            used = indent;
            words += blanks;
            width -= blanks;
            blanks = 0;
        }
        whole = whole && bytes_append(to, words, blanks + length);
        used += width;
        words += blanks + length;
        if (*words == '\n') {
            whole = whole && bytes_append_text(to, "\n");
            used = 0;
            words++;
        }
    }
    return whole;
}

/* ------------------------------------------------------------------------------------------------
 * Near misses
 * --------------------------------------------------------------------------------------------- */

const char *nearest_word(const char *word, const char *const *words, size_t count)
{
    size_t length = strlen(word);
    for (size_t i = 0; i < count; i++)
        if (length >= 2 && strncmp(word, words[i], length) == 0)
            return words[i];
    nearest_search search = nearest_begin(word);
    for (size_t i = 0; i < count; i++)
        nearest_consider(&search, words[i]);
    return search.nearest;
}

/* ------------------------------------------------------------------------------------------------
 * Errors, and what runs at the end of a scope
 * --------------------------------------------------------------------------------------------- */

int32_t fail(code_executor_error *error, int32_t status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    error->status = status;
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return status;
}

int32_t fail_no_memory(code_executor_error *error)
{
    return fail(error, CODE_EXECUTOR_NO_MEMORY, "No memory.");
}

void free_text(char **text)
{
    free(*text);
}

void close_descriptor(int *descriptor)
{
    if (*descriptor >= 0)
        close(*descriptor);
}
