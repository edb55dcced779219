/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c: the blocks of a request, one after the other; see run.h.
 *
 * Each block has a record in the result from its begin, and what it writes is collected beside it.
 * An error of the executor ends the run where it is: the block's outcome is *failed*, and all that
 * came before stays in the result. What the block itself is to blame for is no error, but an exit
 * code and words in the output.
 */
#include "run.h"
#include "arena.h"
#include "ascii.h"
#include "block_command.h"
#include "block_file.h"
#include "output.h"
#include "result.h"
#include "runner/protocol.h"
#include "temporary_file.h"
#include "text.h"
#include "workspace.h"
#include "workspace_copy.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GRACE_MS 1000

enum exit_codes {
    CODE_REFUSED = 1,
    CODE_TIMED_OUT = 124,
    CODE_FAILED = 125,
    CODE_CANNOT_RUN = 126,
    CODE_NOT_FOUND = 127,
    CODE_SIGNALLED = 128
};

/* A timed-out block must not lose what it printed; without a locale Python writes no UTF-8. */
static const char *const environment_defaults[] = {"LANG=C.UTF-8", "PYTHONUNBUFFERED=1"};

/* One call of run_blocks. */
struct run {
    const run_settings *settings;
    const run_place *place;
    const code_executor_request *request;
    session_canceller *canceller;
    result_builder *builder;
    struct arena arena;
    const char *const *environment;
    size_t environment_count;
    bool silent; /* a callback has asked for the end, and hears no more */
    code_executor_error *error;
};

/* One block of it. */
struct block_run {
    struct run *run;
    size_t index;
    const language *language;
    code_executor_block_result *record;
    output out;
    output err;
    /* Both, with the executor's words; not begun while stdout is all there is. */
    output combined;
    bool is_mixed;
};

/* ------------------------------------------------------------------------------------------------
 * Output and callbacks
 * --------------------------------------------------------------------------------------------- */

static void collect(struct block_run *self, int32_t stream, const char *bytes, size_t length)
{
    if (stream != CODE_EXECUTOR_STREAM_STDOUT && !self->is_mixed) {
        output_copy(&self->combined, &self->out);
        self->is_mixed = true;
    }
    if (self->is_mixed)
        output_add(&self->combined, bytes, length);
    if (stream == CODE_EXECUTOR_STREAM_STDOUT)
        output_add(&self->out, bytes, length);
    else if (stream == CODE_EXECUTOR_STREAM_STDERR)
        output_add(&self->err, bytes, length);
}

/* Takes what a callback answered. */
static bool heed(struct run *run, int32_t answer)
{
    if (answer != 0) {
        run->silent = true;
        session_cancel(run->canceller);
    }
    return answer == 0;
}

static bool on_output(void *user_data, int32_t stream, const char *bytes, size_t length)
{
    struct block_run *self = user_data;
    const code_executor_request *request = self->run->request;
    if (length == 0)
        return true;
    collect(self, stream, bytes, length);
    if (!request->on_output || self->run->silent)
        return true;
    return heed(self->run,
                request->on_output(request->user_data, self->index, stream, bytes, length));
}

static void say(struct block_run *self, const char *words)
{
    on_output(self, CODE_EXECUTOR_STREAM_EXECUTOR, words, strlen(words));
}

static bool announce(struct block_run *self)
{
    const code_executor_request *request = self->run->request;
    if (!request->on_begin || self->run->silent)
        return true;
    return heed(self->run, request->on_begin(request->user_data, self->index));
}

static void log_info(const struct run *run, const char *format, const char *name)
{
    char message[256];
    if (!run->settings->log)
        return;
    snprintf(message, sizeof message, format, name, name);
    run->settings->log(run->settings->log_state, CODE_EXECUTOR_LOG_INFO, message);
}

/* ------------------------------------------------------------------------------------------------
 * Ends of a block
 * --------------------------------------------------------------------------------------------- */

static int32_t end(struct block_run *self, int32_t outcome, int32_t exit_code)
{
    self->record->outcome = outcome;
    self->record->exit_code = exit_code;
    return CODE_EXECUTOR_OK;
}

static int32_t refuse(struct block_run *self, const char *words)
{
    say(self, words);
    return end(self, CODE_EXECUTOR_OUTCOME_REFUSED, CODE_REFUSED);
}

