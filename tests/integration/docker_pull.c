/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_pull.c: pulls from real registries (test_registry.py), with credentials and without, whole and
 * broken off.
 */
#include "docker_images.h"
#include "docker_support.h"
#include "json.h"
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define OPEN   "localhost:5000/team/"
#define LOCKED "localhost:5001/team/"
#define FRAIL  "localhost:5002/team/"

/* Large enough to be cut in its midst. */
#define LAYER_SIZE "8000000"

/* ---- the registries ---------------------------------------------------------------------------- */

static pid_t registry_pid;
static FILE *to_registry, *from_registry;

static void expect_word(const char *word)
{
    char line[64] = "";
    if (!fgets(line, sizeof line, from_registry))
        fail_msg("the registry has ended; its logs are in %s", workspace);
    assert_int_equal(strncmp(line, word, strlen(word)), 0);
}

/* What the relay is to be like. */
static void become(const char *command)
{
    fprintf(to_registry, "%s\n", command);
    fflush(to_registry);
    expect_word("ok");
}

static bool start_registry(void)
{
    int input[2], output[2];
    if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0)
        return false;
    registry_pid = fork();
    if (registry_pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        dup2(input[0], STDIN_FILENO);
        dup2(output[1], STDOUT_FILENO);
        execl(TEST_ENGINE_SCRIPT, TEST_ENGINE_SCRIPT, "exec", "python3", TEST_REGISTRY, workspace,
              (char *)NULL);
        _exit(127);
    }
    close(input[0]);
    close(output[1]);
    to_registry = fdopen(input[1], "w");
    from_registry = fdopen(output[0], "r");
    return registry_pid > 0 && to_registry && from_registry;
}

/* Its standard input is its leash. */
static int stop_registry(void **state)
{
    (void)state;
    fclose(to_registry);
    fclose(from_registry);
    waitpid(registry_pid, NULL, 0);
    return 0;
}

static void push(const char *name)
{
    char path[256];
    struct answer CLEANUP_ANSWER answer = {0};
    http_transfer *transfer = NULL;
    const char *tag = strrchr(name, ':');
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    snprintf(path, sizeof path, "/images/%.*s/push?tag=%s", (int)(tag - name), name, tag + 1);
    http_request request = {.method = "POST", .path = path, .header = "X-Registry-Auth: e30="};
    if (engine_begin(engine, request, &transfer, &error) != CODE_EXECUTOR_OK ||
        engine_finish(engine, transfer, 120000, &answer, &error) != CODE_EXECUTOR_OK)
        fail_msg("%s", error.message);
    const char *body = http_body(transfer, NULL);
    if (answer.status != 200 || strstr(body, "\"error\""))
        fail_msg("%s is not pushed: %s", name, body);
    http_end(transfer);
}

/* An image that prints VERSION when asked, in the registry and no longer in the engine. */
static void publish(const char *name, const char *version)
{
    char script[512];
    snprintf(script, sizeof script,
             BUSYBOX "echo %s > version; head -c " LAYER_SIZE " /dev/urandom > weight", version);
    image_make(name, script, "ENV PATH=/bin\n");
    push(name);
    image_remove(name);
}

static int set_up(void **state)
{
    (void)state;
    char path[4096];
    snprintf(path, sizeof path, "%s:%s", workspace, getenv("PATH"));
    setenv("PATH", path, 1);
    setenv("DOCKER_CONFIG", workspace, 1);
    if (!start_registry())
        return 1;
    expect_word("ready");
    publish(OPEN "image:1", "one");
    return 0;
}

/* ---- credentials ------------------------------------------------------------------------------- */

/* In the folder that DOCKER_CONFIG names. */
static void write_file(const char *name, mode_t mode, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", workspace, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static int forget_credentials(void **state)
{
    (void)state;
    write_file("config.json", 0600, "{}");
    become("pass");
    image_remove(OPEN "image:1");
    image_remove(LOCKED "image:1");
    image_remove(FRAIL "image:1");
    return 0;
}

static void expect_pulled(const char *image, const char *more)
{
    code_executor_instance *instance = make_instance("'image': '%s'%s", image, more);
    expect_output(instance, "cat /version", "one\n");
    docker->destroy(instance);
}

static void expect_denied(const char *image, const char *more, const char *words)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_instance *instance = make_instance("'image': '%s'%s", image, more);
    int32_t status = docker->start(instance, &error);
    if (status != CODE_EXECUTOR_DENIED || !strstr(error.message, words))
        fail_msg("status %d, %s", status, error.message);
    assert_null(strstr(error.message, "wrong"));
    assert_null(strstr(error.message, "se>?cret"));
    docker->destroy(instance);
}

