/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_faulty_spoil.h: faults of plugin_faulty.c that need more than a line: each function does nothing
 * unless the chosen fault is one of its own.
 */
#ifndef PLUGIN_FAULTY_SPOIL_H
#define PLUGIN_FAULTY_SPOIL_H

#include <code_executor_plugin.h>

/* Whether CODE_EXECUTOR_TEST_FAULT says so. */
bool fault(const char *name);

void spoil_table(code_executor_v1 *table);
void spoil_owner(code_executor_instance *instance);
void spoil_after_create(code_executor_instance *instance, const code_executor_host *host);
void spoil_before_stop(void);
bool was_stopped(void);
void spoil_process(void); /* once, in the first start */
void spoil_before_destroy(void);

/* REQUEST, or CHANGED, into which it was copied. */
const code_executor_request *spoil_request(const code_executor_request *request,
                                           code_executor_request *changed);
int32_t spoil_result(code_executor_result *result, code_executor_error *error);

const void *faulty_extension(const char *id);

#endif /* PLUGIN_FAULTY_SPOIL_H */
