/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_direct.c: the frames' way past the engine, by a socket in the workspace; who disturbs it, and that the
 * engine's stream serves where there is no such way.
 */
#include "docker_support.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#define SOCKETS 64 /* names that there are */

static char folder[300]; /* the workspace of a test, fresh */

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s/direct", workspace);
    return mkdir(folder, 0777) == 0 && chmod(folder, 0777) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[400];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static void path_in_folder(char path[600], const char *name)
{
    snprintf(path, 600, "%s/%s", folder, name);
}

static struct sockaddr_un address_in_folder(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    assert_true(snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", folder, name) <
                (int)sizeof address.sun_path);
    return address;
}

static int listen_in_folder(const char *name)
{
    struct sockaddr_un address = address_in_folder(name);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(listener >= 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 1), 0);
    return listener;
}

static size_t sockets_in_folder(void)
{
    size_t count = 0;
    DIR *opened = opendir(folder);
    assert_non_null(opened);
    for (struct dirent *entry = readdir(opened); entry; entry = readdir(opened))
        count += strncmp(entry->d_name, ".code_executor_socket", 21) == 0;
    closedir(opened);
    return count;
}

/* Starts with OPTIONS besides, runs a block, and looks which way frames take. */
static void expect_connection(const char *options, const char *expected)
{
    char connection[32];
    code_executor_instance *instance =
        make_instance("'work_dir': '%s'%s%s", folder, options[0] ? ", " : "", options);
    start(instance);
    described(instance, NULL, "connection", connection, sizeof connection);
    assert_string_equal(connection, expected);
    expect_output(instance, "echo here", "here\n");
    docker->destroy(instance);
}

static void frames_go_past_the_engine(void **state)
{
    (void)state;
    expect_connection("", "direct");
    assert_int_equal(sockets_in_folder(), 0);
}

static void any_user_of_the_container_gets_through(void **state)
{
    (void)state;
    expect_connection("'user': '1234:1234'", "direct");
    expect_connection("'user': 'unprivileged'", "direct");
    expect_connection("'cap_drop': ['ALL'], 'read_only': true, 'network': 'none'", "direct");
    expect_connection("'profile': 'strict'", "direct");
}

static void copied_workspace_has_no_such_way(void **state)
{
    (void)state;
    expect_connection("'workspace': 'copy'", "engine");
}

static void restarted_executor_goes_past_the_engine_again(void **state)
{
    (void)state;
    char connection[32];
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_instance *instance =
        make_instance("'work_dir': '%s', 'restart': 'container'", folder);
    start(instance);
    assert_int_equal(docker->restart(instance, &error), CODE_EXECUTOR_OK);
    described(instance, NULL, "connection", connection, sizeof connection);
    assert_string_equal(connection, "direct");
    expect_output(instance, "echo here", "here\n");
    docker->destroy(instance);
}

static void *start_one(void *instance)
{
    start(instance);
    return NULL;
}

static void executors_that_start_at_once_all_go_past_the_engine(void **state)
{
    (void)state;
    enum { COUNT = 8 };
    char connection[32];
    pthread_t threads[COUNT];
    code_executor_instance *instances[COUNT];
    for (int i = 0; i < COUNT; i++)
        instances[i] = make_instance("'work_dir': '%s'", folder);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, start_one, instances[i]), 0);
    for (int i = 0; i < COUNT; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < COUNT; i++) {
        described(instances[i], NULL, "connection", connection, sizeof connection);
        assert_string_equal(connection, "direct");
        docker->destroy(instances[i]);
    }
    assert_int_equal(sockets_in_folder(), 0);
}

static void path_longer_than_an_address_is_no_obstacle(void **state)
{
    (void)state;
    size_t length = strlen(folder);
    while (length < 200) {
        length += (size_t)snprintf(folder + length, sizeof folder - length, "/another-folder");
        assert_int_equal(mkdir(folder, 0777), 0);
    }
    expect_connection("", "direct");
    snprintf(folder, sizeof folder, "%s/direct", workspace);
}

static void socket_that_a_dead_host_left_makes_room(void **state)
{
    (void)state;
    for (int i = 0; i < SOCKETS; i++) {
        char name[64];
        snprintf(name, sizeof name, ".code_executor_socket_%d", i);
        close(listen_in_folder(name));
    }
    expect_connection("", "direct");
    assert_int_equal(sockets_in_folder(), SOCKETS - 1);
}

