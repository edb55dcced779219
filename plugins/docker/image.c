/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image.c: the pull and its stream of JSON; see image.h.
 *
 * The engine answers 200 at once and then tells in one object after another what each layer does, and in
 * the last one perhaps that it failed. Bytes are summed over the layers; the total grows while layers
 * turn up.
 */
#include "image.h"
#include "clock.h"
#include "json.h"
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PULL_LIMIT_MS     300000 /* without a word from the engine */
#define PROGRESS_EVERY_MS 100
#define TELL_MAX          (64 * 1024)

struct pull {
    const launch_context *context;
    const char *image;
    char what[256];
    json_tokener *tokener;
    json_object *layers; /* id to {"done": …, "total": …} */
    int64_t shown_ms;
    int64_t shown; /* bytes */
    bool garbled;
    bool out_of_memory;
    char failure[ENGINE_WORDS_SIZE]; /* the engine's words */
};

/* ---- the stream -------------------------------------------------------------------------------- */

static void show(struct pull *pull, bool ended)
{
    int64_t done = 0, total = 0;
    if (!ended && now_ms() - pull->shown_ms < PROGRESS_EVERY_MS)
        return;
    json_object_object_foreach(pull->layers, id, layer)
    {
        (void)id;
        done += json_integer(layer, "done");
        total += json_integer(layer, "total");
    }
    if (!ended && (done == pull->shown || done == total)) /* which would say that it has ended */
        return;
    pull->shown = done;
    pull->shown_ms = now_ms();
    launch_progress(pull->context, pull->what, (uint64_t)(ended ? total : done), (uint64_t)total);
}

/* The states of a layer in which all of it is there, though no count is given any more. */
static bool layer_is_whole(const char *status)
{
    return strcmp(status, "Download complete") == 0 || strcmp(status, "Pull complete") == 0 ||
           strcmp(status, "Verifying Checksum") == 0 || strcmp(status, "Extracting") == 0;
}

static bool note_layer(struct pull *pull, const char *id, const char *status, json_object *detail)
{
    json_object *layer = json_member(pull->layers, id);
    if (!layer) {
        layer = json_put_object(pull->layers, id);
        if (!layer)
            return false;
    }
    if (layer_is_whole(status))
        return json_put_integer(layer, "done", json_integer(layer, "total"));
    if (strcmp(status, "Downloading") != 0 || !json_member(detail, "total"))
        return true;
    int64_t total = json_integer(detail, "total"), done = json_integer(detail, "current");
    if (total < 0 || done < 0 || total > INT64_MAX / 4096)
        return true;
    return json_put_integer(layer, "total", total) &&
           json_put_integer(layer, "done", done < total ? done : total);
}

static bool note(struct pull *pull, json_object *message)
{
    const char *failure = json_string(message, "error");
    const char *words = json_string(json_member(message, "errorDetail"), "message");
    const char *status = json_string(message, "status");
    const char *id = json_string(message, "id");
    if (failure || words)
        snprintf(pull->failure, sizeof pull->failure, "%s", words ? words : failure);
    if (!status || !id || json_object_object_length(pull->layers) > 4096)
        return true;
    if (!note_layer(pull, id, status, json_member(message, "progressDetail")))
        return false;
    show(pull, false);
    return true;
}

/* Objects come cut anywhere; the tokener keeps its state between pieces. */
static bool take(void *user_data, const char *bytes, size_t length)
{
    struct pull *pull = user_data;
    while (length > 0) {
        size_t part = length < TELL_MAX ? length : TELL_MAX;
        json_object *message = json_tokener_parse_ex(pull->tokener, bytes, (int)part);
        enum json_tokener_error state = json_tokener_get_error(pull->tokener);
        size_t used =
            state == json_tokener_success ? json_tokener_get_parse_end(pull->tokener) : part;
        if (message) {
            pull->out_of_memory = !note(pull, message);
            json_object_put(message);
        }
        if (state == json_tokener_success)
            json_tokener_reset(pull->tokener);
        pull->garbled = state != json_tokener_success && state != json_tokener_continue;
        if (pull->garbled || pull->out_of_memory || used == 0)
            return false;
        bytes += used;
        length -= used;
        while (length > 0 && (*bytes == '\r' || *bytes == '\n' || *bytes == ' ')) {
            bytes++;
            length--;
        }
    }
    return true;
}

/* ---- the request ------------------------------------------------------------------------------- */

