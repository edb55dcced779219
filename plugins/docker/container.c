/* SPDX-License-Identifier: Apache-2.0 */
/*
 * container.c: the engine's calls about one container; see container.h.
 */
#include "container.h"
#include "json.h"
#include "podman.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An engine that is busy takes its time, and nobody knows of what it makes then. */
#define CREATE_GRACE_MS 10000
#define REMOVE_ATTEMPTS 5
#define KILL_LIMIT_MS   10000

/* ---- create ------------------------------------------------------------------------------------ */

static char *create_path(const char *name, const char *platform)
{
    char *path = NULL;
    char *escaped = engine_escape(platform ? platform : "");
    if (!escaped || asprintf(&path, "/containers/create?name=%s%s%s", name,
                             platform ? "&platform=" : "", escaped) < 0)
        path = NULL;
    free(escaped);
    return path;
}

/* Who has the name, and what to do. */
static int32_t name_in_use(struct container *container, const char *name,
                           code_executor_error *error)
{
    char path[320];
    struct answer CLEANUP_ANSWER answer = {0};
    snprintf(path, sizeof path, "/containers/%s/json", name);
    int32_t status = engine_call(container->engine, "GET", path, NULL, &answer, NULL);
    if (status != CODE_EXECUTOR_OK || answer.status != 200)
        return error_set(
            error, CODE_EXECUTOR_CONFLICT,
            "the container name \"%s\" is in use; give another container_name, or none", name);
    json_object *config = json_member(answer.json, "Config");
    const char *id = json_string(answer.json, "Id");
    const char *state = json_string(json_member(answer.json, "State"), "Status");
    const char *image = json_string(config, "Image");
    const char *pid = json_string(json_member(config, "Labels"), "code-executor.pid");
    return error_set(error, CODE_EXECUTOR_CONFLICT,
                     "the container name \"%s\" is in use by container %.12s (%s, image %s%s%s): "
                     "give another container_name, or none, or remove that container: docker rm "
                     "-f %s",
                     name, id ? id : "?", state ? state : "in an unknown state",
                     image ? image : "unknown", pid ? ", made by a code executor in process " : "",
                     pid ? pid : "", name);
}

static bool image_is_missing(const struct answer *answer)
{
    return answer->status == 404 &&
           (strstr(answer->message, "o such image") || strstr(answer->message, "mage not known") ||
            strstr(answer->message, "does not match the specified platform"));
}

/* The first: "Your kernel does not support swap limit capabilities …". */
static void note_warning(struct container *container, const struct answer *answer)
{
    json_object *warnings = json_member(answer->json, "Warnings");
    const char *first = json_object_is_type(warnings, json_type_array)
                            ? json_object_get_string(json_object_array_get_idx(warnings, 0))
                            : NULL;
    snprintf(container->warning, sizeof container->warning, "%s", first ? first : "");
}

static enum create_result judge(struct container *container, const char *name,
                                const struct answer *answer, int32_t *status,
                                code_executor_error *error)
{
    const char *id = json_string(answer->json, "Id");
    if (answer->status == 201 && id && strlen(id) < sizeof container->id) {
        strcpy(container->id, id);
        snprintf(container->name, sizeof container->name, "%s", name);
        note_warning(container, answer);
        *status = CODE_EXECUTOR_OK;
        return CREATE_OK;
    }
    if (strstr(answer->message, "name") && strstr(answer->message, "already in use"))
        *status = name_in_use(container, name, error);
    else
        *status = engine_refusal(container->engine, answer, "create the container", error);
    return image_is_missing(answer) ? CREATE_NO_IMAGE : CREATE_FAILED;
}

/* Cancelling must not lose track of a container that the engine is just making. */
static int32_t finish_create(struct engine *engine, http_transfer *transfer, struct answer *answer,
                             code_executor_error *error)
{
    int32_t status = engine_finish(engine, transfer, engine->limit_ms, answer, error);
    if (status != CODE_EXECUTOR_CANCELLED)
        return status;
    int cancel_fd = engine->cancel_fd;
    engine->cancel_fd = -1;
    status = engine_finish(engine, transfer, CREATE_GRACE_MS, answer, error);
    engine->cancel_fd = cancel_fd;
    return status == CODE_EXECUTOR_OK ? status
                                      : error_set(error, CODE_EXECUTOR_CANCELLED, "cancelled");
}

