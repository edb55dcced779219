/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start.c: from a configuration to a container with a runner that can be spoken to.
 *
 *     sweep asked ─▶ [pull] ─▶ create ─▶ runner in its volume? ─▶ watch, attach ─▶ start ─▶ sweep done
 *                       ▲         │ no image        │ no: fill                      │ runner missing
 *                       └─────────┘                 └───────────────────────────────┘ fill, from create
 *
 * The engine is asked nothing that its next answer tells anyway: whether the image is there, create says;
 * whether the runner is, is looked up once in an instance's life, and start says it later.
 */
#include "attach.h"
#include "config.h"
#include "container_body.h"
#include "docker.h"
#include "image.h"
#include "json.h"
#include "platform.h"
#include "podman.h"
#include "registry_credentials.h"
#include "runner_choice.h"
#include "sweep.h"
#include "volumes.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ATTEMPTS 4

/* One start. */
struct start {
    struct docker *docker;
    const launch_context *context;
    const char *image;
    const char *platform;
    char name[256];
    json_object *body; /* of the create request, for docker->way */
    http_transfer *sweep;
    http_transfer *volumes; /* likewise, of volumes; once in the life of an instance */
    bool pulled;
    bool swept;
};

/* ---- before the container ---------------------------------------------------------------------- */

