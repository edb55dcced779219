/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local.c: the `local` executor, which runs code on this machine, as this user, beside everything else
 * that the user has. It isolates nothing. It is also the executor to read first when you write your own:
 * all that differs from one to the other is here.
 *
 * What an executor adds. A *launcher* (commandline.h) starts the runner somewhere and hands back a byte
 * stream to it. Here somewhere is a process of its own, and the stream is a socket pair whose other end
 * is the runner's standard input and output:
 *
 *     host ── socket pair ──▶ runner ──▶ python, sh, …
 *
 * The end. shut_down is called after the socket was closed. The runner reads end-of-file, kills all that
 * it started, waits for it and exits; that it has is seen by its standard error, which it and its
 * supervisors hold and nothing that they run.
 *
 * The file reads in the order of the calls: configure, launch, shut_down, object, describe, destroy; then
 * the table of them, and the plugin.
 */
#include "commandline.h"

#include "arena.h"
#include "config.h"
#include "environment.h"
#include "fork_guard.h"
#include "helper_process.h"
#include "sanitize.h"
#include "socket_transport.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How long the runner may take to end what it started, and to die when it is killed. */
enum { END_MS = 10000, KILL_MS = 5000 };

/* clang-format off */
#define LOCAL_SCHEMA                                                                               \
    COMMANDLINE_SCHEMA_BEGIN                                                                       \
    COMMANDLINE_SCHEMA_PROPERTIES                                                                  \
    JSON_TEXT(                                                                                     \
        "virtual_env": {                                                                           \
            "type": ["string", "null"], "minLength": 1, "default": null,                           \
            "description": "A Python virtual environment: its bin comes first in PATH."            \
        },                                                                                         \
        "inherit_env": {                                                                           \
            "type": ["boolean", "array"], "items": {"type": "string", "minLength": 1}, "default": false, \
            "description": "Which variables of the host code sees besides PATH, HOME, LANG, LC_*, TERM and TMPDIR: true for all, or their names." \
        },                                                                                         \
        "sanitize": {                                                                              \
            "type": "boolean", "default": true,                                                    \
            "description": "Refuse shell blocks that use rm -rf, dd, mkfs, write to disks, move files to /dev/null or hold a fork bomb." \
        }                                                                                          \
    )                                                                                              \
    COMMANDLINE_SCHEMA_END
/* clang-format on */

/* What an instance keeps from create to destroy. */
typedef struct local {
    bool sanitize;
    environment_choice choice;
    char *virtual_env;          /* the choice's */
    const char *const *inherit; /* the choice's, one block */
    helper_process runner;      /* from launch to shut_down */
} local;

/* ------------------------------------------------------------------------------------------------
 * configure
 * --------------------------------------------------------------------------------------------- */

static int32_t read_choice(local *self, json_object *config, code_executor_error *error)
{
    json_object *inherit = config_value(config, "inherit_env");
    if (json_object_is_type(inherit, json_type_boolean)) {
        self->choice.all = json_object_get_boolean(inherit);
    } else {
        int32_t status =
            config_strings(config, "inherit_env", &self->inherit, &self->choice.name_count, error);
        if (status != CODE_EXECUTOR_OK)
            return status;
        self->choice.names = self->inherit;
    }
    const char *virtual_env = config_string(config, "virtual_env");
    if (virtual_env) {
        int32_t status = commandline_absolute_path(virtual_env, &self->virtual_env, error);
        if (status != CODE_EXECUTOR_OK)
            return error_prefix(error, status, "virtual_env: ");
        self->choice.virtual_env = self->virtual_env;
    }
    return CODE_EXECUTOR_OK;
}

static int32_t local_configure(const launch_context *context, json_object *config, void **state,
                               code_executor_error *error)
{
    (void)context;
    local *self = calloc(1, sizeof *self);
    if (!self)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for the executor");
    *state = self; /* also when what follows fails: destroy frees it */
    self->runner = (helper_process)HELPER_PROCESS_INIT;
    self->sanitize = config_boolean(config, "sanitize");
    return read_choice(self, config, error);
}

/* ------------------------------------------------------------------------------------------------
 * launch
 * --------------------------------------------------------------------------------------------- */

static int32_t check_virtual_env(const local *self, code_executor_error *error)
{
    if (!self->virtual_env)
        return CODE_EXECUTOR_OK;
    char *python;
    if (asprintf(&python, "%s/bin/python", self->virtual_env) < 0)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for a path");
    bool found = access(python, X_OK) == 0;
    free(python);
    return found ? CODE_EXECUTOR_OK
                 : error_set(error, CODE_EXECUTOR_NOT_FOUND,
                             "virtual_env %s has no bin/python; make it with: python3 -m venv %s",
                             self->virtual_env, self->virtual_env);
}

