/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extract.c: the fenced code blocks of a Markdown message.
 *
 *     message ─▶ reading (cmark, of a shadow) ─▶ for each fenced block: its code, cut out of the message
 *        │
 *        └─ where that left a fence open ─▶ nested fences ─▶ reading again with these as text
 *
 * cmark decides what is a block and which prefix each of its lines has; the bytes come from the
 * message, because cmark replaces NUL and would count a CR in code as a line end and drop it.
 */
#include "host/code_executor_host.h"

#include "block_language.h"
#include "failure.h"
#include "message.h"
#include "reading.h"
#include "shadow.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A block with its texts behind it, in one allocation. */
typedef struct owned_block {
    code_executor_extracted_block block; /* first: the public pointer is the pointer to free */
    char texts[];                        /* language, info and code, each with a NUL */
} owned_block;

typedef struct extraction {
    code_executor_extraction public_part; /* first, as above */
    code_executor_extracted_block **blocks;
    size_t count, capacity;
} extraction;

/* What the reading's callback works on. */
typedef struct collector {
    const message *whole;
    const shadow *shown; /* of the block at hand */
    extraction *into;
    bool left_open; /* whether one of the blocks has no closing fence */
} collector;

void code_executor_extraction_free(code_executor_extraction *public_part)
{
    extraction *made = (extraction *)public_part;
    if (made == NULL)
        return;
    for (size_t i = 0; i < made->count; i++)
        free(made->blocks[i]);
    free(made->blocks);
    free(made);
}

/* ------------------------------------------------------------------------------------------------
 * Code
 * --------------------------------------------------------------------------------------------- */

/* Where code goes; with BYTES NULL it is only measured. */
typedef struct code_sink {
    char *bytes;
    size_t length;
} code_sink;

static void put_spaces(code_sink *sink, size_t count)
{
    if (sink->bytes != NULL)
        memset(sink->bytes + sink->length, ' ', count);
    sink->length += count;
}

static void put_bytes(code_sink *sink, const char *bytes, size_t length)
{
    if (sink->bytes != NULL && length > 0)
        memcpy(sink->bytes + sink->length, bytes, length);
    sink->length += length;
}

static void put_line(code_sink *sink, const message_line *line)
{
    put_spaces(sink, line->padding);
    put_bytes(sink, line->bytes, line->length);
    put_bytes(sink, &line->terminator, line->terminator != '\0');
}

/* Every line of the message that the content lines of FENCED stand for. */
static void put_code(const collector *from, const fenced_block *fenced, code_sink *sink)
{
    const shadow_line *lines = from->shown->lines;
    const char *content = fenced->content;
    for (size_t i = 0; i < fenced->content_count; i++) {
        size_t index = fenced->opener + 1 + i;
        size_t column = from->whole->shared_columns + content_column(from->shown, index, &content);
        message_place place = lines[index].place;
        message_line line;
        while (place.offset < lines[index + 1].place.offset &&
               message_next_line(from->whole, &place, &line)) {
            line = message_cut(line, column);
            put_line(sink, &line);
        }
    }
}

/* ------------------------------------------------------------------------------------------------
 * Blocks
 * --------------------------------------------------------------------------------------------- */

/* The info string as it stands in the message, without the white space around it. */
static text_span info_of(const collector *from, const fenced_block *fenced)
{
    const shadow_line *opener = &from->shown->lines[fenced->opener];
    message_place place = opener->place;
    message_line line = {0};
    message_next_line(from->whole, &place, &line);
    line = message_cut(line, from->whole->shared_columns + opener->fence_at);
    text_span info = {line.bytes, line.length};
    size_t at = 0;
    while (at < info.length && info.bytes[at] == line.bytes[0])
        at++;
    while (at < info.length && message_is_space(info.bytes[at]))
        at++;
    while (info.length > at && message_is_space(info.bytes[info.length - 1]))
        info.length--;
    return (text_span){info.bytes + at, info.length - at};
}

/* Copies TEXT and a NUL to *PLACE, which moves behind them. A NUL within would hide what follows. */
static const char *put_text(char **place, text_span text)
{
    char *begin = *place;
    for (size_t i = 0; i < text.length; i++)
        begin[i] = text.bytes[i] == '\0' ? ' ' : text.bytes[i];
    begin[text.length] = '\0';
    *place += text.length + 1;
    return begin;
}

