/* SPDX-License-Identifier: Apache-2.0 */
/*
 * life.c: rules about start, stop, restart, destroy and what describe says meanwhile.
 */
#include "execution.h"
#include <string.h>

void rule_null_is_freed(struct subject *subject)
{
    subject_load(subject);
    expect(subject, "NULL is allowed");
    step(subject, "destroy");
    subject->table->destroy(NULL);
    step(subject, "result_free");
    subject->table->result_free(NULL);
    step(subject, "string_free");
    subject->table->string_free(NULL);
}

enum { A_TEXT = 1, A_NUMBER = 2, AN_OBJECT = 4, A_NULL = 8 };

static int kind_of(json_object *value)
{
    switch (json_object_get_type(value)) {
    case json_type_string:
        return A_TEXT;
    case json_type_int:
    case json_type_double:
        return A_NUMBER;
    case json_type_object:
        return AN_OBJECT;
    case json_type_null:
        return A_NULL;
    default:
        return 0;
    }
}

static void check_description(struct subject *subject, code_executor_instance *instance)
{
    static const struct {
        const char *name, *words;
        int kinds;
    } members[] = {
        {"name", "a string", A_TEXT},
        {"state", "a string", A_TEXT},
        {"timeout", "a number", A_NUMBER},
        {"work_dir", "a string or null", A_TEXT | A_NULL},
        {"bind_dir", "a string or null", A_TEXT | A_NULL},
        {"isolation", "a string", A_TEXT},
        {"engine", "an object or null", AN_OBJECT | A_NULL},
        {"limits", "an object", AN_OBJECT},
    };
    json_object *description = must_describe(subject, instance);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        json_object *member = NULL;
        expect(subject, "describe has \"%s\", %s", members[i].name, members[i].words);
        if (!json_object_object_get_ex(description, members[i].name, &member))
            saw(subject, "none");
        if ((kind_of(member) & members[i].kinds) == 0)
            saw(subject, "%.400s", json_object_to_json_string(member));
    }
    json_object_put(description);
}

void rule_describe(struct subject *subject)
{
    code_executor_instance *instance = load_and_create(subject);
    check_description(subject, instance);
    must_be_in_state(subject, instance, "stopped");
    must_start(subject, instance);
    check_description(subject, instance);
    must_be_in_state(subject, instance, "started");
    must_stop(subject, instance);
    must_be_in_state(subject, instance, "stopped");
    destroy(subject, instance);
}

/* Runs a block, where there is code for one. */
static void must_work(struct subject *subject, code_executor_instance *instance, uint64_t id)
{
    if (subject->probes.language != NULL && subject->probes.items[PROBE_PRINT].code != NULL)
        must_print(subject, instance, id);
}

void rule_start_twice(struct subject *subject)
{
    code_executor_instance *instance = load_and_start(subject);
    must_start(subject, instance);
    must_be_in_state(subject, instance, "started");
    must_work(subject, instance, 1);
    destroy(subject, instance);
}

void rule_stop_twice(struct subject *subject)
{
    code_executor_instance *instance = load_and_create(subject);
    must_stop(subject, instance);
    must_start(subject, instance);
    must_stop(subject, instance);
    must_stop(subject, instance);
    must_be_in_state(subject, instance, "stopped");
    destroy(subject, instance);
}

void rule_start_again(struct subject *subject)
{
    code_executor_instance *instance = load_and_start(subject);
    must_stop(subject, instance);
    must_start(subject, instance);
    must_be_in_state(subject, instance, "started");
    must_stop(subject, instance);
    must_work(subject, instance, 1);
    destroy(subject, instance);
}

void rule_restart(struct subject *subject)
{
    code_executor_instance *instance = load_and_create(subject);
    must_restart(subject, instance);
    must_be_in_state(subject, instance, "started");
    must_restart(subject, instance);
    must_be_in_state(subject, instance, "started");
    must_work(subject, instance, 1);
    destroy(subject, instance);
}

void rule_destroy_implies_stop(struct subject *subject)
{
    code_executor_instance *instance = load_and_start(subject);
    must_work(subject, instance, 1);
    destroy(subject, instance);
}

void rule_two_instances(struct subject *subject)
{
    code_executor_instance *first = load_and_start(subject);
    code_executor_instance *second = must_create(subject);
    must_be_in_state(subject, second, "stopped");
    must_start(subject, second);
    must_stop(subject, second);
    must_be_in_state(subject, first, "started");
    must_work(subject, first, 1);
    destroy(subject, second);
    must_work(subject, first, 1);
    destroy(subject, first);
}

static void must_answer_cancel(struct subject *subject, code_executor_instance *instance,
                               uint64_t id, int32_t wanted)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    step(subject, "cancel");
    expect(subject, "status %s for cancel of id %llu while nothing runs",
           code_executor_status_name(wanted), (unsigned long long)id);
    int32_t status = subject->table->cancel(instance, id, &error);
    if (status != wanted)
        saw_status(subject, status, &error);
}

void rule_cancel_of_nothing(struct subject *subject)
{
    code_executor_instance *instance = load_and_create(subject);
    must_answer_cancel(subject, instance, 12345, CODE_EXECUTOR_NOT_FOUND);
    must_answer_cancel(subject, instance, 0, CODE_EXECUTOR_OK);
    must_start(subject, instance);
    must_answer_cancel(subject, instance, 12345, CODE_EXECUTOR_NOT_FOUND);
    must_answer_cancel(subject, instance, 0, CODE_EXECUTOR_OK);
    must_work(subject, instance, 1);
    destroy(subject, instance);
}