static int32_t pull(struct start *start, code_executor_error *error)
{
    struct engine *engine = start->docker->engine;
    struct registry_credentials credentials;
    start->pulled = true;
    int32_t status =
        registry_credentials_find(config_value(start->docker->config, "registry_auth"),
                                  start->image, engine->cancel_fd, &credentials, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    if (credentials.trouble[0])
        launch_log(start->context, CODE_EXECUTOR_LOG_WARNING, "%s", credentials.trouble);
    status = image_pull(engine, start->context, start->image, start->platform, &credentials, error);
    registry_credentials_clear(&credentials);
    return status;
}

static void choose_name(struct start *start)
{
    const char *given = config_string(start->docker->config, "container_name");
    if (given)
        snprintf(start->name, sizeof start->name, "%s", given);
    else
        snprintf(start->name, sizeof start->name, "code-executor-%.16s", start->docker->launch_id);
}

static int32_t make_body(struct start *start, code_executor_error *error)
{
    struct docker *docker = start->docker;
    struct body_facts facts = {
        .bind_source = docker->way == WORKSPACE_COPIED ? NULL
                       : docker->bind_dir              ? docker->bind_dir
                                                       : start->context->work_dir,
        .launch_id = docker->launch_id,
        .volume = &docker->volume,
    };
    int32_t status = CODE_EXECUTOR_OK;
    if (!docker->runner_path)
        status =
            runner_choice(docker->engine, start->context->runner_path, &docker->runner_path, error);
    if (status == CODE_EXECUTOR_OK && !docker->volume_known)
        status = runner_volume_find(docker->runner_path, &docker->volume, error);
    docker->volume_known = status == CODE_EXECUTOR_OK;
    if (status == CODE_EXECUTOR_OK)
        status = container_user_choose(
            &docker->user, docker->engine, config_string(docker->config, "user"),
            docker->way == WORKSPACE_COPIED ? NULL : start->context->work_dir, &facts.user, error);
    if (status == CODE_EXECUTOR_OK)
        status = container_body(docker->config, &facts, &start->body, error);
    if (status == CODE_EXECUTOR_OK)
        docker->keep_ptrace = container_body_has_ptrace(start->body);
    return status;
}

/* ---- the container ----------------------------------------------------------------------------- */

static void sweep_volumes(struct start *start)
{
    size_t removed =
        volumes_sweep(start->docker->engine, start->volumes, start->docker->volume.name);
    start->volumes = NULL;
    start->docker->volumes_swept = true;
    if (removed > 0)
        launch_log(start->context, CODE_EXECUTOR_LOG_INFO,
                   "removed %zu volume(s) with runners of other builds", removed);
}

static void finish_sweep(struct start *start)
{
    size_t cleared = sweep_finish(start->docker->engine, start->sweep);
    start->sweep = NULL;
    start->swept = cleared > 0;
    if (cleared > 0)
        launch_log(start->context, CODE_EXECUTOR_LOG_INFO,
                   "cleared away %zu container(s) of hosts that died", cleared);
}

static int32_t no_image(struct start *start, int32_t status, code_executor_error *error)
{
    const char *policy = config_string(start->docker->config, "pull");
    if (strcmp(policy, "never") == 0)
        return error_append(error, status,
                            ". pull is \"never\": bring it there with docker pull %s%s%s%s, or set "
                            "pull to \"missing\"",
                            start->platform ? "--platform " : "",
                            start->platform ? start->platform : "", start->platform ? " " : "",
                            start->image);
    return error_append(error, status, ". It was pulled, and is not there all the same");
}

/* As nothing of the kind is there. REFUSAL: what the engine said to that. */
static int32_t pull_missing(struct start *start, const code_executor_error *refusal,
                            code_executor_error *error)
{
    int32_t status = pull(start, error);
    if (status != CODE_EXECUTOR_OK && status != CODE_EXECUTOR_CANCELLED && start->platform)
        error_append(error, status, ". It was pulled because of platform: %s", refusal->message);
    return status;
}

/* Creates, and does what can be done about a missing image and a name that a dead host holds. */
static int32_t create(struct start *start, code_executor_error *error)
{
    struct docker *docker = start->docker;
    const char *policy = config_string(docker->config, "pull");
    for (;;) {
        int32_t status = CODE_EXECUTOR_OK;
        code_executor_error refusal = CODE_EXECUTOR_ERROR_INIT;
        enum create_result result = container_create(
            &docker->container, start->name, start->platform, start->body, &status, &refusal);
        if (status != CODE_EXECUTOR_OK)
            error_set(error, status, "%s", refusal.message);
        docker->may_be_foreign = platform_may_be_foreign(&docker->container, start->platform);
        if (result == CREATE_OK && launch_cancelled(start->context))
            return error_set(error, CODE_EXECUTOR_CANCELLED, "cancelled");
        if (result == CREATE_OK)
            return podman_check_runtime(docker->engine, docker->container.id,
                                        config_string(docker->config, "runtime"), error);
        if (result == CREATE_NO_IMAGE && !start->pulled && strcmp(policy, "never") != 0) {
            status = pull_missing(start, &refusal, error);
            if (status == CODE_EXECUTOR_OK)
                continue;
            return status;
        }
        if (result == CREATE_NO_IMAGE)
            return no_image(start, status, error);
        if (status == CODE_EXECUTOR_CONFLICT && start->sweep) {
            finish_sweep(start);
            if (start->swept)
                continue;
        }
        return status;
    }
}

/* Watch, attach and start, in the order that the engine wants. */
static int32_t run(struct docker *docker, transport **opened, char words[ENGINE_WORDS_SIZE],
                   code_executor_error *error)
{
    struct container *container = &docker->container;
    words[0] = '\0';
    int32_t status = container_watch(container, error);
    if (status == CODE_EXECUTOR_OK)
        status = attach_open(container, opened, error);
    if (status == CODE_EXECUTOR_OK)
        status = container_watched(container, error);
    if (status == CODE_EXECUTOR_OK)
        status = container_start(container, words, error);
    if (status == CODE_EXECUTOR_OK && !*opened)
        status = attach_open(container, opened, error);
    return status;
}

static int32_t fill(struct start *start, code_executor_error *error)
{
    struct docker *docker = start->docker;
    launch_log(start->context, CODE_EXECUTOR_LOG_INFO, "putting the runner into the volume %s",
               docker->volume.name);
    return runner_volume_fill(&docker->volume, docker->engine, docker->runner_path, start->image,
                              start->platform, docker->launch_id, error);
}

/* Once in the life of an instance. */
static int32_t provide_runner(struct start *start, code_executor_error *error)
{
    struct docker *docker = start->docker;
    bool whole = false;
    if (docker->runner_seen)
        return CODE_EXECUTOR_OK;
    int32_t status = runner_volume_check(&docker->volume, &docker->container, &whole, error);
    if (status == CODE_EXECUTOR_OK && !whole)
        status = fill(start, error);
    docker->runner_seen = status == CODE_EXECUTOR_OK;
    return status;
}

/* Whether it is gone. Not to be cancelled. */
static bool drop(struct docker *docker, transport **opened)
{
    if (*opened)
        (*opened)->operations->close(*opened);
    *opened = NULL;
    int cancel_fd = docker->engine->cancel_fd;
    docker->engine->cancel_fd = -1;
    int32_t status = container_remove(&docker->container, NULL);
    docker->engine->cancel_fd = cancel_fd;
    return status == CODE_EXECUTOR_OK;
}

/* The volume was emptied since it was looked at (docker volume prune), or is just being filled anew. */
static bool runner_was_missing(const char *words)
{
    return strstr(words, RUNNER_PATH) &&
           (strstr(words, "no such file") || strstr(words, "not found") ||
            strstr(words, "text file busy"));
}

static int32_t copy_instead(struct start *start, transport **opened, code_executor_error *error)
{
    launch_log(start->context, CODE_EXECUTOR_LOG_INFO,
               "the engine does not see %s: the workspace is copied there and back",
               start->context->work_dir);
    if (start->docker->container.id[0])
        drop(start->docker, opened);
    json_object_put(start->body);
    start->body = NULL;
    start->docker->way = WORKSPACE_COPIED;
    return make_body(start, error);
}

/* A bind_dir is taken at its word all the same: somebody may see to it that the files get there. */
static int32_t not_seen(struct start *start, code_executor_error *error)
{
    struct docker *docker = start->docker;
    if (!docker->bind_dir)
        return error_set(error, CODE_EXECUTOR_UNAVAILABLE,
                         "the engine does not see %s, so it cannot bind it: set workspace to "
                         "\"copy\" or \"auto\", or bind_dir to the path that the folder has on its "
                         "machine",
                         start->context->work_dir);
    launch_log(start->context, CODE_EXECUTOR_LOG_WARNING,
               "bind_dir %s is not the workspace %s as the engine sees it: a file that was made in "
               "the one is not in the other, so blocks will not be found. Give the path that the "
               "folder has on the engine's machine, or leave bind_dir out, and files are copied",
               docker->bind_dir, start->context->work_dir);
    return CODE_EXECUTOR_OK;
}

/* Whether the container, which has just been made, sees the workspace; looked at once in an instance's life.
 * *AGAIN: it does not, and another one must be made. */
static int32_t show_workspace(struct start *start, transport **opened, bool *again,
                              code_executor_error *error)
{
    struct docker *docker = start->docker;
    bool sees = true;
    *again = false;
    if (docker->way == WORKSPACE_COPIED || docker->way_seen)
        return CODE_EXECUTOR_OK;
    int32_t status = workspace_way_probe(&docker->container, start->context->work_dir,
                                         docker->launch_id, &sees, error);
    docker->way_seen = status == CODE_EXECUTOR_OK && (sees || docker->bind_dir);
    if (status != CODE_EXECUTOR_OK || sees)
        return status;
    *again = docker->way == WORKSPACE_UNKNOWN;
    return *again ? copy_instead(start, opened, error) : not_seen(start, error);
}

/* A container that sees the workspace. */
static int32_t create_with_workspace(struct start *start, transport **opened,
                                     code_executor_error *error)
{
    bool again = false;
    code_executor_error refusal = CODE_EXECUTOR_ERROR_INIT;
    int32_t status = create(start, &refusal);
    if (status != CODE_EXECUTOR_OK && start->docker->way == WORKSPACE_UNKNOWN &&
        workspace_way_missing(refusal.message)) {
        status = copy_instead(start, opened, error);
        if (status == CODE_EXECUTOR_OK)
            status = create(start, &refusal);
    }
    if (status != CODE_EXECUTOR_OK)
        return error_set(error, status, "%s", refusal.message);
    status = show_workspace(start, opened, &again, error);
    return status == CODE_EXECUTOR_OK && again ? create(start, error) : status;
}

static int32_t run_new(struct start *start, transport **opened, code_executor_error *error)
{
    struct docker *docker = start->docker;
    for (int attempt = 1;; attempt++) {
        char words[ENGINE_WORDS_SIZE] = "";
        int32_t status = create_with_workspace(start, opened, error);
        if (status == CODE_EXECUTOR_OK)
            status = provide_runner(start, error);
        if (status == CODE_EXECUTOR_OK)
            status = run(docker, opened, words, error);
        if (status == CODE_EXECUTOR_OK && docker->way == WORKSPACE_COPIED)
            status = workspace_way_open(&docker->container, error);
        if (status == CODE_EXECUTOR_OK || attempt == ATTEMPTS || !runner_was_missing(words))
            return status;
        drop(docker, opened);
        docker->runner_seen = false;
    }
}

/* ---- the container of an earlier launch -------------------------------------------------------- */

static void take_left(struct docker *docker)
{
    memcpy(docker->container.id, docker->left_id, sizeof docker->container.id);
    memcpy(docker->container.name, docker->left_name, sizeof docker->container.name);
    docker->container.started = false;
    docker->left_id[0] = '\0';
}

/* Back to where it was: stopped, for a later start. */
static void leave_again(struct docker *docker, transport **opened)
{
    if (*opened)
        (*opened)->operations->close(*opened);
    *opened = NULL;
    engine_clean_up(docker->engine);
    container_kill(&docker->container, NULL);
    container_let_go(&docker->container);
    memcpy(docker->left_id, docker->container.id, sizeof docker->left_id);
    docker->left_whole = true;
    docker->container.id[0] = '\0';
}

static int32_t revive(struct docker *docker, transport **opened, bool *up,
                      code_executor_error *error)
{
    char words[ENGINE_WORDS_SIZE];
    int32_t status = run(docker, opened, words, error);
    *up = status == CODE_EXECUTOR_OK;
    if (*up)
        return status;
    if (status == CODE_EXECUTOR_NOT_FOUND && !words[0]) { /* somebody removed it */
        drop(docker, opened);
        return error_clear(error);
    }
    leave_again(docker, opened);
    return status;
}

/* One that stays (auto_remove: false) and has stopped is started again, with what is in it; any other, such
 * as one that goes on (stop_container: false), makes room for a fresh one. */
static int32_t deal_with_left(struct start *start, transport **opened, bool *up,
                              code_executor_error *error)
{
    struct docker *docker = start->docker;
    if (!docker->left_id[0])
        return CODE_EXECUTOR_OK;
    take_left(docker);
    if (start->context->afresh)
        docker->left_whole = false;
    bool bound_elsewhere = !config_value(docker->config, "work_dir"); /* a private one, of then */
    if (docker->left_whole && !bound_elsewhere)
        return revive(docker, opened, up, error);
    if (!docker->left_whole && !drop(docker, opened))
        launch_log(start->context, CODE_EXECUTOR_LOG_WARNING,
                   "container %s of an earlier start could not be removed", docker->container.name);
    docker->container.id[0] = '\0';
    return CODE_EXECUTOR_OK;
}

/* ------------------------------------------------------------------------------------------------ */

static int32_t start_up(struct start *start, transport **opened, code_executor_error *error)
{
    struct docker *docker = start->docker;
    bool up = false;
    int32_t status = make_body(start, error);
    if (status == CODE_EXECUTOR_OK)
        status = deal_with_left(start, opened, &up, error);
    docker->prepared = up;
    docker->may_be_foreign = false;
    if (status != CODE_EXECUTOR_OK || up)
        return status;
    choose_name(start);
    if (strcmp(config_string(docker->config, "pull"), "always") == 0)
        status = pull(start, error);
    return status == CODE_EXECUTOR_OK ? run_new(start, opened, error) : status;
}

int32_t start_container(struct docker *docker, const launch_context *context, transport **opened,
                        code_executor_error *error)
{
    struct start start = {
        .docker = docker,
        .context = context,
        .image = config_string(docker->config, "image"),
        .platform = config_string(docker->config, "platform"),
        .sweep = sweep_begin(docker->engine),
        .volumes = docker->volumes_swept ? NULL : volumes_begin(docker->engine, true),
    };
    *opened = NULL;
    docker->container =
        (struct container){.engine = docker->engine, .auto_remove = docker->auto_remove};
    int32_t status = CODE_EXECUTOR_OK;
    if (!labels_random_id(docker->launch_id))
        status = error_set(error, CODE_EXECUTOR_IO, "the system has no random numbers to give");
    if (status == CODE_EXECUTOR_OK)
        status = start_up(&start, opened, error);
    if (status == CODE_EXECUTOR_OK) {
        finish_sweep(&start);
        sweep_volumes(&start);
        if (docker->way != WORKSPACE_COPIED && docker->engine->endpoint->kind == ENDPOINT_SOCKET)
            attach_meet(*opened, context->work_dir);
    }
    http_end(start.sweep);
    http_end(start.volumes);
    if (status != CODE_EXECUTOR_OK && *opened) {
        (*opened)->operations->close(*opened);
        *opened = NULL;
    }
    json_object_put(start.body);
    return status;
}

void start_undo(struct docker *docker)
{
    engine_clean_up(docker->engine);
    container_remove(&docker->container, NULL);
    sweep_launch(docker->engine, docker->launch_id);
    container_let_go(&docker->container);
}
