/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workspace_way.c: see workspace_way.h.
 */
#include "workspace_way.h"
#include "config.h"
#include "container_body.h"
#include "json.h"
#include "runner/collect.h"
#include "runner_volume.h"
#include "workspace.h"
#include <stdio.h>
#include <string.h>

int32_t workspace_way_choose(json_object *config, bool local, enum workspace_way *way,
                             code_executor_error *error)
{
    const char *asked = config_string(config, "workspace");
    bool bound_elsewhere = config_string(config, "bind_dir") != NULL;
    *way = WORKSPACE_UNKNOWN;
    if (strcmp(asked, "copy") == 0)
        *way = WORKSPACE_COPIED;
    else if (strcmp(asked, "bind") == 0 || bound_elsewhere)
        *way = WORKSPACE_BOUND;
    else if (!local)
        *way = WORKSPACE_COPIED;
    if (*way == WORKSPACE_COPIED && bound_elsewhere)
        return error_set(error, CODE_EXECUTOR_INVALID,
                         "bind_dir: nothing is bound where workspace is \"copy\"; leave one out");
    return CODE_EXECUTOR_OK;
}

int32_t workspace_way_probe(const struct container *container, const char *work_dir,
                            const char *probe, bool *sees, code_executor_error *error)
{
    char name[96], path[128], objection[WORKSPACE_OBJECTION_SIZE];
    int64_t size = -1;
    snprintf(name, sizeof name, ".code_executor_probe_%.32s", probe);
    snprintf(path, sizeof path, WORKSPACE_FOLDER "/%s", name);
    *sees = true;
    /* Where this process cannot write, that is for the first block to tell. */
    if (workspace_save(work_dir, name, "?", 1, objection, NULL) != CODE_EXECUTOR_OK || objection[0])
        return CODE_EXECUTOR_OK;
    int32_t status = container_look(container, path, "look for the workspace", &size, error);
    workspace_remove(work_dir, name);
    *sees = size == 1;
    return status;
}

bool workspace_way_missing(const char *refusal)
{
    return strstr(refusal, "bind source path does not exist") ||
           strstr(refusal, "no such file or directory");
}

/* {"User": "0", "Cmd": [RUNNER_PATH, SHARE_WORD], "WorkingDir": WORKSPACE_FOLDER} */
static json_object *share_body(void)
{
    json_object *body = json_object_new_object();
    json_object *words = body ? json_put_array(body, "Cmd") : NULL;
    if (words && json_append_string(words, RUNNER_PATH) && json_append_string(words, SHARE_WORD) &&
        json_put_string(body, "User", "0") && json_put_boolean(body, "AttachStdout", true) &&
        json_put_boolean(body, "AttachStderr", true) &&
        json_put_string(body, "WorkingDir", WORKSPACE_FOLDER))
        return body;
    json_object_put(body);
    return NULL;
}

/* The answer to a start that is not detached ends with the command. */
static int32_t run_to_its_end(struct engine *engine, const char *id, struct answer *answer,
                              code_executor_error *error)
{
    char path[160];
    json_object CLEANUP_JSON *body = json_tokener_parse("{\"Detach\": false, \"Tty\": false}");
    snprintf(path, sizeof path, "/exec/%.128s/start", id);
    int32_t status = engine_call(engine, "POST", path, body, answer, error);
    if (status != CODE_EXECUTOR_OK || answer->status != 200)
        return status;
    answer_clear(answer);
    snprintf(path, sizeof path, "/exec/%.128s/json", id);
    return engine_call(engine, "GET", path, NULL, answer, error);
}

int32_t workspace_way_open(const struct container *container, code_executor_error *error)
{
    static const char doing[] = "make room for the workspace";
    char path[160], id[160] = "";
    struct engine *engine = container->engine;
    struct answer CLEANUP_ANSWER answer = {0};
    json_object CLEANUP_JSON *body = share_body();
    if (!body)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    snprintf(path, sizeof path, "/containers/%s/exec", container->id);
    int32_t status = engine_call(engine, "POST", path, body, &answer, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    const char *made = json_string(answer.json, "Id");
    if (answer.status != 201 || !made)
        return engine_refusal(engine, &answer, doing, error);
    snprintf(id, sizeof id, "%s", made);
    answer_clear(&answer);
    status = run_to_its_end(engine, id, &answer, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    if (answer.status != 200)
        return engine_refusal(engine, &answer, doing, error);
    if (json_integer(answer.json, "ExitCode") != 0)
        return error_set(error, CODE_EXECUTOR_UNAVAILABLE,
                         "root of the container cannot let others write to " WORKSPACE_FOLDER);
    return CODE_EXECUTOR_OK;
}
