/* SPDX-License-Identifier: Apache-2.0 */
/*
 * executor.c: the functions of the vtable; see code_executor.h for what each promises.
 *
 * An instance is what create fixed (configuration, languages, settings) and a life cycle. A call checks
 * what it was given, takes a ticket from the life cycle, does its work on the calling thread, and gives
 * the ticket back.
 *
 * An instance belongs to the process that created it. In a forked child of the host its locks may be held
 * by threads that do not exist there, and its runner is the parent's: calls answer UNSUPPORTED, and
 * destroy leaves everything as it is.
 */
#include "commandline.h"

#include "config.h"
#include "language_list.h"
#include "lifecycle.h"
#include "plugin_folder.h"
#include "request_check.h"
#include "run.h"
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct code_executor_instance {
    const code_executor_v1 *table;
    const commandline_launcher *launcher;
    void *launcher_state;
    code_executor_host host;
    pid_t owner;
    json_object *config;
    const char *const *environment; /* the settings', one block */
    run_settings settings;
    char *runner_path;
    bool alive; /* the life cycle was begun */
    lifecycle life;
    language_list languages;
};

/* ------------------------------------------------------------------------------------------------
 * What a launcher sees
 * --------------------------------------------------------------------------------------------- */

bool launch_cancelled(const launch_context *context)
{
    struct pollfd ready = {.fd = context->cancel_fd, .events = POLLIN};
    return poll(&ready, 1, 0) > 0;
}

static void log_line(void *instance, int32_t level, const char *message)
{
    const code_executor_host *host = &((const code_executor_instance *)instance)->host;
    if (host->log)
        host->log(host->user_data, level, message);
}

void launch_log(const launch_context *context, int32_t level, const char *format, ...)
{
    char message[2048];
    va_list arguments;
    if (!context->internal)
        return;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    log_line(context->internal, level, message);
}

void launch_progress(const launch_context *context, const char *what, uint64_t done, uint64_t total)
{
    if (!context->internal)
        return;
    const code_executor_host *host = &((const code_executor_instance *)context->internal)->host;
    if (host->progress)
        host->progress(host->user_data, what, done, total);
}

/* ------------------------------------------------------------------------------------------------
 * create and destroy
 * --------------------------------------------------------------------------------------------- */

static int32_t find_runner(char **path, code_executor_error *error)
{
    const char *folder = plugin_folder();
    if (!folder || asprintf(path, "%s/runner", folder) < 0) {
        *path = NULL;
        return error_set(error, CODE_EXECUTOR_IO,
                         "cannot find the folder of the plugin, where its runner is");
    }
    return CODE_EXECUTOR_OK;
}

/* Without links, as far as PATH exists: all of it, or all but the last folder. What does not exist yet
 * stays as it is. */
static void resolve_links(char **path)
{
    char *resolved = realpath(*path, NULL);
    char *slash = strrchr(*path, '/');
    if (!resolved && slash && slash != *path) {
        *slash = '\0';
        char *parent = realpath(*path, NULL);
        *slash = '/';
        if (!parent ||
            asprintf(&resolved, "%s%s", strcmp(parent, "/") == 0 ? "" : parent, slash) < 0)
            resolved = NULL;
        free(parent);
    }
    if (resolved) {
        free(*path);
        *path = resolved;
    }
}

int32_t commandline_absolute_path(const char *path, char **absolute, code_executor_error *error)
{
    char *current = path[0] == '/' ? strdup("") : getcwd(NULL, 0);
    if (!current) {
        return error_set_errno(error, CODE_EXECUTOR_NOT_FOUND, errno,
                               "%s counts from the current folder, which cannot be read", path);
    }
    while (path[0] == '.' && (path[1] == '/' || path[1] == '\0')) {
        path += path[1] ? 2 : 1;
        while (*path == '/')
            path++;
    }
    bool root = strcmp(current, "/") == 0;
    int length = asprintf(absolute, "%s%s%s", root ? "" : current,
                          *path && *path != '/' ? "/"
                          : root && !*path      ? "/"
                                                : "",
                          path);
    free(current);
    if (length < 0) {
        *absolute = NULL;
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for a path");
    }
    while (length > 1 && (*absolute)[length - 1] == '/')
        (*absolute)[--length] = '\0';
    resolve_links(absolute);
    return CODE_EXECUTOR_OK;
}

