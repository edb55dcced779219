/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address.c: takes an engine's address apart; see endpoint.h.
 *
 *     unix:///path   /path                        a socket of this machine
 *     tcp://HOST[:PORT][/PATH]   HOST:PORT        HTTP, or HTTPS where TLS is asked for
 *     http://…   https://…                        the one or the other, whatever else is said
 *     ssh://[USER@]HOST[:PORT][/SOCKET]           docker system dial-stdio over there
 *
 * libcurl's parser knows what a URL is; here is only what an engine's address may be of that. What goes to
 * ssh is looked at closely: a host "-oProxyCommand=…" would be an option of ssh, and so a command.
 */
#include "endpoint.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>

#define FORMS                                                                                      \
    "unix:///path/of/socket, tcp://HOST:PORT, http://HOST:PORT, https://HOST:PORT or "             \
    "ssh://USER@HOST"

static int32_t no_memory(code_executor_error *error)
{
    return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
}

static int32_t refuse(const struct endpoint *endpoint, const char *why, code_executor_error *error)
{
    return error_set(error, CODE_EXECUTOR_INVALID, "%s says \"%s\": %s", endpoint->origin,
                     endpoint->address, why);
}

/* ---- sockets ----------------------------------------------------------------------------------- */

static int32_t parse_socket(struct endpoint *endpoint, const char *path, code_executor_error *error)
{
    size_t longest = sizeof((struct sockaddr_un *)0)->sun_path - 1;
    if (path[0] == '\0')
        path = &DEFAULT_ADDRESS[strlen("unix://")];
    if (path[0] != '/')
        return refuse(endpoint, "the path of a socket is absolute, as in " DEFAULT_ADDRESS, error);
    if (strlen(path) > longest)
        return error_set(error, CODE_EXECUTOR_INVALID,
                         "%s says %s: the path of a socket has at most %zu bytes", endpoint->origin,
                         endpoint->address, longest);
    endpoint->kind = ENDPOINT_SOCKET;
    endpoint->socket_path = strdup(path);
    endpoint->base_url = strdup("http://docker");
    endpoint->host_header = strdup("docker");
    endpoint->base_path = strdup("");
    bool whole =
        endpoint->socket_path && endpoint->base_url && endpoint->host_header && endpoint->base_path;
    return whole ? CODE_EXECUTOR_OK : no_memory(error);
}

/* ---- what is a URL ----------------------------------------------------------------------------- */

/* A part of URL, or NULL where it has none; curl_free. */
static char *part_of(CURLU *url, CURLUPart part, unsigned int flags)
{
    char *value = NULL;
    if (curl_url_get(url, part, &value, flags) == CURLUE_OK && value && value[0])
        return value;
    curl_free(value);
    return NULL;
}

static bool has_part(CURLU *url, CURLUPart part)
{
    char *value = part_of(url, part, 0);
    curl_free(value);
    return value != NULL;
}

/* Takes over what libcurl allocated. */
static char *part_copy(CURLU *url, CURLUPart part, unsigned int flags)
{
    char *value = part_of(url, part, flags);
    char *copy = value ? strdup(value) : NULL;
    curl_free(value);
    return copy;
}

/* SCHEME and what follows the address's own. */
static int32_t read_url(const struct endpoint *endpoint, const char *scheme, const char *rest,
                        CURLU *url, code_executor_error *error)
{
    char *text = NULL;
    if (!url || asprintf(&text, "%s://%s", scheme, rest) < 0)
        return no_memory(error);
    CURLUcode code =
        curl_url_set(url, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME | CURLU_PATH_AS_IS);
    free(text);
    if (code == CURLUE_OUT_OF_MEMORY)
        return no_memory(error);
    if (code != CURLUE_OK || !has_part(url, CURLUPART_HOST))
        return refuse(endpoint, "that is no address of an engine, which is " FORMS, error);
    if (has_part(url, CURLUPART_PASSWORD)) /* which must not get into a log */
        return error_set(error, CODE_EXECUTOR_INVALID,
                         "the address that %s gives has a password in it, which addresses of "
                         "engines cannot have",
                         endpoint->origin);
    if (has_part(url, CURLUPART_QUERY) || has_part(url, CURLUPART_FRAGMENT))
        return refuse(endpoint, "an address of an engine has no ? and no #", error);
    return CODE_EXECUTOR_OK;
}

