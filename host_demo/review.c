/* SPDX-License-Identifier: Apache-2.0 */
/*
 * review.c: see review.h.
 *
 *       1  python   3 lines  → local    import os …
 *       2  js       1 line   → local, saved only    console.log(1)
 *     Run them? (y, n, a number: only that block, s shows the code)
 */
#include "review.h"
#include "terminal.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------------
 * The table
 * --------------------------------------------------------------------------------------------- */

static size_t count_lines(const code_executor_block *block)
{
    size_t lines = 0;
    for (size_t i = 0; i < block->code_length; i++)
        lines += block->code[i] == '\n';
    bool partial = block->code_length > 0 && block->code[block->code_length - 1] != '\n';
    return lines + partial;
}

/* Where the block goes, and what becomes of it there. */
static bool append_way(struct bytes *text, const struct executors *executors,
                       const code_executor_extracted_block *block)
{
    if (!block->complete)
        return bytes_append_text(text, "not complete: will not run");
    if (*block->block.language == '\0')
        return bytes_append_text(text, "no language: skipped");
    const char *label = executors_label(executors, block->block.language);
    if (label == NULL)
        return bytes_append_text(text, "no executor");
    static const char *const ways[] = {
        [POLICY_RUNS] = "",
        [POLICY_SAVES] = ", saved only",
        [POLICY_UNKNOWN] = ", which does not know it",
    };
    return bytes_format(text, "%s %s%s", sign_arrow(), label,
                        ways[executors_policy(executors, block->block.language)]);
}

/* The first line that has something in it, as far as it fits into COLUMNS. */
static bool append_preview(struct bytes *text, const code_executor_block *block, size_t columns)
{
    const char *line = block->code;
    const char *end = block->code + block->code_length;
    while (line < end && isspace((unsigned char)*line))
        line++;
    const char *newline = line < end ? memchr(line, '\n', (size_t)(end - line)) : NULL;
    size_t length = (size_t)((newline == NULL ? end : newline) - line);
    CLEANUP(bytes_free) struct bytes visible = {0};
    if (!bytes_append_visible(&visible, line, length < 400 ? length : 400, false))
        return false;
    size_t kept = 0, width = 0;
    while (kept < visible.length && width < columns) {
        size_t sequence = utf8_sequence(visible.data + kept, visible.length - kept);
        sequence = sequence == 0 ? 1 : sequence;
        width += utf8_columns(visible.data + kept, sequence);
        kept += width <= columns ? sequence : 0;
    }
    return bytes_append(text, bytes_text(&visible), kept);
}

struct row {
    struct bytes language;
    struct bytes way;
};

static void free_rows(struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bytes_free(&rows[i].language);
        bytes_free(&rows[i].way);
    }
    free(rows);
}

static size_t columns_of(const struct bytes *text)
{
    return utf8_columns(bytes_text(text), text->length);
}

static bool fill_row(struct row *row, const struct executors *executors,
                     const code_executor_extracted_block *block)
{
    enum { MOST = 24 };
    const char *language = *block->block.language == '\0' ? "-" : block->block.language;
    size_t length = strlen(language);
    return bytes_append_visible(&row->language, language, length > MOST ? MOST : length, false) &&
           (length <= MOST || bytes_append_text(&row->language, sign_more())) &&
           append_way(&row->way, executors, block);
}

static bool append_row(struct bytes *text, const struct row *row, size_t number,
                       const code_executor_extracted_block *block, const size_t widths[2])
{
    size_t lines = count_lines(&block->block);
    size_t language = columns_of(&row->language), way = columns_of(&row->way);
    size_t before = 6 + widths[0] + 2 + 11 + 2 + widths[1] + 2;
    size_t columns = terminal_columns();
    return bytes_format(text, "%4zu  %s%s%s%*s  %4zu %-6s  %s%*s  %s", number,
                        tone_on(STDERR_FILENO, TONE_CYAN), bytes_text(&row->language),
                        tone_off(STDERR_FILENO), (int)(widths[0] - language), "", lines,
                        lines == 1 ? "line" : "lines", bytes_text(&row->way),
                        (int)(widths[1] - way), "", tone_on(STDERR_FILENO, TONE_DIM)) &&
           (columns < before + 8 || append_preview(text, &block->block, columns - before - 1)) &&
           bytes_format(text, "%s\n", tone_off(STDERR_FILENO));
}

static bool append_rows(struct bytes *text, const struct executors *executors,
                        const code_executor_extraction *extraction, struct row *rows)
{
    size_t widths[2] = {0};
    for (size_t i = 0; i < extraction->block_count; i++) {
        if (!fill_row(&rows[i], executors, extraction->blocks[i]))
            return false;
        size_t language = columns_of(&rows[i].language), way = columns_of(&rows[i].way);
        widths[0] = language > widths[0] ? language : widths[0];
        widths[1] = way > widths[1] ? way : widths[1];
    }
    for (size_t i = 0; i < extraction->block_count; i++)
        if (!append_row(text, &rows[i], i + 1, extraction->blocks[i], widths))
            return false;
    return true;
}

