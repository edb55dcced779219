/* SPDX-License-Identifier: Apache-2.0 */
/*
 * private_folder.c: see private_folder.h.
 *
 * Removing. What is in the folder was made by code that must not be trusted: links are removed, never
 * followed; folders may be nested deeper than there are descriptors or stack. So nothing recurses:
 * a folder that is not empty is emptied into the top folder, folder by folder, until all lie there side
 * by side. A mount, which code with the right to make one may have put there, is not entered: what it shows is
 * somebody else's, and stays, and so does the folder.
 */
#include "private_folder.h"
#include "fork_guard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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

/* Calls VISIT for each entry of the folder that FD, which is closed, is open on. Whether all went well. */
static bool for_each_entry(int fd, bool (*visit)(int folder, const char *name, void *context),
                           void *context)
{
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (!folder) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    bool fine = true;
    struct dirent *entry;
    while ((entry = readdir(folder)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            fine = visit(dirfd(folder), entry->d_name, context) && fine;
    closedir(folder);
    return fine;
}

struct removal {
    int top;
    uint64_t last_name; /* of the folders that were moved to the top */
    uint64_t moved;     /* how many were */
};

/* Makes a folder, and only a folder (a link would be followed), readable and writable. */
static bool open_up(int parent, const char *name)
{
    struct stat status;
    return fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode) &&
           fchmodat(parent, name, 0700, 0) == 0;
}

/* Within the mount of PARENT; where the kernel cannot see to that (before Linux 5.6), without. */
static int open_within(int parent, const char *name)
{
    struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
                           .resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS};
    int fd = (int)syscall(SYS_openat2, parent, name, &how, sizeof how);
    return fd >= 0 || errno != ENOSYS ? fd : openat(parent, name, (int)how.flags);
}

static int open_folder(int parent, const char *name)
{
    int fd = open_within(parent, name);
    if (fd < 0 && errno == EACCES && open_up(parent, name))
        fd = open_within(parent, name);
    return fd;
}

static int open_top(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool move_to_top(int folder, const char *name, struct removal *removal)
{
    char unique[40];
    int result;
    do {
        snprintf(unique, sizeof unique, "..%llu", (unsigned long long)++removal->last_name);
        result = renameat2(folder, name, removal->top, unique, RENAME_NOREPLACE);
    } while (result != 0 && errno == EEXIST);
    removal->moved += result == 0;
    return result == 0;
}

/* Removes an entry of a folder below the top, or moves it there. */
static bool remove_or_move(int folder, const char *name, void *context)
{
    struct removal *removal = context;
    if (unlinkat(folder, name, 0) == 0 || unlinkat(folder, name, AT_REMOVEDIR) == 0)
        return true;
    /* A folder that may not be written to cannot be moved either. */
    return move_to_top(folder, name, removal) ||
           (open_up(folder, name) && move_to_top(folder, name, removal));
}

static bool remove_from_top(int top, const char *name, void *context)
{
    if (unlinkat(top, name, 0) == 0 || unlinkat(top, name, AT_REMOVEDIR) == 0)
        return true;
    int fd = open_folder(top, name);
    if (fd >= 0)
        (void)fchmod(fd, 0700); /* it may be readable and not writable */
    return for_each_entry(fd, remove_or_move, context) && unlinkat(top, name, AT_REMOVEDIR) == 0;
}

int32_t private_folder_remove(const char *path, code_executor_error *error)
{
    struct removal removal = {.top = open_top(path)};
    if (removal.top < 0 && errno == EACCES && open_up(AT_FDCWD, path))
        removal.top = open_top(path);
    if (removal.top < 0) {
        return errno == ENOENT ? CODE_EXECUTOR_OK
                               : error_set_errno(error, CODE_EXECUTOR_IO, errno,
                                                 "cannot remove the private workspace %s", path);
    }
    (void)fchmod(removal.top, 0700);
    uint64_t moved;
    do {
        moved = removal.moved;
        for_each_entry(openat(removal.top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                       remove_from_top, &removal);
    } while (removal.moved != moved);
    close(removal.top);
    if (rmdir(path) != 0 && errno != ENOENT) {
        return error_set_errno(error, CODE_EXECUTOR_IO, errno,
                               "cannot remove the private workspace %s", path);
    }
    return CODE_EXECUTOR_OK;
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
