/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_path.c: see program_path.h.
 */
#include "program_path.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *program_path(const char *name)
{
    const char *list = getenv("PATH");
    for (const char *at = list ? list : ""; *at;) {
        size_t length = strcspn(at, ":");
        char *path = NULL;
        if (*at == '/' && asprintf(&path, "%.*s/%s", (int)length, at, name) < 0)
            return NULL;
        if (path && access(path, X_OK) == 0)
            return path;
        free(path);
        at += length + (at[length] == ':');
    }
    return NULL;
}
