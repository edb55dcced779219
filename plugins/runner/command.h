/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.h: a process becomes the command that a SPAWN asks for.
 */
#ifndef CODE_EXECUTOR_RUNNER_COMMAND_H
#define CODE_EXECUTOR_RUNNER_COMMAND_H

#include "request.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct command {
    const char *folder;
    char **environment;
    char ***candidates;
};

/* How far a start came. */
struct command_start {
    int error; /* 0: it runs */
    uint32_t candidate;
    char detail[400]; /* words for a person, where it failed */
};

/*
 * The environment for a command: ADDITIONS, then what of BASE, then what of DEFAULTS has another name.
 * A list for free(), whose strings are the arguments'; NULL: no memory.
 */
char **environment_build(char **base, char **defaults, char **additions);

/* The value of NAME, or NULL. */
const char *environment_get(char **environment, const char *name);

/*
 * Starts COMMAND as a child with a session of its own, on the caller's descriptors 0, 1 and 2. Returns
 * its pid once it executes the program; -1 where it does not, and START says why.
 */
pid_t command_run(const struct command *command, struct command_start *start);

/*
 * The absolute path of PROGRAM, looked for as exec would with PATH_LIST (the value of PATH, or NULL) in
 * the current folder; false where there is none that can be executed.
 */
bool program_find(const char *program, const char *path_list, char found[PATH_MAX]);

#endif /* CODE_EXECUTOR_RUNNER_COMMAND_H */