#define GIVEN(password) ", 'registry_auth': {'username': 'ann', 'password': '" password "'}"

static char logged[65536];

static void take_log(void *user_data, int32_t level, const char *message)
{
    (void)user_data;
    (void)level;
    size_t length = strlen(logged);
    snprintf(logged + length, sizeof logged - length, "%s\n", message);
}

/* At no level, whether they open the registry or not. */
static void secrets_are_in_no_log_and_no_description(void **state)
{
    (void)state;
    static const char *const given[] = {GIVEN("wrong"), GIVEN("se>?cret"), ""};
    static const char *const secrets[] = {"wrong", "se>?cret", "c2U+P2NyZXQ", "c2U-P2NyZXQ",
                                          "YW5uOnNlPj9jcmV0"};
    const code_executor_host host = {.struct_size = sizeof host, .log = take_log};
    logged[0] = '\0';
    write_file("config.json", 0600,
               "{\"auths\":{\"localhost:5001\":{\"auth\":\"YW5uOnNlPj9jcmV0\"}}}");
    for (size_t i = 0; i < 3; i++) {
        char *description = NULL;
        test_host = &host;
        code_executor_instance *instance =
            make_instance("'image': '" LOCKED "image:1'%s", given[i]);
        test_host = NULL;
        docker->start(instance, NULL);
        assert_int_equal(docker->describe(instance, &description, NULL), CODE_EXECUTOR_OK);
        take_log(NULL, 0, description);
        docker->string_free(description);
        docker->destroy(instance);
        image_remove(LOCKED "image:1");
    }
    assert_non_null(strstr(logged, "with the credentials of registry_auth"));
    for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++)
        if (strstr(logged, secrets[i]))
            fail_msg("%s", logged);
}

static void registry_with_a_lock_wants_credentials(void **state)
{
    (void)state;
    expect_denied(LOCKED "image:1", "", "docker login localhost:5001");
    expect_denied(LOCKED "image:1", "", "config.json");
}

static void credentials_of_the_option_open_it(void **state)
{
    (void)state;
    expect_denied(LOCKED "image:1", GIVEN("wrong"),
                  "does not accept the credentials of registry_auth");
    expect_pulled(LOCKED "image:1", GIVEN("se>?cret"));
}

static void credentials_of_docker_login_open_it(void **state)
{
    (void)state;
    write_file("config.json", 0600, "{\"auths\":{\"localhost:5001\":{\"auth\":\"YW5uOndyb25n\"}}}");
    expect_denied(LOCKED "image:1", "", "does not accept the credentials of /tmp");
    write_file("config.json", 0600,
               "{\"auths\":{\"localhost:5001\":{\"auth\":\"YW5uOnNlPj9jcmV0\"}}}");
    expect_pulled(LOCKED "image:1", "");
}

#define HELPER(lines) "#!/bin/sh\nread -r server\n" lines "\n"

static void credentials_of_a_helper_open_it(void **state)
{
    (void)state;
    write_file("config.json", 0600, "{\"credHelpers\":{\"localhost:5001\":\"test\"}}");
    write_file("docker-credential-test", 0700, HELPER("echo 'the key ring is locked'; exit 1"));
    expect_denied(LOCKED "image:1", "", "docker-credential-test failed: the key ring is locked");
    write_file("docker-credential-test", 0700,
               HELPER("echo '{\"Username\":\"ann\",\"Secret\":\"wrong\"}'"));
    expect_denied(LOCKED "image:1", "", "the credentials of docker-credential-test");
    write_file("docker-credential-test", 0700,
               HELPER("[ $server = localhost:5001 ] && "
                      "echo '{\"Username\":\"ann\",\"Secret\":\"se>?cret\"}'"));
    expect_pulled(LOCKED "image:1", "");
}

static void broken_helper_keeps_nobody_from_an_open_registry(void **state)
{
    (void)state;
    write_file("config.json", 0600, "{\"credsStore\":\"no-such\"}");
    expect_pulled(OPEN "image:1", "");
}

/* Also where they are not asked for, as with docker itself. */
static void credentials_do_no_harm_to_an_open_registry(void **state)
{
    (void)state;
    expect_pulled(OPEN "image:1", GIVEN("wrong"));
}