/* ---- TCP --------------------------------------------------------------------------------------- */

static void strip_slashes(char *text)
{
    for (size_t end = strlen(text); end > 0 && text[end - 1] == '/'; end--)
        text[end - 1] = '\0';
}

static bool keep_tcp(struct endpoint *endpoint, CURLU *url)
{
    endpoint->base_url = part_copy(url, CURLUPART_URL, 0);
    endpoint->base_path = part_copy(url, CURLUPART_PATH, 0);
    char *host = part_of(url, CURLUPART_HOST, 0), *port = part_of(url, CURLUPART_PORT, 0);
    if (!host ||
        asprintf(&endpoint->host_header, "%s%s%s", host, port ? ":" : "", port ? port : "") < 0)
        endpoint->host_header = NULL;
    curl_free(host);
    curl_free(port);
    if (!endpoint->base_url || !endpoint->base_path || !endpoint->host_header)
        return false;
    strip_slashes(endpoint->base_url);
    strip_slashes(endpoint->base_path);
    return true;
}

/* PORT: what counts where the address has none; NULL: as the scheme has it. */
static int32_t parse_tcp(struct endpoint *endpoint, const char *rest, const char *port,
                         code_executor_error *error)
{
    CURLU *url = curl_url();
    endpoint->kind = ENDPOINT_TCP;
    int32_t status = read_url(endpoint, endpoint->tls.wanted ? "https" : "http", rest, url, error);
    if (status == CODE_EXECUTOR_OK && has_part(url, CURLUPART_USER))
        status = refuse(endpoint, "there are no users in the address of an engine over TCP", error);
    if (status == CODE_EXECUTOR_OK && port && !has_part(url, CURLUPART_PORT) &&
        curl_url_set(url, CURLUPART_PORT, port, 0) != CURLUE_OK)
        status = no_memory(error);
    if (status == CODE_EXECUTOR_OK && !keep_tcp(endpoint, url))
        status = no_memory(error);
    curl_url_cleanup(url);
    return status;
}

static int32_t parse_plain_tcp(struct endpoint *endpoint, const char *rest,
                               code_executor_error *error)
{
    return parse_tcp(endpoint, rest, endpoint->tls.wanted ? "2376" : "2375", error);
}

static int32_t parse_http(struct endpoint *endpoint, const char *rest, code_executor_error *error)
{
    endpoint->tls.wanted = false;
    return parse_tcp(endpoint, rest, NULL, error);
}

static int32_t parse_https(struct endpoint *endpoint, const char *rest, code_executor_error *error)
{
    if (!endpoint->tls.wanted)
        endpoint->tls = (struct tls){.wanted = true, .verify = true};
    return parse_tcp(endpoint, rest, NULL, error);
}

/* ---- ssh --------------------------------------------------------------------------------------- */

/* Letters, digits and what else may stand in a user's or host's name or in a path of a remote command line,
 * where a shell reads it; none may be taken for an option. */
static bool is_harmless(const char *word, const char *allowed)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    if (!word)
        return true;
    if (word[0] == '-' || word[0] == '\0')
        return false;
    for (; *word; word++)
        if (!strchr(letters, *word) && !strchr(allowed, *word))
            return false;
    return true;
}

/* "[::1]" as ssh wants it. */
static void strip_brackets(char *host)
{
    size_t length = host ? strlen(host) : 0;
    if (length < 2 || host[0] != '[' || host[length - 1] != ']')
        return;
    memmove(host, host + 1, length - 2);
    host[length - 2] = '\0';
}

