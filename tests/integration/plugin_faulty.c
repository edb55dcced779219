/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_faulty.c: an executor that keeps every rule of code_executor.h but the one that the variable
 * CODE_EXECUTOR_TEST_FAULT names. What is right in it is code_executor_plugin.h; around each call stands
 * what is wrong. (A variable, since some faults come before any configuration.)
 *
 * It obeys one order a block, in the language "order": print, error, exit, wait, flood, bytes, stdin,
 * environment, as `host_demo check` wants them (tests/cases/check/faulty.json).
 */
#include "json_text.h"
#include "plugin_faulty_spoil.h"
#include "schema.h"
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

static const char good_schema[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"properties\": {"
    "\"work_dir\": {\"type\": \"string\", \"description\": \"Where nothing is put.\", \"default\": "
    "\".\"},"
    "\"size\": {\"type\": \"integer\", \"description\": \"Of nothing.\", \"default\": 3}}}";

/* ------------------------------------------------------------------------------------------------
 * The work
 * --------------------------------------------------------------------------------------------- */

static void pause_shortly(void)
{
    static const struct timespec moment = {.tv_nsec = 2000000};
    nanosleep(&moment, NULL);
}

static void order_wait(code_executor_run *run)
{
    while (fault("timeout_ignored") || !code_executor_stopped(run))
        pause_shortly();
}

static void order_flood(code_executor_run *run)
{
    static const char piece[10000] = "a piece of much";
    for (size_t i = 0; i < 2500 && (fault("output_ignored") || !code_executor_stopped(run)); i++)
        code_executor_write(run, CODE_EXECUTOR_STREAM_STDOUT, piece, sizeof piece);
    if (fault("output_ignored"))
        run->flight->cancelled = false;
}

static void order_print(code_executor_run *run)
{
    code_executor_print(run, CODE_EXECUTOR_STREAM_STDOUT,
                        fault("stdout_changed") ? "hi\n" : "hello\n");
    if (fault("prints"))
        printf("to the host\n");
    if (fault("crashes"))
        raise(SIGSEGV);
    if (fault("ends_the_process"))
        exit(3);
    if (fault("block_begins_twice"))
        run->request->on_begin(run->request->user_data, run->index);
}

static void order_error(code_executor_run *run)
{
    code_executor_print(
        run, fault("stderr_as_stdout") ? CODE_EXECUTOR_STREAM_STDOUT : CODE_EXECUTOR_STREAM_STDERR,
        "oops\n");
}

static void order_exit(code_executor_run *run)
{
    run->exit_code = fault("failure_ignored") ? 0 : 7;
}

static void order_bytes(code_executor_run *run)
{
    code_executor_write(run, CODE_EXECUTOR_STREAM_STDOUT, "a\0b\xff",
                        fault("bytes_as_text") ? 1 : 4);
}

static void order_stdin(code_executor_run *run)
{
    if (!fault("stdin_ignored"))
        code_executor_write(run, CODE_EXECUTOR_STREAM_STDOUT, run->request->stdin_bytes,
                            run->request->stdin_length);
}

static void order_environment(code_executor_run *run)
{
    for (size_t i = 0; i < run->request->environment_count && !fault("environment_ignored"); i++) {
        const char *value = strchr(run->request->environment[i], '=') + 1;
        code_executor_write(run, CODE_EXECUTOR_STREAM_STDOUT, value, strlen(value));
    }
}

static int32_t obey(void *state, code_executor_run *run, code_executor_error *error)
{
    static const struct {
        const char *order;
        void (*obey)(code_executor_run *run);
    } orders[] = {
        {"print", order_print}, {"error", order_error},
        {"exit", order_exit},   {"wait", order_wait},
        {"flood", order_flood}, {"bytes", order_bytes},
        {"stdin", order_stdin}, {"environment", order_environment},
    };
    (void)state;
    (void)error;
    if (strcmp(run->block->language, "note") == 0) {
        run->outcome =
            fault("saved_runs") ? CODE_EXECUTOR_OUTCOME_COMPLETED : CODE_EXECUTOR_OUTCOME_SAVED;
        return CODE_EXECUTOR_OK;
    }
    if (strcmp(run->block->language, "order") != 0) {
        run->outcome = CODE_EXECUTOR_OUTCOME_REFUSED;
        return CODE_EXECUTOR_OK;
    }
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (strlen(orders[i].order) == run->code_length &&
            memcmp(orders[i].order, run->code, run->code_length) == 0)
            orders[i].obey(run);
    return CODE_EXECUTOR_OK;
}

static int32_t open_config(const code_executor_host *host, const char *config, void **state,
                           code_executor_error *error)
{
    json_object *schema = NULL, *given = NULL;
    (void)host;
    (void)state;
    int32_t status = json_text_parse(good_schema, &schema, error);
    if (status == CODE_EXECUTOR_OK)
        status = json_text_parse(config, &given, error);
    bool unknown = fault("key_taken") && strstr(config, "no_such_key") != NULL;
    bool wrong = fault("type_taken") && strstr(config, "\"size\"") != NULL;
    if (status == CODE_EXECUTOR_OK && !unknown && !wrong)
        status = schema_check(schema, given, error);
    if (fault("default_refused") && json_object_object_get_ex(given, "size", NULL))
        status = error_set(error, CODE_EXECUTOR_INVALID, "not this one");
    json_object *folder = NULL;
    if (fault("create_makes_folder") && json_object_object_get_ex(given, "work_dir", &folder))
        mkdir(json_object_get_string(folder), 0700);
    json_object_put(schema);
    json_object_put(given);
    return status;
}

static const code_executor_work work = {
    .run = obey, .isolation = "obeys within the host", .open = open_config};

/* ------------------------------------------------------------------------------------------------
 * The calls, with what is wrong about them
 * --------------------------------------------------------------------------------------------- */

static const code_executor_v1 table;

static int32_t create(const code_executor_host *host, const char *config,
                      code_executor_instance **instance, code_executor_error *error)
{
    code_executor_host older;
    if (fault("error_needed"))
        error->message[0] = '\0';
    if (fault("null_config_refused") && config == NULL)
        return error_set(error, CODE_EXECUTOR_INVALID, "no configuration");
    if (fault("text_taken") && config != NULL && strchr(config, '{') == NULL)
        config = "{}";
    if (fault("newer_host_taken") && host != NULL) {
        older = *host;
        older.struct_size = sizeof older;
        host = &older;
    }
    int32_t status = code_executor_plugin_create(&table, &work, host, config, instance, error);
    if (fault("error_overrun"))
        memset(error->message, 'x', sizeof error->message);
    if (fault("success_keeps_error") && status == CODE_EXECUTOR_OK && error != NULL)
        error->message[0] = 'x';
    spoil_after_create(*instance, host);
    return status;
}

static int32_t start(code_executor_instance *instance, code_executor_error *error)
{
    spoil_owner(instance);
    bool was_up = instance->started;
    if (fault("start_twice_fails") && was_up)
        return error_set(error, CODE_EXECUTOR_CONFLICT, "it is up");
    if (fault("never_again") && was_stopped())
        return error_set(error, CODE_EXECUTOR_UNAVAILABLE, "it was stopped");
    spoil_process();
    return code_executor_plugin_start(instance, error);
}

static int32_t stop(code_executor_instance *instance, code_executor_error *error)
{
    spoil_owner(instance);
    if (fault("stop_twice_fails") && !instance->started)
        return error_set(error, CODE_EXECUTOR_CONFLICT, "it is down");
    if (fault("stop_spares"))
        return CODE_EXECUTOR_OK;
    spoil_before_stop();
    return code_executor_plugin_stop(instance, error);
}

static int32_t restart(code_executor_instance *instance, code_executor_error *error)
{
    spoil_owner(instance);
    if (fault("restart_needs_start") && !instance->started)
        return error_set(error, CODE_EXECUTOR_CONFLICT, "it is down");
    if (fault("restart_spares"))
        return code_executor_plugin_start(instance, error);
    return code_executor_plugin_restart(instance, error);
}

static int32_t execute_alone(code_executor_instance *instance, const code_executor_request *request,
                             code_executor_result **result, code_executor_error *error)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&one_at_a_time);
    int32_t status = code_executor_plugin_execute(instance, request, result, error);
    pthread_mutex_unlock(&one_at_a_time);
    return status;
}

