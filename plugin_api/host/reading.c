/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reading.c: runs cmark over a shadow and walks the tree.
 *
 *     shadow ─▶ windows of lines ─▶ cmark ─▶ tree ─▶ fenced blocks
 *
 * Memory. cmark aborts the process when memory ends, so it gets an allocator that leaves by longjmp
 * instead: everything is in one arena, which is freed as a whole. cmark keeps no state outside of what
 * it allocates and holds no lock, so nothing else is left behind. cmark_mem has no user data, hence the
 * thread-local pointer to the arena in use.
 *
 * Windows. A tree takes a hundred times as much memory as the lines it stands for. So the shadow is
 * read in windows; the last block of a window may be unfinished, and the next window begins with it.
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

enum {
    WINDOW_LINES = 1 << 16,
    /* What all the trees of a window may take, as a multiple of the shadow and at least. */
    LEAST_ARENA = 256 << 20,
    ARENA_PER_BYTE = 32,
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
    if (block == NULL) {
        longjmp(*in_use.out_of_memory, 1);
    }
    return memset(block, 0, total);
}

static void *reallocate(void *block, size_t size)
{
    void *grown = arena_reallocate(in_use.memory, block, size);
    if (grown == NULL) {
        longjmp(*in_use.out_of_memory, 1);
    }
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

typedef struct window {
    const shadow *shown;
    size_t first, count; /* lines of the shadow */
    size_t next;         /* where the next window begins; equal to first where it must be doubled */
    bool (*found)(void *state, const fenced_block *block);
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
    while (node != NULL && cmark_node_next(node) == NULL) {
        node = cmark_node_parent(node);
    }
    return node == NULL ? NULL : cmark_node_next(node);
}

/* In document order. */
static cmark_node *next_block(cmark_node *node)
{
    cmark_node *child = cmark_node_first_child(node);
    return child != NULL && is_block(child) ? child : next_block_behind(node);
}

/* The line of the shadow on which NODE begins (ends). cmark counts from 1. */
static size_t first_line(const window *part, cmark_node *node)
{
    return part->first + (size_t)cmark_node_get_start_line(node) - 1;
}

static size_t last_line(const window *part, cmark_node *node)
{
    return part->first + (size_t)cmark_node_get_end_line(node) - 1;
}

/* Whether NODE, a code block, begins at a fence. cmark does not tell: indented code may begin with
 * what looks like one, but then has that very line in its content, which a fenced block never has:
 * such a line would end it, or, with an info string, shows in fence_info. */
static bool is_fenced(const window *part, cmark_node *node)
{
    const shadow_line *line = &part->shown->lines[first_line(part, node)];
    size_t place = (size_t)cmark_node_get_start_column(node) - 1;
    if (line->fence_length == 0 || line->fence_at != place) {
        return false;
    }
    if (line->fence_has_info) {
        return cmark_node_get_fence_info(node)[0] != '\0';
    }
    const char *content = cmark_node_get_literal(node);
    const char *fence = part->shown->text + line->at + place;
    return strncmp(content, fence, line->fence_length + 1) != 0;
}

/* Whether line CLOSER, behind the content, is the fence that closes NODE. Where a container ends first,
 * cmark gives the same end line, but then a block begins there, or the line is no fence. */
static bool is_closed_at(const window *part, cmark_node *node, size_t closer)
{
    if (closer >= part->first + part->count || last_line(part, node) != closer ||
        part->shown->lines[closer].fence_length == 0) {
        return false;
    }
    cmark_node *behind = next_block_behind(node);
    return behind == NULL || first_line(part, behind) > closer;
}

static size_t count_lines(const char *text)
{
    size_t count = 0;
    for (const char *feed = text; (feed = strchr(feed, '\n')) != NULL; feed++) {
        count++;
    }
    return count;
}

static void report(window *part, cmark_node *node)
{
    const char *content = cmark_node_get_literal(node);
    fenced_block block = {
        .opener = first_line(part, node),
        .content_count = count_lines(content),
        .content = content,
    };
    block.closed = is_closed_at(part, node, block.opener + block.content_count + 1);
    part->stopped = !part->found(part->state, &block);
}

/* Columns of white space before the place where NODE begins. */
static bool is_barely_indented(const window *part, cmark_node *node)
{
    enum { MOST_SPACES = 3 };
    const char *line = part->shown->text + part->shown->lines[first_line(part, node)].at;
    int spaces = 0;
    for (int column = cmark_node_get_start_column(node) - 1; column > 0; column--) {
        if (!message_is_space(line[column - 1])) {
            break;
        }
        spaces += line[column - 1] == '\t' ? MOST_SPACES + 1 : 1;
    }
    return spaces <= MOST_SPACES;
}

/* The line where the next window may begin: the last one that begins a block which needs nothing
 * before it. An item more deeply indented is one only because its list is open. */
static size_t last_fresh_line(const window *part, cmark_node *root)
{
    size_t line = part->first;
    for (cmark_node *node = cmark_node_last_child(root); node != NULL && is_block(node);) {
        if (is_barely_indented(part, node)) {
            line = first_line(part, node);
        }
        cmark_node_type type = cmark_node_get_type(node);
        bool transparent = type == CMARK_NODE_BLOCK_QUOTE || type == CMARK_NODE_LIST;
        node = transparent ? cmark_node_last_child(node) : NULL;
    }
    return line;
}

static void walk(window *part, cmark_node *root)
{
    size_t end = part->first + part->count;
    part->next = end < part->shown->count ? last_fresh_line(part, root) : end;
    if (part->next == part->first) {
        return;
    }
    for (cmark_node *node = next_block(root); node != NULL && !part->stopped;
         node = next_block(node)) {
        if (cmark_node_get_type(node) == CMARK_NODE_CODE_BLOCK &&
            first_line(part, node) < part->next && is_fenced(part, node)) {
            report(part, node);
        }
    }
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
    const shadow_line *lines = part->shown->lines;
    size_t begin = lines[part->first].at;
    size_t end = lines[part->first + part->count].at;
    cmark_parser *parser = cmark_parser_new_with_mem(CMARK_OPT_DEFAULT, &arena_functions);
    cmark_parser_feed(parser, part->shown->text + begin, end - begin);
    walk(part, cmark_parser_finish(parser));
    in_use.memory = NULL;
    return true;
}

static int32_t no_memory(const arena *memory, code_executor_error *error)
{
    return memory->limit_reached
               ? fail(error, CODE_EXECUTOR_UNSUPPORTED,
                      "The message is too intricate: its lists and quotes would take more than %zu "
                      "MiB of memory.",
                      memory->limit >> 20)
               : fail_no_memory(error);
}

int32_t reading_make(const shadow *shown, bool (*found)(void *state, const fenced_block *block),
                     void *state, code_executor_error *error)
{
    window part = {.shown = shown, .found = found, .state = state};
    size_t limit = LEAST_ARENA + ARENA_PER_BYTE * shown->length;
    for (size_t lines = WINDOW_LINES; part.first < shown->count && !part.stopped;) {
        size_t left = shown->count - part.first;
        part.count = lines < left ? lines : left;
        arena memory;
        arena_open(&memory, limit);
        bool enough_memory = read_window(&part, &memory);
        int32_t status = enough_memory ? CODE_EXECUTOR_OK : no_memory(&memory, error);
        arena_close(&memory);
        if (!enough_memory) {
            return status;
        }
        lines = part.next == part.first ? 2 * lines : WINDOW_LINES;
        part.first = part.next;
    }
    return part.stopped ? fail_no_memory(error) : succeed(error);
}

/* ------------------------------------------------------------------------------------------------
 * Cuts
 * --------------------------------------------------------------------------------------------- */

content_cut reading_cut(const shadow *shown, size_t index, const char **content)
{
    const char *line = shown->text + shown->lines[index].at;
    size_t length = shadow_line_length(shown, index);
    const char *left = *content;
    size_t left_length = (size_t)(strchr(left, '\n') - left);
    *content = left + left_length + 1;
    /* What is left is the end of the line, with spaces before it in the place of a tab. */
    size_t same = 0;
    while (same < left_length && same < length &&
           left[left_length - 1 - same] == line[length - 1 - same]) {
        same++;
    }
    return (content_cut){.padding = left_length - same, .skip = length - same};
}
