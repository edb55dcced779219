/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_leftovers.c: what carries our labels on an engine is listed, and removed where nobody alive has
 * it: by the extension code_executor.leftovers/1, and volumes of other builds by a start.
 */
#include "docker_support.h"
#include "json.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static const code_executor_leftovers_v1 *leftovers(void)
{
    const code_executor_leftovers_v1 *found =
        docker->get_extension(NULL, CODE_EXECUTOR_EXTENSION_LEFTOVERS);
    assert_non_null(found);
    return found;
}

static json_object *list(void)
{
    char *json = NULL;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    if (leftovers()->list(NULL, &json, &error) != CODE_EXECUTOR_OK)
        fail_msg("list: %s", error.message);
    json_object *items = json_tokener_parse(json);
    docker->string_free(json);
    assert_true(json_object_is_type(items, json_type_array));
    return items;
}

static json_object *prune(bool all)
{
    char *json = NULL;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    if (leftovers()->prune("{}", all, &json, &error) != CODE_EXECUTOR_OK)
        fail_msg("prune: %s", error.message);
    json_object *items = json_tokener_parse(json);
    docker->string_free(json);
    return items;
}

/* The one of that name or id in ITEMS; NULL where there is none. */
static json_object *find(json_object *items, const char *name)
{
    for (size_t i = 0; i < json_object_array_length(items); i++) {
        json_object *item = json_object_array_get_idx(items, i);
        const char *its_name = json_string(item, "name"), *id = json_string(item, "id");
        if ((its_name && strcmp(its_name, name) == 0) || (id && strcmp(id, name) == 0))
            return item;
    }
    return NULL;
}

static bool alive(json_object *item)
{
    return json_object_get_boolean(json_member(json_member(item, "owner"), "alive"));
}

static void need_our_engine(void)
{
    if (!engine_is_ours()) {
        print_message("skipped: the engine is not that of scripts/test-engine\n");
        skip();
    }
}

/* ---- containers -------------------------------------------------------------------------------- */

static void container_in_use_is_listed_with_its_owner(void **state)
{
    (void)state;
    char id[256];
    code_executor_instance *instance = make_instance("%s", "");
    start(instance);
    described(instance, "container", "id", id, sizeof id);
    json_object *items = list(), *item = find(items, id);
    assert_non_null(item);
    assert_string_equal(json_string(item, "kind"), "container");
    assert_string_equal(json_string(item, "state"), "running");
    assert_non_null(strstr(json_string(item, "image"), "python:3-slim"));
    assert_int_equal(json_integer(json_member(item, "owner"), "pid"), getpid());
    assert_true(alive(item));
    assert_false(json_object_get_boolean(json_member(item, "kept")));
    assert_in_range(time(NULL) - json_integer(item, "created"), 0, 600);
    json_object_put(items);
    docker->destroy(instance);
    items = list();
    assert_null(find(items, id));
    json_object_put(items);
}

static void prune_removes_what_hosts_left_that_have_ended(void **state)
{
    (void)state;
    static const char *const ways[] = {"'stop_container': false", "'auto_remove': false"};
    char names[2][256], own[256];
    need_our_engine();
    for (size_t i = 0; i < 2; i++)
        host_kill(host_start(ways[i], NULL, names[i]));
    code_executor_instance *instance = make_instance("%s", "");
    start(instance);
    described(instance, "container", "name", own, sizeof own);
    json_object *listed = list();
    json_object *removed = prune(false);
    for (size_t i = 0; i < 2; i++) {
        json_object *item = find(listed, names[i]);
        assert_non_null(item);
        assert_false(alive(item));
        assert_int_equal(json_object_get_boolean(json_member(item, "kept")), i == 0);
        /* What was to go on does. */
        assert_int_equal(find(removed, names[i]) != NULL, i == 1);
        assert_int_equal(container_exists(names[i]), i == 0);
    }
    assert_null(find(removed, own));
    expect_output(instance, "echo works", "works\n");
    json_object_put(listed);
    json_object_put(removed);
    docker->destroy(instance);
    container_remove(names[0]);
}

/* As a host of another boot of a machine would have made it. */
static void make_foreign(const char *name)
{
    char path[400];
    snprintf(path, sizeof path, "/containers/create?name=%s", name);
    assert_int_equal(ask("POST", path,
                         "{\"Image\": \"python:3-slim\", \"Labels\": {"
                         "\"code-executor.project\": \"code_executor\", "
                         "\"code-executor.boot\": \"another\", \"code-executor.pid\": \"1\", "
                         "\"code-executor.pid-namespace\": \"1\", "
                         "\"code-executor.start-time\": \"1\"}}",
                         NULL),
                     201);
}

