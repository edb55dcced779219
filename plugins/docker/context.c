/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context.c: see context.h.
 */
#include "context.h"
#include "docker_config.h"
#include "json.h"
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGEST_SIZE = 32 };

static bool digest_name(const char *name, char hexadecimal[2 * DIGEST_SIZE + 1])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    if (EVP_Digest(name, strlen(name), digest, NULL, EVP_sha256(), NULL) != 1)
        return false;
    for (size_t i = 0; i < DIGEST_SIZE; i++)
        snprintf(hexadecimal + 2 * i, 3, "%02x", digest[i]);
    return true;
}

static int32_t read_meta(const char *digest, const char *name, const char *origin,
                         json_object **meta, code_executor_error *error)
{
    char file[160], *path = NULL;
    snprintf(file, sizeof file, "contexts/meta/%s/meta.json", digest);
    int32_t status = docker_config_read_file(file, &path, meta, error);
    if (status != CODE_EXECUTOR_OK)
        status = error_prefix(error, status, "the docker context \"%s\" (which %s names): ", name,
                              origin);
    else if (!*meta)
        status = error_set(error, CODE_EXECUTOR_NOT_FOUND,
                           "there is no docker context \"%s\" (which %s names; looked for in %s): "
                           "docker context ls lists those there are",
                           name, origin, path ? path : "a home folder, of which there is none");
    free(path);
    return status;
}

/* *FOLDER is the caller's, free(). */
static bool find_tls_folder(const char *digest, char **folder)
{
    char *settings = docker_config_folder();
    if (!settings || asprintf(folder, "%s/contexts/tls/%s/docker", settings, digest) < 0)
        *folder = NULL;
    free(settings);
    return *folder != NULL;
}

static int32_t take_meta(json_object *meta, const char *name, const char *tls_folder,
                         struct docker_context *context, code_executor_error *error)
{
    json_object *engine = json_member(json_member(meta, "Endpoints"), "docker");
    const char *host = json_string(engine, "Host");
    bool skip_verify = json_object_get_boolean(json_member(engine, "SkipTLSVerify"));
    if (!engine)
        return error_set(error, CODE_EXECUTOR_INVALID,
                         "the docker context \"%s\" names no Docker engine (it has no "
                         "Endpoints.docker)",
                         name);
    int32_t status = tls_from_folder(tls_folder, skip_verify, &context->tls, error);
    if (status == CODE_EXECUTOR_OK && host && host[0]) {
        context->host = strdup(host);
        if (!context->host)
            status = error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    }
    return status;
}

int32_t docker_context_read(const char *name, const char *origin, struct docker_context *context,
                            code_executor_error *error)
{
    char digest[2 * DIGEST_SIZE + 1], *tls_folder = NULL;
    json_object CLEANUP_JSON *meta = NULL;
    *context = (struct docker_context){0};
    if (!digest_name(name, digest))
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    int32_t status = read_meta(digest, name, origin, &meta, error);
    if (status == CODE_EXECUTOR_OK && !find_tls_folder(digest, &tls_folder))
        status = error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    if (status == CODE_EXECUTOR_OK)
        status = take_meta(meta, name, tls_folder, context, error);
    if (status != CODE_EXECUTOR_OK)
        tls_clear(&context->tls);
    free(tls_folder);
    return status;
}
