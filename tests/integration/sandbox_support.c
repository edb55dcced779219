/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox_support.c: see sandbox_support.h.
 */
#include "sandbox_support.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <ftw.h>
#include <json-c/json.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { SKIPPED = 77, FOLDERS_MAX = 256 };

static const code_executor_v1 *table;
static outcome latest; /* of whichever box ran last */
static char *folders[FOLDERS_MAX];
static size_t folder_count;

/* ------------------------------------------------------------------------------------------------
 * Files and words
 * --------------------------------------------------------------------------------------------- */

static char *format_list(const char *format, va_list arguments)
{
    char *text = NULL;
    assert_true(vasprintf(&text, format, arguments) >= 0);
    return text;
}

char *format_text(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = format_list(format, arguments);
    va_end(arguments);
    return text;
}

char *read_text(const char *path)
{
    char *text = calloc(1, 65536);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    assert_non_null(text);
    if (file >= 0) {
        assert_true(read(file, text, 65535) >= 0);
        close(file);
    }
    return text;
}

void write_text(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    close(file);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    (void)kind;
    (void)walk;
    return remove(path);
}

static void remove_folders(void)
{
    while (folder_count > 0) {
        char *folder = folders[--folder_count];
        (void)nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        free(folder);
    }
}

const char *new_folder(void)
{
    const char *parent = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    char *folder = format_text("%s/sandbox_test_XXXXXX", parent);
    assert_true(folder_count < FOLDERS_MAX);
    assert_non_null(mkdtemp(folder));
    if (folder_count == 0)
        atexit(remove_folders);
    folders[folder_count++] = folder;
    return folder;
}

const char *unique_word(void)
{
    static char word[64];
    static int count;
    snprintf(word, sizeof word, "sandbox-test-%d-%d", (int)getpid(), count++);
    return word;
}

/* ------------------------------------------------------------------------------------------------
 * Processes
 * --------------------------------------------------------------------------------------------- */

