/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shadow.c: writes the shadow of a message, line by line.
 *
 *     line = prefix (white space, >, list markers)  +  what remains
 *            copied, tabs as spaces                     one of the kinds below
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
    if (made->text != NULL && made->text_capacity - made->length >= more)
        return true;
    size_t capacity = 2 * made->text_capacity + more + 256;
    char *grown = realloc(made->text, capacity);
    if (grown == NULL)
        return false;
    made->text = grown;
    made->text_capacity = capacity;
    return true;
}

static bool put(shadow *made, const char *bytes, size_t length)
{
    if (!reserve_text(made, length))
        return false;
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
    if (made->count + 1 < made->line_capacity)
        return true;
    size_t capacity = 2 * made->line_capacity + 64;
    shadow_line *grown = realloc(made->lines, capacity * sizeof(*grown));
    if (grown == NULL)
        return false;
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
    while (length < line.length && line.bytes[length] == byte)
        length++;
    return length;
}

static bool contains(rest line, const char *words)
{
    return memmem(line.bytes, line.length, words, strlen(words)) != NULL;
}

static bool is_blank(rest line)
{
    for (size_t i = 0; i < line.length; i++)
        if (!message_is_space(line.bytes[i]))
            return false;
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
            if ((size_t)(end - at) >= length && ascii_equal(at, tags[i], length))
                return true;
        }
    }
    return false;
}

/* The ends of HTML blocks that are in LINE: they count wherever they stand in it. */
static bool put_html_ends(shadow *made, rest line)
{
    if (memchr(line.bytes, '>', line.length) == NULL)
        return true;
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
    if (mark == '\0' || strchr("*-_=", mark) == NULL)
        return false;
    for (size_t i = 0; i < line.length; i++)
        if (line.bytes[i] != mark && !message_is_space(line.bytes[i]))
            return false;
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
 * a ` none of a value without quotes, as `<`, and `:` begins the name of an attribute but not of a tag,
 * as `_`. The ends of HTML blocks stay.
 */
static char tag_byte(rest line, size_t index)
{
    char byte = line.bytes[index];
    bool begins_end_tag = index + 1 < line.length && line.bytes[index + 1] == '/';
    if (byte == '<')
        return index == 0 || begins_end_tag ? '<' : '`';
    bool introduces = index < strlen("<![CDATA["); /* says which kind of block this is */
    bool special = byte == '\0' || byte == '\\' || byte == '&' || byte == '*';
    bool bracket = !introduces && (byte == '!' || byte == '[');
    return special || bracket ? '+' : byte == '_' ? ':' : byte;
}

