/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker.c: the executor whose code runs in a Docker container.
 *
 * Theory of operation. There are three processes and a wire or two:
 *
 *     host ── libcurl ── engine's socket ── dockerd ── pipes ── runner (PID 1 of the container)
 *      │ session               the hijacked attach stream         │└─ supervisor ─ python, sh …
 *      └─────────────── a socket in the bound workspace ──────────┘
 *
 * The container's entry point is the runner, the same program that every executor uses, mounted
 * read-only from a volume of the engine (runner_volume.h). The engine hands its standard streams over
 * the connection of an attach request (attach.h), and the session's frames travel on it: a block costs
 * what a process costs, not what an exec through the engine does. Where host and container see the same
 * workspace, the frames leave the stream for a socket there (rendezvous.h), and a block does without the engine.
 *
 * The stream is also the leash. Standard input is opened once (StdinOnce): when the connection closes,
 * because of stop or because the host died in whatever way, the runner sees end-of-file, kills all that
 * it started and exits; the engine then removes the container. Nothing else has to work for that.
 *
 * A second connection stays open beside it with the engine's /wait (container.h), which tells the exit
 * code even of a container that is gone, and a third one with its /events (events.h), which tell that it was
 * paused, stopped or killed. No thread reads any of them while nothing runs; who waits for a block watches
 * the stream and the events.
 *
 *     docker.c         the launcher: configuration, launch, shut_down, describe; the plugin itself
 *     pooled.h pool.h  containers that were made ready before a start
 *     start.c          the steps from configuration to a running container
 *     container.h      one container: create, watch, start, kill, remove
 *     events.h         what others do to it
 *     podman.h         where another engine does otherwise
 *     container_body.h what the engine is asked to make
 *     container_user.h profile.h  who code runs as; many options in one word
 *     runner_volume.h  the runner, where every container finds it
 *     runner_choice.h runner_archive.h  which runner that is, and how it gets there
 *     workspace_way.h  whether the container can see the workspace
 *     init_command.h   what runs in it first
 *     image.h image_reference.h pull_progress.h  pulling, and the names of images
 *     platform.h       images for other machines
 *     registry_credentials.h docker_config.h credential_helper.h  what they are pulled with
 *     existing_container.h existing_runner.h existing_workspace.h  a container that somebody else has started
 *     leftovers.h      lists and removes what carries our labels, on request
 *     sweep.h labels.h volumes.h  what dead hosts left, and how it is known
 *     attach.h hijack.h stream.h rendezvous.h  the wire, and a shorter one
 *     engine.h http.h  the API, HTTP
 *     endpoint.h context.h discovery.h tls.h unreachable.h  where the engine is, and why it does not answer
 *     ssh_bridge.h program_path.h  connections through ssh
 *     wakeup_pair.h sigpipe.h  what libcurl and OpenSSL would do to the host
 *     schema.h         the configuration's keys
 *
 * Invariants. What a launch has made is removed when it fails, at whichever step, and what a dead host
 * could not remove carries labels by which the next start does. One thread at a time uses the engine:
 * that of launch, of shut_down, or, in between, the one that asks the transport why it ended. No request
 * is without a limit in time, and every one of a launch ends when it is cancelled.
 */
#include "docker.h"
#include "absolute_path.h"
#include "config.h"
#include "discovery.h"
#include "existing_container.h"
#include "init_command.h"
#include "json.h"
#include "leftovers.h"
#include "platform.h"
#include "pooled.h"
#include "profile.h"
#include "schema.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How long the runner may take to exit and the engine to clear up behind it. */
#define END_LIMIT_MS  1500
#define LOST_LIMIT_MS 300
#define KILL_LIMIT_MS 10000

/* ---- configure --------------------------------------------------------------------------------- */

static void docker_destroy(void *state)
{
    struct docker *docker = state;
    if (!docker)
        return;
    pool_leave(docker->pool);
    endpoint_clear(&docker->found);
    if (!docker->borrows_endpoint)
        endpoint_clear(&docker->endpoint);
    json_object_put(docker->config);
    free(docker->bind_dir);
    free(docker->runner_file);
    free(docker->runner_path);
    pthread_mutex_destroy(&docker->lock);
    free(docker);
}

/* The path names a folder of the engine's machine, so only its form can be seen to here. */
static int32_t take_bind_dir(struct docker *docker, code_executor_error *error)
{
    const char *given = config_string(docker->config, "bind_dir");
    return given ? absolute_path("bind_dir", given, &docker->bind_dir, error) : CODE_EXECUTOR_OK;
}

