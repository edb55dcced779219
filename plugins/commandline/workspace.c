/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workspace.c: open the folder, walk to the file's own folder, write beside it, change places. The attacks
 * that this answers are listed in workspace.h.
 */
#include "workspace.h"
#include "file_name.h"
#include "text.h"
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* How often what vanished is made again, and a temporary name that is taken is chosen anew. */
#define ATTEMPTS 8

/* errno in the place of an objection in words. */
enum { ELSEWHERE = -1 /* a link is on the way */, IRREGULAR = -2 /* what is there is no file */ };

/* ------------------------------------------------------------------------------------------------
 * Folders
 * --------------------------------------------------------------------------------------------- */

static int32_t status_of(int reason)
{
    switch (reason) {
    case EACCES:
    case EPERM:
    case EROFS:
        return CODE_EXECUTOR_DENIED;
    case ENOENT:
    case ENOTDIR:
        return CODE_EXECUTOR_NOT_FOUND;
    case ENOMEM:
        return CODE_EXECUTOR_NO_MEMORY;
    default:
        return CODE_EXECUTOR_IO;
    }
}

/* Why NAME in FOLDER could not be opened as a folder. */
static int explain_no_folder(int folder, const char *name)
{
    struct stat status;
    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return errno;
    if (S_ISLNK(status.st_mode))
        return ELSEWHERE;
    return S_ISDIR(status.st_mode) ? ENOENT /* by now it is one: try again */ : ENOTDIR;
}

/* Opens the folder NAME of FOLDER, which it closes. Returns the new one, or -1 with the reason in
 * *PROBLEM. A link is none: with O_PATH and O_NOFOLLOW the link itself is opened, and O_DIRECTORY
 * turns it down. */
static int enter(int folder, const char *name, bool make, int *problem)
{
    const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int inner = openat(folder, name, flags);
    if (inner < 0 && errno == ENOENT && make &&
        (mkdirat(folder, name, 0777) == 0 || errno == EEXIST))
        inner = openat(folder, name, flags);
    if (inner < 0)
        *problem = errno == ENOTDIR || errno == ELOOP ? explain_no_folder(folder, name) : errno;
    close(folder);
    return inner;
}

/* From the root, as no folder on the way may have become a link since the path was resolved: that would be
 * the work of code which can write to the workspace's parent. */
static int open_workspace(const char *path, bool make)
{
    char *names = strdup(path);
    int folder = names ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    int problem = errno;
    char *rest = names;
    for (char *name; folder >= 0 && (name = strsep(&rest, "/"));)
        if (*name)
            folder = enter(folder, name, make && !rest, &problem);
    free(names);
    if (folder < 0)
        errno = problem == ELSEWHERE ? ELOOP : problem;
    return folder;
}

static int32_t refuse_workspace(const char *path, code_executor_error *error)
{
    if (errno == ELOOP)
        return error_set(
            error, CODE_EXECUTOR_DENIED,
            "%s was replaced by a link, or lies behind one by now, which may lead anywhere: "
            "put the folder back, or make a new executor on where the link leads",
            path);
    return error_set_errno(error, status_of(errno), errno, "cannot use %s as the workspace", path);
}

int32_t workspace_make(const char *path, code_executor_error *error)
{
    int fd = open_workspace(path, true);
    if (fd < 0)
        return refuse_workspace(path, error);
    close(fd);
    return CODE_EXECUTOR_OK;
}

/* Walks from the workspace, which it closes, to the folder of the file NAME. *BASE is the name
 * there. */
static int walk(int workspace, const char *name, bool make, const char **base, int *problem)
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
        folder = enter(folder, part, make, problem);
        name = slash + 1;
    }
    *base = name;
    return folder;
}

/* ------------------------------------------------------------------------------------------------
 * Files
 * --------------------------------------------------------------------------------------------- */