static bool put_tag(shadow *made, rest line)
{
    size_t shown = line.length < LONGEST_TAG ? line.length : LONGEST_TAG;
    if (!reserve_text(made, shown))
        return false;
    for (size_t i = 0; i < shown; i++)
        made->text[made->length++] = tag_byte(line, i);
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

/* cmark would take a form feed, too; CommonMark does not. */
static bool ends_marker(rest line, size_t at)
{
    return at == line.length || message_is_space(line.bytes[at]);
}

/* The length of the container's marker that LINE begins with, or 0. */
static size_t marker_length(rest line)
{
    char first = line.length > 0 ? line.bytes[0] : 'x';
    if (first == '>')
        return 1;
    if (first == '-' || first == '+' || first == '*')
        return ends_marker(line, 1) ? 1 : 0;
    size_t digits = 0;
    while (digits < line.length && digits < LONGEST_NUMBER && line.bytes[digits] >= '0' &&
           line.bytes[digits] <= '9')
        digits++;
    bool delimited = digits > 0 && digits < line.length &&
                     (line.bytes[digits] == '.' || line.bytes[digits] == ')');
    return delimited && ends_marker(line, digits + 1) ? digits + 1 : 0;
}

/* Shows white space and markers and takes them from LINE, whose first byte is at COLUMN. */
static bool put_prefix(shadow *made, rest *line, size_t column)
{
    static const char tab[] = "    ";
    size_t limit = column + SHADOW_COLUMNS;
    while (line->length > 0 && column < limit) {
        bool is_tab = line->bytes[0] == '\t';
        size_t length = message_is_space(line->bytes[0]) ? 1 : marker_length(*line);
        size_t behind = is_tab ? message_column_behind(column, '\t') : column + length;
        if (length == 0)
            break;
        if (!put(made, is_tab ? tab : line->bytes, behind - column))
            return false;
        column = behind;
        line->bytes += length;
        line->length -= length;
    }
    return true;
}

static bool put_line(shadow *made, const message_line *line)
{
    rest remaining = {line->bytes, line->length};
    bool done = put(made, "   ", line->padding) && put_prefix(made, &remaining, line->column);
    if (!done || is_blank(remaining))
        return done;
    if (message_is_space(remaining.bytes[0]) || marker_length(remaining) > 0)
        return put_text(made, remaining); /* beyond SHADOW_COLUMNS */
    const kind *which = kinds;
    while (!which->is(remaining))
        which++;
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
    if (run < LINES_TO_SETTLE + NUMBER_OF_SETTLED_STATES)
        return run;
    made->count -= NUMBER_OF_SETTLED_STATES;
    made->length = made->lines[made->count].at;
    return run - NUMBER_OF_SETTLED_STATES;
}

/* Shows the line of the message at *PLACE, which moves behind it; leaves count as it is. False at the
 * end of the message, and (see ENOUGH_MEMORY) where memory ends. */
static bool show_next(shadow *made, const message *whole, message_place *place, bool *enough_memory)
{
    *enough_memory = reserve_line(made);
    if (!*enough_memory)
        return false;
    made->lines[made->count] = (shadow_line){.at = made->length, .place = *place};
    message_line line;
    if (!message_next_line(whole, place, &line))
        return false;
    line = message_cut(line, whole->shared_columns);
    *enough_memory = put_line(made, &line) && put(made, "\n", 1);
    return *enough_memory;
}

/* A nested fence, as if it were text. */
static void make_text(shadow *made, shadow_line *line)
{
    memset(made->text + line->at + line->fence_at, 'x', line->fence_length);
    line->fence_length = 0;
}

/* The index of the first nested fence at or behind line NUMBER. */
static size_t first_nested(const nested_fences *nested, size_t number)
{
    size_t low = 0;
    for (size_t high = nested->count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (nested->numbers[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool shadow_make(shadow *made, const message *whole, message_place place, size_t limit,
                 const nested_fences *nested)
{
    static const nested_fences none = {0};
    nested = nested == NULL ? &none : nested;
    size_t next_nested = first_nested(nested, place.number);
    size_t run = 0;
    made->length = made->count = 0;
    bool enough_memory = true;
    while (made->count < limit && show_next(made, whole, &place, &enough_memory)) {
        shadow_line *line = &made->lines[made->count];
        if (next_nested < nested->count && nested->numbers[next_nested] == line->place.number) {
            make_text(made, line);
            next_nested++;
        }
        line[1] = (shadow_line){.at = made->length, .place = place}; /* the end, for now */
        run = same_as_previous(made, made->count) ? run + 1 : 1;
        made->count++;
        run = fold(made, run);
    }
    made->is_last = place.offset >= whole->length;
    return enough_memory;
}

shadow shadow_open(void)
{
    return (shadow){0};
}

void shadow_free(shadow *made)
{
    free(made->text);
    free(made->lines);
    *made = shadow_open();
}

/* ------------------------------------------------------------------------------------------------
 * Nested fences
 * --------------------------------------------------------------------------------------------- */

typedef struct open_fence {
    char mark;
    unsigned length;
} open_fence;

typedef struct fence_stack {
    open_fence *open;
    size_t depth, capacity;
} fence_stack;

static bool push(fence_stack *stack, open_fence fence)
{
    if (stack->depth == stack->capacity) {
        size_t capacity = 2 * stack->capacity + 16;
        open_fence *grown = realloc(stack->open, capacity * sizeof(*grown));
        if (grown == NULL)
            return false;
        stack->open = grown;
        stack->capacity = capacity;
    }
    stack->open[stack->depth++] = fence;
    return true;
}

static bool add_nested(nested_fences *nested, size_t number)
{
    if (nested->count == nested->capacity) {
        size_t capacity = 2 * nested->capacity + 16;
        size_t *grown = realloc(nested->numbers, capacity * sizeof(*grown));
        if (grown == NULL)
            return false;
        nested->numbers = grown;
        nested->capacity = capacity;
    }
    nested->numbers[nested->count++] = number;
    return true;
}

/* The first line of SHOWN opens a fence or closes one, or is hidden by an open one, from CommonMark,
 * too. Not bare, it opens; bare, it closes what is open. */
static bool follow_fence(fence_stack *stack, nested_fences *nested, const shadow *shown)
{
    const shadow_line *line = shown->lines;
    open_fence fence = {shown->text[line->at + line->fence_at], line->fence_length};
    const open_fence *top = stack->depth > 0 ? &stack->open[stack->depth - 1] : NULL;
    if (top != NULL && (fence.mark != top->mark || fence.length < top->length))
        return true;
    bool closes = top != NULL && !line->fence_has_info;
    size_t depth_around = closes ? stack->depth - 1 : stack->depth;
    if (closes)
        stack->depth--;
    else if (!push(stack, fence))
        return false;
    return depth_around == 0 || add_nested(nested, line->place.number);
}

bool nested_fences_find(const message *whole, nested_fences *nested)
{
    *nested = (nested_fences){0};
    fence_stack stack = {0};
    shadow line = shadow_open();
    message_place place = {0};
    bool enough_memory = true;
    while (enough_memory && show_next(&line, whole, &place, &enough_memory)) {
        enough_memory = line.lines[0].fence_length == 0 || follow_fence(&stack, nested, &line);
        line.length = 0;
    }
    nested->all_closed = stack.depth == 0;
    free(stack.open);
    shadow_free(&line);
    return enough_memory;
}

void nested_fences_free(nested_fences *nested)
{
    free(nested->numbers);
    *nested = (nested_fences){0};
}
