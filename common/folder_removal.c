/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder_removal.c: see folder_removal.h.
 *
 * What is in the folder was made by code that must not be trusted: links are removed, never followed;
 * folders may be nested deeper than there are descriptors or stack. So nothing recurses: a folder that is
 * not empty is emptied into the top folder, folder by folder, until all lie there side by side. A mount,
 * which code with the right to make one may have put there, is not entered: what it shows is somebody
 * else's, and stays, and so does the folder.
 */
#include "folder_removal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

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
    /* A folder that may not be written to cannot be moved either. Nor can a mount, whose mode is not ours. */
    return move_to_top(folder, name, removal) ||
           (errno == EACCES && open_up(folder, name) && move_to_top(folder, name, removal));
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

int folder_remove(const char *path)
{
    struct removal removal = {.top = open_top(path)};
    if (removal.top < 0 && errno == EACCES && open_up(AT_FDCWD, path))
        removal.top = open_top(path);
    if (removal.top < 0)
        return errno == ENOENT ? 0 : errno;
    (void)fchmod(removal.top, 0700);
    uint64_t moved;
    do {
        moved = removal.moved;
        for_each_entry(openat(removal.top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                       remove_from_top, &removal);
    } while (removal.moved != moved);
    close(removal.top);
    return rmdir(path) != 0 && errno != ENOENT ? errno : 0;
}