static int32_t execute(code_executor_instance *instance, const code_executor_request *request,
                       code_executor_result **result, code_executor_error *error)
{
    code_executor_request changed;
    spoil_owner(instance);
    if (fault("result_not_set") && request->block_count == 0)
        return error_set(error, CODE_EXECUTOR_INVALID, "No code blocks to execute.");
    *result = NULL;
    if (fault("no_demand") && !instance->started)
        return error_set(error, CODE_EXECUTOR_UNAVAILABLE, "it is down");
    if (fault("unknown_is_error") && request->block_count > 0 &&
        strcmp(request->blocks[0]->language, "no-such-language") == 0)
        return error_set(error, CODE_EXECUTOR_UNSUPPORTED, "no such language");
    request = spoil_request(request, &changed);
    if (fault("one_at_a_time"))
        return execute_alone(instance, request, result, error);
    int32_t status = code_executor_plugin_execute(instance, request, result, error);
    return status == CODE_EXECUTOR_OK ? spoil_result(*result, error) : status;
}

static int32_t cancel(code_executor_instance *instance, uint64_t id, code_executor_error *error)
{
    spoil_owner(instance);
    if ((fault("cancel_unknown_fine") && instance->flights == NULL) ||
        (fault("cancel_all_ignored") && id == 0) || fault("cancel_ignored"))
        return error_clear(error);
    return code_executor_plugin_cancel(instance, fault("cancel_ends_all") ? 0 : id, error);
}

