/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extract_reading.c: the blocks that are found through a shadow, in windows of a few lines, are those
 * that cmark finds in the message itself.
 *
 *     random message ─┬─▶ cmark ──────────────────────────────▶ blocks ─┐
 *                     └─▶ shadow ─▶ windows ─▶ cmark ─▶ cuts ─▶ blocks ─┴─▶ equal?
 *
 * Messages are made of pieces that begin, continue and end blocks of every kind, so that within some
 * ten thousand of them nearly all combinations of two and three occur. The seed is fixed; a longer
 * search is `unit.extract_reading SEED MESSAGES`.
 */
#include "message.h"
#include "reading.h"
#include "shadow.h"
#include <cmark.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t seed = 1;
static long message_count = 10000;

/* No link reference definitions: see shadow.h. */
static const char *const pieces[] = {
    "```",        "````",    "~~~",    "~~~~",      "\n",   "\n",       "\n",        "\n",
    "\n\n",       " ",       "  ",     "   ",       "    ", "\t",       "> ",        ">",
    "- ",         "-",       "* ",     "+ ",        "1. ",  "2) ",      "12345. ",   "x",
    "x",          "python",  "# ",     "#",         "===",  "---",      "***",       "_ _ _",
    "* * *",      "<div>",   "</div>", "<!--",      "-->",  "<pre>",    "</pre>",    "<tag>",
    "<a b='c'>",  "<a b=`>", "<?",     "?>",        "`",    "<script>", "</script>", "<![CDATA[",
    "]]>",        "<!X",     "\\",     "&amp;",     "*x*",  "[x](y)",   "- - ",      "> > ",
    "     ",      "x\n\n",   "\n    ", "\n  ",      "\n- ", "\n> ",     "\n```\n",   "\n   ```",
    "\n     ```", "\n\t",    "x\n",    "\n```py\n", "1.\n", "-\n",      "<",         "_",
};

static uint64_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

typedef struct text {
    char *bytes;
    size_t length, capacity;
} text;

static void add(text *to, const char *bytes, size_t length)
{
    if (to->capacity - to->length <= length) {
        to->capacity = 2 * to->capacity + length + 64;
        to->bytes = realloc(to->bytes, to->capacity);
        assert_non_null(to->bytes);
    }
    memcpy(to->bytes + to->length, bytes, length);
    to->length += length;
    to->bytes[to->length] = '\0';
}

static void add_words(text *to, const char *words)
{
    add(to, words, strlen(words));
}

/* Repeats the last line, so that runs of equal lines occur. */
static void repeat_line(text *to, size_t times)
{
    size_t begin = to->length;
    while (begin > 0 && to->bytes[begin - 1] != '\n')
        begin--;
    char line[256];
    size_t length = to->length - begin;
    if (length >= sizeof(line) - 1)
        return;
    memcpy(line, to->bytes + begin, length);
    for (size_t i = 0; i < times; i++) {
        add_words(to, "\n");
        add(to, line, length);
    }
}

static void make_message(text *to)
{
    to->length = 0;
    add_words(to, "");
    size_t count = 1 + next_random() % 40;
    for (size_t i = 0; i < count; i++) {
        add_words(to, pieces[next_random() % (sizeof(pieces) / sizeof(pieces[0]))]);
        if (next_random() % 12 == 0)
            repeat_line(to, 1 + next_random() % 12);
    }
}

/* ------------------------------------------------------------------------------------------------
 * What cmark finds
 * --------------------------------------------------------------------------------------------- */

static const char *source_at(const char *source, int line, int column)
{
    for (; line > 1; line--)
        source = strchr(source, '\n') + 1;
    return source + column - 1;
}

static bool is_fenced(const char *source, cmark_node *node)
{
    const char *begin =
        source_at(source, cmark_node_get_start_line(node), cmark_node_get_start_column(node));
    size_t run = strspn(begin, begin[0] == '`' ? "`" : "~");
    const char *literal = cmark_node_get_literal(node);
    size_t line_length = strcspn(begin, "\n");
    bool begins_with_itself =
        strncmp(literal, begin, line_length) == 0 && literal[line_length] == '\n';
    return run >= 3 && (cmark_node_get_fence_info(node)[0] != '\0' || !begins_with_itself);
}

