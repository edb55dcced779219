/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_command.h: from a language's steps to commands for a session.
 */
#ifndef CODE_EXECUTOR_BLOCK_COMMAND_H
#define CODE_EXECUTOR_BLOCK_COMMAND_H

#include "arena.h"
#include "language.h"
#include "session.h"
#include <code_executor.h>

/* A name beneath the workspace that steps may build as `{output}`. */
#define BUILD_NAME_SIZE 32
void build_name_choose(char name[BUILD_NAME_SIZE]);

/* Whether any of the steps builds something. */
bool language_builds(const language *known);

/*
 * The candidates of STEP in COMMAND, with FILE and BUILT (names beneath the workspace) in the place
 * of `{file}` and `{output}`. They live in ARENA, which has failed where memory ran out.
 */
void block_command_fill(session_command *command, const language_step *step, const char *file,
                        const char *built, struct arena *arena);

/* In *ENVIRONMENT the assignments of the configuration that the request does not override, and then
 * the request's. In ARENA; false: no memory. */
bool block_environment(const char *const *configured, size_t configured_count,
                       const char *const *requested, size_t requested_count, struct arena *arena,
                       const char *const **environment, size_t *count);

#endif /* CODE_EXECUTOR_BLOCK_COMMAND_H */
