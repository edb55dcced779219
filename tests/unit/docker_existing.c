/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_existing.c: a container that runs already: which options go with it, and where it sees a folder.
 */
#include "config.h"
#include "existing_container.h"
#include "existing_workspace.h"
#include "schema.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static int32_t read_config(const char *json, code_executor_error *error)
{
    json_object *config = NULL;
    int32_t status =
        config_read_adjusted(DOCKER_SCHEMA, json, existing_container_check, &config, error);
    json_object_put(config);
    return status;
}

static void options_that_make_a_container_are_refused_by_name(void **state)
{
    (void)state;
    static const char *const table[][2] = {
        {"image", "\"python\""},
        {"container_name", "\"name\""},
        {"auto_remove", "true"},
        {"network", "\"none\""},
        {"memory", "\"1g\""},
        {"pids_limit", "100"},
        {"read_only", "false"},
        {"profile", "\"strict\""},
        {"pull", "\"never\""},
        {"cap_drop", "[\"ALL\"]"},
        {"stop_container", "false"},
        {"container_create", "{}"},
        {"gpus", "\"all\""},
        {"labels", "{}"},
        {"platform", "\"linux/amd64\""},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char json[256], quoted[64];
        code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
        snprintf(json, sizeof json, "{\"container\":\"there\",\"%s\":%s}", table[i][0],
                 table[i][1]);
        snprintf(quoted, sizeof quoted, "\"%s\"", table[i][0]);
        assert_int_equal(read_config(json, &error), CODE_EXECUTOR_INVALID);
        if (!strstr(error.message, quoted) || !strstr(error.message, "\"container\""))
            fail_msg("%s: %s", json, error.message);
    }
}

static void others_are_taken(void **state)
{
    (void)state;
    static const char *const table[] = {
        "{\"container\":\"there\"}",
        "{\"container\":\"there\",\"user\":\"auto\",\"init_command\":\"true\",\"timeout\":5,"
        "\"env\":{\"A\":\"b\"},\"work_dir\":\"/x\",\"bind_dir\":\"/y\",\"languages\":\"all\","
        "\"execution_policies\":{},\"max_output_bytes\":5,\"delete_tmp_files\":true,"
        "\"docker_host\":\"unix:///x\"}",
        "{\"container\":\"there\",\"memory\":null}",
        "{\"container\":null,\"image\":\"python\"}",
        "{\"image\":\"python\"}",
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
        if (read_config(table[i], &error) != CODE_EXECUTOR_OK)
            fail_msg("%s: %s", table[i], error.message);
    }
}

static void names_that_could_change_a_request_are_refused(void **state)
{
    (void)state;
    static const char *const table[] = {
        "{\"container\":\"\"}",        "{\"container\":\"a/b\"}", "{\"container\":\"a?x=y\"}",
        "{\"container\":\"../info\"}", "{\"container\":\"a b\"}", "{\"container\":7}",
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
        assert_int_equal(read_config(table[i], &error), CODE_EXECUTOR_INVALID);
        assert_non_null(strstr(error.message, "container"));
    }
}

#define MOUNT(source, target, writable)                                                            \
    "{\"Type\":\"bind\",\"Source\":\"" source "\",\"Destination\":\"" target "\",\"RW\":" writable \
    "}"