/* ---- pulls ------------------------------------------------------------------------------------- */

struct seen {
    atomic_int calls;
    bool counted, ended;
    char what[320];
};

static void see(void *user_data, const char *what, uint64_t done, uint64_t total)
{
    struct seen *seen = user_data;
    assert_true(done <= total);
    seen->counted = seen->counted || (done > 0 && done < total);
    seen->ended = done == total;
    snprintf(seen->what, sizeof seen->what, "%s", what);
    seen->calls++;
}

static code_executor_instance *watched_instance(struct seen *seen, const code_executor_host *host,
                                                const char *image)
{
    *seen = (struct seen){.counted = false};
    test_host = host;
    code_executor_instance *instance = make_instance("'image': '%s'", image);
    test_host = NULL;
    return instance;
}

static void progress_is_counted_in_bytes(void **state)
{
    (void)state;
    struct seen seen;
    const code_executor_host host = {
        .struct_size = sizeof host, .user_data = &seen, .progress = see};
    become("slow 6000000");
    code_executor_instance *instance = watched_instance(&seen, &host, FRAIL "image:1");
    expect_output(instance, "cat /version", "one\n");
    docker->destroy(instance);
    assert_true(seen.counted);
    assert_true(seen.ended);
    assert_non_null(strstr(seen.what, FRAIL "image:1, 1 of 1 layers"));
}

static void always_asks_for_what_is_new_and_missing_does_not(void **state)
{
    (void)state;
    publish(OPEN "changing:1", "old");
    code_executor_instance *missing = make_instance("'image': '" OPEN "changing:1'");
    code_executor_instance *always =
        make_instance("'image': '" OPEN "changing:1', 'pull': 'always'");
    expect_output(missing, "cat /version", "old\n");
    expect_output(always, "cat /version", "old\n");
    image_make(OPEN "other:1", BUSYBOX "echo new > version", "ENV PATH=/bin\n");
    assert_int_equal(
        ask("POST", "/images/" OPEN "changing:1/tag?repo=" OPEN "kept&tag=1", NULL, NULL), 201);
    assert_int_equal(
        ask("POST", "/images/" OPEN "other:1/tag?repo=" OPEN "changing&tag=1", NULL, NULL), 201);
    push(OPEN "changing:1");
    assert_int_equal(
        ask("POST", "/images/" OPEN "kept:1/tag?repo=" OPEN "changing&tag=1", NULL, NULL), 201);
    docker->stop(missing, NULL);
    docker->stop(always, NULL);
    expect_output(missing, "cat /version", "old\n");
    expect_output(always, "cat /version", "new\n");
    docker->destroy(missing);
    docker->destroy(always);
    image_remove(OPEN "kept:1");
    image_remove(OPEN "changing:1");
}

static void image_may_be_named_by_its_digest(void **state)
{
    (void)state;
    char digest[256];
    struct answer CLEANUP_ANSWER answer = {0};
    expect_pulled(OPEN "image:1", "");
    assert_int_equal(ask("GET", "/images/" OPEN "image:1/json", NULL, &answer), 200);
    json_object *digests = json_member(answer.json, "RepoDigests");
    snprintf(digest, sizeof digest, "%s",
             json_object_get_string(json_object_array_get_idx(digests, 0)));
    image_remove(OPEN "image:1");
    expect_pulled(digest, "");
    image_remove(digest);
    char *last = &digest[strlen(digest) - 1];
    *last = *last == '0' ? '1' : '0';
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_instance *instance = make_instance("'image': '%s'", digest);
    assert_int_equal(docker->start(instance, &error), CODE_EXECUTOR_NOT_FOUND);
    docker->destroy(instance);
}

static void what_the_registry_does_not_have_is_not_found(void **state)
{
    (void)state;
    static const char *const table[] = {OPEN "image:2", OPEN "nothing:1"};
    for (size_t i = 0; i < 2; i++) {
        code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
        code_executor_instance *instance = make_instance("'image': '%s'", table[i]);
        assert_int_equal(docker->start(instance, &error), CODE_EXECUTOR_NOT_FOUND);
        assert_non_null(strstr(error.message, table[i]));
        docker->destroy(instance);
    }
}

static void *start_one(void *status)
{
    code_executor_instance *instance = make_instance("'image': '" FRAIL "image:1'");
    *(int32_t *)status = docker->start(instance, NULL);
    docker->destroy(instance);
    return NULL;
}

