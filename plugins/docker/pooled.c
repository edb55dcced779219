/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pooled.c: see pooled.h.
 */
#include "pooled.h"
#include "config.h"
#include "json.h"
#include <stdlib.h>
#include <string.h>

/* ---- configure --------------------------------------------------------------------------------- */

/* The pool's containers are made before it is known whose they will be, and nobody's name is theirs. */
static int32_t check(const struct docker *docker, const launch_context *context,
                     code_executor_error *error)
{
    const struct {
        bool contradicts;
        const char *why;
    } rules[] = {
        {!context->work_dir, "a work_dir, which is bound into its containers when they are made"},
        {config_string(docker->config, "container_name") != NULL,
         "no container_name, as only one container can have it"},
        {!docker->auto_remove, "auto_remove, as each of its containers is used once"},
        {!docker->stop_container, "stop_container, as its containers end with this process"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].contradicts)
            return error_set(error, CODE_EXECUTOR_INVALID, "pool needs %s", rules[i].why);
    return CODE_EXECUTOR_OK;
}

/* The configuration of one that comes from the pool: it has none itself, and what counts from the
 * current folder is absolute, as that folder may be another one by the time. */
static json_object *pool_config(const struct docker *docker, const launch_context *context)
{
    json_object *config = NULL;
    if (json_object_deep_copy(docker->config, &config, NULL) == 0 &&
        json_put_integer(config, "pool", 0) &&
        json_put_string(config, "work_dir", context->work_dir) &&
        (!docker->bind_dir || json_put_string(config, "bind_dir", docker->bind_dir)))
        return config;
    json_object_put(config);
    return NULL;
}

/* What a launch needs and finds out is its own. */
static void *new_like(const void *configured)
{
    const struct docker *from = configured;
    struct docker *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    pthread_mutex_init(&made->lock, NULL);
    made->endpoint = from->endpoint;
    made->borrows_endpoint = true;
    made->auto_remove = from->auto_remove;
    made->stop_container = from->stop_container;
    made->way = from->way;
    made->volumes_swept = true; /* by the start that woke the pool */
    made->bind_dir = from->bind_dir ? strdup(from->bind_dir) : NULL;
    if (json_object_deep_copy(from->config, &made->config, NULL) == 0 &&
        (!from->bind_dir || made->bind_dir))
        return made;
    docker_alone.destroy(made);
    return NULL;
}

int32_t pooled_join(struct docker *docker, const launch_context *context,
                    code_executor_error *error)
{
    const struct pool_maker maker = {&docker_alone, new_like};
    size_t size = (size_t)config_integer(docker->config, "pool");
    int32_t status = check(docker, context, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    json_object CLEANUP_JSON *config = pool_config(docker, context);
    char *engine = endpoint_identity(&docker->endpoint);
    if (config && engine)
        status = pool_join(&maker, context, config, engine, size, &docker->pool, error);
    else
        status = error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    free(engine);
    return status;
}

/* ---- launch and shut_down ---------------------------------------------------------------------- */

static void report(struct docker *docker, const launch_context *context)
{
    code_executor_error failure;
    if (pool_failure(docker->pool, &failure))
        launch_log(context, CODE_EXECUTOR_LOG_WARNING,
                   "no container could be made for the pool: %s", failure.message);
}

static bool take(struct docker *docker, const launch_context *context, launched *result)
{
    struct pool_environment taken;
    if (docker->left_id[0] ||
        !pool_take(docker->pool, &taken)) /* one that was left is seen to first */
        return false;
    docker->taken = taken.state;
    *result = taken.made;
    launch_log(context, CODE_EXECUTOR_LOG_DEBUG, "container %s comes from the pool",
               docker->taken->container.name);
    return true;
}

int32_t pooled_launch(void *state, const launch_context *context, launched *result,
                      code_executor_error *error)
{
    struct docker *docker = state;
    if (!docker->pool)
        return docker_alone.launch(docker, context, result, error);
    report(docker, context);
    bool taken = take(docker, context, result);
    int32_t status = taken ? CODE_EXECUTOR_OK : docker_alone.launch(docker, context, result, error);
    if (status == CODE_EXECUTOR_OK)
        pool_wake(docker->pool);
    return status;
}

int32_t pooled_prepare(void *state, const launch_context *context, session *over,
                       const char *folder, session_canceller *canceller, code_executor_error *error)
{
    struct docker *docker = state;
    struct docker *used = docker->taken ? docker->taken : docker;
    int32_t status = docker_alone.prepare(used, context, over, folder, canceller, error);
    docker_show(docker, used);
    return status;
}

int32_t pooled_shut_down(void *state, const launch_context *context, bool lost,
                         code_executor_error *error)
{
    struct docker *docker = state, *taken = docker->taken;
    if (!taken)
        return docker_alone.shut_down(docker, context, lost, error);
    docker->taken = NULL;
    int32_t status = docker_alone.shut_down(taken, context, lost, error);
    memcpy(docker->left_id, taken->left_id, sizeof docker->left_id);
    memcpy(docker->left_name, taken->left_name, sizeof docker->left_name);
    docker->left_whole = taken->left_whole;
    docker_alone.destroy(taken);
    return status;
}

/* ---- describe ---------------------------------------------------------------------------------- */

void pooled_describe(const struct docker *docker, json_object *description)
{
    json_object *pool = docker->pool ? json_put_object(description, "pool") : NULL;
    if (!pool)
        return;
    json_put_integer(pool, "size", config_integer(docker->config, "pool"));
    json_put_integer(pool, "ready", (int64_t)pool_ready(docker->pool));
}