/* What became of the runner, for the session that found the connection closed. */
static bool explain(void *state, code_executor_error *error)
{
    local *self = state;
    char words[512];
    bool ended = helper_process_wait(&self->runner, 1000);
    helper_process_words(&self->runner, words, sizeof words);
    error_set(error, CODE_EXECUTOR_LOST, "the runner %s%s%s",
              ended ? "has ended: it was killed, or it crashed" : "closed the connection",
              *words ? "; its last words: " : "", words);
    return false;
}

static int32_t start_runner(local *self, const launch_context *context, int connection,
                            code_executor_error *error)
{
    struct arena arena = {0};
    const char *const arguments[] = {"code_executor_runner", NULL};
    const helper_process_options options = {
        .program = context->runner_path,
        .arguments = arguments,
        .environment = environment_choose(&self->choice, environ, &arena),
        .folder = context->work_dir,
        .input = connection,
        .output = connection,
    };
    int32_t status = options.environment ? helper_process_start(&options, &self->runner, error)
                                         : error_set(error, CODE_EXECUTOR_NO_MEMORY,
                                                     "no memory for an environment");
    arena_release(&arena);
    return status == CODE_EXECUTOR_NOT_FOUND
               ? error_append(error, status, "; the runner is installed beside the plugin")
               : status;
}

static int32_t local_launch(void *state, const launch_context *context, launched *made,
                            code_executor_error *error)
{
    local *self = state;
    int32_t status = check_virtual_env(self, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    made->folder = strdup(context->work_dir);
    if (!made->folder)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for a path");
    int ends[2];
    if (fork_guard_socketpair(ends) != 0) {
        return error_set_errno(error, CODE_EXECUTOR_UNAVAILABLE, errno,
                               "cannot make a socket pair");
    }
    status = start_runner(self, context, ends[1], error);
    /* The runner's copy must be the only one, or its end would not be seen. */
    fork_guard_close(ends[1]);
    if (status != CODE_EXECUTOR_OK) {
        fork_guard_close(ends[0]);
        return status;
    }
    made->transport = socket_transport_create(ends[0], explain, self);
    if (!made->transport) {
        helper_process_kill(&self->runner);
        helper_process_close(&self->runner);
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for a connection");
    }
    return CODE_EXECUTOR_OK;
}

/* ------------------------------------------------------------------------------------------------
 * shut_down
 * --------------------------------------------------------------------------------------------- */

static int32_t local_shut_down(void *state, const launch_context *context, bool lost,
                               code_executor_error *error)
{
    (void)lost; /* what is left of a lost runner, its supervisors, is waited for alike */
    local *self = state;
    bool ended = helper_process_wait_all(&self->runner, END_MS);
    if (!ended) {
        launch_log(context, CODE_EXECUTOR_LOG_WARNING,
                   "the runner did not end within %d seconds and is killed", END_MS / 1000);
        helper_process_kill(&self->runner);
        ended = helper_process_wait_all(&self->runner, KILL_MS);
    }
    helper_process_close(&self->runner);
    return ended ? CODE_EXECUTOR_OK
                 : error_set(error, CODE_EXECUTOR_TIMED_OUT,
                             "processes that code has started could not be ended");
}

/* ------------------------------------------------------------------------------------------------
 * object
 * --------------------------------------------------------------------------------------------- */

static char *local_object(void *state, const char *language, const char *code, size_t length)
{
    local *self = state;
    const char *found =
        self->sanitize && sanitize_reads(language) ? sanitize_find(code, length) : NULL;
    char *objection = NULL;
    if (found &&
        asprintf(&objection,
                 "Potentially dangerous command detected: %s. It was not run; to allow such "
                 "commands set \"sanitize\": false in the configuration of the local "
                 "executor.\n",
                 found) < 0)
        objection = strdup("Potentially dangerous command detected.\n");
    return objection;
}

/* ------------------------------------------------------------------------------------------------
 * describe and destroy
 * --------------------------------------------------------------------------------------------- */

static void local_describe(void *state, bool started, json_object *description)
{
    (void)started;
    local *self = state;
    json_object_object_add(
        description, "isolation",
        json_object_new_string("none: code runs as this user, with all its files and the network"));
    json_object_object_add(description, "virtual_env",
                           self->virtual_env ? json_object_new_string(self->virtual_env) : NULL);
    json_object_object_add(description, "sanitize", json_object_new_boolean(self->sanitize));
}

static void local_destroy(void *state)
{
    local *self = state;
    free(self->virtual_env);
    free((void *)(uintptr_t)self->inherit);
    free(self);
}

static const commandline_launcher local_launcher = {
    .configure = local_configure,
    .launch = local_launch,
    .shut_down = local_shut_down,
    .object = local_object,
    .describe = local_describe,
    .destroy = local_destroy,
};

CODE_EXECUTOR_COMMANDLINE_PLUGIN(local_launcher, "local", CODE_EXECUTOR_PROJECT_VERSION,
                                 "Runs code on this machine, without isolation", LOCAL_SCHEMA);
