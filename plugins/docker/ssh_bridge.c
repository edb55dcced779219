/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh_bridge.c: see ssh_bridge.h.
 *
 * Attack: an address that comes from elsewhere (a context, a host's own configuration) and begins with `-`, or
 * has a shell's characters in it, would be an option or a command of ssh; address.c lets none through, and `--`
 * stands before the host.
 *
 * Attack: another process of this machine connects to our socket, to speak to the engine by our key. Only
 * connections of this very process are taken, and each is known by the name that its own end was given.
 *
 * (libcurl can be told that a socket is connected already, CURL_SOCKOPT_ALREADY_CONNECTED, which would save the
 * listener; 7.88 connects it all the same.)
 */
#include "ssh_bridge.h"
#include "clock.h"
#include "fork_guard.h"
#include "helper_process.h"
#include "program_path.h"
#include "text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG        64
#define END_LIMIT_MS   500
#define WORDS_LIMIT_MS 200

extern char **environ;

struct ssh_link {
    int socket;    /* -1: closed, and the process is ending */
    char name[32]; /* of the socket */
    bool started;
    helper_process process;
    struct ssh_link *next;
};

/* Connecting has an end, a dead network is noticed, nothing is asked, and what it says is of errors alone. */
static const char *const options[] = {
    "-T",
    "-o",
    "BatchMode=yes",
    "-o",
    "LogLevel=ERROR",
    "-o",
    "ConnectTimeout=10",
    "-o",
    "ServerAliveInterval=10",
    "-o",
    "ServerAliveCountMax=3",
};

enum { OPTION_COUNT = sizeof options / sizeof options[0], ARGUMENTS_MAX = OPTION_COUNT + 16 };

/* ---- starting ---------------------------------------------------------------------------------- */

/* HOST_OPTION: docker's --host over there, or NULL. */
static void set_arguments(const struct endpoint *endpoint, const char *host_option,
                          const char *arguments[ARGUMENTS_MAX])
{
    size_t count = 0;
    arguments[count++] = "ssh";
    for (size_t i = 0; i < OPTION_COUNT; i++)
        arguments[count++] = options[i];
    if (endpoint->ssh_user) {
        arguments[count++] = "-l";
        arguments[count++] = endpoint->ssh_user;
    }
    if (endpoint->ssh_port) {
        arguments[count++] = "-p";
        arguments[count++] = endpoint->ssh_port;
    }
    arguments[count++] = "--";
    arguments[count++] = endpoint->ssh_host;
    arguments[count++] = "docker";
    if (host_option)
        arguments[count++] = host_option;
    arguments[count++] = "system";
    arguments[count++] = "dial-stdio";
    arguments[count] = NULL;
}

static int32_t start_process(const struct endpoint *endpoint, int socket, helper_process *process,
                             code_executor_error *error)
{
    const char *arguments[ARGUMENTS_MAX];
    char host_option[512];
    char *program = program_path("ssh");
    if (!program)
        return error_set(error, CODE_EXECUTOR_NOT_FOUND,
                         "there is no ssh in PATH (install openssh-client)");
    snprintf(host_option, sizeof host_option, "--host=unix://%s",
             endpoint->ssh_socket ? endpoint->ssh_socket : "");
    set_arguments(endpoint, endpoint->ssh_socket ? host_option : NULL, arguments);
    const helper_process_options start = {
        .program = program,
        .arguments = arguments,
        .environment = (const char *const *)environ,
        .input = socket,
        .output = socket,
    };
    int32_t status = helper_process_start(&start, process, error);
    free(program);
    return status;
}

/* ---- connections ------------------------------------------------------------------------------- */

/* Gives SOCKET a name that no other has, which is no file's and goes with it. */
static bool name_socket(int socket, char name[32])
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t size = sizeof address;
    if (socket < 0 || bind(socket, (struct sockaddr *)&address, sizeof address.sun_family) != 0 ||
        getsockname(socket, (struct sockaddr *)&address, &size) != 0)
        return false;
    int length = (int)(size - offsetof(struct sockaddr_un, sun_path)) - 1;
    snprintf(name, 32, "%.*s", length, address.sun_path + 1);
    return true;
}

bool ssh_bridge_begin(struct ssh_bridge *bridge, const struct endpoint *endpoint)
{
    *bridge = (struct ssh_bridge){.endpoint = endpoint};
    bridge->listener = fork_guard_socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    return name_socket(bridge->listener, bridge->name) && listen(bridge->listener, BACKLOG) == 0;
}

