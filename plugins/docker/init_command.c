/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init_command.c: runs it and judges how it ended; see init_command.h.
 */
#include "init_command.h"
#include "config.h"
#include "runner/protocol.h"
#include <stdlib.h>
#include <string.h>

#define GRACE_MS 1000

/* The end of what it printed. */
struct tail {
    char bytes[1024];
    size_t length;
};

static bool keep(void *user_data, int32_t stream, const char *bytes, size_t length)
{
    struct tail *tail = user_data;
    (void)stream;
    if (length > sizeof tail->bytes) {
        bytes += length - sizeof tail->bytes;
        length = sizeof tail->bytes;
    }
    size_t kept =
        sizeof tail->bytes - length < tail->length ? sizeof tail->bytes - length : tail->length;
    memmove(tail->bytes, tail->bytes + tail->length - kept, kept);
    memcpy(tail->bytes + kept, bytes, length);
    tail->length = kept + length;
    return true;
}

/* As one line. */
static void flatten(struct tail *tail)
{
    for (size_t i = 0; i < tail->length; i++)
        if ((unsigned char)tail->bytes[i] < ' ')
            tail->bytes[i] = ' ';
}

static int32_t judge(const session_exit *exited, struct tail *tail, code_executor_error *error)
{
    flatten(tail);
    switch (exited->how) {
    case EXIT_EXITED:
        if (exited->exit_code == 0)
            return CODE_EXECUTOR_OK;
        return error_set(error, CODE_EXECUTOR_UNAVAILABLE,
                         "init_command failed with exit code %u: %.*s", exited->exit_code,
                         (int)tail->length, tail->bytes);
    case EXIT_CANCELLED:
        return error_set(error, CODE_EXECUTOR_CANCELLED, "cancelled while init_command ran");
    case EXIT_NOT_STARTED:
        return error_set(error, CODE_EXECUTOR_UNAVAILABLE,
                         "init_command needs sh, which the image does not have");
    case EXIT_OUT_OF_MEMORY:
        return error_set(error, CODE_EXECUTOR_UNAVAILABLE,
                         "init_command was killed for memory; raise memory");
    default:
        return error_set(error, CODE_EXECUTOR_UNAVAILABLE,
                         "init_command was killed by signal %u: %.*s", exited->signal,
                         (int)tail->length, tail->bytes);
    }
}

int32_t init_command_run(json_object *config, const launch_context *context, session *over,
                         const char *folder, session_canceller *canceller,
                         code_executor_error *error)
{
    static const char *const defaults[] = {"LANG=C.UTF-8", "PYTHONUNBUFFERED=1"};
    const char *const vector[] = {"sh", "-c", config_string(config, "init_command"), NULL};
    const char *const *const candidates[] = {vector};
    const char *const *environment = NULL;
    struct tail tail = {.length = 0};
    session_command command = {
        .folder = folder,
        .environment_defaults = defaults,
        .environment_default_count = sizeof defaults / sizeof defaults[0],
        .candidates = candidates,
        .candidate_count = 1,
        .grace_ms = GRACE_MS,
        .user_data = &tail,
        .on_output = keep,
    };
    if (!vector[2])
        return CODE_EXECUTOR_OK;
    int32_t status =
        config_assignments(config, "env", &environment, &command.environment_count, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    command.environment = environment;
    session_exit exited = {0};
    launch_log(context, CODE_EXECUTOR_LOG_INFO, "running init_command: %s", vector[2]);
    status = session_run(over, &command, canceller, &exited, error);
    free((void *)(uintptr_t)environment);
    if (status != CODE_EXECUTOR_OK)
        return error_prefix(error, status, "while init_command ran: ");
    return judge(&exited, &tail, error);
}
