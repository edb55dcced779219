/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_header.c: code_executor_plugin.h, compiled in every dialect with every warning (see abi.cmake). It
 * needs POSIX.
 */
#include <code_executor_plugin.h>

#include <code_executor_plugin.h>

static int32_t run_nothing(void *state, code_executor_run *run, code_executor_error *error)
{
    (void)state;
    (void)run;
    return code_executor_set_error(error, CODE_EXECUTOR_UNSUPPORTED, "%d", 1);
}

static const code_executor_work work = {run_nothing, "runs nothing", 0, NULL, NULL, NULL, NULL};
CODE_EXECUTOR_PLUGIN(work, "nothing", "1", "Runs nothing", "{}")