static int32_t refuse_language(struct block_run *self, const char *word)
{
    char lower[128];
    char words[160];
    text_shorten(word, lower, sizeof lower);
    for (char *c = lower; *c; c++)
        *c = ascii_lower(*c);
    snprintf(words, sizeof words, "Unsupported language %s\n", lower);
    return refuse(self, words);
}

static int32_t no_memory(struct run *run)
{
    return error_set(run->error, CODE_EXECUTOR_NO_MEMORY, "no memory to run a block");
}

static int32_t end_not_started(struct block_run *self, const session_exit *exited)
{
    bool missing = exited->candidate != CANDIDATE_NONE && exited->errnum == ENOENT;
    char words[640];
    snprintf(words, sizeof words, "Cannot run %s: %s\n", self->language->name, exited->detail);
    say(self, words);
    return end(self, CODE_EXECUTOR_OUTCOME_COMPLETED, missing ? CODE_NOT_FOUND : CODE_CANNOT_RUN);
}

static int32_t end_killed(struct block_run *self, int32_t outcome, const char *why)
{
    char words[640];
    snprintf(words, sizeof words, "\nKilled: %s\n", why);
    say(self, words);
    self->record->signal = SIGKILL;
    return end(self, outcome, CODE_SIGNALLED + SIGKILL);
}

