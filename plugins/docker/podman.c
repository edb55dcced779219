/* SPDX-License-Identifier: Apache-2.0 */
/*
 * podman.c: see podman.h.
 */
#include "podman.h"
#include "json.h"
#include <stdio.h>
#include <string.h>

bool podman_tells_exit_code_of_removed(const struct engine *engine)
{
    return !engine->is_podman;
}

bool podman_missed_removal(const struct engine *engine, const struct answer *answer)
{
    return engine->is_podman && answer->status == 500;
}

/* Only Podman's own API tells, whose versions are those of Podman. */
static int32_t ask_runtime(struct engine *engine, const char *id, char *runtime, size_t size,
                           code_executor_error *error)
{
    char path[160], version[32] = "";
    http_transfer *transfer = NULL;
    sscanf(engine->server, "Libpod/%31[0-9.]", version);
    snprintf(path, sizeof path, "/v%s/libpod/containers/%s/json", version, id);
    http_request request = {.method = "GET", .path = path};
    http_patience patience = {engine->cancel_fd, engine->limit_ms};
    int32_t status = http_begin(engine->http, &request, &transfer, error);
    if (status == CODE_EXECUTOR_OK)
        status = http_await(transfer, patience, error);
    if (status == CODE_EXECUTOR_OK) {
        struct answer CLEANUP_ANSWER answer = {0};
        answer_read(&answer, http_status(transfer), http_body(transfer, NULL));
        const char *found = json_string(answer.json, "OCIRuntime");
        snprintf(runtime, size, "%s", found ? found : "another one");
    }
    http_end(transfer);
    return status;
}

int32_t podman_check_runtime(struct engine *engine, const char *id, const char *runtime,
                             code_executor_error *error)
{
    char found[128];
    if (!runtime || !engine->is_podman)
        return CODE_EXECUTOR_OK;
    int32_t status = ask_runtime(engine, id, found, sizeof found, error);
    if (status != CODE_EXECUTOR_OK || strcmp(found, runtime) == 0)
        return status;
    return error_set(error, CODE_EXECUTOR_UNSUPPORTED,
                     "runtime is %s, and the container would run by %s: Podman (at %s) leaves this "
                     "option out. Set the runtime in its containers.conf and leave out runtime",
                     runtime, found, engine->endpoint->address);
}
