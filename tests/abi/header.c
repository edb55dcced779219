/* SPDX-License-Identifier: Apache-2.0 */
/*
 * header.c: compiled in every dialect with every warning (see abi.cmake), to see that the public headers
 * stand alone, may be included twice, and use nothing that C99 or C++11 lacks.
 */
#include <code_executor.h>
#include <code_executor_host.h>

#include <code_executor.h>
#include <code_executor_host.h>

int32_t use_of_macros(const code_executor_v1 *table);

/* What the macros expand to. */
int32_t use_of_macros(const code_executor_v1 *table)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_instance *instance = NULL;
    if (!CODE_EXECUTOR_HAS(table, get_extension))
        return CODE_EXECUTOR_UNSUPPORTED;
    return table->create(NULL, CODE_EXECUTOR_ENTRY_SYMBOL, &instance, &error);
}