enum create_result container_create(struct container *container, const char *name,
                                    const char *platform, json_object *body, int32_t *status,
                                    code_executor_error *error)
{
    struct answer CLEANUP_ANSWER answer = {0};
    http_transfer *transfer = NULL;
    char *path = create_path(name, platform);
    http_request request = {.method = "POST", .path = path};
    request.body =
        json_object_to_json_string_length(body, JSON_C_TO_STRING_PLAIN, &request.body_length);
    container->id[0] = '\0';
    container->started = container->ended = false;
    container->exit_code = -1;
    container->end_words[0] = '\0';
    if (!path || !request.body)
        *status = error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    else
        *status = engine_begin(container->engine, request, &transfer, error);
    free(path);
    if (*status == CODE_EXECUTOR_OK)
        *status = finish_create(container->engine, transfer, &answer, error);
    http_end(transfer);
    return *status == CODE_EXECUTOR_OK ? judge(container, name, &answer, status, error)
                                       : CREATE_FAILED;
}

/* ---- its end ----------------------------------------------------------------------------------- */

int32_t container_watch(struct container *container, code_executor_error *error)
{
    char path[160];
    container->removal_awaited =
        container->auto_remove && podman_tells_exit_code_of_removed(container->engine);
    snprintf(path, sizeof path, "/containers/%s/wait?condition=%s", container->id,
             container->removal_awaited ? "removed" : "next-exit");
    http_request request = {.method = "POST", .path = path};
    container->ended = false;
    container->exit_code = -1;
    container->end_words[0] = '\0';
    container_let_go(container);
    container->events = events_open(container->engine, container->id);
    return engine_begin(container->engine, request, &container->ending, error);
}

static void take_events_in(struct container *container)
{
    if (container->events && !events_taken_in(container->events)) {
        events_close(container->events);
        container->events = NULL;
    }
    container->news = events_descriptor(container->events);
}

int32_t container_watched(struct container *container, code_executor_error *error)
{
    http_patience patience = {container->engine->cancel_fd, container->engine->limit_ms};
    int32_t status = http_await_head(container->ending, patience, error);
    if (status == CODE_EXECUTOR_OK && http_status(container->ending) == 200)
        take_events_in(container);
    if (status != CODE_EXECUTOR_OK || http_status(container->ending) == 200)
        return status;
    struct answer CLEANUP_ANSWER answer = {0};
    status = engine_finish(container->engine, container->ending, container->engine->limit_ms,
                           &answer, error);
    return status != CODE_EXECUTOR_OK
               ? status
               : engine_refusal(container->engine, &answer, "wait for the container", error);
}

int32_t container_await_end(struct container *container, int limit_ms, code_executor_error *error)
{
    if (container->ended || !container->ending)
        return error_clear(error);
    struct answer CLEANUP_ANSWER answer = {0};
    int32_t status = engine_finish(container->engine, container->ending, limit_ms, &answer, error);
    if (status == CODE_EXECUTOR_TIMED_OUT)
        return error_clear(error);
    http_end(container->ending);
    container->ending = NULL;
    if (status != CODE_EXECUTOR_OK)
        return status;
    const char *words = json_string(json_member(answer.json, "Error"), "Message");
    container->ended = true;
    if (answer.status == 200 && json_member(answer.json, "StatusCode"))
        container->exit_code = json_integer(answer.json, "StatusCode");
    snprintf(container->end_words, sizeof container->end_words, "%s",
             words ? words : answer.message);
    return CODE_EXECUTOR_OK;
}

bool container_is_paused(struct container *container)
{
    bool paused = events_tell_pause(container->events);
    container->news = events_descriptor(container->events);
    return paused;
}

