/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leftovers.c: lists and removes; see leftovers.h.
 *
 *     engine ─▶ containers with our label ─┐
 *            ─▶ volumes with our label ────┴─▶ items ─▶ list: all of them
 *                                                    └▶ prune: those that may go
 *
 * Attack: labels are what anybody who can make containers on the engine chooses. Whoever can do that can
 * remove containers too, so nothing is lost by believing them; but what they say is only ever compared
 * and shown.
 */
#include "leftovers.h"
#include "endpoint.h"
#include "engine.h"
#include "json.h"
#include "labels.h"
#include "volumes.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- items ------------------------------------------------------------------------------------- */

static bool put_or_null(json_object *item, const char *key, const char *value)
{
    return value ? json_put_string(item, key, value) : json_object_object_add(item, key, NULL) == 0;
}

/* "owner", from the labels of a container. */
static bool put_owner(json_object *item, json_object *labels)
{
    int64_t pid = 0;
    enum labels_owner owner = labels_owner(labels, &pid);
    if (owner == OWNER_NOBODY)
        return json_object_object_add(item, "owner", NULL) == 0;
    json_object *object = json_put_object(item, "owner");
    return object && json_put_integer(object, "pid", pid) &&
           (owner == OWNER_UNKNOWN ? json_object_object_add(object, "alive", NULL) == 0
                                   : json_put_boolean(object, "alive", owner == OWNER_ALIVE));
}

/* "/name" in the first of "Names". */
static const char *name_of(json_object *container)
{
    json_object *names = json_member(container, "Names");
    const char *name = json_object_is_type(names, json_type_array)
                           ? json_object_get_string(json_object_array_get_idx(names, 0))
                           : NULL;
    return name && name[0] == '/' ? name + 1 : name;
}

static json_object *container_item(json_object *container)
{
    json_object *labels = json_member(container, "Labels");
    json_object *item = json_object_new_object();
    if (item && json_put_string(item, "kind", "container") &&
        put_or_null(item, "id", json_string(container, "Id")) &&
        put_or_null(item, "name", name_of(container)) &&
        put_or_null(item, "state", json_string(container, "State")) &&
        json_put_integer(item, "created", json_integer(container, "Created")) &&
        put_or_null(item, "image", json_string(container, "Image")) &&
        json_put_boolean(item, "kept", json_string(labels, LABEL_KEEP) != NULL) &&
        put_owner(item, labels))
        return item;
    json_object_put(item);
    return NULL;
}

static json_object *volume_item(json_object *volume, bool used)
{
    const char *name = json_string(volume, "Name");
    int64_t created = volume_created(volume);
    json_object *item = json_object_new_object();
    if (item && json_put_string(item, "kind", "volume") && put_or_null(item, "id", name) &&
        put_or_null(item, "name", name) &&
        json_put_string(item, "state", used ? "in use" : "unused") &&
        (created < 0 ? json_object_object_add(item, "created", NULL) == 0
                     : json_put_integer(item, "created", created)) &&
        put_or_null(item, "image", NULL) && json_put_boolean(item, "kept", false) &&
        put_or_null(item, "owner", NULL))
        return item;
    json_object_put(item);
    return NULL;
}

static int32_t no_memory(code_executor_error *error)
{
    return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
}

/* ---- list -------------------------------------------------------------------------------------- */

static int32_t list_containers(struct engine *engine, json_object *items,
                               code_executor_error *error)
{
    char *path = NULL;
    struct answer CLEANUP_ANSWER answer = {0};
    json_object CLEANUP_JSON *filters = labels_filter_all();
    char *escaped =
        filters ? engine_escape(json_object_to_json_string_ext(filters, JSON_C_TO_STRING_PLAIN))
                : NULL;
    if (!escaped || asprintf(&path, "/containers/json?all=1&filters=%s", escaped) < 0) {
        free(escaped);
        return no_memory(error);
    }
    int32_t status = engine_call(engine, "GET", path, NULL, &answer, error);
    free(path);
    free(escaped);
    if (status != CODE_EXECUTOR_OK)
        return status;
    if (answer.status != 200 || !json_object_is_type(answer.json, json_type_array))
        return engine_refusal(engine, &answer, "list containers", error);
    for (size_t i = 0; i < json_object_array_length(answer.json); i++)
        if (!json_append(items, container_item(json_object_array_get_idx(answer.json, i))))
            return no_memory(error);
    return CODE_EXECUTOR_OK;
}

static bool has_name(json_object *volumes, const char *name)
{
    for (size_t i = 0; name && i < json_object_array_length(volumes); i++) {
        const char *other = json_string(json_object_array_get_idx(volumes, i), "Name");
        if (other && strcmp(other, name) == 0)
            return true;
    }
    return false;
}

