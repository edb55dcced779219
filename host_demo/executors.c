/* SPDX-License-Identifier: Apache-2.0 */
/*
 * executors.c: see executors.h.
 *
 * Invariants. An executor's address never changes while it is loaded: the plugin's log callback
 * holds it. `lock` guards the list against the last will alone; whoever destroys an executor takes
 * it off the list first, so that the will never stops what is being destroyed.
 */
#include "executors.h"
#include "configuration.h"
#include "folder_removal.h"
#include "interrupt.h"
#include "known_languages.h"
#include "terminal.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct route {
    char *language; /* NULL: all without a route of their own */
    const struct executor *executor;
};

struct executors {
    pthread_mutex_t lock;
    struct executor **items;
    size_t count;
    code_executor_router *router;
    struct route *routes; /* as the router has them */
    size_t route_count;
    const char *work_dir;
    bool misused;
    bool cleans;
    const char *default_config; /* of the executor that is chosen where none is named, or NULL */
};

/* ------------------------------------------------------------------------------------------------
 * What an instance says while one of our calls runs
 * --------------------------------------------------------------------------------------------- */

static void take_log(void *user_data, int32_t level, const char *message)
{
    const struct executor *executor = user_data;
    /* The thread that takes signals must never wait for a terminal that does not take our words. */
    if (interrupt_is_this_thread() || level > CODE_EXECUTOR_LOG_INFO)
        return;
    if (level <= CODE_EXECUTOR_LOG_ERROR)
        say_problem("%s: %s", executor->label, message);
    else
        say_note("%s: %s", executor->label, message);
}

static void take_progress(void *user_data, const char *what, uint64_t done, uint64_t total)
{
    (void)user_data;
    if (!interrupt_is_this_thread())
        say_progress(what, done, total);
}

/* ------------------------------------------------------------------------------------------------
 * One executor
 * --------------------------------------------------------------------------------------------- */

/* Removes the temporary workspace, if nothing is in it or nothing of it is to stay. Returns 0, or the
 * errno of what stays. */
static int remove_workspace(const struct executor *executor)
{
    if (executor->workspace == NULL)
        return 0;
    if (executor->cleans)
        return folder_remove(executor->workspace);
    return rmdir(executor->workspace) == 0 ? 0 : errno;
}

static void leave_workspace(const struct executor *executor)
{
    int reason = remove_workspace(executor);
    if (reason != 0 && executor->cleans)
        say_problem("Cannot remove %s: %s.", executor->workspace, strerror(reason));
    else if (reason == ENOTEMPTY)
        say_note("Files of %s are in %s", executor->label, executor->workspace);
}

static void free_executor(struct executor *executor)
{
    if (executor == NULL)
        return;
    if (executor->instance != NULL)
        executor->table->destroy(executor->instance);
    if (executor->plugin != NULL)
        code_executor_plugin_unload(executor->plugin);
    leave_workspace(executor);
    free(executor->workspace);
    free(executor->label);
    free(executor->specification);
    free(executor);
}

static void free_executor_at(struct executor **executor)
{
    free_executor(*executor);
}

static const struct executor *find_label(const struct executors *executors, const char *label)
{
    for (size_t i = 0; i < executors->count; i++)
        if (strcmp(executors->items[i]->label, label) == 0)
            return executors->items[i];
    return NULL;
}

/* NAME, or NAME#2 and so on where that is taken. */
static char *new_label(const struct executors *executors, const char *name)
{
    char *label = strdup(name);
    for (int i = 2; label != NULL && find_label(executors, label) != NULL; i++) {
        free(label);
        if (asprintf(&label, "%s#%d", name, i) < 0)
            return NULL;
    }
    return label;
}

static bool add_executor(struct executors *executors, struct executor *executor)
{
    pthread_mutex_lock(&executors->lock);
    struct executor **items =
        realloc(executors->items, (executors->count + 1) * sizeof *executors->items);
    if (items != NULL) {
        executors->items = items;
        items[executors->count++] = executor;
    }
    pthread_mutex_unlock(&executors->lock);
    return items != NULL;
}

/* Takes the last executor off the list; the caller frees it. */
static struct executor *remove_last(struct executors *executors)
{
    pthread_mutex_lock(&executors->lock);
    struct executor *last = executors->items[--executors->count];
    pthread_mutex_unlock(&executors->lock);
    return last;
}

