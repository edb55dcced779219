/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_credentials.c: where credentials for a registry come from: files of docker clients as people have
 * them, and helpers, good ones and others, that the tests write as scripts.
 */
#include "image_reference.h"
#include "json.h"
#include "registry_credentials.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define IMAGE "localhost:5000/x:1"

static char folder[64];

static void write_file(const char *name, mode_t mode, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void write_config(const char *text)
{
    write_file("config.json", 0600, text);
}

/* docker-credential-test, whose lines of shell follow. */
static void write_helper(const char *script)
{
    char text[1024];
    snprintf(text, sizeof text, "#!/bin/sh\n%s\n", script);
    write_file("docker-credential-test", 0700, text);
}

static struct registry_credentials find(const char *image, json_object *given)
{
    struct registry_credentials found;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    if (registry_credentials_find(given, image, -1, &found, &error) != CODE_EXECUTOR_OK)
        fail_msg("%s", error.message);
    return found;
}

/* Fails unless CONFIG yields these for IMAGE, as "name:password" or "token"; NULL: none, and no trouble. */
static void expect(const char *image, const char *config, const char *credentials)
{
    char text[256] = "";
    write_config(config);
    struct registry_credentials found = find(image, NULL);
    const char *token = json_string(found.auth, "identitytoken");
    if (token)
        snprintf(text, sizeof text, "%s", token);
    else if (found.auth)
        snprintf(text, sizeof text, "%s:%s", json_string(found.auth, "username"),
                 json_string(found.auth, "password"));
    if (strcmp(text, credentials ? credentials : "") != 0 || found.trouble[0])
        fail_msg("%s with %s: \"%s\", %s", image, config, text, found.trouble);
    assert_int_equal(found.origin[0] != '\0', credentials != NULL);
    registry_credentials_clear(&found);
}

/* Fails unless CONFIG yields none and TROUBLE in words. */
static void expect_trouble(const char *config, const char *trouble)
{
    write_config(config);
    struct registry_credentials found = find(IMAGE, NULL);
    assert_null(found.auth);
    if (!strstr(found.trouble, trouble))
        fail_msg("%s: %s", config, found.trouble);
    registry_credentials_clear(&found);
}

/* ---- the file ---------------------------------------------------------------------------------- */

/* ann:se>?cret */
#define AUTH "{\"auth\":\"YW5uOnNlPj9jcmV0\"}"

static void file_is_searched_by_registry(void **state)
{
    (void)state;
    expect(IMAGE, "{\"auths\":{\"localhost:5000\":" AUTH "}}", "ann:se>?cret");
    expect(IMAGE, "{\"auths\":{\"http://localhost:5000/v2/\":" AUTH "}}", "ann:se>?cret");
    expect("localhost:5000/x@sha256:00", "{\"auths\":{\"localhost:5000\":" AUTH "}}",
           "ann:se>?cret");
    expect("localhost:5001/x", "{\"auths\":{\"localhost:5000\":" AUTH "}}", NULL);
    expect("python", "{\"auths\":{\"localhost:5000\":" AUTH "}}", NULL);
    expect("python", "{\"auths\":{\"" DOCKER_HUB_KEY "\":" AUTH "}}", "ann:se>?cret");
    expect("team/python:3", "{\"auths\":{\"" DOCKER_HUB_KEY "\":" AUTH "}}", "ann:se>?cret");
}

static void entries_come_in_several_forms(void **state)
{
    (void)state;
    expect(IMAGE, "{\"auths\":{\"localhost:5000\":{\"username\":\"a\",\"password\":\"b\"}}}",
           "a:b");
    expect(IMAGE, "{\"auths\":{\"localhost:5000\":{\"auth\":\"YTpiOmM=\"}}}", "a:b:c");
    expect(IMAGE, "{\"auths\":{\"localhost:5000\":{\"auth\":\"YTo=\"}}}", "a:");
    expect(IMAGE, "{\"auths\":{\"localhost:5000\":{\"identitytoken\":\"t\"}}}", "t");
    expect(IMAGE, "{\"auths\":{\"localhost:5000\":{}}}", NULL);
    expect(IMAGE, "{\"auths\":{\"localhost:5000\":null}}", NULL);
    expect(IMAGE, "{\"auths\":[],\"credHelpers\":7,\"credsStore\":false}", NULL);
    expect(IMAGE, "{}", NULL);
}

static void missing_file_is_no_trouble(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/config.json", folder);
    unlink(path);
    struct registry_credentials found = find(IMAGE, NULL);
    assert_null(found.auth);
    assert_string_equal(found.trouble, "");
    assert_string_equal(found.file, path);
    registry_credentials_clear(&found);
}

static void home_is_where_the_file_is_by_default(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/.docker", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    write_file(".docker/config.json", 0600, "{\"auths\":{\"localhost:5000\":" AUTH "}}");
    unsetenv("DOCKER_CONFIG");
    setenv("HOME", folder, 1);
    struct registry_credentials found = find(IMAGE, NULL);
    setenv("DOCKER_CONFIG", folder, 1);
    assert_non_null(found.auth);
    registry_credentials_clear(&found);
}

static void broken_file_is_named_and_stops_nothing(void **state)
{
    (void)state;
    expect_trouble("{\"auths\":", "config.json is not a JSON object");
    expect_trouble("[]", "config.json is not a JSON object");
    expect_trouble("", "config.json is not a JSON object");
    expect_trouble("{\"auths\":{\"localhost:5000\":{\"auth\":\"?\"}}}", "base64");
    expect_trouble("{\"auths\":{\"localhost:5000\":{\"auth\":\"YWJj\"}}}", "base64");
}

static void fifo_in_place_of_the_file_holds_nobody_up(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/config.json", folder);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    struct registry_credentials found = find(IMAGE, NULL);
    assert_non_null(strstr(found.trouble, "is not a file"));
    registry_credentials_clear(&found);
}

/* ---- helpers ----------------------------------------------------------------------------------- */

#define STORE "{\"auths\":{\"localhost:5000\":{}},\"credsStore\":\"test\"}"

static void helper_is_asked_for_the_registry(void **state)
{
    (void)state;
    write_helper(
        "read -r server\n[ \"$1\" = get ] || exit 1\n"
        "echo '{\"ServerURL\":\"'$server'\",\"Username\":\"ann\",\"Secret\":\"'$server'\"}'");
    expect(IMAGE, STORE, "ann:localhost:5000");
    expect("python", STORE, "ann:" DOCKER_HUB_KEY);
    expect(IMAGE, "{\"credHelpers\":{\"localhost:5000\":\"test\"}}", "ann:localhost:5000");
    expect("python", "{\"credHelpers\":{\"localhost:5000\":\"test\"}}", NULL);
    expect(IMAGE, "{\"credHelpers\":{\"localhost:5000\":\"test\"},\"credsStore\":\"no-such\"}",
           "ann:localhost:5000");
}

static void helper_may_answer_with_a_token(void **state)
{
    (void)state;
    write_helper("echo '{\"ServerURL\":\"x\",\"Username\":\"<token>\",\"Secret\":\"t\"}'");
    expect(IMAGE, STORE, "t");
}

static void helper_without_credentials_is_no_trouble(void **state)
{
    (void)state;
    write_helper("echo 'credentials not found in native keychain'; exit 1");
    expect(IMAGE, STORE, NULL);
    expect(IMAGE, "{\"auths\":{\"localhost:5000\":" AUTH "},\"credsStore\":\"test\"}",
           "ann:se>?cret");
}

static void failing_helper_speaks_in_its_own_words(void **state)
{
    (void)state;
    write_helper("echo 'the key ring is locked'; exit 1");
    expect_trouble(STORE, "docker-credential-test failed: the key ring is locked");
    write_helper("echo 'cannot open display' >&2; exit 1");
    expect_trouble(STORE, "cannot open display");
    write_helper("exit 1");
    expect_trouble(STORE, "it says nothing");
    write_helper("kill -9 $$");
    expect_trouble(STORE, "it says nothing");
    write_helper("head -c 200000 /dev/zero | tr '\\0' x");
    expect_trouble(STORE, "failed: xxx");
    expect_trouble("{\"credsStore\":\"no-such\"}", "no program docker-credential-no-such");
    expect_trouble("{\"credsStore\":\"../test\"}", "no program docker-credential-../test");
}

static void malformed_answer_is_not_quoted(void **state)
{
    (void)state;
    write_helper("echo '{\"Username\":\"ann\",\"Secret\":\"se>?cret\"'");
    expect_trouble(STORE, "not what a credential helper answers");
    struct registry_credentials found = find(IMAGE, NULL);
    assert_null(strstr(found.trouble, "se>?cret"));
    registry_credentials_clear(&found);
}

/* Some start an agent that outlives them. */
static void helper_that_leaves_something_behind_holds_nobody_up(void **state)
{
    (void)state;
    time_t began = time(NULL);
    write_helper("sleep 20 &\necho '{\"Username\":\"ann\",\"Secret\":\"x\"}'");
    expect(IMAGE, STORE, "ann:x");
    assert_true(time(NULL) - began < 15);
}

/* The one that has written its number to the file `pid`. */
static void expect_helper_gone(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/pid", folder);
    FILE *file = fopen(path, "r");
    int pid = 0;
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%d", &pid), 1);
    fclose(file);
    const struct timespec pause = {0, 20000000};
    for (int i = 0; i < 500 && kill(pid, 0) == 0; i++)
        nanosleep(&pause, NULL);
    char stat_path[64], state_letter = 'Z';
    snprintf(stat_path, sizeof stat_path, "/proc/%d/stat", pid);
    file = fopen(stat_path, "r"); /* where nobody reaps orphans it stays as a zombie */
    if (file) {
        assert_int_equal(fscanf(file, "%*d %*s %c", &state_letter), 1);
        fclose(file);
    }
    assert_int_equal(state_letter, 'Z');
}

/* Standard output, to which nothing else will come, is at its end; the program goes on. */
static void helper_that_answers_and_stays_is_ended(void **state)
{
    (void)state;
    char script[256];
    snprintf(
        script, sizeof script,
        "echo $$ > %s/pid; echo '{\"Username\":\"ann\",\"Secret\":\"x\"}'; exec sleep 1000 >&-",
        folder);
    write_helper(script);
    expect(IMAGE, STORE, "ann:x");
    expect_helper_gone();
}

static void helper_that_hangs_is_ended_in_time(void **state)
{
    (void)state;
    char script[256];
    snprintf(script, sizeof script, "echo $$ > %s/pid; exec sleep 1000", folder);
    write_helper(script);
    write_config(STORE);
    struct registry_credentials found = find(IMAGE, NULL);
    if (!strstr(found.trouble, "docker-credential-test has not answered for 3 s"))
        fail_msg("%s", found.trouble);
    registry_credentials_clear(&found);
    expect_helper_gone();
}

static void *cancel_soon(void *descriptor)
{
    const struct timespec pause = {0, 300000000};
    nanosleep(&pause, NULL);
    assert_int_equal(eventfd_write(*(int *)descriptor, 1), 0);
    return NULL;
}

static void helper_that_hangs_can_be_cancelled(void **state)
{
    (void)state;
    struct registry_credentials found;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    pthread_t thread;
    char path[128];
    int cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    snprintf(path, sizeof path, "echo $$ > %s/pid; exec sleep 1000", folder);
    write_helper(path);
    write_config(STORE);
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, &cancel_fd), 0);
    assert_int_equal(registry_credentials_find(NULL, IMAGE, cancel_fd, &found, &error),
                     CODE_EXECUTOR_CANCELLED);
    pthread_join(thread, NULL);
    close(cancel_fd);
    expect_helper_gone();
}

