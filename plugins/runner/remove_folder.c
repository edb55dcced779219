/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remove_folder.c: see remove_folder.h.
 *
 * Attack: a link is put in the place of a folder while it is being emptied, so that what lies elsewhere is
 * removed. Each folder is opened by itself, from the one above, without following links, and what is
 * removed is named from within it. Nor is a mount entered, which code may have made: what it shows is
 * somebody else's, and stays.
 */
#include "remove_folder.h"
#include "system.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* Folders within folders; what lies deeper stays. */
enum { DEPTH_MAX = 256 };

static void empty(int folder, unsigned depth, uint64_t deadline);

static void remove_entry(int folder, const char *name, unsigned depth, uint64_t deadline)
{
    if (unlinkat(folder, name, 0) == 0 || (errno != EISDIR && errno != EPERM))
        return;
    const struct open_how_v0 how = {
        .flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
        .resolve = OPENAT2_BENEATH | OPENAT2_NO_SYMLINKS | OPENAT2_NO_XDEV,
    };
    int inner = (int)syscall(SYS_openat2, folder, name, &how, sizeof how);
    if (inner >= 0 && depth < DEPTH_MAX)
        empty(inner, depth + 1, deadline);
    else if (inner >= 0)
        close(inner);
    (void)unlinkat(folder, name, AT_REMOVEDIR);
}

/* Closes FOLDER. */
static void empty(int folder, unsigned depth, uint64_t deadline)
{
    DIR *entries = fdopendir(folder);
    if (!entries) {
        close(folder);
        return;
    }
    struct dirent *entry;
    while (now_ns() < deadline && (entry = readdir(entries)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            remove_entry(dirfd(entries), entry->d_name, depth, deadline);
    closedir(entries);
}

void remove_contents(int folder, uint64_t deadline)
{
    empty(folder, 0, deadline);
}

void remove_folder(void)
{
    char path[PATH_MAX];
    int folder = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0)
        remove_contents(folder, NEVER);
    if (getcwd(path, sizeof path))
        (void)rmdir(path);
}