static int32_t docker_configure(const launch_context *context, json_object *config, void **state,
                                code_executor_error *error)
{
    *state = NULL;
    struct docker *docker = calloc(1, sizeof *docker);
    if (!docker)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    pthread_mutex_init(&docker->lock, NULL);
    docker->config = json_object_get(config);
    docker->auto_remove = config_boolean(config, "auto_remove");
    docker->stop_container = config_boolean(config, "stop_container");
    docker->relaunches = strcmp(config_string(config, "restart"), "container") == 0;
    int32_t status = endpoint_choose(config, &docker->endpoint, error);
    if (status == CODE_EXECUTOR_OK)
        status = take_bind_dir(docker, error);
    if (status == CODE_EXECUTOR_OK)
        status =
            workspace_way_choose(config, docker->endpoint.socket_path != NULL, &docker->way, error);
    if (status == CODE_EXECUTOR_OK && config_integer(config, "pool") > 0)
        status = pooled_join(docker, context, error);
    if (status != CODE_EXECUTOR_OK) {
        docker_destroy(docker);
        return status;
    }
    *state = docker;
    return CODE_EXECUTOR_OK;
}

/* What was given, before defaults come to it. */
static int32_t docker_adjust(json_object *given, code_executor_error *error)
{
    int32_t status = existing_container_check(given, error);
    return status == CODE_EXECUTOR_OK ? profile_apply(given, error) : status;
}

/* Whether code runs in a container of somebody else. */
static bool is_beside(const struct docker *docker)
{
    return config_value(docker->config, "container") != NULL;
}

/* ---- launch ------------------------------------------------------------------------------------ */

void docker_show(struct docker *docker, const struct docker *from)
{
    pthread_mutex_lock(&docker->lock);
    memcpy(docker->shown_version, from->engine->version, sizeof docker->shown_version);
    memcpy(docker->shown_server, from->engine->server, sizeof docker->shown_server);
    memcpy(docker->shown_id, from->container.id, sizeof docker->shown_id);
    memcpy(docker->shown_name, from->container.name, sizeof docker->shown_name);
    snprintf(docker->shown_host, sizeof docker->shown_host, "%s",
             from->found.address ? from->found.address : "");
    docker->shown_copied = from->way == WORKSPACE_COPIED;
    docker->shown_direct = from->container.direct;
    pthread_mutex_unlock(&docker->lock);
}

static void leave(struct docker *docker)
{
    memcpy(docker->left_id, docker->container.id, sizeof docker->left_id);
    memcpy(docker->left_name, docker->container.name, sizeof docker->left_name);
    docker->left_whole = docker->prepared && docker->stop_container && !docker->auto_remove;
}

static uint64_t copies_max_bytes(const struct docker *docker)
{
    return docker->way == WORKSPACE_COPIED
               ? (uint64_t)config_integer(docker->config, "workspace_max_bytes")
               : 0;
}

/* In the container that the configuration names. */
static int32_t launch_beside(struct docker *docker, const launch_context *context, launched *result,
                             code_executor_error *error)
{
    int32_t status =
        existing_container_start(docker, context, &result->transport, &result->folder, error);
    if (status != CODE_EXECUTOR_OK) {
        engine_close(docker->engine);
        docker->engine = NULL;
        return status;
    }
    result->copies_max_bytes = copies_max_bytes(docker);
    launch_log(context, CODE_EXECUTOR_LOG_DEBUG, "the runner runs in container %s",
               docker->container.name);
    engine_clean_up(docker->engine);
    return CODE_EXECUTOR_OK;
}

