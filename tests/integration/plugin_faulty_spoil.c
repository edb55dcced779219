/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_faulty_spoil.c: see plugin_faulty_spoil.h.
 */
#include "plugin_faulty_spoil.h"
#include "error.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

static code_executor_instance *first_instance;
static const code_executor_host *kept_host;
static code_executor_result *last_result;
static bool stopped;

bool fault(const char *name)
{
    const char *chosen = getenv("CODE_EXECUTOR_TEST_FAULT");
    return chosen != NULL && strcmp(chosen, name) == 0;
}

void spoil_table(code_executor_v1 *table)
{
    if (fault("table_small"))
        table->struct_size = 16;
    if (fault("table_reserved"))
        table->reserved = 1;
    if (fault("name_upper"))
        table->name = "Faulty";
    if (fault("schema_nonsense"))
        table->config_schema = "{\"type\": \"objekt\"}";
    if (fault("schema_undescribed"))
        table->config_schema =
            "{\"type\": \"object\", \"properties\": {\"size\": {\"default\": 3}}}";
}

void spoil_owner(code_executor_instance *instance)
{
    if (fault("fork_unseen"))
        instance->owner = getpid();
}

void spoil_after_create(code_executor_instance *instance, const code_executor_host *host)
{
    if (first_instance == NULL)
        first_instance = instance;
    if (fault("host_kept"))
        kept_host = host;
}

void spoil_before_stop(void)
{
    stopped = true;
    if (fault("instances_shared"))
        first_instance->started = false;
}

bool was_stopped(void)
{
    return stopped;
}

/* ------------------------------------------------------------------------------------------------
 * The process
 * --------------------------------------------------------------------------------------------- */

static void *sleep_on(void *unused)
{
    for (;;)
        usleep(1000);
    return unused;
}

static void leave_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, sleep_on, NULL) == 0)
        pthread_detach(thread);
}

static void leave_child(void)
{
    if (fork() == 0)
        _exit(0);
}

static void leave_descriptor(void)
{
    (void)!open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void open_for_all(void)
{
    (void)!open("/dev/null", O_RDONLY);
}

static void handle_signal(void)
{
    signal(SIGPIPE, SIG_IGN);
}

static void block_signal(void)
{
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &one, NULL);
}

static void change_folder(void)
{
    (void)!chdir("/");
}

static void change_umask(void)
{
    umask(0);
}

static void change_environment(void)
{
    setenv("LC_NUMERIC", "C", 1);
}

static void use_kept_host(void)
{
    if (kept_host != NULL && kept_host->log != NULL)
        kept_host->log(kept_host->user_data, CODE_EXECUTOR_LOG_DEBUG, "it starts");
}

void spoil_process(void)
{
    static const struct {
        const char *fault;
        void (*spoil)(void);
    } faults[] = {
        {"thread_stays", leave_thread},
        {"child_seen", leave_child},
        {"descriptor_stays", leave_descriptor},
        {"descriptor_inherited", open_for_all},
        {"signal_handled", handle_signal},
        {"signal_blocked", block_signal},
        {"folder_changed", change_folder},
        {"umask_changed", change_umask},
        {"environment_changed", change_environment},
        {"host_kept", use_kept_host},
    };
    static bool done;
    for (size_t i = 0; i < sizeof faults / sizeof *faults && !done; i++)
        if (fault(faults[i].fault))
            faults[i].spoil();
    done = true;
}

/* ------------------------------------------------------------------------------------------------
 * Requests and results
 * --------------------------------------------------------------------------------------------- */

static const code_executor_request *asked;

static int32_t begin_and_go_on(void *user_data, size_t block)
{
    asked->on_begin(user_data, block);
    return 0;
}

static void *call_on_begin(void *request)
{
    asked->on_begin(asked->user_data, 0);
    return request;
}

const code_executor_request *spoil_request(const code_executor_request *request,
                                           code_executor_request *changed)
{
    static uint64_t next_id = 1000;
    pthread_t thread;
    *changed = *request;
    asked = request;
    if (fault("callback_elsewhere") && pthread_create(&thread, NULL, call_on_begin, changed) == 0)
        pthread_join(thread, NULL);
    if (fault("newer_request_taken"))
        changed->struct_size = sizeof *changed;
    else if (fault("zero_id_fine") && request->execution_id == 0)
        changed->execution_id = 1;
    else if (fault("short_timeout_fine"))
        changed->timeout = 0;
    else if (fault("id_reused"))
        changed->execution_id = next_id++;
    else if (fault("begin_ignored"))
        changed->on_begin = begin_and_go_on;
    else
        return request;
    return changed;
}

int32_t spoil_result(code_executor_result *result, code_executor_error *error)
{
    code_executor_block_result *block =
        (code_executor_block_result *)(uintptr_t)result->blocks[result->block_count - 1];
    char *text = (char *)(uintptr_t)block->stdout_bytes;
    last_result = result;
    if (fault("text_not_ended"))
        text[block->stdout_length] = 'x';
    if (fault("output_not_joined"))
        *(char *)(uintptr_t)result->output ^= 1;
    if (fault("dropped_unsaid"))
        block->dropped_bytes = 0;
    if (fault("exit_code_is_error") && result->exit_code != 0)
        return error_set(error, CODE_EXECUTOR_INTERNAL, "the code failed");
    return CODE_EXECUTOR_OK;
}

void spoil_before_destroy(void)
{
    if (!fault("result_borrowed") || last_result == NULL)
        return;
    const code_executor_block_result *block = last_result->blocks[0];
    memset((char *)(uintptr_t)block->stdout_bytes, 'x', block->stdout_length);
}

/* ------------------------------------------------------------------------------------------------
 * Extensions
 * --------------------------------------------------------------------------------------------- */

static int32_t list_languages(code_executor_instance *instance,
                              const code_executor_language *const **languages, size_t *count,
                              code_executor_error *error)
{
    static const code_executor_language order = {
        .struct_size = sizeof order, .name = "order", .runs = true};
    static const code_executor_language note = {.struct_size = sizeof note, .name = "note"};
    static const code_executor_language nameless = {.struct_size = sizeof nameless, .name = ""};
    static const code_executor_language *const all[] = {&order, &note, &nameless};
    (void)instance;
    *languages = all;
    *count = fault("language_nameless") ? 3 : 2;
    return error_clear(error);
}

static int32_t list_leftovers(const char *config, char **json, code_executor_error *error)
{
    (void)config;
    *json = strdup(fault("leftover_short") ? "[{\"kind\": \"container\"}]" : "[]");
    return error_clear(error);
}

static int32_t prune(const char *config, bool all, char **json, code_executor_error *error)
{
    (void)all;
    return list_leftovers(config, json, error);
}

const void *faulty_extension(const char *id)
{
    static const code_executor_languages_v1 languages = {sizeof languages, list_languages};
    static const code_executor_leftovers_v1 leftovers = {sizeof leftovers, list_leftovers, prune};
    if (strcmp(id, CODE_EXECUTOR_EXTENSION_LANGUAGES) == 0)
        return &languages;
    if (strcmp(id, CODE_EXECUTOR_EXTENSION_LEFTOVERS) == 0)
        return &leftovers;
    return fault("extension_for_anyone") ? &languages : NULL;
}
