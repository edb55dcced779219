/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_support.c: see docker_support.h.
 */
#include "docker_support.h"
#include "json.h"
#include <dirent.h>
#include <dlfcn.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { SKIPPED = 77 };
#define LONG_MS 30000

const code_executor_v1 *docker;
struct engine *engine;
char workspace[256];
const code_executor_host *test_host;

static struct endpoint endpoint;

/* ---- the group --------------------------------------------------------------------------------- */

int docker_test_skip(const char *reason)
{
    const char *require = getenv("CODE_EXECUTOR_REQUIRE_ALL");
    fprintf(stderr, "skipped: %s\n", reason);
    return require && strcmp(require, "1") == 0 ? 1 : SKIPPED;
}

const char *const docker_plugin_path = DOCKER_PLUGIN_PATH;

static bool load(void)
{
    void *library = dlopen(docker_plugin_path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return false;
    }
    code_executor_entry_v1 entry;
    *(void **)&entry = dlsym(library, CODE_EXECUTOR_ENTRY_SYMBOL);
    docker = entry ? entry() : NULL;
    return docker != NULL;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

int docker_test_group(const char *name, const struct CMUnitTest *tests, size_t count,
                      int (*set_up)(void **), int (*tear_down)(void **))
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    if (!load())
        return 1;
    if (endpoint_choose(NULL, &endpoint, &error) != CODE_EXECUTOR_OK ||
        engine_open(&endpoint, -1, &engine, &error) != CODE_EXECUTOR_OK)
        return docker_test_skip(error.message);
    if (ask("GET", "/images/python:3-slim/json", NULL, NULL) != 200)
        return docker_test_skip("the engine has no image python:3-slim");
    snprintf(workspace, sizeof workspace, "/tmp/code_executor-docker-XXXXXX");
    if (!mkdtemp(workspace))
        return 1;
    int failures = _cmocka_run_group_tests(name, tests, count, set_up, tear_down);
    nftw(workspace, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    engine_close(engine);
    endpoint_clear(&endpoint);
    return failures;
}

int docker_test_main(const char *name, const struct CMUnitTest *tests, size_t count)
{
    return docker_test_group(name, tests, count, NULL, NULL);
}

/* ---- instances --------------------------------------------------------------------------------- */

code_executor_instance *make_instance(const char *members_format, ...)
{
    char members[4096], config[8192];
    va_list arguments;
    va_start(arguments, members_format);
    vsnprintf(members, sizeof members, members_format, arguments);
    va_end(arguments);
    int length = snprintf(config, sizeof config, "{%s", members);
    if (!strstr(members, "'work_dir'"))
        length += snprintf(config + length, sizeof config - (size_t)length, "%s'work_dir': '%s'",
                           members[0] ? ", " : "", workspace);
    if (!strstr(members, "'labels'") && !strstr(members, "'container':"))
        length += snprintf(config + length, sizeof config - (size_t)length,
                           ", 'labels': {'code-executor-test': '%s'}", strrchr(workspace, '/') + 1);
    snprintf(config + length, sizeof config - (size_t)length, "}");
    for (char *at = config; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    code_executor_instance *instance = NULL;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    if (docker->create(test_host, config, &instance, &error) != CODE_EXECUTOR_OK)
        fail_msg("create: %s", error.message);
    return instance;
}

void start(code_executor_instance *instance)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    if (docker->start(instance, &error) != CODE_EXECUTOR_OK)
        fail_msg("start: %s", error.message);
}

code_executor_result *run(code_executor_instance *instance, const char *language, const char *code)
{
    const code_executor_block block = {.struct_size = sizeof block,
                                       .language = language,
                                       .code = code,
                                       .code_length = strlen(code)};
    const code_executor_block *const blocks[] = {&block};
    const code_executor_request request = {
        .struct_size = sizeof request, .blocks = blocks, .block_count = 1, .execution_id = 1};
    code_executor_result *result = NULL;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    if (docker->execute(instance, &request, &result, &error) != CODE_EXECUTOR_OK)
        fail_msg("execute: %s", error.message);
    return result;
}

void expect_output(code_executor_instance *instance, const char *code, const char *output)
{
    code_executor_result *result = run(instance, "sh", code);
    if (result->exit_code != 0 || strcmp(result->output, output) != 0)
        fail_msg("%s: exit code %d, output %s", code, result->exit_code, result->output);
    docker->result_free(result);
}

void described(code_executor_instance *instance, const char *outer, const char *inner, char *text,
               size_t size)
{
    char *json = NULL;
    assert_int_equal(docker->describe(instance, &json, NULL), CODE_EXECUTOR_OK);
    json_object *description = json_tokener_parse(json);
    json_object *member = outer ? json_member(description, outer) : description;
    const char *value = json_string(member, inner);
    snprintf(text, size, "%s", value ? value : "");
    json_object_put(description);
    docker->string_free(json);
}

/* ---- the engine -------------------------------------------------------------------------------- */

long ask(const char *method, const char *path, const char *body, struct answer *answer)
{
    struct answer CLEANUP_ANSWER own = {0};
    struct answer *filled = answer ? answer : &own;
    json_object CLEANUP_JSON *json = body ? json_tokener_parse(body) : NULL;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    if (engine_call(engine, method, path, json, filled, &error) != CODE_EXECUTOR_OK)
        fail_msg("%s %s: %s", method, path, error.message);
    return filled->status;
}

bool container_exists(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "/containers/%s/json", name);
    return ask("GET", path, NULL, NULL) == 200;
}

void expect_gone(const char *name)
{
    for (int waited = 0; waited < LONG_MS; waited += 20) {
        if (!container_exists(name))
            return;
        pause_ms(20);
    }
    fail_msg("container %s is still there", name);
}

size_t container_count(void)
{
    char path[512];
    struct answer CLEANUP_ANSWER answer = {0};
    snprintf(path, sizeof path,
             "/containers/json?all=1&filters=%%7B%%22label%%22%%3A%%5B%%22code-executor-test%%3D"
             "%s%%22%%5D%%7D",
             strrchr(workspace, '/') + 1);
    assert_int_equal(ask("GET", path, NULL, &answer), 200);
    return json_object_array_length(answer.json);
}

void expect_container_count(size_t count)
{
    for (int waited = 0; waited < LONG_MS && container_count() != count; waited += 20)
        pause_ms(20);
    assert_int_equal(container_count(), count);
}

/* The script's own words: "export DOCKER_HOST=…". */
bool engine_is_ours(void)
{
    char line[512] = "", expected[512];
    const char *host = getenv("DOCKER_HOST");
    FILE *script = popen(TEST_ENGINE_SCRIPT " env", "r");
    if (!script || !fgets(line, sizeof line, script))
        line[0] = '\0';
    if (script)
        pclose(script);
    snprintf(expected, sizeof expected, "export DOCKER_HOST=%s\n", host ? host : "");
    return strcmp(line, expected) == 0;
}

/* ---- this process ------------------------------------------------------------------------------ */

void pause_ms(int milliseconds)
{
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    nanosleep(&time, NULL);
}

static size_t entry_count(const char *path)
{
    size_t count = 0;
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

size_t descriptor_count(void)
{
    return entry_count("/proc/self/fd") - 1; /* the one it is read by */
}

size_t thread_count(void)
{
    return entry_count("/proc/self/task");
}
