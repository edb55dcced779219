/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_image.c: how an image comes to be used, as an engine tells it: by a relay that makes up what engines
 * say. (docker_pull.c: from real registries.)
 */
#include "docker_support.h"
#include "json.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

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
        cmocka_unit_test(missing_image_that_cannot_be_pulled_says_so),
        cmocka_unit_test(pull_never_asks_no_registry),
        cmocka_unit_test(pull_that_breaks_off_shows_how_far_it_came),
        cmocka_unit_test(pull_that_ends_without_an_image_is_an_error),
        cmocka_unit_test(pull_can_be_cancelled),
        cmocka_unit_test(credentials_are_sent_with_a_pull),
        cmocka_unit_test(settings_of_the_image_do_not_get_in_the_way),
    };
    return docker_test_main("docker_image", tests, sizeof tests / sizeof tests[0]);
}
