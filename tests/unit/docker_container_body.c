/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_container_body.c: what the engine is asked to make, option by option.
 */
#include "config.h"
#include "container_body.h"
#include "schema.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct runner_volume volume = {.name = "the-runner", .size = 1};

static int32_t make(const char *config_json, json_object **body, code_executor_error *error)
{
    json_object *config = NULL;
    struct body_facts facts = {
        .bind_source = "/srv/with:colon", .launch_id = "i1", .volume = &volume};
    *body = NULL;
    int32_t status = config_read(DOCKER_SCHEMA, config_json, &config, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    const char *user = config_string(config, "user");
    facts.user = user && strcmp(user, "auto") == 0 ? "7:8" : user;
    status = container_body(config, &facts, body, error);
    json_object_put(config);
    return status;
}

/* The value at a path such as "HostConfig.Tmpfs", as JSON text; "absent" where there is none. */
static const char *at(json_object *body, const char *path)
{
    char key[64];
    while (*path) {
        size_t length = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)length, path);
        if (!json_object_is_type(body, json_type_object) ||
            !json_object_object_get_ex(body, key, &body))
            return "absent";
        path += length + (path[length] == '.');
    }
    return json_object_to_json_string_ext(body,
                                          JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}

static void every_container_is_made_for_the_runner(void **state)
{
    (void)state;
    static const char *const table[][2] = {
        {"Image", "\"python:3-slim\""},
        {"Entrypoint", "[\"/.code_executor/runner\"]"},
        {"Cmd", "[]"},
        {"WorkingDir", "\"/workspace\""},
        {"OpenStdin", "true"},
        {"StdinOnce", "true"},
        {"AttachStdin", "true"},
        {"Tty", "false"},
        {"User", "absent"},
        {"Healthcheck", "{\"Test\":[\"NONE\"]}"},
        {"Labels.code-executor.keep", "absent"},
        {"HostConfig.LogConfig", "{\"Type\":\"none\"}"},
        {"HostConfig.Init", "false"},
        {"HostConfig.AutoRemove", "true"},
        {"HostConfig.SecurityOpt", "[\"no-new-privileges\"]"},
        {"HostConfig.PidsLimit", "4096"},
        {"HostConfig.Memory", "absent"},
        {"HostConfig.NetworkMode", "absent"},
        {"HostConfig.ReadonlyRootfs", "false"},
        {"HostConfig.Binds", "[]"},
    };
    json_object *body = NULL;
    assert_int_equal(make("{}", &body, NULL), CODE_EXECUTOR_OK);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        assert_string_equal(at(body, table[i][0]), table[i][1]);
    const char *mounts = at(body, "HostConfig.Mounts");
    assert_non_null(strstr(mounts, "{\"Type\":\"bind\",\"Source\":\"/srv/with:colon\","
                                   "\"Target\":\"/workspace\"}"));
    assert_non_null(strstr(mounts, "{\"Type\":\"volume\",\"Source\":\"the-runner\","
                                   "\"Target\":\"/.code_executor\",\"ReadOnly\":true,"));
    json_object_put(body);
}

