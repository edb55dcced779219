/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search_path.h: the folders in which plugins are looked for, in the order of code_executor_host.h.
 */
#ifndef CODE_EXECUTOR_HOST_SEARCH_PATH_H
#define CODE_EXECUTOR_HOST_SEARCH_PATH_H

#include <stdbool.h>
#include <stddef.h>

typedef struct search_path {
    char **folders; /* each one once, whether it exists or not */
    size_t count;
} search_path;

/* False where memory ends; PATH must be freed either way. */
bool search_path_make(search_path *path);
void search_path_free(search_path *path);

/* The folder names of the plugins in FOLDER ("docker" for docker.so), sorted. A folder that cannot be
 * read has none. False where memory ends; NAMES must be freed either way. */
typedef struct plugin_names {
    char **names;
    size_t count;
} plugin_names;
bool plugin_names_read(const char *folder, plugin_names *names);
void plugin_names_free(plugin_names *names);

/* FOLDER/NAME.so, or NULL where memory ends; free(). */
char *plugin_file(const char *folder, const char *name);

#endif /* CODE_EXECUTOR_HOST_SEARCH_PATH_H */