static bool has_argument(const char *pid, const char *word)
{
    char path[300];
    char text[4096];
    snprintf(path, sizeof path, "/proc/%s/cmdline", pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t length = read(file, text, sizeof text);
    close(file);
    return length > 0 && memmem(text, (size_t)length, word, strlen(word));
}

static bool process_is_there(const char *word)
{
    bool found = false;
    DIR *list = opendir("/proc");
    assert_non_null(list);
    for (struct dirent *entry = readdir(list); entry && !found; entry = readdir(list))
        found =
            entry->d_name[0] >= '0' && entry->d_name[0] <= '9' && has_argument(entry->d_name, word);
    closedir(list);
    return found;
}

bool process_becomes(const char *word, bool present, int seconds)
{
    for (int i = 0; i < seconds * 50; i++) {
        if (process_is_there(word) == present)
            return true;
        nanosleep(&(struct timespec){0, 20000000}, NULL);
    }
    return false;
}

/* ------------------------------------------------------------------------------------------------
 * Boxes
 * --------------------------------------------------------------------------------------------- */

const code_executor_v1 *sandbox_table(void)
{
    return table;
}

static _Noreturn void leave(const char *reason)
{
    const char *all = getenv("CODE_EXECUTOR_REQUIRE_ALL");
    printf("SKIPPED: %s\n", reason);
    exit(all && strcmp(all, "1") == 0 ? 1 : SKIPPED);
}

void sandbox_require(void)
{
    const char *path = getenv("CODE_EXECUTOR_SANDBOX");
    void *library = dlopen(path ? path : SANDBOX_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        leave(dlerror());
    code_executor_entry_v1 entry;
    void *symbol = dlsym(library, CODE_EXECUTOR_ENTRY_SYMBOL);
    memcpy(&entry, &symbol, sizeof entry);
    table = entry();
    code_executor_instance *instance = NULL;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    if (table->create(NULL, "{}", &instance, &error) != CODE_EXECUTOR_OK ||
        table->start(instance, &error) != CODE_EXECUTOR_OK)
        leave(error.message);
    table->destroy(instance);
}

static void keep_warning(void *user_data, int32_t level, const char *message)
{
    box *self = user_data;
    size_t length = strlen(self->warnings);
    if (level >= CODE_EXECUTOR_LOG_WARNING)
        snprintf(self->warnings + length, sizeof self->warnings - length, "%s\n", message);
}

box *box_new(const char *configuration)
{
    box *made = calloc(1, sizeof *made);
    code_executor_host host = {.struct_size = sizeof host, .user_data = made, .log = keep_warning};
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_non_null(made);
    char *json = NULL;
    if (strstr(configuration, "work_dir")) {
        json = format_text("{%s}", configuration);
    } else {
        made->work_dir = strdup(new_folder());
        json = format_text("{\"work_dir\": \"%s\"%s%s}", made->work_dir, *configuration ? "," : "",
                           configuration);
    }
    if (table->create(&host, json, &made->instance, &error) != CODE_EXECUTOR_OK)
        fail_msg("%s: %s", json, error.message);
    free(json);
    return made;
}

static void forget_latest(void)
{
    free(latest.output);
    memset(&latest, 0, sizeof latest);
}

void box_free(box *self)
{
    table->destroy(self->instance);
    free(self->work_dir);
    free(self);
    forget_latest();
}

const outcome *box_run(box *self, const char *language, const char *code)
{
    static uint64_t id;
    code_executor_block block = {.struct_size = sizeof block,
                                 .language = language,
                                 .code = code,
                                 .code_length = strlen(code)};
    const code_executor_block *blocks[] = {&block};
    code_executor_request request = {
        .struct_size = sizeof request, .blocks = blocks, .block_count = 1, .execution_id = ++id};
    code_executor_result *result = NULL;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    forget_latest();
    latest.status = table->execute(self->instance, &request, &result, &error);
    memcpy(latest.message, error.message, sizeof latest.message);
    latest.output = strdup(result && result->output ? result->output : "");
    latest.outcome = result ? result->outcome : CODE_EXECUTOR_OUTCOME_FAILED;
    latest.exit_code = result ? result->exit_code : -1;
    table->result_free(result);
    assert_non_null(latest.output);
    return &latest;
}

/* Runs SCRIPT, which must succeed. */
static const char *run_script(box *self, const char *script)
{
    const outcome *ran = box_run(self, "sh", script);
    if (ran->status != CODE_EXECUTOR_OK)
        fail_msg("%s: %s", script, ran->message);
    if (ran->exit_code != 0)
        fail_msg("%s: exit code %d: %s", script, ran->exit_code, ran->output);
    size_t length = strlen(latest.output);
    if (length > 0 && latest.output[length - 1] == '\n')
        latest.output[length - 1] = '\0';
    return latest.output;
}

const char *box_shell(box *self, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *script = format_list(format, arguments);
    va_end(arguments);
    const char *output = run_script(self, script);
    free(script);
    return output;
}

static void copy_program(const char *from, const char *to)
{
    static char bytes[4 << 20];
    int source = open(from, O_RDONLY | O_CLOEXEC);
    int target = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    assert_true(source >= 0 && target >= 0);
    ssize_t length = read(source, bytes, sizeof bytes);
    assert_true(length > 0 && (size_t)length < sizeof bytes);
    assert_int_equal(write(target, bytes, (size_t)length), length);
    close(source);
    close(target);
}

const char *box_attack(box *self, const char *format, ...)
{
    const char *program = getenv("CODE_EXECUTOR_SANDBOX_ATTACK");
    char *inside = format_text("%s/attack", self->work_dir);
    if (access(inside, X_OK) != 0)
        copy_program(program ? program : SANDBOX_ATTACK, inside);
    free(inside);
    va_list arguments;
    va_start(arguments, format);
    char *words = format_list(format, arguments);
    va_end(arguments);
    char *script = format_text("./attack %s", words);
    const char *output = run_script(self, script);
    free(script);
    free(words);
    return output;
}

char *box_describe(box *self, const char *path)
{
    char *json = NULL;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(table->describe(self->instance, &json, &error), CODE_EXECUTOR_OK);
    json_object *whole = json_tokener_parse(json);
    json_object *at = whole;
    char *keys = strdup(path);
    char *rest = NULL;
    for (char *key = strtok_r(keys, ".", &rest); key; key = strtok_r(NULL, ".", &rest))
        if (!json_object_object_get_ex(at, key, &at))
            fail_msg("%s: no %s in %s", path, key, json);
    char *text = strdup(at ? json_object_get_string(at) : "null");
    free(keys);
    json_object_put(whole);
    table->string_free(json);
    return text;
}
