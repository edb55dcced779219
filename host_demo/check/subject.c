/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subject.c: see subject.h. Nothing is freed on the way out of a rule: its process ends with it.
 */
#include "subject.h"
#include "json_text.h"
#include "plain_schema.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------------
 * What a rule says
 * --------------------------------------------------------------------------------------------- */

void step(struct subject *subject, const char *call)
{
    snprintf(subject->report->step, sizeof subject->report->step, "%s", call);
}

void expect(struct subject *subject, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(subject->report->expected, sizeof subject->report->expected, format, arguments);
    va_end(arguments);
}

static _Noreturn void end_rule(struct subject *subject, enum verdict verdict)
{
    subject->report->verdict = (int32_t)verdict;
    _exit(0);
}

void saw(struct subject *subject, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(subject->report->seen, sizeof subject->report->seen, format, arguments);
    va_end(arguments);
    end_rule(subject, VERDICT_FAILED);
}

void saw_status(struct subject *subject, int32_t status, const code_executor_error *error)
{
    const char *words = error == NULL || error->message[0] == '\0' ? "no message" : error->message;
    if (status == CODE_EXECUTOR_OK)
        saw(subject, "%s returned ok", subject->report->step);
    saw(subject, "%s returned %s: %.1400s", subject->report->step,
        code_executor_status_name(status), words);
}

void not_applicable(struct subject *subject, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(subject->report->seen, sizeof subject->report->seen, format, arguments);
    va_end(arguments);
    end_rule(subject, VERDICT_NOT_APPLICABLE);
}

static _Noreturn void no_memory(struct subject *subject)
{
    not_applicable(subject, "the host has no memory");
}

/* ------------------------------------------------------------------------------------------------
 * The schema and the configuration
 * --------------------------------------------------------------------------------------------- */

json_object *subject_schema(struct subject *subject)
{
    json_object *schema = NULL;
    if (json_text_parse(subject->table->config_schema, &schema, NULL) != CODE_EXECUTOR_OK ||
        plain_schema(schema, NULL) != CODE_EXECUTOR_OK)
        not_applicable(subject, "config_schema is no schema");
    return schema;
}

json_object *subject_config(struct subject *subject)
{
    json_object *config = NULL;
    if (json_text_parse(bytes_text(&subject->config), &config, NULL) != CODE_EXECUTOR_OK ||
        !json_object_is_type(config, json_type_object))
        not_applicable(subject, "the configuration that was given is no JSON object");
    return config;
}

/* Gives an executor that has a workspace one of its own, where none is configured. */
static bool add_workspace(struct subject *subject, json_object *config)
{
    json_object *schema = NULL, *properties = NULL;
    CLEANUP(bytes_free) struct bytes folder = {0};
    bool has = json_text_parse(subject->table->config_schema, &schema, NULL) == CODE_EXECUTOR_OK &&
               json_object_object_get_ex(schema, "properties", &properties) &&
               json_object_object_get_ex(properties, "work_dir", NULL);
    json_object_put(schema);
    if (!has || json_object_object_get_ex(config, "work_dir", NULL))
        return true;
    json_object *path = NULL;
    if (bytes_format(&folder, "%s/workspace", subject->folder))
        path = json_object_new_string(folder.data);
    return path != NULL && json_object_object_add(config, "work_dir", path) == 0;
}

static void find_config(struct subject *subject)
{
    json_object *config = NULL;
    const char *given = *subject->checked->config == '\0' ? "{}" : subject->checked->config;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    if (json_text_parse(given, &config, &error) != CODE_EXECUTOR_OK ||
        !json_object_is_type(config, json_type_object)) {
        bytes_append_text(&subject->config, given); /* the plugin is to say so */
        return;
    }
    if (!add_workspace(subject, config) ||
        !bytes_append_text(&subject->config,
                           json_object_to_json_string_ext(config, JSON_C_TO_STRING_PLAIN)))
        no_memory(subject);
    json_object_put(config);
}

/* ------------------------------------------------------------------------------------------------
 * Languages and probes
 * --------------------------------------------------------------------------------------------- */

bool list_languages(struct subject *subject, code_executor_instance *instance,
                    const code_executor_language *const **languages, size_t *count)
{
    const code_executor_languages_v1 *extension =
        subject->table->get_extension(instance, CODE_EXECUTOR_EXTENSION_LANGUAGES);
    return extension != NULL &&
           extension->list(instance, languages, count, NULL) == CODE_EXECUTOR_OK;
}

static void find_probes(struct subject *subject)
{
    const code_executor_language *const *languages = NULL;
    size_t count = 0;
    if (subject->probes.language != NULL || !list_languages(subject, NULL, &languages, &count))
        return;
    probes_choose(languages, count, &subject->probes);
}

