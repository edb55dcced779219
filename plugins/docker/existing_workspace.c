/* SPDX-License-Identifier: Apache-2.0 */
/*
 * existing_workspace.c: follows a path through the mounts of a container; see existing_workspace.h.
 *
 *     /srv/project/a  ──  /srv/project ─▶ /data  ──▶  /data/a     unless another mount lies on /data/a
 */
#include "existing_workspace.h"
#include "json.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is behind FOLDER in PATH, which is beneath it or the same; else NULL. */
static const char *rest_behind(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    while (length > 0 && folder[length - 1] == '/')
        length--;
    if (strncmp(path, folder, length) != 0 || (path[length] != '/' && path[length] != '\0'))
        return NULL;
    return path + length;
}

/* Where PATH is through MOUNT; free(). NULL: it is not, or there is no memory, which *OUT_OF_MEMORY says. */
static char *path_through(json_object *mount, const char *path, bool *out_of_memory)
{
    const char *source = json_string(mount, "Source");
    const char *target = json_string(mount, "Destination");
    if (!source || source[0] != '/' || !target || target[0] != '/')
        return NULL;
    char *real =
        realpath(source, NULL); /* as PATH is; of another machine or namespace it has none */
    const char *rest = rest_behind(path, real ? real : source);
    char *found = NULL;
    if (rest && asprintf(&found, "%s%s", strcmp(target, "/") == 0 ? "" : target, rest) < 0) {
        *out_of_memory = true;
        found = NULL;
    }
    free(real);
    return found;
}

/* Whether a mount that lies deeper than the one at TARGET hides what that shows at PATH. */
static bool is_hidden(json_object *mounts, const char *target, const char *path)
{
    for (size_t i = 0; i < json_object_array_length(mounts); i++) {
        const char *other = json_string(json_object_array_get_idx(mounts, i), "Destination");
        if (other && strlen(other) > strlen(target) && rest_behind(path, other))
            return true;
    }
    return false;
}

static void list_mounts(json_object *mounts, size_t count, char *words, size_t size)
{
    size_t length = 0;
    words[0] = '\0';
    for (size_t i = 0; i < count && length + 1 < size; i++) {
        json_object *mount = json_object_array_get_idx(mounts, i);
        const char *source = json_string(mount, "Source");
        const char *target = json_string(mount, "Destination");
        int added = snprintf(words + length, size - length, "%s%s as %s", i ? ", " : "",
                             source && source[0] ? source : "memory", target ? target : "?");
        length += added > 0 ? (size_t)added : 0;
    }
}

static int32_t refuse(json_object *mounts, size_t count, const char *path,
                      code_executor_error *error)
{
    char words[768];
    list_mounts(mounts, count, words, sizeof words);
    return error_set(
        error, CODE_EXECUTOR_NOT_FOUND,
        "it does not see the workspace %s: it mounts %s. Give a work_dir in one of its "
        "mounts, or start it with -v %s:/workspace; where the engine knows the folder "
        "by another path, say so in bind_dir",
        path, words[0] ? words : "nothing", path);
}

int32_t existing_workspace_find(json_object *mounts, const char *path, char **folder,
                                code_executor_error *error)
{
    bool out_of_memory = false, writable = false;
    *folder = NULL;
    size_t count =
        json_object_is_type(mounts, json_type_array) ? json_object_array_length(mounts) : 0;
    for (size_t i = 0; i < count && !writable && !out_of_memory; i++) {
        json_object *mount = json_object_array_get_idx(mounts, i);
        char *found = path_through(mount, path, &out_of_memory);
        if (!found || is_hidden(mounts, json_string(mount, "Destination"), found)) {
            free(found);
            continue;
        }
        free(*folder);
        *folder = found;
        writable = json_object_get_boolean(json_member(mount, "RW"));
    }
    if (*folder && writable)
        return CODE_EXECUTOR_OK;
    bool seen = *folder != NULL;
    free(*folder);
    *folder = NULL;
    if (out_of_memory)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    if (seen)
        return error_set(error, CODE_EXECUTOR_DENIED,
                         "it sees the workspace %s, but cannot write there: mount it without :ro, "
                         "or give another work_dir",
                         path);
    return refuse(mounts, count, path, error);
}
