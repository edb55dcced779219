/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commandline.h: what all command-line executors share, and what each one adds.
 *
 * A command-line executor saves a block to a file in the workspace and runs an interpreter on it. All
 * of that is the same wherever the code runs; an executor adds only a *launcher*: how a runner is
 * started, and how to talk to it.
 *
 *     code_executor_v1 ─▶ executor.c ─▶ run.c ──▶ session.c ──▶ transport ──▶ runner
 *       (the ABI)         life cycle    the blocks  frames         │
 *                             │                                    │
 *                             └──────▶ launcher (local, docker …) ─┘
 *
 *     executor.c   the vtable: configuration, execute, cancel, describe
 *     lifecycle.c  start, stop, restart: one environment, many threads that want it; place.c: what it is
 *     run.c        a request's blocks, in order: language, policy, file, command, result
 *     session.c    the host's end of the runner's frame protocol (session_run.c, session_calls.c,
 *                  connection.c)
 *     transport.h  the byte stream that a launcher supplies; socket_transport.c is one over a socket
 *     helper_process.c  starts a process that the host's wait() cannot see; clone_into.c, in a cgroup
 *     fork_guard.c      descriptors that a forked child of the host must not hold
 *     config.c     reads a configuration by its JSON Schema (schema.c, json_text.c)
 *     workspace_copy.c  collected.c  where the code cannot see the workspace
 *     block_file.c  block_command.c  temporary_file.c
 *                  what a block's file is called and holds, what is run, how long the file stays
 *     request_check.c  language_list.c  private_folder.c  plugin_folder.c
 *                  what a host hands in, the languages extension, a workspace that nobody gave, where
 *                  the runner is
 *     language.c  file_name.c  silence_pip.c  workspace.c  output.c  result.c  error.c
 *                  one rule each: languages, names in comments, pip, safe files, bounded output,
 *                  results, errors
 *
 * Invariants. The library runs no thread of its own: whichever thread waits for its execution reads
 * the connection for all (session.c). Everything that a stop must undo is owned by the launcher's
 * state. No lock is held across a callback into the host or across a launcher's call.
 *
 * A plugin is one `commandline_launcher` and CODE_EXECUTOR_COMMANDLINE_PLUGIN at the bottom of its
 * file, which defines the vtable and the entry symbol.
 */
#ifndef CODE_EXECUTOR_COMMANDLINE_H
#define CODE_EXECUTOR_COMMANDLINE_H

#include "error.h"
#include "session.h"
#include "transport.h"
#include <code_executor.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What a launcher sees of the instance while one of its functions runs. The functions are methods that
 * executor.c supplies. Strings live as long as the instance.
 */
typedef struct launch_context {
    /* Absolute path of the workspace on this host, which exists once launch is called. NULL in
     * configure where it will be a private folder, made for each launch. */
    const char *work_dir;
    /* Absolute path of the runner program that was built with this plugin (for this machine). */
    const char *runner_path;
    /* Readable (poll for POLLIN; do not read) as soon as the launch shall be given up; -1 outside of
     * launch. */
    int cancel_fd;
    /* In shut_down and launch: by a restart that launches anew, so nothing of the former environment but the
     * workspace is to be used again. */
    bool afresh;
    /* In shut_down: nobody is there to wait for, so nothing that would take time is to be done. */
    bool leaves_alone;
    void *internal; /* NULL: it belongs to no instance */
} launch_context;

/* Whether the launch shall be given up: then return CODE_EXECUTOR_CANCELLED soon. */
bool launch_cancelled(const launch_context *context);

/* Words for the host's log and progress callbacks; only on the thread that called the launcher. Of a context
 * that belongs to no instance nobody hears. */
