/* SPDX-License-Identifier: Apache-2.0 */
/*
 * endpoint.c: chooses the engine's address; see endpoint.h.
 *
 *     docker_host │ docker_context │ DOCKER_HOST │ DOCKER_CONTEXT │ currentContext │ the default socket
 *
 * The first that is set counts. The context "default" stands for what there is without contexts:
 * DOCKER_HOST, or the default socket. TLS belongs to whoever gave the address: a context has its own,
 * with the others it is the environment's; the option tls replaces either.
 */
#include "endpoint.h"
#include "config.h"
#include "context.h"
#include "docker_config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TLS_ADDRESS "tcp://localhost:2376"

static int32_t no_memory(code_executor_error *error)
{
    return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] ? value : NULL;
}

static bool name_address(struct endpoint *chosen, const char *address, const char *origin)
{
    chosen->address = strdup(address);
    chosen->origin = strdup(origin);
    return chosen->address && chosen->origin;
}

/* An address without a context around it. */
static int32_t use_address(struct endpoint *chosen, const char *address, const char *origin,
                           code_executor_error *error)
{
    int32_t status = tls_from_environment(&chosen->tls, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    chosen->by_default = !address && !chosen->tls.wanted;
    if (!address) {
        address = chosen->tls.wanted ? TLS_ADDRESS : DEFAULT_ADDRESS;
        origin = chosen->tls.wanted ? "DOCKER_TLS_VERIFY or DOCKER_TLS" : "the default";
    }
    return name_address(chosen, address, origin) ? CODE_EXECUTOR_OK : no_memory(error);
}

static int32_t use_environment(struct endpoint *chosen, code_executor_error *error)
{
    return use_address(chosen, variable("DOCKER_HOST"), "DOCKER_HOST", error);
}

static int32_t use_context(struct endpoint *chosen, const char *name, const char *origin,
                           code_executor_error *error)
{
    struct docker_context context = {0};
    char from[512];
    if (strcmp(name, "default") == 0)
        return use_environment(chosen, error);
    int32_t status = docker_context_read(name, origin, &context, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    snprintf(from, sizeof from, "the docker context %s, which %s names", name, origin);
    chosen->tls = context.tls;
    bool named = name_address(chosen, context.host ? context.host : DEFAULT_ADDRESS, from);
    free(context.host);
    return named ? CODE_EXECUTOR_OK : no_memory(error);
}

/* What `docker context use` has set. docker itself goes on without the file when it cannot read it. */
static int32_t use_current_context(struct endpoint *chosen, code_executor_error *error)
{
    code_executor_error why = CODE_EXECUTOR_ERROR_INIT;
    json_object *settings = NULL;
    char *name = NULL;
    char *path = NULL;
    int32_t status = docker_config_read(&path, &settings, &why);
    json_object *current = NULL;
    if (json_object_is_type(settings, json_type_object) &&
        json_object_object_get_ex(settings, "currentContext", &current) &&
        json_object_is_type(current, json_type_string) && json_object_get_string_len(current) > 0)
        name = strdup(json_object_get_string(current));
    json_object_put(settings);
    if (status != CODE_EXECUTOR_OK)
        chosen->warning = strdup(why.message);
    status = name ? use_context(chosen, name, path, error) : use_environment(chosen, error);
    free(name);
    free(path);
    return status;
}

static int32_t choose_address(json_object *config, struct endpoint *chosen,
                              code_executor_error *error)
{
    const char *host = config ? config_string(config, "docker_host") : NULL;
    const char *context = config ? config_string(config, "docker_context") : NULL;
    if (host && context)
        return error_set(error, CODE_EXECUTOR_INVALID,
                         "docker_host and docker_context both name an engine: give one of them");
    if (host)
        return use_address(chosen, host, "docker_host", error);
    if (context)
        return use_context(chosen, context, "docker_context", error);
    if (variable("DOCKER_HOST"))
        return use_environment(chosen, error);
    if (variable("DOCKER_CONTEXT"))
        return use_context(chosen, variable("DOCKER_CONTEXT"), "DOCKER_CONTEXT", error);
    return use_current_context(chosen, error);
}

/* The option replaces what the environment or a context say. */
static int32_t take_tls_option(json_object *config, struct endpoint *chosen,
                               code_executor_error *error)
{
    json_object *option = config ? config_value(config, "tls") : NULL;
    if (!option)
        return CODE_EXECUTOR_OK;
    tls_clear(&chosen->tls);
    return tls_from_option(option, &chosen->tls, error);
}

/* The environment may ask for TLS in general; an option that has no effect is a mistake. */
static int32_t settle_tls(json_object *config, struct endpoint *chosen, code_executor_error *error)
{
    if (strncmp(chosen->base_url, "https:", strlen("https:")) == 0)
        return CODE_EXECUTOR_OK;
    tls_clear(&chosen->tls);
    if (!config || !config_value(config, "tls"))
        return CODE_EXECUTOR_OK;
    return error_set(error, CODE_EXECUTOR_INVALID,
                     "tls is given, and %s says %s, where there is no TLS: it is for tcp:// and "
                     "https://",
                     chosen->origin, chosen->address);
}

int32_t endpoint_choose(json_object *config, struct endpoint *chosen, code_executor_error *error)
{
    *chosen = (struct endpoint){0};
    int32_t status = choose_address(config, chosen, error);
    if (status == CODE_EXECUTOR_OK)
        status = take_tls_option(config, chosen, error);
    if (status == CODE_EXECUTOR_OK)
        status = endpoint_parse(chosen, error);
    return status == CODE_EXECUTOR_OK ? settle_tls(config, chosen, error) : status;
}

int32_t endpoint_of_socket(const char *path, const char *origin, struct endpoint *chosen,
                           code_executor_error *error)
{
    char address[512];
    *chosen = (struct endpoint){.by_default = true};
    snprintf(address, sizeof address, "unix://%s", path);
    return name_address(chosen, address, origin) ? endpoint_parse(chosen, error) : no_memory(error);
}

/* The environment and docker's own settings, which no configuration shows, decide on the address and on TLS. */
char *endpoint_identity(const struct endpoint *endpoint)
{
    char *identity = NULL;
    const struct tls *tls = &endpoint->tls;
    int length =
        asprintf(&identity, "%s\n%s %s\n%s\n%s\n%s", endpoint->address,
                 tls->wanted ? "TLS" : "plain", tls->verify ? "verified" : "as it is",
                 tls->ca ? tls->ca : "", tls->cert ? tls->cert : "", tls->key ? tls->key : "");
    return length < 0 ? NULL : identity;
}

void endpoint_clear(struct endpoint *endpoint)
{
    char *const strings[] = {endpoint->address,     endpoint->origin,      endpoint->warning,
                             endpoint->base_url,    endpoint->host_header, endpoint->base_path,
                             endpoint->socket_path, endpoint->ssh_user,    endpoint->ssh_host,
                             endpoint->ssh_port,    endpoint->ssh_socket};
    for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++)
        free(strings[i]);
    tls_clear(&endpoint->tls);
    *endpoint = (struct endpoint){0};
}
