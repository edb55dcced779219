/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_credentials.c: looks through the places in their order; see registry_credentials.h.
 */
#include "registry_credentials.h"
#include "credential_helper.h"
#include "docker_config.h"
#include "image_reference.h"
#include "json.h"
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int32_t no_memory(code_executor_error *error)
{
    return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
}

/* ---- the option -------------------------------------------------------------------------------- */

/* A password must not be sent to whichever registry an image happens to name. */
static int32_t take_given(json_object *given, const char *image, struct registry_credentials *found,
                          code_executor_error *error)
{
    const char *meant = json_string(given, "serveraddress");
    if (meant && meant[0] && !registry_is_same(meant, found->registry))
        return error_set(error, CODE_EXECUTOR_INVALID,
                         "registry_auth is for %s (serveraddress), but the image %s comes from %s: "
                         "give credentials for that, or name the image with its registry",
                         meant, image, found->registry);
    found->auth = json_object_new_object();
    if (!found->auth)
        return no_memory(error);
    json_object_object_foreach(given, key, value)
    {
        if (value && !json_put_string(found->auth, key, json_object_get_string(value)))
            return no_memory(error);
    }
    snprintf(found->origin, sizeof found->origin, "registry_auth");
    return CODE_EXECUTOR_OK;
}

/* ---- auths ------------------------------------------------------------------------------------- */

/* Name and password from base64 of "name:password". False: it is none. */
static bool take_basic(json_object *auth, const char *encoded, bool *out_of_memory)
{
    size_t length = strlen(encoded);
    unsigned char *text = calloc(1, length + 4);
    if (!text) {
        *out_of_memory = true;
        return false;
    }
    int decoded = EVP_DecodeBlock(text, (const unsigned char *)encoded, (int)length);
    char *colon = decoded > 0 ? strchr((char *)text, ':') : NULL;
    bool found = colon != NULL;
    if (found) {
        *colon = '\0'; /* padding became NULs, behind the password */
        *out_of_memory = !json_put_string(auth, "username", (char *)text) ||
                         !json_put_string(auth, "password", colon + 1);
    }
    OPENSSL_cleanse(text, length + 4);
    free(text);
    return found;
}

/* An entry may be empty: the clients write one for each registry whose secret a helper keeps. */
static int32_t read_entry(json_object *entry, struct registry_credentials *found,
                          code_executor_error *error)
{
    static const char *const plain[] = {"username", "password", "identitytoken", "registrytoken"};
    json_object CLEANUP_JSON *auth = json_object_new_object();
    const char *encoded = json_string(entry, "auth");
    bool out_of_memory = auth == NULL;
    for (size_t i = 0; !out_of_memory && i < sizeof plain / sizeof plain[0]; i++) {
        const char *value = json_string(entry, plain[i]);
        if (value && value[0])
            out_of_memory = !json_put_string(auth, plain[i], value);
    }
    if (!out_of_memory && encoded && encoded[0] && !take_basic(auth, encoded, &out_of_memory) &&
        !out_of_memory)
        snprintf(found->trouble, sizeof found->trouble,
                 "The auth of %.200s in %.300s is not the base64 of NAME:PASSWORD", found->registry,
                 found->file);
    if (out_of_memory)
        return no_memory(error);
    if (json_object_object_length(auth) == 0)
        return CODE_EXECUTOR_OK;
    if (!json_put_string(auth, "serveraddress", found->registry))
        return no_memory(error);
    found->auth = json_object_get(auth);
    snprintf(found->origin, sizeof found->origin, "%s", found->file);
    return CODE_EXECUTOR_OK;
}

/* The member whose name means REGISTRY: the one that is spelled so, or else any. */
static json_object *member_for(json_object *object, const char *registry)
{
    json_object *exact = json_member(object, registry);
    if (exact || !json_object_is_type(object, json_type_object))
        return exact;
    json_object_object_foreach(object, key, value)
    {
        if (registry_is_same(key, registry))
            return value;
    }
    return NULL;
}

