/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_discovery.c: an engine that nobody has named, in the places where one may be.
 *
 * The test has a /run of its own (so only root can run it), in which nothing is but what it puts there: links to
 * the socket of the real engine.
 */
#include "docker_support.h"
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

enum { SKIPPED = 77 };

static char said[4096];

static void listen_to(void *user_data, int32_t level, const char *message)
{
    (void)user_data;
    if (level <= CODE_EXECUTOR_LOG_INFO)
        snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n", message);
}

static const code_executor_host listener = {.struct_size = sizeof listener, .log = listen_to};

/* Nothing is named, and nothing is there. */
static int clear_places(void **state)
{
    static const char *const variables[] = {"DOCKER_HOST",     "DOCKER_CONTEXT",
                                            "XDG_RUNTIME_DIR", "DOCKER_TLS_VERIFY",
                                            "DOCKER_TLS",      "DOCKER_CONFIG"};
    (void)state;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        unsetenv(variables[i]);
    setenv("HOME", workspace, 1);
    umount2("/run", MNT_DETACH);
    said[0] = '\0';
    test_host = &listener;
    return mount("tmpfs", "/run", "tmpfs", 0, "mode=755");
}

/* Links PATH, in new folders, to TARGET. */
static void put(const char *path, const char *target)
{
    char folder[512];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(folder, 0755);
        *slash = '/';
    }
    unlink(path);
    assert_int_equal(symlink(target, path), 0);
}

static void expect_found(const char *path)
{
    char address[600], host[512];
    code_executor_instance *instance = make_instance("%s", "");
    expect_output(instance, "echo found", "found\n");
    snprintf(address, sizeof address, "unix://%s", path);
    described(instance, "engine", "host", host, sizeof host);
    assert_string_equal(host, address);
    assert_non_null(strstr(said, address));
    assert_non_null(strstr(said, "/var/run/docker.sock"));
    assert_int_equal(docker->restart(instance, NULL), CODE_EXECUTOR_OK);
    expect_output(instance, "echo again", "again\n");
    docker->destroy(instance);
}

static void the_usual_socket_comes_first_and_needs_no_words(void **state)
{
    (void)state;
    put("/run/docker.sock", engine->endpoint->socket_path);
    put("/run/podman/podman.sock", engine->endpoint->socket_path);
    code_executor_instance *instance = make_instance("%s", "");
    char host[512];
    start(instance);
    described(instance, "engine", "host", host, sizeof host);
    assert_string_equal(host, "unix:///var/run/docker.sock");
    assert_null(strstr(said, "answers"));
    docker->destroy(instance);
}

static void an_engine_is_found_in_each_place(void **state)
{
    static const char *const places[] = {
        "/run/mine/docker.sock", "/run/mine/podman/podman.sock", "/run/user/0/docker.sock",
        "/run/user/0/podman/podman.sock", "/run/podman/podman.sock"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        clear_places(state);
        setenv("XDG_RUNTIME_DIR", "/run/mine", 1);
        put(places[i], engine->endpoint->socket_path);
        expect_found(places[i]);
    }
}

/* A socket that nobody listens on is passed over. */
static void dead_sockets_are_passed_over(void **state)
{
    (void)state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int dead = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "/run/docker.sock");
    assert_int_equal(bind(dead, (struct sockaddr *)&address, sizeof address), 0);
    close(dead);
    put("/run/user/0/docker.sock", "/run/docker.sock");
    put("/run/podman/podman.sock", engine->endpoint->socket_path);
    expect_found("/run/podman/podman.sock");
}

static void sockets_of_others_are_not_trusted(void **state)
{
    (void)state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    int stranger = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mkdir("/run/podman", 0755);
    snprintf(address.sun_path, sizeof address.sun_path, "/run/podman/podman.sock");
    assert_int_equal(bind(stranger, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(stranger, 8), 0);
    assert_int_equal(chown(address.sun_path, 12345, 12345), 0);
    code_executor_instance *instance = make_instance("%s", "");
    assert_int_equal(docker->start(instance, &error), CODE_EXECUTOR_UNAVAILABLE);
    assert_int_equal(accept4(stranger, NULL, NULL, SOCK_CLOEXEC), -1);
    docker->destroy(instance);
    close(stranger);
}

static void nothing_anywhere_says_where_it_was_looked_for(void **state)
{
    (void)state;
    static const char *const words[] = {"no Docker engine is running",  "/var/run/docker.sock",
                                        "/run/mine/podman/podman.sock", "/run/user/0/docker.sock",
                                        "/run/podman/podman.sock",      "DOCKER_HOST"};
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    setenv("XDG_RUNTIME_DIR", "/run/mine", 1);
    code_executor_instance *instance = make_instance("%s", "");
    assert_int_equal(docker->start(instance, &error), CODE_EXECUTOR_UNAVAILABLE);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (!strstr(error.message, words[i]))
            fail_msg("\"%s\" is not in: %s", words[i], error.message);
    docker->destroy(instance);
}

static void an_engine_that_was_named_is_not_replaced(void **state)
{
    (void)state;
    put("/run/podman/podman.sock", engine->endpoint->socket_path);
    code_executor_instance *instance = make_instance("'docker_host': 'unix:///run/none.sock'");
    assert_int_equal(docker->start(instance, NULL), CODE_EXECUTOR_UNAVAILABLE);
    docker->destroy(instance);
    setenv("DOCKER_HOST", "unix:///run/none.sock", 1);
    instance = make_instance("%s", "");
    assert_int_equal(docker->start(instance, NULL), CODE_EXECUTOR_UNAVAILABLE);
    docker->destroy(instance);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_usual_socket_comes_first_and_needs_no_words, clear_places),
        cmocka_unit_test(an_engine_is_found_in_each_place),
        cmocka_unit_test_setup(dead_sockets_are_passed_over, clear_places),
        cmocka_unit_test_setup(sockets_of_others_are_not_trusted, clear_places),
        cmocka_unit_test_setup(nothing_anywhere_says_where_it_was_looked_for, clear_places),
        cmocka_unit_test_setup(an_engine_that_was_named_is_not_replaced, clear_places),
    };
    if (unshare(CLONE_NEWNS) != 0 || mount("", "/", "", MS_REC | MS_PRIVATE, NULL) != 0) {
        fprintf(stderr, "skipped: a /run of one's own needs root\n");
        return getenv("CODE_EXECUTOR_REQUIRE_ALL") ? 1 : SKIPPED;
    }
    return docker_test_main("docker_discovery", tests, sizeof tests / sizeof tests[0]);
}
