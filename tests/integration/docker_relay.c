/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_relay.c: stands between the plugin and the engine, and can be what engines are on bad days.
 *
 *     plugin ── socket ── relay ── socket ── engine
 *
 * Bytes from the engine pass as they come, in small pieces if wished. Requests are read head by head
 * until one upgrades its connection, so that some can be answered here, swallowed, or sent on under
 * another version of the API. One process for each connection, all in one process group.
 */
#include "docker_support.h"
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define ENGINE_MINOR 41 /* what requests are sent on with, where versions are played with */

static atomic_int *swallowed; /* of the relay that this process is */

struct connection {
    const struct relay_options *options;
    int plugin;
    int engine;
    char head[65536];
    size_t head_length;
    size_t body_left; /* of the request that is passing */
    bool raw;         /* upgraded, or swallowed */
};

static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        _exit(1);
    return fd;
}

static void write_all(int fd, const char *bytes, size_t length, size_t chunk)
{
    while (length > 0) {
        size_t part = chunk && chunk < length ? chunk : length;
        ssize_t written = send(fd, bytes, part, MSG_NOSIGNAL);
        if (written <= 0)
            _exit(0);
        bytes += written;
        length -= (size_t)written;
    }
}

/* ---- requests ---------------------------------------------------------------------------------- */

static int newest_minor(const struct relay_options *options)
{
    return options->newest_minor ? options->newest_minor : options->minimum_minor + 8;
}

