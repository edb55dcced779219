/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_result.c: see json_result.h.
 *
 * The documents hold all that code printed, several times over, so they are written as they are
 * made: json-c writes each string a piece at a time, and no more than a piece is in memory. The
 * members stand here in their order, between the brackets that hold them.
 */
#include "json_result.h"
#include "terminal.h"
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 32768 };

/* Where the document goes; after the first failure nothing more is written. */
struct document {
    struct bytes pending;
    int failure; /* errno */
};

static void flush(struct document *document)
{
    if (document->failure == 0 &&
        !terminal_write_plain(STDOUT_FILENO, bytes_text(&document->pending),
                              document->pending.length))
        document->failure = errno;
    document->pending.length = 0;
}

static void put_bytes(struct document *document, const char *text, size_t length)
{
    if (document->failure == 0 && !bytes_append(&document->pending, text, length))
        document->failure = ENOMEM;
    if (document->pending.length >= PIECE)
        flush(document);
}

static void put(struct document *document, const char *text)
{
    put_bytes(document, text, strlen(text));
}

static void put_number(struct document *document, const char *format, double number)
{
    char text[64];
    snprintf(text, sizeof text, format, number);
    put(document, text);
}

static void put_count(struct document *document, uint64_t count)
{
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)count);
    put(document, text);
}

/* Appends one piece of at most LENGTH bytes that are to be a string's, whole characters of
 * UTF-8; returns how many bytes of TEXT it took. */
static size_t take_characters(const char *text, size_t length, struct bytes *piece)
{
    size_t taken = 0;
    while (taken < length && piece->length < PIECE) {
        size_t sequence = utf8_sequence(text + taken, length - taken);
        bool whole = sequence == 0 ? bytes_append_text(piece, "\xef\xbf\xbd")
                                   : bytes_append(piece, text + taken, sequence);
        if (!whole)
            return 0;
        taken += sequence == 0 ? 1 : sequence;
    }
    return taken;
}

/* What json-c makes of PIECE, without the quotation marks. */
static bool put_piece(struct document *document, const struct bytes *piece)
{
    json_object *string = json_object_new_string_len(bytes_text(piece), (int)piece->length);
    size_t length = 0;
    const char *text =
        string == NULL
            ? NULL
            : json_object_to_json_string_length(string, JSON_C_TO_STRING_NOSLASHESCAPE, &length);
    if (text != NULL)
        put_bytes(document, text + 1, length - 2);
    json_object_put(string);
    return text != NULL;
}

static void put_string_of(struct document *document, const char *text, size_t length)
{
    CLEANUP(bytes_free) struct bytes piece = {0};
    put(document, "\"");
    while (length > 0 && document->failure == 0) {
        piece.length = 0;
        size_t taken = take_characters(text, length, &piece);
        if (taken == 0 || !put_piece(document, &piece))
            document->failure = ENOMEM;
        text += taken;
        length -= taken;
    }
    put(document, "\"");
}

static void put_string(struct document *document, const char *text)
{
    if (text == NULL) {
        put(document, "null");
        return;
    }
    put_string_of(document, text, strlen(text));
}

static bool finish(struct document *document)
{
    put(document, "\n");
    flush(document);
    bytes_free(&document->pending);
    errno = document->failure;
    return document->failure == 0;
}

/* ------------------------------------------------------------------------------------------------
 * The result of a run
 * --------------------------------------------------------------------------------------------- */