static void each_option_comes_to_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *config;
        const char *path;
        const char *value;
    } table[] = {
        {"{\"image\":\"a/b:c\"}", "Image", "\"a/b:c\""},
        {"{\"auto_remove\":false}", "HostConfig.AutoRemove", "false"},
        {"{\"stop_container\":false}", "StdinOnce", "false"},
        {"{\"user\":\"1000:1000\"}", "User", "\"1000:1000\""},
        {"{\"user\":\"1000:1000\"}", "Env", "absent"},
        {"{\"user\":\"auto\"}", "User", "\"7:8\""},
        {"{\"user\":\"auto\"}", "Env", "[\"HOME=/tmp\"]"},
        {"{\"network\":\"none\"}", "HostConfig.NetworkMode", "\"none\""},
        {"{\"memory\":\"512m\"}", "HostConfig.Memory", "536870912"},
        {"{\"memory\":\"1.5GB\"}", "HostConfig.Memory", "1610612736"},
        {"{\"memory\":\"64000000\"}", "HostConfig.Memory", "64000000"},
        {"{\"memory\":64000000}", "HostConfig.Memory", "64000000"},
        {"{\"cpus\":1.5}", "HostConfig.NanoCpus", "1500000000"},
        {"{\"cpus\":2}", "HostConfig.NanoCpus", "2000000000"},
        {"{\"pids_limit\":null}", "HostConfig.PidsLimit", "absent"},
        {"{\"pids_limit\":99}", "HostConfig.PidsLimit", "99"},
        {"{\"read_only\":true}", "HostConfig.ReadonlyRootfs", "true"},
        {"{\"read_only\":true}", "HostConfig.Tmpfs",
         "{\"/tmp\":\"rw,exec,nosuid,nodev,mode=1777\"}"},
        {"{\"read_only\":true,\"tmpfs\":{\"/tmp\":\"size=1m\"}}", "HostConfig.Tmpfs",
         "{\"/tmp\":\"size=1m\"}"},
        {"{\"tmpfs\":[\"/a\",\"/b\"]}", "HostConfig.Tmpfs", "{\"/a\":\"\",\"/b\":\"\"}"},
        {"{\"cap_drop\":[\"ALL\"]}", "HostConfig.CapDrop", "[\"ALL\"]"},
        {"{\"cap_add\":[\"NET_ADMIN\"]}", "HostConfig.CapAdd", "[\"NET_ADMIN\"]"},
        {"{\"security_opt\":[\"seccomp=unconfined\"]}", "HostConfig.SecurityOpt",
         "[\"seccomp=unconfined\",\"no-new-privileges\"]"},
        {"{\"security_opt\":[\"no-new-privileges:false\"]}", "HostConfig.SecurityOpt", "[]"},
        {"{\"security_opt\":[\"no-new-privileges\"]}", "HostConfig.SecurityOpt",
         "[\"no-new-privileges\"]"},
        {"{\"runtime\":\"runsc\"}", "HostConfig.Runtime", "\"runsc\""},
        {"{\"gpus\":\"all\"}", "HostConfig.DeviceRequests",
         "[{\"Capabilities\":[[\"gpu\"]],\"Count\":-1}]"},
        {"{\"gpus\":2}", "HostConfig.DeviceRequests",
         "[{\"Capabilities\":[[\"gpu\"]],\"Count\":2}]"},
        {"{\"gpus\":\"device=0,GPU-x\"}", "HostConfig.DeviceRequests",
         "[{\"Capabilities\":[[\"gpu\"]],\"DeviceIDs\":[\"0\",\"GPU-x\"]}]"},
        {"{\"device_requests\":[{\"Driver\":\"cdi\"}]}", "HostConfig.DeviceRequests",
         "[{\"Driver\":\"cdi\"}]"},
        {"{\"extra_volumes\":[\"/a:/b:ro\"]}", "HostConfig.Binds", "[\"/a:/b:ro\"]"},
        {"{\"extra_volumes\":{\"v\":{\"bind\":\"/b\"}}}", "HostConfig.Binds", "[\"v:/b:rw\"]"},
        {"{\"extra_hosts\":[\"db:10.0.0.1\"]}", "HostConfig.ExtraHosts", "[\"db:10.0.0.1\"]"},
        {"{\"extra_hosts\":{\"db\":\"10.0.0.1\"}}", "HostConfig.ExtraHosts", "[\"db:10.0.0.1\"]"},
        {"{\"dns\":[\"10.0.0.2\"]}", "HostConfig.Dns", "[\"10.0.0.2\"]"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        json_object *body = NULL;
        code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
        int32_t status = make(table[i].config, &body, &error);
        if (status != CODE_EXECUTOR_OK)
            fail_msg("%s: %s", table[i].config, error.message);
        if (strcmp(at(body, table[i].path), table[i].value) != 0)
            fail_msg("%s: %s is %s", table[i].config, table[i].path, at(body, table[i].path));
        json_object_put(body);
    }
}

static json_object *labels_of(json_object *body)
{
    json_object *labels = NULL;
    json_object_object_get_ex(body, "Labels", &labels);
    return labels;
}

