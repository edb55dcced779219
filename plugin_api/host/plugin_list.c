/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_list.c: every plugin file of the search path, with its words or the reason why it has none.
 *
 * The public structures are the first members of private ones that own the text, so that a pointer to
 * one is a pointer to the other and freeing needs no second table.
 */
#include "host/code_executor_host.h"

#include "failure.h"
#include "search_path.h"
#include <stdlib.h>
#include <string.h>

typedef struct list_row {
    code_executor_plugin_entry entry; /* first */
    char *name, *path, *version, *description, *problem;
} list_row;

typedef struct list {
    code_executor_plugin_list public_part; /* first */
    search_path searched;
    code_executor_plugin_entry **entries; /* each the first member of a list_row */
    size_t count;
} list;

static void row_free(list_row *row)
{
    if (row != NULL) {
        free(row->name);
        free(row->path);
        free(row->version);
        free(row->description);
        free(row->problem);
        free(row);
    }
}

void code_executor_plugin_list_free(code_executor_plugin_list *public_list)
{
    list *whole = (list *)public_list;
    if (whole == NULL)
        return;
    for (size_t i = 0; i < whole->count; i++)
        row_free((list_row *)whole->entries[i]);
    free(whole->entries);
    search_path_free(&whole->searched);
    free(whole);
}

/* Loads the file of ROW for its words. False where memory ends. */
static bool ask_for_words(list_row *row)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_plugin *plugin = NULL;
    int32_t status = code_executor_plugin_load(row->path, &plugin, &error);
    if (status != CODE_EXECUTOR_OK) {
        row->problem = strdup(error.message);
        return row->problem != NULL && status != CODE_EXECUTOR_NO_MEMORY;
    }
    const code_executor_v1 *table = code_executor_plugin_table(plugin);
    row->version = strdup(table->version);
    row->description = strdup(table->description);
    code_executor_plugin_unload(plugin);
    return row->version != NULL && row->description != NULL;
}

/* Path of the earlier file by the same name, or NULL. */
static const char *find_shadow(const list *whole, const char *name)
{
    for (size_t i = 0; i < whole->count; i++)
        if (strcmp(whole->entries[i]->name, name) == 0)
            return whole->entries[i]->path;
    return NULL;
}

static list_row *row_make(const list *whole, const char *folder, const char *name)
{
    list_row *row = calloc(1, sizeof(*row));
    if (row == NULL)
        return NULL;
    row->name = strdup(name);
    row->path = plugin_file(folder, name);
    if (row->name == NULL || row->path == NULL || !ask_for_words(row)) {
        row_free(row);
        return NULL;
    }
    row->entry = (code_executor_plugin_entry){
        .struct_size = sizeof(row->entry),
        .name = row->name,
        .path = row->path,
        .version = row->version,
        .description = row->description,
        .problem = row->problem,
        .shadowed_by = find_shadow(whole, name),
    };
    return row;
}

static bool add_row(list *whole, const char *folder, const char *name)
{
    list_row *row = row_make(whole, folder, name);
    if (row != NULL)
        whole->entries[whole->count++] = &row->entry;
    return row != NULL;
}

static bool add_folder(list *whole, const char *folder)
{
    plugin_names names;
    bool enough_memory = plugin_names_read(folder, &names);
    if (enough_memory && names.count > 0) {
        size_t count = whole->count + names.count;
        code_executor_plugin_entry **grown =
            realloc(whole->entries, count * sizeof(code_executor_plugin_entry *));
        enough_memory = grown != NULL;
        whole->entries = enough_memory ? grown : whole->entries;
    }
    for (size_t i = 0; enough_memory && i < names.count; i++)
        enough_memory = add_row(whole, folder, names.names[i]);
    plugin_names_free(&names);
    return enough_memory;
}

int32_t code_executor_plugin_list_make(code_executor_plugin_list **made, code_executor_error *error)
{
    if (made == NULL)
        return fail(error, CODE_EXECUTOR_INVALID, "There is no place for the list.");
    *made = NULL;
    list *whole = calloc(1, sizeof(*whole));
    if (whole == NULL)
        return fail_no_memory(error);
    bool enough_memory = search_path_make(&whole->searched);
    for (size_t i = 0; enough_memory && i < whole->searched.count; i++)
        enough_memory = add_folder(whole, whole->searched.folders[i]);
    if (!enough_memory) {
        code_executor_plugin_list_free(&whole->public_part);
        return fail_no_memory(error);
    }
    whole->public_part = (code_executor_plugin_list){
        .struct_size = sizeof(whole->public_part),
        .entries = (const code_executor_plugin_entry *const *)whole->entries,
        .entry_count = whole->count,
        .folders = (const char *const *)whole->searched.folders,
        .folder_count = whole->searched.count,
    };
    *made = &whole->public_part;
    return succeed(error);
}