/* ---- helpers ----------------------------------------------------------------------------------- */

static const char *helper_for(json_object *config, const char *registry)
{
    json_object *own = member_for(json_member(config, "credHelpers"), registry);
    if (json_object_is_type(own, json_type_string) && json_object_get_string_len(own) > 0)
        return json_object_get_string(own);
    const char *store = json_string(config, "credsStore");
    return store && store[0] ? store : NULL;
}

static int32_t ask_helper(const char *name, int cancel_fd, struct registry_credentials *found,
                          code_executor_error *error)
{
    code_executor_error failure = CODE_EXECUTOR_ERROR_INIT;
    int32_t status =
        credential_helper_get(name, found->registry, cancel_fd, &found->auth, &failure);
    if (status == CODE_EXECUTOR_CANCELLED || status == CODE_EXECUTOR_NO_MEMORY)
        return error_set(error, status, "%s", failure.message);
    if (status != CODE_EXECUTOR_OK)
        snprintf(found->trouble, sizeof found->trouble,
                 "%.200s names a credential helper, but %.400s", found->file, failure.message);
    else if (found->auth)
        snprintf(found->origin, sizeof found->origin, "docker-credential-%s", name);
    return CODE_EXECUTOR_OK;
}

/* ------------------------------------------------------------------------------------------------ */

static int32_t look_in_file(int cancel_fd, struct registry_credentials *found,
                            code_executor_error *error)
{
    code_executor_error failure = CODE_EXECUTOR_ERROR_INIT;
    json_object CLEANUP_JSON *config = NULL;
    int32_t status = docker_config_read(&found->file, &config, &failure);
    if (status == CODE_EXECUTOR_NO_MEMORY)
        return no_memory(error);
    if (status != CODE_EXECUTOR_OK)
        snprintf(found->trouble, sizeof found->trouble, "No credentials were looked for, as %.500s",
                 failure.message);
    if (!config)
        return CODE_EXECUTOR_OK;
    const char *helper = helper_for(config, found->registry);
    json_object *entry = member_for(json_member(config, "auths"), found->registry);
    status = helper ? ask_helper(helper, cancel_fd, found, error) : CODE_EXECUTOR_OK;
    return status == CODE_EXECUTOR_OK && !found->auth && entry ? read_entry(entry, found, error)
                                                               : status;
}

int32_t registry_credentials_find(json_object *given, const char *image, int cancel_fd,
                                  struct registry_credentials *found, code_executor_error *error)
{
    *found = (struct registry_credentials){.registry = image_registry(image)};
    int32_t status = found->registry ? CODE_EXECUTOR_OK : no_memory(error);
    if (status == CODE_EXECUTOR_OK)
        status =
            given ? take_given(given, image, found, error) : look_in_file(cancel_fd, found, error);
    if (status != CODE_EXECUTOR_OK)
        registry_credentials_clear(found);
    return status;
}

void registry_credentials_advise(const struct registry_credentials *credentials, char *words,
                                 size_t size)
{
    bool hub = strcmp(credentials->registry, DOCKER_HUB_KEY) == 0;
    int length = 0;
    if (credentials->auth)
        length = snprintf(words, size,
                          "the registry does not accept the credentials of %s; give others there "
                          "or in registry_auth",
                          credentials->origin);
    else
        length = snprintf(words, size,
                          "it needs credentials, of which there are none for this registry in %s: "
                          "docker login%s%s, or give them in registry_auth",
                          credentials->file ? credentials->file : "a docker configuration file",
                          hub ? "" : " ", hub ? "" : credentials->registry);
    if (credentials->trouble[0] && length >= 0 && (size_t)length < size)
        snprintf(words + length, size - (size_t)length, ". %s", credentials->trouble);
}

void registry_credentials_clear(struct registry_credentials *credentials)
{
    json_object_put(credentials->auth);
    free(credentials->registry);
    free(credentials->file);
    *credentials = (struct registry_credentials){0};
}