static void prune_lets_alone_what_may_belong_to_somebody(void **state)
{
    (void)state;
    char foreign[300], own[256];
    need_our_engine();
    snprintf(foreign, sizeof foreign, "%s-foreign", strrchr(workspace, '/') + 1);
    make_foreign(foreign);
    code_executor_instance *instance = make_instance("%s", "");
    start(instance);
    described(instance, "container", "name", own, sizeof own);
    json_object *items = list();
    json_object *owner = json_member(find(items, foreign), "owner");
    assert_non_null(owner);
    assert_true(json_object_object_get_ex(owner, "alive", NULL));
    assert_null(json_member(owner, "alive"));
    json_object_put(items);
    json_object_put(prune(false));
    assert_true(container_exists(foreign));
    items = prune(true);
    assert_non_null(find(items, foreign));
    assert_non_null(find(items, own));
    assert_false(container_exists(foreign));
    assert_false(container_exists(own));
    json_object_put(items);
    expect_output(instance, "echo again", "again\n");
    docker->destroy(instance);
}

static void labels_that_make_no_sense_do_no_harm(void **state)
{
    (void)state;
    char name[300], path[400];
    static const char *const pids[] = {"", "-1", "99999999999999999999", "word", "0"};
    snprintf(name, sizeof name, "%s-odd", strrchr(workspace, '/') + 1);
    for (size_t i = 0; i < sizeof pids / sizeof pids[0]; i++) {
        char body[600];
        snprintf(path, sizeof path, "/containers/create?name=%s", name);
        snprintf(body, sizeof body,
                 "{\"Image\": \"python:3-slim\", \"Labels\": {\"code-executor.project\": "
                 "\"code_executor\", \"code-executor.pid\": \"%s\"}}",
                 pids[i]);
        assert_int_equal(ask("POST", path, body, NULL), 201);
        json_object *items = list();
        assert_non_null(find(items, name));
        assert_null(json_member(find(items, name), "owner"));
        json_object_put(items);
        if (engine_is_ours())
            json_object_put(prune(false));
        assert_true(container_exists(name));
        snprintf(path, sizeof path, "/containers/%s", name);
        assert_int_equal(ask("DELETE", path, NULL, NULL), 204);
    }
}

/* ---- volumes ----------------------------------------------------------------------------------- */

static void make_volume(const char *name)
{
    char body[600];
    snprintf(body, sizeof body,
             "{\"Name\": \"%s\", \"Labels\": {\"code-executor.project\": \"code_executor\", "
             "\"code-executor.role\": \"runner\"}}",
             name);
    assert_int_equal(ask("POST", "/volumes/create", body, NULL), 201);
}

static bool volume_exists(const char *name)
{
    char path[400];
    snprintf(path, sizeof path, "/volumes/%s", name);
    return ask("GET", path, NULL, NULL) == 200;
}

static void remove_volume(const char *name)
{
    char path[400];
    snprintf(path, sizeof path, "/volumes/%s", name);
    ask("DELETE", path, NULL, NULL);
}

/* A container that uses it, and is never started. */
static void use_volume(const char *volume, const char *name)
{
    char path[400], body[600];
    snprintf(path, sizeof path, "/containers/create?name=%s", name);
    snprintf(body, sizeof body,
             "{\"Image\": \"python:3-slim\", \"HostConfig\": {\"Mounts\": [{\"Type\": \"volume\", "
             "\"Source\": \"%s\", \"Target\": \"/there\"}]}}",
             volume);
    assert_int_equal(ask("POST", path, body, NULL), 201);
}

static void prune_removes_volumes_that_nobody_uses(void **state)
{
    (void)state;
    need_our_engine();
    make_volume("code-executor-test-used");
    make_volume("code-executor-test-unused");
    use_volume("code-executor-test-used", "code-executor-test-user");
    json_object *items = list();
    assert_string_equal(json_string(find(items, "code-executor-test-used"), "state"), "in use");
    assert_string_equal(json_string(find(items, "code-executor-test-unused"), "state"), "unused");
    json_object_put(items);
    items = prune(false);
    assert_non_null(find(items, "code-executor-test-unused"));
    assert_null(find(items, "code-executor-test-used"));
    assert_false(volume_exists("code-executor-test-unused"));
    assert_true(volume_exists("code-executor-test-used"));
    json_object_put(items);
    container_remove("code-executor-test-user");
    remove_volume("code-executor-test-used");
    code_executor_instance *instance = make_instance("%s", "");
    expect_output(instance, "echo filled again", "filled again\n");
    docker->destroy(instance);
}

