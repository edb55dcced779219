/* SPDX-License-Identifier: Apache-2.0 */
/*
 * private_folder.c: see private_folder.h.
 */
#include "private_folder.h"
#include "folder_removal.h"
#include "fork_guard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NAME_PREFIX "code_executor-"

/* A folder is locked a moment after it is made; one that is younger is left alone. */
enum { YOUNG_SECONDS = 60, SWEPT_MAX = 8 };

int32_t private_folder_make(char **path, code_executor_error *error)
{
    const char *parent = getenv("TMPDIR");
    if (!parent || parent[0] != '/')
        parent = "/tmp";
    *path = NULL;
    char *made;
    char *resolved = realpath(parent, NULL); /* no link is followed on the way to a workspace */
    int length = asprintf(&made, "%s/" NAME_PREFIX "XXXXXX", resolved ? resolved : parent);
    free(resolved);
    if (length < 0)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for a path");
    if (!mkdtemp(made)) {
        int32_t status = error_set_errno(
            error, errno == EACCES || errno == EROFS ? CODE_EXECUTOR_DENIED : CODE_EXECUTOR_IO,
            errno, "cannot make a private workspace in %s", parent);
        free(made);
        return status;
    }
    *path = made;
    return CODE_EXECUTOR_OK;
}

int32_t private_folder_remove(const char *path, code_executor_error *error)
{
    int reason = folder_remove(path);
    return reason == 0 ? CODE_EXECUTOR_OK
                       : error_set_errno(error, CODE_EXECUTOR_IO, reason,
                                         "cannot remove the private workspace %s", path);
}

/* ---- what killed hosts have left ---------------------------------------------------------------- */

int private_folder_hold(const char *path)
{
    fork_guard_enter();
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        fork_guard_add(fd);
    fork_guard_leave();
    if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0)
        return fd;
    fork_guard_close(fd);
    return -1;
}

/* Whether the folder NAME of FOLDER is a private workspace whose owner is dead. */
static bool is_left(int folder, const char *name)
{
    struct stat status;
    if (strncmp(name, NAME_PREFIX, strlen(NAME_PREFIX)) != 0 ||
        strlen(name) != strlen(NAME_PREFIX) + 6)
        return false;
    int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool left = fstat(fd, &status) == 0 && status.st_uid == geteuid() &&
                time(NULL) - status.st_mtim.tv_sec > YOUNG_SECONDS &&
                flock(fd, LOCK_EX | LOCK_NB) == 0;
    close(fd);
    return left;
}

void private_folder_sweep(const char *path)
{
    char *beside = NULL;
    int parent_length = (int)(strrchr(path, '/') - path);
    int swept = 0;
    if (asprintf(&beside, "%.*s", parent_length, path) < 0)
        return;
    DIR *folder = opendir(beside[0] ? beside : "/");
    free(beside);
    struct dirent *entry;
    while (folder && swept < SWEPT_MAX && (entry = readdir(folder))) {
        char *name = NULL;
        if (!is_left(dirfd(folder), entry->d_name))
            continue;
        if (asprintf(&name, "%.*s/%s", parent_length, path, entry->d_name) >= 0) {
            (void)private_folder_remove(name, NULL);
            free(name);
        }
        swept++;
    }
    if (folder)
        closedir(folder);
}