/* The keys that all command-line executors share. */
static int32_t read_settings(code_executor_instance *self, code_executor_error *error)
{
    run_settings *settings = &self->settings;
    json_object *config = self->config;
    settings->timeout = config_number(config, "timeout");
    settings->max_output_bytes = (size_t)config_integer(config, "max_output_bytes");
    settings->delete_tmp_files = config_boolean(config, "delete_tmp_files");
    settings->object = self->launcher->object;
    settings->log = log_line;
    settings->log_state = self;
    int32_t status =
        config_assignments(config, "env", &self->environment, &settings->environment_count, error);
    settings->environment = self->environment;
    if (status == CODE_EXECUTOR_OK) {
        status =
            language_table_create(config_value(config, "execution_policies"),
                                  config_value(config, "languages"), &settings->languages, error);
    }
    const char *work_dir = config_string(config, "work_dir");
    if (status == CODE_EXECUTOR_OK && work_dir)
        status = commandline_absolute_path(work_dir, &self->life.work_dir, error);
    return status;
}

static int32_t build(code_executor_instance *self, const char *config_json,
                     code_executor_error *error)
{
    int32_t status = config_read_adjusted(self->table->config_schema, config_json,
                                          self->launcher->adjust, &self->config, error);
    if (status == CODE_EXECUTOR_OK)
        status = read_settings(self, error);
    if (status == CODE_EXECUTOR_OK)
        status = find_runner(&self->runner_path, error);
    if (status == CODE_EXECUTOR_OK) {
        launch_context context = {.work_dir = self->life.work_dir,
                                  .runner_path = self->runner_path,
                                  .cancel_fd = -1,
                                  .internal = self};
        status = self->launcher->configure(&context, self->config, &self->launcher_state, error);
    }
    if (status == CODE_EXECUTOR_OK) {
        self->settings.object_state = self->launcher_state;
        self->life.launcher = self->launcher;
        self->life.launcher_state = self->launcher_state;
        self->life.instance = self;
        self->life.runner_path = self->runner_path;
        status = lifecycle_init(&self->life, error);
        self->alive = status == CODE_EXECUTOR_OK;
    }
    return status;
}

static void free_instance(code_executor_instance *self)
{
    if (self->alive)
        lifecycle_destroy(&self->life);
    if (self->launcher_state)
        self->launcher->destroy(self->launcher_state);
    language_list_release(&self->languages);
    language_table_free(self->settings.languages);
    free((void *)(uintptr_t)self->environment);
    free(self->life.work_dir);
    free(self->runner_path);
    json_object_put(self->config);
    free(self);
}

int32_t commandline_create(const code_executor_v1 *table, const commandline_launcher *launcher,
                           const code_executor_host *host, const char *config_json,
                           code_executor_instance **instance, code_executor_error *error)
{
    if (!instance)
        return error_set(error, CODE_EXECUTOR_INVALID, "instance is NULL");
    *instance = NULL;
    int32_t status = host ? check_host(host, error) : CODE_EXECUTOR_OK;
    if (status != CODE_EXECUTOR_OK)
        return status;
    code_executor_instance *self = calloc(1, sizeof *self);
    if (!self)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for an instance");
    self->table = table;
    self->launcher = launcher;
    self->owner = getpid();
    if (host)
        self->host = *host;
    status = build(self, config_json, error);
    if (status != CODE_EXECUTOR_OK) {
        free_instance(self);
        return status;
    }
    *instance = self;
    return error_clear(error);
}

void commandline_destroy(code_executor_instance *self)
{
    if (!self || self->owner != getpid())
        return;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    if (lifecycle_stop(&self->life, &error) != CODE_EXECUTOR_OK)
        log_line(self, CODE_EXECUTOR_LOG_ERROR, error.message);
    free_instance(self);
}

/* ------------------------------------------------------------------------------------------------
 * start, stop, restart, cancel
 * --------------------------------------------------------------------------------------------- */

