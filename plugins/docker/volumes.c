/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volumes.c: asks for volumes and removes them; see volumes.h.
 */
#include "volumes.h"
#include "json.h"
#include "labels.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SWEEP_LIMIT_MS 10000
/* Two builds that are used by turns would else take each other's volume away at each start. */
#define OLD_S (24 * 60 * 60)

http_transfer *volumes_begin(struct engine *engine, bool unused_only)
{
    char *path = NULL;
    http_transfer *transfer = NULL;
    json_object CLEANUP_JSON *filters = labels_filter_all();
    json_object *dangling = filters && unused_only ? json_put_array(filters, "dangling") : NULL;
    if (!filters || (unused_only && !(dangling && json_append_string(dangling, "true"))))
        return NULL;
    char *escaped = engine_escape(json_object_to_json_string_ext(filters, JSON_C_TO_STRING_PLAIN));
    if (escaped && asprintf(&path, "/volumes?filters=%s", escaped) >= 0) {
        http_request request = {.method = "GET", .path = path};
        engine_begin(engine, request, &transfer, NULL);
        free(path);
    }
    free(escaped);
    return transfer;
}

int32_t volumes_finish(struct engine *engine, http_transfer *asked, json_object **volumes,
                       code_executor_error *error)
{
    struct answer CLEANUP_ANSWER answer = {0};
    *volumes = NULL;
    int32_t status =
        asked ? engine_finish(engine, asked, SWEEP_LIMIT_MS, &answer, error)
              : error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory to ask for volumes");
    http_end(asked);
    if (status != CODE_EXECUTOR_OK)
        return status;
    if (answer.status != 200)
        return engine_refusal(engine, &answer, "list volumes", error);
    json_object *list = json_member(answer.json, "Volumes");
    *volumes = json_object_is_type(list, json_type_array) ? json_object_get(list)
                                                          : json_object_new_array();
    return CODE_EXECUTOR_OK;
}

/* "2026-01-31T12:00:00Z", perhaps with a fraction, or +01:00 in place of the Z. */
int64_t volume_created(json_object *volume)
{
    const char *text = json_string(volume, "CreatedAt");
    struct tm parts = {0};
    const char *rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &parts) : NULL;
    int hours = 0, minutes = 0;
    if (!rest)
        return -1;
    if (*rest == '.')
        rest += 1 + strspn(rest + 1, "0123456789");
    if ((*rest == '+' || *rest == '-') && sscanf(rest + 1, "%2d:%2d", &hours, &minutes) != 2)
        return -1;
    int64_t offset = (hours * 60 + minutes) * 60;
    return (int64_t)timegm(&parts) - (*rest == '-' ? -offset : offset);
}

int32_t volume_remove(struct engine *engine, const char *name, bool *gone,
                      code_executor_error *error)
{
    struct answer CLEANUP_ANSWER answer = {0};
    char *path = NULL;
    char *escaped = engine_escape(name);
    *gone = false;
    if (!escaped || asprintf(&path, "/volumes/%s", escaped) < 0) {
        free(escaped);
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    }
    int32_t status = engine_call(engine, "DELETE", path, NULL, &answer, error);
    free(path);
    free(escaped);
    *gone = status == CODE_EXECUTOR_OK && answer.status == 204;
    if (status != CODE_EXECUTOR_OK || *gone || answer.status == 404 || answer.status == 409)
        return status;
    return engine_refusal(engine, &answer, "remove a volume", error);
}

size_t volumes_sweep(struct engine *engine, http_transfer *asked, const char *own)
{
    json_object CLEANUP_JSON *volumes = NULL;
    size_t removed = 0;
    if (!asked || volumes_finish(engine, asked, &volumes, NULL) != CODE_EXECUTOR_OK)
        return 0;
    int64_t now = (int64_t)time(NULL);
    for (size_t i = 0; i < json_object_array_length(volumes); i++) {
        json_object *volume = json_object_array_get_idx(volumes, i);
        const char *name = json_string(volume, "Name");
        int64_t created = volume_created(volume);
        bool gone = false;
        if (!name || strcmp(name, own) == 0 || created < 0 || now - created < OLD_S)
            continue;
        volume_remove(engine, name, &gone, NULL);
        removed += gone;
    }
    return removed;
}