static int32_t describe(code_executor_instance *instance, char **json, code_executor_error *error)
{
    spoil_owner(instance);
    if (!fault("describe_is_short"))
        return code_executor_plugin_describe(instance, json, error);
    *json = strdup("{\"name\": \"faulty\"}");
    return error_clear(error);
}

static void free_result(code_executor_result *result)
{
    if (fault("null_not_freed"))
        result->struct_size = 0;
    code_executor_plugin_result_free(result);
}

static void destroy(code_executor_instance *instance)
{
    if (fault("destroy_hangs"))
        pause();
    spoil_before_destroy();
    code_executor_plugin_destroy(instance);
}

static const void *get_extension(code_executor_instance *instance, const char *id)
{
    (void)instance;
    return faulty_extension(id);
}

static const code_executor_v1 table = {
    .struct_size = sizeof table,
    .abi_version = CODE_EXECUTOR_ABI_VERSION,
    .name = "faulty",
    .version = "1.0",
    .description = "Keeps every rule but one",
    .config_schema = good_schema,
    .create = create,
    .start = start,
    .stop = stop,
    .restart = restart,
    .execute = execute,
    .cancel = cancel,
    .describe = describe,
    .result_free = free_result,
    .string_free = code_executor_plugin_string_free,
    .destroy = destroy,
    .get_extension = get_extension,
};

CODE_EXECUTOR_EXPORT const code_executor_v1 *code_executor_plugin_v1(void);
const code_executor_v1 *code_executor_plugin_v1(void)
{
    static code_executor_v1 changed[2];
    static bool called;
    code_executor_v1 *given = &changed[fault("entry_alternates") && called];
    called = true;
    *given = table;
    spoil_table(given);
    return given;
}
