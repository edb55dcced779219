/* SPDX-License-Identifier: Apache-2.0 */
/*
 * endpoint.c: chooses the engine's address, and says why nothing answers there; see endpoint.h.
 */
#include "endpoint.h"
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define DEFAULT_ADDRESS "unix:///var/run/docker.sock"
#define UNIX_SCHEME     "unix://"

static int32_t use_socket(const char *path, struct endpoint *chosen, code_executor_error *error)
{
    if (path[0] != '/')
        return error_set(error, CODE_EXECUTOR_INVALID,
                         "%s says %s: the path of a socket is absolute, as in %s", chosen->origin,
                         chosen->address, DEFAULT_ADDRESS);
    size_t longest = sizeof((struct sockaddr_un *)0)->sun_path - 1;
    if (strlen(path) > longest)
        return error_set(error, CODE_EXECUTOR_INVALID,
                         "%s says %s: the path of a socket has at most %zu bytes", chosen->origin,
                         chosen->address, longest);
    chosen->socket_path = strdup(path);
    chosen->base_url = strdup("http://docker");
    if (!chosen->socket_path || !chosen->base_url)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    return CODE_EXECUTOR_OK;
}

int32_t endpoint_choose(const char *docker_host_option, struct endpoint *chosen,
                        code_executor_error *error)
{
    const char *variable = getenv("DOCKER_HOST");
    const char *address = DEFAULT_ADDRESS;
    *chosen = (struct endpoint){.origin = "the default"};
    if (docker_host_option) {
        address = docker_host_option;
        chosen->origin = "docker_host";
    } else if (variable && variable[0]) {
        address = variable;
        chosen->origin = "DOCKER_HOST";
    }
    chosen->address = strdup(address);
    if (!chosen->address)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    if (strncmp(address, UNIX_SCHEME, strlen(UNIX_SCHEME)) == 0)
        return use_socket(address + strlen(UNIX_SCHEME), chosen, error);
    return error_set(error, CODE_EXECUTOR_UNSUPPORTED,
                     "%s says \"%s\": an engine is reached by unix:///path/of/socket",
                     chosen->origin, address);
}

void endpoint_clear(struct endpoint *endpoint)
{
    free(endpoint->address);
    free(endpoint->socket_path);
    free(endpoint->base_url);
    *endpoint = (struct endpoint){0};
}

/* "owned by group docker, mode 660", as far as it can be known. */
static void describe_socket(const char *path, char *words, size_t size)
{
    struct stat status;
    words[0] = '\0';
    if (stat(path, &status) != 0)
        return;
    char buffer[1024];
    struct group group, *found = NULL;
    if (getgrgid_r(status.st_gid, &group, buffer, sizeof buffer, &found) != 0 || !found)
        snprintf(words, size, "group %u, mode %o", status.st_gid, status.st_mode & 0777u);
    else
        snprintf(words, size, "group %s, mode %o", found->gr_name, status.st_mode & 0777u);
}

int32_t endpoint_unreachable(const struct endpoint *endpoint, int os_error, const char *reason,
                             code_executor_error *error)
{
    char socket[256];
    describe_socket(endpoint->socket_path, socket, sizeof socket);
    switch (os_error) {
    case EACCES:
    case EPERM:
        return error_set(error, CODE_EXECUTOR_DENIED,
                         "no permission to speak to the Docker engine at %s (from %s; user %u, the "
                         "socket has %s): add the user to that group (usermod -aG GROUP USER, then "
                         "log in again), or name a rootless engine in docker_host or DOCKER_HOST",
                         endpoint->address, endpoint->origin, geteuid(),
                         socket[0] ? socket : "a folder that is closed to this user");
    case ENOENT:
    case ENOTDIR:
        return error_set(error, CODE_EXECUTOR_UNAVAILABLE,
                         "no Docker engine is running: there is no socket at %s (from %s). Start "
                         "it (systemctl start docker, or dockerd as root), or name the socket of "
                         "another one in docker_host or DOCKER_HOST",
                         endpoint->address, endpoint->origin);
    case ECONNREFUSED:
        return error_set(error, CODE_EXECUTOR_UNAVAILABLE,
                         "no Docker engine is running: nobody listens on the socket at %s (from "
                         "%s). Start it (systemctl start docker, or dockerd as root)",
                         endpoint->address, endpoint->origin);
    default:
        return error_set(error, CODE_EXECUTOR_UNAVAILABLE,
                         "cannot reach the Docker engine at %s (from %s): %s", endpoint->address,
                         endpoint->origin, reason);
    }
}
