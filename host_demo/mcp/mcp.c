/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp.c: the command, and the methods of the protocol as a table.
 *
 * Versions. With a handshake the server answers the version that it is asked for if it knows it, else the
 * newest it knows that is older, for old clients know old versions. Without one, a version that it
 * does not know is an error that lists those it does.
 */
#include "mcp.h"
#include "commands.h"
#include "configuration.h"
#include "interrupt.h"
#include "terminal.h"
#include <string.h>

#define META_PREFIX    "io.modelcontextprotocol/"
#define MODERN_VERSION "2026-07-28"

/* Of the handshake, the newest first. 2025-03-26 is not among them: it asks for batches. */
static const char *const versions[] = {"2025-11-25", "2025-06-18", "2024-11-05"};
enum { VERSION_COUNT = sizeof versions / sizeof *versions, LISTS_LAST_MS = 3600000 };

struct server {
    struct executors *executors;
    struct calls *calls;
    bool shaken; /* initialize was answered */
};

/* A request that is being answered. */
struct request {
    struct server *server;
    json_object *id;     /* the message's */
    json_object *params; /* an object, or NULL */
    json_object *meta;   /* an object, or NULL */
    bool modern;
};

static json_object *member(json_object *object, const char *key)
{
    json_object *found = NULL;
    json_object_object_get_ex(object, key, &found);
    return found;
}

static const char *member_text(json_object *object, const char *key)
{
    json_object *text = member(object, key);
    return json_object_is_type(text, json_type_string) ? json_object_get_string(text) : NULL;
}

static json_object *new_id(const struct request *request)
{
    json_object *copy = NULL;
    return json_object_deep_copy(request->id, &copy, NULL) == 0 ? copy : NULL;
}

static void answer(const struct request *request, json_object *result)
{
    wire_result(new_id(request), finished_result(result, request->modern));
}

/* ------------------------------------------------------------------------------------------------
 * Methods
 * --------------------------------------------------------------------------------------------- */

static json_object *capabilities(void)
{
    json_object *object = json_object_new_object();
    wire_add(object, "tools", json_object_new_object());
    return object;
}

static json_object *server_info(void)
{
    json_object *object = json_object_new_object();
    wire_add(object, "name", json_object_new_string("host_demo"));
    wire_add(object, "title", json_object_new_string("Code executor"));
    wire_add(object, "version", json_object_new_string(CODE_EXECUTOR_PROJECT_VERSION));
    return object;
}

static json_object *supported_versions(void)
{
    json_object *list = json_object_new_array();
    if (list != NULL)
        json_object_array_add(list, json_object_new_string(MODERN_VERSION));
    for (size_t i = 0; i < VERSION_COUNT && list != NULL; i++)
        json_object_array_add(list, json_object_new_string(versions[i]));
    return list;
}

/* Versions are dates, so that the order of text is theirs. */
static const char *agreed_version(const char *asked)
{
    for (size_t i = 0; i < VERSION_COUNT; i++)
        if (strcmp(versions[i], asked) <= 0)
            return versions[i];
    return versions[0];
}

static void method_initialize(struct request *request)
{
    const char *asked = member_text(request->params, "protocolVersion");
    json_object *result = json_object_new_object();
    if (asked == NULL) {
        json_object_put(result);
        wire_error(new_id(request), RPC_INVALID_PARAMS, NULL,
                   "initialize needs \"protocolVersion\", a string.");
        return;
    }
    wire_add(result, "protocolVersion", json_object_new_string(agreed_version(asked)));
    wire_add(result, "capabilities", capabilities());
    wire_add(result, "serverInfo", server_info());
    request->server->shaken = true;
    answer(request, result);
}

static void method_ping(struct request *request)
{
    answer(request, json_object_new_object());
}

/* What a client may keep, as the later protocol has it. */
static void add_cache_hints(const struct request *request, json_object *result)
{
    if (!request->modern)
        return;
    wire_add(result, "ttlMs", json_object_new_int(LISTS_LAST_MS));
    wire_add(result, "cacheScope", json_object_new_string("private"));
}

static void method_discover(struct request *request)
{
    json_object *result = json_object_new_object();
    wire_add(result, "supportedVersions", supported_versions());
    wire_add(result, "capabilities", capabilities());
    wire_add(result, "serverInfo", server_info());
    add_cache_hints(request, result);
    answer(request, result);
}

