/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_executor_host.h: libcode_executor_host, what any host of executors needs and nothing more.
 *
 *     message ──extract──▶ blocks ──router──▶ executor (a plugin, loaded by name) ──▶ result
 *
 * Three parts, each of use without the others: *plugins* are found and loaded, *extract* takes the
 * code blocks out of a Markdown message, a *router* sends each block to the executor for its language.
 * The library knows no plugin; it speaks code_executor.h to all alike.
 *
 * Conventions are those of code_executor.h: calls that can fail return a status and take a
 * code_executor_error last, which may be NULL; what the library returns is freed by its own function,
 * for which NULL is allowed. Unless marked otherwise a call may come from any thread, but one object
 * is used by one thread at a time.
 */
#ifndef CODE_EXECUTOR_HOST_H
#define CODE_EXECUTOR_HOST_H

#include <code_executor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------
 * Words
 * --------------------------------------------------------------------------------------------- */

/* The word that JSON uses for a status ("unavailable") or an outcome ("timed_out"); "unknown" for a
 * value that this library does not know. Static. */
CODE_EXECUTOR_EXPORT const char *code_executor_status_name(int32_t status);
CODE_EXECUTOR_EXPORT const char *code_executor_outcome_name(int32_t outcome);

/* The name that a language goes by ("JS" gives "javascript"), or NULL where LANGUAGE is no name or
 * alias of languages.h. Static. */
CODE_EXECUTOR_EXPORT const char *code_executor_language_name(const char *language);

/* Whether two names or aliases mean one language; names that languages.h does not know are compared
 * without regard to ASCII case. */
CODE_EXECUTOR_EXPORT bool code_executor_language_equal(const char *a, const char *b);

/* ------------------------------------------------------------------------------------------------
 * Plugins
 *
 * A plugin is a file NAME.so in one of these folders, the first that has it:
 *     1. those of the environment variable CODE_EXECUTOR_PLUGIN_PATH, separated by colons; empty
 *        entries are skipped (an empty entry never means the working directory), and the whole
 *        variable is in a program that runs with more rights than its user;
 *     2. ../lib/code_executor, ../lib/<triplet>/code_executor or ../lib64/code_executor beside the
 *        executable's folder, and code_executor/ beside this library: where a build or an
 *        installation puts them, also a relocated one;
 *     3. the code_executor/ folder of the library folder given at configure time.
 * The first file by that name decides: where it does not load, no other is tried. The name that a
 * plugin gives itself (table->name) may be another one: a file may be renamed.
 * --------------------------------------------------------------------------------------------- */

/* A loaded plugin. */
typedef struct code_executor_plugin code_executor_plugin;

/*
 * Loads a plugin by name, or, where NAME has a slash, from that path. The same plugin may be loaded
 * more than once; each load needs its own unload.
 * NOT_FOUND: no such file; the message lists the folders that were searched and the names that are
 *     there, with the nearest one. DENIED: the file may not be read. INVALID: the name is empty; the
 *     file is no shared object, or cut short, or another machine's; it lacks the entry symbol,
 *     returned no table, or has a table that is too small or lacks a member: the message says which.
 *     UNSUPPORTED: it speaks another version of the ABI: the message says which one and which one is
 *     understood. UNAVAILABLE: the loader refuses it, most often for a library that it needs and that
 *     is not there: the message has the loader's words.
 */
CODE_EXECUTOR_EXPORT int32_t code_executor_plugin_load(const char *name,
                                                       code_executor_plugin **plugin,
                                                       code_executor_error *error);

/* Its function table; lives until unload. */
CODE_EXECUTOR_EXPORT const code_executor_v1 *
code_executor_plugin_table(const code_executor_plugin *plugin);

/* Absolute path of its file; lives until unload. */
CODE_EXECUTOR_EXPORT const char *code_executor_plugin_path(const code_executor_plugin *plugin);

/* Unloads it. All instances and results of it must be freed before. */
CODE_EXECUTOR_EXPORT void code_executor_plugin_unload(code_executor_plugin *plugin);

/* One file of the search path. */
typedef struct code_executor_plugin_entry {
    size_t struct_size;
    const char *name; /* what code_executor_plugin_load takes */
    const char *path;
    const char *version;     /* NULL where it does not load */
    const char *description; /* NULL where it does not load */
    const char *problem;     /* why it does not load, or NULL */
    const char *shadowed_by; /* path of the file that a load by this name takes instead, or NULL */
} code_executor_plugin_entry;

typedef struct code_executor_plugin_list {
    size_t struct_size;
    const code_executor_plugin_entry *const *entries; /* in search order, by name in a folder */
    size_t entry_count;
    const char *const *folders; /* that were searched, in order, whether they exist or not */
    size_t folder_count;
} code_executor_plugin_list;

/* Lists what there is. Each file is loaded to ask for its words, and unloaded again. */
CODE_EXECUTOR_EXPORT int32_t code_executor_plugin_list_make(code_executor_plugin_list **list,
                                                            code_executor_error *error);
CODE_EXECUTOR_EXPORT void code_executor_plugin_list_free(code_executor_plugin_list *list);