static void describe_exit(int64_t code, char *words, size_t size)
{
    if (code == 137)
        snprintf(words, size,
                 "died with exit code 137: killed from outside (docker kill, stop or rm), or for "
                 "memory");
    else if (code > 128 && code < 192)
        snprintf(words, size, "died with exit code %lld (signal %lld)", (long long)code,
                 (long long)code - 128);
    else
        snprintf(words, size, "ended with exit code %lld", (long long)code);
}

void container_describe_end(struct container *container, char *words, size_t size)
{
    long long code = container->exit_code;
    if (events_cause(container->events, container->auto_remove, words, size)) {
        size_t length = strlen(words);
        if (container->ended && code >= 0)
            snprintf(words + length, size - length, ": exit code %lld", code);
    } else if (!container->ended) {
        snprintf(words, size, "no longer answers: the engine closed the connection to it");
    } else if (code >= 0) {
        describe_exit(code, words, size);
    } else {
        snprintf(words, size, "ended");
    }
}

/* ---- start, kill, remove ----------------------------------------------------------------------- */

int32_t container_start(struct container *container, char words[ENGINE_WORDS_SIZE],
                        code_executor_error *error)
{
    char path[128];
    struct answer CLEANUP_ANSWER answer = {0};
    words[0] = '\0';
    snprintf(path, sizeof path, "/containers/%s/start", container->id);
    int32_t status = engine_call(container->engine, "POST", path, NULL, &answer, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    if (answer.status == 204 || answer.status == 304) {
        container->started = true;
        return CODE_EXECUTOR_OK;
    }
    memcpy(words, answer.message, ENGINE_WORDS_SIZE);
    return engine_refusal(container->engine, &answer, "start the container", error);
}

int32_t container_kill(struct container *container, code_executor_error *error)
{
    char path[128];
    struct answer CLEANUP_ANSWER answer = {0};
    snprintf(path, sizeof path, "/containers/%s/kill", container->id);
    int32_t status = engine_call(container->engine, "POST", path, NULL, &answer, error);
    if (status != CODE_EXECUTOR_OK || answer.status == 204 || answer.status == 404 ||
        answer.status == 409) /* gone, or not running */
        return status;
    return engine_refusal(container->engine, &answer, "kill the container", error);
}

/* "removal of container … is already in progress": the engine does it, so wait for that. */
static void await_removal(struct container *container)
{
    if (container->auto_remove && container->ending)
        container_await_end(container, KILL_LIMIT_MS, NULL);
}

/* An engine that has to kill first may find that it has just ended, and then does not remove it. */
static int32_t ask_for_removal(struct container *container, struct answer *answer,
                               code_executor_error *error)
{
    char path[128];
    snprintf(path, sizeof path, "/containers/%s?force=1&v=1", container->id);
    int32_t status = engine_call(container->engine, "DELETE", path, NULL, answer, error);
    for (int i = 1; status == CODE_EXECUTOR_OK && i < REMOVE_ATTEMPTS; i++) {
        if (!podman_missed_removal(container->engine, answer))
            return status;
        answer_clear(answer);
        status = engine_call(container->engine, "DELETE", path, NULL, answer, error);
    }
    return status;
}

int32_t container_remove(struct container *container, code_executor_error *error)
{
    struct answer CLEANUP_ANSWER answer = {0};
    if (!container->id[0])
        return CODE_EXECUTOR_OK;
    int32_t status = ask_for_removal(container, &answer, error);
    if (status != CODE_EXECUTOR_OK)
        return error_prefix(error, status, "cannot remove the container %s: ", container->name);
    if (answer.status == 409)
        await_removal(container);
    else if (answer.status != 204 && answer.status != 404)
        return engine_refusal(container->engine, &answer, "remove the container", error);
    container_let_go(container);
    container->id[0] = '\0';
    return CODE_EXECUTOR_OK;
}

void container_let_go(struct container *container)
{
    http_end(container->ending);
    container->ending = NULL;
    container->news = -1;
    events_close(container->events);
    container->events = NULL;
}
