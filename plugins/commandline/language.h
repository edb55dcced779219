/* SPDX-License-Identifier: Apache-2.0 */
/*
 * language.h: the languages that command-line executors know: for each its names (languages.h),
 * what a file of it is called, what runs it, and whether it runs by default.
 *
 * Where they come from, each laid over the one before:
 *
 *     languages.h  names and aliases, shared with hosts
 *     language.c   a row for each: extensions, commands, policy. To add a language is to
 *                  add a line here and a line there
 *     "languages"  the configuration's own entries, by name:
 *
 *         {"lua":  {"extension": "lua", "aliases": ["lua5.4"], "commands": [["lua5.4", "{file}"],
 *                                                                           ["lua", "{file}"]]},
 *          "c":    {"steps": [[["gcc", "-o", "{output}", "{file}"],
 *                              ["cc", "-o", "{output}", "{file}"]],
 *                             [["{output}"]]]},
 *          "python": {"commands": [["pypy3", "{file}"]]}}
 *
 *     A name or alias that is known changes that language: a member that is not given stays as it
 *     was, and aliases are added. Any other name is a new language. One that is given commands or
 *     steps runs.
 *     "languages": "all"    instead of entries: whatever has a command runs
 *     "execution_policies"  language or alias to boolean, last
 */
#ifndef CODE_EXECUTOR_LANGUAGE_H
#define CODE_EXECUTOR_LANGUAGE_H

#include "error.h"
#include <code_executor.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct language_table language_table;

/* One step of running a block: argument vectors, the first whose program is found is run. In an
 * argument `{file}` stands for the file's path (never beginning with `-`, `+` or the like), `{output}` for the path
 * of what an earlier step builds (it begins with `./`, so that it can be run). Steps follow one
 * another while each ends with 0, and share one time-out. */
typedef struct language_step {
    const char *const *const *candidates; /* NULL-terminated vectors */
    size_t candidate_count;
} language_step;

typedef struct language {
    const char *name;
    const char *const *aliases;
    size_t alias_count;
    const char *extension;              /* of a file without a name, without the dot */
    const char *const *name_extensions; /* those by which a bare comment counts as a file name */
    size_t name_extension_count;
    const language_step *steps; /* none: it cannot run, whatever the policy */
    size_t step_count;
    bool runs;    /* the policy */
    bool shell;   /* CRLF becomes LF; pip as in a shell */
    bool session; /* what was typed and what came out, of which only the former is run */
} language;

/*
 * The table with the configuration applied: EXECUTION_POLICIES (an object, language or alias to
 * boolean) and LANGUAGES (the `languages` option), both as config.h's schema allows; both may be
 * NULL and need not live on. INVALID names what is wrong.
 */
int32_t language_table_create(json_object *execution_policies, json_object *languages,
                              language_table **table, code_executor_error *error);
void language_table_free(language_table *table);

/* By name or alias, ASCII case-insensitively, or NULL. */
const language *language_find(const language_table *table, const char *name);

size_t language_count(const language_table *table);
const language *language_at(const language_table *table, size_t index);

#endif /* CODE_EXECUTOR_LANGUAGE_H */