static code_executor_extracted_block *make_block(const collector *from, const fenced_block *fenced)
{
    code_sink measured = {0};
    put_code(from, fenced, &measured);
    text_span info = info_of(from, fenced);
    text_span language = language_of_info(info);
    bool is_given = language.length > 0;
    size_t language_room = is_given ? language.length : LONGEST_INFERRED_LANGUAGE;
    owned_block *made = malloc(sizeof(owned_block) + measured.length + info.length + language_room +
                               3); /* a NUL behind each */
    if (made == NULL)
        return NULL;
    char *place = made->texts;
    code_sink code = {.bytes = place};
    put_code(from, fenced, &code);
    code.bytes[code.length] = '\0';
    place += code.length + 1;
    language = is_given ? language : language_of_code((text_span){code.bytes, code.length});
    const shadow_line *opener = &from->shown->lines[fenced->opener];
    const shadow_line *behind = opener + fenced->content_count + (fenced->closed ? 2 : 1);
    made->block = (code_executor_extracted_block){
        .struct_size = sizeof(made->block),
        .block = {.struct_size = sizeof(made->block.block),
                  .language = put_text(&place, language),
                  .code = code.bytes,
                  .code_length = code.length},
        .complete = fenced->closed,
        .inferred = !is_given && language.length > 0,
        .info = put_text(&place, info),
        .first_line = opener->place.number + 1,
        .last_line = behind->place.number,
    };
    return &made->block;
}

static bool add_block(extraction *made, code_executor_extracted_block *block)
{
    if (block == NULL)
        return false;
    if (made->count == made->capacity) {
        size_t capacity = 2 * made->capacity + 8;
        code_executor_extracted_block **grown = realloc(made->blocks, capacity * sizeof(*grown));
        if (grown == NULL) {
            free(block);
            return false;
        }
        made->blocks = grown;
        made->capacity = capacity;
    }
    made->blocks[made->count++] = block;
    return true;
}

static bool collect(void *state, const shadow *shown, const fenced_block *fenced)
{
    collector *from = state;
    from->shown = shown;
    from->left_open = from->left_open || !fenced->closed;
    return add_block(from->into, make_block(from, fenced));
}

/* ------------------------------------------------------------------------------------------------
 * Readings
 * --------------------------------------------------------------------------------------------- */

/* *MADE is to be freed also after a failure. */
static int32_t read_message(const message *whole, const nested_fences *nested, extraction **made,
                            bool *left_open, code_executor_error *error)
{
    *made = calloc(1, sizeof(**made));
    if (*made == NULL)
        return fail_no_memory(error);
    collector from = {.whole = whole, .into = *made};
    int32_t status = reading_make(whole, nested, collect, &from, error);
    *left_open = from.left_open;
    return status;
}

static void extraction_free(extraction *made)
{
    code_executor_extraction_free(made != NULL ? &made->public_part : NULL);
}

/* Reads again with nested fences, and replaces *MADE where that leaves none open. */
static int32_t read_nested(const message *whole, extraction **made, code_executor_error *error)
{
    nested_fences nested;
    extraction *again = NULL;
    bool left_open = false;
    int32_t status = CODE_EXECUTOR_OK;
    if (!nested_fences_find(whole, &nested))
        status = fail_no_memory(error);
    else if (nested.count > 0 && nested.all_closed)
        status = read_message(whole, &nested, &again, &left_open, error);
    nested_fences_free(&nested);
    if (status == CODE_EXECUTOR_OK && again != NULL && !left_open) {
        extraction_free(*made);
        *made = again;
    } else {
        extraction_free(again);
    }
    return status;
}

int32_t code_executor_extract(const char *markdown, size_t length,
                              code_executor_extraction **result, code_executor_error *error)
{
    if (result == NULL || (markdown == NULL && length > 0))
        return fail(error, CODE_EXECUTOR_INVALID, "There is no message.");
    *result = NULL;
    message whole = message_open(markdown, length);
    extraction *made = NULL;
    bool left_open = false;
    int32_t status = read_message(&whole, NULL, &made, &left_open, error);
    if (status == CODE_EXECUTOR_OK && left_open)
        status = read_nested(&whole, &made, error);
    if (status != CODE_EXECUTOR_OK) {
        extraction_free(made);
        return status;
    }
    made->public_part = (code_executor_extraction){
        .struct_size = sizeof(made->public_part),
        .blocks = (const code_executor_extracted_block *const *)made->blocks,
        .block_count = made->count,
    };
    *result = &made->public_part;
    return succeed(error);
}
