/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unreachable.c: see unreachable.h.
 */
#include "unreachable.h"
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- sockets ----------------------------------------------------------------------------------- */

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

static int32_t explain_denial(const struct endpoint *endpoint, code_executor_error *error)
{
    char socket[256];
    describe_socket(endpoint->socket_path, socket, sizeof socket);
    return error_set(error, CODE_EXECUTOR_DENIED,
                     "no permission to speak to the Docker engine at %s (from %s; user %u, the "
                     "socket has %s): add the user to that group (usermod -aG GROUP USER, then "
                     "log in again), or name a rootless engine in docker_host or DOCKER_HOST",
                     endpoint->address, endpoint->origin, geteuid(),
                     socket[0] ? socket : "a folder that is closed to this user");
}

static int32_t explain_socket(const struct endpoint *endpoint, int os_error, const char *reason,
                              code_executor_error *error)
{
    switch (os_error) {
    case EACCES:
    case EPERM:
        return explain_denial(endpoint, error);
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

/* ---- TCP --------------------------------------------------------------------------------------- */

static int32_t explain_tcp(const struct endpoint *endpoint, int os_error, const char *reason,
                           code_executor_error *error)
{
    if (os_error == ECONNREFUSED)
        return error_set(error, CODE_EXECUTOR_UNAVAILABLE,
                         "no Docker engine is running at %s (from %s): nobody listens on that "
                         "port. Is it started with -H tcp://…, and is the port right (2375; 2376 "
                         "with TLS)?",
                         endpoint->address, endpoint->origin);
    if (os_error == ENETUNREACH || os_error == EHOSTUNREACH || os_error == ETIMEDOUT)
        return error_set_errno(error, CODE_EXECUTOR_UNAVAILABLE, os_error,
                               "the machine of the Docker engine at %s (from %s) is not reached "
                               "(is it up, and does no firewall stand between?)",
                               endpoint->address, endpoint->origin);
    return error_set(error, CODE_EXECUTOR_UNAVAILABLE,
                     "cannot reach the Docker engine at %s (from %s): %s", endpoint->address,
                     endpoint->origin, reason);
}

static int32_t explain_connecting(const struct endpoint *endpoint, int os_error, const char *reason,
                                  code_executor_error *error)
{
    if (endpoint->kind == ENDPOINT_SOCKET)
        return explain_socket(endpoint, os_error, reason, error);
    return explain_tcp(endpoint, os_error, reason, error);
}

/* ---- ssh --------------------------------------------------------------------------------------- */

#define START_THERE                                                                                \
    "Start the engine there, or name its socket behind the host: ssh://USER@HOST/path/of/socket"
#define BATCH_MODE "nobody is asked for a password or passphrase"

/* What ssh and docker say over there, and what a user can do about it. */
static const struct {
    const char *fragment;
    int32_t status;
    const char *advice;
} ssh_advices[] = {
    {"host identification has changed", CODE_EXECUTOR_DENIED,
     "The host shows another key than before; find out why before you remove the old one from "
     "~/.ssh/known_hosts"},
    {"host key verification failed", CODE_EXECUTOR_DENIED,
     "Log in with ssh by hand once and look at the key that the host shows, or put it into "
     "~/.ssh/known_hosts"},
    {"permission denied (", CODE_EXECUTOR_DENIED,
     "Log in by a key of an agent (ssh-add) or one without a passphrase: " BATCH_MODE},
    {"too many authentication failures", CODE_EXECUTOR_DENIED,
     "Name the right key for this host in ~/.ssh/config (IdentityFile, IdentitiesOnly)"},
    {"could not resolve hostname", CODE_EXECUTOR_UNAVAILABLE, "Is the name of the host right?"},
    {"connection refused", CODE_EXECUTOR_UNAVAILABLE,
     "No ssh server listens there; is the port right (ssh://USER@HOST:PORT)?"},
    {"docker: command not found", CODE_EXECUTOR_NOT_FOUND,
     "docker must be in the PATH of that user there, also when it does not log in by a terminal"},
    {"docker: not found", CODE_EXECUTOR_NOT_FOUND,
     "docker must be in the PATH of that user there, also when it does not log in by a terminal"},
    {"permission denied while trying to connect", CODE_EXECUTOR_DENIED,
     "Add that user to the group docker there"},
    {"cannot connect to the docker daemon", CODE_EXECUTOR_UNAVAILABLE, START_THERE},
    {"failed to open the raw stream", CODE_EXECUTOR_UNAVAILABLE, START_THERE},
};

static int32_t explain_ssh(const struct endpoint *endpoint, const char *words,
                           code_executor_error *error)
{
    int32_t status = CODE_EXECUTOR_UNAVAILABLE;
    const char *advice = "";
    for (size_t i = 0; i < sizeof ssh_advices / sizeof ssh_advices[0] && !advice[0]; i++) {
        if (strcasestr(words, ssh_advices[i].fragment)) {
            status = ssh_advices[i].status;
            advice = ssh_advices[i].advice;
        }
    }
    return error_set(error, status,
                     "cannot reach the Docker engine at %s (from %s) through ssh: %s%s%s",
                     endpoint->address, endpoint->origin, words, advice[0] ? ". " : "", advice);
}

/* ------------------------------------------------------------------------------------------------ */

static bool broke_off(CURLcode code)
{
    return code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR || code == CURLE_GOT_NOTHING ||
           code == CURLE_PARTIAL_FILE;
}

static int32_t explain_loss(const struct endpoint *endpoint, const struct failure *failure,
                            code_executor_error *error)
{
    if (!broke_off(failure->code))
        return error_set(error, CODE_EXECUTOR_LOST,
                         "the connection to the Docker engine at %s broke off: %s",
                         endpoint->address, curl_easy_strerror(failure->code));
    if (endpoint->tls.wanted && !failure->answered)
        return tls_explain_silence(&endpoint->tls, endpoint->address, error);
    return error_set(error, CODE_EXECUTOR_LOST,
                     "the connection to the Docker engine at %s broke off: was the engine "
                     "stopped or restarted?",
                     endpoint->address);
}

int32_t unreachable_explain(const struct endpoint *endpoint, const struct failure *failure,
                            code_executor_error *error)
{
    long os_error = 0;
    int32_t status;
    CURLcode code = failure->code;
    curl_easy_getinfo(failure->easy, CURLINFO_OS_ERRNO, &os_error);
    if (code == CURLE_OUT_OF_MEMORY)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    if (endpoint->kind == ENDPOINT_SSH && failure->ssh_words[0])
        return explain_ssh(endpoint, failure->ssh_words, error);
    if (tls_explain(&endpoint->tls, failure->easy, code, failure->words, endpoint->address, &status,
                    error))
        return status;
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
        return explain_connecting(endpoint, (int)os_error,
                                  failure->words[0] ? failure->words : curl_easy_strerror(code),
                                  error);
    case CURLE_OPERATION_TIMEDOUT:
        return explain_connecting(endpoint, 0, "no connection came about in 10 s", error);
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_HTTP2:
        return error_set(error, CODE_EXECUTOR_PROTOCOL,
                         "what listens at %s (from %s) is no Docker engine: it does not speak "
                         "HTTP%s",
                         endpoint->address, endpoint->origin,
                         endpoint->kind == ENDPOINT_SSH
                             ? ". Does the login shell there print something (.bashrc)?"
                             : "");
    default:
        return explain_loss(endpoint, failure, error);
    }
}