/* What stands in the way belongs to somebody, and must be there afterwards as it was. */
static void what_has_the_names_is_let_alone(void **state)
{
    (void)state;
    char secret[600], path[600];
    struct stat found;
    int listeners[SOCKETS];
    path_in_folder(secret, "secret");
    assert_int_equal(close(open(secret, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
    assert_int_equal(chmod(secret, 0600), 0);
    for (int i = 0; i < SOCKETS; i++) {
        char name[64];
        snprintf(name, sizeof name, ".code_executor_socket_%d", i);
        path_in_folder(path, name);
        listeners[i] = -1;
        if (i % 4 == 0)
            assert_int_equal(symlink("secret", path), 0);
        else if (i % 4 == 1)
            assert_int_equal(mkdir(path, 0700), 0);
        else if (i % 4 == 2)
            assert_int_equal(link(secret, path), 0);
        else
            listeners[i] = listen_in_folder(name);
    }
    expect_connection("", "engine");
    assert_int_equal(sockets_in_folder(), SOCKETS);
    assert_int_equal(stat(secret, &found), 0);
    assert_int_equal(found.st_mode & 07777, 0600);
    for (int i = 0; i < SOCKETS; i++)
        close(listeners[i]);
}

/* ---- attacks: another process that may write to the workspace ------------------------------------ */

/* Waits for the socket to appear and then acts at once, again and again until it is told to end. */
struct attacker {
    void (*act)(struct attacker *self, const char *name);
    atomic_bool over;
    atomic_int acts;
    atomic_int heard; /* bytes that the host or the runner gave it */
    pthread_t thread;
};

static void *lie_in_wait(void *argument)
{
    struct attacker *self = argument;
    int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    assert_true(watch >= 0);
    assert_true(inotify_add_watch(watch, folder, IN_CREATE) >= 0);
    while (!self->over) {
        _Alignas(struct inotify_event) char events[4096];
        const struct inotify_event *first = (const void *)events;
        struct pollfd ready = {watch, POLLIN, 0};
        if (poll(&ready, 1, 20) > 0 && read(watch, events, sizeof events) > 0 &&
            strncmp(first->name, ".code_executor_socket", 21) == 0)
            self->act(self, first->name);
    }
    close(watch);
    return NULL;
}

/* How often one is made that may come too late. */
enum { ATTEMPTS = 50 };

static void attack(struct attacker *self)
{
    assert_int_equal(pthread_create(&self->thread, NULL, lie_in_wait, self), 0);
    pause_ms(50);
}

static void end_attack(struct attacker *self)
{
    self->over = true;
    pthread_join(self->thread, NULL);
}

/* What comes over FD within a while. */
static void hear(struct attacker *self, int fd)
{
    char bytes[256];
    struct pollfd ready = {fd, POLLIN, 0};
    while (poll(&ready, 1, 3000) > 0) {
        ssize_t count = recv(fd, bytes, sizeof bytes, 0);
        if (count <= 0)
            break;
        self->heard += (int)count;
    }
}

static int visit(const char *name)
{
    struct sockaddr_un address = address_in_folder(name);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    do /* it is there, but nobody listens yet */
        if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
            return fd;
    while (errno == ECONNREFUSED);
    close(fd);
    return -1;
}

/* Comes before the runner does, and speaks as it does. */
static void come_first(struct attacker *self, const char *name)
{
    static const unsigned char hello[] = {24, 0, 0, 0, 65, 0, 0, 0, 0, 0, 0, 0, 'C', 'R', 'X', '1'};
    int fd = visit(name);
    if (fd < 0)
        return;
    self->acts++;
    (void)!send(fd, hello, sizeof hello, MSG_NOSIGNAL);
    hear(self, fd);
    close(fd);
}

static void stranger_that_comes_first_is_turned_away(void **state)
{
    (void)state;
    struct attacker attacker = {.act = come_first};
    for (int attempt = 0; attempt < ATTEMPTS && attacker.acts == 0; attempt++) {
        attacker.over = false;
        attack(&attacker);
        expect_connection("", "direct");
        end_attack(&attacker);
    }
    assert_true(attacker.acts > 0);
    assert_int_equal(attacker.heard, 0);
}

/* Puts a socket of its own in the host's place and has one more way to the host's: relays what it gets there. */
static void stand_between(struct attacker *self, const char *name)
{
    char theirs[600], aside[600];
    path_in_folder(theirs, name);
    path_in_folder(aside, "aside");
    if (self->acts > 0 || rename(theirs, aside) != 0)
        return;
    int listener = listen_in_folder(name);
    assert_int_equal(chmod(theirs, 0666), 0);
    struct pollfd ready = {listener, POLLIN, 0};
    int to_host = visit("aside");
    if (poll(&ready, 1, 3000) > 0) {
        int to_runner = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        self->acts++;
        hear(self, to_host);
        (void)!send(to_runner, "0123456789abcdef0123456789abcdef", 32, MSG_NOSIGNAL);
        hear(self, to_runner);
        close(to_runner);
    }
    close(to_host);
    close(listener);
    unlink(theirs);
    unlink(aside);
}

static void stranger_in_the_middle_gets_neither_proof_nor_frames(void **state)
{
    (void)state;
    struct attacker attacker = {.act = stand_between};
    for (int attempt = 0; attempt < ATTEMPTS && attacker.acts == 0; attempt++) {
        attacker.over = false;
        attack(&attacker);
        char connection[32];
        code_executor_instance *instance = make_instance("'work_dir': '%s'", folder);
        start(instance);
        expect_output(instance, "echo here", "here\n");
        described(instance, NULL, "connection", connection, sizeof connection);
        docker->destroy(instance);
        end_attack(&attacker);
        if (attacker.acts > 0) /* it was quick enough */
            assert_string_equal(connection, "engine");
    }
    assert_true(attacker.acts > 0);
    assert_int_equal(attacker.heard, 0);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(frames_go_past_the_engine),
        IN_FOLDER(any_user_of_the_container_gets_through),
        IN_FOLDER(copied_workspace_has_no_such_way),
        IN_FOLDER(restarted_executor_goes_past_the_engine_again),
        IN_FOLDER(executors_that_start_at_once_all_go_past_the_engine),
        IN_FOLDER(path_longer_than_an_address_is_no_obstacle),
        IN_FOLDER(socket_that_a_dead_host_left_makes_room),
        IN_FOLDER(what_has_the_names_is_let_alone),
        IN_FOLDER(stranger_that_comes_first_is_turned_away),
        IN_FOLDER(stranger_in_the_middle_gets_neither_proof_nor_frames),
    };
    return docker_test_main("docker direct", tests, sizeof tests / sizeof tests[0]);
}
