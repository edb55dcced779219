/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_echo_checks.h: what the echo executor refuses: configurations and requests that are wrong, or
 * newer than it.
 */
#ifndef PLUGIN_ECHO_CHECKS_H
#define PLUGIN_ECHO_CHECKS_H

#include <code_executor.h>

extern const char echo_schema[];

/* Fills ERROR, which may be NULL; returns STATUS. */
int32_t set(code_executor_error *error, int32_t status, const char *message);

/* STRUCTURE may be larger than it is KNOWN to be here, where nothing is set in the rest. */
int32_t check_size(const void *structure, size_t known, code_executor_error *error);

int32_t check_config(const char *config, code_executor_error *error);
int32_t check_request(const code_executor_request *request, code_executor_error *error);

#endif /* PLUGIN_ECHO_CHECKS_H */
