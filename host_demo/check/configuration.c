/* SPDX-License-Identifier: Apache-2.0 */
/*
 * configuration.c: rules about create, and about how an error is filled.
 */
#include "execution.h"
#include "schema.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define UNKNOWN_KEY "no_such_key_of_anyone"

static const char *text_of(json_object *object)
{
    return json_object_to_json_string_ext(object,
                                          JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}

static json_object *properties_of(struct subject *subject)
{
    json_object *properties = NULL;
    if (!json_object_object_get_ex(subject_schema(subject), "properties", &properties) ||
        json_object_object_length(properties) == 0)
        not_applicable(subject, "its schema has no keys");
    return properties;
}

/* ------------------------------------------------------------------------------------------------
 * What is taken
 * --------------------------------------------------------------------------------------------- */

void rule_defaults_pass(struct subject *subject)
{
    subject_load(subject);
    json_object *config = subject_config(subject);
    json_object_object_foreach(properties_of(subject), key, property)
    {
        json_object *value = NULL;
        if (!json_object_object_get_ex(config, key, NULL) &&
            json_object_object_get_ex(property, "default", &value))
            json_object_object_add(config, key, json_object_get(value));
    }
    subject->config.length = 0;
    bytes_append_text(&subject->config, text_of(config));
    destroy(subject, must_create(subject));
}

static int32_t create_with(struct subject *subject, const char *config)
{
    code_executor_instance *instance = NULL;
    step(subject, "create");
    int32_t status = subject->table->create(NULL, config, &instance, NULL);
    if (status == CODE_EXECUTOR_OK)
        subject->table->destroy(instance);
    return status;
}

void rule_no_configuration(struct subject *subject)
{
    subject_load(subject);
    int32_t empty = create_with(subject, "{}");
    expect(subject, "create with NULL returns %s, as it does with {}",
           code_executor_status_name(empty));
    int32_t status = create_with(subject, NULL);
    if (status != empty)
        saw(subject, "%s", code_executor_status_name(status));
    expect(subject, "create with \"\" returns %s, as it does with {}",
           code_executor_status_name(empty));
    status = create_with(subject, "");
    if (status != empty)
        saw(subject, "%s", code_executor_status_name(status));
}

static void spoil(code_executor_host *host)
{
    memset((void *)host, 0x5a, sizeof *host);
}

static void take_log(void *user_data, int32_t level, const char *message)
{
    struct subject *subject = user_data;
    if (message != NULL && strchr(message, '\n') == NULL && level >= CODE_EXECUTOR_LOG_ERROR &&
        level <= CODE_EXECUTOR_LOG_DEBUG)
        return;
    expect(subject, "log gets one line and a level that there is");
    saw(subject, "level %d: %.1000s", (int)level, message == NULL ? "NULL" : message);
}

static void take_progress(void *user_data, const char *what, uint64_t done, uint64_t total)
{
    struct subject *subject = user_data;
    (void)done;
    (void)total;
    if (what != NULL)
        return;
    expect(subject, "progress is of something");
    saw(subject, "NULL");
}

void rule_host_is_copied(struct subject *subject)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_instance *instance = NULL;
    subject_load(subject);
    code_executor_host *host = calloc(1, sizeof *host);
    char *config = strdup(bytes_text(&subject->config));
    if (host == NULL || config == NULL)
        not_applicable(subject, "the host has no memory");
    *host = (code_executor_host){sizeof *host, subject, take_log, take_progress};
    step(subject, "create");
    expect(subject, "create takes a host");
    int32_t status = subject->table->create(host, config, &instance, &error);
    if (status != CODE_EXECUTOR_OK)
        saw_status(subject, status, &error);
    spoil(host);
    memset(config, 'x', strlen(config));
    must_start(subject, instance);
    if (subject->probes.language != NULL && subject->probes.items[PROBE_PRINT].code != NULL)
        must_print(subject, instance, 1);
    destroy(subject, instance);
}

void rule_newer_host(struct subject *subject)
{
    struct {
        code_executor_host host;
        uint64_t newer;
    } larger = {.host = {.struct_size = sizeof larger}};
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_instance *instance = NULL;
    subject_load(subject);
    step(subject, "create");
    expect(subject, "a larger code_executor_host is taken while what is new in it is 0");
    int32_t status =
        subject->table->create(&larger.host, bytes_text(&subject->config), &instance, &error);
    if (status != CODE_EXECUTOR_OK)
        saw_status(subject, status, &error);
    destroy(subject, instance);
    larger.newer = 1;
    step(subject, "create");
    expect(subject, "status unsupported for a larger code_executor_host with something new in it");
    status = subject->table->create(&larger.host, bytes_text(&subject->config), &instance, &error);
    if (status != CODE_EXECUTOR_UNSUPPORTED)
        saw_status(subject, status, &error);
}

void rule_create_touches_nothing(struct subject *subject)
{
    struct stat status;
    CLEANUP(bytes_free) struct bytes folder = {0};
    code_executor_instance *instance = load_and_create(subject);
    if (!bytes_format(&folder, "%s/workspace", subject->folder))
        not_applicable(subject, "the host has no memory");
    expect(subject, "create makes no folder");
    if (stat(folder.data, &status) == 0)
        saw(subject, "the workspace is there");
    must_be_in_state(subject, instance, "stopped");
    destroy(subject, instance);
}

/* ------------------------------------------------------------------------------------------------
 * What is refused
 * --------------------------------------------------------------------------------------------- */

