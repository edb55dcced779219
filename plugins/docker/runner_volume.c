/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runner_volume.c: names, checks and fills the volume; see runner_volume.h.
 */
#include "runner_volume.h"
#include "json.h"
#include "labels.h"
#include "runner_archive.h"
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VOLUME_PREFIX "code-executor-runner-"

int32_t runner_volume_find(const char *path, struct runner_volume *volume,
                           code_executor_error *error)
{
    struct runner_archive CLEANUP_ARCHIVE file;
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    int32_t status = runner_archive_read(path, &file, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    if (EVP_Digest(file.bytes, file.size, digest, &length, EVP_sha256(), NULL) != 1)
        return error_set(error, CODE_EXECUTOR_INTERNAL, "cannot compute a SHA-256 digest");
    strcpy(volume->name, VOLUME_PREFIX);
    for (size_t i = 0; i < 16; i++)
        snprintf(volume->name + strlen(VOLUME_PREFIX) + 2 * i, 3, "%02x", digest[i]);
    volume->size = file.size;
    return CODE_EXECUTOR_OK;
}

/* ---- mount and check --------------------------------------------------------------------------- */

json_object *runner_volume_mount(const struct runner_volume *volume, bool read_only)
{
    json_object *mount = json_object_new_object();
    bool whole = mount && json_put_string(mount, "Type", "volume") &&
                 json_put_string(mount, "Source", volume->name) &&
                 json_put_string(mount, "Target", RUNNER_FOLDER) &&
                 json_put_boolean(mount, "ReadOnly", read_only);
    json_object *options = whole ? json_put_object(mount, "VolumeOptions") : NULL;
    whole = options && json_put_boolean(options, "NoCopy", true) &&
            json_put(options, "Labels", labels_new(NULL, "runner", true));
    if (!whole) {
        json_object_put(mount);
        return NULL;
    }
    return mount;
}

int32_t runner_volume_check(const struct runner_volume *volume, struct container *container,
                            bool *whole, code_executor_error *error)
{
    int64_t size;
    int32_t status = container_look(container, RUNNER_PATH, "look for the runner", &size, error);
    *whole = status == CODE_EXECUTOR_OK && size == (int64_t)volume->size;
    return status;
}

/* ---- fill -------------------------------------------------------------------------------------- */

/* The bytes under a name of this fill's own, then the runner's name as a link to it. */
static int32_t make_archive(const char *path, struct runner_archive *archive,
                            code_executor_error *error)
{
    char id[LAUNCH_ID_SIZE], name[64];
    if (!labels_random_id(id))
        return error_set(error, CODE_EXECUTOR_IO, "the system has no random numbers to give");
    snprintf(name, sizeof name, "runner-%s", id);
    return runner_archive_make(path, name, "runner", archive, error);
}

static json_object *helper_body(const struct runner_volume *volume, const char *image,
                                const char *launch_id)
{
    json_object *body = json_object_new_object();
    json_object *entrypoint = body ? json_put_array(body, "Entrypoint") : NULL;
    json_object *host = body ? json_put_object(body, "HostConfig") : NULL;
    json_object *mounts = host ? json_put_array(host, "Mounts") : NULL;
    if (!entrypoint || !mounts || !json_append_string(entrypoint, RUNNER_PATH) ||
        !json_put_string(body, "Image", image) || !json_put_string(host, "NetworkMode", "none") ||
        !json_append(mounts, runner_volume_mount(volume, false)) ||
        !json_put(body, "Labels", labels_new(launch_id, "filler", false))) {
        json_object_put(body);
        return NULL;
    }
    return body;
}

static int32_t put_archive(struct container *helper, const struct runner_archive *archive,
                           code_executor_error *error)
{
    struct answer CLEANUP_ANSWER answer = {0};
    int32_t status =
        runner_archive_put(archive, helper->engine, helper->id, RUNNER_FOLDER, &answer, error);
    if (status != CODE_EXECUTOR_OK || answer.status == 200)
        return status;
    if (strstr(answer.message, "file exists")) /* another host has just done the same */
        return CODE_EXECUTOR_OK;
    return engine_refusal(helper->engine, &answer, "put the runner into its volume", error);
}

int32_t runner_volume_fill(const struct runner_volume *volume, struct engine *engine,
                           const char *path, const char *image, const char *platform,
                           const char *launch_id, code_executor_error *error)
{
    char id[LAUNCH_ID_SIZE], name[128];
    struct container helper = {.engine = engine};
    struct runner_archive CLEANUP_ARCHIVE archive = {0};
    int32_t status = make_archive(path, &archive, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    json_object CLEANUP_JSON *body = helper_body(volume, image, launch_id);
    if (!body || !labels_random_id(id))
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    snprintf(name, sizeof name, "code-executor-filler-%s", id);
    if (container_create(&helper, name, platform, body, &status, error) != CREATE_OK)
        return status;
    status = put_archive(&helper, &archive, error);
    int cancel_fd = engine->cancel_fd;
    engine->cancel_fd = -1;
    container_remove(&helper, NULL);
    engine->cancel_fd = cancel_fd;
    return status;
}
