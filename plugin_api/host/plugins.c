/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins.c: loads a plugin, or says precisely why not.
 *
 *     name ─▶ file (search path) ─▶ shared_object_check ─▶ dlopen ─▶ entry ─▶ table ─▶ checks
 *
 * The first file of the search path that has the name decides: one that does not load is reported and
 * never passed over, or a plugin would be replaced by another without anybody being told.
 */
#include "host/code_executor_host.h"

#include "failure.h"
#include "nearest.h"
#include "search_path.h"
#include "shared_object.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct code_executor_plugin {
    void *handle;
    const code_executor_v1 *table;
    char *path;
};

/* ------------------------------------------------------------------------------------------------
 * The table
 * --------------------------------------------------------------------------------------------- */

/* What must not be NULL, by its place. All members of version 1 are pointers of one size. */
typedef struct member {
    size_t offset;
    const char *name;
} member;

#define MEMBER(name)                                                                               \
    {                                                                                              \
        offsetof(code_executor_v1, name), #name                                                    \
    }
static const member members[] = {
    MEMBER(name),        MEMBER(version), MEMBER(description),   MEMBER(config_schema),
    MEMBER(create),      MEMBER(start),   MEMBER(stop),          MEMBER(restart),
    MEMBER(execute),     MEMBER(cancel),  MEMBER(describe),      MEMBER(result_free),
    MEMBER(string_free), MEMBER(destroy), MEMBER(get_extension),
};

static bool member_is_null(const code_executor_v1 *table, size_t offset)
{
    void *value = NULL;
    memcpy(&value, (const char *)table + offset, sizeof(value));
    return value == NULL;
}

/* The end of the last member that the first release of version 1 has. */
#define SMALLEST_TABLE (offsetof(code_executor_v1, get_extension) + sizeof(void *))

static int32_t check_table(const char *path, const code_executor_v1 *table,
                           code_executor_error *error)
{
    if (table == NULL) {
        return fail(error, CODE_EXECUTOR_INVALID,
                    "%s: its " CODE_EXECUTOR_ENTRY_SYMBOL
                    " returned no table: the plugin says that it cannot work here.",
                    path);
    }
    size_t beginning = offsetof(code_executor_v1, abi_version) + sizeof(table->abi_version);
    if (table->struct_size >= beginning && table->abi_version != CODE_EXECUTOR_ABI_VERSION) {
        return fail(error, CODE_EXECUTOR_UNSUPPORTED,
                    "%s: its table is of ABI version %u; version %d is understood.", path,
                    (unsigned)table->abi_version, CODE_EXECUTOR_ABI_VERSION);
    }
    if (table->struct_size < SMALLEST_TABLE) {
        return fail(error, CODE_EXECUTOR_INVALID,
                    "%s: its table is too small: struct_size is %zu, version %d has at least %zu.",
                    path, table->struct_size, CODE_EXECUTOR_ABI_VERSION, SMALLEST_TABLE);
    }
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        if (member_is_null(table, members[i].offset)) {
            return fail(error, CODE_EXECUTOR_INVALID, "%s: its table lacks %s.", path,
                        members[i].name);
        }
    }
    return succeed(error);
}

/* ------------------------------------------------------------------------------------------------
 * The file
 * --------------------------------------------------------------------------------------------- */

/* The version that a library without our entry symbol speaks, where it has another's; else 0. */
static int other_version(void *handle)
{
    enum { LAST_VERSION_TO_LOOK_FOR = 16 };
    for (int version = 1; version <= LAST_VERSION_TO_LOOK_FOR; version++) {
        char symbol[40];
        snprintf(symbol, sizeof(symbol), "code_executor_plugin_v%d", version);
        if (dlsym(handle, symbol) != NULL)
            return version;
    }
    return 0;
}

static int32_t no_entry(const char *path, void *handle, code_executor_error *error)
{
    int version = other_version(handle);
    if (version != 0) {
        return fail(error, CODE_EXECUTOR_UNSUPPORTED,
                    "%s: it speaks ABI version %d; version %d is understood.", path, version,
                    CODE_EXECUTOR_ABI_VERSION);
    }
    return fail(error, CODE_EXECUTOR_INVALID,
                "%s is not a plugin: the library has no symbol " CODE_EXECUTOR_ENTRY_SYMBOL ".",
                path);
}

static int32_t find_table(code_executor_plugin *plugin, code_executor_error *error)
{
    code_executor_entry_v1 entry = NULL;
    void *symbol = dlsym(plugin->handle, CODE_EXECUTOR_ENTRY_SYMBOL);
    if (symbol == NULL)
        return no_entry(plugin->path, plugin->handle, error);
    memcpy(&entry, &symbol, sizeof(entry)); /* C has no cast from object to function pointer */
    plugin->table = entry();
    return check_table(plugin->path, plugin->table, error);
}

/* Takes ownership of FILE. */
static int32_t load_file(char *file, code_executor_plugin **loaded, code_executor_error *error)
{
    code_executor_plugin *plugin = calloc(1, sizeof(*plugin));
    if (plugin == NULL) {
        free(file);
        return fail_no_memory(error);
    }
    plugin->path = file;
    int32_t status = shared_object_check(file, error);
    if (status == CODE_EXECUTOR_OK) {
        plugin->handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
        const char *reason = plugin->handle == NULL ? dlerror() : NULL;
        status = plugin->handle != NULL
                     ? find_table(plugin, error)
                     : fail(error, CODE_EXECUTOR_UNAVAILABLE, "%s cannot be loaded: %s", file,
                            reason != NULL ? reason : "the loader gives no reason");
    }
    if (status != CODE_EXECUTOR_OK) {
        code_executor_plugin_unload(plugin);
        return status;
    }
    *loaded = plugin;
    return status;
}