void rule_refuses_what_is_no_object(struct subject *subject)
{
    static const char *const texts[] = {"{", "nonsense", "[]", "3", "\"text\"", "{} x", "{\"a\":}"};
    subject_load(subject);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        must_refuse_config(subject, texts[i], "what is no JSON object", NULL);
}

void rule_refuses_unknown_keys(struct subject *subject)
{
    subject_load(subject);
    json_object *config = subject_config(subject), *properties = NULL;
    /* Where there are no keys at all, that is the better message. */
    bool has_keys = json_object_object_get_ex(subject_schema(subject), "properties", &properties) &&
                    json_object_object_length(properties) > 0;
    json_object_object_add(config, UNKNOWN_KEY, json_object_new_int(1));
    must_refuse_config(subject, text_of(config), "an unknown key", has_keys ? UNKNOWN_KEY : NULL);
}

/* A value that the schema of a key does not take, for its type. */
static json_object *wrong_value(json_object *property)
{
    json_object *candidates[] = {json_object_new_array(), json_object_new_object(),
                                 json_object_new_boolean(true), json_object_new_string("wrong")};
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++)
        if (schema_check(property, candidates[i], NULL) == CODE_EXECUTOR_INVALID)
            return candidates[i];
    return NULL;
}

void rule_refuses_wrong_types(struct subject *subject)
{
    size_t asked = 0;
    subject_load(subject);
    json_object_object_foreach(properties_of(subject), key, property)
    {
        json_object *config = subject_config(subject);
        json_object *value = wrong_value(property);
        if (value == NULL)
            continue;
        json_object_object_add(config, key, value);
        must_refuse_config(subject, text_of(config), "a value of the wrong type", key);
        asked++;
    }
    if (asked == 0)
        not_applicable(subject, "no key of its schema has a type");
}

/* ------------------------------------------------------------------------------------------------
 * Errors
 * --------------------------------------------------------------------------------------------- */

void rule_error_is_kept_within(struct subject *subject)
{
    enum { ROOM = 16, HEAD = offsetof(code_executor_error, message), GUARD = 64 };
    union {
        code_executor_error error;
        unsigned char bytes[sizeof(code_executor_error)];
    } small;
    code_executor_instance *instance = NULL;
    subject_load(subject);
    memset(&small, 0x5a, sizeof small);
    small.error.struct_size = HEAD + ROOM;
    step(subject, "create");
    expect(subject, "nothing is written behind struct_size of an error, and the message is ended");
    subject->table->create(NULL, "{\"" UNKNOWN_KEY "\": 1}", &instance, &small.error);
    for (size_t i = HEAD + ROOM; i < HEAD + ROOM + GUARD; i++)
        if (small.bytes[i] != 0x5a)
            saw(subject, "byte %zu behind it was written", i - HEAD - ROOM);
    if (memchr(small.error.message, '\0', ROOM) == NULL)
        saw(subject, "no NUL within the %d bytes that there are for the message", (int)ROOM);
}

/* An error in which something stands from before. */
static code_executor_error used_error(void)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    error.status = CODE_EXECUTOR_IO;
    snprintf(error.message, sizeof error.message, "from before");
    return error;
}

static void must_clear(struct subject *subject, const char *call, int32_t status,
                       code_executor_error *error)
{
    step(subject, call);
    expect(subject, "%s succeeds, and sets the error's status to ok and its message to \"\"", call);
    if (status != CODE_EXECUTOR_OK)
        saw_status(subject, status, error);
    if (error->status != CODE_EXECUTOR_OK || error->message[0] != '\0') {
        saw(subject, "status %s, message \"%.200s\"", code_executor_status_name(error->status),
            error->message);
    }
    *error = used_error();
}

void rule_success_clears_error(struct subject *subject)
{
    code_executor_error error = used_error();
    code_executor_instance *instance = NULL;
    char *json = NULL;
    subject_load(subject);
    const code_executor_v1 *table = subject->table;
    must_clear(subject, "create",
               table->create(NULL, bytes_text(&subject->config), &instance, &error), &error);
    must_clear(subject, "start", table->start(instance, &error), &error);
    must_clear(subject, "describe", table->describe(instance, &json, &error), &error);
    table->string_free(json);
    must_clear(subject, "cancel", table->cancel(instance, 0, &error), &error);
    must_clear(subject, "restart", table->restart(instance, &error), &error);
    must_clear(subject, "stop", table->stop(instance, &error), &error);
    destroy(subject, instance);
}

void rule_error_may_be_null(struct subject *subject)
{
    const code_executor_request nothing = {.struct_size = sizeof nothing, .execution_id = 1};
    code_executor_result *result = NULL;
    code_executor_instance *instance = NULL;
    char *json = NULL;
    subject_load(subject);
    const code_executor_v1 *table = subject->table;
    expect(subject, "every call takes NULL for the error");
    step(subject, "create");
    table->create(NULL, "{\"" UNKNOWN_KEY "\": 1}", &instance, NULL);
    if (table->create(NULL, bytes_text(&subject->config), &instance, NULL) != CODE_EXECUTOR_OK)
        saw(subject, "create without an error fails");
    step(subject, "execute");
    table->execute(instance, &nothing, &result, NULL);
    step(subject, "cancel");
    table->cancel(instance, 12345, NULL);
    step(subject, "describe");
    table->describe(instance, &json, NULL);
    table->string_free(json);
    step(subject, "stop");
    table->stop(instance, NULL);
    destroy(subject, instance);
}
