/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_versions.c: engines that know other versions of the API than this executor does.
 *
 * The relay plays them in front of the real engine: it refuses versions in the words of those engines, and
 * passes on what is left under a version that the real one knows.
 */
#include "docker_support.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Everything that asks the engine for something: what it refuses would fail. */
static void converse(const char *address, const char *version)
{
    char name[256], used[32];
    code_executor_instance *instance =
        make_instance("'docker_host': '%s', 'auto_remove': false, 'user': 'auto', "
                      "'init_command': 'true'",
                      address);
    expect_output(instance, "echo one", "one\n");
    described(instance, "engine", "api_version", used, sizeof used);
    assert_string_equal(used, version);
    described(instance, "container", "name", name, sizeof name);
    assert_int_equal(docker->restart(instance, NULL), CODE_EXECUTOR_OK);
    expect_output(instance, "echo two", "two\n");
    assert_int_equal(docker->stop(instance, NULL), CODE_EXECUTOR_OK);
    expect_output(instance, "echo three", "three\n");
    docker->destroy(instance);
    container_remove(name);
    instance = make_instance("'docker_host': '%s'", address);
    expect_output(instance, "exit 0", "");
    docker->destroy(instance);
    expect_container_count(0);
}

static const struct {
    int minimum, newest;
    const char *version; /* that is then spoken */
} engines[] = {
    {24, 41, "1.41"}, /* Docker 20.10 */
    {24, 44, "1.44"}, /* Docker 25 */
    {44, 52, "1.51"}, /* Docker 29 */
    {77, 85, "1.77"}, /* one of days to come */
};

static void a_version_is_spoken_that_both_know(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++) {
        struct relay relay = relay_start((struct relay_options){.minimum_minor = engines[i].minimum,
                                                                .newest_minor = engines[i].newest});
        converse(relay.address, engines[i].version);
        relay_kill(&relay);
    }
}

static void an_engine_that_is_too_old_is_refused(void **state)
{
    (void)state;
    struct relay relay = relay_start((struct relay_options){
        .answer_for = "/_ping",
        .answer = "HTTP/1.1 200 OK\r\nApi-Version: 1.24\r\nContent-Length: 2\r\n\r\nOK"});
    expect_start_fails(make_instance("'docker_host': '%s'", relay.address),
                       CODE_EXECUTOR_UNSUPPORTED, WORDS("1.24", "at least 1.30", "17.06"));
    relay_kill(&relay);
}

/* Before Docker 1.13 a ping did not tell the version. */
static void an_engine_of_the_first_days_is_asked_for_its_version(void **state)
{
    (void)state;
    struct relay relay = relay_start((struct relay_options){
        .answer_for = "GET /",
        .answer = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 21\r\n\r\n"
                  "{\"ApiVersion\":\"1.24\"}"});
    expect_start_fails(make_instance("'docker_host': '%s'", relay.address),
                       CODE_EXECUTOR_UNSUPPORTED, WORDS("1.24", "at least 1.30"));
    relay_kill(&relay);
}

static void a_version_that_is_none_is_no_engine(void **state)
{
    (void)state;
    static const char *const versions[] = {"banana", "2.0", "1.", "-1", "1.99999"};
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "HTTP/1.1 200 OK\r\nApi-Version: %s\r\nContent-Length: 2\r\n\r\nOK", versions[i]);
        struct relay relay =
            relay_start((struct relay_options){.answer_for = "/_ping", .answer = text});
        code_executor_instance *instance = make_instance("'docker_host': '%s'", relay.address);
        assert_int_not_equal(docker->start(instance, NULL), CODE_EXECUTOR_OK);
        docker->destroy(instance);
        relay_kill(&relay);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_version_is_spoken_that_both_know),
        cmocka_unit_test(an_engine_that_is_too_old_is_refused),
        cmocka_unit_test(an_engine_of_the_first_days_is_asked_for_its_version),
        cmocka_unit_test(a_version_that_is_none_is_no_engine),
    };
    return docker_test_main("docker_versions", tests, sizeof tests / sizeof tests[0]);
}
