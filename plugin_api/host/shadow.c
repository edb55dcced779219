/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shadow.c: writes the shadow of a message, line by line.
 *
 *     line = prefix (white space, >, list markers)  +  what remains
 *            copied                                     one of the kinds below
 *
 * What a prefix looks like may be text in its context (`2. ` within a paragraph, `- ` within code);
 * it does no harm there. cmark decides.
 */
#include "shadow.h"

#include "ascii.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* cmark counts the run of a fence to 255. */
    LONGEST_RUN = 255,
    /* Of a line that may begin an HTML block; the longest tag that stands alone and is seen as one. */
    LONGEST_TAG = 1024,
    /* Digits that a list marker may have. */
    LONGEST_NUMBER = 9,
    /* Equal lines after which the state of the parser repeats itself; see fold. */
    LINES_TO_SETTLE = 4,
    NUMBER_OF_SETTLED_STATES = 2,
};

/* ------------------------------------------------------------------------------------------------
 * Writing
 * --------------------------------------------------------------------------------------------- */

static bool reserve_text(shadow *made, size_t more)
{
    if (made->text_capacity - made->length >= more) {
        return true;
    }
    size_t capacity = 2 * made->text_capacity + more + 256;
    char *grown = realloc(made->text, capacity);
    if (grown == NULL) {
        return false;
    }
    made->text = grown;
    made->text_capacity = capacity;
    return true;
}

static bool put(shadow *made, const char *bytes, size_t length)
{
    if (!reserve_text(made, length)) {
        return false;
    }
    memcpy(made->text + made->length, bytes, length);
    made->length += length;
    return true;
}

static bool put_words(shadow *made, const char *words)
{
    return put(made, words, strlen(words));
}

static bool reserve_line(shadow *made)
{
    if (made->count + 1 < made->line_capacity) {
        return true;
    }
    size_t capacity = 2 * made->line_capacity + 64;
    shadow_line *grown = realloc(made->lines, capacity * sizeof(*grown));
    if (grown == NULL) {
        return false;
    }
    made->lines = grown;
    made->line_capacity = capacity;
    return true;
}

size_t shadow_line_length(const shadow *made, size_t index)
{
    return made->lines[index + 1].at - made->lines[index].at - 1;
}

/* ------------------------------------------------------------------------------------------------
 * What remains of a line behind its prefix
 * --------------------------------------------------------------------------------------------- */

typedef struct rest {
    const char *bytes;
    size_t length;
} rest;

static size_t run_length(rest line, char byte)
{
    size_t length = 0;
    while (length < line.length && line.bytes[length] == byte) {
        length++;
    }
    return length;
}

static bool contains(rest line, const char *words)
{
    return memmem(line.bytes, line.length, words, strlen(words)) != NULL;
}

static bool is_blank(rest line)
{
    for (size_t i = 0; i < line.length; i++) {
        if (!message_is_space(line.bytes[i])) {
            return false;
        }
    }
    return true;
}

/* Whether one of the end tags of CommonMark's first kind of HTML block is in LINE. */
static bool contains_end_tag(rest line)
{
    static const char *const tags[] = {"</script>", "</pre>", "</style>", "</textarea>"};
    const char *end = line.bytes + line.length;
    for (const char *at = line.bytes; (at = memmem(at, (size_t)(end - at), "</", 2)) != NULL;
         at++) {
        for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
            size_t length = strlen(tags[i]);
            if ((size_t)(end - at) >= length && ascii_equal(at, tags[i], length)) {
                return true;
            }
        }
    }
    return false;
}

/* The ends of HTML blocks that are in LINE: they count wherever they stand in it. */
static bool put_html_ends(shadow *made, rest line)
{
    if (memchr(line.bytes, '>', line.length) == NULL) {
        return true;
    }
    return put_words(made, ">") && (!contains(line, "-->") || put_words(made, "-->")) &&
           (!contains(line, "?>") || put_words(made, "?>")) &&
           (!contains(line, "]]>") || put_words(made, "]]>")) &&
           (!contains_end_tag(line) || put_words(made, "</pre>"));
}

static bool put_text(shadow *made, rest line)
{
    return put_words(made, "x") && put_html_ends(made, line);
}

/* ``` or ~~~, a fence or the end of one. Backticks with another behind them are text. */
static bool is_fence(rest line)
{
    enum { SHORTEST_RUN = 3 };
    size_t run = run_length(line, line.bytes[0]);
    bool backticks = line.bytes[0] == '`';
    return (backticks || line.bytes[0] == '~') && run >= SHORTEST_RUN &&
           !(backticks && memchr(line.bytes + run, '`', line.length - run) != NULL);
}

