/* SPDX-License-Identifier: Apache-2.0 */
/*
 * container_look.c: what is at a path in a container; see container.h.
 */
#include "container.h"
#include "json.h"
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

/* The header holds JSON in base64; -1 where it does not make sense. */
static int64_t size_in_header(const char *value)
{
    char text[1024];
    size_t length = strlen(value);
    if (length == 0 || length % 4 != 0 || length / 4 * 3 >= sizeof text)
        return -1;
    int decoded = EVP_DecodeBlock((unsigned char *)text, (const unsigned char *)value, (int)length);
    if (decoded < 0)
        return -1;
    text[decoded] = '\0';
    json_object CLEANUP_JSON *stat = json_tokener_parse(text);
    return json_member(stat, "size") ? json_integer(stat, "size") : -1;
}

int32_t container_look(const struct container *container, const char *path, const char *doing,
                       int64_t *size, code_executor_error *error)
{
    char query[320], value[1024] = "";
    struct answer CLEANUP_ANSWER answer = {0};
    struct engine *engine = container->engine;
    http_transfer *transfer = NULL;
    *size = -1;
    snprintf(query, sizeof query, "/containers/%s/archive?path=%s", container->id, path);
    http_request request = {.method = "HEAD", .path = query};
    int32_t status = engine_begin(engine, request, &transfer, error);
    if (status == CODE_EXECUTOR_OK)
        status = engine_finish(engine, transfer, engine->limit_ms, &answer, error);
    if (status == CODE_EXECUTOR_OK && answer.status != 200 && answer.status != 404)
        status = engine_refusal(engine, &answer, doing, error);
    if (status == CODE_EXECUTOR_OK && answer.status == 200 &&
        http_header(transfer, "X-Docker-Container-Path-Stat", value, sizeof value))
        *size = size_in_header(value);
    http_end(transfer);
    return status;
}