static void describe(text *to, size_t line, const char *code, size_t length)
{
    char head[64];
    snprintf(head, sizeof(head), "[block on line %zu]\n", line);
    add_words(to, head);
    add(to, code, length);
}

static void read_directly(const char *source, text *found)
{
    cmark_node *root = cmark_parse_document(source, strlen(source), CMARK_OPT_DEFAULT);
    cmark_iter *walk = cmark_iter_new(root);
    for (cmark_event_type event; (event = cmark_iter_next(walk)) != CMARK_EVENT_DONE;) {
        cmark_node *node = cmark_iter_get_node(walk);
        if (event == CMARK_EVENT_ENTER && cmark_node_get_type(node) == CMARK_NODE_CODE_BLOCK &&
            is_fenced(source, node)) {
            const char *code = cmark_node_get_literal(node);
            describe(found, (size_t)cmark_node_get_start_line(node), code, strlen(code));
        }
    }
    cmark_iter_free(walk);
    cmark_node_free(root);
}

/* ------------------------------------------------------------------------------------------------
 * What is found through the shadow
 * --------------------------------------------------------------------------------------------- */

typedef struct shadow_reader {
    const message *whole;
    text *found;
} shadow_reader;

/* A line of code as if its tabs were spaces. */
static void add_expanded(text *to, const message_line *line)
{
    add(to, "   ", line->padding);
    size_t column = line->column;
    for (size_t i = 0; i < line->length; i++) {
        size_t behind = message_column_behind(column, line->bytes[i]);
        bool is_tab = line->bytes[i] == '\t';
        add(to, is_tab ? "    " : &line->bytes[i], is_tab ? behind - column : 1);
        column = behind;
    }
    add_words(to, "\n");
}

static bool collect(void *state, const shadow *shown, const fenced_block *block)
{
    const shadow_reader *reader = state;
    const shadow_line *lines = shown->lines;
    const char *content = block->content;
    describe(reader->found, lines[block->opener].place.number + 1, "", 0);
    for (size_t i = block->opener + 1; i < block->opener + 1 + block->content_count; i++) {
        size_t column = content_column(shown, i, &content);
        message_place place = lines[i].place;
        message_line line;
        while (place.offset < lines[i + 1].place.offset &&
               message_next_line(reader->whole, &place, &line)) {
            line = message_cut(line, column);
            add_expanded(reader->found, &line);
        }
    }
    return true;
}

static void read_through_shadow(const char *source, text *found)
{
    /* Not message_open: cmark alone knows nothing of shared indentation. */
    message whole = {.bytes = source, .length = strlen(source)};
    shadow_reader reader = {&whole, found};
    assert_int_equal(reading_make(&whole, NULL, collect, &reader, NULL), CODE_EXECUTOR_OK);
}

/* cmark counts the indentation of a fence in bytes, not in columns, so it is shown no tabs. */
static void expand(const char *source, text *expanded)
{
    message whole = {.bytes = source, .length = strlen(source)};
    message_place place = {0};
    message_line line;
    expanded->length = 0;
    add_words(expanded, "");
    while (message_next_line(&whole, &place, &line))
        add_expanded(expanded, &line);
}

static void test_shadow_reads_as_the_message(void **state)
{
    (void)state;
    text source = {0};
    text expanded = {0};
    text direct = {0};
    text through = {0};
    for (long i = 0; i < message_count; i++) {
        uint64_t seed_of_message = seed;
        make_message(&source);
        expand(source.bytes, &expanded);
        direct.length = through.length = 0;
        add_words(&direct, "");
        add_words(&through, "");
        read_directly(expanded.bytes, &direct);
        read_through_shadow(source.bytes, &through);
        if (strcmp(direct.bytes, through.bytes) != 0) {
            fail_msg("seed %" PRIu64
                     ": of the message\n%s\n--- cmark finds\n%s\n--- but here is\n%s",
                     seed_of_message, source.bytes, direct.bytes, through.bytes);
        }
    }
    free(source.bytes);
    free(expanded.bytes);
    free(direct.bytes);
    free(through.bytes);
}

int main(int argc, char **argv)
{
    if (argc == 3) {
        seed = strtoull(argv[1], NULL, 10);
        message_count = strtol(argv[2], NULL, 10);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shadow_reads_as_the_message),
    };
    return cmocka_run_group_tests_name("extract_reading", tests, NULL, NULL);
}