static bool put_fence(shadow *made, rest line)
{
    shadow_line *shown = &made->lines[made->count];
    size_t run = run_length(line, line.bytes[0]);
    rest info = {line.bytes + run, line.length - run};
    shown->fence_at = (unsigned)(made->length - shown->at);
    shown->fence_length = (unsigned)(run < LONGEST_RUN ? run : LONGEST_RUN);
    shown->fence_has_info = !is_blank(info);
    return put(made, line.bytes, shown->fence_length) &&
           (!shown->fence_has_info || put_text(made, info));
}

/* # Heading */
static bool is_heading(rest line)
{
    enum { LOWEST_LEVEL = 6 };
    size_t run = run_length(line, '#');
    return run > 0 && run <= LOWEST_LEVEL &&
           (run == line.length || message_is_space(line.bytes[run]));
}

static bool put_heading(shadow *made, rest line)
{
    return put_words(made, "# ") && put_text(made, line);
}

/* A thematic break or the underline of a heading; where it begins and what it is made of counts. */
static bool is_rule(rest line)
{
    char mark = line.bytes[0];
    if (mark == '\0' || strchr("*-_=", mark) == NULL) {
        return false;
    }
    for (size_t i = 0; i < line.length; i++) {
        if (line.bytes[i] != mark && !message_is_space(line.bytes[i])) {
            return false;
        }
    }
    return true;
}

static bool put_rule(shadow *made, rest line)
{
    return put(made, line.bytes, line.length < SHADOW_COLUMNS ? line.length : SHADOW_COLUMNS);
}

/* What may begin an HTML block. */
static bool is_tag(rest line)
{
    return line.bytes[0] == '<';
}

/*
 * The byte of a tag that is shown for the one at INDEX of LINE. What the text of a paragraph would be
 * parsed for is put into the same class of characters as far as a tag goes: `+` is no part of a name,
 * and ` none of a value without quotes, as `<`. The ends of HTML blocks stay.
 */
static char tag_byte(rest line, size_t index)
{
    char byte = line.bytes[index];
    bool begins_end_tag = index + 1 < line.length && line.bytes[index + 1] == '/';
    if (byte == '<') {
        return index == 0 || begins_end_tag ? '<' : '`';
    }
    bool introduces = index < strlen("<![CDATA["); /* says which kind of block this is */
    bool special = byte == '\0' || byte == '\\' || byte == '&' || byte == '*';
    bool bracket = !introduces && (byte == '!' || byte == '[');
    return special || bracket ? '+' : byte == '_' ? 'x' : byte;
}

static bool put_tag(shadow *made, rest line)
{
    size_t shown = line.length < LONGEST_TAG ? line.length : LONGEST_TAG;
    if (!reserve_text(made, shown)) {
        return false;
    }
    for (size_t i = 0; i < shown; i++) {
        made->text[made->length++] = tag_byte(line, i);
    }
    return shown == line.length || put_text(made, line);
}

typedef struct kind {
    bool (*is)(rest line);
    bool (*put)(shadow *made, rest line);
} kind;

static bool is_text(rest line)
{
    (void)line;
    return true;
}

static const kind kinds[] = {
    {is_fence, put_fence}, {is_heading, put_heading}, {is_rule, put_rule},
    {is_tag, put_tag},     {is_text, put_text},
};

/* ------------------------------------------------------------------------------------------------
 * The prefix
 * --------------------------------------------------------------------------------------------- */

/* White space as cmark sees it behind a list marker. */
static bool ends_marker(rest line, size_t at)
{
    return at == line.length ||
           (line.bytes[at] != '\0' && strchr(" \t\v\f", line.bytes[at]) != NULL);
}

/* The length of the container's marker that LINE begins with, or 0. */
static size_t marker_length(rest line)
{
    char first = line.length > 0 ? line.bytes[0] : 'x';
    if (first == '>') {
        return 1;
    }
    if (first == '-' || first == '+' || first == '*') {
        return ends_marker(line, 1) ? 1 : 0;
    }
    size_t digits = 0;
    while (digits < line.length && digits < LONGEST_NUMBER && line.bytes[digits] >= '0' &&
           line.bytes[digits] <= '9') {
        digits++;
    }
    bool delimited = digits > 0 && digits < line.length &&
                     (line.bytes[digits] == '.' || line.bytes[digits] == ')');
    return delimited && ends_marker(line, digits + 1) ? digits + 1 : 0;
}

/* Shows white space and markers and takes them from LINE. */
static bool put_prefix(shadow *made, rest *line, size_t column)
{
    while (line->length > 0 && column < SHADOW_COLUMNS) {
        size_t length = message_is_space(line->bytes[0]) ? 1 : marker_length(*line);
        if (length == 0) {
            break;
        }
        if (!put(made, line->bytes, length)) {
            return false;
        }
        column = length == 1 ? message_column_behind(column, line->bytes[0]) : column + length;
        line->bytes += length;
        line->length -= length;
    }
    return true;
}