static int32_t list_volumes(struct engine *engine, json_object *items, code_executor_error *error)
{
    json_object CLEANUP_JSON *all = NULL;
    json_object CLEANUP_JSON *unused = NULL;
    int32_t status = volumes_finish(engine, volumes_begin(engine, false), &all, error);
    if (status == CODE_EXECUTOR_OK)
        status = volumes_finish(engine, volumes_begin(engine, true), &unused, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    for (size_t i = 0; i < json_object_array_length(all); i++) {
        json_object *volume = json_object_array_get_idx(all, i);
        bool used = !has_name(unused, json_string(volume, "Name"));
        if (!json_append(items, volume_item(volume, used)))
            return no_memory(error);
    }
    return CODE_EXECUTOR_OK;
}

/* Calls USE with an engine and an array to fill, which is *ITEMS then. */
static int32_t with_engine(json_object *config, json_object **items, bool all,
                           int32_t (*use)(struct engine *engine, json_object *items, bool all,
                                          code_executor_error *error),
                           code_executor_error *error)
{
    struct endpoint endpoint = {0};
    struct engine *engine = NULL;
    *items = json_object_new_array();
    int32_t status = *items ? endpoint_choose(config, &endpoint, error) : no_memory(error);
    if (status == CODE_EXECUTOR_OK)
        status = engine_open(&endpoint, -1, &engine, error);
    if (status == CODE_EXECUTOR_OK)
        status = use(engine, *items, all, error);
    engine_close(engine);
    endpoint_clear(&endpoint);
    return status;
}

static int32_t list(struct engine *engine, json_object *items, bool all, code_executor_error *error)
{
    (void)all;
    int32_t status = list_containers(engine, items, error);
    return status == CODE_EXECUTOR_OK ? list_volumes(engine, items, error) : status;
}

int32_t leftovers_list(json_object *config, json_object **found, code_executor_error *error)
{
    return with_engine(config, found, true, list, error);
}

/* ---- prune ------------------------------------------------------------------------------------- */

/* One that runs because it was to go on (stop_container: false) may still be needed. */
static bool may_go(json_object *item, bool all)
{
    json_object *alive = json_member(json_member(item, "owner"), "alive");
    const char *state = json_string(item, "state");
    bool goes_on = json_object_get_boolean(json_member(item, "kept")) && state &&
                   strcmp(state, "running") == 0;
    return all || (alive && !json_object_get_boolean(alive) && !goes_on);
}

/* *GONE: whether it was there. */
static int32_t remove_container(struct engine *engine, const char *id, bool *gone,
                                code_executor_error *error)
{
    char path[160];
    struct answer CLEANUP_ANSWER answer = {0};
    snprintf(path, sizeof path, "/containers/%.72s?force=1&v=1", id);
    int32_t status = engine_call(engine, "DELETE", path, NULL, &answer, error);
    *gone = status == CODE_EXECUTOR_OK && answer.status == 204;
    if (status != CODE_EXECUTOR_OK || *gone || answer.status == 404 || answer.status == 409)
        return status; /* 409: somebody is about it already */
    return engine_refusal(engine, &answer, "remove a container", error);
}

/* Those of CANDIDATES that may go, to REMOVED. One that cannot be removed does not keep the others;
 * the first is told. */
static int32_t remove_each(struct engine *engine, json_object *candidates, json_object *removed,
                           bool (*chosen)(json_object *item, bool all), bool all,
                           int32_t (*remove_one)(struct engine *engine, const char *id, bool *gone,
                                                 code_executor_error *error),
                           code_executor_error *error)
{
    int32_t status = CODE_EXECUTOR_OK;
    for (size_t i = 0; i < json_object_array_length(candidates); i++) {
        json_object *item = json_object_array_get_idx(candidates, i);
        const char *id = json_string(item, "id");
        bool gone = false;
        if (!id || !chosen(item, all))
            continue;
        int32_t one = remove_one(engine, id, &gone, status == CODE_EXECUTOR_OK ? error : NULL);
        status = status == CODE_EXECUTOR_OK ? one : status;
        if (gone && !json_append(removed, json_object_get(item)))
            return no_memory(error);
    }
    return status;
}

static bool is_unused(json_object *item, bool all)
{
    const char *state = json_string(item, "state");
    (void)all;
    return state && strcmp(state, "unused") == 0;
}

/* Volumes after the containers that use them. */
static int32_t prune(struct engine *engine, json_object *removed, bool all,
                     code_executor_error *error)
{
    json_object CLEANUP_JSON *containers = json_object_new_array();
    json_object CLEANUP_JSON *volumes = json_object_new_array();
    if (!containers || !volumes)
        return no_memory(error);
    int32_t status = list_containers(engine, containers, error);
    if (status == CODE_EXECUTOR_OK)
        status = remove_each(engine, containers, removed, may_go, all, remove_container, error);
    if (status == CODE_EXECUTOR_OK)
        status = list_volumes(engine, volumes, error);
    if (status == CODE_EXECUTOR_OK)
        status = remove_each(engine, volumes, removed, is_unused, all, volume_remove, error);
    return status;
}

int32_t leftovers_prune(json_object *config, bool all, json_object **removed,
                        code_executor_error *error)
{
    return with_engine(config, removed, all, prune, error);
}