void launch_log(const launch_context *context, int32_t level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void launch_progress(const launch_context *context, const char *what, uint64_t done,
                     uint64_t total);

/* PATH as it is counted from the folder that is current now: for configure, as the host may change that
 * folder later. Links in it are resolved now, and never followed again. *ABSOLUTE is the caller's, free(). */
int32_t commandline_absolute_path(const char *path, char **absolute, code_executor_error *error);

/* What launch hands back. */
typedef struct launched {
    transport *transport; /* connected to a runner that has not yet been spoken to */
    session *session;     /* or, in its place, one that is open, and belongs to the caller */
    char *folder;         /* the workspace as the runner sees it; free() */
    bool keep_ptrace;     /* HELLO_KEEP_PTRACE */
    /* True where the environment holds on to the work_dir of now (a bind mount), so that a folder
     * that was deleted and made anew needs a new launch. */
    bool binds_work_dir;
    /* Where the environment cannot see the work_dir, which is copied there and back then: how many bytes
     * may be copied in one go. Else 0. The folder must be the one that the runner was started in. */
    uint64_t copies_max_bytes;
} launched;

typedef struct commandline_launcher {
    /* Sees the configuration as it was given, before the defaults are filled in; see config.h. May be
     * NULL. */
    int32_t (*adjust)(json_object *given, code_executor_error *error);

    /* Reads the keys of its own from CONFIG, which follows the schema and has every default filled in.
     * Touches nothing outside the process. *STATE is the launcher's, until destroy; after a failure
     * destroy is called when it is not NULL. */
    int32_t (*configure)(const launch_context *context, json_object *config, void **state,
                         code_executor_error *error);

    /* Starts the environment and a runner in it. After a failure nothing of it is left; folder alone may
     * be set even then. Never called while another launch or shut_down on the same state is running. */
    int32_t (*launch)(void *state, const launch_context *context, launched *launched,
                      code_executor_error *error);

    /*
     * What has to be done in a new environment before anything else runs there, over SESSION, whose runner
     * has answered; FOLDER is the workspace as the runner sees it. Runs by CANCELLER, so that they end
     * when the launch is given up. After a failure the environment is shut down. May be NULL.
     */
    int32_t (*prepare)(void *state, const launch_context *context, session *session,
                       const char *folder, session_canceller *canceller,
                       code_executor_error *error);

    /* Called once for each launch that succeeded, after its transport was closed (so the runner is
     * exiting): waits for what must be waited for and removes what remains. LOST: the environment was
     * found dead. */
    int32_t (*shut_down)(void *state, const launch_context *context, bool lost,
                         code_executor_error *error);

    /* Whether a restart launches anew, because ending what runs would leave more of the environment than the
     * workspace, such as files in other places. NULL: it never does. */
    bool (*restart_relaunches)(void *state);

    /* An objection to running CODE, in words for the result (free()), or NULL. The block is refused
     * with it. This member may be NULL. */
    char *(*object)(void *state, const char *language, const char *code, size_t length);

    /* Adds to the members of describe: "bind_dir", "isolation", "engine", "limits" and others of its
     * own. May run while launch does; STARTED says whether the environment is up. May be NULL. */
    void (*describe)(void *state, bool started, json_object *description);

    void (*destroy)(void *state);

    /* Extensions of the plugin's own, beside those that all have; NULL where it has none. */
    const void *(*get_extension)(const char *id);
} commandline_launcher;

/* The functions of the vtable, the same for all; see code_executor.h. */
int32_t commandline_create(const code_executor_v1 *table, const commandline_launcher *launcher,
                           const code_executor_host *host, const char *config_json,
                           code_executor_instance **instance, code_executor_error *error);
int32_t commandline_start(code_executor_instance *instance, code_executor_error *error);
int32_t commandline_stop(code_executor_instance *instance, code_executor_error *error);
int32_t commandline_restart(code_executor_instance *instance, code_executor_error *error);
int32_t commandline_execute(code_executor_instance *instance, const code_executor_request *request,
                            code_executor_result **result, code_executor_error *error);
int32_t commandline_cancel(code_executor_instance *instance, uint64_t execution_id,
                           code_executor_error *error);
int32_t commandline_describe(code_executor_instance *instance, char **json,
                             code_executor_error *error);
void commandline_result_free(code_executor_result *result);
void commandline_string_free(char *string);
void commandline_destroy(code_executor_instance *instance);
const void *commandline_get_extension(const commandline_launcher *launcher, const char *id);

/*
 * Defines the vtable and the entry of a plugin whose code is LAUNCHER, a commandline_launcher. The
 * schema's properties begin with COMMANDLINE_SCHEMA_PROPERTIES (config.h), the keys common to all.
 */
#define CODE_EXECUTOR_COMMANDLINE_PLUGIN(launcher, name_, version_, description_, schema_)         \
    static int32_t plugin_create(const code_executor_host *host, const char *config_json,          \
                                 code_executor_instance **instance, code_executor_error *error);   \
    static const void *plugin_get_extension(code_executor_instance *instance, const char *id);     \
    static const code_executor_v1 plugin_table = {                                                 \
        .struct_size = sizeof(code_executor_v1),                                                   \
        .abi_version = CODE_EXECUTOR_ABI_VERSION,                                                  \
        .name = (name_),                                                                           \
        .version = (version_),                                                                     \
        .description = (description_),                                                             \
        .config_schema = (schema_),                                                                \
        .create = plugin_create,                                                                   \
        .start = commandline_start,                                                                \
        .stop = commandline_stop,                                                                  \
        .restart = commandline_restart,                                                            \
        .execute = commandline_execute,                                                            \
        .cancel = commandline_cancel,                                                              \
        .describe = commandline_describe,                                                          \
        .result_free = commandline_result_free,                                                    \
        .string_free = commandline_string_free,                                                    \
        .destroy = commandline_destroy,                                                            \
        .get_extension = plugin_get_extension,                                                     \
    };                                                                                             \
    static int32_t plugin_create(const code_executor_host *host, const char *config_json,          \
                                 code_executor_instance **instance, code_executor_error *error)    \
    {                                                                                              \
        return commandline_create(&plugin_table, &(launcher), host, config_json, instance, error); \
    }                                                                                              \
    static const void *plugin_get_extension(code_executor_instance *instance, const char *id)      \
    {                                                                                              \
        (void)instance;                                                                            \
        return commandline_get_extension(&(launcher), id);                                         \
    }                                                                                              \
    CODE_EXECUTOR_EXPORT const code_executor_v1 *code_executor_plugin_v1(void);                    \
    const code_executor_v1 *code_executor_plugin_v1(void)                                          \
    {                                                                                              \
        return &plugin_table;                                                                      \
    }                                                                                              \
    _Static_assert(true, "a semicolon follows")

#endif /* CODE_EXECUTOR_COMMANDLINE_H */