static int32_t no_such_path(const char *name, int errnum, code_executor_error *error)
{
    quoted_name quoted = quote_name(name);
    if (errnum == EACCES || errnum == ELOOP) {
        return fail(error, CODE_EXECUTOR_DENIED, "Cannot open \"%s\": %s.", quoted.text,
                    strerrordesc_np(errnum));
    }
    return fail(error, CODE_EXECUTOR_NOT_FOUND,
                "There is no file \"%s\" (a name with a slash is a path: no folder is searched).",
                quoted.text);
}

static int32_t load_path(const char *name, code_executor_plugin **plugin,
                         code_executor_error *error)
{
    char *file = realpath(name, NULL);
    if (file == NULL)
        return errno == ENOMEM ? fail_no_memory(error) : no_such_path(name, errno, error);
    return load_file(file, plugin, error);
}

/* ------------------------------------------------------------------------------------------------
 * The name
 * --------------------------------------------------------------------------------------------- */

/* Text that grows as long as it fits. */
typedef struct words {
    char text[1024];
    size_t length;
} words;

static void add_words(words *list, const char *separator, const char *text, const char *remark)
{
    size_t room = sizeof(list->text) - list->length;
    int needed = snprintf(list->text + list->length, room, "%s%s%s",
                          list->length == 0 ? "" : separator, text, remark);
    bool fits = needed >= 0 && (size_t)needed < room;
    if (fits)
        list->length += (size_t)needed;
    else
        list->text[list->length] = '\0';
}

static bool is_listed(const words *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list->text; (at = strstr(at, name)) != NULL; at++) {
        bool begins = at == list->text || at[-1] == ' ';
        if (begins && (at[length] == '\0' || at[length] == ','))
            return true;
    }
    return false;
}

/* The name that somebody who wrote another one probably meant. */
typedef struct name_guess {
    nearest_search search;
    char name[64]; /* "" while none is near */
} name_guess;

static void add_names(words *names, name_guess *guess, const char *folder)
{
    plugin_names found;
    plugin_names_read(folder, &found); /* without memory: as many as there are */
    for (size_t i = 0; i < found.count; i++) {
        if (nearest_consider(&guess->search, found.names[i]))
            snprintf(guess->name, sizeof guess->name, "%s", found.names[i]);
        if (!is_listed(names, found.names[i]))
            add_words(names, ", ", found.names[i], "");
    }
    plugin_names_free(&found);
}

static const char *remark_on_folder(const char *folder)
{
    if (euidaccess(folder, R_OK | X_OK) == 0)
        return "";
    return errno == EACCES ? " (may not be read)" : " (is not there)";
}

static int32_t not_found(const char *name, const search_path *path, code_executor_error *error)
{
    words names = {.length = 0};
    words folders = {.length = 0};
    name_guess guess = {.search = nearest_begin(name)};
    for (size_t i = 0; i < path->count; i++) {
        add_names(&names, &guess, path->folders[i]);
        add_words(&folders, ", ", path->folders[i], remark_on_folder(path->folders[i]));
    }
    quoted_name quoted = quote_name(name);
    bool guessed = guess.name[0] != '\0';
    return fail(error, CODE_EXECUTOR_NOT_FOUND,
                "There is no plugin \"%s\"%s%s%s Plugins that are there: %s. Folders searched: %s.",
                quoted.text, guessed ? "; did you mean \"" : ".", guess.name, guessed ? "\"?" : "",
                names.length > 0 ? names.text : "none", folders.text);
}

static int32_t load_name(const char *name, code_executor_plugin **plugin,
                         code_executor_error *error)
{
    search_path path;
    bool enough_memory = search_path_make(&path);
    char *file = NULL;
    for (size_t i = 0; enough_memory && file == NULL && i < path.count; i++) {
        file = plugin_file(path.folders[i], name);
        enough_memory = file != NULL;
        if (file != NULL && euidaccess(file, F_OK) != 0) {
            free(file);
            file = NULL;
        }
    }
    int32_t status = !enough_memory ? fail_no_memory(error)
                     : file == NULL ? not_found(name, &path, error)
                                    : load_file(file, plugin, error);
    search_path_free(&path);
    return status;
}

int32_t code_executor_plugin_load(const char *name, code_executor_plugin **plugin,
                                  code_executor_error *error)
{
    if (plugin == NULL)
        return fail(error, CODE_EXECUTOR_INVALID, "There is no place for the plugin.");
    *plugin = NULL;
    if (name == NULL || *name == '\0')
        return fail(error, CODE_EXECUTOR_INVALID, "The name of a plugin must not be empty.");
    return strchr(name, '/') != NULL ? load_path(name, plugin, error)
                                     : load_name(name, plugin, error);
}

const code_executor_v1 *code_executor_plugin_table(const code_executor_plugin *plugin)
{
    return plugin->table;
}

const char *code_executor_plugin_path(const code_executor_plugin *plugin)
{
    return plugin->path;
}

void code_executor_plugin_unload(code_executor_plugin *plugin)
{
    if (plugin == NULL)
        return;
    if (plugin->handle != NULL)
        dlclose(plugin->handle);
    free(plugin->path);
    free(plugin);
}