static void show_table(const struct executors *executors, const struct plan *plan)
{
    CLEANUP(bytes_free) struct bytes text = {0};
    struct row *rows = calloc(plan->extraction->block_count + 1, sizeof *rows);
    if (rows == NULL)
        return;
    if (append_rows(&text, executors, plan->extraction, rows))
        say_text(&text);
    free_rows(rows, plan->extraction->block_count);
}

static void show_code(const struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        const code_executor_block *block = plan->blocks[i];
        CLEANUP(bytes_free) struct bytes text = {0};
        if (bytes_format(&text, "%s[%zu]%s\n", tone_on(STDERR_FILENO, TONE_CYAN), plan->numbers[i],
                         tone_off(STDERR_FILENO)) &&
            bytes_append_visible(&text, block->code, block->code_length, true) &&
            (text.data[text.length - 1] == '\n' || bytes_append_text(&text, "\n")))
            say_text(&text);
    }
}

/* ------------------------------------------------------------------------------------------------
 * The question
 * --------------------------------------------------------------------------------------------- */

static bool is_number_chosen(const void *choice, size_t number)
{
    const char *next = choice;
    while (*next != '\0') {
        char *end = NULL;
        unsigned long chosen = strtoul(next, &end, 10);
        if (chosen == number)
            return true;
        next = end + strspn(end, " ,");
    }
    return false;
}

/* Whether ANSWER is numbers of blocks that can run, and nothing else. */
static bool are_numbers(const struct plan *plan, const char *answer)
{
    if (*answer == '\0' || strspn(answer, "0123456789 ,") != strlen(answer) ||
        !isdigit((unsigned char)*answer))
        return false;
    const char *next = answer;
    while (*next != '\0') {
        char *end = NULL;
        unsigned long chosen = strtoul(next, &end, 10);
        bool known = false;
        for (size_t i = 0; i < plan->count; i++)
            known = known || plan->numbers[i] == chosen;
        if (!known)
            return false;
        next = end + strspn(end, " ,");
    }
    return true;
}

static bool is_word(const char *answer, const char *letter, const char *word)
{
    return strcasecmp(answer, letter) == 0 || strcasecmp(answer, word) == 0;
}

static void trim(struct bytes *text)
{
    size_t begin = strspn(bytes_text(text), " \t\r");
    while (text->length > begin && strchr(" \t\r", text->data[text->length - 1]) != NULL)
        text->data[--text->length] = '\0';
    if (begin > 0) {
        memmove(text->data, text->data + begin, text->length - begin + 1);
        text->length -= begin;
    }
}

#define ANSWERS "y runs, n does not, a number runs that block alone, s shows the code"

/* Whether ANSWER ends the question, and then how. */
static bool take_answer(struct plan *plan, const char *answer, enum review_end *end)
{
    static const struct {
        const char *letter, *word;
        enum review_end end;
    } endings[] = {
        {"y", "yes", REVIEW_RUN},
        {"n", "no", REVIEW_NOTHING},
        {":q", ":quit", REVIEW_QUIT},
    };
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        if (is_word(answer, endings[i].letter, endings[i].word)) {
            *end = endings[i].end;
            return true;
        }
    }
    if (are_numbers(plan, answer)) {
        plan_keep(plan, is_number_chosen, answer);
        *end = REVIEW_RUN;
        return true;
    }
    if (is_word(answer, "s", "show"))
        show_code(plan);
    else if (is_word(answer, ":h", ":help"))
        say(TONE_PLAIN, ANSWERS "; :quit ends the dialogue.");
    else if (*answer != '\0')
        say(TONE_YELLOW, "That is no answer: " ANSWERS ".");
    return false;
}

enum review_end review(struct input *input, const struct executors *executors, struct plan *plan)
{
    show_table(executors, plan);
    if (plan->count == 0) {
        say(TONE_YELLOW, "Nothing to run.");
        return REVIEW_NOTHING;
    }
    const char *question = plan->count == 1
                               ? "Run it? (y, n, s shows the code) "
                               : "Run them? (y, n, a number: only that block, s shows the code) ";
    CLEANUP(bytes_free) struct bytes answer = {0};
    enum review_end end = REVIEW_NOTHING;
    for (;;) {
        input_forget_waiting(input);
        switch (input_next(input, question, &answer)) {
        case INPUT_LINE:
            trim(&answer);
            if (take_answer(plan, bytes_text(&answer), &end))
                return end;
            break;
        case INPUT_PASTE:
            say(TONE_YELLOW, "A paste is no answer.");
            break;
        case INPUT_GONE:
            return REVIEW_UNANSWERED;
        default:
            return REVIEW_NOTHING;
        }
    }
}
