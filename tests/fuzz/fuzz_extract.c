/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_extract.c: a message that a model might write, or anything else. Whatever it is, the code of a block
 * is what stands in the message between the lines that the block names: each line of it is the end of one
 * line there, but for spaces in the place of a tab.
 */
#include <code_executor_host.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t length);

/* The rest of a text, line by line. */
struct reader {
    const char *bytes;
    size_t left;
};

struct line {
    const char *bytes;
    size_t length;
    char end; /* '\n', '\r', or '\0' where the text ends */
};

static void require(bool condition)
{
    if (!condition)
        abort();
}

/* MESSAGE: whether CR and CRLF end a line, too. */
static bool next_line(struct reader *reader, bool message, struct line *line)
{
    if (reader->left == 0)
        return false;
    size_t length = 0;
    while (length < reader->left && reader->bytes[length] != '\n' &&
           !(message && reader->bytes[length] == '\r'))
        length++;
    size_t used = length + (length < reader->left);
    *line = (struct line){reader->bytes, length, length < reader->left ? reader->bytes[length] : 0};
    if (line->end == '\r' && used < reader->left && reader->bytes[used] == '\n') {
        line->end = '\n';
        used++;
    }
    reader->bytes += used;
    reader->left -= used;
    return true;
}

/* What must stand in the code for LINE of the message, of which some columns at the front are no code. */
static void check_line(struct reader *code, const struct line *line)
{
    size_t length = 0;
    while (length < code->left && code->bytes[length] != '\n' && code->bytes[length] != '\r')
        length++;
    size_t same = 0;
    while (same < length && same < line->length &&
           code->bytes[length - 1 - same] == line->bytes[line->length - 1 - same])
        same++;
    size_t padding = length - same;
    require(padding <= 3);
    require(padding == 0 || memchr(line->bytes, '\t', line->length) != NULL);
    for (size_t i = 0; i < padding; i++)
        require(code->bytes[i] == ' ');
    size_t used = length + (line->end != '\0');
    require(used <= code->left);
    require(line->end == '\0' || code->bytes[length] == line->end);
    code->bytes += used;
    code->left -= used;
}

static void check_block(const code_executor_extracted_block *block, struct reader message)
{
    struct reader code = {block->block.code, block->block.code_length};
    size_t content_end = block->complete ? block->last_line - 1 : block->last_line;
    struct line line;
    for (size_t number = 1; number <= content_end; number++) {
        require(next_line(&message, true, &line));
        if (number > block->first_line)
            check_line(&code, &line);
    }
    require(code.left == 0);
    require(block->block.code[block->block.code_length] == '\0');
    if (block->complete)
        require(next_line(&message, true, &line));
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t length)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_extraction *extraction = NULL;
    int32_t status = code_executor_extract((const char *)bytes, length, &extraction, &error);
    require(status == CODE_EXECUTOR_OK && error.status == status && error.message[0] == '\0');
    size_t behind = 0;
    for (size_t i = 0; i < extraction->block_count; i++) {
        const code_executor_extracted_block *block = extraction->blocks[i];
        require(block->first_line > behind && block->last_line >= block->first_line);
        require(strlen(block->block.language) <= length && strlen(block->info) <= length);
        check_block(block, (struct reader){(const char *)bytes, length});
        behind = block->last_line;
    }
    code_executor_extraction_free(extraction);
    return 0;
}
