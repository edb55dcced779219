/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_no_entry.c: a shared object that is no plugin.
 */
#include <code_executor.h>

CODE_EXECUTOR_EXPORT int some_other_symbol(void);
int some_other_symbol(void)
{
    return 0;
}
