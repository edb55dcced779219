/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_folder.c: see plugin_folder.h.
 *
 * The loader keeps a plugin's path as it was given to dlopen, which may count from a folder that the host
 * leaves later. So it is made absolute while the plugin is being loaded.
 */
#include "plugin_folder.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static char *folder;

__attribute__((constructor)) static void find_folder(void)
{
    Dl_info info;
    char *file = NULL;
    if (dladdr((const void *)(uintptr_t)&find_folder, &info) != 0 && info.dli_fname)
        file = realpath(info.dli_fname, NULL);
    if (!file) /* of a program that was found in PATH the loader knows only the name */
        file = realpath("/proc/self/exe", NULL);
    char *slash = file ? strrchr(file, '/') : NULL;
    if (slash)
        *slash = '\0';
    folder = file;
}

__attribute__((destructor)) static void free_folder(void)
{
    free(folder);
    folder = NULL;
}

const char *plugin_folder(void)
{
    return folder;
}
