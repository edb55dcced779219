/* SPDX-License-Identifier: Apache-2.0 */
/*
 * environment.h: which of the host's environment variables code gets to see.
 *
 * A host that talks to a model holds keys in its environment, and code that a model wrote can print
 * it. So what code gets is chosen by name: what programs need to find files and speak a language, and what
 * the configuration names.
 */
#ifndef CODE_EXECUTOR_LOCAL_ENVIRONMENT_H
#define CODE_EXECUTOR_LOCAL_ENVIRONMENT_H

#include "arena.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct environment_choice {
    bool all;                 /* everything that the host has */
    const char *const *names; /* else these too */
    size_t name_count;
    const char *virtual_env; /* absolute path, or NULL: its bin comes first in PATH */
} environment_choice;

/* "NAME=value" each and a NULL behind them, chosen from HOST, which is built alike. In ARENA; NULL: no
 * memory. */
const char *const *environment_choose(const environment_choice *choice, char *const *host,
                                      struct arena *arena);

#endif /* CODE_EXECUTOR_LOCAL_ENVIRONMENT_H */
