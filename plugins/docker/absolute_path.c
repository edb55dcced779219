/* SPDX-License-Identifier: Apache-2.0 */
/*
 * absolute_path.c: see absolute_path.h.
 */
#include "absolute_path.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int32_t absolute_path(const char *key, const char *path, char **absolute,
                      code_executor_error *error)
{
    bool relative = path[0] != '/';
    *absolute = NULL;
    char *current = relative ? getcwd(NULL, 0) : strdup("");
    if (!current)
        return error_set_errno(error, CODE_EXECUTOR_IO, errno,
                               "%s is relative, and the current folder has no path", key);
    int length = asprintf(absolute, "%s%s%s", current, relative ? "/" : "", path);
    free(current);
    if (length >= 0)
        return CODE_EXECUTOR_OK;
    *absolute = NULL;
    return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
}
