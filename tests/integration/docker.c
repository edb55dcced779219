/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker.c: what an instance of the docker executor does from start to destroy, on a real engine.
 */
#include "docker_support.h"
#include "json.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A name that no other run of the tests has. */
static const char *unique_name(void)
{
    static char name[64];
    static int number;
    snprintf(name, sizeof name, "code-executor-test-%ld-%d", (long)getpid(), number++);
    return name;
}

static void container_name(code_executor_instance *instance, char name[256])
{
    described(instance, "container", "name", name, 256);
    assert_true(name[0] != '\0');
}

/* ---- life -------------------------------------------------------------------------------------- */

static void code_runs_in_a_container_of_its_own(void **state)
{
    (void)state;
    code_executor_instance *instance = make_instance("%s", "");
    char name[256];
    expect_output(instance, "pwd && cat /proc/1/comm", "/workspace\nrunner\n");
    container_name(instance, name);
    assert_true(container_exists(name));
    assert_int_equal(strncmp(name, "code-executor-", strlen("code-executor-")), 0);
    docker->destroy(instance);
    assert_false(container_exists(name));
}

static void workspace_is_shared_with_the_container(void **state)
{
    (void)state;
    code_executor_instance *instance = make_instance("%s", "");
    char path[300];
    code_executor_result *result = run(instance, "sh", "echo made > made_inside");
    assert_int_equal(result->exit_code, 0);
    docker->result_free(result);
    snprintf(path, sizeof path, "%s/made_inside", workspace);
    assert_int_equal(access(path, R_OK), 0);
    docker->destroy(instance);
    assert_int_equal(access(path, R_OK), 0);
}

