/* SPDX-License-Identifier: Apache-2.0 */
/*
 * discovery.c: see discovery.h.
 *
 * Attack: somebody else of this machine puts a socket where one is looked for (XDG_RUNTIME_DIR of another user,
 * which sudo may have left there), to be handed this user's code. So only sockets count that belong to this user
 * or to root.
 */
#include "discovery.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ORIGIN "found, as nobody named an engine"

enum { PLACES = 5, PATH_SIZE = 512 };

struct places {
    char paths[PLACES][PATH_SIZE];
    size_t count;
};

/* Longer ones than a socket's name can be are none. */
static void add(struct places *places, const char *folder, const char *name)
{
    char *path = places->paths[places->count];
    int length = snprintf(path, PATH_SIZE, "%s/%s", folder, name);
    bool known = folder[0] != '/' || length >= PATH_SIZE;
    for (size_t i = 0; i < places->count && !known; i++)
        known = strcmp(places->paths[i], path) == 0;
    places->count += !known;
}

static void list_places(struct places *places)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    char usual[64];
    places->count = 0;
    snprintf(usual, sizeof usual, "/run/user/%u", geteuid());
    add(places, runtime ? runtime : "", "docker.sock");
    add(places, runtime ? runtime : "", "podman/podman.sock");
    add(places, usual, "docker.sock");
    add(places, usual, "podman/podman.sock");
    add(places, "/run/podman", "podman.sock");
}

static bool is_trusted(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISSOCK(status.st_mode) &&
           (status.st_uid == geteuid() || status.st_uid == 0);
}

/* Nothing of a place that does not answer is left. */
static bool try_place(const char *path, struct endpoint *found, const launch_context *context,
                      struct engine **opened)
{
    if (!is_trusted(path))
        return false;
    if (endpoint_of_socket(path, ORIGIN, found, NULL) == CODE_EXECUTOR_OK &&
        engine_open(found, context->cancel_fd, opened, NULL) == CODE_EXECUTOR_OK)
        return true;
    endpoint_clear(found);
    return false;
}

static int32_t look_elsewhere(struct endpoint *found, const launch_context *context, int32_t status,
                              struct engine **opened, code_executor_error *error)
{
    struct places places;
    list_places(&places);
    for (size_t i = 0; i < places.count && !launch_cancelled(context); i++) {
        if (!try_place(places.paths[i], found, context, opened))
            continue;
        launch_log(context, CODE_EXECUTOR_LOG_INFO,
                   "no Docker engine answers at %s; %s does at %s, and is used (docker_host or "
                   "DOCKER_HOST would name another)",
                   DEFAULT_ADDRESS, (*opened)->is_podman ? "Podman" : "one", found->address);
        return error_clear(error);
    }
    if (launch_cancelled(context))
        return error_set(error, CODE_EXECUTOR_CANCELLED, "cancelled");
    for (size_t i = 0; i < places.count; i++)
        error_append(error, status, "%s%s", i == 0 ? ". Nor does one answer at " : ", ",
                     places.paths[i]);
    return status;
}

int32_t discovery_open(const struct endpoint *configured, struct endpoint *found,
                       const launch_context *context, struct engine **opened,
                       code_executor_error *error)
{
    if (found->address)
        return engine_open(found, context->cancel_fd, opened, error);
    int32_t status = engine_open(configured, context->cancel_fd, opened, error);
    bool absent = status == CODE_EXECUTOR_UNAVAILABLE || status == CODE_EXECUTOR_DENIED;
    return absent && configured->by_default ? look_elsewhere(found, context, status, opened, error)
                                            : status;
}
