/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reading.c: runs cmark over the shadow of a message and walks the tree.
 *
 *     message ─▶ windows of lines ─▶ shadow ─▶ cmark ─▶ tree ─▶ fenced blocks
 *
 * Memory. cmark aborts the process when memory ends, so it gets an allocator that leaves by longjmp
 * instead: everything is in one arena, which is freed as a whole. cmark keeps no state outside of what
 * it allocates and holds no lock, so nothing else is left behind. cmark_mem has no user data, hence the
 * thread-local pointer to the arena in use.
 *
 * Windows. A tree takes a hundred times as much memory as the lines it stands for. So the message
 * is read in windows; the last block of a window may be unfinished, and the next window begins with it.
 * That is right only where a parser that knows nothing but the following lines takes them as one that
 * knows all: at a line that begins a block of the document, a block within a quote (whose line repeats
 * the mark of the quote) or an item of such a list. Where a window has no such line it is doubled.
 */
#include "reading.h"

#include "arena.h"
#include "failure.h"
#include <cmark.h>
#include <limits.h>
#include <setjmp.h>
#include <string.h>

#ifndef READING_WINDOW_LINES /* the tests take tiny ones */
#define READING_WINDOW_LINES ((size_t)1 << 14)
#endif

/* cmark counts bytes and lines in int. */
#define LONGEST_SHADOW ((size_t)INT_MAX / 2)

enum {
    /* What the tree of a window may take: at least, and more for a long message. */
    LEAST_ARENA = 256 << 20,
    ARENA_PER_BYTE = 8,
};

/* ------------------------------------------------------------------------------------------------
 * cmark's memory
 * --------------------------------------------------------------------------------------------- */

static _Thread_local struct {
    arena *memory;
    jmp_buf *out_of_memory;
} in_use;

static void *allocate_zeroed(size_t count, size_t size)
{
    size_t total = 0;
    void *block =
        __builtin_mul_overflow(count, size, &total) ? NULL : arena_allocate(in_use.memory, total);
    if (block == NULL)
        longjmp(*in_use.out_of_memory, 1);
    return memset(block, 0, total);
}

static void *reallocate(void *block, size_t size)
{
    void *grown = arena_reallocate(in_use.memory, block, size);
    if (grown == NULL)
        longjmp(*in_use.out_of_memory, 1);
    return grown;
}

static void keep_until_the_end(void *block)
{
    (void)block;
}

static cmark_mem arena_functions = {allocate_zeroed, reallocate, keep_until_the_end};

/* ------------------------------------------------------------------------------------------------
 * The tree
 * --------------------------------------------------------------------------------------------- */

/* Some lines of a message that are read at a time. */
typedef struct window {
    const shadow *shown;
    size_t done; /* lines whose blocks were found; 0 where the window must be doubled */
    fenced_block_found found;
    void *state;
    bool stopped; /* by found */
} window;

static bool is_block(cmark_node *node)
{
    cmark_node_type type = cmark_node_get_type(node);
    return type >= CMARK_NODE_FIRST_BLOCK && type <= CMARK_NODE_LAST_BLOCK;
}

/* The block that begins after NODE and is not within it, or NULL. */
static cmark_node *next_block_behind(cmark_node *node)
{
    while (node != NULL && cmark_node_next(node) == NULL)
        node = cmark_node_parent(node);
    return node == NULL ? NULL : cmark_node_next(node);
}

/* In document order. */
static cmark_node *next_block(cmark_node *node)
{
    cmark_node *child = cmark_node_first_child(node);
    return child != NULL && is_block(child) ? child : next_block_behind(node);
}

/* The line of the shadow on which NODE begins (ends). cmark counts from 1. */
static size_t first_line(cmark_node *node)
{
    return (size_t)cmark_node_get_start_line(node) - 1;
}

static size_t last_line(cmark_node *node)
{
    return (size_t)cmark_node_get_end_line(node) - 1;
}

/* Whether NODE, a code block, begins at a fence. cmark does not tell: indented code may begin with
 * what looks like one, but then has that very line in its content, which a fenced block never has:
 * such a line would end it, or, with an info string, shows in fence_info. */
static bool is_fenced(const window *part, cmark_node *node)
{
    const shadow_line *line = &part->shown->lines[first_line(node)];
    size_t place = (size_t)cmark_node_get_start_column(node) - 1;
    if (line->fence_length == 0 || line->fence_at != place)
        return false;
    if (line->fence_has_info)
        return cmark_node_get_fence_info(node)[0] != '\0';
    const char *content = cmark_node_get_literal(node);
    const char *fence = part->shown->text + line->at + place;
    return strncmp(content, fence, line->fence_length + 1) != 0;
}

/* Whether line CLOSER, behind the content, is the fence that closes NODE. Where a container ends first,
 * cmark gives the same end line, but then a block begins there, or the line is no fence. */