static void answer(struct connection *connection, const char *status, const char *body)
{
    char text[4096];
    int length = snprintf(text, sizeof text,
                          "HTTP/1.1 %s\r\nApi-Version: 1.%d\r\n"
                          "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                          status, newest_minor(connection->options), strlen(body), body);
    write_all(connection->plugin, text, (size_t)length, connection->options->chunk);
}

/* True: the request is done with. */
static bool play_version(struct connection *connection, char *line)
{
    int minimum = connection->options->minimum_minor, minor = 0;
    int newest = newest_minor(connection->options);
    char *version = strstr(line, " /v1.");
    char body[256];
    if (strstr(line, " /_ping") || strstr(line, " /version")) {
        snprintf(body, sizeof body, "{\"ApiVersion\":\"1.%d\",\"MinAPIVersion\":\"1.%d\"}", newest,
                 minimum);
        answer(connection, "200 OK", body);
        return true;
    }
    bool told = version && sscanf(version, " /v1.%d/", &minor) == 1;
    if (!told || minor < minimum || minor > newest) {
        snprintf(body, sizeof body,
                 minor > newest
                     ? "{\"message\":\"client version 1.%d is too new. Maximum supported API "
                       "version is 1.%d\"}"
                     : "{\"message\":\"client version 1.%d is too old. Minimum supported API "
                       "version is 1.%d, please upgrade your client to a newer version\"}",
                 minor, minor > newest ? newest : minimum);
        answer(connection, "400 Bad Request", body);
        return true;
    }
    char digits[3];
    snprintf(digits, sizeof digits, "%02d", ENGINE_MINOR);
    memcpy(version + strlen(" /v1."), digits, 2);
    return false;
}

static size_t content_length(const char *head)
{
    const char *found = strcasestr(head, "\r\ncontent-length:");
    return found ? strtoul(found + strlen("\r\ncontent-length:"), NULL, 10) : 0;
}

/* A whole head has come. */
static void take_request(struct connection *connection)
{
    const struct relay_options *options = connection->options;
    char *head = connection->head;
    char *line_end = strstr(head, "\r\n");
    connection->body_left = content_length(head);
    bool upgrade = strcasestr(head, "\r\nupgrade:") != NULL;
    *line_end = '\0';
    if (options->answer_for &&
        (strstr(head, options->answer_for) || strstr(line_end + 2, options->answer_for))) {
        write_all(connection->plugin, options->answer, strlen(options->answer), options->chunk);
        _exit(0);
    }
    bool done = options->minimum_minor > 0 && play_version(connection, head);
    if (!done && options->swallow && strstr(head, options->swallow)) {
        connection->raw = true; /* and nothing more is passed on */
        atomic_fetch_add(swallowed, 1);
        close(connection->engine);
        connection->engine = -1;
        return;
    }
    *line_end = '\r';
    if (!done)
        write_all(connection->engine, head, connection->head_length, 0);
    connection->raw = upgrade;
    connection->head_length = 0;
}

static void from_plugin(struct connection *connection, const char *bytes, size_t length)
{
    while (length > 0) {
        if (connection->raw || connection->body_left > 0) {
            size_t part =
                connection->raw || length < connection->body_left ? length : connection->body_left;
            if (connection->engine >= 0)
                write_all(connection->engine, bytes, part, 0);
            connection->body_left -= connection->raw ? 0 : part;
            bytes += part;
            length -= part;
            continue;
        }
        if (connection->head_length + 1 >= sizeof connection->head)
            _exit(1);
        connection->head[connection->head_length++] = *bytes++;
        connection->head[connection->head_length] = '\0';
        length--;
        if (connection->head_length >= 4 &&
            strcmp(connection->head + connection->head_length - 4, "\r\n\r\n") == 0)
            take_request(connection);
    }
}

/* ---- connections ------------------------------------------------------------------------------- */

static void serve(struct connection *connection)
{
    static char buffer[65536];
    for (;;) {
        struct pollfd watched[2] = {{.fd = connection->plugin, .events = POLLIN},
                                    {.fd = connection->engine, .events = POLLIN}};
        if (poll(watched, 2, -1) < 0)
            continue;
        if (watched[1].revents) {
            ssize_t length = recv(connection->engine, buffer, sizeof buffer, 0);
            if (length <= 0)
                _exit(0);
            write_all(connection->plugin, buffer, (size_t)length, connection->options->chunk);
        }
        if (watched[0].revents) {
            ssize_t length = recv(connection->plugin, buffer, sizeof buffer, 0);
            if (length <= 0)
                _exit(0);
            from_plugin(connection, buffer, (size_t)length);
        }
    }
}

static void listen_for_ever(int listener, const struct relay_options *options)
{
    static struct connection connection;
    setpgid(0, 0);
    signal(SIGCHLD, SIG_IGN);
    for (;;) {
        int accepted = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (accepted < 0)
            _exit(1);
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            close(listener);
            connection.options = options;
            connection.plugin = accepted;
            connection.engine = connect_to(engine->endpoint->socket_path);
            serve(&connection);
        }
        close(accepted);
    }
}

static int listen_at_socket(char address[300])
{
    static int number;
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    snprintf(name.sun_path, sizeof name.sun_path, "%.80s/r%d", workspace, number++);
    snprintf(address, 300, "unix://%s", name.sun_path);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(listener >= 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&name, sizeof name), 0);
    return listener;
}

static int listen_at_port(char address[300])
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof name;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(listener >= 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&name, sizeof name), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&name, &length), 0);
    snprintf(address, 300, "tcp://127.0.0.1:%d", ntohs(name.sin_port));
    return listener;
}

struct relay relay_start(struct relay_options options)
{
    struct relay relay = {0};
    relay.swallowed = mmap(NULL, sizeof *relay.swallowed, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(relay.swallowed != MAP_FAILED);
    int listener = options.tcp ? listen_at_port(relay.address) : listen_at_socket(relay.address);
    assert_int_equal(listen(listener, 64), 0);
    relay.pid = fork();
    assert_true(relay.pid >= 0);
    if (relay.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        swallowed = relay.swallowed;
        listen_for_ever(listener, &options);
    }
    setpgid(relay.pid, relay.pid);
    close(listener);
    return relay;
}

void relay_kill(struct relay *relay)
{
    kill(-relay->pid, SIGKILL);
    waitpid(relay->pid, NULL, 0);
    munmap(relay->swallowed, sizeof *relay->swallowed);
}