static void helper_is_no_child_of_the_host(void **state)
{
    (void)state;
    write_helper("echo '{\"Username\":\"ann\",\"Secret\":\"x\"}'");
    expect(IMAGE, STORE, "ann:x");
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

/* ---- the option -------------------------------------------------------------------------------- */

static void option_comes_before_the_file(void **state)
{
    (void)state;
    write_config("{\"auths\":{\"localhost:5000\":" AUTH "}}");
    json_object *given =
        json_tokener_parse("{\"username\":\"bob\",\"password\":\"p\",\"identitytoken\":null}");
    struct registry_credentials found = find(IMAGE, given);
    assert_string_equal(json_object_to_json_string_ext(found.auth, JSON_C_TO_STRING_PLAIN),
                        "{\"username\":\"bob\",\"password\":\"p\"}");
    assert_string_equal(found.origin, "registry_auth");
    registry_credentials_clear(&found);
    json_object_put(given);
}

static void option_for_another_registry_is_refused(void **state)
{
    (void)state;
    struct registry_credentials found;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    json_object *given = json_tokener_parse(
        "{\"username\":\"bob\",\"password\":\"p\",\"serveraddress\":\"registry.example\"}");
    assert_int_equal(registry_credentials_find(given, IMAGE, -1, &found, &error),
                     CODE_EXECUTOR_INVALID);
    assert_non_null(strstr(error.message, "registry.example"));
    assert_non_null(strstr(error.message, "localhost:5000"));
    assert_int_equal(registry_credentials_find(given, "registry.example/x", -1, &found, &error),
                     CODE_EXECUTOR_OK);
    registry_credentials_clear(&found);
    json_object_put(given);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_is_searched_by_registry),
        cmocka_unit_test(entries_come_in_several_forms),
        cmocka_unit_test(missing_file_is_no_trouble),
        cmocka_unit_test(home_is_where_the_file_is_by_default),
        cmocka_unit_test(broken_file_is_named_and_stops_nothing),
        cmocka_unit_test(fifo_in_place_of_the_file_holds_nobody_up),
        cmocka_unit_test(helper_is_asked_for_the_registry),
        cmocka_unit_test(helper_may_answer_with_a_token),
        cmocka_unit_test(helper_without_credentials_is_no_trouble),
        cmocka_unit_test(failing_helper_speaks_in_its_own_words),
        cmocka_unit_test(malformed_answer_is_not_quoted),
        cmocka_unit_test(helper_that_leaves_something_behind_holds_nobody_up),
        cmocka_unit_test(helper_that_answers_and_stays_is_ended),
        cmocka_unit_test(helper_that_hangs_is_ended_in_time),
        cmocka_unit_test(helper_that_hangs_can_be_cancelled),
        cmocka_unit_test(helper_is_no_child_of_the_host),
        cmocka_unit_test(option_comes_before_the_file),
        cmocka_unit_test(option_for_another_registry_is_refused),
    };
    char path[4096], command[128];
    strcpy(folder, "/tmp/code_executor-credentials-XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s:%s", folder, getenv("PATH"));
    setenv("PATH", path, 1);
    setenv("DOCKER_CONFIG", folder, 1);
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) == 0 ? failures : 1;
}
