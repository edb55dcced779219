/* SPDX-License-Identifier: Apache-2.0 */
/*
 * existing_runner.c: see existing_runner.h.
 */
#include "existing_runner.h"
#include "json.h"
#include "runner/remove_itself.h"
#include "runner_archive.h"
#include "runner_choice.h"
#include <stdio.h>
#include <string.h>

int32_t existing_runner_bring(struct docker *docker, const launch_context *context,
                              const char *name, const char *folder, const char *into,
                              code_executor_error *error)
{
    struct answer CLEANUP_ANSWER answer = {0};
    struct runner_archive CLEANUP_ARCHIVE archive = {0};
    int32_t status = CODE_EXECUTOR_OK;
    if (!docker->runner_path)
        status = runner_choice(docker->engine, context->runner_path, &docker->runner_path, error);
    if (status == CODE_EXECUTOR_OK)
        status = runner_archive_make(docker->runner_path, name, NULL, &archive, error);
    if (status == CODE_EXECUTOR_OK && folder)
        status = runner_archive_add_folder(&archive, folder, error);
    if (status == CODE_EXECUTOR_OK)
        status = runner_archive_put(&archive, docker->engine, docker->container.id, into, &answer,
                                    error);
    if (status == CODE_EXECUTOR_OK && answer.status != 200)
        status = engine_refusal(docker->engine, &answer,
                                "put the runner into the container (its root is read-only, or the "
                                "engine refuses)",
                                error);
    return status;
}

static json_object *exec_body(const char *program, const struct exec_options *options)
{
    json_object *body = json_object_new_object();
    json_object *command = body ? json_put_array(body, "Cmd") : NULL;
    bool whole = command && json_append_string(command, program) &&
                 json_append_string(command, options->argument) &&
                 (!options->removes_folder || json_append_string(command, RUNNER_REMOVES_FOLDER)) &&
                 json_put_boolean(body, "AttachStdin", options->attach) &&
                 json_put_boolean(body, "AttachStdout", options->attach) &&
                 json_put_boolean(body, "AttachStderr", options->attach) &&
                 json_put_boolean(body, "Tty", false) && json_put_string(body, "DetachKeys", "") &&
                 (!options->user || json_put_string(body, "User", options->user)) &&
                 (!options->folder || json_put_string(body, "WorkingDir", options->folder));
    if (whole && options->own_home) {
        json_object *environment = json_put_array(body, "Env");
        whole = environment && json_append_string(environment, "HOME=/tmp");
    }
    if (whole)
        return body;
    json_object_put(body);
    return NULL;
}

int32_t existing_runner_exec(struct docker *docker, const char *program,
                             const struct exec_options *options, char id[CONTAINER_ID_SIZE],
                             code_executor_error *error)
{
    char path[160];
    struct answer CLEANUP_ANSWER answer = {0};
    json_object CLEANUP_JSON *body = exec_body(program, options);
    id[0] = '\0';
    if (!body)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    snprintf(path, sizeof path, "/containers/%s/exec", docker->container.id);
    int32_t status = engine_call(docker->engine, "POST", path, body, &answer, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    const char *made = json_string(answer.json, "Id");
    if (answer.status != 201 || !made || strlen(made) >= CONTAINER_ID_SIZE)
        return engine_refusal(docker->engine, &answer, "run the runner in the container", error);
    strcpy(id, made);
    return CODE_EXECUTOR_OK;
}

/* The options' user is root. */
static int32_t run_detached(struct docker *docker, const char *program,
                            const struct exec_options *options, const char *doing,
                            code_executor_error *error)
{
    char id[CONTAINER_ID_SIZE], path[160];
    struct answer CLEANUP_ANSWER answer = {0};
    json_object CLEANUP_JSON *body = json_tokener_parse("{\"Detach\":true,\"Tty\":false}");
    int32_t status = existing_runner_exec(docker, program, options, id, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    snprintf(path, sizeof path, "/exec/%s/start", id);
    status = engine_call(docker->engine, "POST", path, body, &answer, error);
    if (status == CODE_EXECUTOR_OK && answer.status != 200)
        status = engine_refusal(docker->engine, &answer, doing, error);
    return status;
}

int32_t existing_runner_take_care(struct docker *docker, const char *program, bool with_folder,
                                  code_executor_error *error)
{
    const struct exec_options options = {
        .argument = RUNNER_ONLY_REMOVES_ITSELF,
        .user = "0:0",
        .folder = "/",
        .removes_folder = with_folder,
    };
    return run_detached(docker, program, &options, "remove the runner", error);
}

int32_t existing_runner_wake(struct docker *docker, const char *program, code_executor_error *error)
{
    const struct exec_options options = {
        .argument = RUNNER_WAKES_OTHERS, .user = "0:0", .folder = "/"};
    return run_detached(docker, program, &options, "make the runner go on", error);
}
