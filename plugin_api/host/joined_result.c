/* SPDX-License-Identifier: Apache-2.0 */
/*
 * joined_result.c: collects parts, joins their output, makes refusals.
 */
#include "joined_result.h"

#include <stdlib.h>
#include <string.h>

/* A result of one refused block, in one allocation. */
typedef struct refusal {
    code_executor_result result;
    code_executor_block_result block;
    const code_executor_block_result *blocks[1];
    char texts[];
} refusal;

static void part_free(const result_part *gone)
{
    if (gone->table != NULL)
        gone->table->result_free(gone->result);
    else
        free(gone->result); /* the first member of a refusal */
}

void code_executor_routed_result_free(code_executor_routed_result *public_part)
{
    joined_result *whole = (joined_result *)public_part;
    if (whole == NULL)
        return;
    for (size_t i = 0; i < whole->part_count; i++)
        part_free(&whole->parts[i]);
    free(whole->parts);
    free(whole->blocks);
    free(whole->labels);
    free(whole->label_text);
    free(whole->output);
    free(whole);
}

joined_result *joined_result_make(size_t block_count, size_t label_length)
{
    joined_result *whole = calloc(1, sizeof(*whole));
    if (whole == NULL)
        return NULL;
    whole->parts = calloc(block_count, sizeof(*whole->parts));
    whole->blocks = calloc(block_count, sizeof(const code_executor_block_result *));
    whole->labels = calloc(block_count, sizeof(*whole->labels));
    whole->label_text = malloc(label_length);
    whole->label_end = whole->label_text;
    if (whole->parts == NULL || whole->blocks == NULL || whole->labels == NULL ||
        whole->label_text == NULL) {
        code_executor_routed_result_free(&whole->public_part);
        return NULL;
    }
    return whole;
}

void joined_result_add_part(joined_result *whole, result_part given)
{
    whole->parts[whole->part_count++] = given;
    whole->result.exit_code = given.result->exit_code;
    whole->result.outcome = given.result->outcome;
    if (whole->result.code_file == NULL)
        whole->result.code_file = given.result->code_file;
}

void joined_result_add_block(joined_result *whole, const code_executor_block_result *block,
                             const char *label)
{
    size_t place = whole->result.block_count++;
    whole->blocks[place] = block;
    whole->labels[place] = whole->label_end;
    whole->label_end = stpcpy(whole->label_end, label) + 1;
}

/* False where memory ends. */
static bool join_output(joined_result *whole)
{
    size_t length = 0;
    for (size_t i = 0; i < whole->part_count; i++)
        length += whole->parts[i].result->output_length;
    whole->result.output_length = length;
    if (whole->part_count == 1) {
        const char *output = whole->parts[0].result->output;
        whole->result.output = output != NULL ? output : "";
        return true;
    }
    whole->output = malloc(length + 1);
    if (whole->output == NULL)
        return false;
    char *end = whole->output;
    for (size_t i = 0; i < whole->part_count; i++) {
        const code_executor_result *result = whole->parts[i].result;
        if (result->output_length > 0) {
            memcpy(end, result->output, result->output_length);
            end += result->output_length;
        }
    }
    *end = '\0';
    whole->result.output = whole->output;
    return true;
}

bool joined_result_finish(joined_result *whole)
{
    if (!join_output(whole))
        return false;
    whole->result.struct_size = sizeof(whole->result);
    whole->result.blocks = whole->blocks;
    whole->public_part = (code_executor_routed_result){
        .struct_size = sizeof(whole->public_part),
        .result = &whole->result,
        .labels = whole->labels,
    };
    return true;
}

code_executor_result *refusal_make(const char *language)
{
    static const char words[] = "Unsupported language ";
    size_t language_length = strlen(language);
    size_t output_length = strlen(words) + language_length + 1;
    refusal *made = calloc(1, sizeof(*made) + language_length + 1 + output_length + 1);
    if (made == NULL)
        return NULL;
    char *output = stpcpy(made->texts, language) + 1;
    stpcpy(stpcpy(stpcpy(output, words), language), "\n");
    made->block = (code_executor_block_result){
        .struct_size = sizeof(made->block),
        .language = made->texts,
        .outcome = CODE_EXECUTOR_OUTCOME_REFUSED,
        .exit_code = 1,
        .stdout_bytes = "",
        .stderr_bytes = "",
        .output = output,
        .output_length = output_length,
    };
    made->blocks[0] = &made->block;
    made->result = (code_executor_result){
        .struct_size = sizeof(made->result),
        .exit_code = 1,
        .outcome = CODE_EXECUTOR_OUTCOME_REFUSED,
        .output = output,
        .output_length = output_length,
        .blocks = made->blocks,
        .block_count = 1,
    };
    return &made->result;
}
