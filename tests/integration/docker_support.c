/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_support.c: see docker_support.h.
 */
#include "docker_support.h"
#include "json.h"
#include <dirent.h>
#include <dlfcn.h>
#include <ftw.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { SKIPPED = 77 };

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

int32_t execute_shell(code_executor_instance *instance, struct shell shell,
                      code_executor_result **result, code_executor_error *error)
{
    const code_executor_block block = {.struct_size = sizeof block,
                                       .language = "sh",
                                       .code = shell.code,
                                       .code_length = strlen(shell.code)};
    const code_executor_block *const blocks[] = {&block};
    const code_executor_request request = {.struct_size = sizeof request,
                                           .blocks = blocks,
                                           .block_count = 1,
                                           .execution_id = shell.id ? shell.id : 1,
                                           .stdin_bytes = shell.input,
                                           .stdin_length = shell.input_length,
                                           .on_output = shell.on_output,
                                           .user_data = shell.user_data};
    return docker->execute(instance, &request, result, error);
}

struct struck {
    sem_t begun;
    void (*strike)(void *argument);
    void *argument;
};

static int32_t note_begin(void *user_data, size_t block, int32_t stream, const char *bytes,
                          size_t length)
{
    struct struck *struck = user_data;
    (void)block;
    (void)stream;
    (void)bytes;
    (void)length;
    sem_post(&struck->begun);
    return 0;
}

static void *strike_once_begun(void *argument)
{
    struct struck *struck = argument;
    while (sem_wait(&struck->begun) != 0)
        continue;
    struck->strike(struck->argument);
    return NULL;
}

int32_t execute_struck(code_executor_instance *instance, const char *code,
                       void (*strike)(void *argument), void *argument,
                       code_executor_result **result, code_executor_error *error)
{
    pthread_t thread;
    struct struck struck = {.strike = strike, .argument = argument};
    sem_init(&struck.begun, 0, 0);
    assert_int_equal(pthread_create(&thread, NULL, strike_once_begun, &struck), 0);
    struct shell shell = {.code = code, .on_output = note_begin, .user_data = &struck};
    int32_t status = execute_shell(instance, shell, result, error);
    sem_post(&struck.begun); /* where it never began */
    pthread_join(thread, NULL);
    sem_destroy(&struck.begun);
    return status;
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

void expect_start_fails(code_executor_instance *instance, int32_t status, const char *const *words)
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

/* ---- hosts ------------------------------------------------------------------------------------- */

static void be_a_host(const char *members, const char *code, int tell)
{
    char name[256] = "";
    code_executor_result *result = NULL;
    code_executor_instance *instance = make_instance("%s", members);
    start(instance);
    described(instance, "container", "name", name, sizeof name);
    if (write(tell, name, sizeof name) != (ssize_t)sizeof name)
        _exit(1);
    close(tell);
    if (code)
        execute_shell(instance, (struct shell){.code = code}, &result, NULL);
    pause_ms(60000);
    _exit(0);
}

pid_t host_start(const char *members, const char *code, char name[256])
{
    int tell[2];
    assert_int_equal(pipe(tell), 0);
    pid_t host = fork();
    assert_true(host >= 0);
    if (host == 0) {
        close(tell[0]);
        be_a_host(members, code, tell[1]);
    }
    close(tell[1]);
    name[0] = '\0';
    assert_int_equal(read(tell[0], name, 256), 256);
    close(tell[0]);
    return host;
}

void host_kill(pid_t host)
{
    kill(host, SIGKILL);
    waitpid(host, NULL, 0);
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

static bool exists(const char *kind, const char *name, const char *rest)
{
    char path[400];
    snprintf(path, sizeof path, "/%s/%s%s", kind, name, rest);
    return ask("GET", path, NULL, NULL) == 200;
}

bool container_exists(const char *name)
{
    return exists("containers", name, "/json");
}

static void await_end(const char *kind, const char *name, const char *rest)
{
    for (int waited = 0; waited < LONG_MS && exists(kind, name, rest); waited += 20)
        pause_ms(20);
    if (exists(kind, name, rest))
        fail_msg("%s is still among the %s", name, kind);
}

void expect_gone(const char *name)
{
    await_end("containers", name, "/json");
}

void expect_volume_gone(const char *name)
{
    await_end("volumes", name, "");
}

void volume_at(code_executor_instance *instance, const char *folder, char name[128])
{
    char id[256], path[300];
    struct answer CLEANUP_ANSWER answer = {0};
    described(instance, "container", "id", id, sizeof id);
    snprintf(path, sizeof path, "/containers/%s/json", id);
    assert_int_equal(ask("GET", path, NULL, &answer), 200);
    json_object *mounts = json_member(answer.json, "Mounts");
    name[0] = '\0';
    for (size_t i = 0; i < json_object_array_length(mounts); i++) {
        json_object *mount = json_object_array_get_idx(mounts, i);
        if (strcmp(json_string(mount, "Destination"), folder) == 0)
            snprintf(name, 128, "%s", json_string(mount, "Name"));
    }
    assert_string_not_equal(name, "");
}

void expect_state(const char *name, const char *word)
{
    char path[300];
    struct answer CLEANUP_ANSWER answer = {0};
    snprintf(path, sizeof path, "/containers/%s/json", name);
    assert_int_equal(ask("GET", path, NULL, &answer), 200);
    assert_string_equal(json_string(json_member(answer.json, "State"), "Status"), word);
}

long container_tell(const char *name, const char *what)
{
    char path[300];
    snprintf(path, sizeof path, "/containers/%s/%s", name, what);
    return ask("POST", path, NULL, NULL);
}

void container_remove(const char *name)
{
    char path[300];
    snprintf(path, sizeof path, "/containers/%s?force=1&v=1", name);
    ask("DELETE", path, NULL, NULL);
}

static void list_containers(struct answer *answer)
{
    char path[512];
    snprintf(path, sizeof path,
             "/containers/json?all=1&filters=%%7B%%22label%%22%%3A%%5B%%22code-executor-test%%3D"
             "%s%%22%%5D%%7D",
             strrchr(workspace, '/') + 1);
    assert_int_equal(ask("GET", path, NULL, answer), 200);
}

size_t container_count(void)
{
    struct answer CLEANUP_ANSWER answer = {0};
    list_containers(&answer);
    return json_object_array_length(answer.json);
}

void container_ids(char *ids, size_t size)
{
    struct answer CLEANUP_ANSWER answer = {0};
    list_containers(&answer);
    ids[0] = '\0';
    for (size_t i = 0; i < json_object_array_length(answer.json); i++) {
        size_t length = strlen(ids);
        snprintf(ids + length, size - length, "%s ",
                 json_string(json_object_array_get_idx(answer.json, i), "Id"));
    }
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

bool podman_differs(const char *text, const char *const *words)
{
    while (engine->is_podman && *words)
        if (strstr(text, *words++))
            return true;
    return false;
}

/* ---- this process ------------------------------------------------------------------------------ */

void pause_ms(int milliseconds)
{
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    nanosleep(&time, NULL);
}

double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
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

void expect_thread_count(size_t count)
{
    for (int waited = 0; waited < LONG_MS && thread_count() != count; waited += 10)
        pause_ms(10);
    assert_int_equal(thread_count(), count);
}