/* ------------------------------------------------------------------------------------------------
 * Extract
 * --------------------------------------------------------------------------------------------- */

typedef struct code_executor_extracted_block {
    size_t struct_size;
    /* What an executor takes. The language is the first word of the info string, cut at `,` `:` `{`,
     * unwrapped from `{python}` and `{.python}`, case kept; where there is none it is inferred from the
     * code, else "": a block to leave out, as every executor refuses it. */
    code_executor_block block;
    /* False where the fence was never closed, or was closed only by the end of its list or quote: the
     * message was cut off. Such a block must not be run: a truncated `rm -rf /tmp/x` is `rm -rf /`. */
    bool complete;
    bool inferred; /* the language was not given but inferred */
    uint8_t reserved[6];
    const char *info;  /* the whole info string, as it stands there */
    size_t first_line; /* of the opening fence in the message, counted from 1 */
    size_t last_line;  /* of the closing one, or the last line of code where there is none */
} code_executor_extracted_block;

typedef struct code_executor_extraction {
    size_t struct_size;
    const code_executor_extracted_block *const *blocks;
    size_t block_count;
} code_executor_extraction;

/*
 * Takes the fenced code blocks out of LENGTH bytes of Markdown, read as CommonMark reads it, with
 * these rules on top: indentation that all lines share (4 columns at least) is removed first; where
 * fences with an info string inside a block of no more length than theirs leave a fence open, and
 * reading them as nested leaves none, they are nested; lists and quotes beyond column 64 are
 * text. Indented code is no block. Lines may end in CRLF, which becomes LF; other bytes of code are
 * kept, NUL, a lone CR and what is not UTF-8 included. What remains of a tab that stands half in the
 * prefix of a list or quote becomes spaces.
 * Takes time and memory in proportion to LENGTH. NO_MEMORY is reported, never an abort. UNSUPPORTED: a
 * single list of millions of items, or the like, would take more memory than is reasonable.
 */
CODE_EXECUTOR_EXPORT int32_t code_executor_extract(const char *markdown, size_t length,
                                                   code_executor_extraction **extraction,
                                                   code_executor_error *error);
CODE_EXECUTOR_EXPORT void code_executor_extraction_free(code_executor_extraction *extraction);

/* ------------------------------------------------------------------------------------------------
 * Router
 * --------------------------------------------------------------------------------------------- */

/* Sends blocks to executors by language. Holds references to tables and instances, which are the
 * caller's and must outlive it. */
typedef struct code_executor_router code_executor_router;

CODE_EXECUTOR_EXPORT int32_t code_executor_router_create(code_executor_router **router,
                                                         code_executor_error *error);
CODE_EXECUTOR_EXPORT void code_executor_router_free(code_executor_router *router);

/*
 * Sends blocks in LANGUAGE (a name or an alias; NULL: every language without a route of its own) to
 * INSTANCE. LABEL names the route in results and is copied. A later call for the same language
 * replaces the earlier one.
 */
CODE_EXECUTOR_EXPORT int32_t code_executor_router_add(code_executor_router *router,
                                                      const char *language, const char *label,
                                                      const code_executor_v1 *table,
                                                      code_executor_instance *instance,
                                                      code_executor_error *error);

/* The label of the route that a block in LANGUAGE takes, or NULL where there is none. Lives until the
 * router changes. */
CODE_EXECUTOR_EXPORT const char *code_executor_router_find(const code_executor_router *router,
                                                           const char *language);

/* A result of execute as one executor would give it, with the label of the route for each block. */
typedef struct code_executor_routed_result {
    size_t struct_size;
    const code_executor_result *result;
    const char *const *labels; /* one for each of result->blocks; "" where there was no route */
} code_executor_routed_result;

/*
 * Runs a request as code_executor_v1.execute does, each block by the executor of its language.
 * Maximal runs of consecutive blocks for one executor become one execute of it, all with the
 * request's execution id; the first failure ends the whole; callbacks count blocks as the request
 * does. A block without a route is refused as an executor refuses a language it does not know.
 * [any-thread], several at a time, as long as no route is added meanwhile. *RESULT as in execute: on
 * failure it holds what ran before; where an executor failed before its first block began, exit_code
 * is 1 and outcome "failed", though all blocks in it ended well. It is to be freed before its plugins
 * are unloaded.
 */
CODE_EXECUTOR_EXPORT int32_t code_executor_router_execute(code_executor_router *router,
                                                          const code_executor_request *request,
                                                          code_executor_routed_result **result,
                                                          code_executor_error *error);

/*
 * Ends an execution (0: everything on every executor), as code_executor_v1.cancel does: the executor
 * that is at work is told, and no further one starts. [any-thread], also in a callback. Between two
 * executors the result has outcome "cancelled" and exit code 130.
 * NOT_FOUND: nothing in flight on this router has that id (never for id 0).
 */
CODE_EXECUTOR_EXPORT int32_t code_executor_router_cancel(code_executor_router *router,
                                                         uint64_t execution_id,
                                                         code_executor_error *error);

CODE_EXECUTOR_EXPORT void code_executor_routed_result_free(code_executor_routed_result *result);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* CODE_EXECUTOR_HOST_H */