static int32_t check_ssh(const struct endpoint *endpoint, code_executor_error *error)
{
    if (!is_harmless(endpoint->ssh_user, "._-+@\\"))
        return refuse(endpoint, "that is no name of a user for ssh", error);
    if (!is_harmless(endpoint->ssh_host, "._-:%"))
        return refuse(endpoint, "that is no name of a host for ssh", error);
    if (!is_harmless(endpoint->ssh_socket, "/._-"))
        return refuse(endpoint,
                      "the path of a socket over ssh is made of letters, digits and / . _ -",
                      error);
    return CODE_EXECUTOR_OK;
}

static int32_t parse_ssh(struct endpoint *endpoint, const char *rest, code_executor_error *error)
{
    CURLU *url = curl_url();
    endpoint->kind = ENDPOINT_SSH;
    int32_t status = read_url(endpoint, "ssh", rest, url, error);
    if (status == CODE_EXECUTOR_OK) {
        char *path = part_of(url, CURLUPART_PATH, 0);
        endpoint->ssh_user = part_copy(url, CURLUPART_USER, CURLU_URLDECODE);
        endpoint->ssh_host = part_copy(url, CURLUPART_HOST, CURLU_URLDECODE);
        endpoint->ssh_port = part_copy(url, CURLUPART_PORT, 0);
        endpoint->ssh_socket = path && strcmp(path, "/") != 0 ? strdup(path) : NULL;
        endpoint->base_url = strdup("http://docker");
        endpoint->host_header = strdup("docker");
        endpoint->base_path = strdup("");
        curl_free(path);
        strip_brackets(endpoint->ssh_host);
        status = check_ssh(endpoint, error);
        if (status == CODE_EXECUTOR_OK && (!endpoint->ssh_host || !endpoint->base_url ||
                                           !endpoint->host_header || !endpoint->base_path))
            status = no_memory(error);
    }
    curl_url_cleanup(url);
    return status;
}

/* ---- kinds ------------------------------------------------------------------------------------- */

static int32_t refuse_pipe(struct endpoint *endpoint, const char *rest, code_executor_error *error)
{
    (void)rest;
    return error_set(error, CODE_EXECUTOR_UNSUPPORTED,
                     "%s says \"%s\": named pipes are for Windows alone; here an engine is reached "
                     "by " FORMS,
                     endpoint->origin, endpoint->address);
}

static int32_t refuse_descriptor(struct endpoint *endpoint, const char *rest,
                                 code_executor_error *error)
{
    (void)rest;
    return error_set(error, CODE_EXECUTOR_UNSUPPORTED,
                     "%s says \"%s\": that is how an engine is handed its sockets; it is reached "
                     "by " FORMS,
                     endpoint->origin, endpoint->address);
}

static const struct {
    const char *scheme;
    int32_t (*parse)(struct endpoint *endpoint, const char *rest, code_executor_error *error);
} schemes[] = {
    {"unix://", parse_socket},    {"tcp://", parse_plain_tcp}, {"http://", parse_http},
    {"https://", parse_https},    {"ssh://", parse_ssh},       {"npipe://", refuse_pipe},
    {"fd://", refuse_descriptor},
};

/* "localhost:2375": docker takes it for tcp://. A word alone is more likely a mistake. */
static bool has_port(const char *address)
{
    const char *colon = strrchr(address, ':');
    size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
    return colon && colon > address && digits > 0 && colon[1 + digits] == '\0' &&
           !strchr(address, '/');
}

int32_t endpoint_parse(struct endpoint *endpoint, code_executor_error *error)
{
    const char *address = endpoint->address;
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        size_t length = strlen(schemes[i].scheme);
        if (strncasecmp(address, schemes[i].scheme, length) == 0)
            return schemes[i].parse(endpoint, address + length, error);
    }
    if (address[0] == '/')
        return parse_socket(endpoint, address, error);
    if (has_port(address))
        return parse_plain_tcp(endpoint, address, error);
    return error_set(error, CODE_EXECUTOR_UNSUPPORTED,
                     "%s says \"%s\": an engine is reached by " FORMS, endpoint->origin, address);
}