/* Errno, or 0. */
static int write_all(int fd, const char *bytes, size_t length)
{
    while (length) {
        ssize_t written = write(fd, bytes, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? errno : EIO;
        bytes += written;
        length -= (size_t)written;
    }
    return 0;
}

/* Whether BASE in FOLDER is what may be replaced; whether there is something, and whether it can be
 * run, which its successor then can too. */
static int look_at(int folder, const char *base, bool *exists, bool *runs)
{
    struct stat status;
    *exists = *runs = false;
    if (fstatat(folder, base, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : errno;
    if (S_ISLNK(status.st_mode))
        return ELSEWHERE;
    if (S_ISDIR(status.st_mode))
        return EISDIR;
    *exists = true;
    *runs = status.st_mode & 0111;
    return S_ISREG(status.st_mode) ? 0 : IRREGULAR;
}

static void add_permission_to_run(int fd)
{
    struct stat status;
    if (fstat(fd, &status) == 0)
        (void)!fchmod(fd, (status.st_mode & 0777) | ((status.st_mode & 0444) >> 2));
}

/* A new file in FOLDER under a random name. */
static int create_temporary(int folder, char *name, size_t size)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        unsigned long long random;
        if (getrandom(&random, sizeof random, 0) != sizeof random)
            return -1;
        snprintf(name, size, ".tmp_code_%016llx", random);
        int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/*
 * Puts TEMPORARY in the place of BASE. Over a file that EXISTS a rename would make ext4 and others write the
 * new one to the disk at once, for those who rename in order to survive a crash; that takes as long as all
 * the rest of a block. The two change places instead, which no reader can tell from a rename, and the old
 * one goes. Errno, or 0; TEMPORARY is left where it fails.
 */
static int put_in_place(int folder, const char *temporary, const char *base, bool exists)
{
    /* Not every file system can, and by now there may be nothing to exchange. */
    if (!exists || renameat2(folder, temporary, folder, base, RENAME_EXCHANGE) != 0)
        return renameat(folder, temporary, folder, base) == 0 ? 0 : errno;
    if (unlinkat(folder, temporary, 0) == 0 || errno == ENOENT)
        return 0;
    /* Code has put a folder there since we looked. It stays, as with a rename. */
    int problem = errno;
    if (renameat2(folder, temporary, folder, base, RENAME_EXCHANGE) != 0)
        (void)!renameat(folder, temporary, folder, base);
    return problem;
}

/* Errno, one of the values above, or 0. */
static int save_in(int folder, const char *base, const char *bytes, size_t length)
{
    bool exists;
    bool runs;
    int problem = look_at(folder, base, &exists, &runs);
    if (problem)
        return problem;
    /* Beyond the limit a write would send SIGXFSZ, and end the host. */
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        length > limit.rlim_cur)
        return EFBIG;
    char temporary[32];
    int fd = create_temporary(folder, temporary, sizeof temporary);
    if (fd < 0)
        return errno;
    problem = write_all(fd, bytes, length);
    if (runs)
        add_permission_to_run(fd);
    /* A network's file system may tell only here that the disk is full. */
    if (close(fd) != 0 && !problem && errno != EINTR)
        problem = errno;
    if (!problem)
        problem = put_in_place(folder, temporary, base, exists);
    if (problem)
        unlinkat(folder, temporary, 0);
    return problem;
}

/* ------------------------------------------------------------------------------------------------
 * Verdicts
 * --------------------------------------------------------------------------------------------- */

/* Whether PROBLEM would meet any file, and not only this name. */
static bool is_ours(int problem, bool in_folder)
{
    static const int general[] = {ENOSPC, EDQUOT, EIO,   EROFS, ENOMEM,
                                  EMFILE, ENFILE, EFBIG, ESTALE};
    for (size_t i = 0; i < sizeof general / sizeof general[0]; i++)
        if (problem == general[i])
            return true;
    /* Code may have locked a folder that it made; the workspace itself is the user's. */
    return !in_folder && (problem == EACCES || problem == EPERM);
}

static int32_t judge(int problem, const char *path, const char *name, char *objection,
                     code_executor_error *error)
{
    char brief[128];
    text_shorten(name, brief, sizeof brief);
    if (problem == 0)
        return error_clear(error);
    if (is_ours(problem, strchr(name, '/') != NULL))
        return error_set_errno(error, status_of(problem), problem, "cannot save %s in %s", brief,
                               path);
    code_executor_error words = CODE_EXECUTOR_ERROR_INIT;
    if (problem == ELSEWHERE)
        error_set(&words, CODE_EXECUTOR_INVALID, "%s", file_name_outside);
    else if (problem == EISDIR || problem == IRREGULAR)
        error_set(&words, CODE_EXECUTOR_INVALID, "Cannot save %s: there is a %s of that name",
                  brief, problem == EISDIR ? "folder" : "special file");
    else
        error_set_errno(&words, CODE_EXECUTOR_INVALID, problem, "Cannot save %s", brief);
    text_shorten(words.message, objection, WORKSPACE_OBJECTION_SIZE);
    return error_clear(error);
}

int32_t workspace_save(const char *path, const char *name, const char *bytes, size_t length,
                       char objection[WORKSPACE_OBJECTION_SIZE], code_executor_error *error)
{
    int problem = ENOENT;
    objection[0] = '\0';
    /* Whoever deletes folders while a file is saved in them wins a few times at most. */
    for (int i = 0; i < ATTEMPTS && problem == ENOENT; i++) {
        int workspace = open_workspace(path, true);
        if (workspace < 0)
            return refuse_workspace(path, error);
        const char *base;
        int folder = walk(workspace, name, true, &base, &problem);
        if (folder < 0)
            continue;
        problem = save_in(folder, base, bytes, length);
        close(folder);
    }
    return judge(problem, path, name, objection, error);
}

void workspace_remove(const char *path, const char *name)
{
    int workspace = open_workspace(path, false);
    if (workspace < 0)
        return;
    const char *base;
    int problem;
    int folder = walk(workspace, name, false, &base, &problem);
    if (folder < 0)
        return;
    unlinkat(folder, base, 0);
    close(folder);
}
