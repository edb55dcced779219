/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.c: version negotiation, calls and their answers; see engine.h.
 */
#include "engine.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What this was written against. Engines refuse versions above their own, and newer ones also those
 * below a minimum, which only their refusal tells. */
#define VERSION_MAJOR  1
#define NEWEST_MINOR   51
#define OLDEST_MINOR   30
#define PING_LIMIT_MS  10000
#define VERSION_FORMAT "1.%d"

/* ---- negotiation ------------------------------------------------------------------------------- */

/* The minor number of "1.41"; -1 where it is none. */
static int minor_version(const char *version)
{
    int major = 0, minor = -1;
    return sscanf(version, "%d.%d", &major, &minor) == 2 && major == VERSION_MAJOR ? minor : -1;
}

static int32_t choose_version(struct engine *engine, const char *newest, code_executor_error *error)
{
    int minor = minor_version(newest);
    if (minor < OLDEST_MINOR)
        return error_set(error, CODE_EXECUTOR_UNSUPPORTED,
                         "the Docker engine at %s speaks API version %s; at least 1.%d is needed "
                         "(Docker 17.06)",
                         engine->endpoint->address, newest, OLDEST_MINOR);
    snprintf(engine->version, sizeof engine->version, VERSION_FORMAT,
             minor < NEWEST_MINOR ? minor : NEWEST_MINOR);
    return CODE_EXECUTOR_OK;
}

static int32_t ping(struct engine *engine, code_executor_error *error)
{
    http_transfer *transfer = NULL;
    http_request request = {.method = "GET", .path = "/_ping"};
    http_patience patience = {engine->cancel_fd, PING_LIMIT_MS};
    int32_t status = http_begin(engine->http, &request, &transfer, error);
    if (status == CODE_EXECUTOR_OK)
        status = http_await(transfer, patience, error);
    if (status == CODE_EXECUTOR_OK) {
        char newest[16] = "";
        http_header(transfer, "Server", engine->server, sizeof engine->server);
        if (http_status(transfer) != 200 ||
            !http_header(transfer, "Api-Version", newest, sizeof newest))
            status = error_set(error, CODE_EXECUTOR_PROTOCOL,
                               "what listens at %s (from %s) is no Docker engine: GET /_ping "
                               "answered %ld without a version",
                               engine->endpoint->address, engine->endpoint->origin,
                               http_status(transfer));
        else
            status = choose_version(engine, newest, error);
    }
    http_end(transfer);
    return status;
}

int32_t engine_open(const struct endpoint *endpoint, int cancel_fd, struct engine **opened,
                    code_executor_error *error)
{
    *opened = NULL;
    struct engine *engine = calloc(1, sizeof *engine);
    if (!engine)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    engine->endpoint = endpoint;
    engine->cancel_fd = cancel_fd;
    int32_t status = http_client_new(endpoint, &engine->http, error);
    if (status == CODE_EXECUTOR_OK)
        status = ping(engine, error);
    if (status != CODE_EXECUTOR_OK) {
        engine_close(engine);
        return status;
    }
    *opened = engine;
    return CODE_EXECUTOR_OK;
}

void engine_close(struct engine *engine)
{
    if (!engine)
        return;
    http_client_free(engine->http);
    free(engine);
}

/* ---- calls ------------------------------------------------------------------------------------- */

void answer_clear(struct answer *answer)
{
    json_object_put(answer->json);
    *answer = (struct answer){0};
}

/* The engine's words: "message" of its JSON, else the text itself. */
static void read_message(struct answer *answer, const char *body)
{
    json_object *message = NULL;
    if (json_object_is_type(answer->json, json_type_object) &&
        json_object_object_get_ex(answer->json, "message", &message) &&
        json_object_is_type(message, json_type_string))
        body = json_object_get_string(message);
    snprintf(answer->message, sizeof answer->message, "%s", body);
    for (size_t end = strlen(answer->message); end > 0 && answer->message[end - 1] <= ' '; end--)
        answer->message[end - 1] = '\0';
}

void answer_read(struct answer *answer, long status, const char *body)
{
    *answer = (struct answer){.status = status, .json = json_tokener_parse(body)};
    if (status >= 300)
        read_message(answer, body);
}

int32_t engine_begin(struct engine *engine, http_request request, http_transfer **transfer,
                     code_executor_error *error)
{
    char *path = NULL;
    *transfer = NULL;
    if (asprintf(&path, "/v%s%s", engine->version, request.path) < 0)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    request.path = path;
    int32_t status = http_begin(engine->http, &request, transfer, error);
    free(path);
    return status;
}