const struct probe *need_probe(struct subject *subject, enum probe_kind kind)
{
    if (subject->probes.language == NULL)
        not_applicable(subject, "no code is known in its languages; --probes can give some");
    if (subject->probes.items[kind].code == NULL)
        not_applicable(subject, "--probes has no \"%s\"", probe_name(kind));
    return &subject->probes.items[kind];
}

/* ------------------------------------------------------------------------------------------------
 * Calls
 * --------------------------------------------------------------------------------------------- */

void subject_load(struct subject *subject)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    step(subject, "load");
    expect(subject, "the plugin loads");
    int32_t status = code_executor_plugin_load(subject->checked->name, &subject->plugin, &error);
    subject->report->status = status;
    if (status == CODE_EXECUTOR_NOT_FOUND) /* no fault of a plugin: the words stand alone */
        saw(subject, "%.1400s", error.message);
    if (status != CODE_EXECUTOR_OK)
        saw(subject, "%s: %.1400s", code_executor_status_name(status), error.message);
    subject->table = code_executor_plugin_table(subject->plugin);
    find_config(subject);
    find_probes(subject);
}

code_executor_instance *must_create(struct subject *subject)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_instance *instance = NULL;
    step(subject, "create");
    expect(subject, "create makes an instance");
    int32_t status = subject->table->create(NULL, bytes_text(&subject->config), &instance, &error);
    if (status != CODE_EXECUTOR_OK)
        saw_status(subject, status, &error);
    if (instance == NULL)
        saw(subject, "create returned ok, and the instance is NULL");
    return instance;
}

static void must(struct subject *subject, const char *call, code_executor_instance *instance,
                 int32_t (*function)(code_executor_instance *instance, code_executor_error *error))
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    step(subject, call);
    expect(subject, "%s succeeds", call);
    int32_t status = function(instance, &error);
    if (status != CODE_EXECUTOR_OK)
        saw_status(subject, status, &error);
}

void must_start(struct subject *subject, code_executor_instance *instance)
{
    must(subject, "start", instance, subject->table->start);
}

void must_stop(struct subject *subject, code_executor_instance *instance)
{
    must(subject, "stop", instance, subject->table->stop);
}

void must_restart(struct subject *subject, code_executor_instance *instance)
{
    must(subject, "restart", instance, subject->table->restart);
}

void destroy(struct subject *subject, code_executor_instance *instance)
{
    step(subject, "destroy");
    expect(subject, "destroy returns");
    subject->table->destroy(instance);
}

code_executor_instance *load_and_create(struct subject *subject)
{
    subject_load(subject);
    return must_create(subject);
}

code_executor_instance *load_and_start(struct subject *subject)
{
    code_executor_instance *instance = load_and_create(subject);
    must_start(subject, instance);
    return instance;
}

void must_refuse_config(struct subject *subject, const char *config, const char *reason,
                        const char *word)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_instance *instance = NULL;
    step(subject, "create");
    expect(subject, "status invalid and a message%s%s%s for %s: %.200s",
           word == NULL ? "" : " with `", word == NULL ? "" : word, word == NULL ? "" : "`", reason,
           config);
    int32_t status = subject->table->create(NULL, config, &instance, &error);
    if (status != CODE_EXECUTOR_INVALID || error.message[0] == '\0' ||
        (word != NULL && strstr(error.message, word) == NULL))
        saw_status(subject, status, &error);
    if (error.status != status) {
        saw(subject, "create returned %s, and the error's status is %s",
            code_executor_status_name(status), code_executor_status_name(error.status));
    }
}

json_object *must_describe(struct subject *subject, code_executor_instance *instance)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    json_object *description = NULL;
    char *text = NULL;
    step(subject, "describe");
    expect(subject, "describe returns JSON text of an object");
    int32_t status = subject->table->describe(instance, &text, &error);
    if (status != CODE_EXECUTOR_OK)
        saw_status(subject, status, &error);
    if (text == NULL)
        saw(subject, "describe returned ok, and the text is NULL");
    if (json_text_parse(text, &description, &error) != CODE_EXECUTOR_OK)
        saw(subject, "%s: %.1000s", error.message, text);
    if (!json_object_is_type(description, json_type_object))
        saw(subject, "%.1000s", text);
    step(subject, "string_free");
    subject->table->string_free(text);
    return description;
}

void must_be_in_state(struct subject *subject, code_executor_instance *instance, const char *state)
{
    json_object *description = must_describe(subject, instance), *member = NULL;
    json_object_object_get_ex(description, "state", &member);
    const char *is = json_object_is_type(member, json_type_string) ? json_object_get_string(member)
                                                                   : "not given";
    expect(subject, "describe says that the state is %s", state);
    if (strcmp(is, state) != 0)
        saw(subject, "it is %.200s", is);
    json_object_put(description);
}
