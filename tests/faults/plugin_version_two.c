/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_version_two.c: a plugin of an ABI that does not exist yet.
 */
#include <code_executor.h>

CODE_EXECUTOR_EXPORT const code_executor_v1 *code_executor_plugin_v1(void);
const code_executor_v1 *code_executor_plugin_v1(void)
{
    static const code_executor_v1 table = {
        .struct_size = sizeof table,
        .abi_version = 2,
        .name = "version_two",
        .version = "2.0",
        .description = "From the future",
        .config_schema = "{}",
    };
    return &table;
}