int32_t engine_finish(struct engine *engine, http_transfer *transfer, int limit_ms,
                      struct answer *answer, code_executor_error *error)
{
    *answer = (struct answer){0};
    int32_t status = http_await(transfer, (http_patience){engine->cancel_fd, limit_ms}, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    answer_read(answer, http_status(transfer), http_body(transfer, NULL));
    return CODE_EXECUTOR_OK;
}

static int32_t call_once(struct engine *engine, const http_request *request, struct answer *answer,
                         code_executor_error *error)
{
    http_transfer *transfer = NULL;
    int32_t status = engine_begin(engine, *request, &transfer, error);
    if (status == CODE_EXECUTOR_OK)
        status = engine_finish(engine, transfer, ENGINE_LIMIT_MS, answer, error);
    http_end(transfer);
    return status;
}

/* An engine whose minimum is above what we chose says so: "… Minimum supported API version is 1.60 …". */
static bool adopt_minimum(struct engine *engine, const struct answer *answer)
{
    static const char words[] = "upported API version is ";
    const char *found = answer->status == 400 ? strstr(answer->message, words) : NULL;
    int minor = found ? minor_version(found + sizeof words - 1) : -1;
    char version[sizeof engine->version];
    snprintf(version, sizeof version, VERSION_FORMAT, minor);
    if (minor < OLDEST_MINOR || strcmp(version, engine->version) == 0)
        return false;
    memcpy(engine->version, version, sizeof version);
    return true;
}

int32_t engine_call(struct engine *engine, const char *method, const char *path, json_object *body,
                    struct answer *answer, code_executor_error *error)
{
    *answer = (struct answer){0};
    http_request request = {.method = method, .path = path};
    if (body) {
        request.body =
            json_object_to_json_string_length(body, JSON_C_TO_STRING_PLAIN, &request.body_length);
        if (!request.body)
            return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    }
    int32_t status = call_once(engine, &request, answer, error);
    if (status == CODE_EXECUTOR_OK && adopt_minimum(engine, answer)) {
        answer_clear(answer);
        status = call_once(engine, &request, answer, error);
    }
    return status;
}

char *engine_escape(const char *text)
{
    char *escaped = curl_easy_escape(NULL, text, 0);
    char *copy = escaped ? strdup(escaped) : NULL;
    curl_free(escaped);
    return copy;
}

/* ---- refusals ---------------------------------------------------------------------------------- */

static int32_t status_of(long http)
{
    static const struct {
        long http;
        int32_t status;
    } table[] = {
        {400, CODE_EXECUTOR_INVALID},     {401, CODE_EXECUTOR_DENIED},
        {403, CODE_EXECUTOR_DENIED},      {404, CODE_EXECUTOR_NOT_FOUND},
        {409, CODE_EXECUTOR_CONFLICT},    {406, CODE_EXECUTOR_UNSUPPORTED},
        {501, CODE_EXECUTOR_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].http == http)
            return table[i].status;
    return CODE_EXECUTOR_UNAVAILABLE;
}

/* What engines say, and what a user can do about it. */
static const struct {
    const char *fragment;
    const char *advice;
} advices[] = {
    {"bind source path does not exist",
     "The engine does not see this folder: if it runs on another machine, or this process in a "
     "container, name the folder as the engine sees it in bind_dir"},
    {"could not select device driver",
     "GPUs need a driver and its container toolkit on the engine's machine; leave out gpus or "
     "install it"},
    {"unknown or invalid runtime name",
     "runtime must name one that the engine is configured with (docker info lists them)"},
    {"unknown runtime specified",
     "runtime must name one that the engine is configured with (docker info lists them)"},
    {"network", "docker network ls lists the networks there are"},
    {"invalid capability", "cap_add and cap_drop take names such as NET_ADMIN, or ALL"},
    {"apability", "cap_add and cap_drop take names such as NET_ADMIN, or ALL"},
    {"unable to find user", "user must exist in the image, or be given as numbers, uid:gid"},
    {"no matching entries in passwd file",
     "user must exist in the image, or be given as numbers, uid:gid"},
    {"inimum memory limit", "Raise memory"},
    {"no space left on device",
     "The engine's disk is full: docker system df shows what takes the space"},
    {"exec format error",
     "The image is made for another kind of processor than the engine's; set platform"},
};

int32_t engine_refusal(const struct engine *engine, const struct answer *answer, const char *doing,
                       code_executor_error *error)
{
    int32_t status = error_set(error, status_of(answer->status),
                               "cannot %s: the Docker engine at %s answered %ld: %s", doing,
                               engine->endpoint->address, answer->status,
                               answer->message[0] ? answer->message : "(no words)");
    for (size_t i = 0; i < sizeof advices / sizeof advices[0]; i++)
        if (strstr(answer->message, advices[i].fragment))
            return error_append(error, status, ". %s", advices[i].advice);
    return status;
}