static void labels_are_added_and_cannot_hide_ours(void **state)
{
    (void)state;
    json_object *body = NULL, *value = NULL;
    assert_int_equal(make("{\"stop_container\":false, \"labels\":{\"team\":\"x\","
                          "\"code-executor.launch\":\"forged\"}}",
                          &body, NULL),
                     CODE_EXECUTOR_OK);
    assert_true(json_object_object_get_ex(labels_of(body), "team", &value));
    assert_string_equal(json_object_get_string(value), "x");
    assert_true(json_object_object_get_ex(labels_of(body), "code-executor.launch", &value));
    assert_string_equal(json_object_get_string(value), "i1");
    assert_true(json_object_object_get_ex(labels_of(body), "code-executor.keep", &value));
    json_object_put(body);
}

static void container_create_is_merged_last_and_deep(void **state)
{
    (void)state;
    json_object *body = NULL;
    assert_int_equal(
        make("{\"memory\":\"1g\",\"container_create\":{\"Hostname\":\"h\",\"StopSignal\":null,"
             "\"HostConfig\":{\"Memory\":5,\"LogConfig\":{\"Type\":\"json-file\"},"
             "\"Ulimits\":[{\"Name\":\"core\"}]}}}",
             &body, NULL),
        CODE_EXECUTOR_OK);
    assert_string_equal(at(body, "Hostname"), "\"h\"");
    assert_string_equal(at(body, "StopSignal"), "null");
    assert_string_equal(at(body, "HostConfig.Memory"), "5");
    assert_string_equal(at(body, "HostConfig.LogConfig"), "{\"Type\":\"json-file\"}");
    assert_string_equal(at(body, "HostConfig.Ulimits"), "[{\"Name\":\"core\"}]");
    assert_string_equal(at(body, "HostConfig.PidsLimit"), "4096");
    json_object_put(body);
}

static void ptrace_is_noticed_however_it_is_asked_for(void **state)
{
    (void)state;
    static const struct {
        const char *config;
        bool has;
    } table[] = {
        {"{}", false},
        {"{\"cap_add\":[\"NET_ADMIN\"]}", false},
        {"{\"cap_add\":[\"sys_ptrace\"]}", true},
        {"{\"cap_add\":[\"CAP_SYS_PTRACE\"]}", true},
        {"{\"cap_add\":[\"ALL\"]}", true},
        {"{\"container_create\":{\"HostConfig\":{\"CapAdd\":[\"SYS_PTRACE\"]}}}", true},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        json_object *body = NULL;
        assert_int_equal(make(table[i].config, &body, NULL), CODE_EXECUTOR_OK);
        assert_int_equal(container_body_has_ptrace(body), table[i].has);
        json_object_put(body);
    }
}

static void values_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    static const char *const table[] = {
        "{\"memory\":\"lots\"}",
        "{\"memory\":\"0\"}",
        "{\"memory\":\"99999999999999999999t\"}",
        "{\"memory\":-1}",
        "{\"cpus\":0}",
        "{\"pids_limit\":0}",
        "{\"container_name\":\"a b\"}",
        "{\"image\":\"a b\"}",
        "{\"image\":\"\"}",
        "{\"gpus\":\"some\"}",
        "{\"pull\":\"sometimes\"}",
        "{\"tmpfs\":[\"relative\"]}",
        "{\"extra_volumes\":[\"/no-target\"]}",
        "{\"extra_volumes\":{\"/a\":{}}}",
        "{\"registry_auth\":{\"user\":\"x\"}}",
        "{\"container_create\":[]}",
        "{\"netwrok\":\"none\"}",
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        json_object *body = NULL;
        code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
        if (make(table[i], &body, &error) != CODE_EXECUTOR_INVALID)
            fail_msg("%s was taken", table[i]);
        assert_true(error.message[0] != '\0');
        assert_null(body);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_container_is_made_for_the_runner),
        cmocka_unit_test(each_option_comes_to_its_place),
        cmocka_unit_test(labels_are_added_and_cannot_hide_ours),
        cmocka_unit_test(container_create_is_merged_last_and_deep),
        cmocka_unit_test(ptrace_is_noticed_however_it_is_asked_for),
        cmocka_unit_test(values_that_make_no_sense_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
