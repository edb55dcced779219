/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extract.c: `host_demo extract`: shows the blocks of a message, and runs nothing.
 */
#include "commands.h"
#include "interrupt.h"
#include "json_result.h"
#include "message.h"
#include "terminal.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

static bool append_head(struct bytes *text, const code_executor_extracted_block *block,
                        size_t number)
{
    CLEANUP(bytes_free) struct bytes language = {0};
    const char *name = block->block.language;
    return bytes_append_visible(&language, name, strlen(name), false) &&
           bytes_format(
               text, "%s[%zu] %s, lines %zu to %zu%s%s%s\n", tone_on(STDOUT_FILENO, TONE_CYAN),
               number, *name == '\0' ? "no language" : bytes_text(&language), block->first_line,
               block->last_line, block->inferred ? ", language inferred" : "",
               block->complete ? "" : ", NOT COMPLETE: would not run", tone_off(STDOUT_FILENO));
}

/* The code, indented. On a terminal it shows what is there; elsewhere it is what is there. */
static bool append_code(struct bytes *text, const code_executor_block *block)
{
    const char *line = block->code;
    size_t left = block->code_length;
    while (left > 0) {
        const char *newline = memchr(line, '\n', left);
        size_t length = newline == NULL ? left : (size_t)(newline - line);
        bool whole = length == 0 || bytes_append_text(text, "    ");
        whole =
            whole && (terminal_is(STDOUT_FILENO) ? bytes_append_visible(text, line, length, false)
                                                 : bytes_append(text, line, length));
        if (!whole || !bytes_append_text(text, "\n"))
            return false;
        size_t step = length + (newline != NULL);
        line += step;
        left -= step;
    }
    return true;
}

static bool write_blocks(const code_executor_extraction *extraction)
{
    for (size_t i = 0; i < extraction->block_count; i++) {
        const code_executor_extracted_block *block = extraction->blocks[i];
        CLEANUP(bytes_free) struct bytes text = {0};
        if (!append_head(&text, block, i + 1) || !append_code(&text, &block->block)) {
            errno = ENOMEM;
            return false;
        }
        if (!terminal_write_plain(STDOUT_FILENO, text.data, text.length))
            return false;
    }
    if (extraction->block_count == 0)
        say_note("No code blocks in this message.");
    return true;
}

static void free_extraction(code_executor_extraction **extraction)
{
    code_executor_extraction_free(*extraction);
}

int extract_command(const struct options *options)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    CLEANUP(bytes_free) struct bytes message = {0};
    CLEANUP(free_extraction) code_executor_extraction *extraction = NULL;
    int32_t status = message_read(options->argument, &message, &error);
    if (status == CODE_EXECUTOR_OK)
        status = code_executor_extract(bytes_text(&message), message.length, &extraction, &error);
    if (status != CODE_EXECUTOR_OK) {
        say_problem("%s", error.message);
        return EXIT_HOST_FAILED;
    }
    bool written = options->json ? json_write_blocks(extraction) : write_blocks(extraction);
    return written ? EXIT_OK : terminal_lost_stdout();
}