int ssh_bridge_open(struct ssh_bridge *bridge)
{
    struct ssh_link *link = calloc(1, sizeof *link);
    if (!link)
        return -1;
    link->socket = fork_guard_socket(AF_UNIX, SOCK_STREAM, 0);
    link->process = (helper_process)HELPER_PROCESS_INIT;
    if (!name_socket(link->socket, link->name)) {
        fork_guard_close(link->socket);
        free(link);
        return -1;
    }
    bridge->words[0] = '\0';
    link->next = bridge->first;
    bridge->first = link;
    return link->socket;
}

static int accept_one(int listener)
{
    fork_guard_enter();
    int accepted = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    fork_guard_add(accepted);
    fork_guard_leave();
    return accepted;
}

/* Whose other end ACCEPTED is; NULL: nobody's whom we know. */
static struct ssh_link *find_peer(struct ssh_bridge *bridge, int accepted)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct ucred peer;
    socklen_t size = sizeof address, peer_size = sizeof peer;
    char name[32];
    if (getsockopt(accepted, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) != 0 ||
        peer.pid != getpid() || getpeername(accepted, (struct sockaddr *)&address, &size) != 0 ||
        size <= offsetof(struct sockaddr_un, sun_path))
        return NULL;
    int length = (int)(size - offsetof(struct sockaddr_un, sun_path)) - 1;
    snprintf(name, sizeof name, "%.*s", length, address.sun_path + 1);
    struct ssh_link *link = bridge->first;
    while (link && (link->socket < 0 || link->started || strcmp(link->name, name) != 0))
        link = link->next;
    return link;
}

void ssh_bridge_accept(struct ssh_bridge *bridge)
{
    for (int accepted; (accepted = accept_one(bridge->listener)) >= 0;) {
        code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
        struct ssh_link *link = find_peer(bridge, accepted);
        if (link &&
            start_process(bridge->endpoint, accepted, &link->process, &error) != CODE_EXECUTOR_OK)
            text_shorten(error.message, bridge->words, sizeof bridge->words);
        if (link)
            link->started = link->process.words >= 0;
        fork_guard_close(accepted);
    }
}

/* ---- ending ------------------------------------------------------------------------------------ */

static struct ssh_link *find(struct ssh_bridge *bridge, int socket)
{
    struct ssh_link *link = bridge->first;
    while (link && link->socket != socket)
        link = link->next;
    return link;
}

/* Lets go of those that have ended. */
static void collect(struct ssh_bridge *bridge)
{
    for (struct ssh_link **at = &bridge->first; *at;) {
        struct ssh_link *link = *at;
        bool ends = link->socket < 0;
        if (!ends || (link->started && !helper_process_wait(&link->process, 0))) {
            at = &link->next;
            continue;
        }
        *at = link->next;
        helper_process_close(&link->process);
        free(link);
    }
}

/* One that has ended the connection is about to end itself, and has said why. */
void ssh_bridge_listen(struct ssh_bridge *bridge, int socket)
{
    struct ssh_link *link = find(bridge, socket);
    if (!link || !link->started)
        return;
    helper_process_wait(&link->process, WORDS_LIMIT_MS);
    helper_process_words(&link->process, bridge->words, sizeof bridge->words);
}

void ssh_bridge_close(struct ssh_bridge *bridge, int socket)
{
    struct ssh_link *link = find(bridge, socket);
    if (link && link->started)
        helper_process_words(&link->process, bridge->words, sizeof bridge->words);
    if (link)
        link->socket = -1;
    fork_guard_close(socket);
    collect(bridge);
}

void ssh_bridge_end(struct ssh_bridge *bridge)
{
    int64_t deadline = now_ms() + END_LIMIT_MS;
    fork_guard_close(bridge->listener);
    for (struct ssh_link *link = bridge->first; link; link = link->next) {
        int64_t left = deadline - now_ms();
        if (!link->started || helper_process_wait(&link->process, left > 0 ? (int)left : 0))
            continue;
        helper_process_kill(&link->process);
        helper_process_wait(&link->process, END_LIMIT_MS);
    }
    while (bridge->first) {
        struct ssh_link *link = bridge->first;
        bridge->first = link->next;
        helper_process_close(&link->process);
        free(link);
    }
}