static void put_block(struct document *document, const code_executor_block_result *block,
                      const char *label)
{
    put(document, "{\"language\":");
    put_string(document, block->language);
    put(document, ",\"executor\":");
    put_string(document, label);
    put(document, ",\"outcome\":");
    put_string(document, code_executor_outcome_name(block->outcome));
    put(document, ",\"exit_code\":");
    put_number(document, "%.0f", block->exit_code);
    put(document, ",\"signal\":");
    if (block->signal == 0)
        put(document, "null");
    else
        put_number(document, "%.0f", block->signal);
    put(document, ",\"stdout\":");
    put_string_of(document, block->stdout_bytes, block->stdout_length);
    put(document, ",\"stderr\":");
    put_string_of(document, block->stderr_bytes, block->stderr_length);
    put(document, ",\"output\":");
    put_string_of(document, block->output, block->output_length);
    put(document, ",\"dropped_bytes\":");
    put_count(document, block->dropped_bytes);
    put(document, ",\"code_file\":");
    put_string(document, block->code_file);
    put(document, ",\"wall_ms\":");
    put_number(document, "%.3f", (double)block->wall_ns / 1e6);
    put(document, ",\"cpu_ms\":");
    put_number(document, "%.3f", (double)block->cpu_ns / 1e6);
    put(document, ",\"peak_memory_bytes\":");
    put_count(document, block->peak_memory_bytes);
    put(document, "}");
}

/* The block that was cut off, as a block that an executor refused would look. */
static void put_cut(struct document *document, const struct plan *plan, const struct run_end *end,
                    const struct bytes *refusal)
{
    const code_executor_block_result block = {
        .struct_size = sizeof block,
        .language = plan->cut->block.language,
        .outcome = CODE_EXECUTOR_OUTCOME_REFUSED,
        .exit_code = 1,
        .stdout_bytes = "",
        .stderr_bytes = "",
        .output = bytes_text(refusal),
        .output_length = refusal->length,
    };
    put_block(document, &block, end->cut_label);
}

bool json_write_result(const struct plan *plan, const struct run_end *end)
{
    static const code_executor_result nothing = {.struct_size = sizeof nothing, .output = ""};
    const code_executor_result *result = end->result == NULL ? &nothing : end->result->result;
    CLEANUP(bytes_free) struct bytes refusal = {0};
    struct document document = {0};
    if (end->came_to_cut && !plan_append_refusal(plan, &refusal))
        document.failure = ENOMEM;
    put(&document, "{\"exit_code\":");
    put_number(&document, "%.0f", end->exit_code);
    put(&document, ",\"outcome\":");
    put_string(&document, code_executor_outcome_name(end->outcome));
    put(&document, ",\"output\":");
    if (refusal.length == 0) {
        put_string_of(&document, result->output, result->output_length);
    } else {
        CLEANUP(bytes_free) struct bytes joined = {0};
        bool whole = bytes_append(&joined, result->output, result->output_length) &&
                     bytes_append(&joined, refusal.data, refusal.length);
        document.failure = whole ? document.failure : ENOMEM;
        put_string_of(&document, bytes_text(&joined), joined.length);
    }
    put(&document, ",\"code_file\":");
    put_string(&document, result->code_file);
    put(&document, ",\"blocks\":[");
    for (size_t i = 0; i < result->block_count; i++) {
        put(&document, i == 0 ? "" : ",");
        put_block(&document, result->blocks[i], end->result->labels[i]);
    }
    if (end->came_to_cut) {
        put(&document, result->block_count == 0 ? "" : ",");
        put_cut(&document, plan, end, &refusal);
    }
    put(&document, "]");
    if (end->error.status != CODE_EXECUTOR_OK) {
        put(&document, ",\"error\":{\"status\":");
        put_string(&document, code_executor_status_name(end->error.status));
        put(&document, ",\"message\":");
        put_string(&document, end->error.message);
        put(&document, "}");
    }
    put(&document, "}");
    return finish(&document);
}

/* ------------------------------------------------------------------------------------------------
 * The blocks of a message
 * --------------------------------------------------------------------------------------------- */

bool json_write_blocks(const code_executor_extraction *extraction)
{
    struct document document = {0};
    put(&document, "[");
    for (size_t i = 0; i < extraction->block_count; i++) {
        const code_executor_extracted_block *block = extraction->blocks[i];
        put(&document, i == 0 ? "{\"language\":" : ",\n {\"language\":");
        put_string(&document, block->block.language);
        put(&document, ",\"code\":");
        put_string_of(&document, block->block.code, block->block.code_length);
        put(&document, ",\"complete\":");
        put(&document, block->complete ? "true" : "false");
        put(&document, "}");
    }
    put(&document, "]");
    return finish(&document);
}
