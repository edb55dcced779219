/* SPDX-License-Identifier: Apache-2.0 */
/*
 * temporary_file.c: a list of the files in use; see temporary_file.h. It is as long as executions
 * are in flight.
 */
#include "temporary_file.h"
#include "workspace.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct temporary_file {
    temporary_file *next;
    size_t uses;
    const char *name; /* behind the path */
    char path[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static temporary_file *files;

static temporary_file *find(const char *path, const char *name)
{
    temporary_file *file = files;
    while (file && (strcmp(file->path, path) != 0 || strcmp(file->name, name) != 0))
        file = file->next;
    return file;
}

static temporary_file *add(const char *path, const char *name)
{
    size_t path_size = strlen(path) + 1;
    size_t name_size = strlen(name) + 1;
    temporary_file *file = malloc(sizeof *file + path_size + name_size);
    if (!file)
        return NULL;
    memcpy(file->path, path, path_size);
    file->name = memcpy(file->path + path_size, name, name_size);
    file->uses = 0;
    file->next = files;
    files = file;
    return file;
}

temporary_file *temporary_file_hold(const char *path, const char *name)
{
    pthread_mutex_lock(&lock);
    temporary_file *file = find(path, name);
    if (!file)
        file = add(path, name);
    if (file)
        file->uses++;
    pthread_mutex_unlock(&lock);
    return file;
}

bool temporary_file_release(temporary_file *file)
{
    if (!file)
        return false;
    pthread_mutex_lock(&lock);
    bool last = --file->uses == 0;
    if (last) {
        temporary_file **link = &files;
        while (*link != file)
            link = &(*link)->next;
        *link = file->next;
        workspace_remove(file->path, file->name);
        free(file);
    }
    pthread_mutex_unlock(&lock);
    return last;
}
