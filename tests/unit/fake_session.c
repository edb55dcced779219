/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_session.c: see fake_session.h.
 */
#include "fake_session.h"
#include "error.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct answer answers[8];
size_t answered;
char commands[2000]; /* the first candidates, a line each */
session_command last;
char last_environment[2000];
char last_programs[100];
bool last_file_was_there;
char work[64];
struct session_canceller canceller;

void session_cancel(session_canceller *self)
{
    self->cancelled = true;
}

bool session_cancelled(const session_canceller *self)
{
    return self->cancelled;
}

static void note(const session_command *command)
{
    size_t length = strlen(commands);
    for (const char *const *word = command->candidates[0]; *word; word++)
        length += (size_t)snprintf(commands + length, sizeof commands - length, "%s%s",
                                   word == command->candidates[0] ? "" : " ", *word);
    snprintf(commands + length, sizeof commands - length, "\n");
    last = *command;
    last_programs[0] = '\0';
    for (size_t i = 0; i < command->candidate_count; i++)
        strcat(strcat(last_programs, command->candidates[i][0]), " ");
    length = 0;
    last_environment[0] = '\0';
    for (size_t i = 0; i < command->environment_count; i++)
        length += (size_t)snprintf(last_environment + length, sizeof last_environment - length,
                                   "%s\n", command->environment[i]);
    char path[512];
    for (const char *const *word = command->candidates[0]; *word; word++) {
        snprintf(path, sizeof path, "%s/%s", work, *word);
        last_file_was_there = access(path, F_OK) == 0;
    }
}

int32_t session_run(session *self, const session_command *command, session_canceller *cancel,
                    session_exit *exited, code_executor_error *error)
{
    (void)self;
    note(command);
    struct answer *answer = &answers[answered++];
    *exited = answer->exit;
    if (cancel->cancelled) {
        exited->how = EXIT_CANCELLED;
        return CODE_EXECUTOR_OK;
    }
    if (answer->out && !command->on_output(command->user_data, 1, answer->out, strlen(answer->out)))
        exited->how = EXIT_CANCELLED;
    if (answer->err && !command->on_output(command->user_data, 2, answer->err, strlen(answer->err)))
        exited->how = EXIT_CANCELLED;
    if (answer->status != CODE_EXECUTOR_OK)
        return error_set(error, answer->status, "the runner is gone");
    return CODE_EXECUTOR_OK;
}

/* No workspace here is copied. */
int32_t session_write_file(session *self, const char *path, uint32_t mode, const char *bytes,
                           size_t length, code_executor_error *error)
{
    (void)self;
    (void)path;
    (void)mode;
    (void)bytes;
    (void)length;
    return error_set(error, CODE_EXECUTOR_INTERNAL, "nothing is to be written");
}