static void several_may_pull_at_once(void **state)
{
    (void)state;
    enum { COUNT = 3 };
    pthread_t threads[COUNT];
    int32_t status[COUNT];
    become("slow 8000000");
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, start_one, &status[i]), 0);
    for (size_t i = 0; i < COUNT; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(status[i], CODE_EXECUTOR_OK);
}

/* ---- broken off -------------------------------------------------------------------------------- */

static void connection_that_is_cut_midway_is_an_error_and_the_next_start_works(void **state)
{
    (void)state;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    size_t before = container_count();
    become("cut 3000000");
    code_executor_instance *instance = make_instance("'image': '" FRAIL "image:1'");
    assert_int_equal(docker->start(instance, &error), CODE_EXECUTOR_UNAVAILABLE);
    if (!strstr(error.message, FRAIL "image:1") || !strstr(error.message, "broke off"))
        fail_msg("%s", error.message);
    assert_int_equal(container_count(), before);
    become("pass");
    expect_output(instance, "cat /version", "one\n");
    docker->destroy(instance);
}

static void registry_that_is_down_is_an_error(void **state)
{
    (void)state;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    become("cut 0");
    code_executor_instance *instance = make_instance("'image': '" FRAIL "image:1'");
    assert_int_equal(docker->start(instance, &error), CODE_EXECUTOR_UNAVAILABLE);
    assert_non_null(strstr(error.message, FRAIL "image:1"));
    docker->destroy(instance);
}

struct cancelled {
    code_executor_instance *instance;
    struct seen seen;
};

/* Once it is under way. */
static void *cancel_midway(void *given)
{
    struct cancelled *cancelled = given;
    for (int i = 0; i < 1500 && cancelled->seen.calls == 0; i++)
        pause_ms(20);
    docker->cancel(cancelled->instance, 0, NULL);
    return NULL;
}

static void pull_that_is_cancelled_midway_leaves_nothing_and_can_be_begun_again(void **state)
{
    (void)state;
    struct cancelled cancelled;
    pthread_t thread;
    size_t before = container_count();
    const code_executor_host host = {
        .struct_size = sizeof host, .user_data = &cancelled.seen, .progress = see};
    become("slow 300000");
    cancelled.instance = watched_instance(&cancelled.seen, &host, FRAIL "image:1");
    assert_int_equal(pthread_create(&thread, NULL, cancel_midway, &cancelled), 0);
    assert_int_equal(docker->start(cancelled.instance, NULL), CODE_EXECUTOR_CANCELLED);
    pthread_join(thread, NULL);
    assert_true(cancelled.seen.calls > 0);
    assert_false(cancelled.seen.ended);
    assert_int_equal(container_count(), before);
    become("pass");
    expect_output(cancelled.instance, "cat /version", "one\n");
    docker->destroy(cancelled.instance);
}

/* ------------------------------------------------------------------------------------------------ */

#define TEST(name) cmocka_unit_test_teardown(name, forget_credentials)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(secrets_are_in_no_log_and_no_description),
        TEST(registry_with_a_lock_wants_credentials),
        TEST(credentials_of_the_option_open_it),
        TEST(credentials_of_docker_login_open_it),
        TEST(credentials_of_a_helper_open_it),
        TEST(broken_helper_keeps_nobody_from_an_open_registry),
        TEST(credentials_do_no_harm_to_an_open_registry),
        TEST(progress_is_counted_in_bytes),
        TEST(always_asks_for_what_is_new_and_missing_does_not),
        TEST(image_may_be_named_by_its_digest),
        TEST(what_the_registry_does_not_have_is_not_found),
        TEST(several_may_pull_at_once),
        TEST(connection_that_is_cut_midway_is_an_error_and_the_next_start_works),
        TEST(registry_that_is_down_is_an_error),
        TEST(pull_that_is_cancelled_midway_leaves_nothing_and_can_be_begun_again),
    };
    if (system("command -v docker-registry > /dev/null") != 0) /* NOLINT: a constant */
        return docker_test_skip("docker-registry is not installed");
    if (access("/bin/busybox", X_OK) != 0)
        return docker_test_skip("there is no static busybox (busybox-static)");
    if (!engine_is_ours() ||
        system(TEST_ENGINE_SCRIPT " exec true") != 0) /* NOLINT: a script of ours */
        return docker_test_skip("the engine is not that of scripts/test-engine");
    return docker_test_group("docker_pull", tests, sizeof tests / sizeof tests[0], set_up,
                             stop_registry);
}
