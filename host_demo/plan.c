/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.c: see plan.h.
 */
#include "plan.h"
#include "terminal.h"
#include <stdint.h>
#include <stdlib.h>

int32_t plan_make(const struct bytes *message, struct plan *plan, code_executor_error *error)
{
    *plan = (struct plan){0};
    int32_t status =
        code_executor_extract(bytes_text(message), message->length, &plan->extraction, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    size_t total = plan->extraction->block_count;
    plan->blocks = calloc(total + 1, sizeof *plan->blocks);
    plan->numbers = calloc(total + 1, sizeof *plan->numbers);
    if (plan->blocks == NULL || plan->numbers == NULL) {
        plan_free(plan);
        return fail_no_memory(error);
    }
    for (size_t i = 0; i < total; i++) {
        const code_executor_extracted_block *block = plan->extraction->blocks[i];
        if (!block->complete) {
            plan->cut = block;
            plan->cut_number = i + 1;
            break;
        }
        if (*block->block.language != '\0') {
            plan->blocks[plan->count] = &block->block;
            plan->numbers[plan->count++] = i + 1;
        }
    }
    return CODE_EXECUTOR_OK;
}

void plan_free(struct plan *plan)
{
    code_executor_extraction_free(plan->extraction);
    free(plan->blocks);
    free(plan->numbers);
    *plan = (struct plan){0};
}

void plan_say_skipped(const struct plan *plan)
{
    for (size_t i = 0; i < plan->extraction->block_count; i++) {
        const code_executor_extracted_block *block = plan->extraction->blocks[i];
        if (!block->complete)
            return;
        if (*block->block.language == '\0') {
            say_note("Block %zu (lines %zu to %zu) has no language and is skipped.", i + 1,
                     block->first_line, block->last_line);
        }
    }
}

int32_t plan_check(const struct plan *plan, code_executor_error *error)
{
    if (plan->count == 0 && plan->cut == NULL)
        return fail(error, CODE_EXECUTOR_INVALID, "No code blocks to execute.");
    return CODE_EXECUTOR_OK;
}

void plan_keep(struct plan *plan, bool (*is_chosen)(const void *choice, size_t number),
               const void *choice)
{
    size_t kept = 0;
    for (size_t i = 0; i < plan->count; i++) {
        if (is_chosen(choice, plan->numbers[i])) {
            plan->blocks[kept] = plan->blocks[i];
            plan->numbers[kept++] = plan->numbers[i];
        }
    }
    plan->count = kept;
    if (plan->cut != NULL && !is_chosen(choice, plan->cut_number))
        plan->cut = NULL;
}

bool plan_append_refusal(const struct plan *plan, struct bytes *text)
{
    return bytes_format(text,
                        "Block %zu (from line %zu on) is not complete: the message ends inside of "
                        "it. It was not run.\n",
                        plan->cut_number, plan->cut->first_line);
}