static void stop_removes_and_start_makes_a_fresh_one(void **state)
{
    (void)state;
    code_executor_instance *instance = make_instance("%s", "");
    char first[256], second[256];
    expect_output(instance, "touch /tmp/trace", "");
    container_name(instance, first);
    assert_int_equal(docker->stop(instance, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(docker->stop(instance, NULL), CODE_EXECUTOR_OK);
    assert_false(container_exists(first));
    expect_output(instance, "ls /tmp", "");
    container_name(instance, second);
    assert_string_not_equal(first, second);
    docker->destroy(instance);
}

static void restart_ends_every_process_and_keeps_the_workspace(void **state)
{
    (void)state;
    code_executor_instance *instance = make_instance("%s", "");
    expect_output(instance, "sleep 4321 > /dev/null & echo kept > kept", "");
    assert_int_equal(docker->restart(instance, NULL), CODE_EXECUTOR_OK);
    expect_output(instance,
                  "cat kept; cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c '[4]321' || true",
                  "kept\n0\n");
    docker->destroy(instance);
}

static void given_name_is_used(void **state)
{
    (void)state;
    const char *name = unique_name();
    code_executor_instance *instance = make_instance("'container_name': '%s'", name);
    start(instance);
    assert_true(container_exists(name));
    docker->destroy(instance);
    assert_false(container_exists(name));
}

static void name_in_use_says_by_whom_and_what_to_do(void **state)
{
    (void)state;
    const char *name = unique_name();
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_instance *first = make_instance("'container_name': '%s'", name);
    code_executor_instance *second = make_instance("'container_name': '%s'", name);
    char id[256], command[300];
    start(first);
    described(first, "container", "id", id, sizeof id);
    id[12] = '\0';
    snprintf(command, sizeof command, "docker rm -f %s", name);
    assert_int_equal(docker->start(second, &error), CODE_EXECUTOR_CONFLICT);
    assert_non_null(strstr(error.message, name));
    assert_non_null(strstr(error.message, id));
    assert_non_null(strstr(error.message, "running"));
    assert_non_null(strstr(error.message, command));
    assert_true(container_exists(name));
    docker->destroy(second);
    expect_output(first, "echo unharmed", "unharmed\n");
    docker->destroy(first);
}

static void auto_remove_false_keeps_the_container_stopped(void **state)
{
    (void)state;
    const char *name = unique_name();
    code_executor_instance *instance =
        make_instance("'container_name': '%s', 'auto_remove': false", name);
    char path[300], first[256], second[256];
    struct answer CLEANUP_ANSWER answer = {0};
    expect_output(instance, "echo kept > /root/kept", "");
    described(instance, "container", "id", first, sizeof first);
    assert_int_equal(docker->stop(instance, NULL), CODE_EXECUTOR_OK);
    snprintf(path, sizeof path, "/containers/%s/json", name);
    assert_int_equal(ask("GET", path, NULL, &answer), 200);
    assert_string_equal(json_string(json_member(answer.json, "State"), "Status"), "exited");
    expect_output(instance, "cat /root/kept", "kept\n");
    described(instance, "container", "id", second, sizeof second);
    assert_string_equal(first, second);
    docker->destroy(instance);
    assert_true(container_exists(name));
    snprintf(path, sizeof path, "/containers/%s?force=1", name);
    ask("DELETE", path, NULL, NULL);
}

static void kept_container_that_somebody_removed_is_made_anew(void **state)
{
    (void)state;
    const char *name = unique_name();
    code_executor_instance *instance =
        make_instance("'container_name': '%s', 'auto_remove': false", name);
    char path[300];
    start(instance);
    assert_int_equal(docker->stop(instance, NULL), CODE_EXECUTOR_OK);
    snprintf(path, sizeof path, "/containers/%s?force=1", name);
    assert_int_equal(ask("DELETE", path, NULL, NULL), 204);
    expect_output(instance, "echo again", "again\n");
    docker->destroy(instance);
    ask("DELETE", path, NULL, NULL);
}

static void stop_container_false_leaves_it_running(void **state)
{
    (void)state;
    const char *name = unique_name();
    code_executor_instance *instance =
        make_instance("'container_name': '%s', 'stop_container': false", name);
    char path[300];
    expect_output(instance, "(while sleep 0.1; do date > alive; done) > /dev/null 2>&1 &", "");
    docker->destroy(instance);
    pause_ms(500);
    struct answer CLEANUP_ANSWER answer = {0};
    snprintf(path, sizeof path, "/containers/%s/json", name);
    assert_int_equal(ask("GET", path, NULL, &answer), 200);
    assert_string_equal(json_string(json_member(answer.json, "State"), "Status"), "running");
    snprintf(path, sizeof path, "%s/alive", workspace);
    unlink(path);
    for (int i = 0; i < 500 && access(path, F_OK) != 0; i++)
        pause_ms(20);
    assert_int_equal(access(path, F_OK), 0);
    snprintf(path, sizeof path, "/containers/%s?force=1", name);
    assert_int_equal(ask("DELETE", path, NULL, NULL), 204);
}

static void container_left_running_makes_room_for_the_next_start(void **state)
{
    (void)state;
    const char *name = unique_name();
    code_executor_instance *instance =
        make_instance("'container_name': '%s', 'stop_container': false", name);
    char path[300];
    expect_output(instance, "touch /tmp/trace", "");
    assert_int_equal(docker->stop(instance, NULL), CODE_EXECUTOR_OK);
    assert_true(container_exists(name));
    expect_output(instance, "ls /tmp", "");
    docker->destroy(instance);
    snprintf(path, sizeof path, "/containers/%s?force=1", name);
    assert_int_equal(ask("DELETE", path, NULL, NULL), 204);
}

static void describe_tells_what_it_is(void **state)
{
    (void)state;
    code_executor_instance *instance =
        make_instance("'image': 'python:3-slim', 'bind_dir': '%s'", workspace);
    char text[512];
    described(instance, NULL, "bind_dir", text, sizeof text);
    assert_string_equal(text, workspace);
    described(instance, NULL, "isolation", text, sizeof text);
    assert_non_null(strstr(text, "python:3-slim"));
    described(instance, "container", "id", text, sizeof text);
    assert_string_equal(text, "");
    start(instance);
    described(instance, "container", "id", text, sizeof text);
    assert_int_equal(strlen(text), 64);
    described(instance, "engine", "api_version", text, sizeof text);
    assert_string_equal(text, engine->version);
    docker->destroy(instance);
}

/* ---- the runner's volume ----------------------------------------------------------------------- */

/* The volume that INSTANCE, which has been started, uses. */
static void runner_volume(code_executor_instance *instance, char name[128])
{
    char id[256], path[300];
    struct answer CLEANUP_ANSWER answer = {0};
    described(instance, "container", "id", id, sizeof id);
    snprintf(path, sizeof path, "/containers/%s/json", id);
    assert_int_equal(ask("GET", path, NULL, &answer), 200);
    json_object *mounts = json_member(answer.json, "Mounts");
    name[0] = '\0';
    for (size_t i = 0; i < json_object_array_length(mounts); i++) {
        const char *found = json_string(json_object_array_get_idx(mounts, i), "Name");
        if (found)
            snprintf(name, 128, "%s", found);
    }
    assert_true(name[0] != '\0');
}

static void find_runner_volume(char name[128])
{
    code_executor_instance *instance = make_instance("%s", "");
    start(instance);
    runner_volume(instance, name);
    docker->destroy(instance);
}

static void remove_runner_volume(void)
{
    char name[128], path[300];
    find_runner_volume(name);
    snprintf(path, sizeof path, "/volumes/%s", name);
    assert_int_equal(ask("DELETE", path, NULL, NULL), 204);
}

static void runner_cannot_be_changed_from_inside(void **state)
{
    (void)state;
    code_executor_instance *instance = make_instance("%s", "");
    code_executor_result *result = run(instance, "sh",
                                       "cp /bin/true /.code_executor/runner;"
                                       "rm -f /.code_executor/runner; touch /.code_executor/x;"
                                       "mount -o remount,rw /.code_executor; echo tried");
    assert_non_null(strstr(result->output, "Read-only file system"));
    docker->result_free(result);
    docker->destroy(instance);
    instance = make_instance("%s", "");
    expect_output(instance, "echo unharmed", "unharmed\n");
    docker->destroy(instance);
}

static void missing_volume_is_made_again(void **state)
{
    (void)state;
    remove_runner_volume();
    code_executor_instance *instance = make_instance("%s", "");
    expect_output(instance, "echo ok", "ok\n");
    assert_int_equal(docker->stop(instance, NULL), CODE_EXECUTOR_OK);
    remove_runner_volume(); /* behind the back of an instance that has seen it */
    expect_output(instance, "echo ok", "ok\n");
    docker->destroy(instance);
}

static void truncated_runner_is_replaced(void **state)
{
    (void)state;
    char volume[128];
    find_runner_volume(volume);
    code_executor_instance *other = make_instance("'extra_volumes': ['%s:/broken']", volume);
    expect_output(other,
                  "cp /broken/runner /tmp/whole && rm /broken/runner && "
                  "head -c 5000 /tmp/whole > /broken/runner && chmod 555 /broken/runner",
                  "");
    docker->destroy(other);
    code_executor_instance *instance = make_instance("%s", "");
    expect_output(instance, "echo ok", "ok\n");
    docker->destroy(instance);
}

static void *start_one(void *status)
{
    code_executor_instance *instance = make_instance("%s", "");
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    *(int32_t *)status = docker->start(instance, &error);
    if (error.message[0])
        fprintf(stderr, "%s\n", error.message);
    docker->destroy(instance);
    return NULL;
}

static void many_may_fill_the_volume_at_once(void **state)
{
    (void)state;
    enum { COUNT = 6 };
    pthread_t threads[COUNT];
    int32_t status[COUNT];
    remove_runner_volume();
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, start_one, &status[i]), 0);
    for (size_t i = 0; i < COUNT; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(status[i], CODE_EXECUTOR_OK);
}

/* ---- manners ----------------------------------------------------------------------------------- */

enum { DESCRIPTORS = 1024 };

static void note_open(bool was_open[DESCRIPTORS])
{
    for (int fd = 0; fd < DESCRIPTORS; fd++)
        was_open[fd] = fcntl(fd, F_GETFD) >= 0;
}

static void every_descriptor_is_close_on_exec(void **state)
{
    (void)state;
    bool was_open[DESCRIPTORS];
    note_open(was_open);
    code_executor_instance *instance = make_instance("%s", "");
    expect_output(instance, "echo up", "up\n");
    for (int fd = 0; fd < DESCRIPTORS; fd++) {
        int flags = fcntl(fd, F_GETFD);
        if (!was_open[fd] && flags >= 0 && !(flags & FD_CLOEXEC))
            fail_msg("descriptor %d is not close-on-exec", fd);
    }
    docker->destroy(instance);
}

static void forked_child_holds_no_descriptor(void **state)
{
    (void)state;
    bool was_open[DESCRIPTORS], is_open[DESCRIPTORS];
    note_open(was_open);
    code_executor_instance *instance = make_instance("%s", "");
    start(instance);
    pid_t child = fork();
    if (child == 0) {
        note_open(is_open);
        for (int fd = 0; fd < DESCRIPTORS; fd++)
            if (is_open[fd] && !was_open[fd])
                _exit(1);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    expect_output(instance, "echo still up", "still up\n");
    docker->destroy(instance);
}

static void nothing_is_left_in_the_host(void **state)
{
    (void)state;
    struct sigaction before[32], after;
    for (int number = 1; number < 32; number++)
        sigaction(number, NULL, &before[number]);
    size_t descriptors = descriptor_count(), threads = thread_count();
    for (int i = 0; i < 3; i++) {
        code_executor_instance *instance = make_instance("%s", "");
        expect_output(instance, "echo up", "up\n");
        assert_int_equal(thread_count(), threads);
        docker->destroy(instance);
    }
    assert_int_equal(descriptor_count(), descriptors);
    for (int number = 1; number < 32; number++) {
        sigaction(number, NULL, &after);
        assert_true(before[number].sa_handler == after.sa_handler);
    }
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void proxies_of_the_environment_are_ignored(void **state)
{
    (void)state;
    setenv("http_proxy", "http://127.0.0.1:9", 1);
    setenv("all_proxy", "http://127.0.0.1:9", 1);
    code_executor_instance *instance = make_instance("%s", "");
    expect_output(instance, "echo up", "up\n");
    docker->destroy(instance);
    unsetenv("http_proxy");
    unsetenv("all_proxy");
}

/* ---- no engine --------------------------------------------------------------------------------- */

static void expect_start_fails(code_executor_instance *instance, int32_t status,
                               const char *const *words)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    int32_t got = docker->start(instance, &error);
    if (got != status)
        fail_msg("status %d, not %d: %s", got, status, error.message);
    for (; *words; words++)
        if (!strstr(error.message, *words))
            fail_msg("\"%s\" is not in: %s", *words, error.message);
    docker->destroy(instance);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void absent_engine_is_named_with_the_way_out(void **state)
{
    (void)state;
    expect_start_fails(make_instance("'docker_host': 'unix://%s/none'", workspace),
                       CODE_EXECUTOR_UNAVAILABLE,
                       WORDS("no Docker engine is running", workspace, "docker_host", "dockerd"));
}

static int listen_at(char address[300])
{
    static int number;
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    snprintf(name.sun_path, sizeof name.sun_path, "%.80s/l%d", workspace, number++);
    snprintf(address, 300, "unix://%s", name.sun_path);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(listener >= 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&name, sizeof name), 0);
    assert_int_equal(listen(listener, 8), 0);
    return listener;
}

static void socket_of_a_dead_engine_is_told_apart(void **state)
{
    (void)state;
    char address[300];
    close(listen_at(address));
    expect_start_fails(make_instance("'docker_host': '%s'", address), CODE_EXECUTOR_UNAVAILABLE,
                       WORDS("nobody listens", address));
}

static void missing_permission_names_the_group(void **state)
{
    (void)state;
    char address[300];
    int listener = listen_at(address);
    if (geteuid() != 0) {
        close(listener);
        skip();
    }
    chmod(workspace, 0755);
    chmod(address + strlen("unix://"), 0660);
    pid_t child = fork();
    if (child == 0) {
        code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
        if (setgid(65534) != 0 || setuid(65534) != 0)
            _exit(2);
        code_executor_instance *instance = make_instance("'docker_host': '%s'", address);
        int32_t status = docker->start(instance, &error);
        fprintf(stderr, "%s\n", error.message);
        _exit(status == CODE_EXECUTOR_DENIED && strstr(error.message, "group root, mode 660") ? 0
                                                                                              : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    close(listener);
    chmod(workspace, 0700);
    assert_int_equal(status, 0);
}

static void what_speaks_no_http_is_no_engine(void **state)
{
    (void)state;
    struct relay relay = relay_start(
        (struct relay_options){.answer_for = "/_ping", .answer = "SSH-2.0-OpenSSH_9.2\r\n"});
    expect_start_fails(make_instance("'docker_host': '%s'", relay.address), CODE_EXECUTOR_PROTOCOL,
                       WORDS("no Docker engine", relay.address));
    relay_kill(&relay);
}

static void web_server_is_no_engine(void **state)
{
    (void)state;
    struct relay relay = relay_start((struct relay_options){
        .answer_for = "/_ping", .answer = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"});
    expect_start_fails(make_instance("'docker_host': '%s'", relay.address), CODE_EXECUTOR_PROTOCOL,
                       WORDS("no Docker engine", "404"));
    relay_kill(&relay);
}

/* ---- the wire ---------------------------------------------------------------------------------- */

static void everything_may_come_byte_by_byte(void **state)
{
    (void)state;
    struct relay relay = relay_start((struct relay_options){.chunk = 1});
    code_executor_instance *instance = make_instance("'docker_host': '%s'", relay.address);
    expect_output(instance, "echo slow; head -c 20000 /dev/zero | tr '\\0' x | wc -c",
                  "slow\n20000\n");
    code_executor_result *result =
        run(instance, "python", "print('y' * 30000)\nimport sys\nprint('z', file=sys.stderr)");
    assert_int_equal(result->exit_code, 0);
    assert_int_equal(result->blocks[0]->stdout_length, 30001);
    docker->result_free(result);
    docker->destroy(instance);
    relay_kill(&relay);
}

/* ---- images ------------------------------------------------------------------------------------ */

static void missing_image_that_cannot_be_pulled_says_so(void **state)
{
    (void)state;
    code_executor_instance *instance = make_instance("'image': 'localhost:1/no/such:image'");
    expect_start_fails(instance, CODE_EXECUTOR_UNAVAILABLE,
                       WORDS("localhost:1/no/such:image", "docker load"));
}

static void pull_never_asks_no_registry(void **state)
{
    (void)state;
    code_executor_instance *instance =
        make_instance("'image': 'localhost:1/no/such:image', 'pull': 'never'");
    expect_start_fails(instance, CODE_EXECUTOR_NOT_FOUND,
                       WORDS("localhost:1/no/such:image", "docker pull"));
}

struct seen {
    char what[256];
    uint64_t done;
    uint64_t total;
    int calls;
};

static void see(void *user_data, const char *what, uint64_t done, uint64_t total)
{
    struct seen *seen = user_data;
    snprintf(seen->what, sizeof seen->what, "%s", what);
    assert_true(done <= total);
    seen->done = done;
    seen->total = total;
    seen->calls++;
}

static const char layers[] =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
    "{\"status\":\"Pulling from library/python\",\"id\":\"3-slim\"}\r\n"
    "{\"status\":\"Pulling fs layer\",\"progressDetail\":{},\"id\":\"aaa\"}\r\n"
    "{\"status\":\"Downloading\",\"progressDetail\":{\"current\":100,\"total\":1000},"
    "\"progress\":\"[=>]\",\"id\":\"aaa\"}\r\n"
    "{\"status\":\"Downloading\",\"progressDetail\":{\"current\":20,\"total\":500},"
    "\"id\":\"bbb\"}\r\n";

static void pull_that_breaks_off_shows_how_far_it_came(void **state)
{
    (void)state;
    char answer[2048];
    struct seen seen = {.calls = 0};
    const code_executor_host host = {
        .struct_size = sizeof host, .user_data = &seen, .progress = see};
    snprintf(answer, sizeof answer,
             "%s{\"errorDetail\":{\"message\":\"unexpected end of the registry\"},"
             "\"error\":\"unexpected end of the registry\"}\r\n",
             layers);
    struct relay relay = relay_start(
        (struct relay_options){.answer_for = "/images/create", .answer = answer, .chunk = 7});
    test_host = &host;
    code_executor_instance *instance =
        make_instance("'docker_host': '%s', 'image': 'localhost:1/no/such:image'", relay.address);
    test_host = NULL;
    expect_start_fails(instance, CODE_EXECUTOR_UNAVAILABLE,
                       WORDS("unexpected end of the registry"));
    relay_kill(&relay);
    assert_true(seen.calls > 0);
    assert_true(seen.done < seen.total);
    assert_non_null(strstr(seen.what, "localhost:1/no/such:image"));
}

static void pull_that_ends_without_an_image_is_an_error(void **state)
{
    (void)state;
    struct relay relay =
        relay_start((struct relay_options){.answer_for = "/images/create", .answer = layers});
    code_executor_instance *instance =
        make_instance("'docker_host': '%s', 'image': 'localhost:1/no/such:image'", relay.address);
    expect_start_fails(instance, CODE_EXECUTOR_NOT_FOUND, WORDS("not there all the same"));
    relay_kill(&relay);
}

static void *cancel_soon(void *instance)
{
    pause_ms(700);
    docker->cancel(instance, 0, NULL);
    return NULL;
}

static void pull_can_be_cancelled(void **state)
{
    (void)state;
    struct relay relay = relay_start((struct relay_options){.swallow = "/images/create"});
    pthread_t thread;
    code_executor_instance *instance =
        make_instance("'docker_host': '%s', 'pull': 'always'", relay.address);
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, instance), 0);
    assert_int_equal(docker->start(instance, NULL), CODE_EXECUTOR_CANCELLED);
    pthread_join(thread, NULL);
    docker->destroy(instance);
    relay_kill(&relay);
}

static void credentials_are_sent_with_a_pull(void **state)
{
    (void)state;
    /* {"username":"ann","password":"se>?cret"}, in base64 for URLs */
    struct relay relay = relay_start((struct relay_options){
        .answer_for =
            "X-Registry-Auth: eyJ1c2VybmFtZSI6ImFubiIsInBhc3N3b3JkIjoic2U-P2NyZXQifQ==\r\n",
        .answer =
            "HTTP/1.1 500 Seen\r\nContent-Length: 27\r\n\r\n{\"message\":\"they are seen\"}"});
    code_executor_instance *instance =
        make_instance("'docker_host': '%s', 'image': 'localhost:1/no/such:image', "
                      "'registry_auth': {'username': 'ann', 'password': 'se>?cret'}",
                      relay.address);
    expect_start_fails(instance, CODE_EXECUTOR_UNAVAILABLE, WORDS("they are seen"));
    relay_kill(&relay);
}

/* An image like python:3-slim but for CHANGES, in the words of a Dockerfile, escaped for a query. */
static void make_image(const char *name, const char *changes)
{
    char path[1024];
    struct answer CLEANUP_ANSWER answer = {0};
    assert_int_equal(ask("POST", "/containers/create", "{\"Image\": \"python:3-slim\"}", &answer),
                     201);
    char id[80];
    snprintf(id, sizeof id, "%s", json_string(answer.json, "Id"));
    snprintf(path, sizeof path, "/commit?container=%s&repo=%s&%s", id, name, changes);
    assert_int_equal(ask("POST", path, "{}", NULL), 201);
    snprintf(path, sizeof path, "/containers/%s", id);
    assert_int_equal(ask("DELETE", path, NULL, NULL), 204);
}

static void remove_image(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "/images/%s?force=1", name);
    ask("DELETE", path, NULL, NULL);
}

static void settings_of_the_image_do_not_get_in_the_way(void **state)
{
    (void)state;
    static const char name[] = "code-executor-test-settings";
    if (engine->is_podman) /* whose /commit is answered with an error */
        skip();
    make_image(name, "changes=ENTRYPOINT%20%5B%22/bin/false%22%5D&changes=CMD%20%5B%22x%22%5D&"
                     "changes=WORKDIR%20/var&changes=USER%2065534&changes=ENV%20A%3Db&"
                     "changes=HEALTHCHECK%20CMD%20false");
    chmod(workspace, 0777);
    code_executor_instance *instance = make_instance("'image': '%s'", name);
    expect_output(instance, "id -u; pwd; echo $A", "65534\n/workspace\nb\n");
    docker->destroy(instance);
    chmod(workspace, 0700);
    remove_image(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_runs_in_a_container_of_its_own),
        cmocka_unit_test(workspace_is_shared_with_the_container),
        cmocka_unit_test(stop_removes_and_start_makes_a_fresh_one),
        cmocka_unit_test(restart_ends_every_process_and_keeps_the_workspace),
        cmocka_unit_test(given_name_is_used),
        cmocka_unit_test(name_in_use_says_by_whom_and_what_to_do),
        cmocka_unit_test(auto_remove_false_keeps_the_container_stopped),
        cmocka_unit_test(kept_container_that_somebody_removed_is_made_anew),
        cmocka_unit_test(stop_container_false_leaves_it_running),
        cmocka_unit_test(container_left_running_makes_room_for_the_next_start),
        cmocka_unit_test(describe_tells_what_it_is),
        cmocka_unit_test(runner_cannot_be_changed_from_inside),
        cmocka_unit_test(missing_volume_is_made_again),
        cmocka_unit_test(truncated_runner_is_replaced),
        cmocka_unit_test(many_may_fill_the_volume_at_once),
        cmocka_unit_test(every_descriptor_is_close_on_exec),
        cmocka_unit_test(forked_child_holds_no_descriptor),
        cmocka_unit_test(nothing_is_left_in_the_host),
        cmocka_unit_test(proxies_of_the_environment_are_ignored),
        cmocka_unit_test(absent_engine_is_named_with_the_way_out),
        cmocka_unit_test(socket_of_a_dead_engine_is_told_apart),
        cmocka_unit_test(missing_permission_names_the_group),
        cmocka_unit_test(what_speaks_no_http_is_no_engine),
        cmocka_unit_test(web_server_is_no_engine),
        cmocka_unit_test(everything_may_come_byte_by_byte),
        cmocka_unit_test(missing_image_that_cannot_be_pulled_says_so),
        cmocka_unit_test(pull_never_asks_no_registry),
        cmocka_unit_test(pull_that_breaks_off_shows_how_far_it_came),
        cmocka_unit_test(pull_that_ends_without_an_image_is_an_error),
        cmocka_unit_test(pull_can_be_cancelled),
        cmocka_unit_test(credentials_are_sent_with_a_pull),
        cmocka_unit_test(settings_of_the_image_do_not_get_in_the_way),
    };
    return docker_test_main("docker", tests, sizeof tests / sizeof tests[0]);
}
