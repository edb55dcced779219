/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests.c: rules about what execute refuses, by a status or by a result.
 */
#include "execution.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define NO_LANGUAGE "no-such-language"

void rule_no_blocks(struct subject *subject)
{
    struct execution execution;
    execution_prepare(&execution, subject, load_and_create(subject), 1);
    execution_run(&execution);
    must_be_refused(&execution, CODE_EXECUTOR_INVALID, "no blocks", "No code blocks to execute.");
    execution_free(&execution);
}

void rule_id_zero(struct subject *subject)
{
    struct execution execution;
    execution_prepare(&execution, subject, load_and_create(subject), 0);
    execution_add_code(&execution, NO_LANGUAGE, "");
    execution_run(&execution);
    must_be_refused(&execution, CODE_EXECUTOR_INVALID, "execution id 0", NULL);
    execution_free(&execution);
}

void rule_short_timeout(struct subject *subject)
{
    const double timeouts[] = {0.5, -1, NAN};
    code_executor_instance *instance = load_and_create(subject);
    for (size_t i = 0; i < sizeof timeouts / sizeof *timeouts; i++) {
        struct execution execution;
        char reason[64];
        snprintf(reason, sizeof reason, "a timeout of %g", timeouts[i]);
        execution_prepare(&execution, subject, instance, 1);
        execution_add_code(&execution, NO_LANGUAGE, "");
        execution.request.timeout = timeouts[i];
        execution_run(&execution);
        must_be_refused(&execution, CODE_EXECUTOR_INVALID, reason, NULL);
        execution_free(&execution);
    }
    destroy(subject, instance);
}

void rule_newer_request(struct subject *subject)
{
    struct {
        code_executor_request request;
        uint64_t newer;
    } larger = {.newer = 0};
    code_executor_result *result = NULL;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    struct execution execution;
    code_executor_instance *instance = load_and_create(subject);
    execution_prepare(&execution, subject, instance, 1);
    execution_add(&execution, PROBE_PRINT);
    larger.request = execution.request;
    larger.request.struct_size = sizeof larger;
    larger.request.on_begin = NULL;
    larger.request.on_output = NULL;
    step(subject, "execute");
    expect(subject, "a larger code_executor_request runs while what is new in it is 0");
    int32_t status = subject->table->execute(instance, &larger.request, &result, &error);
    if (status != CODE_EXECUTOR_OK)
        saw_status(subject, status, &error);
    if (result->exit_code != 0)
        saw(subject, "exit code %d", (int)result->exit_code);
    subject->table->result_free(result);
    result = NULL;
    larger.newer = 1;
    expect(subject,
           "status unsupported for a larger code_executor_request with something new in it");
    status = subject->table->execute(instance, &larger.request, &result, &error);
    if (status != CODE_EXECUTOR_UNSUPPORTED)
        saw_status(subject, status, &error);
    destroy(subject, instance);
}

static void must_end_as(struct execution *execution, int32_t outcome, int32_t exit_code)
{
    struct subject *subject = execution->subject;
    expect(subject, "execute succeeds, the block is %s with exit code %d",
           code_executor_outcome_name(outcome), (int)exit_code);
    if (execution->status != CODE_EXECUTOR_OK)
        saw_status(subject, execution->status, &execution->error);
    if (execution->result->block_count == 0)
        saw(subject, "no result of the block");
    const code_executor_block_result *block = execution->result->blocks[0];
    if (block->outcome != outcome || block->exit_code != exit_code) {
        saw(subject, "%s, exit code %d, output %s", code_executor_outcome_name(block->outcome),
            (int)block->exit_code, quoted(block->output, block->output_length));
    }
}

void rule_unknown_language(struct subject *subject)
{
    const code_executor_language *const *languages = NULL;
    struct execution execution;
    size_t count = 0;
    code_executor_instance *instance = load_and_create(subject);
    if (!list_languages(subject, instance, &languages, &count))
        not_applicable(subject, "it lists no languages, so it may take any");
    execution_prepare(&execution, subject, instance, 1);
    execution_add_code(&execution, NO_LANGUAGE, "whatever");
    execution_add_code(&execution, NO_LANGUAGE, "whatever");
    execution_run(&execution);
    must_end_as(&execution, CODE_EXECUTOR_OUTCOME_REFUSED, 1);
    expect(subject, "nothing behind a block that was refused");
    if (execution.result->block_count != 1)
        saw(subject, "%zu results", execution.result->block_count);
    execution_free(&execution);
    destroy(subject, instance);
}

void rule_saved_language(struct subject *subject)
{
    const code_executor_language *const *languages = NULL;
    struct execution execution;
    size_t count = 0, at = 0;
    code_executor_instance *instance = load_and_create(subject);
    if (!list_languages(subject, instance, &languages, &count))
        not_applicable(subject, "it lists no languages");
    while (at < count && languages[at]->runs)
        at++;
    if (at == count)
        not_applicable(subject, "it runs every language that it lists");
    CLEANUP(free_text) char *language = strdup(languages[at]->name);
    execution_prepare(&execution, subject, instance, 1);
    execution_add_code(&execution, language, "whatever");
    execution_run(&execution);
    must_end_as(&execution, CODE_EXECUTOR_OUTCOME_SAVED, 0);
    execution_free(&execution);
    destroy(subject, instance);
}
