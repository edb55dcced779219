/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_echo_leftovers.h: an extension of the echo executor.
 */
#ifndef CODE_EXECUTOR_TEST_PLUGIN_ECHO_LEFTOVERS_H
#define CODE_EXECUTOR_TEST_PLUGIN_ECHO_LEFTOVERS_H

#include <code_executor.h>

extern const code_executor_leftovers_v1 echo_leftovers;

#endif /* CODE_EXECUTOR_TEST_PLUGIN_ECHO_LEFTOVERS_H */