static void method_list(struct request *request)
{
    json_object *result = json_object_new_object();
    wire_add(result, "tools", tools_list(request->server->executors));
    add_cache_hints(request, result);
    answer(request, result);
}

static void method_call(struct request *request)
{
    code_executor_error problem = CODE_EXECUTOR_ERROR_INIT;
    struct job job;
    const char *name = member_text(request->params, "name");
    json_object *arguments = member(request->params, "arguments");
    json_object *token = member(request->meta, "progressToken");
    if (name == NULL || (arguments != NULL && !json_object_is_type(arguments, json_type_object))) {
        wire_error(new_id(request), RPC_INVALID_PARAMS, NULL,
                   "tools/call needs \"name\", a string, and \"arguments\", an object.");
        return;
    }
    CLEANUP(free_json) json_object *none = json_object_new_object();
    switch (tool_prepare(name, arguments == NULL ? none : arguments, &job, &problem)) {
    case TOOL_READY:
        calls_begin(request->server->calls, request->id, &job, request->modern, token);
        break;
    case TOOL_UNKNOWN:
        wire_error(new_id(request), RPC_INVALID_PARAMS, NULL, "Unknown tool: %.200s", name);
        break;
    case TOOL_REFUSED:
    default:
        /* For the model to read, which can mend it. */
        answer(request, tool_result(problem.message, strlen(problem.message), true));
        break;
    }
}

enum era { BOTH_ERAS, ONLY_HANDSHAKE, ONLY_MODERN };

static const struct method {
    const char *name;
    enum era era;
    bool needs_handshake; /* in the era that has one */
    void (*answer)(struct request *request);
} methods[] = {
    {"initialize", ONLY_HANDSHAKE, false, method_initialize},
    {"ping", BOTH_ERAS, false, method_ping},
    {"server/discover", ONLY_MODERN, false, method_discover},
    {"tools/list", BOTH_ERAS, true, method_list},
    {"tools/call", BOTH_ERAS, true, method_call},
};

/* ------------------------------------------------------------------------------------------------
 * Messages
 * --------------------------------------------------------------------------------------------- */

/* Whether a request of the later protocol has what each must have; else it is answered. */
static bool is_well_formed(struct request *request)
{
    const char *version = member_text(request->meta, META_PREFIX "protocolVersion");
    if (version == NULL ||
        !json_object_is_type(member(request->meta, META_PREFIX "clientCapabilities"),
                             json_type_object)) {
        wire_error(new_id(request), RPC_INVALID_PARAMS, NULL,
                   "_meta needs \"" META_PREFIX "protocolVersion\", a string, and \"" META_PREFIX
                   "clientCapabilities\", an object.");
        return false;
    }
    if (strcmp(version, MODERN_VERSION) == 0)
        return true;
    json_object *data = json_object_new_object();
    wire_add(data, "supported", supported_versions());
    wire_add(data, "requested", wire_text(version, strlen(version)));
    wire_error(new_id(request), RPC_UNSUPPORTED_VERSION, data, "Unsupported protocol version");
    return false;
}

static void answer_request(struct request *request, const char *name)
{
    const struct method *method = NULL;
    for (size_t i = 0; i < sizeof methods / sizeof *methods && method == NULL; i++)
        if (strcmp(methods[i].name, name) == 0)
            method = &methods[i];
    request->modern = member(request->meta, META_PREFIX "protocolVersion") != NULL ||
                      (method != NULL && method->era == ONLY_MODERN);
    if (request->modern && !is_well_formed(request))
        return;
    if (method == NULL || (method->era == ONLY_HANDSHAKE && request->modern)) {
        wire_error(new_id(request), RPC_METHOD_NOT_FOUND, NULL, "There is no method %.200s.", name);
    } else if (!request->modern && method->needs_handshake && !request->server->shaken) {
        wire_error(new_id(request), RPC_INVALID_REQUEST, NULL,
                   "%s comes before initialize, and without a protocol version in _meta.", name);
    } else if (calls_has(request->server->calls, request->id)) {
        wire_error(new_id(request), RPC_INVALID_REQUEST, NULL,
                   "A request with this id has not been answered yet.");
    } else {
        method->answer(request);
    }
}