static int32_t docker_launch(void *state, const launch_context *context, launched *result,
                             code_executor_error *error)
{
    struct docker *docker = state;
    if (docker->endpoint.warning)
        launch_log(context, CODE_EXECUTOR_LOG_WARNING, "docker's own settings are left out: %s",
                   docker->endpoint.warning);
    int32_t status =
        discovery_open(&docker->endpoint, &docker->found, context, &docker->engine, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    if (is_beside(docker))
        return launch_beside(docker, context, result, error);
    status = start_container(docker, context, &result->transport, error);
    if (status == CODE_EXECUTOR_OK) {
        result->folder = strdup("/workspace");
        result->keep_ptrace = docker->keep_ptrace;
        result->binds_work_dir = docker->bind_dir == NULL && docker->way != WORKSPACE_COPIED;
        result->copies_max_bytes = copies_max_bytes(docker);
        if (!result->folder) {
            result->transport->operations->close(result->transport);
            status = error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
        }
    }
    if (status != CODE_EXECUTOR_OK) {
        start_undo(docker);
        if (docker->container.id[0])
            leave(docker);
        engine_close(docker->engine);
        docker->engine = NULL;
        return status;
    }
    if (docker->keep_ptrace)
        launch_log(context, CODE_EXECUTOR_LOG_WARNING,
                   "cap_add gives the code CAP_SYS_PTRACE: as root it can forge results");
    if (docker->container.warning[0])
        launch_log(context, CODE_EXECUTOR_LOG_WARNING, "the engine warns: %s",
                   docker->container.warning);
    launch_log(context, CODE_EXECUTOR_LOG_DEBUG, "container %s runs", docker->container.name);
    engine_clean_up(docker->engine);
    return CODE_EXECUTOR_OK;
}

/* Once for each container. */
static int32_t docker_prepare(void *state, const launch_context *context, session *over,
                              const char *folder, session_canceller *canceller,
                              code_executor_error *error)
{
    struct docker *docker = state;
    int32_t status = CODE_EXECUTOR_OK;
    if (is_beside(docker))
        existing_container_settle(docker, context);
    if (!docker->prepared && docker->may_be_foreign)
        status = platform_try(docker->engine, config_string(docker->config, "image"), over, folder,
                              canceller, error);
    if (!docker->prepared && status == CODE_EXECUTOR_OK)
        status = init_command_run(docker->config, context, over, folder, canceller, error);
    docker->prepared = docker->prepared || status == CODE_EXECUTOR_OK;
    return status;
}

/* ---- shut_down --------------------------------------------------------------------------------- */

/* The runner is exiting, as its input has ended; where it does not (a paused container), it is killed. */
static int32_t end_container(struct docker *docker, bool lost, code_executor_error *error)
{
    struct container *container = &docker->container;
    int32_t status = container_await_end(container, lost ? LOST_LIMIT_MS : END_LIMIT_MS, error);
    if (status != CODE_EXECUTOR_OK)
        return error_prefix(error, status, "container %s is not cleared up: ", container->name);
    if (docker->auto_remove)
        return container->ended && container->removal_awaited ? CODE_EXECUTOR_OK
                                                              : container_remove(container, error);
    if (!container->ended)
        status = container_kill(container, error);
    return status == CODE_EXECUTOR_OK ? container_await_end(container, KILL_LIMIT_MS, error)
                                      : status;
}

/* By the options; but a start that failed leaves nothing, whatever they say, and a fresh container is to have
 * no other beside it. */
static int32_t end_or_leave(struct docker *docker, const launch_context *context, bool lost,
                            code_executor_error *error)
{
    if (context->leaves_alone)
        return CODE_EXECUTOR_OK;
    if (!docker->prepared || context->afresh)
        return container_remove(&docker->container, error);
    int32_t status = CODE_EXECUTOR_OK;
    if (docker->stop_container)
        status = end_container(docker, lost, error);
    if (!docker->stop_container || !docker->auto_remove)
        leave(docker);
    return status;
}

static int32_t docker_shut_down(void *state, const launch_context *context, bool lost,
                                code_executor_error *error)
{
    struct docker *docker = state;
    int32_t status = is_beside(docker) ? existing_container_leave(docker, context, error)
                                       : end_or_leave(docker, context, lost, error);
    if (status != CODE_EXECUTOR_OK && !is_beside(docker))
        leave(docker);
    container_let_go(&docker->container);
    engine_close(docker->engine);
    docker->engine = NULL;
    return status;
}

static bool docker_restart_relaunches(void *state)
{
    const struct docker *docker = state;
    return docker->relaunches;
}

/* ---- describe ---------------------------------------------------------------------------------- */

static bool describe_engine(struct docker *docker, bool started, json_object *description)
{
    json_object *engine = json_put_object(description, "engine");
    pthread_mutex_lock(&docker->lock);
    const char *host = docker->shown_host[0] ? docker->shown_host : docker->endpoint.address;
    bool whole = engine && json_put_string(engine, "host", host);
    if (whole && docker->shown_version[0])
        whole = json_put_string(engine, "api_version", docker->shown_version) &&
                json_put_string(engine, "server", docker->shown_server);
    if (whole && started)
        whole =
            json_put_string(description, "workspace", docker->shown_copied ? "copy" : "bind") &&
            json_put_string(description, "connection", docker->shown_direct ? "direct" : "engine");
    json_object *container = whole && started ? json_put_object(description, "container") : NULL;
    if (container)
        whole = json_put_string(container, "id", docker->shown_id) &&
                json_put_string(container, "name", docker->shown_name);
    pthread_mutex_unlock(&docker->lock);
    return whole;
}

static void describe_limits(struct docker *docker, json_object *description)
{
    static const char *const keys[] = {"memory", "cpus", "pids_limit", "network", "read_only"};
    json_object *limits = json_put_object(description, "limits");
    for (size_t i = 0; limits && i < sizeof keys / sizeof keys[0]; i++)
        json_object_object_add(limits, keys[i],
                               json_object_get(config_value(docker->config, keys[i])));
}

static void describe_isolation(struct docker *docker, json_object *description)
{
    const char *user = config_string(docker->config, "user");
    char isolation[768];
    if (is_beside(docker))
        snprintf(isolation, sizeof isolation,
                 "the Docker container %.256s, beside what else runs in it%s%.256s",
                 config_string(docker->config, "container"), user ? ", user " : "",
                 user ? user : "");
    else
        snprintf(isolation, sizeof isolation,
                 "a Docker container of %.256s%s%.256s: namespaces and cgroups of its own, the "
                 "kernel of the engine's machine",
                 config_string(docker->config, "image"), user ? ", user " : "", user ? user : "");
    json_put_string(description, "isolation", isolation);
}

static void docker_describe(void *state, bool started, json_object *description)
{
    struct docker *docker = state;
    describe_isolation(docker, description);
    if (docker->bind_dir)
        json_put_string(description, "bind_dir", docker->bind_dir);
    describe_engine(docker, started, description);
    if (is_beside(docker))
        return;
    json_put_string(description, "image", config_string(docker->config, "image"));
    describe_limits(docker, description);
    pooled_describe(docker, description);
}

/* ---- the extension ----------------------------------------------------------------------------- */

/* ITEMS is used up. */
static int32_t hand_out(json_object *items, int32_t status, char **json, code_executor_error *error)
{
    const char *text = items ? json_object_to_json_string_ext(
                                   items, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)
                             : NULL;
    *json = text ? strdup(text) : NULL;
    json_object_put(items);
    if (status == CODE_EXECUTOR_OK && !*json)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    return status == CODE_EXECUTOR_OK ? error_clear(error) : status;
}

static int32_t list_leftovers(const char *config_json, char **json, code_executor_error *error)
{
    json_object CLEANUP_JSON *config = NULL;
    json_object *found = NULL;
    if (!json)
        return error_set(error, CODE_EXECUTOR_INVALID, "json is NULL");
    *json = NULL;
    int32_t status = config_read(DOCKER_SCHEMA, config_json, &config, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    status = leftovers_list(config, &found, error);
    if (status == CODE_EXECUTOR_OK)
        return hand_out(found, status, json, error);
    json_object_put(found);
    return status;
}

static int32_t prune_leftovers(const char *config_json, bool all, char **json,
                               code_executor_error *error)
{
    json_object CLEANUP_JSON *config = NULL;
    json_object *removed = NULL;
    if (!json)
        return error_set(error, CODE_EXECUTOR_INVALID, "json is NULL");
    *json = NULL;
    int32_t status = config_read(DOCKER_SCHEMA, config_json, &config, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    status = leftovers_prune(config, all, &removed, error);
    return hand_out(removed, status, json, error);
}

static const void *docker_get_extension(const char *id)
{
    static const code_executor_leftovers_v1 leftovers = {
        .struct_size = sizeof leftovers,
        .list = list_leftovers,
        .prune = prune_leftovers,
    };
    return strcmp(id, CODE_EXECUTOR_EXTENSION_LEFTOVERS) == 0 ? &leftovers : NULL;
}

/* ---- the plugin -------------------------------------------------------------------------------- */

const commandline_launcher docker_alone = {
    .configure = docker_configure,
    .launch = docker_launch,
    .prepare = docker_prepare,
    .shut_down = docker_shut_down,
    .destroy = docker_destroy,
};

static const commandline_launcher docker_launcher = {
    .adjust = docker_adjust,
    .configure = docker_configure,
    .launch = pooled_launch,
    .prepare = pooled_prepare,
    .shut_down = pooled_shut_down,
    .restart_relaunches = docker_restart_relaunches,
    .describe = docker_describe,
    .destroy = docker_destroy,
    .get_extension = docker_get_extension,
};

CODE_EXECUTOR_COMMANDLINE_PLUGIN(docker_launcher, "docker", CODE_EXECUTOR_PROJECT_VERSION,
                                 "Runs code in a Docker container", DOCKER_SCHEMA);
