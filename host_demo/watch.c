/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.c: one run, from the plan to how it ended.
 *
 *     on_begin ──▶ close the block before, head the new one
 *     on_output ─▶ stdout to stdout, stderr and the executor's words to stderr, at once
 *     result ────▶ close the last block: how it ended
 *
 * Not 0 from a callback cancels the run: after an interrupt, and when output cannot be written
 * (nobody reads it any more, the disk is full): code whose output is lost need not go on.
 */
#include "watch.h"
#include "interrupt.h"
#include "terminal.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct watch {
    const struct executors *executors;
    const struct plan *plan;
    enum watch_manner manner;
    enum block_policy *policies; /* of each block, in a dialogue; NULL: not known */
    bool begun;                  /* block is one that has begun */
    size_t block;
    double begun_at;
    int write_errno;
};

static double now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ------------------------------------------------------------------------------------------------
 * Words about a block
 * --------------------------------------------------------------------------------------------- */

static bool append_duration(struct bytes *text, double seconds)
{
    if (seconds < 0.9995)
        return bytes_format(text, "%.0f ms", seconds * 1000);
    if (seconds < 59.995)
        return bytes_format(text, "%.2f s", seconds);
    double minutes = floor(seconds / 60);
    return bytes_format(text, "%.0f min %.0f s", minutes, floor(seconds - minutes * 60));
}

static bool append_end(struct bytes *text, const code_executor_block_result *block)
{
    switch (block->outcome) {
    case CODE_EXECUTOR_OUTCOME_COMPLETED:
        if (block->signal != 0) {
            const char *name = sigabbrev_np(block->signal);
            return bytes_format(text, "killed by SIG%s, exit code %d", name == NULL ? "?" : name,
                                (int)block->exit_code);
        }
        return block->exit_code == 0 ? bytes_append_text(text, "ok")
                                     : bytes_format(text, "exit code %d", (int)block->exit_code);
    case CODE_EXECUTOR_OUTCOME_SAVED:
        return bytes_append_text(text, "saved, not run");
    case CODE_EXECUTOR_OUTCOME_REFUSED:
        return bytes_append_text(text, "refused");
    case CODE_EXECUTOR_OUTCOME_TIMED_OUT:
        return bytes_append_text(text, "timed out");
    case CODE_EXECUTOR_OUTCOME_CANCELLED:
        return bytes_append_text(text, "cancelled");
    case CODE_EXECUTOR_OUTCOME_OUT_OF_MEMORY:
        return bytes_append_text(text, "killed: out of memory");
    default:
        return bytes_append_text(text, "failed");
    }
}

static void say_head(const struct watch *watch, size_t block)
{
    const char *language = watch->plan->blocks[block]->language;
    const char *label = executors_label(watch->executors, language);
    CLEANUP(bytes_free) struct bytes name = {0};
    if (bytes_append_visible(&name, language, strnlen(language, 40), false)) {
        say(TONE_CYAN, "[%zu] %s %s %s", watch->plan->numbers[block], bytes_text(&name),
            sign_arrow(), label == NULL ? "nowhere" : label);
    }
}

/* The line that closes a block in a dialogue. ENDED: NULL where all that is known is that it
 * succeeded. */
static void say_foot(const struct watch *watch, const code_executor_block_result *ended)
{
    CLEANUP(bytes_free) struct bytes text = {0};
    bool whole = bytes_format(&text, "[%zu] ", watch->plan->numbers[watch->block]);
    if (ended == NULL) {
        bool saves = watch->policies != NULL && watch->policies[watch->block] == POLICY_SAVES;
        whole = whole && bytes_append_text(&text, saves ? "saved, not run" : "ok");
    } else {
        whole = whole && append_end(&text, ended);
    }
    if (ended == NULL || ended->outcome != CODE_EXECUTOR_OUTCOME_REFUSED) {
        double seconds = ended == NULL || ended->wall_ns == 0 ? now() - watch->begun_at
                                                              : (double)ended->wall_ns / 1e9;
        whole = whole && bytes_append_text(&text, ", ") && append_duration(&text, seconds);
    }
    if (whole) {
        bool fine = ended == NULL || ended->exit_code == 0;
        say(fine ? TONE_GREEN : TONE_RED, "%s", bytes_text(&text));
    }
}

/* The line about a block that did not end well, outside of a dialogue. */
static void note_end(const struct plan *plan, size_t block, const code_executor_block_result *ended)
{
    CLEANUP(bytes_free) struct bytes how = {0};
    CLEANUP(bytes_free) struct bytes rest = {0};
    size_t left = plan->count - block - 1;
    bool whole = append_end(&how, ended);
    if (left > 0) {
        whole = whole && bytes_format(&rest, "; %zu more %s not run", left,
                                      left == 1 ? "block was" : "blocks were");
    }
    if (whole) {
        say_note("Block %zu (%.40s): %s%s.", plan->numbers[block], ended->language,
                 bytes_text(&how), bytes_text(&rest));
    }
}

/* ------------------------------------------------------------------------------------------------
 * Callbacks
 * --------------------------------------------------------------------------------------------- */

static int32_t take_begin(void *user_data, size_t block)
{
    struct watch *watch = user_data;
    if (interrupt_pending())
        return 1;
    if (watch->manner == WATCH_DIALOGUE) {
        if (watch->begun)
            say_foot(watch, NULL);
        say_head(watch, block);
    }
    watch->begun = true;
    watch->block = block;
    watch->begun_at = now();
    return 0;
}

