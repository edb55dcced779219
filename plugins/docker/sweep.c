/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sweep.c: lists and removes; see sweep.h.
 */
#include "sweep.h"
#include "json.h"
#include "labels.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SWEEP_LIMIT_MS 10000

/* FILTERS is used up. */
static http_transfer *begin_list(struct engine *engine, json_object *filters)
{
    char *path = NULL;
    http_transfer *transfer = NULL;
    char *escaped =
        filters ? engine_escape(json_object_to_json_string_ext(filters, JSON_C_TO_STRING_PLAIN))
                : NULL;
    if (escaped && asprintf(&path, "/containers/json?all=1&filters=%s", escaped) >= 0) {
        http_request request = {.method = "GET", .path = path};
        engine_begin(engine, request, &transfer, NULL);
        free(path);
    }
    free(escaped);
    json_object_put(filters);
    return transfer;
}

http_transfer *sweep_begin(struct engine *engine)
{
    return begin_list(engine, labels_filter_neighbours());
}

static bool ask(struct engine *engine, const char *method, const char *id, const char *rest)
{
    char path[160];
    struct answer CLEANUP_ANSWER answer = {0};
    snprintf(path, sizeof path, "/containers/%.72s%s", id, rest);
    return engine_call(engine, method, path, NULL, &answer, NULL) == CODE_EXECUTOR_OK &&
           answer.status == 204;
}

/* The engine could be asked for these states alone, but Podman 4 finds none then. */
static bool clear_away(struct engine *engine, json_object *container)
{
    const char *id = json_string(container, "Id");
    const char *state = json_string(container, "State");
    bool created = state && strcmp(state, "created") == 0;
    bool paused = state && strcmp(state, "paused") == 0;
    if (!id || (!created && !paused) || !labels_left_behind(json_member(container, "Labels")))
        return false;
    return created ? ask(engine, "DELETE", id, "?force=1&v=1")
                   : ask(engine, "POST", id, "/unpause");
}

size_t sweep_finish(struct engine *engine, http_transfer *sweep)
{
    struct answer CLEANUP_ANSWER answer = {0};
    size_t cleared = 0;
    if (sweep && engine_finish(engine, sweep, SWEEP_LIMIT_MS, &answer, NULL) == CODE_EXECUTOR_OK &&
        answer.status == 200 && json_object_is_type(answer.json, json_type_array))
        for (size_t i = 0; i < json_object_array_length(answer.json); i++)
            cleared += clear_away(engine, json_object_array_get_idx(answer.json, i));
    http_end(sweep);
    return cleared;
}

void sweep_launch(struct engine *engine, const char *launch_id)
{
    struct answer CLEANUP_ANSWER answer = {0};
    http_transfer *list = begin_list(engine, labels_filter_launch(launch_id));
    if (list && engine_finish(engine, list, SWEEP_LIMIT_MS, &answer, NULL) == CODE_EXECUTOR_OK &&
        answer.status == 200 && json_object_is_type(answer.json, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(answer.json); i++) {
            const char *id = json_string(json_object_array_get_idx(answer.json, i), "Id");
            if (id)
                ask(engine, "DELETE", id, "?force=1&v=1");
        }
    }
    http_end(list);
}