static bool put_line(shadow *made, const message_line *line)
{
    rest remaining = {line->bytes, line->length};
    bool done = put(made, "    ", line->padding) && put_prefix(made, &remaining, line->padding);
    if (!done || is_blank(remaining)) {
        return done;
    }
    if (message_is_space(remaining.bytes[0]) || marker_length(remaining) > 0) {
        return put_text(made, remaining); /* beyond SHADOW_COLUMNS */
    }
    const kind *which = kinds;
    while (!which->is(remaining)) {
        which++;
    }
    return which->put(made, remaining);
}

/* ------------------------------------------------------------------------------------------------
 * Lines
 * --------------------------------------------------------------------------------------------- */

static bool same_as_previous(const shadow *made, size_t index)
{
    const shadow_line *line = &made->lines[index];
    size_t length = shadow_line_length(made, index);
    return index > 0 && line->fence_length == 0 && length == shadow_line_length(made, index - 1) &&
           memcmp(made->text + line->at, made->text + line[-1].at, length) == 0;
}

/*
 * Drops what a long run of equal lines adds. The state of a block parser depends on the line and on
 * the state before it: after a few equal lines it stays as it is, or alternates (`===` underlines a
 * paragraph, is one, underlines it …). So of a run only its beginning is shown, and one line more where
 * the number is odd; the last line shown before a dropped one stands for it.
 * Returns how many lines the run that ends the shadow now has.
 */
static size_t fold(shadow *made, size_t run)
{
    if (run < LINES_TO_SETTLE + NUMBER_OF_SETTLED_STATES) {
        return run;
    }
    made->count -= NUMBER_OF_SETTLED_STATES;
    made->length = made->lines[made->count].at;
    return run - NUMBER_OF_SETTLED_STATES;
}

bool shadow_make(const message *whole, shadow *made)
{
    *made = (shadow){0};
    size_t run = 0;
    size_t number = 0;
    size_t offset = 0;
    for (message_line line;; number++) {
        if (!reserve_line(made)) {
            return false;
        }
        made->lines[made->count] =
            (shadow_line){.at = made->length, .offset = offset, .number = number};
        if (!message_next_line(whole, &offset, &line)) {
            return true;
        }
        if (!put_line(made, &line) || !put(made, "\n", 1)) {
            return false;
        }
        made->lines[made->count + 1].at = made->length; /* reserve_line keeps room for the end */
        run = same_as_previous(made, made->count) ? run + 1 : 1;
        made->count++;
        run = fold(made, run);
    }
}

void shadow_free(shadow *made)
{
    free(made->text);
    free(made->lines);
    *made = (shadow){0};
}

/* ------------------------------------------------------------------------------------------------
 * Nested fences
 * --------------------------------------------------------------------------------------------- */

typedef struct open_fence {
    char mark;
    unsigned length;
} open_fence;

/* A fence that stands within another, as if it were text. */
static void make_text(shadow *made, shadow_line *line)
{
    memset(made->text + line->at + line->fence_at, 'x', line->fence_length);
    line->fence_length = 0;
}

/*
 * Follows the fences of a nested reading; OPEN has room for all of them. Returns how many stand within
 * another, which are made text where CHANGE is true, and sets *LEFT_OPEN to how many are not closed.
 */
static size_t walk_nested(shadow *made, open_fence *open, bool change, size_t *left_open)
{
    size_t nested = 0;
    size_t depth = 0;
    for (size_t i = 0; i < made->count; i++) {
        shadow_line *line = &made->lines[i];
        open_fence found = {made->text[line->at + line->fence_at], line->fence_length};
        bool ignored = depth > 0 && (found.mark != open[depth - 1].mark ||
                                     found.length < open[depth - 1].length);
        if (found.length == 0 || ignored) {
            continue; /* an open fence hides it from CommonMark, too */
        }
        bool closes = depth > 0 && !line->fence_has_info;
        size_t depth_around = closes ? depth - 1 : depth;
        open[depth_around] = found; /* not read again where it closes */
        depth = closes ? depth - 1 : depth + 1;
        if (depth_around > 0) {
            nested++;
            if (change) {
                make_text(made, line);
            }
        }
    }
    *left_open = depth;
    return nested;
}

bool shadow_nest_fences(shadow *made)
{
    open_fence *open = malloc((made->count + 1) * sizeof(*open));
    if (open == NULL) {
        return false;
    }
    size_t left_open = 0;
    bool nests = walk_nested(made, open, false, &left_open) > 0 && left_open == 0;
    if (nests) {
        walk_nested(made, open, true, &left_open);
    }
    free(open);
    return nests;
}