static void path_is_followed_through_the_mounts(void **state)
{
    (void)state;
    static const struct {
        const char *mounts;
        const char *path;
        int32_t status;
        const char *folder; /* or words of the message */
    } table[] = {
        {"[" MOUNT("/no/a", "/data", "true") "]", "/no/a", CODE_EXECUTOR_OK, "/data"},
        {"[" MOUNT("/no/a", "/data", "true") "]", "/no/a/b/c", CODE_EXECUTOR_OK, "/data/b/c"},
        {"[" MOUNT("/no/a/", "/data", "true") "]", "/no/a/b", CODE_EXECUTOR_OK, "/data/b"},
        {"[" MOUNT("/", "/host", "true") "]", "/no/a", CODE_EXECUTOR_OK, "/host/no/a"},
        {"[" MOUNT("/no", "/", "true") "]", "/no/a", CODE_EXECUTOR_OK, "/a"},
        {"[" MOUNT("/no/a", "/data", "true") "]", "/no/ab", CODE_EXECUTOR_NOT_FOUND,
         "/no/a as /data"},
        {"[" MOUNT("/no/a", "/data", "true") "]", "/no", CODE_EXECUTOR_NOT_FOUND, "bind_dir"},
        {"[" MOUNT("/no/a", "/data", "false") "]", "/no/a", CODE_EXECUTOR_DENIED, ":ro"},
        {"[" MOUNT("/no/a", "/ro", "false") "," MOUNT("/no/a", "/rw", "true") "]", "/no/a",
         CODE_EXECUTOR_OK, "/rw"},
        {"[" MOUNT("/no/a", "/rw", "true") "," MOUNT("/no/a", "/ro", "false") "]", "/no/a",
         CODE_EXECUTOR_OK, "/rw"},
        /* what lies deeper hides what is beneath */
        {"[" MOUNT("/no/a", "/data", "true") "," MOUNT("/no/x", "/data/b", "true") "]", "/no/a/b",
         CODE_EXECUTOR_NOT_FOUND, "does not see"},
        {"[" MOUNT("/no/a", "/data", "true") "," MOUNT("/no/x", "/data/b", "true") "]", "/no/a/c",
         CODE_EXECUTOR_OK, "/data/c"},
        {"[{\"Type\":\"tmpfs\",\"Source\":\"\",\"Destination\":\"/t\",\"RW\":true}]", "/no/a",
         CODE_EXECUTOR_NOT_FOUND, "memory as /t"},
        {"[]", "/no/a", CODE_EXECUTOR_NOT_FOUND, "mounts nothing"},
        {"null", "/no/a", CODE_EXECUTOR_NOT_FOUND, "-v /no/a:/workspace"},
        {"[7,{},{\"Source\":7,\"Destination\":[]}]", "/no/a", CODE_EXECUTOR_NOT_FOUND, "/no/a"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char *folder = NULL;
        code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
        json_object *mounts = json_tokener_parse(table[i].mounts);
        int32_t status = existing_workspace_find(mounts, table[i].path, &folder, &error);
        const char *got = folder ? folder : error.message;
        if (status != table[i].status ||
            (folder ? strcmp(got, table[i].folder) != 0 : !strstr(got, table[i].folder)))
            fail_msg("%s in %s: %d, %s", table[i].path, table[i].mounts, status, got);
        free(folder);
        json_object_put(mounts);
    }
}

static void links_in_a_source_are_resolved(void **state)
{
    (void)state;
    char place[] = "/tmp/code_executor-existing-XXXXXX", link[64], mounts[256];
    assert_non_null(mkdtemp(place));
    snprintf(link, sizeof link, "%s/link", place);
    assert_int_equal(symlink(place, link), 0);
    snprintf(mounts, sizeof mounts, "[{\"Source\":\"%s\",\"Destination\":\"/d\",\"RW\":true}]",
             link);
    json_object *parsed = json_tokener_parse(mounts);
    char *folder = NULL;
    assert_int_equal(existing_workspace_find(parsed, place, &folder, NULL), CODE_EXECUTOR_OK);
    assert_string_equal(folder, "/d");
    free(folder);
    json_object_put(parsed);
    unlink(link);
    rmdir(place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_that_make_a_container_are_refused_by_name),
        cmocka_unit_test(others_are_taken),
        cmocka_unit_test(names_that_could_change_a_request_are_refused),
        cmocka_unit_test(path_is_followed_through_the_mounts),
        cmocka_unit_test(links_in_a_source_are_resolved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