static bool is_closed_at(const window *part, cmark_node *node, size_t closer)
{
    if (closer >= part->shown->count || last_line(node) != closer ||
        part->shown->lines[closer].fence_length == 0)
        return false;
    cmark_node *behind = next_block_behind(node);
    return behind == NULL || first_line(behind) > closer;
}

static size_t count_lines(const char *text)
{
    size_t count = 0;
    for (const char *feed = text; (feed = strchr(feed, '\n')) != NULL; feed++)
        count++;
    return count;
}

static void report(window *part, cmark_node *node)
{
    const char *content = cmark_node_get_literal(node);
    fenced_block block = {
        .opener = first_line(node),
        .content_count = count_lines(content),
        .content = content,
    };
    block.closed = is_closed_at(part, node, block.opener + block.content_count + 1);
    part->stopped = !part->found(part->state, part->shown, &block);
}

/* Whether at most three spaces stand before the place where NODE begins. */
static bool is_barely_indented(const window *part, cmark_node *node)
{
    enum { MOST_SPACES = 3 };
    const char *line = part->shown->text + part->shown->lines[first_line(node)].at;
    int column = cmark_node_get_start_column(node) - 1;
    int spaces = 0;
    while (spaces < column && line[column - 1 - spaces] == ' ')
        spaces++;
    return spaces <= MOST_SPACES;
}

/* The line where the next window may begin: the last one that begins a block which needs nothing
 * before it. An item more deeply indented is one only because its list is open. */
static size_t last_fresh_line(const window *part, cmark_node *root)
{
    size_t line = 0;
    for (cmark_node *node = cmark_node_last_child(root); node != NULL && is_block(node);) {
        if (is_barely_indented(part, node))
            line = first_line(node);
        cmark_node_type type = cmark_node_get_type(node);
        bool transparent = type == CMARK_NODE_BLOCK_QUOTE || type == CMARK_NODE_LIST;
        node = transparent ? cmark_node_last_child(node) : NULL;
    }
    return line;
}

static void walk(window *part, cmark_node *root)
{
    part->done = part->shown->is_last ? part->shown->count : last_fresh_line(part, root);
    for (cmark_node *node = next_block(root); node != NULL && !part->stopped;
         node = next_block(node))
        if (cmark_node_get_type(node) == CMARK_NODE_CODE_BLOCK && first_line(node) < part->done &&
            is_fenced(part, node))
            report(part, node);
}

size_t content_column(const shadow *shown, size_t index, const char **content)
{
    size_t left = strcspn(*content, "\n");
    *content += left + 1;
    return shadow_line_length(shown, index) - left;
}

/* ------------------------------------------------------------------------------------------------
 * Windows
 * --------------------------------------------------------------------------------------------- */

/* False where memory ended. All that longjmp leaves behind is in MEMORY or in *PART. */
static bool read_window(window *part, arena *memory)
{
    jmp_buf out_of_memory;
    in_use.memory = memory;
    in_use.out_of_memory = &out_of_memory;
    if (setjmp(out_of_memory) != 0) {
        in_use.memory = NULL;
        return false;
    }
    cmark_parser *parser = cmark_parser_new_with_mem(CMARK_OPT_DEFAULT, &arena_functions);
    cmark_parser_feed(parser, part->shown->text, part->shown->length);
    walk(part, cmark_parser_finish(parser));
    in_use.memory = NULL;
    return true;
}

static int32_t too_intricate(size_t limit, code_executor_error *error)
{
    return fail(error, CODE_EXECUTOR_UNSUPPORTED,
                "The message is too intricate: a list or quote in it would take more than %zu MiB "
                "of memory.",
                limit >> 20);
}

/* Everything but the allocations. */
static int32_t read_windows(const message *whole, const nested_fences *nested, window *part,
                            shadow *shown, arena *memory, code_executor_error *error)
{
    part->shown = shown;
    size_t limit = READING_WINDOW_LINES;
    for (message_place place = {0}; place.offset < whole->length;) {
        if (!shadow_make(shown, whole, place, limit, nested))
            return fail_no_memory(error);
        if (shown->length > LONGEST_SHADOW)
            return too_intricate(memory->limit, error);
        bool enough_memory = read_window(part, memory) && !part->stopped;
        if (!enough_memory) {
            return memory->limit_reached ? too_intricate(memory->limit, error)
                                         : fail_no_memory(error);
        }
        limit = part->done == 0 ? 2 * limit : READING_WINDOW_LINES;
        place = shown->lines[part->done].place;
        arena_clear(memory);
    }
    return succeed(error);
}

int32_t reading_make(const message *whole, const nested_fences *nested, fenced_block_found found,
                     void *state, code_executor_error *error)
{
    window part = {.found = found, .state = state};
    shadow shown = shadow_open();
    arena memory;
    arena_open(&memory, LEAST_ARENA + ARENA_PER_BYTE * whole->length);
    int32_t status = read_windows(whole, nested, &part, &shown, &memory, error);
    arena_close(&memory);
    shadow_free(&shown);
    return status;
}
