/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workspace_folder.c: one folder at a time, each opened by itself; see workspace_folder.h.
 */
#include "workspace_folder.h"
#include "workspace_share.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Why NAME in FOLDER could not be opened as a folder. */
static int explain_no_folder(int folder, const char *name)
{
    struct stat status;
    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return errno;
    if (S_ISLNK(status.st_mode))
        return WORKSPACE_ELSEWHERE;
    return S_ISDIR(status.st_mode) ? ENOENT /* by now it is one: try again */ : ENOTDIR;
}

/* A workspace is whose who makes it is; what is in it, see workspace_share.h. */
enum making { MAKE_NOT, MAKE, MAKE_SHARED };

/* Opens the folder NAME of FOLDER, which it closes. Returns the new one, or -1 with the reason in
 * *PROBLEM. A link is none: with O_PATH and O_NOFOLLOW the link itself is opened, and O_DIRECTORY
 * turns it down. */
static int enter(int folder, const char *name, enum making making, int *problem)
{
    const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int inner = openat(folder, name, flags);
    bool made =
        inner < 0 && errno == ENOENT && making != MAKE_NOT && mkdirat(folder, name, 0777) == 0;
    if (made || (inner < 0 && errno == EEXIST))
        inner = openat(folder, name, flags);
    if (inner < 0)
        *problem = errno == ENOTDIR || errno == ELOOP ? explain_no_folder(folder, name) : errno;
    else if (made && making == MAKE_SHARED)
        workspace_share_folder(folder, inner);
    close(folder);
    return inner;
}

/* From the root, as no folder on the way may have become a link since the path was resolved: that would be
 * the work of code which can write to the workspace's parent. */
int workspace_folder_open(const char *path, bool make)
{
    char *names = strdup(path);
    int folder = names ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    int problem = errno;
    char *rest = names;
    for (char *name; folder >= 0 && (name = strsep(&rest, "/"));)
        if (*name)
            folder = enter(folder, name, make && !rest ? MAKE : MAKE_NOT, &problem);
    free(names);
    if (folder < 0)
        errno = problem == WORKSPACE_ELSEWHERE ? ELOOP : problem;
    return folder;
}

int workspace_folder_walk(int workspace, const char *name, bool make, const char **base,
                          int *problem)
{
    char part[256];
    int folder = workspace;
    const char *slash;
    while (folder >= 0 && (slash = strchr(name, '/'))) {
        size_t length = (size_t)(slash - name);
        if (length >= sizeof part) {
            close(folder);
            *problem = ENAMETOOLONG;
            return -1;
        }
        memcpy(part, name, length);
        part[length] = '\0';
        folder = enter(folder, part, make ? MAKE_SHARED : MAKE_NOT, problem);
        name = slash + 1;
    }
    *base = name;
    return folder;
}