static int32_t check_instance(const code_executor_instance *self, code_executor_error *error)
{
    if (!self)
        return error_set(error, CODE_EXECUTOR_INVALID, "instance is NULL");
    if (self->owner != getpid()) {
        return error_set(
            error, CODE_EXECUTOR_UNSUPPORTED,
            "this instance was made by process %ld, before a fork; make a new one here",
            (long)self->owner);
    }
    return CODE_EXECUTOR_OK;
}

/* OK clears what helpers may have left in ERROR on the way. */
static int32_t finish(int32_t status, code_executor_error *error)
{
    return status == CODE_EXECUTOR_OK ? error_clear(error) : status;
}

int32_t commandline_start(code_executor_instance *self, code_executor_error *error)
{
    int32_t status = check_instance(self, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    ticket starting = {.id = 0, .canceller = session_canceller_new()};
    if (!starting.canceller)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for a start");
    place *up = NULL;
    status = lifecycle_enter(&self->life, &starting, error);
    if (status == CODE_EXECUTOR_OK) {
        status = lifecycle_bring_up(&self->life, &starting, &up, error);
        place_release(up);
        lifecycle_leave(&self->life, &starting);
    }
    session_canceller_free(starting.canceller);
    return finish(status, error);
}

int32_t commandline_stop(code_executor_instance *self, code_executor_error *error)
{
    int32_t status = check_instance(self, error);
    if (status == CODE_EXECUTOR_OK)
        status = lifecycle_stop(&self->life, error);
    return finish(status, error);
}

int32_t commandline_restart(code_executor_instance *self, code_executor_error *error)
{
    int32_t status = check_instance(self, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    ticket restarting = {.id = 0, .canceller = session_canceller_new()};
    if (!restarting.canceller)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for a restart");
    status = lifecycle_enter(&self->life, &restarting, error);
    if (status == CODE_EXECUTOR_OK) {
        status = lifecycle_restart(&self->life, &restarting, error);
        lifecycle_leave(&self->life, &restarting);
    }
    session_canceller_free(restarting.canceller);
    return finish(status, error);
}

int32_t commandline_cancel(code_executor_instance *self, uint64_t execution_id,
                           code_executor_error *error)
{
    int32_t status = check_instance(self, error);
    if (status == CODE_EXECUTOR_OK && !lifecycle_cancel(&self->life, execution_id)) {
        status = error_set(error, CODE_EXECUTOR_NOT_FOUND, "no execution with id %llu is in flight",
                           (unsigned long long)execution_id);
    }
    return finish(status, error);
}

/* ------------------------------------------------------------------------------------------------
 * execute
 * --------------------------------------------------------------------------------------------- */

static int32_t execute(code_executor_instance *self, const code_executor_request *request,
                       ticket *executing, code_executor_result **result, code_executor_error *error)
{
    place *up = NULL;
    int32_t status = lifecycle_bring_up(&self->life, executing, &up, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    run_place where = {
        .session = up->session, .work_dir = up->work_dir, .folder = up->folder, .copy = up->copy};
    status = run_blocks(&self->settings, &where, request, executing->canceller, result, error);
    place_release(up);
    return status;
}

int32_t commandline_execute(code_executor_instance *self, const code_executor_request *request,
                            code_executor_result **result, code_executor_error *error)
{
    if (!result)
        return error_set(error, CODE_EXECUTOR_INVALID, "result is NULL");
    *result = NULL;
    int32_t status = check_instance(self, error);
    if (status == CODE_EXECUTOR_OK)
        status = check_request(request, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    ticket executing = {.id = request->execution_id, .canceller = session_canceller_new()};
    if (!executing.canceller)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for an execution");
    status = lifecycle_enter(&self->life, &executing, error);
    if (status == CODE_EXECUTOR_OK) {
        status = execute(self, request, &executing, result, error);
        lifecycle_leave(&self->life, &executing);
    }
    session_canceller_free(executing.canceller);
    return finish(status, error);
}

/* ------------------------------------------------------------------------------------------------
 * describe
 * --------------------------------------------------------------------------------------------- */

static json_object *string_or_null(const char *string)
{
    return string ? json_object_new_string(string) : NULL;
}

/* Members that the launcher may put something else in the place of. */
static json_object *describe_common(const code_executor_instance *self, const char *state,
                                    const char *work_dir)
{
    json_object *description = json_object_new_object();
    json_object *limits = json_object_new_object();
    if (!description || !limits) {
        json_object_put(description);
        json_object_put(limits);
        return NULL;
    }
    json_object_object_add(description, "name", json_object_new_string(self->table->name));
    json_object_object_add(description, "version", json_object_new_string(self->table->version));
    json_object_object_add(description, "state", json_object_new_string(state));
    json_object_object_add(description, "timeout", json_object_new_double(self->settings.timeout));
    json_object_object_add(description, "work_dir", string_or_null(work_dir));
    json_object_object_add(description, "bind_dir", NULL);
    json_object_object_add(description, "isolation", json_object_new_string("unknown"));
    json_object_object_add(description, "engine", NULL);
    json_object_object_add(description, "limits", limits);
    return description;
}

/* A limit that holds on every executor, whatever else is limited. */
static void describe_output_limit(const code_executor_instance *self, json_object *description)
{
    json_object *limits = json_object_object_get(description, "limits");
    if (json_object_is_type(limits, json_type_object)) {
        json_object_object_add(limits, "max_output_bytes",
                               json_object_new_uint64(self->settings.max_output_bytes));
    }
}

int32_t commandline_describe(code_executor_instance *self, char **json, code_executor_error *error)
{
    if (!json)
        return error_set(error, CODE_EXECUTOR_INVALID, "json is NULL");
    *json = NULL;
    int32_t status = check_instance(self, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    const char *state;
    place *up = lifecycle_look(&self->life, &state);
    json_object *description =
        describe_common(self, state, up ? up->work_dir : self->life.work_dir);
    place_release(up);
    if (description && self->launcher->describe)
        self->launcher->describe(self->launcher_state, strcmp(state, "started") == 0, description);
    if (description)
        describe_output_limit(self, description);
    const char *text =
        description ? json_object_to_json_string_ext(
                          description, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)
                    : NULL;
    *json = text ? strdup(text) : NULL;
    json_object_put(description);
    return *json ? error_clear(error)
                 : error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for a description");
}

void commandline_string_free(char *string)
{
    free(string);
}

/* ------------------------------------------------------------------------------------------------
 * Extensions
 * --------------------------------------------------------------------------------------------- */

/* What list told of the plugin itself, without an instance. */
static language_list default_languages;

__attribute__((destructor)) static void free_default_languages(void)
{
    language_list_release(&default_languages);
}

static int32_t list_default_languages(code_executor_error *error)
{
    language_table *table;
    int32_t status = language_table_create(NULL, NULL, &table, error);
    if (status == CODE_EXECUTOR_OK) {
        status = language_list_make(&default_languages, table, NULL, error);
        language_table_free(table);
    }
    return status;
}

static int32_t list_instance_languages(code_executor_instance *self, code_executor_error *error)
{
    int32_t status = check_instance(self, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    const char *state;
    place *up = lifecycle_look(&self->life, &state);
    session *asked = strcmp(state, "started") == 0 ? up->session : NULL;
    status = language_list_make(&self->languages, self->settings.languages, asked, error);
    if (status != CODE_EXECUTOR_OK && asked) {
        /* It went away meanwhile: then none is known to be there. */
        status = language_list_make(&self->languages, self->settings.languages, NULL, error);
    }
    place_release(up);
    return status;
}

static int32_t list_languages(code_executor_instance *self,
                              const code_executor_language *const **languages, size_t *count,
                              code_executor_error *error)
{
    if (!languages || !count)
        return error_set(error, CODE_EXECUTOR_INVALID, "languages or count is NULL");
    int32_t status = self ? list_instance_languages(self, error) : list_default_languages(error);
    const language_list *list = self ? &self->languages : &default_languages;
    *languages = status == CODE_EXECUTOR_OK ? list->languages : NULL;
    *count = status == CODE_EXECUTOR_OK ? list->count : 0;
    return finish(status, error);
}

static const code_executor_languages_v1 languages_extension = {
    .struct_size = sizeof(code_executor_languages_v1),
    .list = list_languages,
};

const void *commandline_get_extension(const commandline_launcher *launcher, const char *id)
{
    if (id && strcmp(id, CODE_EXECUTOR_EXTENSION_LANGUAGES) == 0)
        return &languages_extension;
    return id && launcher->get_extension ? launcher->get_extension(id) : NULL;
}