static int32_t take_exit(struct block_run *self, const session_exit *exited)
{
    switch (exited->how) {
    case EXIT_EXITED:
        return end(self, CODE_EXECUTOR_OUTCOME_COMPLETED, (int32_t)exited->exit_code);
    case EXIT_SIGNALLED:
        self->record->signal = (int32_t)exited->signal;
        return end(self, CODE_EXECUTOR_OUTCOME_COMPLETED, CODE_SIGNALLED + (int32_t)exited->signal);
    case EXIT_TIMED_OUT:
        say(self, "\nTimeout");
        return end(self, CODE_EXECUTOR_OUTCOME_TIMED_OUT, CODE_TIMED_OUT);
    case EXIT_CANCELLED:
        return end(self, CODE_EXECUTOR_OUTCOME_CANCELLED, CODE_SIGNALLED + SIGINT);
    case EXIT_OUT_OF_MEMORY:
        return end_killed(self, CODE_EXECUTOR_OUTCOME_OUT_OF_MEMORY,
                          exited->detail[0] ? exited->detail : "the memory limit was reached");
    case EXIT_NOT_STARTED:
        return end_not_started(self, exited);
    case EXIT_LOST:
        return end_killed(self, CODE_EXECUTOR_OUTCOME_COMPLETED, exited->detail);
    default:
        return error_set(self->run->error, CODE_EXECUTOR_PROTOCOL,
                         "the runner told of an end of kind %u, which is none",
                         (unsigned)exited->how);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Running
 * --------------------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* SECONDS for the protocol, for which 0 is no limit at all. */
static uint32_t milliseconds(double seconds)
{
    double time = seconds * 1000;
    return time < 1 ? 1 : time > UINT32_MAX ? UINT32_MAX : (uint32_t)time;
}

static void add_costs(code_executor_block_result *record, const session_exit *exited)
{
    record->wall_ns += exited->wall_ns;
    record->cpu_ns += exited->cpu_ns;
    if (exited->peak_memory_bytes > record->peak_memory_bytes)
        record->peak_memory_bytes = exited->peak_memory_bytes;
}

/* What is on standard input is for the program, and not for what compiles it. */
static int32_t run_step(struct block_run *self, size_t step, const char *file, const char *built,
                        double deadline)
{
    struct run *run = self->run;
    struct arena arena = {0};
    bool is_last = step + 1 == self->language->step_count;
    session_command command = {
        .folder = run->place->folder,
        .environment_defaults = environment_defaults,
        .environment_default_count = sizeof environment_defaults / sizeof environment_defaults[0],
        .environment = run->environment,
        .environment_count = run->environment_count,
        .timeout_ms = milliseconds(deadline - now()),
        .grace_ms = GRACE_MS,
        .stdin_bytes = is_last ? run->request->stdin_bytes : NULL,
        .stdin_length = is_last ? run->request->stdin_length : 0,
        .user_data = self,
        .on_output = on_output,
    };
    session_exit exited = {0};
    block_command_fill(&command, &self->language->steps[step], file, built, &arena);
    int32_t status = arena.failed ? no_memory(run)
                                  : session_run(run->place->session, &command, run->canceller,
                                                &exited, run->error);
    arena_release(&arena);
    if (status != CODE_EXECUTOR_OK)
        return status;
    add_costs(self->record, &exited);
    return take_exit(self, &exited);
}

static int32_t run_steps(struct block_run *self, const char *file)
{
    const struct run *run = self->run;
    double timeout = run->request->timeout > 0 ? run->request->timeout : run->settings->timeout;
    double deadline = now() + timeout;
    bool builds = language_builds(self->language);
    char built[BUILD_NAME_SIZE] = "";
    if (builds)
        build_name_choose(built);
    int32_t status = CODE_EXECUTOR_OK;
    for (size_t i = 0; i < self->language->step_count; i++) {
        status = run_step(self, i, file, built, deadline);
        if (status != CODE_EXECUTOR_OK || self->record->exit_code != 0)
            break;
    }
    if (builds && run->place->copy)
        workspace_copy_remove(run->place->copy, built);
    else if (builds)
        workspace_remove(run->place->work_dir, built);
    return status;
}

static int32_t only_save(struct block_run *self)
{
    struct run *run = self->run;
    char *words;
    if (asprintf(&words, "Code saved to %s\n", self->record->code_file) < 0)
        return no_memory(run);
    say(self, words);
    free(words);
    log_info(run,
             self->language->step_count
                 ? "%s is saved and not run, as its policy says; {\"execution_policies\": "
                   "{\"%s\": true}} runs it"
                 : "%s is saved and not run: there is no command for it; {\"languages\": "
                   "{\"%s\": {\"commands\": …}}} can give it one",
             self->language->name);
    return end(self, CODE_EXECUTOR_OUTCOME_SAVED, 0);
}

static void log_copying(void *user_data, int32_t level, const char *message)
{
    const run_settings *settings = ((const struct run *)user_data)->settings;
    if (settings->log)
        settings->log(settings->log_state, level, message);
}

static workspace_copying copying_of(struct run *run)
{
    return (workspace_copying){.session = run->place->session,
                               .canceller = run->canceller,
                               .work_dir = run->place->work_dir,
                               .folder = run->place->folder,
                               .user_data = run,
                               .log = log_copying};
}

/* In the workspace, and where the code sees it if that is another folder. */
static int32_t save(struct block_run *self, const block_file *file,
                    char objection[WORKSPACE_OBJECTION_SIZE])
{
    struct run *run = self->run;
    workspace_copying copying = copying_of(run);
    int32_t status = workspace_save(run->place->work_dir, file->name, file->bytes, file->length,
                                    objection, run->error);
    if (status != CODE_EXECUTOR_OK || objection[0] || !run->place->copy)
        return status;
    return workspace_copy_file(run->place->copy, &copying, file->name, file->bytes, file->length,
                               objection, run->error);
}

static int32_t save_and_run(struct block_run *self, const block_file *file)
{
    struct run *run = self->run;
    const char *work_dir = run->place->work_dir;
    char objection[WORKSPACE_OBJECTION_SIZE];
    if (!announce(self))
        return end(self, CODE_EXECUTOR_OUTCOME_CANCELLED, CODE_SIGNALLED + SIGINT);
    self->record->code_file = result_path(run->builder, work_dir, file->name);
    if (!self->record->code_file)
        return no_memory(run);
    int32_t status = save(self, file, objection);
    if (status != CODE_EXECUTOR_OK || objection[0])
        self->record->code_file = NULL;
    if (status != CODE_EXECUTOR_OK)
        return status;
    if (objection[0])
        return refuse(self, objection);
    return self->language->runs ? run_steps(self, file->name) : only_save(self);
}

static int32_t handle_file(struct block_run *self, const block_file *file)
{
    const struct run *run = self->run;
    if (!file->temporary || !run->settings->delete_tmp_files || !self->language->runs)
        return save_and_run(self, file);
    temporary_file *held = temporary_file_hold(run->place->work_dir, file->name);
    if (!held)
        return no_memory(self->run);
    int32_t status = save_and_run(self, file);
    bool removed = temporary_file_release(held);
    if (removed && run->place->copy)
        workspace_copy_remove(run->place->copy, file->name);
    return status;
}

static char *find_objection(const struct block_run *self, const code_executor_block *block)
{
    const run_settings *settings = self->run->settings;
    if (!settings->object || !self->language->runs)
        return NULL;
    return settings->object(settings->object_state, self->language->name,
                            block->code ? block->code : "", block->code_length);
}

/* From the language to the end. An error is the executor's. */
static int32_t attend(struct block_run *self)
{
    struct run *run = self->run;
    const code_executor_block *block = run->request->blocks[self->index];
    self->language = language_find(run->settings->languages, block->language);
    if (!self->language)
        return refuse_language(self, block->language);
    char *words = find_objection(self, block);
    if (words) {
        refuse(self, words);
        free(words);
        return CODE_EXECUTOR_OK;
    }
    block_file file;
    const char *objection;
    int32_t status = block_file_begin(self->language, block, &file, &objection, run->error);
    if (status == CODE_EXECUTOR_OK)
        status = objection ? refuse(self, objection) : handle_file(self, &file);
    block_file_end(&file);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * All blocks
 * --------------------------------------------------------------------------------------------- */

static int32_t run_block(struct run *run, size_t index, bool *go_on)
{
    *go_on = false;
    struct block_run self = {.run = run, .index = index};
    self.record = result_add_block(run->builder, run->request->blocks[index]->language);
    if (!self.record)
        return no_memory(run);
    if (session_cancelled(run->canceller))
        return end(&self, CODE_EXECUTOR_OUTCOME_CANCELLED, CODE_SIGNALLED + SIGINT);
    output_begin(&self.out, run->settings->max_output_bytes);
    output_begin(&self.err, run->settings->max_output_bytes);
    int32_t status = attend(&self);
    if (status != CODE_EXECUTOR_OK)
        end(&self, CODE_EXECUTOR_OUTCOME_FAILED, CODE_FAILED);
    const output *combined = self.is_mixed ? &self.combined : NULL;
    if (!result_set_outputs(run->builder, self.record, &self.out, &self.err, combined) &&
        status == CODE_EXECUTOR_OK) {
        end(&self, CODE_EXECUTOR_OUTCOME_FAILED, CODE_FAILED);
        status = no_memory(run);
    }
    output_end(&self.out);
    output_end(&self.err);
    output_end(&self.combined);
    *go_on = status == CODE_EXECUTOR_OK && self.record->exit_code == 0;
    return status;
}

static int32_t copy_in(struct run *run)
{
    workspace_copying copying = copying_of(run);
    return run->place->copy ? workspace_copy_in(run->place->copy, &copying, run->error)
                            : CODE_EXECUTOR_OK;
}

/* A cancelled execution returns promptly: the next one brings what it has changed. */
static int32_t copy_out(struct run *run)
{
    workspace_copying copying = copying_of(run);
    if (!run->place->copy || session_cancelled(run->canceller))
        return CODE_EXECUTOR_OK;
    int32_t status = workspace_copy_out(run->place->copy, &copying, run->error);
    return status == CODE_EXECUTOR_CANCELLED ? error_clear(run->error) : status;
}

static int32_t run_all(struct run *run)
{
    const run_settings *settings = run->settings;
    const code_executor_request *request = run->request;
    if (session_cancelled(run->canceller))
        return error_set(run->error, CODE_EXECUTOR_CANCELLED,
                         "cancelled before the first block began");
    if (!block_environment(settings->environment, settings->environment_count, request->environment,
                           request->environment_count, &run->arena, &run->environment,
                           &run->environment_count))
        return no_memory(run);
    int32_t status = copy_in(run);
    bool go_on = status == CODE_EXECUTOR_OK;
    for (size_t i = 0; i < request->block_count && go_on; i++)
        status = run_block(run, i, &go_on);
    return status == CODE_EXECUTOR_OK ? copy_out(run) : status;
}

int32_t run_blocks(const run_settings *settings, const run_place *place,
                   const code_executor_request *request, session_canceller *canceller,
                   code_executor_result **result, code_executor_error *error)
{
    struct run run = {.settings = settings,
                      .place = place,
                      .request = request,
                      .canceller = canceller,
                      .builder = result_begin(),
                      .error = error};
    *result = NULL;
    if (!run.builder)
        return no_memory(&run);
    int32_t status = run_all(&run);
    arena_release(&run.arena);
    *result = result_end(run.builder);
    if (!*result && status == CODE_EXECUTOR_OK)
        status = no_memory(&run);
    return status;
}
