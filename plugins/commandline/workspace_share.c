/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workspace_share.c: see workspace_share.h.
 *
 * Attack: code puts a folder of another user's, which it cannot look into but can rename, in the place of one
 * that was made just now, and has it given to itself. Only an empty folder is given away.
 */
#include "workspace_share.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether what has the status MADE is closed to those whom ABOVE is open to, and ours to open. */
static bool is_closed(const struct stat *above, const struct stat *made)
{
    bool group_may_write = (above->st_mode & 070) == 070 && above->st_gid != made->st_gid;
    return geteuid() == 0 && made->st_uid == 0 && !(made->st_mode & 04) &&
           (above->st_uid != 0 || group_may_write);
}

static void share(int above, int made)
{
    struct stat outer, own;
    if (fstat(above, &outer) != 0 || fstat(made, &own) != 0 || !is_closed(&outer, &own) ||
        fchown(made, outer.st_uid, outer.st_gid) != 0)
        return;
    if (outer.st_uid == 0)
        (void)!fchmod(made, (own.st_mode & 07777) | (own.st_mode & 0700) >> 3);
}

void workspace_share_file(int above, int file)
{
    share(above, file);
}

static bool is_empty(DIR *folder)
{
    struct dirent *entry;
    while ((entry = readdir(folder)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            return false;
    return true;
}

void workspace_share_folder(int above, int inner)
{
    struct stat outer, own;
    if (fstat(above, &outer) != 0 || fstat(inner, &own) != 0 || !is_closed(&outer, &own))
        return;
    int again = openat(inner, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = again >= 0 ? fdopendir(again) : NULL;
    if (folder && is_empty(folder))
        share(above, again);
    if (folder)
        closedir(folder);
    else if (again >= 0)
        close(again);
}
