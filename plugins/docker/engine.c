/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.c: version negotiation, calls and their answers; see engine.h.
 */
#include "engine.h"
#include "json.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What this was written against. Engines refuse versions above their own, and newer ones also those below
 * a minimum. */
#define NEWEST_MINOR   51
#define OLDEST_MINOR   30
#define PING_LIMIT_MS  10000
#define LOGIN_LIMIT_MS 30000 /* ssh has to log in first, and gives up by itself before that */
#define CALL_LIMIT_MS  120000
#define CLEAN_LIMIT_MS 20000

/* ---- negotiation ------------------------------------------------------------------------------- */

/* The minor number of "1.41"; -1 where it is none. */
static int minor_version(const char *version)
{
    static const char major[] = "1.";
    if (strncmp(version, major, strlen(major)) != 0)
        return -1;
    const char *minor = version + strlen(major);
    size_t digits = strspn(minor, "0123456789");
    return digits > 0 && digits <= 4 && minor[digits] == '\0' ? atoi(minor) : -1;
}

static int32_t get(struct engine *engine, const char *path, http_transfer **transfer,
                   code_executor_error *error)
{
    http_request request = {.method = "GET", .path = path};
    bool by_ssh = engine->endpoint->kind == ENDPOINT_SSH;
    http_patience patience = {engine->cancel_fd, by_ssh ? LOGIN_LIMIT_MS : PING_LIMIT_MS};
    int32_t status = http_begin(engine->http, &request, transfer, error);
    return status == CODE_EXECUTOR_OK ? http_await(*transfer, patience, error) : status;
}

/* What GET /version says; empty and 0 where it does not. */
struct versions {
    char newest[16];
    int minimum;
};

static int32_t ask_versions(struct engine *engine, struct versions *versions,
                            code_executor_error *error)
{
    http_transfer *transfer = NULL;
    int32_t status = get(engine, "/version", &transfer, error);
    *versions = (struct versions){.newest = ""};
    if (status == CODE_EXECUTOR_OK) {
        struct answer CLEANUP_ANSWER answer = {0};
        answer_read(&answer, http_status(transfer), http_body(transfer, NULL));
        const char *newest = json_string(answer.json, "ApiVersion");
        const char *oldest = json_string(answer.json, "MinAPIVersion");
        snprintf(versions->newest, sizeof versions->newest, "%s", newest ? newest : "");
        versions->minimum = oldest ? minor_version(oldest) : 0;
    }
    http_end(transfer);
    return status;
}

static int32_t choose_version(struct engine *engine, const char *newest, code_executor_error *error)
{
    int minor = minor_version(newest);
    struct versions versions;
    int32_t status = CODE_EXECUTOR_OK;
    if (minor < OLDEST_MINOR)
        return error_set(error, CODE_EXECUTOR_UNSUPPORTED,
                         "the Docker engine at %s speaks API version %s; at least 1.%d is needed "
                         "(Docker 17.06)",
                         engine->endpoint->address, newest, OLDEST_MINOR);
    if (minor > NEWEST_MINOR) {
        status = ask_versions(engine, &versions, error);
        minor = versions.minimum > NEWEST_MINOR ? versions.minimum : NEWEST_MINOR;
    }
    snprintf(engine->version, sizeof engine->version, "1.%d", minor);
    return status;
}

/* What a refusal to be pinged means. */
static int32_t no_engine(struct engine *engine, http_transfer *transfer, code_executor_error *error)
{
    const struct endpoint *endpoint = engine->endpoint;
    if (endpoint->kind == ENDPOINT_TCP && !endpoint->tls.wanted &&
        strcasestr(http_body(transfer, NULL), "https"))
        return error_set(error, CODE_EXECUTOR_PROTOCOL,
                         "the Docker engine at %s (from %s) listens with TLS: name its "
                         "certificates in tls, or set DOCKER_TLS_VERIFY and DOCKER_CERT_PATH",
                         endpoint->address, endpoint->origin);
    return error_set(error, CODE_EXECUTOR_PROTOCOL,
                     "what listens at %s (from %s) is no Docker engine: GET /_ping answered %ld "
                     "without a version",
                     endpoint->address, endpoint->origin, http_status(transfer));
}

static int32_t take_version(struct engine *engine, http_transfer *ping, code_executor_error *error)
{
    struct versions versions = {.newest = ""};
    http_header(ping, "Server", engine->server, sizeof engine->server);
    engine->is_podman = strncmp(engine->server, "Libpod/", strlen("Libpod/")) == 0;
    if (http_status(ping) != 200)
        return no_engine(engine, ping, error);
    if (http_header(ping, "Api-Version", versions.newest, sizeof versions.newest))
        return choose_version(engine, versions.newest, error);
    int32_t status = ask_versions(engine, &versions, error); /* Docker before 1.13, or a proxy */
    if (status != CODE_EXECUTOR_OK)
        return status;
    return versions.newest[0] ? choose_version(engine, versions.newest, error)
                              : no_engine(engine, ping, error);
}

