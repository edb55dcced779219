/* SPDX-License-Identifier: Apache-2.0 */
/*
 * executor_client.c: see executor_client.h.
 */
#include "executor_client.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

client host;

/* ------------------------------------------------------------------------------------------------
 * The program
 * --------------------------------------------------------------------------------------------- */

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path) == 0 ? 0 : 0;
}

/* Exits where this machine cannot run the executor, unless everything must run. */
static void skip_where_unavailable(void)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_instance *instance = client_create();
    int32_t status = host.table->start(instance, &error);
    host.table->destroy(instance);
    if (status == CODE_EXECUTOR_OK)
        return;
    bool skip = !getenv("CODE_EXECUTOR_REQUIRE_ALL") &&
                (status == CODE_EXECUTOR_UNAVAILABLE || status == CODE_EXECUTOR_DENIED);
    fprintf(stderr, "%s: the executor cannot be started: %s\n", skip ? "skipped" : "failed",
            error.message);
    exit(client_end(skip ? 77 : 1));
}

void client_begin(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s PLUGIN [CONFIGURATION]\n", argv[0]);
        exit(2);
    }
    const char *format = strchr(argv[1], '/') ? "%s" : CODE_EXECUTOR_TEST_PLUGINS "/%s.so";
    snprintf(host.plugin, sizeof host.plugin, format, argv[1]);
    host.configuration = argc > 2 ? argv[2] : "{}";
    const char *given = getenv(CLIENT_FOLDER_VARIABLE);
    snprintf(host.folder, sizeof host.folder, "%s",
             given ? given : "/tmp/code_executor_test-XXXXXX");
    if ((!given && !mkdtemp(host.folder)) || chdir(host.folder) != 0) {
        perror(host.folder);
        exit(1);
    }
    client_load();
    if (!given)
        skip_where_unavailable();
}

int client_end(int failed)
{
    client_unload();
    if (chdir("/") == 0)
        nftw(host.folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    return failed;
}

void client_load(void)
{
    host.library = dlopen(host.plugin, RTLD_NOW | RTLD_LOCAL);
    code_executor_entry_v1 entry = NULL;
    if (host.library)
        *(void **)&entry = dlsym(host.library, CODE_EXECUTOR_ENTRY_SYMBOL);
    host.table = entry ? entry() : NULL;
    if (!host.table) {
        fprintf(stderr, "%s: %s\n", host.plugin, dlerror());
        exit(1);
    }
}

void client_unload(void)
{
    if (host.library)
        dlclose(host.library);
    host.library = NULL;
    host.table = NULL;
}

/* ------------------------------------------------------------------------------------------------
 * Calls
 * --------------------------------------------------------------------------------------------- */

void client_expect_ok(int32_t status, const code_executor_error *error)
{
    if (status != CODE_EXECUTOR_OK)
        fail_msg("status %d: %s", (int)status, error->message);
}

code_executor_instance *client_create_for(const code_executor_host *callbacks)
{
    code_executor_instance *instance = NULL;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    client_expect_ok(host.table->create(callbacks, host.configuration, &instance, &error), &error);
    return instance;
}

code_executor_instance *client_create(void)
{
    return client_create_for(NULL);
}

void question_set(question *asked, const char *language, const char *code)
{
    static atomic_uint_fast64_t last_id = 1000;
    memset(asked, 0, sizeof *asked);
    asked->block.struct_size = sizeof asked->block;
    asked->block.language = language;
    asked->block.code = code;
    asked->block.code_length = strlen(code);
    asked->blocks[0] = &asked->block;
    asked->request.struct_size = sizeof asked->request;
    asked->request.blocks = asked->blocks;
    asked->request.block_count = 1;
    asked->request.execution_id = atomic_fetch_add(&last_id, 1);
}

reply client_execute(code_executor_instance *instance, const code_executor_request *request)
{
    reply answer = {.error = CODE_EXECUTOR_ERROR_INIT};
    answer.status = host.table->execute(instance, request, &answer.result, &answer.error);
    return answer;
}

reply client_run(code_executor_instance *instance, const char *script)
{
    question asked;
    question_set(&asked, "sh", script);
    return client_execute(instance, &asked.request);
}

void reply_release(reply *released)
{
    host.table->result_free(released->result);
    released->result = NULL;
}

void client_expect_output(code_executor_instance *instance, const char *script, const char *output)
{
    reply answer = client_run(instance, script);
    client_expect_ok(answer.status, &answer.error);
    assert_non_null(answer.result);
    assert_string_equal(answer.result->output, output);
    assert_int_equal(answer.result->exit_code, 0);
    reply_release(&answer);
}

void background_prepare(background *run, code_executor_instance *instance, const char *script)
{
    memset(run, 0, sizeof *run);
    run->instance = instance;
    question_set(&run->asked, "sh", script);
    run->asked.request.blocks = run->asked.blocks;
}

static void *run_background(void *argument)
{
    background *run = argument;
    run->answer = client_execute(run->instance, &run->asked.request);
    return NULL;
}

void background_begin(background *run)
{
    assert_int_equal(pthread_create(&run->thread, NULL, run_background, run), 0);
}

void background_join(background *run)
{
    pthread_join(run->thread, NULL);
}

/* ------------------------------------------------------------------------------------------------
 * The machine
 * --------------------------------------------------------------------------------------------- */

bool eventually(bool (*condition)(const void *argument), const void *argument)
{
    for (int i = 0; i < 6000; i++) {
        if (condition(argument))
            return true;
        usleep(10000);
    }
    return false;
}

bool file_exists(const void *path)
{
    return access(path, F_OK) == 0;
}

/* Arguments separated by blanks. */
static bool read_command_line(const char *pid, char *line, size_t size)
{
    char path[300];
    snprintf(path, sizeof path, "/proc/%s/cmdline", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, line, size - 1);
    if (fd >= 0)
        close(fd);
    for (ssize_t i = 0; i < length; i++)
        line[i] = line[i] ? line[i] : ' ';
    line[length > 0 ? length : 0] = '\0';
    return length > 0;
}

bool process_exists(const void *words)
{
    bool found = false;
    DIR *folder = opendir("/proc");
    struct dirent *entry;
    while (folder && !found && (entry = readdir(folder))) {
        char line[4096];
        found = isdigit((unsigned char)entry->d_name[0]) &&
                read_command_line(entry->d_name, line, sizeof line) && strstr(line, words);
    }
    closedir(folder);
    return found;
}

bool no_process_exists(const void *words)
{
    return !process_exists(words);
}

static size_t count_entries(const char *path)
{
    size_t count = 0;
    DIR *folder = opendir(path);
    while (folder && readdir(folder))
        count++;
    closedir(folder);
    return count;
}

size_t count_descriptors(void)
{
    return count_entries("/proc/self/fd");
}

size_t count_threads(void)
{
    return count_entries("/proc/self/task") - 2;
}

size_t memory_kb(const char *key)
{
    size_t value = 0;
    size_t length = strlen(key);
    char line[256];
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, key, length) == 0 && line[length] == ':')
            value = strtoul(line + length + 1, NULL, 10);
    if (file)
        fclose(file);
    return value;
}

bool is_instrumented(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return true;
#else
    const char *preloaded = getenv("LD_PRELOAD");
    return preloaded && strstr(preloaded, "valgrind");
#endif
}