static int32_t take_output(void *user_data, size_t block, int32_t stream, const char *text,
                           size_t length)
{
    (void)block;
    struct watch *watch = user_data;
    if (watch->manner == WATCH_NOTHING || interrupt_pending())
        return interrupt_pending();
    int descriptor = stream == CODE_EXECUTOR_STREAM_STDOUT ? STDOUT_FILENO : STDERR_FILENO;
    if (terminal_write(descriptor, text, length))
        return 0;
    if (errno != EINTR)
        watch->write_errno = errno;
    return 1;
}

/* ------------------------------------------------------------------------------------------------
 * The run
 * --------------------------------------------------------------------------------------------- */

/* Before the run: within a callback the executors must not be asked. */
static void look_up_policies(struct watch *watch)
{
    watch->policies = calloc(watch->plan->count + 1, sizeof *watch->policies);
    for (size_t i = 0; watch->policies != NULL && i < watch->plan->count; i++)
        watch->policies[i] = executors_policy(watch->executors, watch->plan->blocks[i]->language);
}

static int32_t execute(struct executors *executors, struct watch *watch, double timeout,
                       struct run_end *end)
{
    const code_executor_request request = {
        .struct_size = sizeof request,
        .blocks = watch->plan->blocks,
        .block_count = watch->plan->count,
        .execution_id = 1, /* one run at a time */
        .timeout = timeout,
        .user_data = watch,
        .on_begin = take_begin,
        .on_output = take_output,
    };
    if (!interrupt_begin(executors_cancel, executors))
        return fail(&end->error, CODE_EXECUTOR_CANCELLED, "Interrupted.");
    int32_t status = executors_execute(executors, &request, &end->result, &end->error);
    interrupt_finish();
    if (interrupt_pending() && interrupt_ending() == 0)
        terminal_expect_echo();
    return status;
}

static void say_end(const struct watch *watch, const struct run_end *end)
{
    const code_executor_result *result = end->result == NULL ? NULL : end->result->result;
    if (watch->manner == WATCH_NOTHING || result == NULL || result->block_count == 0)
        return;
    size_t last = result->block_count - 1;
    const code_executor_block_result *ended = result->blocks[last];
    if (watch->manner == WATCH_DIALOGUE && watch->begun && watch->block == last)
        say_foot(watch, ended);
    else if (ended->exit_code != 0 && end->write_errno == 0)
        note_end(watch->plan, last, ended);
}

/* Everything before the block that was cut off ran as it should: that one ends the run. */
static void refuse_cut(const struct executors *executors, const struct plan *plan,
                       enum watch_manner manner, struct run_end *end)
{
    end->came_to_cut = true;
    end->cut_label = executors_label(executors, plan->cut->block.language);
    end->exit_code = 1;
    end->outcome = CODE_EXECUTOR_OUTCOME_REFUSED;
    CLEANUP(bytes_free) struct bytes refusal = {0};
    if (manner != WATCH_NOTHING && plan_append_refusal(plan, &refusal))
        say_problem("%.*s", (int)refusal.length - 1, bytes_text(&refusal));
}

void watch_run(struct executors *executors, const struct plan *plan, double timeout,
               enum watch_manner manner, struct run_end *end)
{
    *end = (struct run_end){.error = CODE_EXECUTOR_ERROR_INIT};
    struct watch watch = {.executors = executors, .plan = plan, .manner = manner};
    int32_t status = plan_check(plan, &end->error);
    if (manner == WATCH_DIALOGUE)
        look_up_policies(&watch);
    if (status == CODE_EXECUTOR_OK && plan->count > 0)
        status = execute(executors, &watch, timeout, end);
    end->write_errno = watch.write_errno;
    if (end->result != NULL) {
        end->exit_code = end->result->result->exit_code;
        end->outcome = end->result->result->outcome;
    }
    say_end(&watch, end);
    free(watch.policies);
    if (status == CODE_EXECUTOR_CANCELLED && interrupt_pending()) {
        /* Before the first block began: a run that ended as it was asked to, not one that
         * failed. */
        end->error = (code_executor_error)CODE_EXECUTOR_ERROR_INIT;
        end->exit_code = 130;
        end->outcome = CODE_EXECUTOR_OUTCOME_CANCELLED;
        return;
    }
    if (status != CODE_EXECUTOR_OK) {
        end->error.status = status;
        end->exit_code = EXIT_HOST_FAILED;
        end->outcome = CODE_EXECUTOR_OUTCOME_FAILED;
        return;
    }
    if (plan->cut != NULL && end->exit_code == 0 && end->write_errno == 0)
        refuse_cut(executors, plan, manner, end);
}

void run_end_free(struct run_end *end)
{
    code_executor_routed_result_free(end->result);
    end->result = NULL;
}

int run_end_exit_status(const struct run_end *end)
{
    int ending = interrupt_ending();
    if (ending != 0)
        return 128 + ending;
    if (end->write_errno != 0)
        return end->write_errno == EPIPE ? EXIT_NOBODY_READS : EXIT_HOST_FAILED;
    if (end->error.status != CODE_EXECUTOR_OK)
        return end->misused ? EXIT_USAGE : EXIT_HOST_FAILED;
    return end->exit_code;
}
