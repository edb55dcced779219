/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c: `host_demo run`: one message, run once.
 *
 *     FILE ──▶ plan ──▶ executors (only those that a block needs) ──▶ watch ──▶ JSON, exit status
 *
 * What fails on the way ends up in one place, finish: in words on stderr, or in the JSON document.
 */
#include "commands.h"
#include "executors.h"
#include "interrupt.h"
#include "json_result.h"
#include "message.h"
#include "plan.h"
#include "terminal.h"
#include "watch.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Everything that must be there before the first block runs. */
static int32_t prepare(const struct options *options, struct plan *plan,
                       struct executors **executors, code_executor_error *error)
{
    CLEANUP(bytes_free) struct bytes message = {0};
    int32_t status = message_read(options->argument, &message, error);
    if (status == CODE_EXECUTOR_OK)
        status = plan_make(&message, plan, error);
    if (status == CODE_EXECUTOR_OK) {
        plan_say_skipped(plan);
        status = plan_check(plan, error);
    }
    if (status == CODE_EXECUTOR_OK)
        status = executors_open(options->work_dir, executors, error);
    if (status == CODE_EXECUTOR_OK)
        status = executors_load_named(*executors, options, error);
    for (size_t i = 0; i < plan->count && status == CODE_EXECUTOR_OK; i++)
        status = executors_need(*executors, plan->blocks[i]->language, error);
    return status;
}

static void say_failure(const struct run_end *end)
{
    if (end->write_errno != 0) {
        if (end->write_errno != EPIPE) {
            say_problem("The output cannot be written: %s. The run was cancelled.",
                        strerror(end->write_errno));
        }
        return;
    }
    if (end->error.status != CODE_EXECUTOR_OK)
        say_problem("%s", end->error.message);
}

static int finish(const struct options *options, const struct plan *plan, struct run_end *end)
{
    if (options->json && !json_write_result(plan, end))
        end->write_errno = errno;
    if (!options->json || end->write_errno != 0)
        say_failure(end);
    return run_end_exit_status(end);
}

int run_command(const struct options *options)
{
    CLEANUP(plan_free) struct plan plan = {0};
    CLEANUP(executors_close_at) struct executors *executors = NULL;
    CLEANUP(run_end_free) struct run_end end = {.error = CODE_EXECUTOR_ERROR_INIT};
    int32_t status = prepare(options, &plan, &executors, &end.error);
    if (status != CODE_EXECUTOR_OK) {
        bool interrupted = status == CODE_EXECUTOR_CANCELLED && interrupt_pending();
        end.error.status = interrupted ? CODE_EXECUTOR_OK : status;
        end.misused = executors_are_misused(executors);
        end.exit_code = interrupted ? 130 : end.misused ? EXIT_USAGE : EXIT_HOST_FAILED;
        end.outcome = interrupted ? CODE_EXECUTOR_OUTCOME_CANCELLED : CODE_EXECUTOR_OUTCOME_FAILED;
        return finish(options, NULL, &end);
    }
    watch_run(executors, &plan, options->timeout, options->json ? WATCH_NOTHING : WATCH_OUTPUT,
              &end);
    return finish(options, &plan, &end);
}