/* Without a tag the engine would pull every tag there is. */
static char *pull_path(const char *image, const char *platform)
{
    const char *digest = strchr(image, '@');
    size_t name_length = digest ? (size_t)(digest - image) : strlen(image);
    const char *tag = digest ? digest + 1 : "latest";
    for (size_t i = name_length; i > 0 && image[i - 1] != '/'; i--) {
        if (image[i - 1] == ':') {
            if (!digest)
                tag = image + i;
            name_length = i - 1;
            break;
        }
    }
    char *name = strndup(image, name_length), *path = NULL;
    char *escaped_name = name ? engine_escape(name) : NULL;
    char *escaped_tag = engine_escape(tag);
    char *escaped_platform = engine_escape(platform ? platform : "");
    if (!escaped_name || !escaped_tag || !escaped_platform ||
        asprintf(&path, "/images/create?fromImage=%s&tag=%s&platform=%s", escaped_name, escaped_tag,
                 escaped_platform) < 0)
        path = NULL;
    free(name);
    free(escaped_name);
    free(escaped_tag);
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

static int32_t failed(const struct pull *pull, int32_t status, const char *words,
                      code_executor_error *error)
{
    static const struct {
        const char *fragment;
        int32_t status;
        const char *advice;
    } table[] = {
        {"pull access denied", CODE_EXECUTOR_NOT_FOUND,
         "there is no such image, or it needs credentials: give them in registry_auth"},
        {"unauthorized", CODE_EXECUTOR_DENIED, "give credentials in registry_auth"},
        {"no basic auth", CODE_EXECUTOR_DENIED, "give credentials in registry_auth"},
        {"authentication required", CODE_EXECUTOR_DENIED, "give credentials in registry_auth"},
        {"denied", CODE_EXECUTOR_DENIED, "give credentials in registry_auth"},
        {"manifest unknown", CODE_EXECUTOR_NOT_FOUND, "the registry has no such tag"},
        {"not found", CODE_EXECUTOR_NOT_FOUND, "the registry has no such image or tag"},
        {"no matching manifest", CODE_EXECUTOR_NOT_FOUND,
         "the image is not made for this platform: give another in platform, or another image"},
        {"no space left", CODE_EXECUTOR_UNAVAILABLE, "the engine's disk is full"},
    };
    const char *advice = "where the registry cannot be reached, bring the image there with docker "
                         "load or docker build, or name another one in image";
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strstr(words, table[i].fragment)) {
            status = table[i].status;
            advice = table[i].advice;
            break;
        }
    }
    return error_set(error, status, "cannot pull the image %s: %s. What to do: %s", pull->image,
                     words, advice);
}

static int32_t run(struct engine *engine, struct pull *pull, const http_request *request,
                   code_executor_error *error)
{
    http_transfer *transfer = NULL;
    struct answer CLEANUP_ANSWER answer = {0};
    int32_t status = engine_begin(engine, *request, &transfer, error);
    if (status == CODE_EXECUTOR_OK)
        status = engine_finish(engine, transfer, PULL_LIMIT_MS, &answer, error);
    http_end(transfer);
    if (pull->failure[0])
        return failed(pull, CODE_EXECUTOR_UNAVAILABLE, pull->failure, error);
    if (pull->out_of_memory)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    if (pull->garbled)
        return error_set(error, CODE_EXECUTOR_PROTOCOL,
                         "the Docker engine at %s told nonsense while pulling %s",
                         engine->endpoint->address, pull->image);
    if (status != CODE_EXECUTOR_OK)
        return error_prefix(error, status, "cannot pull the image %s: ", pull->image);
    if (answer.status != 200)
        return failed(pull, CODE_EXECUTOR_UNAVAILABLE,
                      answer.message[0] ? answer.message : "the engine refuses", error);
    return CODE_EXECUTOR_OK;
}

int32_t image_pull(struct engine *engine, const launch_context *context, const char *image,
                   const char *platform, json_object *auth, code_executor_error *error)
{
    struct pull pull = {.context = context, .image = image};
    int32_t status = CODE_EXECUTOR_NO_MEMORY;
    char *path = pull_path(image, platform);
    char *header = auth ? auth_header(auth) : NULL;
    snprintf(pull.what, sizeof pull.what, "pulling %s", image);
    pull.tokener = json_tokener_new();
    pull.layers = json_object_new_object();
    if (path && pull.tokener && pull.layers && (!auth || header)) {
        http_request request = {
            .method = "POST", .path = path, .header = header, .on_data = take, .user_data = &pull};
        launch_log(context, CODE_EXECUTOR_LOG_INFO, "pulling the image %s", image);
        status = run(engine, &pull, &request, error);
        if (status == CODE_EXECUTOR_OK)
            show(&pull, true);
    } else {
        error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    }
    if (pull.tokener)
        json_tokener_free(pull.tokener);
    json_object_put(pull.layers);
    free(path);
    free(header);
    return status;
}
