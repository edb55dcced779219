/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search_path.c: builds the list of folders and reads one of them.
 *
 * The environment variable comes first so that a developer can try a plugin out; it is ignored in a
 * program that runs with more rights than its user (secure_getenv), who could else run code with them.
 */
#include "search_path.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLUGIN_SUFFIX ".so"

/* Adds a folder that is not there yet. Takes ownership of FOLDER; NULL means that memory ended. */
static bool add_folder(search_path *path, char *folder)
{
    if (folder == NULL)
        return false;
    char *real = realpath(folder, NULL);
    bool enough_memory = real != NULL || errno != ENOMEM; /* a folder need not exist */
    if (real != NULL || !enough_memory) {
        free(folder);
        folder = real;
    }
    if (!enough_memory)
        return false;
    for (size_t i = 0; i < path->count; i++) {
        if (strcmp(path->folders[i], folder) == 0) {
            free(folder);
            return true;
        }
    }
    char **grown = realloc(path->folders, (path->count + 1) * sizeof(*grown));
    if (grown == NULL) {
        free(folder);
        return false;
    }
    path->folders = grown;
    path->folders[path->count++] = folder;
    return true;
}

static char *join(const char *folder, const char *name)
{
    char *joined = NULL;
    return asprintf(&joined, "%s/%s", folder, name) < 0 ? NULL : joined;
}

/* The list of the environment. A relative entry counts from the working directory of now. */
static bool add_environment(search_path *path)
{
    const char *list = secure_getenv("CODE_EXECUTOR_PLUGIN_PATH");
    while (list != NULL && *list != '\0') {
        size_t length = strcspn(list, ":");
        if (length > 0 && !add_folder(path, strndup(list, length)))
            return false;
        list += length;
        list += *list == ':';
    }
    return true;
}

/* Cuts the last component off; false where there is none. */
static bool to_parent(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash == NULL)
        return false;
    *slash = '\0';
    return true;
}

static bool add_beside_executable(search_path *path)
{
    static const char *const places[] = {
        "lib/code_executor",
#ifdef CODE_EXECUTOR_LIBRARY_ARCHITECTURE
        "lib/" CODE_EXECUTOR_LIBRARY_ARCHITECTURE "/code_executor",
#endif
        "lib64/code_executor",
    };
    char prefix[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", prefix, sizeof(prefix) - 1);
    if (length <= 0)
        return true;
    prefix[length] = '\0';
    if (!to_parent(prefix) || !to_parent(prefix))
        return true; /* an executable in the root folder has no ../lib */
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        if (!add_folder(path, join(prefix, places[i])))
            return false;
    return true;
}

static bool add_beside_library(search_path *path)
{
    Dl_info here;
    if (dladdr((const void *)&add_beside_library, &here) == 0 || here.dli_fname == NULL)
        return true;
    char *file = realpath(here.dli_fname, NULL);
    if (file == NULL || !to_parent(file)) {
        bool enough_memory = file != NULL || errno != ENOMEM;
        free(file);
        return enough_memory;
    }
    bool added = add_folder(path, join(file, "code_executor"));
    free(file);
    return added;
}

bool search_path_make(search_path *path)
{
    *path = (search_path){0};
    return add_environment(path) && add_beside_executable(path) && add_beside_library(path) &&
           add_folder(path, strdup(CODE_EXECUTOR_PLUGIN_FOLDER));
}

void search_path_free(search_path *path)
{
    for (size_t i = 0; i < path->count; i++)
        free(path->folders[i]);
    free(path->folders);
    *path = (search_path){0};
}

/* ------------------------------------------------------------------------------------------------ */

char *plugin_file(const char *folder, const char *name)
{
    char *file = NULL;
    return asprintf(&file, "%s/%s" PLUGIN_SUFFIX, folder, name) < 0 ? NULL : file;
}

/* Length of the plugin's name in a file name, or 0 where it is no plugin's (hidden files are none). */
static size_t name_length(const char *file)
{
    size_t length = strlen(file);
    size_t suffix = strlen(PLUGIN_SUFFIX);
    bool matches =
        length > suffix && file[0] != '.' && strcmp(file + length - suffix, PLUGIN_SUFFIX) == 0;
    return matches ? length - suffix : 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool add_name(plugin_names *names, const char *file, size_t length)
{
    char **grown = realloc(names->names, (names->count + 1) * sizeof(*grown));
    if (grown == NULL)
        return false;
    names->names = grown;
    names->names[names->count] = strndup(file, length);
    if (names->names[names->count] == NULL)
        return false;
    names->count++;
    return true;
}

bool plugin_names_read(const char *folder, plugin_names *names)
{
    *names = (plugin_names){0};
    DIR *directory = opendir(folder);
    if (directory == NULL)
        return true;
    bool complete = true;
    for (struct dirent *entry; complete && (entry = readdir(directory)) != NULL;) {
        size_t length = name_length(entry->d_name);
        complete = length == 0 || add_name(names, entry->d_name, length);
    }
    closedir(directory);
    if (names->count > 1)
        qsort(names->names, names->count, sizeof(*names->names), compare_names);
    return complete;
}

void plugin_names_free(plugin_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->names[i]);
    free(names->names);
    *names = (plugin_names){0};
}