static bool is_id(json_object *id)
{
    return json_object_is_type(id, json_type_string) || json_object_is_type(id, json_type_int);
}

static void take_notification(struct server *server, const char *name, json_object *params)
{
    json_object *id = member(params, "requestId");
    if (strcmp(name, "notifications/cancelled") == 0 && is_id(id))
        calls_cancel(server->calls, id);
}

static void take_message(struct server *server, json_object *message)
{
    const char *version = member_text(message, "jsonrpc"), *name = member_text(message, "method");
    json_object *id = member(message, "id"), *params = member(message, "params");
    struct request request = {.server = server, .id = id, .params = params};
    bool has_id = json_object_object_get_ex(message, "id", NULL);
    bool is_answer = json_object_object_get_ex(message, "result", NULL) ||
                     json_object_object_get_ex(message, "error", NULL);
    if (json_object_is_type(message, json_type_object) && name == NULL && is_answer)
        return; /* to nothing that was asked */
    if (version == NULL || strcmp(version, "2.0") != 0 || name == NULL || (has_id && !is_id(id))) {
        wire_error(is_id(id) ? new_id(&request) : NULL, RPC_INVALID_REQUEST, NULL,
                   json_object_is_type(message, json_type_array)
                       ? "Batches are not understood."
                       : "A request is an object with \"jsonrpc\": \"2.0\", \"method\", and an "
                         "\"id\" that is a string or an integer.");
        return;
    }
    if (params != NULL && !json_object_is_type(params, json_type_object)) {
        if (has_id)
            wire_error(new_id(&request), RPC_INVALID_PARAMS, NULL, "\"params\" is an object.");
        return;
    }
    json_object *meta = member(params, "_meta");
    request.meta = json_object_is_type(meta, json_type_object) ? meta : NULL;
    if (has_id)
        answer_request(&request, name);
    else
        take_notification(server, name, params);
}

static void serve(struct server *server)
{
    for (;;) {
        json_object *message = NULL;
        switch (wire_read(&message)) {
        case WIRE_MESSAGE:
            take_message(server, message);
            json_object_put(message);
            break;
        case WIRE_NONSENSE:
            break;
        case WIRE_END:
        default:
            return;
        }
    }
}

/* ------------------------------------------------------------------------------------------------
 * The command
 * --------------------------------------------------------------------------------------------- */

/* Nobody looks at each call here, so that nothing may run unprotected that was not meant to. */
static int32_t load_executors(struct executors *executors, const struct options *options,
                              code_executor_error *error)
{
    int32_t status = executors_load_named(executors, options, error);
    if (status == CODE_EXECUTOR_OK)
        status = executors_need(executors, NULL, error);
    if (status == CODE_EXECUTOR_OK && options->executor == NULL &&
        strcmp(executors_label(executors, ""), "local") == 0) {
        return fail(error, CODE_EXECUTOR_UNAVAILABLE,
                    "mcp runs code without isolation only where that is asked for: --executor "
                    "local. `host_demo plugins` lists the executors.");
    }
    return status;
}

int mcp_command(const struct options *options)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    CLEANUP(executors_close_at) struct executors *executors = NULL;
    struct server server = {0};
    interrupt_idle_wakes();
    int32_t status = wire_open(&error);
    if (status == CODE_EXECUTOR_OK)
        status = executors_open(options->work_dir, &executors, &error);
    if (status == CODE_EXECUTOR_OK)
        status = load_executors(executors, options, &error);
    if (status == CODE_EXECUTOR_OK) {
        server.executors = executors;
        server.calls = calls_open(executors, options->timeout);
        status = server.calls == NULL ? fail_no_memory(&error) : status;
    }
    if (status != CODE_EXECUTOR_OK) {
        say_problem("%s", error.message);
        return executors_are_misused(executors) ? EXIT_USAGE : EXIT_HOST_FAILED;
    }
    serve(&server);
    calls_cancel_all(server.calls);
    calls_close(server.calls);
    if (interrupt_pending())
        return 130;
    return wire_is_lost() ? EXIT_NOBODY_READS : EXIT_OK;
}