/* An engine's own times cannot be changed, so a relay tells others. */
static void start_removes_old_volumes_that_nobody_uses(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *created;
        bool stays;
    } volumes[] = {
        {"code-executor-test-old", "2020-02-29T23:59:59Z", false},
        {"code-executor-test-old-elsewhere", "2020-02-29T23:59:59.123456789+05:30", false},
        {"code-executor-test-old-used", "2020-02-29T23:59:59-08:00", true},
        {"code-executor-test-young", "2999-01-01T00:00:00Z", true},
        {"code-executor-test-odd", "yesterday", true},
    };
    enum { COUNT = sizeof volumes / sizeof volumes[0] };
    char list_json[2048] = "{\"Volumes\": [{\"Name\": 5}", answer[3000];
    for (size_t i = 0; i < COUNT; i++) {
        size_t length = strlen(list_json);
        make_volume(volumes[i].name);
        snprintf(list_json + length, sizeof list_json - length,
                 ", {\"Name\": \"%s\", \"CreatedAt\": \"%s\"}", volumes[i].name,
                 volumes[i].created);
    }
    strcat(list_json, "]}");
    use_volume("code-executor-test-old-used", "code-executor-test-user");
    snprintf(answer, sizeof answer, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s",
             strlen(list_json), list_json);
    struct relay relay =
        relay_start((struct relay_options){.answer_for = "/volumes?", .answer = answer});
    code_executor_instance *instance = make_instance("'docker_host': '%s'", relay.address);
    expect_output(instance, "echo works", "works\n");
    docker->destroy(instance);
    relay_kill(&relay);
    for (size_t i = 0; i < COUNT; i++)
        if (volume_exists(volumes[i].name) != volumes[i].stays)
            fail_msg("%s is %s", volumes[i].name, volumes[i].stays ? "gone" : "still there");
    container_remove("code-executor-test-user");
    for (size_t i = 0; i < COUNT; i++)
        remove_volume(volumes[i].name);
}

/* ---- what goes wrong --------------------------------------------------------------------------- */

static void wrong_calls_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *config;
        int32_t status;
        const char *words;
    } calls[] = {
        {"{\"docker_hots\": \"unix:///x\"}", CODE_EXECUTOR_INVALID, "docker_host"},
        {"[]", CODE_EXECUTOR_INVALID, ""},
        {"{\"docker_host\": \"unix:///nonexistent/socket\"}", CODE_EXECUTOR_UNAVAILABLE,
         "/nonexistent/socket"},
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        char *json = (char *)1;
        code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
        assert_int_equal(leftovers()->list(calls[i].config, &json, &error), calls[i].status);
        assert_non_null(strstr(error.message, calls[i].words));
        assert_null(json);
        assert_int_equal(leftovers()->prune(calls[i].config, true, &json, &error), calls[i].status);
        docker->string_free(json);
    }
    assert_int_equal(leftovers()->list("{}", NULL, NULL), CODE_EXECUTOR_INVALID);
    assert_int_equal(leftovers()->prune("{}", true, NULL, NULL), CODE_EXECUTOR_INVALID);
}

static void nonsense_of_an_engine_is_an_error_or_nothing(void **state)
{
    (void)state;
    static const char *const steps[] = {"/containers/json", "/volumes"};
    static const char *const answers[] = {
        "HTTP/1.1 500 Oops\r\nContent-Length: 20\r\n\r\n{\"message\":\"trouble\"",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n[1, null, [2]]",
        "HTTP/1.1 200 OK\r\nContent-Length: 24\r\n\r\n{\"Volumes\": [1, null, 2]}",
        "HTTP/1.1 200 OK\r\nContent-Length: 26\r\n\r\n[{\"Id\": 7, \"Names\": [[]]}]",
    };
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        for (size_t k = 0; k < sizeof answers / sizeof answers[0]; k++) {
            char config[512], *json = NULL;
            struct relay relay =
                relay_start((struct relay_options){.answer_for = steps[i], .answer = answers[k]});
            snprintf(config, sizeof config, "{\"docker_host\": \"%s\"}", relay.address);
            code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
            if (leftovers()->list(config, &json, &error) != CODE_EXECUTOR_OK)
                assert_true(error.message[0] != '\0');
            docker->string_free(json);
            relay_kill(&relay);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(container_in_use_is_listed_with_its_owner),
        cmocka_unit_test(prune_removes_what_hosts_left_that_have_ended),
        cmocka_unit_test(prune_lets_alone_what_may_belong_to_somebody),
        cmocka_unit_test(labels_that_make_no_sense_do_no_harm),
        cmocka_unit_test(prune_removes_volumes_that_nobody_uses),
        cmocka_unit_test(start_removes_old_volumes_that_nobody_uses),
        cmocka_unit_test(wrong_calls_are_refused),
        cmocka_unit_test(nonsense_of_an_engine_is_an_error_or_nothing),
    };
    return docker_test_main("docker_leftovers", tests, sizeof tests / sizeof tests[0]);
}