static int32_t ping(struct engine *engine, code_executor_error *error)
{
    http_transfer *transfer = NULL;
    int32_t status = get(engine, "/_ping", &transfer, error);
    if (status == CODE_EXECUTOR_OK)
        status = take_version(engine, transfer, error);
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
    engine->limit_ms = CALL_LIMIT_MS;
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

void engine_clean_up(struct engine *engine)
{
    engine->cancel_fd = -1;
    engine->limit_ms = CLEAN_LIMIT_MS;
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
        status = engine_finish(engine, transfer, engine->limit_ms, answer, error);
    http_end(transfer);
    return status;
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
    return call_once(engine, &request, answer, error);
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

#define WRONG_ARCHITECTURE                                                                         \
    "The image or the runner is made for another kind of processor than the engine's machine "     \
    "has; "                                                                                        \
    "choose another image or platform"
#define BAD_CAPABILITY "cap_add and cap_drop take names such as NET_ADMIN, or ALL"
#define BAD_RUNTIME                                                                                \
    "runtime must name one that the engine is configured with (docker info lists them)"
#define NO_NETWORK "docker network ls lists the networks there are"
#define BAD_USER   "user must exist in the image, or be given in numbers, as in 1000:1000"

/* What engines say, in any case of letters, and what a user can do about it. Engines answer 500 to much
 * that is the asker's mistake. */
static const struct {
    const char *fragment;
    int32_t status; /* 0: as the number says */
    const char *advice;
} advices[] = {
    {"bind source path does not exist", CODE_EXECUTOR_NOT_FOUND,
     "The engine does not see this folder: if it runs on another machine, or this process in a "
     "container, name the folder as the engine sees it in bind_dir"},
    {"error while creating mount source path", CODE_EXECUTOR_DENIED,
     "The engine cannot reach this folder; a rootless one sees only what its user sees"},
    {"mounts denied", CODE_EXECUTOR_DENIED,
     "Share this folder with the engine in its settings, or choose another work_dir"},
    {"could not select device driver", CODE_EXECUTOR_UNAVAILABLE,
     "GPUs need a driver and its container toolkit on the engine's machine; install it or leave "
     "out "
     "gpus"},
    {"unknown or invalid runtime", CODE_EXECUTOR_INVALID, BAD_RUNTIME},
    {"unknown runtime", CODE_EXECUTOR_INVALID, BAD_RUNTIME},
    {"capability", CODE_EXECUTOR_INVALID, BAD_CAPABILITY},
    {"unable to find user", CODE_EXECUTOR_INVALID, BAD_USER},
    {"unable to find group", CODE_EXECUTOR_INVALID, BAD_USER},
    {"no matching entries in passwd file", CODE_EXECUTOR_INVALID, BAD_USER},
    {"minimum memory limit", CODE_EXECUTOR_INVALID, "Raise memory"},
    {"unable to set memory limit", CODE_EXECUTOR_INVALID, "Raise memory"},
    {"cannot unmarshal", CODE_EXECUTOR_INVALID,
     "A member of container_create or device_requests has another type in the engine's API"},
    {"security-opt", CODE_EXECUTOR_INVALID, "See security_opt"},
    {"range of cpus", CODE_EXECUTOR_INVALID, "Lower cpus"},
    {"duplicate mount point", CODE_EXECUTOR_INVALID,
     "/workspace and /.code_executor are taken; mount the volume elsewhere"},
    {"network not found", CODE_EXECUTOR_NOT_FOUND, NO_NETWORK},
    {"network", 0, NO_NETWORK},
    {"no space left on device", CODE_EXECUTOR_UNAVAILABLE,
     "The engine's disk is full: docker system df shows what takes the space"},
    {"exec format error", CODE_EXECUTOR_UNSUPPORTED, WRONG_ARCHITECTURE},
    {"does not match the specified platform", CODE_EXECUTOR_UNSUPPORTED, WRONG_ARCHITECTURE},
    {"cannot allocate memory", CODE_EXECUTOR_UNAVAILABLE, "The engine's machine is out of memory"},
};

int32_t engine_refusal(const struct engine *engine, const struct answer *answer, const char *doing,
                       code_executor_error *error)
{
    int32_t status = status_of(answer->status);
    const char *advice = "";
    for (size_t i = 0; i < sizeof advices / sizeof advices[0]; i++) {
        if (strcasestr(answer->message, advices[i].fragment)) {
            status = advices[i].status ? advices[i].status : status;
            advice = advices[i].advice;
            break;
        }
    }
    return error_set(error, status, "cannot %s: the Docker engine at %s answered %ld: %s%s%s",
                     doing, engine->endpoint->address, answer->status,
                     answer->message[0] ? answer->message : "(no words)", *advice ? ". " : "",
                     advice);
}
