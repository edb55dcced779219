/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subject.h: the plugin in the child that tries a rule: loaded, configured, called. Each call notes its
 * name first, for a parent that wants to know where the child is.
 */
#ifndef HOST_DEMO_CHECK_SUBJECT_H
#define HOST_DEMO_CHECK_SUBJECT_H

#include "rule.h"
#include <json-c/json.h>

/* Loads it and finds its configuration and its probes; a rule that does not reach that far fails. */
void subject_load(struct subject *subject);

/* The schema as far as common/schema.h understands it, and a copy of the configuration; the caller's. A
 * rule that cannot have it is not applicable: that it is none is another's to say. */
json_object *subject_schema(struct subject *subject);
json_object *subject_config(struct subject *subject);

/* Calls of the table that must succeed. */
code_executor_instance *must_create(struct subject *subject);
void must_start(struct subject *subject, code_executor_instance *instance);
void must_stop(struct subject *subject, code_executor_instance *instance);
void must_restart(struct subject *subject, code_executor_instance *instance);
void destroy(struct subject *subject, code_executor_instance *instance);

/* The same, loaded before. */
code_executor_instance *load_and_create(struct subject *subject);
code_executor_instance *load_and_start(struct subject *subject);

/* Must be refused: create with CONFIG, where REASON says what is wrong with it; the message must hold
 * WORD, which may be NULL. */
void must_refuse_config(struct subject *subject, const char *config, const char *reason,
                        const char *word);

/* What describe says, an object; the caller's. */
json_object *must_describe(struct subject *subject, code_executor_instance *instance);
void must_be_in_state(struct subject *subject, code_executor_instance *instance, const char *state);

/* A rule that needs the probe is not applicable where there is none. */
const struct probe *need_probe(struct subject *subject, enum probe_kind kind);

/* The plugin's own languages, or those of INSTANCE; false: it does not tell. */
bool list_languages(struct subject *subject, code_executor_instance *instance,
                    const code_executor_language *const **languages, size_t *count);

#endif /* HOST_DEMO_CHECK_SUBJECT_H */