static int32_t create_instance(struct executors *executors, struct executor *executor,
                               const char *config, code_executor_error *error)
{
    struct configuration made = {0};
    int32_t status = configuration_make(config, executor->table, executor->label,
                                        executors->work_dir, &made, error);
    if (status != CODE_EXECUTOR_OK) {
        executors->misused = executors->misused || made.given_twice;
        return status;
    }
    executor->workspace = made.workspace;
    executor->cleans = executors->cleans;
    const code_executor_host host = {
        .struct_size = sizeof host,
        .user_data = executor,
        .log = take_log,
        .progress = take_progress,
    };
    code_executor_error reason = CODE_EXECUTOR_ERROR_INIT;
    status = executor->table->create(&host, bytes_text(&made.text), &executor->instance, &reason);
    bytes_free(&made.text);
    return status == CODE_EXECUTOR_OK
               ? status
               : fail(error, status, "%s: %s", executor->label, reason.message);
}

static int32_t load_new(struct executors *executors, const char *name, const char *config,
                        const char *specification, const struct executor **loaded,
                        code_executor_error *error)
{
    CLEANUP(free_executor_at) struct executor *new = calloc(1, sizeof *new);
    if (new == NULL)
        return fail_no_memory(error);
    int32_t status = code_executor_plugin_load(name, &new->plugin, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    new->table = code_executor_plugin_table(new->plugin);
    new->label = new_label(executors, new->table->name);
    new->specification = strdup(specification);
    if (new->label == NULL || new->specification == NULL)
        return fail_no_memory(error);
    status = create_instance(executors, new, config, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    if (!add_executor(executors, new))
        return fail_no_memory(error);
    *loaded = new;
    new = NULL; /* The list has it now. */
    return CODE_EXECUTOR_OK;
}

int32_t executors_load(struct executors *executors, const char *specification, const char *config,
                       const struct executor **loaded, code_executor_error *error)
{
    const char *end = strstr(specification, ":{");
    end = end == NULL ? strstr(specification, ":@") : end;
    if (end != NULL && config != NULL) {
        return fail(error, CODE_EXECUTOR_INVALID, "The configuration of %s is given twice.",
                    specification);
    }
    if (end == NULL && config == NULL) {
        *loaded = find_label(executors, specification);
        if (*loaded != NULL)
            return CODE_EXECUTOR_OK;
    }
    config = end == NULL ? config : end + 1;
    size_t name_length = end == NULL ? strlen(specification) : (size_t)(end - specification);
    CLEANUP(free_text) char *name = strndup(specification, name_length);
    CLEANUP(bytes_free) struct bytes whole = {0};
    if (name == NULL || !bytes_format(&whole, "%s:%s", name, config == NULL ? "" : config))
        return fail_no_memory(error);
    for (size_t i = 0; i < executors->count; i++) {
        if (strcmp(executors->items[i]->specification, whole.data) == 0) {
            *loaded = executors->items[i];
            return CODE_EXECUTOR_OK;
        }
    }
    return load_new(executors, name, config, whole.data, loaded, error);
}

bool executor_is_up(const struct executor *executor)
{
    char *text = NULL;
    if (executor->table->describe(executor->instance, &text, NULL) != CODE_EXECUTOR_OK)
        return false;
    CLEANUP(free_json) json_object *description = parse_object(text);
    executor->table->string_free(text);
    json_object *state = NULL;
    return description != NULL && json_object_object_get_ex(description, "state", &state) &&
           strcmp(json_object_get_string(state), "stopped") != 0;
}

/* ------------------------------------------------------------------------------------------------
 * All of them
 * --------------------------------------------------------------------------------------------- */

/* The last will: what runs must not outlive us, whatever our main thread is doing. */
static void stop_all(void *state)
{
    struct executors *executors = state;
    pthread_mutex_lock(&executors->lock);
    for (size_t i = 0; i < executors->count; i++) {
        const struct executor *executor = executors->items[i];
        executor->table->stop(executor->instance, NULL);
        remove_workspace(executor);
    }
    pthread_mutex_unlock(&executors->lock);
}

int32_t executors_open(const char *work_dir, struct executors **opened, code_executor_error *error)
{
    struct executors *new = calloc(1, sizeof *new);
    if (new == NULL)
        return fail_no_memory(error);
    int32_t status = code_executor_router_create(&new->router, error);
    if (status != CODE_EXECUTOR_OK) {
        free(new);
        return status;
    }
    pthread_mutex_init(&new->lock, NULL);
    new->work_dir = work_dir;
    interrupt_last_will(stop_all, new);
    *opened = new;
    return CODE_EXECUTOR_OK;
}

void executors_close(struct executors *executors)
{
    if (executors == NULL)
        return;
    code_executor_router_free(executors->router);
    while (executors->count > 0)
        free_executor(remove_last(executors));
    interrupt_last_will(NULL, NULL);
    for (size_t i = 0; i < executors->route_count; i++)
        free(executors->routes[i].language);
    free(executors->routes);
    free(executors->items);
    pthread_mutex_destroy(&executors->lock);
    free(executors);
}

void executors_close_at(struct executors **executors)
{
    executors_close(*executors);
}

static bool is_same_language(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : code_executor_language_equal(a, b);
}

static int32_t note_route(struct executors *executors, const char *language,
                          const struct executor *executor, code_executor_error *error)
{
    for (size_t i = 0; i < executors->route_count; i++) {
        if (is_same_language(executors->routes[i].language, language)) {
            executors->routes[i].executor = executor;
            return CODE_EXECUTOR_OK;
        }
    }
    struct route *routes =
        realloc(executors->routes, (executors->route_count + 1) * sizeof *routes);
    if (routes == NULL)
        return fail_no_memory(error);
    executors->routes = routes;
    char *copy = language == NULL ? NULL : strdup(language);
    if (language != NULL && copy == NULL)
        return fail_no_memory(error);
    routes[executors->route_count++] = (struct route){copy, executor};
    return CODE_EXECUTOR_OK;
}

int32_t executors_route(struct executors *executors, const char *language,
                        const struct executor *executor, code_executor_error *error)
{
    int32_t status =
        language == NULL ? CODE_EXECUTOR_OK : check_language(executor, language, error);
    executors->misused = executors->misused || status == CODE_EXECUTOR_INVALID;
    if (status == CODE_EXECUTOR_OK) {
        status = code_executor_router_add(executors->router, language, executor->label,
                                          executor->table, executor->instance, error);
    }
    return status == CODE_EXECUTOR_OK ? note_route(executors, language, executor, error) : status;
}

bool executors_append_routes(const struct executors *executors, struct bytes *text)
{
    bool whole = true;
    for (size_t i = 0; i < executors->route_count && whole; i++) {
        const struct route *route = &executors->routes[i];
        CLEANUP(bytes_free) struct bytes language = {0};
        CLEANUP(bytes_free) struct bytes label = {0};
        const char *rest = executors->route_count == 1 ? "everything" : "everything else";
        const char *shown = route->language == NULL ? rest : route->language;
        whole = bytes_append_visible(&language, shown, strlen(shown), false) &&
                bytes_append_visible(&label, route->executor->label, strlen(route->executor->label),
                                     false) &&
                bytes_format(text, "  %-16s %s %s\n", bytes_text(&language), sign_arrow(),
                             bytes_text(&label));
    }
    return whole;
}

int32_t executors_load_named(struct executors *executors, const struct options *options,
                             code_executor_error *error)
{
    const struct executor *loaded = NULL;
    int32_t status = CODE_EXECUTOR_OK;
    executors->cleans = options->clean;
    if (options->executor != NULL) {
        status = executors_load(executors, options->executor, options->config, &loaded, error);
        if (status == CODE_EXECUTOR_OK)
            status = executors_route(executors, NULL, loaded, error);
    } else {
        executors->default_config = options->config;
    }
    for (size_t i = 0; i < options->route_count && status == CODE_EXECUTOR_OK; i++) {
        const struct route_option *route = &options->routes[i];
        status = executors_load(executors, route->executor, NULL, &loaded, error);
        if (status == CODE_EXECUTOR_OK)
            status = executors_route(executors, route->language, loaded, error);
    }
    return status;
}

static int32_t start_sandbox(struct executors *executors, const struct executor **started,
                             code_executor_error *error)
{
    int32_t status =
        executors_load(executors, "sandbox", executors->default_config, started, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    if (!interrupt_begin(executors_cancel, executors))
        return fail(error, CODE_EXECUTOR_CANCELLED, "Interrupted.");
    code_executor_error reason = CODE_EXECUTOR_ERROR_INIT;
    status = (*started)->table->start((*started)->instance, &reason);
    interrupt_finish();
    if (status != CODE_EXECUTOR_OK) {
        fail(error, status, "%s: %s", (*started)->label, reason.message);
        free_executor(remove_last(executors));
    }
    return status;
}

static bool is_missing(const char *name)
{
    code_executor_plugin *plugin = NULL;
    int32_t status = code_executor_plugin_load(name, &plugin, NULL);
    code_executor_plugin_unload(plugin);
    return status == CODE_EXECUTOR_NOT_FOUND;
}

/* Whether sandbox cannot work here, whatever it is told. What was wrong with the workspace or the
 * configuration of the user must not make code run without isolation: where there was either, the
 * sandbox is asked again without them, and what it answers then is the REASON. */
static bool cannot_work(struct executors *executors, code_executor_error *reason)
{
    const char *config = executors->default_config, *work_dir = executors->work_dir;
    code_executor_error answer = *reason;
    if (config != NULL || work_dir != NULL) {
        const struct executor *plain = NULL;
        executors->default_config = executors->work_dir = NULL;
        answer.status = start_sandbox(executors, &plain, &answer);
        executors->default_config = config;
        executors->work_dir = work_dir;
        if (answer.status == CODE_EXECUTOR_OK)
            free_executor(remove_last(executors));
    }
    if (answer.status != CODE_EXECUTOR_UNAVAILABLE && answer.status != CODE_EXECUTOR_DENIED &&
        answer.status != CODE_EXECUTOR_UNSUPPORTED)
        return false;
    *reason = answer;
    return true;
}

static bool has_default_route(const struct executors *executors)
{
    for (size_t i = 0; i < executors->route_count; i++)
        if (executors->routes[i].language == NULL)
            return true;
    return false;
}

int32_t executors_need(struct executors *executors, const char *language,
                       code_executor_error *error)
{
    if (language == NULL ? has_default_route(executors)
                         : code_executor_router_find(executors->router, language) != NULL)
        return CODE_EXECUTOR_OK;
    const struct executor *loaded = NULL;
    code_executor_error reason = CODE_EXECUTOR_ERROR_INIT;
    bool missing = is_missing("sandbox");
    int32_t status = missing ? CODE_EXECUTOR_NOT_FOUND : start_sandbox(executors, &loaded, &reason);
    if (status != CODE_EXECUTOR_OK) {
        if (!missing && (status == CODE_EXECUTOR_CANCELLED || status == CODE_EXECUTOR_INVALID ||
                         !cannot_work(executors, &reason)))
            return fail(error, status, "%s", reason.message);
        if (!missing)
            say_problem("The executor sandbox does not work here: %s", reason.message);
        status = executors_load(executors, "local", executors->default_config, &loaded, error);
        if (status != CODE_EXECUTOR_OK)
            return status;
        say_problem("The executor local does not isolate: code runs on this machine as you. "
                    "(--executor NAME chooses another; `host_demo plugins` lists them.)");
    }
    return executors_route(executors, NULL, loaded, error);
}

const char *executors_label(const struct executors *executors, const char *language)
{
    return code_executor_router_find(executors->router, language);
}

static const struct executor *find_route(const struct executors *executors, const char *language)
{
    const char *label = code_executor_router_find(executors->router, language);
    return label == NULL ? NULL : find_label(executors, label);
}

enum block_policy executors_policy(const struct executors *executors, const char *language)
{
    const struct executor *executor = find_route(executors, language);
    return executor == NULL ? POLICY_RUNS : executor_policy(executor, language);
}

bool executors_are_misused(const struct executors *executors)
{
    return executors != NULL && executors->misused;
}

size_t executors_count(const struct executors *executors)
{
    return executors->count;
}

const struct executor *executors_at(const struct executors *executors, size_t index)
{
    return executors->items[index];
}

int32_t executors_execute(struct executors *executors, const code_executor_request *request,
                          code_executor_routed_result **result, code_executor_error *error)
{
    return code_executor_router_execute(executors->router, request, result, error);
}

void executors_cancel(void *state)
{
    struct executors *executors = state;
    code_executor_router_cancel(executors->router, 0, NULL);
}

void executors_cancel_one(struct executors *executors, uint64_t execution_id)
{
    code_executor_router_cancel(executors->router, execution_id, NULL);
}
