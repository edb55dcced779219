/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image.c: the pull; see image.h.
 *
 * The engine answers 200 at once and then tells in one object after another what each layer does, and in
 * the last one perhaps that it failed (pull_progress.h).
 */
#include "image.h"
#include "image_reference.h"
#include "json.h"
#include "pull_progress.h"
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PULL_LIMIT_MS 300000 /* without a word from the engine */

static char *pull_path(const char *image, const char *platform)
{
    const char *version = NULL;
    char *path = NULL;
    char *name = strndup(image, image_name_length(image, &version));
    char *escaped_name = name ? engine_escape(name) : NULL;
    char *escaped_version = engine_escape(version);
    char *escaped_platform = engine_escape(platform ? platform : "");
    if (!escaped_name || !escaped_version || !escaped_platform ||
        asprintf(&path, "/images/create?fromImage=%s&tag=%s&platform=%s", escaped_name,
                 escaped_version, escaped_platform) < 0)
        path = NULL;
    free(name);
    free(escaped_name);
    free(escaped_version);
    free(escaped_platform);
    return path;
}

/* "X-Registry-Auth: " and the object in base64, in the alphabet for URLs. */
static char *auth_header(json_object *auth)
{
    static const char name[] = "X-Registry-Auth: ";
    size_t length = 0;
    const char *text = json_object_to_json_string_length(auth, JSON_C_TO_STRING_PLAIN, &length);
    char *header = text ? malloc(sizeof name + (length + 2) / 3 * 4 + 1) : NULL;
    if (!header)
        return NULL;
    strcpy(header, name);
    EVP_EncodeBlock((unsigned char *)header + sizeof name - 1, (const unsigned char *)text,
                    (int)length);
    for (char *at = header + sizeof name - 1; *at; at++)
        *at = *at == '+' ? '-' : *at == '/' ? '_' : *at;
    return header;
}

/* ---- failures ---------------------------------------------------------------------------------- */

#define TO_GIVE_CREDENTIALS NULL /* the advice about them */
#define TO_BRING_IT                                                                                \
    "where the registry cannot be reached, bring the image there with docker load or docker "      \
    "build, or name another one in image"
#define TO_TRY_AGAIN "the connection to the registry broke off: try again"

static const struct {
    const char *fragment;
    int32_t status;
    const char *advice;
} refusals[] = {
    {"pull access denied", CODE_EXECUTOR_NOT_FOUND, TO_GIVE_CREDENTIALS},
    {"unauthorized", CODE_EXECUTOR_DENIED, TO_GIVE_CREDENTIALS},
    {"no basic auth", CODE_EXECUTOR_DENIED, TO_GIVE_CREDENTIALS},
    {"authentication required", CODE_EXECUTOR_DENIED, TO_GIVE_CREDENTIALS},
    {"denied", CODE_EXECUTOR_DENIED, TO_GIVE_CREDENTIALS},
    {"no matching manifest", CODE_EXECUTOR_NOT_FOUND,
     "the image is not made for this platform: give another in platform, or another image"},
    {"manifest unknown", CODE_EXECUTOR_NOT_FOUND, "the registry has no such tag"},
    {"not found", CODE_EXECUTOR_NOT_FOUND, "the registry has no such image or tag"},
    {"no space left", CODE_EXECUTOR_UNAVAILABLE, "the engine's disk is full"},
    {"EOF", CODE_EXECUTOR_UNAVAILABLE, TO_TRY_AGAIN},
    {"connection reset", CODE_EXECUTOR_UNAVAILABLE, TO_TRY_AGAIN},
    {"broken pipe", CODE_EXECUTOR_UNAVAILABLE, TO_TRY_AGAIN},
    {"closed idle connection", CODE_EXECUTOR_UNAVAILABLE, TO_TRY_AGAIN},
};

static int32_t failed(const char *image, const struct registry_credentials *credentials,
                      const char *words, code_executor_error *error)
{
    int32_t status = CODE_EXECUTOR_UNAVAILABLE;
    const char *advice = TO_BRING_IT;
    char about_credentials[1200];
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        if (strstr(words, refusals[i].fragment)) {
            status = refusals[i].status;
            advice = refusals[i].advice;
            break;
        }
    }
    if (advice == TO_GIVE_CREDENTIALS) {
        registry_credentials_advise(credentials, about_credentials, sizeof about_credentials);
        advice = about_credentials;
    }
    return error_set(error, status, "cannot pull the image %s: %s. What to do: %s%s", image, words,
                     status == CODE_EXECUTOR_NOT_FOUND && advice == about_credentials
                         ? "there is no such image, or "
                         : "",
                     advice);
}

/* ---- the request ------------------------------------------------------------------------------- */

static bool take(void *user_data, const char *bytes, size_t length)
{
    return pull_progress_take(user_data, bytes, length);
}

static int32_t run(struct engine *engine, struct pull_progress *progress,
                   const struct registry_credentials *credentials, const http_request *request,
                   code_executor_error *error)
{
    http_transfer *transfer = NULL;
    struct answer CLEANUP_ANSWER answer = {0};
    int32_t status = engine_begin(engine, *request, &transfer, error);
    if (status == CODE_EXECUTOR_OK)
        status = engine_finish(engine, transfer, PULL_LIMIT_MS, &answer, error);
    http_end(transfer);
    if (progress->failure[0] && status != CODE_EXECUTOR_CANCELLED)
        return failed(progress->image, credentials, progress->failure, error);
    if (progress->out_of_memory)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    if (progress->garbled)
        return error_set(error, CODE_EXECUTOR_PROTOCOL,
                         "the Docker engine at %s told nonsense while pulling %s",
                         engine->endpoint->address, progress->image);
    if (status != CODE_EXECUTOR_OK)
        return error_prefix(error, status, "cannot pull the image %s: ", progress->image);
    if (answer.status != 200)
        return failed(progress->image, credentials,
                      answer.message[0] ? answer.message : "the engine refuses", error);
    return CODE_EXECUTOR_OK;
}

int32_t image_pull(struct engine *engine, const launch_context *context, const char *image,
                   const char *platform, const struct registry_credentials *credentials,
                   code_executor_error *error)
{
    struct pull_progress progress;
    int32_t status = CODE_EXECUTOR_NO_MEMORY;
    char *path = pull_path(image, platform);
    char *header = credentials->auth ? auth_header(credentials->auth) : NULL;
    if (pull_progress_init(&progress, context, image) && path && (!credentials->auth || header)) {
        http_request request = {.method = "POST",
                                .path = path,
                                .header = header,
                                .on_data = take,
                                .user_data = &progress};
        launch_log(context, CODE_EXECUTOR_LOG_INFO, "pulling the image %s%s%s", image,
                   credentials->auth ? " with the credentials of " : "", credentials->origin);
        status = run(engine, &progress, credentials, &request, error);
        if (status == CODE_EXECUTOR_OK)
            pull_progress_end(&progress);
    } else {
        error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    }
    pull_progress_clear(&progress);
    free(path);
    if (header)
        OPENSSL_cleanse(header, strlen(header));
    free(header);
    return status;
}
